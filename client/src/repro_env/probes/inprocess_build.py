"""What the imported torch was built from and for: targets, settings that choose kernels, libraries compiled against.

Its report on itself counts devices where the build has any, and counting them starts the driver, after which a forked
child can use none. So the report of such a build is asked only once the program has started the runtime; the versions
compiled against are constants of the extension module and are always told.
"""

from __future__ import annotations

import re

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .inprocess import Readings

#: settings of the build that decide which kernels there are; the others name folders, loggers and the like.
_SETTINGS = ("BLAS_INFO", "LAPACK_INFO", "PERF_WITH_AVX", "PERF_WITH_AVX2", "PERF_WITH_AVX512", "CUDA_VERSION",
             "CUDNN_VERSION", "USE_CUDA", "USE_CUDNN", "USE_CUSPARSELT", "USE_EIGEN_FOR_BLAS", "USE_GLOO", "USE_MKL",
             "USE_MKLDNN", "USE_MPI", "USE_NCCL", "USE_NNPACK", "USE_OPENMP", "USE_ROCM", "USE_XPU", "USE_XCCL")
#: the same where they stand as definitions among the compiler's flags.
_DEFINITIONS = ("USE_FBGEMM", "USE_QNNPACK", "USE_PYTORCH_QNNPACK", "USE_XNNPACK")
#: flags of the host and the device compiler that change arithmetic.
_ARITHMETIC = re.compile(
    r"-(ffast-math|Ofast|funsafe-math-optimizations|fassociative-math|freciprocal-math|ffinite-math-only|"
    r"ffp-contract=\S+|mfma|mavx\S*|msse\S*|march=\S+|mcpu=\S+|-?use_fast_math|-?fmad=\S+|-?ftz=\S+|"
    r"-?prec-(div|sqrt)=\S+)")
_SETTING = re.compile(r"([A-Z][A-Z0-9_]*)=(.*?)(?=, [A-Z][A-Z0-9_]*=|,\s*$|$)", re.MULTILINE)
_CAPABILITY = re.compile(r"CPU capability usage: (\S+)")
_COMPILER = re.compile(r"^  - ((?:GCC|clang|MSVC) \S+)", re.MULTILINE)


def read(torch: Any, readings: Readings) -> None:
    """Record the build of ``torch``."""
    readings.attempt_all(BUILD, torch)
    for path, look in COMPILED_AGAINST:
        readings.attempt(f"libraries.{path}.compiled_against", "torch", lambda look=look: look(torch))  # type: ignore[misc]


def report(torch: Any) -> str | None:
    """Return torch's text on its own build; ``None`` where asking would start a runtime that the program did not."""
    if torch.version.cuda is None and torch.version.hip is None and getattr(torch.version, "xpu", None) is None:
        return str(torch.__config__.show())
    started = torch.cuda.is_initialized() if getattr(torch.version, "xpu", None) is None else torch.xpu.is_initialized()
    return str(torch.__config__.show()) if started else None


def build_flags(text: str) -> dict[str, str]:
    """Return the settings that choose kernels, from the text of the report: compiler, libraries, arithmetic flags."""
    settings = {name: value.strip() for name, value in _SETTING.findall(text.partition("Build settings:")[2])}
    flags = {name: settings[name] for name in _SETTINGS if name in settings}
    host = settings.get("CXX_FLAGS", "").split()
    flags.update({name: "1" for name in _DEFINITIONS if f"-D{name}" in host})
    for name in ("CXX_FLAGS", "CUDA_FLAGS"):
        kept = [flag for flag in settings.get(name, "").split() if _ARITHMETIC.fullmatch(flag)]
        if kept:
            flags[name] = " ".join(kept)
    compiler = _COMPILER.search(text)
    if compiler:
        flags["COMPILER"] = compiler.group(1)
    return flags


def _build_flags(torch: Any) -> Any:
    text = report(torch)
    return unread("not-reported") if text is None else build_flags(text)


def _abi(torch: Any) -> Any:
    """Return the interface of the C++ library that extensions must be built for."""
    flag = getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", None)
    return unread("not-reported") if flag is None else "cxx11" if flag else "pre-cxx11"


def _capability(torch: Any) -> Any:
    """Return the level of CPU kernels that torch dispatches to; before 2.1 only its report tells."""
    module = getattr(torch.backends, "cpu", None)
    if module is not None:
        return module.get_cpu_capability()
    found = _CAPABILITY.search(report(torch) or "")
    return found.group(1) if found else unread("not-reported")


def _arch_list(torch: Any) -> Any:
    """Return the GPU targets compiled in, without asking for a device; ``None`` for a build without GPU."""
    getter = getattr(torch._C, "_cuda_getArchFlags", None)
    flags = getter() if getter else None
    return sorted(flags.split()) if flags else None


def _constant(torch: Any, maker: str, ask: Any) -> Any:
    """Return a version compiled in, ``None`` for a build for another maker's devices, unread where it cannot say."""
    if getattr(torch.version, maker) is None:
        return None
    try:
        return ask(torch._C)
    except AttributeError:
        return unread("not-reported")


def _dnn(extension: Any) -> str:
    """Return the version of cuDNN or MIOpen that the extension module was compiled against."""
    return ".".join(str(int(part)) for part in extension._cudnn.getCompileVersion())


def _collectives(extension: Any) -> str:
    """Return the version of NCCL or RCCL compiled in: three numbers packed into one."""
    number = int(extension._nccl_version())
    return f"{number >> 32}.{number >> 16 & 65535}.{number & 65535}"


def _runtime(extension: Any) -> str:
    """Return the CUDA version of the headers compiled in."""
    number = int(extension._cuda_getCompiledVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


COMPILED_AGAINST = (
    ("cuda_runtime", lambda torch: _constant(torch, "cuda", _runtime)),
    ("cudnn", lambda torch: _constant(torch, "cuda", _dnn)),
    ("nccl", lambda torch: _constant(torch, "cuda", _collectives)),
    ("miopen", lambda torch: _constant(torch, "hip", _dnn)),
    ("rccl", lambda torch: _constant(torch, "hip", _collectives)),
)
BUILD = (
    ("frameworks.torch.cuda_build", "torch", lambda torch: torch.version.cuda),
    ("frameworks.torch.rocm_build", "torch", lambda torch: torch.version.hip),
    ("frameworks.torch.debug", "torch", lambda torch: bool(torch.version.debug)),
    ("frameworks.torch.abi", "torch", _abi),
    ("frameworks.torch.arch_list", "torch", _arch_list),
    ("frameworks.torch.build_flags", "torch", _build_flags),
    ("cpu.torch_capability", "torch", _capability),
)

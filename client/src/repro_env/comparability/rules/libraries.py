"""Layer ``libraries``: numeric libraries, as loaded where the process was seen and as installed where it was not."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ...fingerprint.facts import is_unread
from ..acting import UNUSED, any_imported, in_process, on_gpu, using
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection
from ..versions import prefix, release
from .collectives import by_nccl


class Kind(NamedTuple):
    """How a difference in one library counts.

    ``parts`` are those of a version that the library itself reports. ``one_form`` says that what is installed and what
    is loaded are written alike, so that one can stand for the other. ``optional`` libraries are loaded by programs that
    ask for them alone: what a stack has installed of them says nothing until one does.
    """

    name: str
    title: str
    expected: Level
    limit: Callable[[Projection], Projection]
    effect: str
    source: str
    parts: int = 3
    one_form: bool = False
    optional: bool = False


def _anywhere(project: Projection) -> Projection:
    return project


def distributed(project: Projection) -> Projection:
    """Limit a projection to programs that exchange numbers between devices, or that were seen from outside."""
    return on_gpu(by_nccl(project))


_KERNELS = "other algorithms and kernels, so other rounding; sometimes another mode"
_PROMISE = "the vendor promises equal bits within one version only"
KINDS = (
    Kind("cudnn", "cuDNN", Level.CURVE, on_gpu, _KERNELS, "NVIDIA cuDNN documentation, Reproducibility",
         one_form=True),
    Kind("cublas", "cuBLAS", Level.CURVE, on_gpu, _KERNELS, "NVIDIA cuBLAS documentation, Results Reproducibility",
         one_form=True),
    Kind("cuda_runtime", "CUDA runtime", Level.BITWISE, on_gpu, "kernels are chosen by the libraries above it",
         "PyTorch documentation, Reproducibility"),
    Kind("cufft", "cuFFT", Level.BITWISE, on_gpu, _KERNELS, _PROMISE, one_form=True),
    Kind("cusolver", "cuSOLVER", Level.BITWISE, on_gpu, _KERNELS, _PROMISE, one_form=True),
    Kind("cusparse", "cuSPARSE", Level.BITWISE, on_gpu, _KERNELS, _PROMISE, one_form=True),
    Kind("nccl", "NCCL", Level.CURVE, distributed, "reductions over ranks may add in another order",
         "Megatron-LM documentation, deterministic training", one_form=True, optional=True),
    Kind("nvjitlink", "nvJitLink", Level.BITWISE, on_gpu, "kernels linked at run time", _PROMISE, optional=True),
    Kind("nvrtc", "NVRTC", Level.BITWISE, on_gpu, "kernels compiled at run time", _PROMISE, optional=True),
    Kind("triton", "Triton", Level.BITWISE, on_gpu, "compiled kernels contract and order operations otherwise",
         "torch._inductor compiles through Triton", optional=True),
    Kind("hip_runtime", "HIP runtime", Level.BITWISE, on_gpu, "kernels are chosen by the libraries above it",
         "ROCm HIP documentation"),
    Kind("rocblas", "rocBLAS", Level.CURVE, on_gpu, _KERNELS, "ROCm rocBLAS documentation"),
    Kind("hipblaslt", "hipBLASLt", Level.CURVE, on_gpu, _KERNELS, "ROCm hipBLASLt documentation"),
    Kind("miopen", "MIOpen", Level.CURVE, on_gpu, _KERNELS, "ROCm MIOpen documentation"),
    Kind("rccl", "RCCL", Level.CURVE, distributed, "reductions over ranks may add in another order",
         "ROCm RCCL documentation", optional=True),
    Kind("mkl", "MKL", Level.CURVE, _anywhere, "matrix products, exp, tanh and FFT run other code",
         "Intel oneMKL documentation, Conditional Numerical Reproducibility", 2),
    Kind("onednn", "oneDNN", Level.CURVE, _anywhere, "convolutions and half-precision products run other code",
         "oneDNN documentation, Numerical behavior"),
    Kind("openblas", "OpenBLAS", Level.CURVE, _anywhere, "NumPy and SciPy products and decompositions round otherwise",
         "measured: NumPy with another OpenBLAS changes products"),
)
#: libraries that come inside torch: what is installed beside it need not be what acts, and what acts is read in the
#: process; from outside the version of torch is judged.
LINKED_IN = frozenset(("mkl", "onednn"))

#: libraries of which a process should hold one copy; NumPy and SciPy ordinarily bring an OpenBLAS each.
ONCE = frozenset(("cudnn", "cublas", "nccl", "rocblas", "hipblaslt", "miopen", "rccl"))


def library(facts: Facts, name: str, fact: str) -> Any:
    """Return one fact of a library; absent where the library is."""
    return facts.read(f"libraries.{name}.{fact}")


def not_loaded(facts: Facts, name: str) -> bool:
    """Tell whether the finished process surely had not loaded the library."""
    if not in_process(facts):
        return False
    fact = facts.look(f"libraries.{name}.loaded")
    return fact is None or fact == {"unread": "not-loaded"}


def version_of(kind: Kind, fact: str) -> Projection:
    """Project the loaded or installed version to the parts that the library itself reports.

    In the process what is loaded acts, so there it stands for what is installed where both are written alike.
    """
    @kind.limit
    def project(facts: Facts) -> Any:
        if not_loaded(facts, kind.name) or (fact == "installed" and kind.name in LINKED_IN and in_process(facts)):
            return UNUSED
        acting = "loaded" if kind.one_form and in_process(facts) else fact
        value = library(facts, kind.name, acting)
        if value is None:
            return UNUSED
        return prefix(value, kind.parts) if release(value) and "," not in value else value
    return project


def _rules_of(kind: Kind) -> tuple[AnyRule, ...]:
    slug = kind.name.replace("_", "-")
    guaranteed = Level.STATISTICAL if kind.expected < Level.BITWISE and kind.limit is on_gpu else Level.CURVE

    def rule(suffix: str, fact: str, set_by: SetBy, subsumes: tuple[str, ...]) -> Distinction:
        return Distinction(
            id=f"{slug}-{suffix}", layer="libraries", cause="library_version", set_by=set_by, guaranteed=guaranteed,
            expected=kind.expected, possible=Level.BITWISE,
            why=f"{kind.title} {{expected}} {fact} against {{observed}}",
            effect=kind.effect, remedy=f"install the same {kind.title} on both sides", confidence="documented",
            source=(kind.source,), subsumes=subsumes, project=version_of(kind, fact),
            capture_how="run the program under `repro-env run`" if fact == "loaded"
            else "run `repro-env capture` in the job's environment")
    of_machine = not kind.optional and kind.name not in LINKED_IN
    apart = () if kind.name in LINKED_IN else (f"{slug}-build",)
    return (rule("loaded", "loaded", SetBy.PROGRAM, (f"{slug}-installed", *apart)),
            rule("installed", "installed", SetBy.MACHINE if of_machine else SetBy.PROGRAM, ()))


def mismatch(facts: Facts, name: str, title: str) -> Fails | None:
    """Fail where the loaded library is older than the one it stands for, or of another major version."""
    loaded = facts.read(f"libraries.{name}.loaded")
    if loaded is None:
        return None
    for built in _references(facts, name):
        have, want = release(loaded)[:2], release(built)[:2]
        if have and want and (have < want or have[0] != want[0]):
            return Fails(f"{title} {loaded} is loaded where {built} was built in")
    return None


def _references(facts: Facts, name: str) -> list[str]:
    """Return the versions that a loaded library must not be older than.

    In the process the one that torch was compiled against decides, and the installed one where torch says none. From
    outside each that is stated counts.
    """
    compiled, installed = f"libraries.{name}.compiled_against", f"libraries.{name}.installed"
    if in_process(facts):
        told = facts.read(compiled) if name in COMPILED_AGAINST and any_imported(facts, ("torch",)) else None
        return [value for value in (told or facts.read(installed),) if value]
    values = [facts.read(path) for path in (compiled, installed) if facts.known(path)]
    if not values:
        facts.read(installed)
    return [value for value in values if value]


#: libraries whose version torch says that it was compiled against.
COMPILED_AGAINST = frozenset(("cudnn", "nccl"))


def wrong_cudnn(facts: Facts) -> Fails | None:
    """Fail where another cuDNN than the framework's own is loaded, and it is older."""
    return None if not_loaded(facts, "cudnn") else mismatch(facts, "cudnn", "cuDNN")


def wrong_cublas(facts: Facts) -> Fails | None:
    """Fail where another cuBLAS than the framework's own is loaded, and it is older."""
    return None if not_loaded(facts, "cublas") else mismatch(facts, "cublas", "cuBLAS")


#: code of the observer -> what it says.
_CODES = {"two-copies": "two copies are loaded", "shadowed": "another copy stands before the framework's own",
          "not-installed": "the loaded version is not the installed one", "preloaded": "LD_PRELOAD put it first",
          "not-compiled-against": "the loaded version is not one that the framework was compiled for"}


def conflicts(facts: Facts) -> Fails | None:
    """Fail where two copies of one numeric library are loaded, one shadows another, or its parts differ in version."""
    return _told(facts, ("two-copies", "shadowed"), versions=True)


def not_the_installed(facts: Facts) -> Fails | None:
    """Fail where a loaded library is not the installed one, or not one that the framework was compiled for."""
    return _told(facts, ("not-installed", "not-compiled-against", "preloaded"))


def _told(facts: Facts, codes: tuple[str, ...], *, versions: bool = False) -> Fails | None:
    """Fail where the observer noted one of ``codes`` about a library of which there should be one.

    With ``versions`` also where its copies or parts report several: the observer lists those side by side.
    """
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return None
    found = []
    lacking: dict[str, str] = {}
    for kind in KINDS:
        if kind.name not in ONCE or not_loaded(facts, kind.name):
            continue
        paths = [f"libraries.{kind.name}.{fact}" for fact in ("conflicts", "loaded")[:1 + versions]]
        noted, *loaded = map(facts.look, paths)
        lacking.update({path: value["unread"] for path, value in zip(paths, (noted, *loaded)) if is_unread(value)})
        if not is_unread(noted):
            found += [f"{kind.title}: {_CODES[code]}" for code in noted or () if code in codes]
        found += [f"{kind.title}: versions {value} are loaded together"
                  for value in loaded if isinstance(value, str) and ", " in value]
    if lacking and not found:
        raise Missing(lacking)
    return Fails("; ".join(found)) if found else None


@on_gpu
@using("torch")
def cuda_build(facts: Facts) -> Any:
    """CUDA or ROCm version that torch was built with."""
    if not facts.get("frameworks.torch.rocm_build"):  # a build is for one of them
        cuda = facts.read("frameworks.torch.cuda_build")
        if cuda:
            return f"CUDA {prefix(cuda, 2)}"
    rocm = facts.read("frameworks.torch.rocm_build")
    return f"ROCm {prefix(rocm, 2)}" if rocm else UNUSED


def unvetted(facts: Facts) -> Any:
    """Mapped extensions outside known distributions: code of which nothing is known but its identity."""
    return facts.read("libraries.unvetted_kernels") or UNUSED


def openblas_build(facts: Facts) -> Any:
    """Which build of OpenBLAS is loaded; builders choose other compilers and kernels for one version."""
    if not_loaded(facts, "openblas"):
        return UNUSED
    return facts.read("libraries.openblas.build_id") or UNUSED


_LOADED_SOURCE = ("pytorch issue 80637: RUNPATH gives way to LD_LIBRARY_PATH", "audiocraft issue 186")

WRONG: tuple[AnyRule, ...] = tuple(
    Condition(
        id=f"{name}-wrong", layer="libraries", cause="wrong_library_loaded", set_by=SetBy.PROGRAM,
        guaranteed=Level.NONE, expected=Level.NONE, possible=Level.BITWISE, why="{detail} {side}",
        effect="errors at the first call, or other algorithms than this build was tested with",
        remedy="unset LD_LIBRARY_PATH, or remove the foreign library from it", confidence="observed",
        source=_LOADED_SOURCE, holds=holds)
    for name, holds in (("cudnn", wrong_cudnn), ("cublas", wrong_cublas)))

RULES: tuple[AnyRule, ...] = (
    Condition(
        id="library-not-the-installed", layer="libraries", cause="wrong_library_loaded", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="what is installed and pinned is not what computes",
        remedy="unset LD_LIBRARY_PATH and LD_PRELOAD, and install the version that the framework asks for",
        confidence="observed", source=_LOADED_SOURCE, holds=not_the_installed),
    Condition(
        id="library-conflicts", layer="libraries", cause="wrong_library_loaded", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE, why="{detail} {side}",
        effect="which copy answers depends on the order of loading",
        remedy="remove the second copy: look at LD_LIBRARY_PATH and LD_PRELOAD", confidence="observed",
        source=_LOADED_SOURCE, holds=conflicts),
    Distinction(
        id="cuda-build", layer="libraries", cause="build_variant", guaranteed=Level.STATISTICAL,
        expected=Level.CURVE, possible=Level.BITWISE, why="torch built with {expected} against {observed}",
        effect="another set of the maker's kernels: cuBLAS and cuDNN, or rocBLAS and MIOpen",
        remedy="install the torch build for the same version of CUDA or ROCm",
        confidence="documented", source=("PyTorch documentation, Reproducibility", "NVIDIA cuBLAS documentation"),
        subsumes=("cuda-runtime-loaded", "cuda-runtime-installed", "cublas-loaded", "cublas-installed",
                  "nvrtc-installed", "nvjitlink-installed", "cufft-installed", "cusolver-installed",
                  "cusparse-installed", "cuda-runtime-build", "cublas-build", "cudnn-build", "nvrtc-build",
                  "nvjitlink-build", "cufft-build", "cusolver-build", "cusparse-build"),
        project=cuda_build),
    *(rule for kind in KINDS for rule in _rules_of(kind)),
    Distinction(
        id="openblas-build", layer="libraries", cause="build_variant", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="OpenBLAS build {expected} against {observed}", effect="products and decompositions may round otherwise",
        remedy="install NumPy and SciPy from the same place in the same version", confidence="observed",
        source=("measured: BLAS library and build change results of NumPy",), project=openblas_build),
    Distinction(
        id="unvetted-kernels", layer="libraries", cause="build_variant", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="extensions outside known distributions: {expected} against {observed}",
        effect="code built on the spot may compute anything",
        remedy="build the extension from the same source with the same flags, or package it", confidence="documented",
        source=("PyTorch documentation, custom C++ and CUDA operators",), project=unvetted),
)

"""What an imported torch tells: build, precision, determinism, threads, seeds, layout.

Both generations of the TF32 interface are read. Where the new one exists (2.9 and later) the old getters are not
called: they raise after a program has used the new setters, and may print their one deprecation warning on us.
Nothing here starts CUDA: the arch list is read from the compiled flags, devices are not asked.
"""

from __future__ import annotations

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what torch tells; nothing when the process has not imported it, or is still importing it."""
    modules = system.loaded_modules()
    torch = modules.get("torch")
    if torch is None or not hasattr(torch, "_C") or not hasattr(torch, "get_default_dtype"):
        return
    readings.attempt_all(BUILD + PRECISION + DETERMINISM + THREADS, torch)
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    for name, library, operation in _NEW_PRECISION:
        readings.attempt(f"precision.{name}", "torch",
                         lambda a=library, b=operation: getter(a, b) if getter else None)  # type: ignore[misc]
    readings.attempt("precision.autocast", "torch", lambda: autocast(torch) or seen.autocast)
    readings.attempt("program.random.seeds", "torch", lambda: _seeds(torch, seen))
    _layout(modules.get("torch.distributed"), seen, readings)


def dtype_name(dtype: Any) -> str:
    """Return ``float32`` for ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def autocast(torch: Any) -> str | None:
    """Return the dtype of the autocast region the calling thread is in; ``None`` outside of one.

    The getters without a device are asked only where the newer ones are missing: they warn that they are old.
    """
    if hasattr(torch, "get_autocast_dtype"):
        for device in ("cuda", "cpu", "xpu", "mps"):
            if torch.is_autocast_enabled(device):
                return dtype_name(torch.get_autocast_dtype(device))
        return None
    if torch.is_autocast_enabled():
        return dtype_name(torch.get_autocast_gpu_dtype())
    if torch.is_autocast_cpu_enabled():
        return dtype_name(torch.get_autocast_cpu_dtype())
    return None


def _call(torch: Any, name: str) -> Any:
    """Call a getter of the extension module; ``None`` where this version has no such switch."""
    getter = getattr(torch._C, name, None)
    return getter() if getter else None


def _first(value: Any) -> bool:
    """Return the switch itself; newer versions answer (reduced reductions, split-k)."""
    return bool(value[0] if isinstance(value, tuple) else value)


def _allow_tf32(torch: Any, *operations: str) -> bool:
    """Return what the old TF32 getter answers where it answers, without calling it where the new interface exists."""
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    if getter:
        return all(getter("cuda", operation) == "tf32" for operation in operations)
    legacy = torch._C._get_cublas_allow_tf32 if operations == ("matmul",) else torch._C._get_cudnn_allow_tf32
    return bool(legacy())


def _float32_matmul_precision(torch: Any) -> Any:
    """Return the old three-step switch; unread where torch refuses to answer because both interfaces were mixed."""
    try:
        return torch._C._get_float32_matmul_precision()
    except RuntimeError:
        return unread("not-reported")


def _tunable_op(torch: Any) -> Any:
    """Whether TunableOp is on; builds without CUDA have none."""
    if torch.version.cuda is None and torch.version.hip is None:
        return None
    return _call(torch, "_cuda_tunableop_is_enabled")


def _mha_fastpath(torch: Any) -> Any:
    """Whether attention layers may take their fused path in inference; versions without the switch always may."""
    switch = getattr(torch.backends, "mha", None)
    return True if switch is None else bool(switch.get_fastpath_enabled())


def _arch_list(torch: Any) -> Any:
    """Return the GPU targets compiled in, without asking for a device; ``None`` for a build without GPU."""
    flags = _call(torch, "_cuda_getArchFlags")
    return sorted(flags.split()) if flags else None


def _seeds(torch: Any, seen: Seen) -> Any:
    """Return the torch seed where the program has set it.

    An unseeded generator starts from entropy, or from a fixed default in older versions; so a seed counts as set only
    where the hooks saw another one at import.
    """
    if seen.torch_seed_at_import is None:
        return unread("not-reported")
    seed = torch.default_generator.initial_seed()
    if seed == seen.torch_seed_at_import:
        return unread("not-reported")
    return {"torch": seed} if seed < 2**53 else unread("not-reported")


def _layout(distributed: Any, seen: Seen, readings: Readings) -> None:
    """Record backend and size of the process group. A program leaves it before it ends: what was seen once stays."""
    if distributed is None or not distributed.is_available():
        return
    if distributed.is_initialized():
        seen.group = (str(distributed.get_backend()), int(distributed.get_world_size()))
    readings.put("collectives.backend", "torch", seen.group[0] if seen.group else None)
    if seen.group:
        readings.put("program.layout.world_size", "torch", seen.group[1])


_NEW_PRECISION = (("fp32_generic", "generic", "all"), ("fp32_cuda_matmul", "cuda", "matmul"),
                  ("fp32_cudnn_conv", "cuda", "conv"), ("fp32_cudnn_rnn", "cuda", "rnn"),
                  ("fp32_mkldnn_matmul", "mkldnn", "matmul"), ("fp32_mkldnn_conv", "mkldnn", "conv"),
                  ("fp32_mkldnn_rnn", "mkldnn", "rnn"))

PRECISION = (
    ("precision.allow_tf32_matmul", "torch", lambda torch: _allow_tf32(torch, "matmul")),
    ("precision.allow_tf32_cudnn", "torch", lambda torch: _allow_tf32(torch, "conv", "rnn")),
    ("precision.float32_matmul_precision", "torch", _float32_matmul_precision),
    ("precision.fp16_reduced_reduction", "torch",
     lambda torch: _first(torch._C._get_cublas_allow_fp16_reduced_precision_reduction())),
    ("precision.bf16_reduced_reduction", "torch",
     lambda torch: _first(torch._C._get_cublas_allow_bf16_reduced_precision_reduction())),
    ("precision.fp16_accumulation", "torch", lambda torch: _call(torch, "_get_cublas_allow_fp16_accumulation")),
    ("precision.default_dtype", "torch", lambda torch: dtype_name(torch.get_default_dtype())),
)
DETERMINISM = (
    ("determinism.deterministic_algorithms", "torch", lambda torch: torch._C._get_deterministic_algorithms()),
    ("determinism.warn_only", "torch", lambda torch: torch._C._get_deterministic_algorithms_warn_only()),
    ("determinism.fill_uninitialized_memory", "torch",
     lambda torch: _call(torch, "_get_deterministic_fill_uninitialized_memory")),
    ("determinism.cudnn_enabled", "torch", lambda torch: torch._C._get_cudnn_enabled()),
    ("determinism.cudnn_deterministic", "torch", lambda torch: torch._C._get_cudnn_deterministic()),
    ("determinism.cudnn_benchmark", "torch", lambda torch: torch._C._get_cudnn_benchmark()),
    ("determinism.sdp_flash", "torch", lambda torch: _call(torch, "_get_flash_sdp_enabled")),
    ("determinism.sdp_mem_efficient", "torch", lambda torch: _call(torch, "_get_mem_efficient_sdp_enabled")),
    ("determinism.sdp_math", "torch", lambda torch: _call(torch, "_get_math_sdp_enabled")),
    ("determinism.sdp_cudnn", "torch", lambda torch: _call(torch, "_get_cudnn_sdp_enabled")),
    ("determinism.mkldnn_enabled", "torch", lambda torch: _call(torch, "_get_mkldnn_enabled")),
    ("determinism.mha_fastpath", "torch", _mha_fastpath),
    ("determinism.mkldnn_deterministic", "torch", lambda torch: _call(torch, "_get_mkldnn_deterministic")),
    ("determinism.tunable_op", "torch", _tunable_op),
)
BUILD = (
    ("frameworks.torch.cuda_build", "torch", lambda torch: torch.version.cuda),
    ("frameworks.torch.rocm_build", "torch", lambda torch: torch.version.hip),
    ("frameworks.torch.debug", "torch", lambda torch: bool(torch.version.debug)),
    ("frameworks.torch.arch_list", "torch", _arch_list),
    ("cpu.torch_capability", "torch", lambda torch: torch.backends.cpu.get_cpu_capability()),
)
THREADS = (
    ("threads.torch_intraop", "torch", lambda torch: torch.get_num_threads()),
    ("threads.torch_interop", "torch", lambda torch: torch.get_num_interop_threads()),
)

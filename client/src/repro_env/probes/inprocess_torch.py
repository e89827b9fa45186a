"""What an imported torch tells: its switches of precision and determinism, its threads, its seeds.

Both generations of the TF32 interface are read. Where the new one exists (2.9 and later) the old getters are not
called: they raise after a program has used the new setters, and may print their one deprecation warning on us.
Nothing here starts CUDA. Build, model, compiler and process group lie in the modules beside this one.
"""

from __future__ import annotations

from ..fingerprint.facts import unread
from . import inprocess_build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen


def imported(modules: Any) -> Any:
    """Return torch when the process has imported all of it; ``None`` without it, or while it is being imported."""
    torch = modules.get("torch")
    return torch if hasattr(torch, "_C") and hasattr(torch, "get_default_dtype") else None


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what torch tells; nothing when the process has not imported it, or is still importing it."""
    torch = imported(system.loaded_modules())
    if torch is None:
        return
    inprocess_build.read(torch, readings)
    readings.attempt_all(PRECISION + DETERMINISM + THREADS, torch)
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    for name, library, operation in _NEW_PRECISION:
        readings.attempt(f"precision.{name}", "torch",
                         lambda a=library, b=operation: getter(a, b) if getter else None)  # type: ignore[misc]
    readings.attempt("precision.autocast", "torch", lambda: autocast(torch) or seen.autocast)
    readings.attempt("program.random.seeds", "torch", lambda: _seeds(torch, seen))


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


def tunable_op(torch: Any) -> Any:
    """Whether TunableOp is on; builds without CUDA have none."""
    return _call(torch, "_cuda_tunableop_is_enabled") if _for_gpu(torch) else None


def _for_gpu(torch: Any) -> bool:
    """Tell whether this build can compute on CUDA or ROCm devices at all."""
    return torch.version.cuda is not None or torch.version.hip is not None


def _benchmark_limit(torch: Any) -> Any:
    """Return how many algorithms cuDNN times (0: all); builds without CUDA time none."""
    return _call(torch, "_cuda_get_cudnn_benchmark_limit") if _for_gpu(torch) else None


def _sdp_priority(torch: Any) -> Any:
    """Return the order in which attention tries its kernels; ``None`` before torch had one (2.6).

    Another implementation of the flash kernel may have been put in its place (2.11 and later); it is named beside it.
    """
    order = _call(torch, "_get_sdp_priority_order")
    if order is None:
        return None
    active = getattr(getattr(torch.nn, "attention", None), "current_flash_attention_impl", lambda: None)()
    names = {**_SDP_KERNELS, 1: "flash" if active is None else f"flash {active}"}
    return [names.get(int(number), str(int(number))) for number in order]


def _preferred(torch: Any, getter: str) -> Any:
    """Return the library that products or decompositions prefer; builds without CUDA have no choice.

    On ROCm the getter counts devices to decide what it prefers, so it is asked once the program has started them.
    """
    if not _for_gpu(torch):
        return None
    if torch.version.hip is not None and not torch.cuda.is_initialized():
        return unread("not-loaded")
    choice = _call(torch, getter)
    return None if choice is None else str(choice).rpartition(".")[2].lower()


def _mha_fastpath(torch: Any) -> Any:
    """Whether attention layers may take their fused path in inference; versions without the switch always may."""
    switch = getattr(torch.backends, "mha", None)
    return True if switch is None else bool(switch.get_fastpath_enabled())


def _seeds(torch: Any, seen: Seen) -> Any:
    """Return the torch seed where the program has set it.

    An unseeded generator starts from 64 bits of entropy, or from a fixed default above 2^32 in older versions; so a
    seed counts as set where it is small, or where the hooks saw another one at import.
    """
    seed = torch.default_generator.initial_seed()
    if not (seed < 2**32 or seen.torch_seed_at_import not in (None, seed)) or seed >= 2**53:
        return unread("not-reported")
    return {"torch": seed, **_device_seed(torch, seed)}


def _device_seed(torch: Any, seed: int) -> dict[str, Any]:
    """Return the seed of the current device's generator where the program has started devices.

    A device's generator draws its own seed when it is made. Equal to torch's it was set with it; another one may be
    that draw, or set by itself: nobody can tell, so it is unread.
    """
    if not _for_gpu(torch) or not torch.cuda.is_initialized():
        return {}
    own = torch.cuda.default_generators[torch.cuda.current_device()].initial_seed()
    return {"cuda": own if own == seed else unread("not-reported")}


_SDP_KERNELS = {0: "math", 1: "flash", 2: "mem_efficient", 3: "cudnn", 4: "overrideable"}
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
    ("precision.math_sdp_reduced", "torch", lambda torch: _call(torch, "_get_math_sdp_allow_fp16_bf16_reduction")),
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
    ("determinism.tunable_op", "torch", tunable_op),
    ("determinism.cudnn_benchmark_limit", "torch", _benchmark_limit),
    ("determinism.sdp_priority", "torch", _sdp_priority),
    ("determinism.preferred_blas", "torch", lambda torch: _preferred(torch, "_get_blas_preferred_backend")),
    ("determinism.preferred_linalg", "torch", lambda torch: _preferred(torch, "_get_linalg_preferred_backend")),
)
THREADS = (
    ("threads.torch_intraop", "torch", lambda torch: torch.get_num_threads()),
    ("threads.torch_interop", "torch", lambda torch: torch.get_num_interop_threads()),
)

"""Whether torch compiled anything in this process, under which settings, and which configurations autotuning chose.

Training imports parts of the compiler without compiling, so only its own counts prove that something was compiled.
Settings are read where they are plain switches: reading others would copy them, warn, or import. A mode or options
given to ``torch.compile`` act on its own graphs only; they are found on the backends that the compiler remembers.
"""

from __future__ import annotations

from ..canonical import digest
from ..fingerprint.facts import unread
from . import inprocess_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: settings of Inductor that choose what its kernels compute, how they are fused, and which of several is taken.
SETTINGS = (
    "aggressive_fusion", "align_random_eager", "b2b_gemm_pass", "batch_invariant", "benchmark_fusion",
    "benchmark_kernel", "combo_kernels", "comprehensive_padding", "conv_1x1_as_mm", "coordinate_descent_tuning",
    "cpp_wrapper", "decompose_mem_bound_mm", "deterministic", "efficient_conv_bn_eval_fx_passes",
    "emulate_precision_casts", "epilogue_fusion", "fallback_random", "force_shape_pad", "freezing",
    "layout_optimization", "max_autotune", "max_autotune_conv_backends", "max_autotune_gemm",
    "max_autotune_gemm_backends", "max_autotune_gemm_search_space", "max_autotune_pointwise", "online_softmax",
    "pattern_matcher", "prologue_fusion", "shape_padding", "split_reductions", "use_fast_math", "use_mixed_mm",
    "cpp.dynamic_threads", "cpp.enable_concat_linear", "cpp.enable_floating_point_contract_flag",
    "cpp.enable_loop_tail_vec", "cpp.enable_tiling_heuristics", "cpp.enable_unsafe_math_opt_flag",
    "cpp.fallback_scatter_reduce_sum", "cpp.gemm_max_k_slices", "cpp.march", "cpp.min_chunk_size", "cpp.simdlen",
    "cpp.threads", "cpp.use_decompose_tanh", "cpp.vec_isa_ok", "cpp.weight_prepack", "triton.autotune_pointwise",
    "triton.codegen_upcast_to_fp32", "triton.cooperative_reductions", "triton.cudagraphs", "triton.dense_indexing",
    "triton.enable_persistent_tma_matmul", "triton.force_cooperative_reductions", "triton.max_tiles",
    "triton.mix_order_reduction", "triton.multi_kernel", "triton.native_matmul", "triton.persistent_reductions",
    "triton.tile_reductions", "triton.use_block_ptr")
#: kernels whose configuration is looked at; more than any model has, and a bound all the same.
MAX_KERNELS = 20_000
_NOTHING = object()


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what the compiler did; nothing when torch was not imported."""
    modules = system.loaded_modules()
    torch = inprocess_torch.imported(modules)
    if torch is None:
        return
    readings.attempt("program.model.compile", "torch", lambda: compiled(modules))
    readings.attempt("determinism.inductor", "torch", lambda: settings(modules))
    readings.attempt("determinism.compile_cache", "torch", lambda: choices(system, modules, seen))


def compiled(modules: Any) -> bool:
    """Tell whether the compiler turned any code of the program into a graph, for whatever backend."""
    counters = getattr(modules.get("torch._dynamo.utils"), "counters", None)
    if not counters:
        return False
    return any(counters.get(group, {}).get(name, 0) > 0
               for group, name in (("stats", "unique_graphs"), ("frames", "ok")))


def generated(modules: Any) -> list[Any]:
    """Return the modules of generated code that Inductor loaded in this process."""
    cache = getattr(modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    found: dict[int, Any] = {}
    for name in ("modules", "cache", "modules_no_attr"):
        held = getattr(cache, name, None) or ()
        for module in list(held.values() if isinstance(held, dict) else held):
            found[id(module)] = module
    return list(found.values())


def settings(modules: Any) -> Any:
    """Return the settings in force as text by name; ``None`` when Inductor generated nothing here.

    Graphs compiled under several settings give one text with each, so that two such programs can still be equal.
    """
    if not compiled(modules) or not generated(modules):
        return None
    config = modules.get("torch._inductor.config")
    if config is None:
        return unread("not-loaded")
    common = {name: value for name, value in ((name, setting(config, name)) for name in SETTINGS)
              if value is not _NOTHING}
    each = [{**common, **own} for own in _own_settings(modules)] or [common]
    return {name: "|".join(sorted({_text(found[name]) for found in each if name in found}))
            for name in sorted({name for found in each for name in found})}


def setting(config: Any, name: str) -> Any:
    """Return one plain setting; ``_NOTHING`` where this version has none, or where reading it would say something."""
    entry = getattr(config, "_config", {}).get(name, _NOTHING)
    if entry is _NOTHING or getattr(entry, "deprecated", False) or getattr(entry, "alias", None) is not None:
        return _NOTHING
    default = getattr(entry, "default", entry)
    if default is not None and not isinstance(default, (bool, int, str)):
        return _NOTHING
    return getattr(config, name, _NOTHING)


def _own_settings(modules: Any) -> list[dict[str, Any]]:
    """Return what was given to each ``torch.compile`` whose backend is Inductor: mode and options, dynamic shapes."""
    backends = getattr(modules.get("torch._dynamo.eval_frame"), "cached_backends", None) or {}
    ours = [backend for backend in list(backends.values()) if getattr(backend, "compiler_name", None) == "inductor"]
    return [{**{name: value for name, value in backend.config.items() if name in SETTINGS},
             "dynamic": getattr(backend, "dynamic", None)}
            for backend in ours if isinstance(getattr(backend, "config", None), dict)]


def _text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def choices(system: System, modules: Any, seen: Seen) -> Any:
    """Return the digest of what timing chose for this process; ``None`` when it neither compiled nor tuned.

    The configuration of generated kernels is read from the kernels themselves: the cache's folder holds the choices of
    other programs too. Ranks time on their own and may choose differently in a healthy job, so that of one rank is not
    the job's.
    """
    tuning = _tunes(modules["torch"])
    if not compiled(modules) and not tuning:
        return None
    found = generated(modules)
    if (found or tuning) and seen.group is not None and seen.group[1] > 1:
        return unread("not-reported")
    chosen: dict[str, Any] = {name: sorted(texts) for name, texts in _configurations(found).items()}
    try:
        chosen.update({"TunableOp": tuned(system)} if tuning else {})
    except OSError:
        return unread("not-reported")
    return digest(chosen, "compile_cache")


def _tunes(torch: Any) -> bool:
    """Tell whether TunableOp chooses matrix products."""
    return inprocess_torch.tunable_op(torch) is True


def tuned(system: System) -> list[str]:
    """Return what TunableOp's results say was chosen for each product, without times; raise ``OSError``.

    The file is that of the first device, named by the variable or as torch names it.
    """
    name = system.environ.get("PYTORCH_TUNABLEOP_FILENAME") or "tunableop_results.csv"
    stem, dot, ending = name.rpartition(".")
    numbered = name.replace("%d", "0") if "%d" in name else f"{stem}0{dot}{ending}" if dot else f"{name}0"
    lines = system.read_text(numbered, 1 << 20).splitlines()
    return sorted(line if line.startswith("Validator,") else line.rpartition(",")[0] for line in lines if line)


def _configurations(found: list[Any]) -> dict[str, set[str]]:
    """Return the chosen configurations by kernel; kernels that did not run yet have chosen none."""
    kernels: dict[str, set[str]] = {}
    count = 0
    for module in found:
        for name, kernel in list(vars(module).items()):
            launchers = getattr(kernel, "launchers", None)
            if not isinstance(launchers, list) or len(launchers) != 1 or count >= MAX_KERNELS:
                continue
            count += 1
            config = getattr(launchers[0], "config", None)
            kernels.setdefault(name, set()).add(_configuration(config))
    return kernels


def _configuration(config: Any) -> str:
    """Return block sizes, warps and stages of one configuration."""
    parts = dict(getattr(config, "kwargs", None) or {})
    parts.update({name: getattr(config, name, None) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")})
    return ", ".join(f"{name}={value}" for name, value in sorted(parts.items()) if value is not None)

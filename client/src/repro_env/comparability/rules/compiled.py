"""Layer ``determinism``: which libraries torch prefers, and what its compiler generates, times and remembers."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, all_hold, imported, in_process, on_gpu, using, variable
from ..levels import Level, Question, SetBy
from ..reading import Facts
from ..rule import ALL_QUESTIONS, PROGRAM_QUESTIONS, AnyRule, Condition, Distinction, Fails, Projection

_CONFIG = "torch._inductor.config"
_SETTINGS = "determinism.inductor"
#: settings by which timing chooses, each enough by itself.
TIMED = ("max_autotune", "max_autotune_gemm", "max_autotune_pointwise", "coordinate_descent_tuning",
         "benchmark_fusion", "triton.multi_kernel")


@on_gpu
@using("torch")
def preferred(facts: Facts) -> Any:
    """Libraries that products and decompositions go to first."""
    blas, linalg = facts.read_all("determinism.preferred_blas", "determinism.preferred_linalg")
    return UNUSED if blas is None and linalg is None else [f"products {blas}", f"decompositions {linalg}"]


@using("torch")
def used(facts: Facts) -> Any:
    """Whether kernels that Inductor generated ran; from outside nobody sees it."""
    found = facts.read(_SETTINGS)
    return "eager code" if found is None and in_process(facts) else UNUSED if found is None else "compiled code"


@using("torch")
def generated(facts: Facts) -> Any:
    """Settings under which Inductor and Triton generated kernels, as far as any were."""
    found = facts.read(_SETTINGS)
    if found is None:
        return UNUSED
    return [f"{name}={value}" for name, value in sorted(found.items()) if name not in RANDOM]


#: settings that decide where compiled code draws from, judged by a rule of their own.
RANDOM = ("fallback_random", "align_random_eager")


@using("torch")
def drawn(facts: Facts) -> Any:
    """Random numbers of compiled code: those of eager code where a setting asks for them, else its own scheme."""
    found = facts.read(_SETTINGS)
    if found is None:
        return UNUSED
    like_eager = [name for name in RANDOM if "true" in _each(found, name)]
    return "eager code's numbers" if like_eager else "numbers of its own"


@using("torch")
def remembered(facts: Facts) -> Any:
    """Choices of autotuning for the kernels of this program; they name its kernels, so only a repeat can share them."""
    found = facts.read("determinism.compile_cache")
    return UNUSED if found is None else str(found)[:19]


def timed(facts: Facts) -> Fails | None:
    """Fail where compiled kernels are chosen by timing: in the process by its settings, from outside by the variable.

    The settings take the variable in when the compiler is imported; deterministic mode of the compiler ends all timing.
    """
    if not in_process(facts):
        asked = variable(facts, "TORCHINDUCTOR_MAX_AUTOTUNE") not in (None, "0")
        return Fails("TORCHINDUCTOR_MAX_AUTOTUNE is set") if asked else None
    if not all_hold(facts, (_by_torch, _compiles)):
        return None
    found = facts.read(_SETTINGS)
    on = [name for name in TIMED if {"true", "1", "2", "3"} & _each(found, name)]
    return Fails(f"{on[0]} is on") if on and not _deterministic(found) else None


def benchmarked(facts: Facts) -> Fails | None:
    """Fail where the compiler may time small choices on a GPU: padding of products, shapes of reductions."""
    if not all_hold(facts, (lambda side: side.read("frameworks.backend") in ("cuda", "rocm"), _by_torch, _compiles)):
        return None
    return None if _deterministic(facts.read(_SETTINGS)) else Fails("the compiler may time padding and reductions")


def _by_torch(facts: Facts) -> bool:
    return facts.read("frameworks.torch") is not None and (not in_process(facts) or imported(facts, "torch"))


def _compiles(facts: Facts) -> bool:
    return facts.read(_SETTINGS) is not None


def _deterministic(settings: dict[str, Any]) -> bool:
    return _each(settings, "deterministic") == {"true"}


def _each(settings: dict[str, Any], name: str) -> set[str]:
    """Return what one setting was, over all graphs that were compiled."""
    return set(settings[name].split("|")) if name in settings else set()


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, effect: str, remedy: str, source: str,
          guaranteed: Level = Level.CURVE, expected: Level = Level.CURVE, confidence: str = "documented",
          questions: tuple[Question, ...] = ALL_QUESTIONS) -> Distinction:
    return Distinction(
        id=rule_id, layer="determinism", cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence, source=(source,),
        questions=questions, project=project)


def _condition(rule_id: str, why: str, holds: Callable[[Facts], Fails | None], *, expected: Level, remedy: str,
               source: tuple[str, ...]) -> Condition:
    return Condition(
        id=rule_id, layer="determinism", cause="cudnn_autotune", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=expected, possible=Level.BITWISE, why=why, remedy=remedy, confidence="documented", source=source,
        effect="another winner sums in another order, from the first step on", holds=holds)


RULES: tuple[AnyRule, ...] = (
    _condition("inductor-autotune", "{detail} {side}: compiled kernels are chosen by timing", timed,
               expected=Level.CURVE, remedy="unset TORCHINDUCTOR_MAX_AUTOTUNE and compile in mode 'default'",
               source=(_CONFIG, "pytorch issues 99949, 174711")),
    _condition("inductor-benchmarks", "{detail} {side}", benchmarked, expected=Level.BITWISE,
               remedy="torch 2.10 or later: torch.use_deterministic_algorithms(True), or "
               "TORCHINDUCTOR_DETERMINISTIC=1 before the process starts",
               source=("pytorch pull requests 163589, 164904, 165950",)),
    _rule("preferred-libraries", "determinism_flags", "{expected} against {observed}", preferred,
          effect="other kernels, so other rounding",
          remedy="set torch.backends.cuda.preferred_blas_library and preferred_linalg_library the same",
          source="PyTorch documentation, torch.backends.cuda"),
    _rule("inductor-random", "compile_mode", "compiled code draws {expected} against {observed}", drawn,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, confidence="proven",
          effect="dropout masks agree by chance only",
          remedy="set torch._inductor.config.fallback_random = True on both sides",
          source="measured: masks agree in half of their places, and in all with fallback_random"),
    _rule("inductor-used", "compile_mode", "{expected} against {observed}", used, guaranteed=Level.STATISTICAL,
          effect="fused kernels round otherwise, about 3e-7 in float32; dropout masks agree by chance only",
          remedy="compile on both sides or on none", confidence="proven",
          source="measured: eager and compiled differ by 3e-7 in float32"),
    _rule("inductor-settings", "compile_mode", "kernels generated with {expected} against {observed}", generated,
          guaranteed=Level.STATISTICAL,
          effect="generated kernels fuse and order operations otherwise",
          remedy="use the same options of torch.compile and of torch._inductor.config",
          source=_CONFIG),
    _rule("compile-cache", "cudnn_autotune", "remembered choices of autotuning {expected} against {observed}",
          remembered, effect="kernels chosen by timing at another time sum in another order",
          remedy="start both from one cache: copy TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR, or empty them",
          source="torch._inductor.config, autotune_local_cache", questions=PROGRAM_QUESTIONS),
)

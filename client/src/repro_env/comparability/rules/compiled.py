"""Layer ``determinism``: which of several kernels torch takes, and what its compiler generates and remembers."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, on_gpu, using
from ..levels import Level, Question, SetBy
from ..reading import Facts
from ..rule import ALL_QUESTIONS, PROGRAM_QUESTIONS, AnyRule, Distinction, Projection


@on_gpu
@using("torch")
def attention_order(facts: Facts) -> Any:
    """Order in which SDPA tries its kernels: the first that can serve a call does."""
    return facts.read("determinism.sdp_priority") or UNUSED


@on_gpu
@using("torch")
def preferred(facts: Facts) -> Any:
    """Libraries that products and decompositions go to first."""
    blas, linalg = facts.read_all("determinism.preferred_blas", "determinism.preferred_linalg")
    return UNUSED if blas is None and linalg is None else [f"products {blas}", f"decompositions {linalg}"]


@using("torch")
def generated(facts: Facts) -> Any:
    """Settings under which Inductor and Triton generated kernels."""
    found = facts.read("determinism.inductor")
    return UNUSED if found is None else [f"{name}={value}" for name, value in sorted(found.items())]


@using("torch")
def remembered(facts: Facts) -> Any:
    """Choices of autotuning for the kernels of this program; they name its kernels, so only a repeat can share them."""
    found = facts.read("determinism.compile_cache")
    return UNUSED if found is None else str(found)[:19]


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, effect: str, remedy: str, source: str,
          guaranteed: Level = Level.CURVE, expected: Level = Level.CURVE,
          questions: tuple[Question, ...] = ALL_QUESTIONS) -> Distinction:
    return Distinction(
        id=rule_id, layer="determinism", cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence="documented", source=(source,),
        questions=questions, project=project)


RULES: tuple[AnyRule, ...] = (
    _rule("attention-order", "attention_implementation", "SDPA tries {expected} against {observed}", attention_order,
          effect="attention may run in another kernel, which sums in another order",
          remedy="set the same order: torch.nn.attention.sdpa_kernel(..., set_priority=True)",
          source="PyTorch documentation, torch.nn.attention.sdpa_kernel"),
    _rule("preferred-libraries", "determinism_flags", "{expected} against {observed}", preferred,
          effect="other kernels, so other rounding",
          remedy="set torch.backends.cuda.preferred_blas_library and preferred_linalg_library the same",
          source="PyTorch documentation, torch.backends.cuda"),
    _rule("inductor-settings", "compile_mode", "kernels generated with {expected} against {observed}", generated,
          guaranteed=Level.STATISTICAL,
          effect="generated kernels fuse and order operations otherwise; fallback_random decides the random numbers",
          remedy="use the same options of torch.compile and of torch._inductor.config",
          source="torch._inductor.config"),
    _rule("compile-cache", "cudnn_autotune", "remembered choices of autotuning {expected} against {observed}",
          remembered, effect="kernels chosen by timing at another time sum in another order",
          remedy="start both from one cache: copy TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR, or empty them",
          source="torch._inductor.config, autotune_local_cache", questions=PROGRAM_QUESTIONS),
)

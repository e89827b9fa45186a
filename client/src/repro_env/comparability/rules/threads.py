"""Layer ``threads``: effective counts and what they do to the order of additions."""

from __future__ import annotations

from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import NOT_APPLICABLE, AnyRule, Distinction


def torch_intraop(facts: Facts) -> object:
    """Effective intra-op threads of torch; not applicable where the process did not import torch."""
    if facts.read("frameworks.torch.imported") is not True:
        return NOT_APPLICABLE
    return facts.read("threads.torch_intraop")


RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="torch-threads", layer="threads", cause="thread_count", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="{expected} torch threads against {observed}",
        effect="sums are split at other places; about 1e-7 relative at first, growing as training goes on",
        remedy="set the same number of threads: OMP_NUM_THREADS, or torch.set_num_threads()",
        confidence="proven", source=("measured: sum, mean and matrix-vector products change with 1 against 2 threads",),
        project=torch_intraop),
)

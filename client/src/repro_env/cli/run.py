"""``repro-env run -- CMD``: become the command, observed from the inside."""

from __future__ import annotations

from . import sending
from .options import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "run", "Runs a program, unchanged, and records what its Python processes really load and switch on: at the first "
    "training step and at the end. Exit code, signals, input and output are the program's own.",
    usage="run [options] -- CMD [ARGUMENT ...]",
    examples=(("repro-env run -- python train.py --epochs 4", "observe one program"),
              ("repro-env run --project vision -- torchrun --nproc-per-node 8 train.py",
               "every rank reports; together they are one run"),
              ("repro-env run --run-id run-a -- python train.py", "give the run a name, to compare it later")),
    arguments=(("CMD", "the program and its arguments, after --"),),
    options=(sending.RUN_ID, sending.PROJECT, sending.GROUP, sending.LABEL,
             Option("--declare", "a value nobody can read, as in layout.micro_batch=16; may be repeated", "K=V",
                    many=True),
             Option("--watch", "watch more: loaders (how data loaders draw), draws (the largest GPU draw), or both",
                    "WHAT", many=True),
             sending.SERVER, sending.TIMEOUT),
    notes="Without a server the documents wait in the spool, and `repro-env compare run-a run-b` finds them there by "
    "the id of the run. Exit codes: those of the program; 64 without a program, 126 and 127 as a shell gives them.",
    rest=True)


def main(values: dict[str, Any]) -> int:
    """Become the program; return only where it could not be started."""
    from .. import launch

    return launch.main(values["arguments"], sending.load(values), _declared(values.get("declare") or []))


def _declared(pairs: list[str]) -> dict[str, str]:
    """Return what the user declares; raise ``UsageError``."""
    from ..errors import UsageError
    from ..settings import label

    try:
        return dict(map(label, pairs))
    except UsageError as error:
        raise UsageError(f"--declare: {error}") from error

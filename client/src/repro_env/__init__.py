"""The public interface for a running program: ``run`` a block observed, ``observe`` now, ``report_result``.

Importing this loads nothing else; ``repro-env run -- CMD`` observes a program without any change to it.
"""

from __future__ import annotations

from . import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .block import Run
    from .process import Observation

__all__ = ["__version__", "observe", "report_result", "run"]
__version__ = version.VERSION


def observe(*, project: str | None = None, group: str | None = None,
            labels: dict[str, str] | None = None) -> Observation | None:
    """Look at the calling process now, keep the document, send it if a server is set, and return it.

    The document is of vantage ``process``; another look, of vantage ``exit``, follows when the program ends. Effective
    thread counts are read once the program was seen to compute (under ``repro-env run``) and at the end; before, they
    are unread ``too-early``. Never raises: what fails is said once on stderr, and ``None`` comes back.
    """
    from . import process

    return process.observe(project=project, group=group, labels=labels)


def run(*, project: str | None = None, group: str | None = None, labels: Mapping[str, str] | None = None,
        declare: Mapping[str, Any] | None = None, watch: Iterable[str] | str = (), run_id: str | None = None) -> Run:
    """Return a context manager that observes the block under it, as ``repro-env run`` observes a whole program.

    As in::

        with repro_env.run(project="vision", declare={"layout.micro_batch": 16}) as run:
            train()

    It looks at the first optimizer step, else the first forward pass without gradients, and when the block ends, also
    by an exception, which passes through untouched. ``declare`` states what nobody can read; a name such as
    ``layout.micro_batch`` or ``random.largest_cuda_draw`` fills that fact of the program. ``watch`` names what is
    watched only if asked for: ``loaders``, ``draws``. Inside an observed program or block it joins that run. Never
    raises: what fails is said once on stderr. ``run.run_id`` is the id to compare the run by later.
    """
    from .block import Run

    return Run(project=project, group=group, labels=labels, declare=declare, watch=watch, run_id=run_id)


def report_result(name: str, value: Any) -> str | None:
    """Record the digest of a result, for the look at the end of the program, and return it.

    ``value`` is a digest ``sha256:<hex>``, bytes, an array, a tensor, a module, or a mapping or list of them (a
    ``state_dict``): element types, shapes and bytes count, in sorted key order. Never raises: a value of another kind
    is said on stderr, and ``None`` comes back.
    """
    from . import process

    return process.report_result(name, value)

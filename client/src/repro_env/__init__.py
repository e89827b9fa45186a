"""The public interface for a running program: ``observe`` it, and ``report_result`` what it computed.

Importing this loads nothing else; ``repro-env run -- CMD`` observes a program without any change to it.
"""

from __future__ import annotations

from . import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .process import Observation

__all__ = ["__version__", "observe", "report_result"]
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


def report_result(name: str, value: Any) -> str | None:
    """Record the digest of a result, for the look at the end of the program, and return it.

    ``value`` is a digest ``sha256:<hex>``, bytes, an array, a tensor, a module, or a mapping or list of them (a
    ``state_dict``): element types, shapes and bytes count, in sorted key order. Never raises: a value of another kind
    is said on stderr, and ``None`` comes back.
    """
    from . import process

    return process.report_result(name, value)

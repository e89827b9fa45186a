"""The guard of the host contract: what of ours fails inside somebody's program goes no further, and waits no longer.

Saying what failed is left to ``process``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class TookTooLong(Exception):
    """A call did not return in its time, and goes on in a thread of its own."""


def guarded(function: Callable[..., Any], what: str = "this look") -> Callable[..., None]:
    """Return ``function`` as the host may call it: whatever fails inside is said once on stderr and goes no further."""
    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception as error:  # noqa: BLE001 - the guard of the host contract
            from . import process

            process.say(f"{what} failed: {type(error).__name__}: {error}")

    return call


def bounded(function: Callable[[], Any], limit_s: float) -> Any:
    """Return what ``function`` returns, or raise what it raises, within ``limit_s``; raise ``TookTooLong``.

    A file system that hangs would hold the program: the call runs in a thread, which is then left to itself. Where no
    thread can be started (the interpreter is ending, or its memory is), the call runs here.
    """
    from .errors import ProbeFailed
    from .system import System

    def attempt() -> tuple[Any, Exception | None]:
        try:
            return function(), None
        except Exception as error:  # noqa: BLE001 - raised again by the caller below
            return None, error

    try:
        value, error = System().call(attempt, limit_s, isolate=False)
    except RuntimeError:
        value, error = attempt()
    except ProbeFailed as failure:
        raise TookTooLong(f"it took longer than {limit_s:.0f} s and goes on beside the program") from failure
    if error is not None:
        raise error
    return value

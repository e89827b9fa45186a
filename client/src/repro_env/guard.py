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
            pass_on(error)
            from . import process

            process.say(f"{what} failed: {type(error).__name__}: {error}")

    return call


def pass_on(error: BaseException) -> None:
    """Raise ``error`` again where a signal handler of the program raised it: it was meant for whatever was running.

    A handler may run at any instruction of ours, as one of the program's that ends what takes too long.
    """
    import _signal  # type: ignore[import-not-found]  # what ``signal`` wraps at a cost

    handlers = {_code(_signal.getsignal(number)) for number in _signal.valid_signals()} - {None}
    traceback = error.__traceback__
    while traceback is not None and handlers:
        if traceback.tb_frame.f_code in handlers:
            raise error
        traceback = traceback.tb_next


def _code(handler: Any) -> Any:
    """Return the code of a handler in Python: a function, a method, a part of one, or an object that is called."""
    for name in ("func", "__func__"):
        handler = getattr(handler, name, handler)
    own = getattr(handler, "__code__", None)
    return getattr(vars(type(handler)).get("__call__"), "__code__", None) if own is None else own


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
    except RuntimeError as failure:
        pass_on(failure)
        value, error = attempt()
    except ProbeFailed as failure:
        raise TookTooLong(f"it took longer than {limit_s:.0f} s and goes on beside the program") from failure
    if error is not None:
        raise error
    return value

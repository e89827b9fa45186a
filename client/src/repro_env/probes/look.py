"""One look at a machine: what is looked at, how much time is left, and what was noted on the way."""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .interpreter import Interpreter

#: longest that one outside call may take, in seconds.
CALL_LIMIT_S = 0.5


class Look:
    """Carries subject, vantage, interpreter and budget to every probe, and collects sources, errors, durations."""

    def __init__(self, system: System, *, vantage: str, subject: str, python: str | None, budget_s: float) -> None:
        self.system = system
        self.vantage = vantage
        self.subject = subject
        self.python = python
        self.deadline = system.monotonic() + budget_s
        self.sources: dict[str, str] = {}
        self.errors: list[dict[str, str]] = []
        self.durations_us: dict[str, int] = {}
        self.device_ids: tuple[str, ...] | None = None
        self.findings: dict[str, Any] = {}
        self.circumstances: dict[str, Any] = {}  #: facts of the capture part that a probe met on its way

    @property
    def in_process(self) -> bool:
        """Tell whether the observed process is this one, at work."""
        return self.vantage in ("process", "exit")

    def left_s(self) -> float:
        """Return the seconds left of the whole budget, never negative."""
        return max(0.0, self.deadline - self.system.monotonic())

    def failed(self, path: str, code: str, message: str) -> dict[str, str]:
        """Note that the look for ``path`` failed, in words without values, and return the unread fact."""
        self.errors.append({"path": path, "code": code, "message": message})
        return unread(code)

    def run(self, argv: list[str], name: str, limit_s: float = CALL_LIMIT_S, size: int = 1 << 20) -> str:
        """Start a program within the budget, note its duration as ``name``; raise ``ProbeFailed``."""
        with Timed(self, name):
            return self.system.run(argv, self._within(name, limit_s), size)

    def call(self, function: Any, name: str, limit_s: float = CALL_LIMIT_S) -> Any:
        """Call native code within the budget, note its duration as ``name``; raise ``ProbeFailed``."""
        with Timed(self, name):
            return self.system.call(function, self._within(name, limit_s), isolate=not self.in_process)

    def _within(self, name: str, limit_s: float) -> float:
        left = self.left_s()
        if left <= 0:
            raise ProbeFailed("timeout", f"no time was left for {name}")
        return min(limit_s, left)

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter whose environment is looked at; raise ``ProbeFailed`` where none can be found."""
        if "interpreter" not in self.findings:
            from .interpreter import locate

            self.findings["interpreter"] = locate(self.system, self.python, in_process=self.in_process)
        return self.findings["interpreter"]  # type: ignore[no-any-return]  # findings hold values of any kind


class Timed:
    """Notes how long a block took under ``name``; two blocks of one name add up."""

    def __init__(self, look: Look, name: str) -> None:
        self.look = look
        self.name = name

    def __enter__(self) -> None:
        self.start = self.look.system.monotonic()

    def __exit__(self, *_: object) -> None:
        spent = int((self.look.system.monotonic() - self.start) * 1_000_000)
        self.look.durations_us[self.name] = self.look.durations_us.get(self.name, 0) + max(0, spent)

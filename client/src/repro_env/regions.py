"""Being told which autocast regions a program enters, until its first step.

A region that a module opens and leaves within its own forward pass is over when torch's hooks are called, so that they
alone would take such a program for one without autocast.
"""

from __future__ import annotations

import functools

from .guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Regions:
    """Stands where ``torch.autocast`` is entered; leaves the class as it was."""

    def __init__(self, note: Callable[[Any], None]) -> None:
        self.note = note
        self._class: Any = None
        self._original: Any = None
        self._ours: Any = None

    def begin(self, torch: Any) -> None:
        """Call ``note`` with torch after each entry."""
        region: Any = getattr(torch, "autocast", None)
        original = getattr(region, "__enter__", None)
        if original is None or self._class is not None:
            return
        note = guarded(self.note, "noting autocast")

        @functools.wraps(original)
        def enter(entered: Any) -> Any:
            result = original(entered)
            note(torch)
            return result

        self._class, self._original, self._ours = region, original, enter
        region.__enter__ = enter

    def end(self) -> None:
        """Leave, unless somebody else has taken the place since."""
        if self._class is not None and self._class.__enter__ is self._ours:
            self._class.__enter__ = self._original
        self._class = None

"""What is watched only if asked for (``--watch``, ``REPRO_ENV_WATCH``): one module each, installed once torch is there.

A watcher has ``begin(torch)``, ``step_done()`` after the first optimizer step, ``compiling()`` when the program begins
to compile, ``elsewhere()`` when it computes in another thread, ``end()`` (again and again, until it has left), and
``facts()``: what it saw, by dotted path. It looks only: what the program computes stays.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

NAMES = ("loaders", "draws")


def chosen(names: Iterable[str]) -> list[Any]:
    """Return a new watcher for each name, in the order of ``NAMES``; names that are none are left out."""
    wanted = set(names)
    made: list[Any] = []
    if "loaders" in wanted:
        from .loaders import Loaders

        made.append(Loaders())
    if "draws" in wanted:
        from .draws import Draws

        made.append(Draws())
    return made

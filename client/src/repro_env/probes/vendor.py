"""What the readers of all vendors share: the part of the section that each gives, and where vendors' programs lie."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System


class Part:
    """Devices that a process can reach, or why they are unread; ids, links and limits of the devices of the node."""

    __slots__ = ("devices", "ids", "pairs", "states")

    def __init__(self, devices: Any, ids: Any, pairs: Any, states: list[dict[str, Any]]) -> None:
        self.devices = devices  #: list of facts, or an unread fact
        self.ids = ids  #: ids of those devices in index order, or an unread fact
        self.pairs = pairs  #: [first index, second index, kind] for each pair of the node, or an unread fact
        self.states = states  #: limits of every device of the node in index order


def program(system: System, name: str, *folders: str) -> str:
    """Return what to start for ``name``: itself where PATH has it, else the file in the folder it is installed to.

    A scheduler starts its prologue with an empty PATH.
    """
    if system.executable(name) is None:
        for folder in folders:
            if system.executable(f"{folder}/{name}") is not None:
                return f"{folder}/{name}"
    return name

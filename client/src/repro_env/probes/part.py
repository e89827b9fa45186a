"""What one vendor's sources say of a machine's devices; ``accelerators`` puts the parts together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Part:
    """Devices that a process can reach, or why they are unread; ids, links and limits of the devices of the node."""

    __slots__ = ("devices", "ids", "pairs", "states")

    def __init__(self, devices: Any, ids: Any, pairs: Any, states: list[dict[str, Any]]) -> None:
        self.devices = devices  #: list of facts, or an unread fact
        self.ids = ids  #: ids of those devices in index order, or an unread fact
        self.pairs = pairs  #: [first index, second index, kind] for each pair of the node, or an unread fact
        self.states = states  #: limits of every device of the node in index order

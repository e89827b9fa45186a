"""How NVIDIA's devices are joined: NVLink, directly or through switches, else their place on the PCI bus.

Owns the matrix; what the document makes of it (kinds with counts, the strongest link) is left to ``accelerators``.
"""

from __future__ import annotations

from ..errors import ProbeFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .nvml import Nvml

#: NVML_NVLINK_MAX_LINKS of the newest header; a device answers an error at numbers that it does not have.
MOST_LINKS = 36
#: nvmlGpuTopologyLevel_t -> the word that nvidia-smi's matrix has for it.
RELATIONS = {0: "board", 10: "pix", 20: "pxb", 30: "phb", 40: "node", 50: "sys"}
#: nvmlIntNvLinkDeviceType_t: what stands at the other end of a link.
_SWITCH, _UNKNOWN = 2, 255
_P2P_NVLINK, _P2P_OK = 2, 0


class Links:
    """The active NVLinks of one device: how many reach which other one, and how many end in a switch."""

    def __init__(self, direct: dict[tuple[int, ...], int], switch: int, unnamed: int) -> None:
        self.direct = direct  #: place on the PCI bus -> links
        self.switch = switch
        self.unnamed = unnamed  #: links whose other end NVML does not name


def matrix(nvml: Nvml, handles: list[tuple[int, Any]]) -> Any:
    """Return ``[first index, second index, kind]`` for every pair of devices, or an unread fact where one is unknown.

    ``handles`` holds index and handle of each device that answers.
    """
    if len(handles) < 2:
        return []
    try:
        places = {index: place(nvml, "nvmlDeviceGetPciInfo_v3", handle) for index, handle in handles}
        links = {index: active_links(nvml, handle, set(places.values())) for index, handle in handles}
        return [[first, second, _kind(nvml, (one, links[first]), (other, links[second]), places[second])]
                for number, (first, one) in enumerate(handles) for second, other in handles[number + 1:]]
    except ProbeFailed as error:
        return {"unread": error.code}


def active_links(nvml: Nvml, handle: Any, places: set[tuple[int, ...]]) -> Links:
    """Return the links of a device that are up; a device or a driver without NVLink has none.

    ``places`` are those of the devices: a link that ends at one of them is direct, also where its kind is not stated.
    """
    direct: dict[tuple[int, ...], int] = {}
    switch = unnamed = 0
    for number in range(MOST_LINKS):
        link = nvml.c.c_uint(number)
        try:
            up = nvml.number("nvmlDeviceGetNvLinkState", handle, link) == 1
        except ProbeFailed as error:
            if error.code == "not-reported":
                continue
            raise
        if not up:
            continue
        kind = nvml.fact(nvml.number, "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link)
        if kind == _SWITCH:
            switch += 1
            continue
        where = nvml.fact(place, nvml, "nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, link)
        if isinstance(where, tuple) and where in places:
            direct[where] = direct.get(where, 0) + 1
        elif not isinstance(kind, int) or kind == _UNKNOWN:
            unnamed += 1
    return Links(direct, switch, unnamed)


def place(nvml: Nvml, name: str, *handle: Any) -> tuple[int, ...]:
    """Return domain, bus and device that ``name`` writes (nvmlPciInfo_t: 16 bytes of text, five numbers, text)."""
    values = (nvml.c.c_uint * 17)()
    nvml.call(name, *handle, nvml.c.byref(values))
    return tuple(int(value) for value in values[4:7])


def _kind(nvml: Nvml, one: tuple[Any, Links], other: tuple[Any, Links], where: tuple[int, ...]) -> str:
    """Return ``nvlink-<links>`` or the relation on the bus of two devices, the second of which lies at ``where``."""
    count = one[1].direct.get(where, 0) or _through_switch(nvml, one, other)
    if count:
        return f"nvlink-{count}"
    level = nvml.number("nvmlDeviceGetTopologyCommonAncestor", one[0], other[0])
    if level not in RELATIONS:
        raise ProbeFailed("not-reported", f"NVML answered the unknown topology level {level}")
    return RELATIONS[level]


def _through_switch(nvml: Nvml, one: tuple[Any, Links], other: tuple[Any, Links]) -> int:
    """Return the links that two devices have into the switches between them.

    NVML's word on peer access decides where it gives one: a fabric may be split. Without it, links that surely end in
    a switch count, and links whose end has no name leave the pair unknown.
    """
    named = min(one[1].switch, other[1].switch)
    most = min(one[1].switch + one[1].unnamed, other[1].switch + other[1].unnamed)
    if not most:
        return 0
    try:
        status = nvml.number("nvmlDeviceGetP2PStatus", one[0], other[0], nvml.c.c_int(_P2P_NVLINK))
    except ProbeFailed:
        if named < most:
            raise
        return named
    return most if status == _P2P_OK else 0

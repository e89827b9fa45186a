"""The devices as torch sees them in a process that has started CUDA or HIP: which ones, and how large to a process.

Asks nothing that would start a device: without ``torch.cuda.is_initialized()`` there is no answer.
"""

from __future__ import annotations

from ..fingerprint.facts import is_unread, unread
from .keys import ACCELERATOR, blank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .look import Look


def of_torch(look: Look, vendor: str) -> list[dict[str, Any]] | None:
    """Return the properties of torch's devices in its own order; ``None`` where it has started none of ``vendor``."""
    torch = look.system.loaded_modules().get("torch") if look.in_process else None
    cuda = getattr(torch, "cuda", None)
    if torch is None or cuda is None:
        return None
    try:
        hip = getattr(torch.version, "hip", None) is not None
        if hip is not (vendor == "amd") or not cuda.is_initialized():
            return None
        return [_device(cuda.get_device_properties(index), hip=hip) for index in range(cuda.device_count())]
    except (AttributeError, AssertionError, RuntimeError, TypeError, ValueError) as error:
        look.failed("accelerators.devices", "failed", f"torch's device properties raised {type(error).__name__}")
        return None


def _device(properties: Any, *, hip: bool) -> dict[str, Any]:
    """Return the facts that one device's properties state, and its id where this version of torch has one."""
    name, _, profile = str(properties.name).partition(" MIG ")
    threads = getattr(properties, "max_threads_per_multi_processor", None)
    facts: dict[str, Any] = {"vendor": "amd" if hip else "nvidia", "name": name, "mig_profile": profile or None,
                             "sm_count": int(properties.multi_processor_count)}
    if threads:
        facts["threads_per_sm"] = int(threads)
    if hip:
        target = str(getattr(properties, "gcnArchName", "")).partition(":")[0]
        facts.update(compute_capability=None, gfx_target=target or unread("not-reported"))
    else:
        facts.update(compute_capability=f"{properties.major}.{properties.minor}", gfx_target=None)
    uuid = getattr(properties, "uuid", None)
    return {"facts": facts, "uuid": f"GPU-{uuid}" if uuid is not None and not profile else None}


def merged(told: list[dict[str, Any]], found: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
    """Return facts and ids of torch's devices, filled up from what management libraries say of the same devices.

    The memory stays the management library's number: torch's leaves out what the driver keeps for itself.
    """
    devices = []
    for device in told:
        facts = {**_counterpart(device, found), **device["facts"]}
        devices.append({key: facts[key] for key in ACCELERATOR})
    ids = [device["uuid"] for device in told]
    return devices, ids if all(ids) else unread("not-reported")


def _counterpart(device: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the facts of the same device, or those that all devices of its kind share; the rest is unread."""
    same = [other["facts"] for other in found if device["uuid"] and other["uuid"] == device["uuid"]]
    alike = same or [other["facts"] for other in found if _agree(device["facts"], other["facts"])]
    blank = blank_of(ACCELERATOR, "not-reported")
    if not alike:
        return blank
    return {key: alike[0][key] if all(facts[key] == alike[0][key] for facts in alike) else blank[key]
            for key in ACCELERATOR}


def _agree(facts: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two descriptions can be of one device: nothing that both state differs.

    AMD's tools have several names for one device.
    """
    return all(is_unread(other[key]) or other[key] == facts[key]
               for key in ("sm_count", "mig_profile", "compute_capability", "gfx_target",
                           *(("name",) if facts["vendor"] == "nvidia" else ()))
               if key in facts and not is_unread(facts[key]))

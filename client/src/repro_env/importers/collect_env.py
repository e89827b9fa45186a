"""From a collect_env text to the sections of a document.

What the text does not say is unread; what it is known to say wrongly is not believed, and a note says so.
"""

from __future__ import annotations

from typing import Any

from ..fingerprint.facts import is_unread
from . import devices, dump, folded, host, processor, rows, software
from .dump import Dump
from .format import Reading, Text

NAME = dump.PYTORCH
MADE_BY = "python -m torch.utils.collect_env"

#: lines without a field of their own in the document -> how the note begins.
_SAID = {"Is CUDA available": "Is CUDA available", "HIP runtime version": "HIP runtime version"}


def read(text: Text) -> Reading | None:
    """Return what a text of PyTorch's own command states."""
    return reading(text, NAME)


def reading(text: Text, form: str) -> Reading | None:
    """Return what a collect_env text of the flavour ``form`` states."""
    if not dump.may_be(form, text.joined):
        return None
    lines, places = folded.unfolded(text.lines)
    found = dump.find(lines)
    if found is None or found.format != form:
        return None
    facts, notes = sections(found)
    first = places[min(field.first_line for field in found.fields.values())]
    return Reading(form, facts, tuple(notes), first, found.cut, len(found.fields))


def sections(dump: Dump) -> tuple[dict[str, Any], list[str]]:
    """Return the sections that a text states something of, by their path, and what was not believed."""
    notes = list(dump.notes)
    python = host.python(dump)
    packages = rows.packages(dump, python["version"])
    notes.extend(packages.notes)
    system = host.system(dump, python["version"], notes)
    accelerators = devices.accelerators(dump, system["os_family"], notes)
    frameworks = software.frameworks(dump, packages, notes)
    result = {
        "accelerators": accelerators, "driver": devices.driver(dump, accelerators, notes),
        "libraries": software.libraries(dump, packages, frameworks["torch"], notes), "frameworks": frameworks,
        "cpu": processor.cpu(dump), "python": python, "distributions": rows.distributions(packages), "system": system,
    }
    return result, notes + _remarks(dump, result)


def _remarks(dump: Dump, result: dict[str, Any]) -> list[str]:
    """Return what the text says beside the document's fields, and how its misleading lines were taken."""
    remarks = []
    if not is_unread(result["libraries"]["cuda_toolkit"]):
        remarks.append("CUDA runtime version is the compiler on the machine, not what torch uses")
    if not is_unread(result["libraries"]["system_cudnn"]):
        remarks.append("cuDNN files are the system's, not what torch loads")
    for key, beginning in _SAID.items():
        value = dump.value(key)
        if value and value.upper() != "N/A":
            remarks.append(f"{beginning}: {value}")
    if dump.cut:
        remarks.append("the text is cut: what it would have said further on is not recorded")
    return remarks

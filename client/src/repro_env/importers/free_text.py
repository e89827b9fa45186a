"""A person's own words: lines that hold statements and nothing else, such as ``torch 2.1 cu118 on 2x A100``.

A line with any other word in it is prose and states nothing. Two values of one kind are two environments, or one
before and after a change: such a text is refused, for no document may mix them. Asked only where no tool's report
was recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..comparability.devices import resolve
from . import devices, inventory, listing
from .format import Reading, Text
from .words import NOT_RECORDED

NAME = "free-text"
MADE_BY = "your own words, one kind of fact each: torch 2.1.2 cu118 on 2x A100, driver 535.104"

_IS = r"(?:[ -]?version)?\s{0,3}(?:==|[:=@]|-(?=\d)|\bis\b)?\s{0,3}v?"
_NUMBER = r"(\d{1,4}\.\d{1,3}(?:\.\d{1,4})?(?:\.?(?:a|b|rc|dev|post)\d{1,8})?(?:\+[\w.]{1,24})?)(?![\w.]*\w)"
_STATEMENTS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in (
    ("torch", r"(?:py)?torch" + _IS + _NUMBER),
    ("tensorflow", r"(?:tensorflow|tf)(?:-gpu)?" + _IS + _NUMBER),
    ("jax", r"jax" + _IS + _NUMBER),
    ("numpy", r"numpy" + _IS + _NUMBER),
    ("python", r"python" + _IS + r"(3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\w)"),
    ("driver", r"(?:nvidia[ -]?|gpu[ -]?)?driver" + _IS + r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?![\w.]*\w)"),
    ("nvidia-smi", r"nvidia-smi" + _IS + r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?![\w.]*\w)"),
    ("label", r"\+?(cu\d{2,3}|rocm\d\.\d(?:\.\d)?)\b"),
    ("CUDA", r"cuda" + _IS + r"(\d{1,2}\.\d{1,2}(?:\.\d{1,3})?)(?![\w.]*\w)"),
    ("cuDNN", r"cudnn" + _IS + r"(\d{1,2}(?:\.\d{1,3}){0,3})(?![\w.]*\w)"),
    ("system", r"(?:os\s{0,3}[:=]\s{0,3})?(ubuntu \d\d\.\d\d(?:\.\d)?(?: lts)?|windows(?: 1[01])?|linux|macos)\b"),
))
_WORD = (r"(?:nvidia|amd|geforce|tesla|quadro|radeon|instinct|rtx|gtx|titan|xp|ti|super|laptop|pcie|sxm\d?|nvl|ada"
         r"|generation|pro|xtx|xt|gpus?|[a-z]{1,2}\d{1,4}[a-z]{0,2}|\d{3,4}(?:ti)?|\(?\d{1,3} ?gb\)?)")
_GPU = re.compile(r"(?:(\d{1,2})\s{0,2}(?:[x\u00d7*]\s{0,2}|\s))?(" + _WORD + r"(?:[ -]{1,2}" + _WORD
                  + r"){0,6})(?:\s{0,2}[x\u00d7*]\s{0,2}(\d{1,2}))?(?![\w.])", re.IGNORECASE)
_FILLER = re.compile(r"(?:[\s,;/|&.()*_`+:-]|\b(?:on|with|and|using|under|in|my|the|gpu models?|gpus?|graphics card|env"
                     r"|i am|i'?m|i use|we use|environment|setup|software|hardware|versions?|machine|node)\b)+",
                     re.IGNORECASE)
_EXAMPLE = re.compile(r"\(e\.?g\.?[^()]{0,60}\)", re.IGNORECASE)
#: kinds of which one at least must be stated, and how many statements make a text one of this format.
_TELLING = frozenset(("torch", "tensorflow", "jax", "driver"))
_FEWEST = 2
_LONGEST_LINE = 200
_MOST_LINES = 2000
#: kinds that several facts of a document could mean: only a note keeps them.
_VAGUE = {"CUDA": "driver, toolkit or build", "cuDNN": "installed, loaded or built with"}


@dataclass(frozen=True)
class Statement:
    """One thing a person says, and where."""

    kind: str
    value: str
    line: int
    count: int = 0


def read(text: Text) -> Reading | None:
    """Return what the lines of statements say; ``None`` where they are too few, or speak of two environments."""
    found = list(_statements(text))
    telling = any(statement.kind in _TELLING for statement in found)
    if not telling or len(found) < _FEWEST or conflict(found) is not None:
        return None
    told = {statement.kind: statement for statement in found}
    notes = ["a person's own words: versions may be told in part"]
    notes += [f"{kind} {told[kind].value} is told without saying which ({meanings}): not taken for any"
              for kind, meanings in _VAGUE.items() if kind in told]
    first = min(statement.line for statement in found)
    return Reading(NAME, _sections(told, notes), tuple(notes), first, keys=len(found))


def refusal(text: Text) -> str | None:
    """Return in words why a text of this kind is not imported; ``None`` where it is no such text."""
    found = list(_statements(text))
    if not any(statement.kind in _TELLING for statement in found):
        last = _of_line(text.lines[-1][:_LONGEST_LINE], len(text.lines) - 1)
        return "the last line may be cut; end it with a line break if it is whole" if len(last) >= _FEWEST else None
    clash = conflict(found)
    if clash is None:
        return None
    one, other = clash
    return (f"this text speaks of two environments: {one.kind} {one.value} at line {one.line + 1}, {other.kind} "
            f"{other.value} at line {other.line + 1}; give each a text of its own")


def conflict(found: list[Statement]) -> tuple[Statement, Statement] | None:
    """Return two statements of one kind that differ."""
    seen: dict[str, Statement] = {}
    for statement in found:
        first = seen.setdefault(statement.kind, statement)
        if (first.value.lower(), first.count) != (statement.value.lower(), statement.count):
            return first, statement
    return None


def _statements(text: Text) -> Iterator[Statement]:
    for number, line in enumerate(listing.whole_lines(text)[:_MOST_LINES]):
        if line and len(line) <= _LONGEST_LINE:
            yield from _of_line(_EXAMPLE.sub("", line), number)


def _of_line(line: str, number: int) -> list[Statement]:
    """Return the statements of a line that holds nothing else."""
    found: list[Statement] = []
    place = 0
    while place < len(line):
        filler = _FILLER.match(line, place)
        if filler:
            place = filler.end()
            continue
        statement, end = _statement(line, place, number)
        if statement is None:
            return []
        found.append(statement)
        place = end
    return found


def _statement(line: str, place: int, number: int) -> tuple[Statement | None, int]:
    for kind, form in _STATEMENTS:
        match = form.match(line, place)
        if match:
            return Statement(kind, match[1], number), match.end()
    match = _GPU.match(line, place)
    if match and resolve(match[2]).vendor and (match[1] is None or match[3] is None):
        name = re.sub(r"\s+gpus?$", "", match[2], flags=re.IGNORECASE)
        return Statement("GPU", name, number, int(match[1] or match[3] or 0)), match.end()
    return None, place


def _sections(told: dict[str, Statement], notes: list[str]) -> dict[str, dict[str, Any]]:
    rows = [inventory.pip_row(kind, told[kind].value) for kind in ("tensorflow", "jax", "numpy") if kind in told]
    if "torch" in told:
        label = f"+{told['label'].value.lower()}" if "label" in told and "+" not in told["torch"].value else ""
        rows.append(inventory.pip_row("torch", told["torch"].value + label))
    sections: dict[str, dict[str, Any]] = {"frameworks": inventory.sections(rows, notes)["frameworks"]}
    if "python" in told:
        sections["python"] = {"version": told["python"].value}
    if "driver" in told:
        sections["driver"] = {"kernel_module": told["driver"].value}
    if "system" in told:
        sections["system"] = _system(told["system"].value)
    if "GPU" in told:
        name, count = told["GPU"].value, told["GPU"].count
        if count == 0:
            notes.append(f"how many {name} there are is not told")
        sections["accelerators"] = devices.section([devices.named(name)] * max(1, count), notes, whole=count > 0)
    return sections


def _system(name: str) -> dict[str, Any]:
    family = "windows" if name.lower().startswith("windows") else "macos" if name.lower() == "macos" else "linux"
    return {"os_family": family, "os_name": name if name.lower().startswith("ubuntu") else NOT_RECORDED}

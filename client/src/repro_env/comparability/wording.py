"""How findings are put for people: sides by where they stand, one thing in the singular, long values cut short."""

from __future__ import annotations

import re

#: field of a verdict -> what people call that side.
SIDES = {"expected": "left", "observed": "right"}
#: longest value of a side that a sentence shows in full.
MAX_VALUE = 90
_ONE = re.compile(r"(?<![\w.:=-])1 ((?:[A-Za-z-]+ )?)(threads|ranks|devices|passes|samples|workers|SMs|processes|GPUs|"
                  r"copies|nodes|checks|instruction sets)\b")
_ABBREVIATIONS = frozenset(("rtx", "gtx", "gt", "mx", "amd", "xt", "xtx", "gre"))
_SINGULAR = {"passes": "pass", "processes": "process", "copies": "copy"}
#: a switch on one side against the same switch on the other, right after the words for it.
_SWITCH = re.compile(r"([\w)])(?<!against) ((?:on|off) against (?:on|off)\b)")
_DIGEST = re.compile(r"\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b")
_REVISION = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")


def failing(details: dict[str, str]) -> tuple[str, str]:
    """Return what was found and on which side, for a Condition that fails; ``details`` maps a side to what it found."""
    found = {SIDES[side]: detail for side, detail in details.items()}
    if len(set(found.values())) == 2:
        return f"{found['left']} (left side), {found['right']}", "(right side)"
    return next(iter(found.values())), f"({'both sides' if len(found) == 2 else next(iter(found)) + ' side'})"


def said(why: str) -> str:
    """Return the sentence of a rule, its values filled in, as people write it: one thread, a switch after a colon."""
    return _SWITCH.sub(r"\1: \2", singular(why))


def singular(text: str) -> str:
    """Return ``text`` with "1 threads" put as "1 thread"."""
    return _ONE.sub(lambda match: f"1 {match[1]}{_SINGULAR.get(match[2], match[2][:-1])}", text)


def model_name(model: str) -> str:
    """Return the model of a device as its maker writes it: A100, 2060 Super; targets and what has capitals stay."""
    return " ".join(map(_written, model.split(" ")))


def _written(word: str) -> str:
    if word != word.lower() or word.startswith("gfx"):
        return word
    return word.upper() if word in _ABBREVIATIONS or any(map(str.isdigit, word)) else word.capitalize()


def brief(why: str, expected: str, observed: str) -> str:
    """Return a sentence without full stop: long values reduced to where they differ, digests cut to 12 digits."""
    if max(len(expected), len(observed)) > MAX_VALUE and expected and observed and expected != observed:
        for value, short in zip((expected, observed), _differing(expected, observed)):
            why = why.replace(value, short, 1)
    return _REVISION.sub(r"\1", _DIGEST.sub(r"\1", why)).strip().rstrip(".")


def _differing(expected: str, observed: str) -> tuple[str, str]:
    """Return two enumerations without what they share, each cut where it stays long."""
    left, right = (value.split(", ") for value in (expected, observed))
    shared = set(left) & set(right)
    return _cut(left, shared), _cut(right, shared)


def _cut(items: list[str], shared: set[str]) -> str:
    own = [item for item in items if item not in shared]
    if not own:
        return "nothing further"
    text = ", ".join(own)
    return text if len(text) <= MAX_VALUE else text[:MAX_VALUE - 1].rstrip() + "…"

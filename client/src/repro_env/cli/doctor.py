"""``repro-env doctor``: a document held against itself, with what mends each finding."""

from __future__ import annotations

import sys

from . import sending, sides
from .console import BOLD, DIM, answer, clean, paint, width
from .options import Command, Option, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..doctor import Finding
    from ..settings import Settings

FOUND = 1
COMMAND = Command(
    "doctor", "Looks for what contradicts itself, what makes numbers move, and what could not be read, in this "
    "environment or in a document of another one, and says what mends each.",
    usage="doctor [FILE | FACTS | RUN] [options]",
    examples=(("repro-env doctor", "this environment"),
              ("repro-env doctor env.json", "a document that repro-env capture or run wrote elsewhere"),
              ("repro-env doctor run-a", "every process of a run that the service knows"),
              ("repro-env doctor collect_env.txt", "what somebody pasted into a bug report"),
              ("repro-env doctor gpu=B200,driver=535.104.05,torch=2.3.1+cu121", "what if: does this go together?"),
              ("repro-env doctor --json | jq '.[].mend'", "for a script")),
    arguments=(("[FILE]", "a document, an environment dump (- for standard input), short facts as in gpu=A100, or a "
                "run id; without one this machine is looked at"),),
    options=(Option("--json", "print the findings as JSON on stdout"),
             Option("--python", "interpreter whose environment is looked at, from files (default: first on PATH)",
                    "EXE"),
             sending.SERVER, sending.TIMEOUT),
    notes="Exit codes: 0 nothing contradicts itself, 1 something does or is known to compute wrongly, 64 wrong usage, "
    "65 invalid input or a run that is not known, 69 the service was not reached.")
#: kind -> title.
_TITLES = {
    "contradiction": "Contradictions", "wrong": "Known to compute wrongly, or likely to",
    "moves": "Makes numbers move", "unread": "Could not be read"}

#: kind -> what one and several are called.
_COUNTED = (("contradiction", "contradiction", "contradictions"),
            ("wrong", "thing that may compute wrongly", "things that may compute wrongly"),
            ("moves", "thing that makes numbers move", "things that make numbers move"),
            ("unread", "group of facts that were not read", "groups of facts that were not read"))


def main(values: dict[str, Any]) -> int:
    """Print the findings; return 1 where something contradicts itself."""
    from ..doctor import examine

    named, settings = values["arguments"], sending.load(values)
    rows: list[tuple[str, Finding]] = []
    documents = sides.documents(named[0], settings, "doctor") if named else [_look(settings)]
    for document in documents:
        rows += [(_place(document), finding) for finding in examine(document)]
    several = len(documents) > 1
    if values.get("json"):
        import json

        told = [_row(place if several else None, finding) for place, finding in rows]
        answer(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        answer(render(documents, rows, width()))
    return FOUND if any(finding.kind in ("contradiction", "wrong") for _, finding in rows) else 0


def _look(settings: Settings) -> dict[str, Any]:
    from ..capture import capture
    from ..system import System

    return capture(System(), vantage="prologue", python=settings.python, budget_s=sending.patience_s(settings))


def _row(place: str | None, finding: Finding) -> dict[str, Any]:
    row = {"kind": finding.kind, "check": finding.check, "says": finding.says, "mend": finding.mend,
           "effect": finding.effect, "facts": list(finding.facts)}
    return row if place is None else {"place": place, **row}


def _place(document: dict[str, Any]) -> str:
    record = document["capture"]
    rank = record["process"]["rank"]
    return f"rank {rank}" if isinstance(rank, int) else str(record["observation_id"])[:8]


def render(documents: list[dict[str, Any]], rows: list[tuple[str, Finding]], columns: int) -> str:
    """Return the findings as text: one block a kind; equal findings of several documents are said once."""
    said: dict[Finding, list[str]] = {}
    for place, finding in rows:
        said.setdefault(finding, []).append(place)
    lines = [paint(line, BOLD, sys.stdout) for line in wrap(_headline(list(said)), columns, "")]
    for kind, title in _TITLES.items():
        found = [(finding, places) for finding, places in said.items() if finding.kind == kind]
        if found:
            lines += ["", paint(f"{title} ({len(found)})", BOLD, sys.stdout)]
            for finding, places in found:
                lines += _point(finding, places if len(documents) > 1 else [], columns)
    lines += ["", paint(_foot(documents), DIM, sys.stdout)]
    return "\n".join(lines) + "\n"


def _headline(findings: list[Finding]) -> str:
    told = []
    for kind, one, many in _COUNTED:
        count = sum(finding.kind == kind for finding in findings)
        if count:
            told.append(f"{count} {one if count == 1 else many}")
    if not told:
        return "Nothing found: nothing contradicts itself, nothing makes numbers move, everything was read."
    return ", ".join(told) + "."


def _point(finding: Finding, places: list[str], columns: int) -> list[str]:
    where = f" ({', '.join(places)})" if places else ""
    says = clean(finding.says)
    first, *more = wrap(says + where, columns, "    ")
    lines = [f"  - {first.strip()}", *more]
    for name, text in (("effect", finding.effect), ("mend", finding.mend)):
        if text:
            first, *more = wrap(f"{name}: {clean(text)}", columns, "      ")
            lines += [f"    {first.strip()}", *more]
    return lines


def _foot(documents: list[dict[str, Any]]) -> str:
    record = documents[0]["capture"]
    seen = {"prologue": "seen from outside", "process": "seen in the process", "exit": "seen in the process at its end",
            "import": "imported", "image": "an image"}[record["vantage"]]
    told = f"{record['subject']}, {seen}"
    return told if "process" in seen else f"{told}; `repro-env run -- CMD` sees what a program loads and switches on"

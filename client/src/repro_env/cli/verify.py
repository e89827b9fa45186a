"""``repro-env verify``: whether a verdict that somebody shows holds, under its own rule set and under today's."""

from __future__ import annotations

from ..errors import InvalidDocument, UsageError
from . import policy, reading, sending, sides
from .console import answer, clean, width
from .options import Command, Option, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.record import Verification
    from ..comparability.verdict import Verdict
    from ..settings import Settings

COMMAND = Command(
    "verify", "Recomputes a verdict in its JSON form from the documents it was made from, and says whether it holds "
    "under the rule set that it names and under today's.",
    usage="verify VERDICT.json [LEFT RIGHT] [options]",
    examples=(("repro-env compare a.json b.json --json > verdict.json", "keep a verdict"),
              ("repro-env verify verdict.json", "from the files or runs that it names"),
              ("repro-env verify verdict.json theirs/a.json theirs/b.json", "from other copies of the documents")),
    arguments=(("VERDICT.json", "what compare --json or GET /v1/comparisons wrote; - for standard input"),
               ("[LEFT]", "the left side's documents, where they are not found by the name in the verdict"),
               ("[RIGHT]", "the right side's")),
    options=(Option("--json", "print JSON on stdout"), sending.SERVER, sending.TIMEOUT),
    notes="Exit codes: 0 it holds, 1 it does not, 2 its rule set is not the one at hand: it agrees with itself and "
    "with the documents, and what holds today is said; 64 wrong usage, 65 invalid input, 69 the service was not "
    "reached.")


def main(values: dict[str, Any]) -> int:
    """Print what became of the verdict and return the exit code."""
    from ..comparability.record import verify

    path, *given = values["arguments"]
    if len(given) == 1:
        raise UsageError("verify: expected both sides or none, got one; see repro-env verify --help")
    told = _verdict(path)
    if len(told.sides) != 2:
        raise InvalidDocument(f"{path}: sides", "expected the two sides that the verdict was made from; verdicts name "
                                                "them since rule set 2026.11.30, earlier ones cannot be recomputed")
    settings = sending.load(values)
    left, right = (_documents(side.name, word, settings, path) for side, word in zip(told.sides, given or ("", "")))
    found = verify(told, left, right)
    if values.get("json"):
        import json

        answer(json.dumps(_told(found), indent=2, ensure_ascii=False) + "\n")
    else:
        answer(clean(_said(told, found, width())))
    return {True: 0, False: 1, None: 2}[found.holds]


def _verdict(path: str) -> Verdict:
    from ..comparability.verdict import Verdict

    value = policy.parsed_json(path, reading.decoded(reading.read_bytes(path)))
    if isinstance(value, dict) and "separates" in value:
        raise InvalidDocument(path, "expected a verdict on two sides, got an answer about several; compare two of them")
    if not isinstance(value, dict) or "reasons" not in value:
        raise InvalidDocument(path, "expected a verdict as `repro-env compare --json` writes it, got other JSON")
    try:
        return Verdict.from_json(value)
    except InvalidDocument as error:
        raise InvalidDocument(f"{path}: {error.field}", error.problem) from error


def _documents(name: str, given: str, settings: Settings, path: str) -> list[dict[str, Any]]:
    """Return the documents of one side: of the word given, else of the name that stands in the verdict."""
    word = given or name
    if not word:
        raise UsageError(f"verify: {path} does not name where its sides come from; give both, as in "
                         f"repro-env verify {path} LEFT RIGHT")
    return sides.documents(word, settings, "verify")


def _told(found: Verification) -> dict[str, Any]:
    return {"holds": found.holds, "problems": list(found.problems), "later_observations": list(found.later),
            "changes_today": list(found.changes), "today": found.today.to_json()}


def _said(told: Verdict, found: Verification, columns: int) -> str:
    from ..comparability.rules import RULESET

    lines = [_outcome(told, found)]
    lines += [f"- {problem}" for problem in found.problems]
    if told.ruleset != RULESET:
        lines.append(f"Under today's rule set {RULESET} " + ("it says the same." if not found.changes else
                                                             "it says otherwise:"))
        lines += [f"- {change}" for change in found.changes]
    if found.later:
        lines.append(f"Stale: {len(found.later)} later observation{'s' if len(found.later) > 1 else ''} of its sides "
                     "it did not use; compare them anew.")
    return "\n".join(row for line in lines for row in wrap(line, columns, "  " if line.startswith("-") else "")) + "\n"


def _outcome(told: Verdict, found: Verification) -> str:
    if found.holds is False:
        return f"The verdict does not hold under rule set {told.ruleset}, which it names:"
    if found.holds is None:
        return (f"Made under rule set {told.ruleset}, which is not at hand: its documents are those it names, and its "
                "ends follow from the reasons it lists.")
    return f"The verdict holds under rule set {told.ruleset}, which it names and which is today's."

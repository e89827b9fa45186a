"""Right verdicts on real reports: first cause, expected level, guarantees that go too far, wrong explanations, alarms.

    python bench/verdicts.py [--reports LABELS.yaml] [--transcriptions DIR] [--quiet]

Each report is transcribed as facts in ``tests/reports/<id>.json`` (what the report states, nothing else); the labels
say which level and first cause a good tool should give. ``tests/reports/forbidden.yaml`` says how a verdict would give
an explanation that a label calls wrong. ``tests/reports/further`` are reports of our own search, printed beside.
Harmless pairs (``harmless_pairs.py``) are mixed in: silent is one whose ends are those of its base against itself, with
no reason more. A verdict without reasons is read as "none, or too little information".

Every zero is printed with its number of tries and its 95 % upper bound; averages over the four levels stand beside the
plain ones. Exits 1 where an aim is missed on the reports that were given.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from harmless_pairs import Pair, pairs

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Reason, Verdict

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPTIONS = ROOT / "tests" / "reports"
LEVELS = {"bitwise": Level.BITWISE, "same_curve": Level.CURVE, "statistically_equivalent": Level.STATISTICAL,
          "not_comparable": Level.NONE}
#: what a verdict without reasons says.
NO_REASON = ("none", "insufficient_information")
#: the least that is aimed at, as shares.
FIRST_CAUSE, EXACT, MACRO, WITHIN_ONE, SILENT = 0.92, 0.85, 0.80, 1.0, 0.98
LEAST_PAIRS = 100


class Row(NamedTuple):
    """One report judged."""

    id: str
    verdict: Verdict
    level: Level
    causes: tuple[str, ...]
    cause: str
    also: tuple[str, ...]
    abstain_ok: bool
    forbidden: tuple[str, ...]
    unmapped: tuple[str, ...]
    said: tuple[str, ...]

    @property
    def mark(self) -> str:
        """``ok``, ``also`` (an acceptable further cause) or ``wrong``."""
        if self.cause in self.causes or (self.abstain_ok and self.causes == NO_REASON):
            return "ok"
        return "also" if set(self.causes) & set(self.also) else "wrong"

    @property
    def off(self) -> int:
        """How many levels the expected one is off; nothing said where that is right too is not off."""
        abstains = self.abstain_ok and self.causes == NO_REASON
        return 0 if abstains else abs(int(self.verdict.expected) - int(self.level))


def judged(labels: list[dict[str, Any]], transcriptions: Path, forbidden: list[dict[str, Any]] | None = None
           ) -> Iterator[Row]:
    """Yield every labelled report that is transcribed, judged."""
    for report in labels:
        path = transcriptions / f"{report['id']}.json"
        if not path.exists():
            continue
        facts = json.loads(path.read_text(encoding="utf-8"))
        verdict = judge(Facts.of(facts["left"]), Facts.of(facts["right"]), question=Question(facts["question"]))
        label = report["verdict"]
        first = first_reason(verdict)
        told = [entry for entry in forbidden or () if entry["id"] == report["id"]]
        known = {entry["statement"] for entry in told}
        must_not = tuple(label.get("must_not_say") or ())
        yield Row(report["id"], verdict, LEVELS[label["level"]], (first.cause,) if first else NO_REASON,
                  label["first_reason"], tuple(word.split()[0] for word in label["also"]), bool(label["abstain_ok"]),
                  must_not, tuple(words for words in must_not if words not in known),
                  tuple(entry["statement"] for entry in told
                        if entry["statement"] in must_not and says(verdict, entry)))


def first_reason(verdict: Verdict) -> Reason | None:
    """Return the reason that comes first, ``None`` where there is none."""
    return verdict.reasons[0] if verdict.reasons else None


def says(verdict: Verdict, entry: dict[str, Any]) -> bool:
    """Tell whether a verdict gives a forbidden explanation: by its level, its first reason, or its headline."""
    first = first_reason(verdict)
    if verdict.expected.word in entry.get("expected", ()):
        return True
    if first is not None and (first.cause in entry.get("causes", ()) or first.rule in entry.get("rules", ())):
        return True
    return any(re.search(pattern, verdict.headline.lower()) for pattern in entry.get("words", ()))


def table(rows: list[Row]) -> None:
    """Print one line a report."""
    print(f"{'id':<6}{'expected':<13}{'label':<13}{'off':<5}{'first cause':<28}{'label':<26}cause")
    for row in rows:
        cause = row.causes[0] if row.verdict.reasons else "(no reason)"
        said = f"  says: {'; '.join(row.said)}" if row.said else ""
        print(f"{row.id:<6}{row.verdict.expected.word:<13}{row.level.word:<13}{row.off or '':<5}"
              f"{cause:<28}{row.cause:<26}{row.mark}{said}")


def macro(rows: list[Row], right: Callable[[Row], bool]) -> tuple[float, str]:
    """Return the average over the levels of the labels of the share that is right, and these shares in words."""
    shares = []
    for level in sorted({row.level for row in rows}, reverse=True):
        own = [row for row in rows if row.level is level]
        shares.append((level.word, sum(map(right, own)), len(own)))
    average = sum(count / total for _, count, total in shares) / len(shares)
    return average, ", ".join(f"{word} {count}/{total}" for word, count, total in shares)


def zero(found: int, tries: int) -> str:
    """Print a count that should be zero with its tries, and the bound that a zero leaves open."""
    bound = f" (95 % upper bound {upper_bound(tries):.1%})" if not found and tries else ""
    return f"{found} of {tries}{bound}"


def upper_bound(count: int) -> float:
    """Return the 95 % upper bound of a rate of which none were seen in ``count``."""
    return 1 - 0.05 ** (1 / count)


def scored(name: str, rows: list[Row]) -> bool:
    """Print the figures of one set of reports, and tell whether all aims are met."""
    total = len(rows)
    causes = sum(row.mark == "ok" for row in rows)
    acceptable = sum(row.mark == "also" for row in rows)
    exact = sum(not row.off for row in rows)
    within = sum(row.off <= 1 for row in rows)
    cause_macro, by_cause = macro(rows, lambda row: row.mark == "ok")
    exact_macro, by_level = macro(rows, lambda row: not row.off)
    above = sum(row.verdict.guaranteed > row.level for row in rows)
    tries = [row for row in rows if row.forbidden and not row.unmapped]
    wrong = sum(bool(row.said) for row in tries)
    unmapped = sum(len(row.unmapped) for row in rows)
    print(f"{name}: {total} reports")
    print(f"  first cause right {causes}/{total} = {causes / total:.1%}, acceptable {acceptable}; "
          f"over the levels {cause_macro:.1%} ({by_cause})")
    print(f"  expected exact {exact}/{total} = {exact / total:.1%}; over the levels {exact_macro:.1%} ({by_level}); "
          f"within one level {within}/{total}")
    print(f"  guaranteed above the label {zero(above, total)}; forbidden explanations {zero(wrong, len(tries))}"
          + (f"; {unmapped} forbidden statements have no line in forbidden.yaml" if unmapped else ""))
    return (causes / total >= FIRST_CAUSE and exact / total >= EXACT and exact_macro >= MACRO
            and within / total >= WITHIN_ONE and not above and not wrong)


def scored_pairs(found: list[Pair]) -> bool:
    """Print how many harmless pairs are silent, and those that are not."""
    silent = sum(pair.silent for pair in found)
    bases, kinds = len({pair.base for pair in found}), len({pair.kind for pair in found})
    print(f"harmless pairs: silent {silent}/{len(found)} = {silent / len(found):.1%}, of {kinds} kinds on {bases} "
          f"bases; alarms {zero(len(found) - silent, len(found))}")
    for pair in found:
        if not pair.silent:
            known = {reason.rule for reason in pair.alone.reasons}
            print(f"  {pair.base}: {pair.kind}: "
                  f"{'; '.join(reason.why for reason in pair.verdict.reasons if reason.rule not in known) or 'ends'}")
    return silent / len(found) >= SILENT and len(found) >= LEAST_PAIRS


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a YAML file; none where it is not there."""
    rows: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []
    return rows


def sets(options: argparse.Namespace) -> Iterable[tuple[str, list[Row]]]:
    """Yield the reports that were given, then those of our own search."""
    forbidden = read(TRANSCRIPTIONS / "forbidden.yaml")
    further = TRANSCRIPTIONS / "further"
    yield "reports", list(judged(read(options.reports), options.transcriptions, forbidden))
    yield "further", list(judged(read(further / "labels.yaml"), further, forbidden))


def main(arguments: list[str]) -> int:
    """Judge, print the tables and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=Path, default=TRANSCRIPTIONS / "labels.yaml", help="labels")
    parser.add_argument("--transcriptions", type=Path, default=TRANSCRIPTIONS, help="folder of transcribed reports")
    parser.add_argument("--quiet", action="store_true", help="print the totals alone")
    options = parser.parse_args(arguments)
    (name, given), (other, further) = sets(options)
    if not given:
        print(f"no report of {options.reports} is transcribed in {options.transcriptions}", file=sys.stderr)
        return 1
    if not options.quiet:
        table([*given, *further])
    met = scored(name, given)
    scored(other, further)
    silent = scored_pairs(list(pairs()))
    return 0 if met and silent else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

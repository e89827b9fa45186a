"""Right verdicts on real reports: first cause, expected level, and guarantees that go too far.

    python bench/verdicts.py [--reports LABELS.yaml] [--transcriptions DIR]

Each report is transcribed as facts in ``tests/reports/<id>.json`` (what the report states, nothing else); the labels
say which level and first cause a good tool should give. A verdict without reasons is read as "none, or too little
information". Exits 1 where fewer than twelve kinds of first causes are right, or a guarantee lies above the label.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPTIONS = ROOT / "tests" / "reports"
LEVELS = {"bitwise": Level.BITWISE, "same_curve": Level.CURVE, "statistically_equivalent": Level.STATISTICAL,
          "not_comparable": Level.NONE}
#: what a verdict without reasons says.
NO_REASON = ("none", "insufficient_information")
LEAST_KINDS = 12


class Row(NamedTuple):
    """One report judged."""

    id: str
    verdict: Verdict
    level: Level
    causes: tuple[str, ...]
    cause: str
    also: tuple[str, ...]
    abstain_ok: bool

    @property
    def mark(self) -> str:
        """``ok``, ``also`` (an acceptable further cause) or ``wrong``."""
        if self.cause in self.causes:
            return "ok"
        if self.abstain_ok and self.causes == NO_REASON:
            return "ok"
        return "also" if set(self.causes) & set(self.also) else "wrong"

    @property
    def exact(self) -> bool:
        """Whether the expected level is the label's, or nothing was said where that is right too."""
        return self.verdict.expected is self.level or (self.abstain_ok and self.causes == NO_REASON)


def judged(labels: list[dict[str, Any]], transcriptions: Path) -> Iterator[Row]:
    """Yield every labelled report that is transcribed, judged."""
    for report in labels:
        path = transcriptions / f"{report['id']}.json"
        if not path.exists():
            continue
        facts = json.loads(path.read_text(encoding="utf-8"))
        verdict = judge(Facts.of(facts["left"]), Facts.of(facts["right"]), question=Question(facts["question"]))
        label = report["verdict"]
        causes = (verdict.reasons[0].cause,) if verdict.reasons else NO_REASON
        yield Row(report["id"], verdict, LEVELS[label["level"]], causes, label["first_reason"],
                  tuple(word.split()[0] for word in label["also"]), bool(label["abstain_ok"]))


def table(rows: list[Row]) -> None:
    """Print one line a report."""
    print(f"{'id':<6}{'expected':<13}{'label':<13}{'level':<7}{'first cause':<28}{'label':<26}cause")
    for row in rows:
        cause = row.causes[0] if row.verdict.reasons else "(no reason)"
        print(f"{row.id:<6}{row.verdict.expected.word:<13}{row.level.word:<13}{'=' if row.exact else '!':<7}"
              f"{cause:<28}{row.cause:<26}{row.mark}")


def main(arguments: list[str]) -> int:
    """Judge, print the table and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=Path, default=TRANSCRIPTIONS / "labels.yaml", help="labels")
    parser.add_argument("--transcriptions", type=Path, default=TRANSCRIPTIONS, help="folder of transcribed reports")
    options = parser.parse_args(arguments)
    labels = yaml.safe_load(options.reports.read_text(encoding="utf-8"))
    rows = list(judged(labels, options.transcriptions))
    if not rows:
        print(f"no report of {options.reports} is transcribed in {options.transcriptions}", file=sys.stderr)
        return 1
    table(rows)
    marks = Counter(row.mark for row in rows)
    kinds = {row.cause for row in rows if row.mark == "ok"}
    exact = sum(row.exact for row in rows)
    above = [row.id for row in rows if row.verdict.guaranteed > row.level]
    print(f"verdicts: first cause {marks['ok']}/{len(rows)} right ({len(kinds)} kinds), {marks['also']} acceptable, "
          f"{marks['wrong']} wrong; expected exact {exact}/{len(rows)}; "
          f"guaranteed above label {len(above)} of {len(rows)} (95 % upper bound {upper_bound(len(rows)):.1%} at none)")
    return 0 if len(kinds) >= LEAST_KINDS and not above else 1


def upper_bound(count: int) -> float:
    """Return the 95 % upper bound of a rate of which none were seen in ``count``."""
    return 1 - 0.05 ** (1 / count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

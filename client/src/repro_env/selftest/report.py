"""The report of a self-test, as text and as JSON, from one value."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .scoring import QUESTIONS, Figure, Row, figures, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .launches import Outcome

#: lines on rows that a person should look at, at most, and pairs that each names.
SHOWN, FEW = 40, 6


class Report:
    """What was launched, what was judged, and whether the aims are met."""

    def __init__(self, outcomes: list[Outcome], left_out: list[str], *, whole: bool) -> None:
        self.launches = len(outcomes)
        self.failed = [(outcome.launch.name, outcome.error) for outcome in outcomes if outcome.error is not None]
        self.left_out = left_out
        self.rows = rows(outcomes)
        self.figures: dict[str, list[Figure]] = {
            question.value: figures([row for row in self.rows if row.question == question.value], whole=whole)
            for question in QUESTIONS}

    @property
    def met(self) -> bool:
        """Whether every aim is met; where nothing was judged none is."""
        return bool(self.rows) and all(figure.met for found in self.figures.values() for figure in found)

    @property
    def apart(self) -> list[Row]:
        """The rows of environments that did not give one result."""
        return [row for row in self.rows if not row.settled]

    def named(self) -> list[tuple[str, Row]]:
        """Return the rows that a person should look at, each with what is wrong with it, the worst first."""
        found = [(word, row) for row in self.rows if (word := _wrong_with(row)) is not None]
        return sorted(found, key=lambda pair: _WORDS.index(pair[0]))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "launches": self.launches, "failed": [{"launch": name, "error": error} for name, error in self.failed],
            "left_out": self.left_out, "met": self.met,
            "figures": {question: [figure.to_json() for figure in found] for question, found in self.figures.items()},
            "apart": len(self.apart), "rows": [row.to_json() for row in self.rows]}

    def text(self) -> str:
        """Return the report as lines for people."""
        pairs = Counter((row.base, row.workload, row.factor) for row in self.rows)
        lines = [f"{self.launches} launches, {len(self.failed)} failed; {len(self.rows)} verdicts on "
                 f"{len(pairs)} kinds of pairs", ""]
        for question, found in self.figures.items():
            lines += [f"{question}:", *map(_figure, found), ""]
        apart = self.apart
        if apart:
            differing = [row for row in apart if not row.equal]
            wrong = sum(row.guaranteed.word == "bitwise" for row in differing)
            lines += [f"apart, environments that did not give one result: {len(apart)} verdicts, {len(differing)} on "
                      f"differing bits, {wrong} of them guaranteed bitwise", ""]
        lines += ["guaranteed under repeat, by base and kind of factor:", *_table(self.rows), ""]
        named = _alike(self.named())
        lines += named[:SHOWN]
        lines += [f"and {len(named) - SHOWN} more of such"] if len(named) > SHOWN else []
        lines += [f"failed: {name}: {(error or '').strip().splitlines()[-1][:160]}" for name, error in self.failed]
        lines += [f"left out: {words}" for words in self.left_out]
        return "\n".join(lines).rstrip() + "\n"


_WORDS = ("WRONG", "IMPOSSIBLE", "ALARM", "UNSURE", "NOT HARMLESS", "APART AND WRONG")


def _wrong_with(row: Row) -> str | None:
    """Return what is wrong with a row in a word, ``None`` where nothing is."""
    sure = row.guaranteed.word == "bitwise"
    if not row.equal and sure:
        return "WRONG" if row.settled else "APART AND WRONG"
    if not row.settled:
        return None
    if row.equal and row.possible.word != "bitwise":
        return "IMPOSSIBLE"
    if row.quiet and row.factor and not row.silent:
        return "ALARM"
    if row.quiet and not row.equal:
        return "NOT HARMLESS"
    return "UNSURE" if row.quiet and not sure else None


def _alike(named: list[tuple[str, Row]]) -> list[str]:
    """Return a line for rows that are alike but for workload and factor, in the order of the first of each."""
    groups: dict[str, list[Row]] = {}
    for word, row in named:
        why = ", ".join(row.reasons or row.open) or "nothing"
        groups.setdefault(
            f"{word}: {row.question}, {row.base}: bits {'equal' if row.equal else 'differ'}, guaranteed "
            f"{row.guaranteed.word}, expected {row.expected.word} ({why})", []).append(row)
    return [f"{words}: {_places(found)}" for words, found in groups.items()]


def _places(found: list[Row]) -> str:
    places = list(dict.fromkeys(f"{row.workload} {row.factor or 'twice'}" for row in found))
    more = f" and {len(places) - FEW} more" if len(places) > FEW else ""
    return ", ".join(places[:FEW]) + more


def _figure(figure: Figure) -> str:
    rate = f"{figure.seen / figure.of:.1%}" if figure.of else "-"
    bound = f", at most {figure.bound:.2%} (95 %)" if figure.bound is not None else ""
    aim = f"; aim {figure.aim}: {'met' if figure.met else 'MISSED'}" if figure.aim else ""
    return f"  {figure.name}: {figure.seen} of {figure.of} ({rate}{bound}){aim}"


def _table(judged: list[Row]) -> list[str]:
    """Return a line for each base and kind of factor, under *repeat*: pairs, equal bits, levels guaranteed."""
    head = ("base", "kind", "pairs", "equal", "bitwise", "curve", "statistical", "none")
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in judged:
        if row.question == "repeat":
            count = counts.setdefault((row.base, row.kind), Counter())
            count.update(("pairs", row.guaranteed.word, *(("equal",) if row.equal else ())))
    form = "  {:<14}{:<19}{:>6}{:>7}{:>9}{:>7}{:>13}{:>6}"
    return [form.format(*head), *(form.format(*key, *(count[name] for name in head[2:]))
                                  for key, count in counts.items())]

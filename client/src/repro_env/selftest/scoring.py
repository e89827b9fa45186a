"""Verdicts held against bits: what each pair of launches was told, what its results were, and the figures of all.

A pair is a launch of a factor and a launch of its base, or two of the base. It is judged as ``repeat``; and as
``compare`` too where its programs are equal. Pure: launches are made by ``running``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..comparability.ignored import ignored_differences
from ..comparability.judge import judge_vectors
from ..comparability.levels import Level, Question, Scope
from ..comparability.reading import Facts
from ..comparability.runs import vector_of_documents
from ..comparability.verdict import Verdict
from .launches import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Callable

    from ..comparability.segments import Run
    from ..comparability.vector import Vector

QUESTIONS = (Question.REPEAT, Question.COMPARE)


class Side:
    """One launch as judging sees it: the vector for each question, and the facts of the process that stands for it."""

    def __init__(self, outcome: Outcome) -> None:
        documents = outcome.read()
        self.vectors: dict[Question, Vector] = {}
        for question in QUESTIONS:
            self.vectors[question], run = vector_of_documents(documents, question)
        self.scope = run.scope
        self.facts = _standing(documents, run)


def _standing(documents: list[dict[str, Any]], run: Run) -> Facts | None:
    if len(run.sides) != 1:
        return None
    wanted = run.sides[0].look.observation_id
    return next(Facts.of(item) for item in documents if item["capture"]["observation_id"] == wanted)


def verdict_on(left: Side, right: Side, question: Question) -> Verdict:
    """Return the verdict on two launches, as ``repro-env compare`` gives it on their documents."""
    from dataclasses import replace

    scope = Scope.PROCESS if left.scope is right.scope is Scope.PROCESS else Scope.STACK
    verdict = judge_vectors(left.vectors[question], right.vectors[question], scope=scope, question=question,
                            level=Level.BITWISE)
    if left.facts is None or right.facts is None:
        return verdict
    return replace(verdict, ignored=ignored_differences(left.facts, right.facts))


class Row(NamedTuple):
    """One pair under one question. ``factor`` is empty for two launches of a base.

    ``settled``: all launches of the left side gave one digest. ``unmoved``: the three ends are those of two launches
    of the base. ``silent``: unmoved, and no reason and no open rule is new.
    """

    base: str
    workload: str
    factor: str
    kind: str
    question: str
    quiet: bool
    settled: bool
    equal: bool
    guaranteed: Level
    expected: Level
    possible: Level
    unmoved: bool
    silent: bool
    reasons: tuple[str, ...]
    open: tuple[str, ...]
    ignored: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON."""
        return {name: value.word if isinstance(value, Level) else list(value) if isinstance(value, tuple) else value
                for name, value in self._asdict().items()}


def rows(outcomes: Iterable[Outcome], progress: Callable[[int, int], None] = lambda done, of: None) -> list[Row]:
    """Judge every pair; launches that failed are left out."""
    good = [outcome for outcome in outcomes if outcome.error is None]
    groups: dict[tuple[str, str], dict[str, list[Outcome]]] = {}
    for outcome in good:
        launch = outcome.launch
        named = groups.setdefault((launch.base.name, launch.workload), {})
        named.setdefault(launch.factor.name if launch.factor else "", []).append(outcome)
    found: list[Row] = []
    done = 0
    for named in groups.values():
        found += _of_group(named)
        done += sum(map(len, named.values()))
        progress(done, len(good))
    return found


def _of_group(named: dict[str, list[Outcome]]) -> list[Row]:
    """Judge the launches of one workload in one base."""
    sides: dict[int, Side] = {}

    def side(outcome: Outcome) -> Side:
        if id(outcome) not in sides:
            sides[id(outcome)] = Side(outcome)
        return sides[id(outcome)]

    found: list[Row] = []
    base = named.get("", [])
    if len(base) < 2:
        return found
    plain = {question: verdict_on(side(base[0]), side(base[1]), question) for question in QUESTIONS}
    for launches in named.values():
        factor = launches[0].launch.factor
        against = base if factor is None or not factor.against else named.get(factor.against, [])
        for at, outcome in enumerate(launches):
            if not against or (factor is None and at == 0):
                continue
            left = against[0 if factor is None else at % len(against)]
            for question in QUESTIONS:
                if factor is None or not factor.program or question is Question.REPEAT:
                    verdict = verdict_on(side(left), side(outcome), question)
                    found.append(_row(left, outcome, verdict, plain[question],
                                      settled=_settled(base, against)))
    return found


def _settled(*groups: list[Outcome]) -> bool:
    return all(len({outcome.digest for outcome in group}) == 1 for group in groups)


def _row(left: Outcome, right: Outcome, verdict: Verdict, plain: Verdict, *, settled: bool) -> Row:
    launch = right.launch
    factor = launch.factor
    ends = (verdict.guaranteed, verdict.expected, verdict.possible)
    unmoved = ends == (plain.guaranteed, plain.expected, plain.possible)
    reasons, unread = (tuple(item.rule for item in part) for part in (verdict.reasons, verdict.assumes))
    known = {*(item.rule for item in plain.reasons), *(item.rule for item in plain.assumes)}
    return Row(
        launch.base.name, launch.workload, factor.name if factor else "", factor.kind if factor else "nothing",
        verdict.question.value, launch.base.repeats and (factor is None or launch.base.name in factor.quiet), settled,
        left.digest == right.digest, *ends, unmoved,
        unmoved and {*reasons, *unread} <= known, reasons, unread, tuple(item.path for item in verdict.ignored))


class Figure(NamedTuple):
    """One figure with its aim: of so many verdicts, so many were seen to be of a kind."""

    name: str
    seen: int
    of: int
    aim: str
    met: bool

    @property
    def bound(self) -> float | None:
        """The 95 % upper bound of a rate of which none were seen, else ``None``."""
        return 1 - 0.05 ** (1 / self.of) if self.of and not self.seen else None

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON."""
        return {**self._asdict(), "upper_bound": self.bound}


LEAST_QUIET = 30


def figures(judged: list[Row], *, whole: bool) -> list[Figure]:
    """Return the figures of one set of rows; the least number of pairs is an aim of the whole test only."""
    settled = [row for row in judged if row.settled]
    differing, equal = ([row for row in settled if row.equal is wanted] for wanted in (False, True))
    quiet = [row for row in settled if row.quiet]
    factors = [row for row in quiet if row.factor]
    bits = Level.BITWISE
    wrong = sum(row.guaranteed is bits for row in differing)
    impossible = sum(row.possible < bits for row in equal)
    silent = sum(row.silent for row in factors)
    sure = sum(row.guaranteed is bits for row in quiet)
    least = f" of at least {LEAST_QUIET}" if whole else ""
    return [
        Figure("guaranteed bitwise where bits differ", wrong, len(differing), "0", met=wrong == 0),
        Figure("possible below bitwise where bits are equal", impossible, len(equal), "<= 2 %",
               met=impossible <= 0.02 * len(equal)),
        Figure("factors that must raise no alarm: level of two executions of the base, named under ignored only",
               silent, len(factors), ">= 98 %", met=silent >= 0.98 * len(factors)),
        Figure("guaranteed bitwise among harmless pairs", sure, len(quiet), f">= 95 %{least}",
               met=sure >= 0.95 * len(quiet) and (len(quiet) >= LEAST_QUIET or not whole)),
        Figure("harmless factors whose bits differ after all", sum(not row.equal for row in quiet), len(quiet), "",
               met=True),
        Figure("differing bits without a reason read", sum(not row.reasons for row in differing), len(differing), "",
               met=True),
    ]

"""Several sides at once: every pair, the classes of each level, and what separates them.

Sides with equal vectors form one group, so that a thousand runs of fifty stacks cost fifty. What is said of a pair is
what ``judge`` says of the same two vectors; ``fields`` computes it for many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Optional

from .fields import CLASS_LEVELS, Fields
from .judge import answer_for, show
from .levels import Answer, Level, Question, Scope, SetBy
from .policy import NO_POLICY, Levels, Policy
from .rule import AnyRule, Distinction
from .rules import RULES_BY_ID, RULESET
from .vector import FAILS, OK, READ, UNREAD, Entry, Vector, to_text


class Member(NamedTuple):
    """One side: its name, its vector for the question, and the scope it allows.

    ``key`` is the same for sides with equal vectors, where the caller knows; else it is made from the vector.
    """

    name: str
    vector: Vector
    scope: Scope
    key: Optional[str] = None


@dataclass(frozen=True)
class Class:
    """Sides of which each pair is guaranteed ``level``."""

    level: Level
    members: tuple[str, ...]


@dataclass(frozen=True)
class Outside:
    """Sides in no class of ``level``: facts they lack, most needed first, and rules that fail on them."""

    level: Level
    members: tuple[str, ...]
    lacking: tuple[str, ...]
    failing: tuple[str, ...]


@dataclass(frozen=True)
class Separation:
    """One rule that tells sides apart: what each value is, and who has it.

    ``values`` are pairs of value and names. For a Condition they are what fails, and on whom. ``implied_by`` is the
    rule that this one follows from between every two sides that it separates.
    """

    rule: str
    cause: str
    guaranteed: Level
    expected: Level
    possible: Level
    values: tuple[tuple[str, tuple[str, ...]], ...]
    unread: tuple[str, ...]
    remedy: str
    varies: bool = False
    implied_by: str | None = None


@dataclass(frozen=True)
class Moving:
    """An undeclared difference that moves together with a declared one over the sides in which both were read.

    ``together`` of ``pairs`` pairs of sides differ in both or in neither.
    """

    rule: str
    varied: str
    together: int
    pairs: int


@dataclass(frozen=True)
class Several:
    """The answer about several sides. ``groups`` hold names; ends are rows over groups, the diagonal included.

    The diagonal is the verdict on two executions of one environment. ``answer`` is the worst that any two sides get at
    ``level``. Scope is that of classes: ``process`` where every side allows it; an end is that of its pair.
    """

    question: Question
    scope: Scope
    level: Level
    answer: Answer
    groups: tuple[tuple[str, ...], ...]
    guaranteed: tuple[tuple[Level, ...], ...]
    expected: tuple[tuple[Level, ...], ...]
    possible: tuple[tuple[Level, ...], ...]
    classes: tuple[Class, ...]
    outside: tuple[Outside, ...]
    separates: tuple[Separation, ...]
    confounds: tuple[Moving, ...]
    ruleset: str
    policy: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; field names are the contract of ``POST /v1/comparisons``."""
        from .verdict import plain

        told: dict[str, Any] = plain(self)
        return told

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Several:
        """Return the answer that ``to_json`` wrote; raise ``InvalidDocument`` where ``value`` is none."""
        from .reread import several as read

        return read(value)

    def pair(self, one: str, other: str) -> Levels:
        """Return the three ends of two sides; raise ``KeyError`` for a name that is not among them."""
        index = {name: number for number, names in enumerate(self.groups) for name in names}
        row, column = index[one], index[other]
        return Levels(self.guaranteed[row][column], self.expected[row][column], self.possible[row][column])


def several(members: Sequence[Member], *, question: Question = Question.COMPARE, level: Level | None = None,
            policy: Policy = NO_POLICY) -> Several:
    """Return what holds among ``members``; raise ``ValueError`` where two have one name."""
    if len({member.name for member in members}) < len(members):
        raise ValueError("expected sides with names of their own")
    groups = _grouped(members)
    scope = Scope.PROCESS if all(group.scope is Scope.PROCESS for group in groups) else Scope.STACK
    fields = Fields([group.vector for group in groups], question, policy)
    asked = question.default_level if level is None else level
    ends, answer = _ends(fields, groups, asked)
    found = [_separation(rule, groups, policy) for rule in fields.rules]
    separates = _ordered([item for item in found if item is not None])
    return Several(
        question=question, scope=scope, level=asked, answer=answer,
        groups=tuple(group.names for group in groups), guaranteed=ends[0], expected=ends[1], possible=ends[2],
        classes=_classes(groups, fields, scope), outside=_outside(groups, fields, policy, scope), separates=separates,
        confounds=_moving(separates), ruleset=RULESET, policy=policy.digest)


class Group(NamedTuple):
    """Sides with one vector and scope."""

    names: tuple[str, ...]
    vector: Vector
    scope: Scope


def _grouped(members: Sequence[Member]) -> list[Group]:
    found: dict[tuple[str, Scope], list[Member]] = {}
    texts: dict[int, str] = {}
    for member in members:
        if member.key is None and id(member.vector) not in texts:
            texts[id(member.vector)] = to_text(member.vector)
        key = texts[id(member.vector)] if member.key is None else member.key
        found.setdefault((key, member.scope), []).append(member)
    return [Group(tuple(member.name for member in same), same[0].vector, same[0].scope) for same in found.values()]


Rows = tuple[tuple[Level, ...], ...]


#: from the worst answer to the best.
_WORST_FIRST = (Answer.NO, Answer.UNKNOWN, Answer.LIKELY, Answer.YES)


def _ends(fields: Fields, groups: list[Group], level: Level) -> tuple[tuple[Rows, Rows, Rows], Answer]:
    """Return the matrix of each end, and the worst answer that two different sides get."""
    size = len(groups)
    rows: list[list[list[Level]]] = [[[Level.NONE] * size for _ in range(size)] for _ in Levels._fields]
    answers = {Answer.YES}
    for one in range(size):
        for other in range(one, size):
            scope = groups[one].scope if groups[one].scope is groups[other].scope else Scope.STACK
            ends, read = fields.ends(one, other, scope)
            for end, reached in zip(rows, ends):
                end[one][other] = end[other][one] = reached
            if one != other or len(groups[one].names) > 1:
                answers.add(answer_for(ends, read, level))
    guaranteed, expected, possible = (tuple(map(tuple, end)) for end in rows)
    return (guaranteed, expected, possible), next(answer for answer in _WORST_FIRST if answer in answers)


def _classes(groups: list[Group], fields: Fields, scope: Scope) -> tuple[Class, ...]:
    found: dict[tuple[Level, int], list[str]] = {}
    for level in CLASS_LEVELS:
        for index, group in enumerate(groups):
            key = fields.key(index, level, scope)
            if key is not None:
                found.setdefault((level, key), []).extend(group.names)
    return tuple(Class(level, tuple(names)) for (level, _), names in found.items())


def _outside(groups: list[Group], fields: Fields, policy: Policy, scope: Scope) -> tuple[Outside, ...]:
    return tuple(_why_outside(group, level, fields.rules, policy, scope) for level in CLASS_LEVELS
                 for index, group in enumerate(groups) if fields.key(index, level, scope) is None)


def _why_outside(group: Group, level: Level, rules: Sequence[AnyRule], policy: Policy, scope: Scope) -> Outside:
    lacking: Counter[str] = Counter()
    failing = []
    for rule in rules:
        item = group.vector[rule.id]
        if policy.guaranteed_of(rule) < level and (scope is Scope.PROCESS or rule.set_by is not SetBy.PROGRAM):
            if item.state == FAILS:
                failing.append(rule.id)
            elif item.state == UNREAD:
                lacking.update(path for path, _ in item.lacking)
    return Outside(level, group.names, tuple(path for path, _ in lacking.most_common()), tuple(failing))


def _separation(rule: AnyRule, groups: list[Group], policy: Policy) -> Separation | None:
    """Return what ``rule`` tells apart; ``None`` where it bites between no two sides."""
    values: dict[str, list[str]] = {}
    unread: list[str] = []
    for group in groups:
        item = group.vector[rule.id]
        if isinstance(rule, Distinction) and (item.state in READ or (item.state == UNREAD and item.value)):
            values.setdefault(show(rule, item), []).extend(group.names)
        elif item.state == FAILS:
            values.setdefault(str(item.value), []).extend(group.names)
        elif item.state != OK:
            unread += group.names
    if len(values) < (2 if isinstance(rule, Distinction) else 1) or rule.id in policy.waived:
        return None
    if isinstance(rule, Distinction) and not _told_apart([group.vector[rule.id] for group in groups]):
        return None
    told = sorted(((value, tuple(names)) for value, names in values.items()), key=lambda row: (-len(row[1]), row[0]))
    return Separation(rule.id, rule.cause, *policy.levels_of(rule), tuple(told), tuple(unread), rule.remedy,
                      policy.varies(rule))


def _told_apart(entries: list[Entry]) -> bool:
    """Tell whether any two of these differ surely; of wholes those do that are unlike, of parts not always."""
    if all(item.state != UNREAD or not item.value for item in entries):
        return True
    distinct = list({repr(item): item for item in entries}.values())
    return any(one.apart(other) for one, other in combinations(distinct, 2))


def _ordered(found: list[Separation]) -> tuple[Separation, ...]:
    """Order by what is left, then by cause; note what another separation implies everywhere."""
    by_rule = {item.rule: item for item in found}
    implied: dict[str, str] = {}
    for item in found:
        for lesser in RULES_BY_ID[item.rule].subsumes:
            if lesser in by_rule and lesser not in implied and _implies(item, by_rule[lesser]):
                implied[lesser] = item.rule
    told = [replace(item, implied_by=implied.get(item.rule)) for item in found]
    return tuple(sorted(told, key=lambda item: (item.varies, item.expected, item.guaranteed)))


def _implies(item: Separation, lesser: Separation) -> bool:
    """Tell whether sides that ``lesser`` separates are always separated by ``item``: equal there, equal here."""
    value_of = {name: value for value, names in item.values for name in names}
    seen: dict[str, str] = {}
    for value, names in lesser.values:
        for name in names:
            if name not in value_of or seen.setdefault(value_of[name], value) != value:
                return False
    return True


#: share of pairs from which an undeclared difference is said to move with a declared one.
TOGETHER = 0.9


def _moving(separates: tuple[Separation, ...]) -> tuple[Moving, ...]:
    """Name undeclared differences that split the sides as a declared one does."""
    declared = [item for item in separates if item.varies]
    return tuple(moving for varied in declared for item in separates
                 if not item.varies and item.implied_by is None and item.guaranteed < Level.BITWISE
                 for moving in [_together(item, varied)] if moving.pairs and moving.together >= TOGETHER * moving.pairs)


def _together(item: Separation, varied: Separation) -> Moving:
    """Count the pairs of sides that differ in both or in neither, among sides in which both were read."""
    value_of = {name: value for value, names in varied.values for name in names}
    cells = Counter((value, value_of[name]) for value, names in item.values for name in names if name in value_of)
    rows, columns = Counter[str](), Counter[str]()
    for (value, other), number in cells.items():
        rows[value] += number
        columns[other] += number
    whole, same_row, same_column, same = (sum(number * (number - 1) // 2 for number in found.values()) for found in (
        {"": sum(cells.values())}, rows, columns, cells))
    if len(rows) < 2 or len(columns) < 2:
        return Moving(item.rule, varied.rule, 0, 0)
    return Moving(item.rule, varied.rule, whole - same_row - same_column + 2 * same, whole)

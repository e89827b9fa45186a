"""Many vectors as integers, so that half a million pairs are compared in seconds and classes are found at once.

Each rule has a field of bits. What ``ends`` says of two vectors is what ``judge`` says of them, and ``key`` is equal
where ``class_key`` is: both by the law of the levels, and held by tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from .levels import Level, Question, Scope, SetBy
from .policy import Levels, Policy
from .rule import AnyRule, Distinction
from .vector import FAILS, READ, UNREAD, Entry, Vector, rules_of

#: levels that a class can have; ``none`` would hold everything.
CLASS_LEVELS = (Level.BITWISE, Level.CURVE, Level.STATISTICAL)


class Fields:
    """Vectors as integers: each rule has a field of bits with a number in it, the same for what is the same.

    Masks hold the fields of a kind: ``read`` values, ``failed`` Conditions, ``unread`` entries, ``loose`` fallbacks;
    ``below`` those of rules that leave less than a level of an end, ``program`` those of what the program sets.
    """

    def __init__(self, vectors: Sequence[Vector], question: Question, policy: Policy) -> None:
        self.rules = rules_of(question)
        size = len(vectors)
        self.found, self.read, self.failed, self.unread, self.loose = ([0] * size for _ in range(5))
        self.below = {end: dict.fromkeys(CLASS_LEVELS, 0) for end in Levels._fields}
        self.program = 0
        self.parts: list[tuple[int, list[Entry]]] = []  #: rules that some vectors have read in parts only
        shift = 0
        for rule in self.rules:
            shift = self._add(rule, [vector[rule.id] for vector in vectors], shift, policy)

    def _add(self, rule: AnyRule, entries: list[Entry], shift: int, policy: Policy) -> int:
        numbers: dict[tuple[str, str], int] = {}
        coded = [numbers.setdefault((item.state, repr(item.value)), len(numbers)) for item in entries]
        width = max(1, (len(numbers) - 1).bit_length())
        whole = ((1 << width) - 1) << shift
        for index, item in enumerate(entries):
            self.found[index] |= coded[index] << shift
            kind = self._kind(rule, item)
            if kind is not None:
                kind[index] |= whole
        if isinstance(rule, Distinction) and any(item.state == UNREAD and item.value for item in entries):
            self.parts.append((whole, entries))
        if rule.set_by is SetBy.PROGRAM:
            self.program |= whole
        for end, reached in zip(Levels._fields, policy.levels_of(rule)):
            for level in CLASS_LEVELS:
                if reached < level:
                    self.below[end][level] |= whole
        return shift + width

    def _kind(self, rule: AnyRule, item: Entry) -> list[int] | None:
        if item.state in (FAILS, UNREAD):
            return self.failed if item.state == FAILS else self.unread
        if not isinstance(rule, Distinction):
            return None
        return self.read if item.state in READ else self.loose

    def ends(self, one: int, other: int, scope: Scope) -> tuple[Levels, Level]:
        """Return the three ends of two vectors, by number, and what is guaranteed were all that is unread harmless."""
        unlike = self.found[one] ^ self.found[other]
        bites = unlike & self.read[one] & self.read[other] | self.failed[one] | self.failed[other]
        bites |= self._apart(one, other)
        undecided = self.unread[one] | self.unread[other] | unlike & (self.loose[one] | self.loose[other])
        if scope is Scope.STACK:
            undecided &= ~self.program
        ends = Levels(self._level("guaranteed", bites | undecided), self._level("expected", bites),
                      self._level("possible", bites))
        return ends, self._level("guaranteed", bites)

    def _apart(self, one: int, other: int) -> int:
        """Return the rules of which a part read on both sides differs."""
        found = 0
        for whole, entries in self.parts:
            if entries[one].apart(entries[other]):
                found |= whole
        return found

    def _level(self, end: str, found: int) -> Level:
        below = self.below[end]
        for level in CLASS_LEVELS:
            if not found & below[level]:
                return level
        return Level.NONE

    def key(self, index: int, level: Level, scope: Scope) -> int | None:
        """Return what is equal for all vectors of one class at ``level``; ``None`` where a vector is in no class."""
        counted = self.below["guaranteed"][level]
        if scope is Scope.STACK:
            counted &= ~self.program
        return None if (self.unread[index] | self.failed[index]) & counted else self.found[index] & counted

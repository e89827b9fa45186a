"""The projection vector of one side: one entry a rule. Stored once a side, it is all that judging and keys need."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from ..canonical import digest_bytes, encode
from ..fingerprint.facts import is_unread
from .levels import Level, Question, Scope, SetBy
from .policy import NO_POLICY, Policy
from .reading import Facts, Missing
from .rule import NOT_APPLICABLE, AnyRule, Distinction, Fallback, Parts
from .rules import RULES, RULES_BY_ID, RULESET

VALUE, NOT_APPLIED, UNREAD, FALLBACK, OK, FAILS = "value", "na", "unread", "fallback", "ok", "fails"
#: of a run only: the rule was read on all its processes, with more than one value.
VARIES = "varies"
#: states of a Distinction that was read.
READ = frozenset({VALUE, NOT_APPLIED, VARIES})
#: the Condition that says whether the processes of a run share one environment.
RANKS_DIFFER = "ranks-differ"


class Entry(NamedTuple):
    """State of one rule on one side. ``value`` is JSON; ``lacking`` maps unread facts to their codes.

    ``value`` is the projection (VALUE), the raw facts (FALLBACK), the words of a failure (FAILS), or for VARIES and a
    run's FALLBACK the sorted distinct ``[state, value]`` of its processes. Of a value of parts it is the map of those
    that are something; where some are unread (UNREAD), of those that were read.
    """

    state: str
    value: Any = None
    lacking: tuple[tuple[str, str], ...] = ()

    def same(self, other: Entry) -> bool:
        """Tell whether two entries say the same, whatever they lack."""
        return self.state == other.state and self.value == other.value

    def apart(self, other: Entry) -> bool:
        """Tell whether two entries of a Distinction surely differ: as wholes, or in a part read on both sides."""
        if self.state in READ and other.state in READ:
            return not self.same(other)
        return any(mine != yours for mine, yours in self.shared(other).values())

    def shared(self, other: Entry) -> dict[str, tuple[Any, Any]]:
        """Return the parts read in both of two entries where one of them was read in parts only."""
        if UNREAD not in (self.state, other.state) or not (
                isinstance(self.value, dict) and isinstance(other.value, dict)):
            return {}
        names = sorted({*self.value, *other.value})
        return {name: (self.value.get(name), other.value.get(name)) for name in names
                if all(entry.state == VALUE or name in entry.value for entry in (self, other))}


#: what healthy ranks of one run may have each of their own: seeds by rank, and a launcher's --local-rank.
PER_RANK = frozenset(("seed", "seed-numpy", "seed-python", "arguments"))
#: states in which a rule always has something to say.
UNSETTLED = frozenset({UNREAD, FAILS})

#: rule id -> entry, for every rule of the question.
Vector = dict[str, Entry]


def rules_of(question: Question) -> tuple[AnyRule, ...]:
    """Return the rules that belong to ``question``, in causal order."""
    return _RULES_OF[question]


_RULES_OF = {question: tuple(rule for rule in RULES if question in rule.questions) for question in Question}


#: what only the questions about the program judge.
PROGRAM_RULES = tuple(rule for rule in RULES if Question.COMPARE not in rule.questions)


def project_program(facts: Facts) -> Vector:
    """Return the entries of the rules that *compare* does not judge, for listing what differs there."""
    return {rule.id: entry(rule, facts) for rule in PROGRAM_RULES}


def project(facts: Facts, question: Question = Question.COMPARE) -> Vector:
    """Return the vector of one side for ``question``."""
    return {rule.id: entry(rule, facts) for rule in rules_of(question)}


def entry(rule: AnyRule, facts: Facts) -> Entry:
    """Return the state of ``rule`` on one side."""
    try:
        if isinstance(rule, Distinction):
            return _distinction_entry(rule.project(facts), facts)
        outcome = rule.holds(facts)
        return _OK if outcome is None else Entry(FAILS, outcome.detail)
    except Missing as missing:
        return Entry(UNREAD, None, tuple(sorted(missing.facts.items())))


#: what most rules say of a side.
_OK, _NOT_APPLIED = Entry(OK), Entry(NOT_APPLIED)


#: kinds of values that are kept as they stand, which most are.
_KEPT = frozenset((str, int, bool))


def _distinction_entry(value: Any, facts: Facts) -> Entry:
    if value.__class__ in _KEPT:
        return Entry(VALUE, value)
    if value is NOT_APPLICABLE:
        return _NOT_APPLIED
    if isinstance(value, Parts):
        return _of_parts(value)
    if isinstance(value, Fallback):
        return _fallback(value.raw) if not value.lacking and isinstance(value.raw, str) else Entry(
            FALLBACK, _plain(value.raw), tuple((path, _code(facts, path)) for path in value.lacking))
    return Entry(VALUE, _plain(value))


def _of_parts(value: Parts) -> Entry:
    if value.lacking:
        return Entry(UNREAD, dict(sorted(value.read.items())) or None, tuple(sorted(value.lacking.items())))
    return Entry(VALUE, {name: part for name, part in sorted(value.read.items()) if part is not None})


@lru_cache(maxsize=256)
def _fallback(raw: str) -> Entry:
    return Entry(FALLBACK, raw)


def _code(facts: Facts, path: str) -> str:
    fact = facts.look(path)
    return str(fact["unread"]) if is_unread(fact) else "not-recorded"


def _plain(value: Any) -> Any:
    """Return tuples as lists, so that a stored vector equals a fresh one."""
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def lines_of(vector: Vector) -> dict[str, str]:
    """Return each entry of a vector as JSON, by rule: what its text and its keys are made from."""
    return {rule: _encoded(item) for rule, item in vector.items()}


def _encoded(item: Entry) -> str:
    if item.value is None and not item.lacking:
        return f'["{item.state}",null,[]]'
    return _ENTRY_JSON.encode(item)


def to_text(vector: Vector, lines: dict[str, str] | None = None) -> str:
    """Return the stored form of a vector: a line a rule with its id, a tab, and its entry as JSON, sorted.

    Equal vectors have equal text. ``lines`` are those of the vector, where the caller has them.
    """
    return "\n".join(f"{rule}\t{line}" for rule, line in sorted((lines or lines_of(vector)).items()))


@lru_cache(maxsize=256)
def from_text(text: str) -> Vector:
    """Read the stored form; those read last are kept, so nobody may change one.

    The same line gives the same entry, so that comparing two of them costs nothing.
    """
    lines = (line.partition("\t") for line in text.split("\n"))
    return {rule: entry_of_line(stored) for rule, _, stored in lines}


@lru_cache(maxsize=16384)
def entry_of_line(stored: str) -> Entry:
    """Read one entry; those of the lines read last are kept."""
    state, value, lacking = json.loads(stored)
    return Entry(state, value, tuple((path, code) for path, code in lacking))


_ENTRY_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def class_key(vector: Vector, level: Level, scope: Scope, question: Question = Question.COMPARE,
              policy: Policy = NO_POLICY) -> str | None:
    """Return the key of the class this side belongs to at ``level``, or ``None`` where it belongs to none.

    Two sides of one scope have ``guaranteed`` at least ``level`` exactly when both have this key and it is equal.
    In scope ``stack`` keys cover the rules on machine-set facts only.
    """
    return class_keys(vector, (level,), (scope,), question, policy)[scope, level]


def class_keys(vector: Vector, levels: Iterable[Level], scopes: Iterable[Scope],
               question: Question = Question.COMPARE, policy: Policy = NO_POLICY,
               lines: dict[str, str] | None = None) -> dict[tuple[Scope, Level], str | None]:
    """Return the keys of one side for several levels and scopes, each as ``class_key`` returns it.

    ``lines`` are those of the vector, where the caller has them.
    """
    parts = {rule.id: _part(vector[rule.id], rule, lines) for rule in rules_of(question)}
    guaranteed = _GUARANTEED if policy is NO_POLICY else {
        rule.id: policy.guaranteed_of(rule) for rule in rules_of(question)}
    keys: dict[tuple[Scope, Level], str | None] = {}
    for scope in scopes:
        covered = [rule.id for rule in keyed_rules(question, scope)]
        for level in levels:
            found = [parts[name] for name in covered if guaranteed[name] < level]
            head = [RULESET, policy.digest, question.value, scope.value, level.word]
            keys[scope, level] = None if None in found else digest_bytes(
                "\n".join([_ENTRY_JSON.encode(head), *filter(None, found)]).encode())
    return keys


#: what each rule leaves of ``guaranteed`` where no policy says otherwise.
_GUARANTEED = {rule.id: rule.guaranteed for rule in RULES}


def _part(item: Entry, rule: AnyRule, lines: dict[str, str] | None) -> str | None:
    """Return what a rule adds to a key: nothing for a Condition that holds, ``None`` where there is no key."""
    if item.state in UNSETTLED:
        return None
    if not isinstance(rule, Distinction):
        return ""
    line = lines[rule.id] if lines and not item.lacking else _encoded(Entry(item.state, item.value))
    return f"{rule.id}\t{line}"


def keyed_rules(question: Question, scope: Scope) -> tuple[AnyRule, ...]:
    """Return the rules a class key covers in ``scope``, by id."""
    return _KEYED_RULES[question, scope]


_KEYED_RULES = {(question, scope): tuple(sorted(
    (rule for rule in _RULES_OF[question] if scope is Scope.PROCESS or rule.set_by is SetBy.MACHINE),
    key=lambda rule: rule.id)) for question in Question for scope in Scope}


def merge(vectors: Iterable[Vector]) -> Vector:
    """Return the vector of a run from those of its processes; order and repetition do not matter.

    One distinct vector: that one. More: each rule holds the set of its values, and a failure or an unread fact on any
    process stands for the run. ``ranks-differ`` fails where facts that were read differ, but for those that each rank
    has of its own; where processes are unlike only in what was read of them, it is unread. Raise ``ValueError`` where
    there is no vector.
    """
    distinct = {to_text(vector): vector for vector in vectors}
    if not distinct:
        raise ValueError("expected the vector of at least one process")
    ordered = [distinct[text] for text in sorted(distinct)]
    if len(ordered) == 1:
        return ordered[0]
    columns = {rule: [vector[rule] for vector in ordered] for rule in ordered[0]}
    merged = {rule: _merge_entries(column) for rule, column in columns.items()}
    unlike = [rule for rule, column in columns.items()
              if rule != RANKS_DIFFER and rule not in PER_RANK and any(item != column[0] for item in column)]
    differing = [rule for rule in unlike if _differ(columns[rule])]
    if differing:
        merged[RANKS_DIFFER] = Entry(FAILS, f"its processes differ in {_first_few(differing)}")
    elif unlike:
        lacking = sorted({pair for column in columns.values() for item in column for pair in item.lacking})
        merged[RANKS_DIFFER] = Entry(UNREAD, None, tuple(lacking))
    return merged


def _differ(entries: list[Entry]) -> bool:
    """Tell whether facts that were read make one rule differ among processes."""
    values = {encode(item.value) for item in entries if item.state == VALUE}
    states = {item.state for item in entries}
    return len(values) > 1 or {VALUE, NOT_APPLIED} <= states or {OK, FAILS} <= states


def _first_few(rules: list[str]) -> str:
    return ", ".join(rules[:3]) + (f" and {len(rules) - 3} more" if len(rules) > 3 else "")


def _merge_entries(entries: list[Entry]) -> Entry:
    if all(item == entries[0] for item in entries):
        return entries[0]
    states = {item.state for item in entries}
    lacking = tuple(sorted({pair for item in entries for pair in item.lacking}))
    if FAILS in states:
        return Entry(FAILS, "; ".join(sorted({str(item.value) for item in entries if item.state == FAILS})))
    if UNREAD in states:
        return Entry(UNREAD, None, lacking)
    values = {encode([item.state, item.value]).decode("utf-8"): [item.state, item.value] for item in entries}
    rows = [values[text] for text in sorted(values)]
    if len(rows) == 1:
        return Entry(rows[0][0], rows[0][1], lacking)
    return Entry(FALLBACK if FALLBACK in states else VARIES, rows, lacking)


def rule_of(rule_id: str) -> AnyRule:
    """Return the rule named ``rule_id``; raise ``KeyError`` where this ruleset has none."""
    return RULES_BY_ID[rule_id]

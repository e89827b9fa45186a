"""A policy: what a project waives, weighs otherwise or varies on purpose, each with a reason. Part of every key.

Versioned data: a file offline (JSON or TOML), a resource of a project in the service. Reading files is left to the
command line, words that name what varies to ``varying``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..canonical import digest_bytes, encode
from ..errors import InvalidDocument
from .levels import Level
from .rule import AnyRule, Distinction
from .varying import UnknownWord, rules_of_word


class Levels(NamedTuple):
    """The three levels of a rule in force."""

    guaranteed: Level
    expected: Level
    possible: Level


class Changed(NamedTuple):
    """The levels that a project gives a rule, and why."""

    levels: Levels
    reason: str


_NOT_COUNTED = Levels(Level.BITWISE, Level.BITWISE, Level.BITWISE)
_FIELDS = ("name", "waive", "levels", "vary", "require", "baseline")
_ENDS = ("guaranteed", "expected", "possible")


@dataclass(frozen=True)
class Policy:
    """What a project decides about rules; without entries it changes nothing.

    ``waive`` maps a rule to the reason why it is not counted (nor those of the same cause that it implies: the threads
    of a host with those of torch), ``levels`` a rule to other levels with a reason, ``vary``
    holds words for what differs on purpose (see ``varying``), ``require`` is the level that is asked for by default,
    ``baseline`` the run or manifest that runs are held against.
    """

    name: str = "none"
    waive: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Changed] = field(default_factory=dict)
    vary: tuple[str, ...] = ()
    require: Level | None = None
    baseline: str | None = None

    @cached_property
    def waived(self) -> dict[str, str]:
        """Return every rule that is not counted with the reason: those named, and what they imply of the same cause."""
        from .rules import RULES_BY_ID

        found, pending = dict(self.waive), list(self.waive)
        while pending:
            rule = RULES_BY_ID[pending.pop()]
            implied = [name for name in rule.subsumes if RULES_BY_ID[name].cause == rule.cause and name not in found]
            found.update(dict.fromkeys(implied, found[rule.id]))
            pending += implied
        return found

    @cached_property
    def varied(self) -> dict[str, str]:
        """Return each Distinction that may differ on purpose, with the first word that covers it."""
        return {rule: word for word in reversed(self.vary) for rule in rules_of_word(word)}

    @cached_property
    def digest(self) -> str:
        """Digest over what acts: rules and levels, not the words why, nor what is asked for."""
        acting = {"waive": sorted(self.waived), "vary": sorted(self.varied),
                  "levels": {rule: [level.word for level in changed.levels] for rule, changed in self.levels.items()}}
        return digest_bytes(encode(acting))

    def varies(self, rule: AnyRule) -> bool:
        """Tell whether ``rule`` may differ on purpose: declared so, and a relation between two sides."""
        return isinstance(rule, Distinction) and rule.id in self.varied

    def levels_of(self, rule: AnyRule) -> Levels:
        """Return the levels of ``rule`` under this policy."""
        if rule.id in self.waived or self.varies(rule):
            return _NOT_COUNTED
        changed = self.levels.get(rule.id)
        return changed.levels if changed else Levels(rule.guaranteed, rule.expected, rule.possible)

    def guaranteed_of(self, rule: AnyRule) -> Level:
        """Return what ``rule`` leaves of ``guaranteed`` under this policy."""
        return self.levels_of(rule).guaranteed

    def varying(self, words: tuple[str, ...]) -> Policy:
        """Return this policy with further words for what varies; raise ``InvalidDocument`` for one nobody knows."""
        return Policy(self.name, self.waive, self.levels, _words((*self.vary, *words)), self.require, self.baseline)

    def to_json(self) -> dict[str, Any]:
        """Return the form that ``parse`` reads; what is not set is left out."""
        levels = {rule: {**dict(zip(_ENDS, (level.word for level in changed.levels))), "reason": changed.reason}
                  for rule, changed in self.levels.items()}
        told: dict[str, Any] = {
            "name": self.name, "waive": dict(self.waive), "levels": levels, "vary": list(self.vary),
            "require": self.require.word if self.require is not None else None, "baseline": self.baseline}
        return {name: value for name, value in told.items() if value not in (None, {}, [])}

    @classmethod
    def parse(cls, value: Any, rules: Mapping[str, AnyRule]) -> Policy:
        """Read a policy from JSON; raise ``InvalidDocument`` naming the field that is wrong and what was expected.

        Refused are unknown rules, waivers and levels without a reason, levels out of order, and unknown words.
        """
        if not isinstance(value, dict):
            raise InvalidDocument("policy", f"expected an object with {', '.join(_FIELDS)}")
        for key in value:
            if key not in _FIELDS:
                raise InvalidDocument(f"policy.{key}", f"unknown field; a policy has {', '.join(_FIELDS)}")
        waive = {rule: _reason(text, f"policy.waive.{rule}") for rule, text in _by_rule(value, "waive", rules)}
        levels = {rule: _changed(told, rules[rule]) for rule, told in _by_rule(value, "levels", rules)}
        for rule in levels:
            if rule in waive:
                raise InvalidDocument(f"policy.levels.{rule}", "the rule is waived too; keep one of the two")
        return cls(_text(value, "name") or "unnamed", waive, levels, _words(value.get("vary", ())),
                   _level(value.get("require"), "policy.require") if value.get("require") is not None else None,
                   _text(value, "baseline"))


def _by_rule(value: dict[str, Any], name: str, rules: Mapping[str, AnyRule]) -> list[tuple[str, Any]]:
    table = value.get(name, {})
    if not isinstance(table, dict):
        raise InvalidDocument(f"policy.{name}", "expected an object by rule id")
    for rule in table:
        if rule not in rules:
            raise InvalidDocument(f"policy.{name}.{rule}", f"no such rule{_near(rule, rules)}; `repro-env rules` lists "
                                                           "them")
    return list(table.items())


def _near(rule: str, rules: Mapping[str, AnyRule]) -> str:
    import difflib

    near = difflib.get_close_matches(rule, list(rules), 2, 0.5)
    return f" (near: {', '.join(near)})" if near else ""


def _reason(text: Any, field_name: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidDocument(field_name, "expected a reason in words: who reads the verdict must be able to judge it")
    return text


def _changed(told: Any, rule: AnyRule) -> Changed:
    """Read the levels of one rule; an end that is not told stays what the rule set says."""
    name = f"policy.levels.{rule.id}"
    if not isinstance(told, dict) or not set(told) <= {*_ENDS, "reason"} or not set(told) & set(_ENDS):
        raise InvalidDocument(name, "expected an object with reason and at least one of guaranteed, expected, possible")
    ends = {end: _level(told[end], f"{name}.{end}") if end in told else getattr(rule, end) for end in _ENDS}
    levels = Levels(**ends)
    if not levels.guaranteed <= levels.expected <= levels.possible:
        shown = ", ".join(f"{end} {level.word}" for end, level in ends.items())
        raise InvalidDocument(name, f"expected guaranteed <= expected <= possible, got {shown}; state the others too")
    return Changed(levels, _reason(told.get("reason"), f"{name}.reason"))


def _level(word: Any, field_name: str) -> Level:
    try:
        return Level.parse(word if isinstance(word, str) else repr(word))
    except ValueError as error:
        raise InvalidDocument(field_name, str(error)) from error


def _words(words: Any) -> tuple[str, ...]:
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise InvalidDocument("policy.vary", 'expected a list of words, as in ["seed", "precision.*"]')
    for word in words:
        try:
            rules_of_word(word)
        except UnknownWord as error:
            raise InvalidDocument("policy.vary", str(error)) from error
    return tuple(dict.fromkeys(words))


def _text(value: dict[str, Any], name: str) -> str | None:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise InvalidDocument(f"policy.{name}", "expected text")
    return found


NO_POLICY = Policy()

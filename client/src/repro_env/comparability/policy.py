"""A policy: what a project waives, with a reason. Versioned data, part of every key and verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..canonical import digest_bytes, encode
from ..errors import InvalidDocument
from .levels import Level
from .rule import AnyRule


class Levels(NamedTuple):
    """The three levels of a rule in force."""

    guaranteed: Level
    expected: Level
    possible: Level


_WAIVED = Levels(Level.BITWISE, Level.BITWISE, Level.BITWISE)


@dataclass(frozen=True)
class Policy:
    """``waive`` maps a rule id to the reason why this project does not count it."""

    name: str = "none"
    waive: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Digest over what acts: which rules are waived, not the words why."""
        return digest_bytes(encode({"waive": sorted(self.waive)}))

    def levels_of(self, rule: AnyRule) -> Levels:
        """Return the levels of ``rule`` under this policy."""
        return _WAIVED if rule.id in self.waive else Levels(rule.guaranteed, rule.expected, rule.possible)

    def guaranteed_of(self, rule: AnyRule) -> Level:
        """Return what ``rule`` leaves of ``guaranteed`` under this policy."""
        return Level.BITWISE if rule.id in self.waive else rule.guaranteed

    @classmethod
    def parse(cls, value: Any, known_rules: frozenset[str]) -> Policy:
        """Read a policy from JSON; refuse unknown rules and waivers without a reason, naming the field."""
        if not isinstance(value, dict):
            raise InvalidDocument("policy", "expected an object with name and waive")
        for key in value:
            if key not in ("name", "waive"):
                raise InvalidDocument(f"policy.{key}", "unknown field; a policy has name and waive")
        name = value.get("name", "unnamed")
        if not isinstance(name, str):
            raise InvalidDocument("policy.name", "expected text")
        waive = value.get("waive", {})
        if not isinstance(waive, dict):
            raise InvalidDocument("policy.waive", "expected an object of rule id to reason")
        for rule, reason in waive.items():
            if rule not in known_rules:
                raise InvalidDocument(f"policy.waive.{rule}", "no such rule; `repro-env rules` lists them")
            if not isinstance(reason, str) or not reason.strip():
                raise InvalidDocument(f"policy.waive.{rule}", "expected a reason in words")
        return cls(name, dict(waive))


NO_POLICY = Policy()

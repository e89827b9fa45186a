"""The verdict as a value. Text, Markdown, JSON and HTML are made from it and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .levels import Answer, Level, Question, Scope


@dataclass(frozen=True)
class Reason:
    """One difference or failed condition that lowers an end. ``implied_by`` names the reason that it follows from."""

    rule: str
    layer: str
    cause: str
    why: str
    expected: str
    observed: str
    guaranteed: Level
    expected_level: Level
    possible: Level
    effect: str
    remedy: str
    confidence: str
    source: tuple[str, ...]
    implied_by: str | None = None


@dataclass(frozen=True)
class Assumption:
    """A rule left open by unread facts; ``lowers`` tells whether that lowers ``guaranteed`` in this scope."""

    rule: str
    layer: str
    cause: str
    lowers: bool
    guaranteed: Level
    lacking: dict[str, dict[str, str]]
    capture_how: str


@dataclass(frozen=True)
class Step:
    """One thing to change or capture, and which end it helps lift to which level.

    ``lifts`` is ``expected``, ``guaranteed`` or ``expected and guaranteed``; ``rules`` are the rules it settles.
    """

    do: str
    lifts: str
    to: Level
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Ignored:
    """A difference that does not act, with why."""

    path: str
    expected: str
    observed: str
    why: str


@dataclass(frozen=True)
class Difference:
    """Two values of one rule that were read, in words."""

    rule: str
    why: str
    expected: str
    observed: str


@dataclass(frozen=True)
class Varied:
    """What was declared to differ under one word; it is listed and lowers nothing.

    ``unread`` are the rules under the word of which a side was not read. Without differences the declared variable is
    not known to differ at all.
    """

    word: str
    differences: tuple[Difference, ...]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Confound:
    """A difference that nobody declared and that moves together with declared ones: its effect cannot be told apart."""

    rule: str
    why: str
    moves_with: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """What one side of a verdict was judged from: its name, observation ids, and digests of distinct parts, sorted."""

    name: str
    observations: tuple[str, ...]
    stacks: tuple[str, ...]
    programs: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """The answer with everything that explains it.

    ``policy`` is the digest of what the policy changed and ``terms`` the policy itself; ``sides`` tell from which
    observations the verdict was made, expected first, and are empty where the caller did not say.
    """

    question: Question
    scope: Scope
    level: Level
    answer: Answer
    guaranteed: Level
    expected: Level
    possible: Level
    headline: str
    reasons: tuple[Reason, ...]
    assumes: tuple[Assumption, ...]
    raises: tuple[Step, ...]
    ignored: tuple[Ignored, ...]
    waived: tuple[tuple[str, str], ...]
    ruleset: str
    policy: str
    observed: tuple[str, ...] = ()
    varied: tuple[Varied, ...] = ()
    confounds: tuple[Confound, ...] = ()
    terms: dict[str, Any] = field(default_factory=dict)
    sides: tuple[Evidence, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; field names are the contract of ``GET /v1/comparisons``."""
        value: dict[str, Any] = plain(self)
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Verdict:
        """Return the verdict that ``to_json`` wrote; raise ``InvalidDocument`` where ``value`` is none."""
        from .reread import verdict

        return verdict(value)


def plain(value: Any) -> Any:
    """Return a value of dataclasses, levels and tuples as JSON writes it."""
    if isinstance(value, Level):
        return value.word
    if isinstance(value, (Answer, Question, Scope)):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value

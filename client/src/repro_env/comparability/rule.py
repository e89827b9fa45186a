"""The two kinds of rules: a Distinction compares projections of two sides, a Condition looks at one side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

from .causes import CAUSES
from .levels import Level, Question, SetBy
from .reading import Facts

ALL_QUESTIONS = (Question.COMPARE, Question.REPEAT, Question.RESUME)
PROGRAM_QUESTIONS = (Question.REPEAT, Question.RESUME)
CONFIDENCES = ("proven", "documented", "observed", "suspected")


class NotApplicable:
    """A value of its own: facts that were read prove that the rule's matter does not arise."""

    def __repr__(self) -> str:
        return "NOT_APPLICABLE"


NOT_APPLICABLE = NotApplicable()


@dataclass(frozen=True)
class Fallback:
    """Raw facts that determine an effective value which was not read.

    Equal fallbacks are equal; a fallback against anything else counts as unread. ``lacking`` names the unread fact
    that would replace it.
    """

    raw: Any
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parts:
    """A value of parts that act each for itself, of which some may be unread: settings of one effect.

    ``read`` maps a part's name to what it is, in words, ``None`` where it surely is nothing. ``lacking`` maps unread
    facts to their codes; while there are any, the value as a whole is unread, but a part that was read on both sides
    and differs tells two values apart whatever the others are. A part may stand in ``read`` only if the whole value,
    once read, would hold it as it is.
    """

    read: dict[str, Any]
    lacking: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fails:
    """A Condition does not hold; ``detail`` says in words what was found."""

    detail: str


#: JSON value (text, integer, boolean, list of such), NOT_APPLICABLE, Fallback, Parts; unread is raised as ``Missing``.
Projection = Callable[[Facts], Any]
Holds = Callable[[Facts], Optional[Fails]]


#: how most facts of a program get read, and what is left to do where that was done.
RUN_IT = "run the program under `repro-env run`"
STATE_IT = ("the program did not tell it: state what you know with `repro-env run --declare NAME=VALUE`, or look up "
            "what settles it with `repro-env explain RULE`")
#: where both sides were read and only the effect of what differs is not known.
SAME_IT = "make equal what one side sets or loads and the other does not: its effect is not known"


@dataclass(frozen=True)
class Rule:
    """What both kinds carry.

    ``why`` is a sentence with ``{expected}`` and ``{observed}`` (Distinction: both values as ``show`` prints them) or
    ``{detail}`` and ``{side}`` (Condition). ``guaranteed`` ≤ ``expected`` ≤ ``possible`` are the levels that remain
    when the rule bites. ``remedy`` is one thing the user can do; ``capture_how`` says how an unread fact gets read.
    ``subsumes`` names what follows from this rule; ``gathers`` what its remedy mends too without following from it, so
    that a reason of it is told under this one, and a policy that waives this one leaves it.
    """

    id: str
    layer: str
    cause: str
    guaranteed: Level
    expected: Level
    possible: Level
    why: str
    effect: str
    remedy: str
    confidence: str
    source: tuple[str, ...]
    set_by: SetBy = SetBy.MACHINE
    questions: tuple[Question, ...] = ALL_QUESTIONS
    subsumes: tuple[str, ...] = ()
    gathers: tuple[str, ...] = ()
    capture_how: str = RUN_IT

    def __post_init__(self) -> None:
        if self.cause not in CAUSES:
            raise ValueError(f"rule {self.id}: cause {self.cause!r} is not in the vocabulary")
        if self.confidence not in CONFIDENCES:
            raise ValueError(f"rule {self.id}: confidence {self.confidence!r} is none of {', '.join(CONFIDENCES)}")
        if not self.guaranteed <= self.expected <= self.possible:
            raise ValueError(f"rule {self.id}: expected guaranteed <= expected <= possible")
        if self.confidence == "suspected" and self.guaranteed < Level.BITWISE:
            raise ValueError(f"rule {self.id}: a suspected rule adds a note and lowers no end")


def show_value(value: Any) -> str:
    """Print a projection for people: lists joined, booleans as on and off, absent as none."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ", ".join(show_value(item) for item in value) or "none"
    return str(value)


def show_parts(nothing: str, joint: str = ", ") -> Callable[[Any], str]:
    """Return what prints a value of ``Parts``: what its parts are, ``nothing`` where none is anything."""
    def show(value: Any) -> str:
        if not isinstance(value, dict):
            return show_value(value)
        return joint.join(str(part) for part in value.values() if part is not None) or nothing
    return show


@dataclass(frozen=True)
class Distinction(Rule):
    """Bites when the projections of two sides differ."""

    project: Projection = lambda facts: NOT_APPLICABLE
    show: Callable[[Any], str] = show_value


@dataclass(frozen=True)
class Condition(Rule):
    """Bites when it fails on a side: a property of one execution."""

    holds: Holds = lambda facts: None


AnyRule = Union[Distinction, Condition]


def by_id(rules: Iterable[AnyRule]) -> dict[str, AnyRule]:
    """Return rules by id; raise ``ValueError`` for an id used twice, an unknown rule subsumed, or a ring of them."""
    found: dict[str, AnyRule] = {}
    for rule in rules:
        if rule.id in found:
            raise ValueError(f"rule {rule.id} stands twice in the rule set ({found[rule.id].layer}, {rule.layer})")
        found[rule.id] = rule
    done: set[str] = set()
    for name in found:
        _follow(name, found, (), done)
    return found


def _follow(name: str, rules: dict[str, AnyRule], path: tuple[str, ...], done: set[str]) -> None:
    if name in path:
        ring = " -> ".join((*path[path.index(name):], name))
        raise ValueError(f"rules subsume each other in a ring: {ring}; of two differences one is the cause")
    if name not in rules:
        raise ValueError(f"rule {path[-1]} subsumes {name!r}, which is no rule")
    if name not in done:
        for lesser in (*rules[name].subsumes, *rules[name].gathers):
            _follow(lesser, rules, (*path, name), done)
        done.add(name)

"""Levels, scopes, questions and answers, as ``docs/levels.md`` defines them."""

from __future__ import annotations

from enum import Enum, IntEnum


class Level(IntEnum):
    """The strongest disturbance two environments inject, from the worst to none."""

    NONE = 0
    STATISTICAL = 1
    CURVE = 2
    BITWISE = 3

    @property
    def word(self) -> str:
        """The level as people and documents write it."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Level:
        """Return the level named ``word``; raise ``ValueError`` naming the four."""
        try:
            return cls[word.strip().upper()]
        except KeyError as error:
            raise ValueError(f"expected a level of bitwise, curve, statistical, none, got {word!r}") from error


class Scope(str, Enum):
    """Whether both sides were observed in the process, or a side only from outside."""

    PROCESS = "process"
    STACK = "stack"


class Question(str, Enum):
    """What is asked of the two sides."""

    COMPARE = "compare"
    REPEAT = "repeat"
    RESUME = "resume"

    @property
    def default_level(self) -> Level:
        """The level asked for when the user names none."""
        return Level.CURVE if self is Question.COMPARE else Level.BITWISE


class Answer(str, Enum):
    """Answer to "comparable at level L?"."""

    YES = "yes"
    NO = "no"
    LIKELY = "likely"
    UNKNOWN = "unknown"


class SetBy(str, Enum):
    """Who sets the facts a rule reads. In scope ``stack`` only machine-set facts can lower ``guaranteed`` unread."""

    MACHINE = "machine"
    PROGRAM = "program"

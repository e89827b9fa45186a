"""How a document field is declared: its type by annotation, its meaning, source and an example by ``fact``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union

UnreadCode = Literal[
    "timeout", "denied", "failed", "not-reported", "not-loaded", "other-subject", "too-early", "not-recorded"
]


@dataclass(frozen=True)
class Unread:
    """A fact that was not read, with the reason as a code of ``facts.UNREAD_CODES``."""

    unread: UnreadCode


T = TypeVar("T")
#: captured value, ``None`` for surely absent, or ``Unread``.
Fact = Union[T, None, Unread]


def fact(meaning: str, *, source: str, example: Any) -> Any:
    """Declare a required field: its meaning, where its value comes from, and an example in its JSON form."""
    return dataclasses.field(metadata={"meaning": meaning, "source": source, "example": example})

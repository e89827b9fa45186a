"""Facts as they stand in a document: captured, surely absent, or unread with a code.

A fact is a JSON value; ``None`` means *surely absent* and nothing else; ``{"unread": code}`` means that nobody
looked, or that looking failed. The codes say which.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = "1.1"

#: code -> what it means and what a reader can do about it.
UNREAD_CODES = {
    "timeout": "the look took longer than its budget",
    "denied": "the machine refused the look (permission)",
    "failed": "the look failed or answered something that could not be understood",
    "not-reported": "the source exists but does not say",
    "not-loaded": "the library or framework that knows was not loaded in the observed process",
    "other-subject": "the capture looked at something else (a node, not an environment; or the reverse)",
    "too-early": "the value is only fixed after the first step of the program",
    "not-recorded": "the document was written by a client that did not record this fact",
}


def unread(code: str) -> dict[str, str]:
    """Return the unread fact for ``code``; raise ``ValueError`` for a code outside the closed list."""
    if code not in UNREAD_CODES:
        raise ValueError(f"unread code {code!r} is none of {', '.join(UNREAD_CODES)}")
    return {"unread": code}


def is_unread(value: Any) -> bool:
    """Tell whether ``value`` is an unread fact."""
    return isinstance(value, dict) and len(value) == 1 and "unread" in value


def is_captured(value: Any) -> bool:
    """Tell whether ``value`` was read and is there (neither absent nor unread)."""
    return value is not None and not is_unread(value)

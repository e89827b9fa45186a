"""How a dump says that it does not know, and the facts that this makes."""

from __future__ import annotations

import re
from typing import Any

from ..fingerprint.facts import unread

NOT_RECORDED = unread("not-recorded")
NOT_REPORTED = unread("not-reported")
#: the tool looked and says nothing.
_SILENT = frozenset(("", "could not collect", "n/a", "na", "none", "no cuda", "null", "unknown", "not available"))
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*[\w.+!-]*)")


def is_silent(value: str) -> bool:
    """Tell whether ``value`` is one of the tool's ways to say nothing."""
    return value.strip().lower() in _SILENT


def says_no_cuda(value: str | None) -> bool:
    """Tell whether ``value`` is the tool's word for a machine on which it found nothing of CUDA at all."""
    return value is not None and value.strip().lower() == "no cuda"


def version_fact(value: str | None) -> Any:
    """Return a version as told; unread where the line is missing, silent, or holds no version."""
    if value is None:
        return NOT_RECORDED
    match = _VERSION.fullmatch(value.strip())
    return match[1] if match and not is_silent(value) else NOT_REPORTED


def switch_fact(value: str | None) -> Any:
    """Return a yes or no of any era; unread where the line is missing or says neither."""
    if value is None:
        return NOT_RECORDED
    return {"true": True, "yes": True, "false": False, "no": False}.get(value.strip().lower(), NOT_REPORTED)

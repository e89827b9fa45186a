"""A document held against itself: what contradicts, what makes numbers move, what could not be read, what mends it.

Pure functions on one document. Looking at the machine is left to ``capture``, printing to ``cli``.
"""

from __future__ import annotations

from typing import Any

from ..comparability.reading import Facts
from . import contradictions, moving, unread
from .finding import KINDS, Finding

__all__ = ["KINDS", "Finding", "examine"]


def examine(document: dict[str, Any]) -> tuple[Finding, ...]:
    """Return the findings on a validated document, the gravest kind first, each kind in the order of its checks.

    A fact that was not read gives no finding of a contradiction: it is listed among what could not be read.
    """
    facts = Facts.of(document)
    found = list(contradictions.find(facts, document["capture"]))
    told = {finding.check for finding in found}
    found += [finding for finding in moving.find(facts, document["capture"]) if finding.check not in told]
    found += unread.find(facts, document["capture"])
    return tuple(sorted(found, key=lambda finding: KINDS.index(finding.kind)))

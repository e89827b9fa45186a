"""The rule set: one module a layer, here the ordered tuple of all, root causes first."""

from __future__ import annotations

from ..rule import AnyRule
from . import threads

RULES: tuple[AnyRule, ...] = (*threads.RULES,)
RULES_BY_ID: dict[str, AnyRule] = {rule.id: rule for rule in RULES}

#: Name of this rule set; recorded in every verdict and key, raised whenever a rule or level changes.
RULESET = "2026.11.1"

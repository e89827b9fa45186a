"""``repro-env rules``: the list of what is known about differences; one rule is explained by ``explain``."""

from __future__ import annotations

from . import explain
from .console import answer, width
from .options import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.rule import AnyRule

COMMAND = Command(
    "rules", "Lists every rule with the level that remains when it bites. With the id of a rule it explains that one, "
    "as `repro-env explain` does.",
    usage="rules [RULE] [--json]",
    examples=(("repro-env rules", "the list, root causes first within a layer"),
              ("repro-env rules torch-threads", "the same as repro-env explain torch-threads")),
    arguments=(("[RULE]", "id of one rule, as a verdict shows it"),),
    options=(Option("--json", "print JSON on stdout"),))


def main(values: dict[str, Any]) -> int:
    """Print the list, or the rule named."""
    from ..comparability.rules import RULES

    chosen = [explain.rule_of(name, "rules") for name in values["arguments"]]
    if values.get("json"):
        import json

        rows = [explain.row(rule) for rule in chosen or RULES]
        answer(json.dumps(rows[0] if chosen else rows, indent=2, ensure_ascii=False) + "\n")
    else:
        answer(explain.explain(chosen[0], width()) if chosen else listing(list(RULES)))
    return 0


def listing(rules: list[AnyRule]) -> str:
    """Return one line a rule, a block a layer."""
    from ..comparability.rules import RULESET

    column = max(len(rule.id) for rule in rules) + 2
    lines = [f"Rule set {RULESET}: {len(rules)} rules. The level is what is expected to remain when a rule bites.", ""]
    for layer in dict.fromkeys(rule.layer for rule in rules):
        lines.append(layer)
        lines += [f"  {rule.id:<{column}}{rule.expected.word:<13}{rule.cause}" for rule in rules if rule.layer == layer]
        lines.append("")
    return "\n".join(lines)

"""``repro-env rules``: what is known about differences, as a list or one rule in full."""

from __future__ import annotations

from .console import answer, width
from .options import Command, Option, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.rule import AnyRule

COMMAND = Command(
    "rules", "Lists every rule with the level that remains when it bites, or explains one rule.",
    usage="rules [RULE] [--json]",
    examples=(("repro-env rules", "the list, root causes first within a layer"),
              ("repro-env rules torch-threads", "why, how large, what to do, and where that is known from")),
    arguments=(("[RULE]", "id of one rule, as a verdict shows it"),),
    options=(Option("--json", "print JSON on stdout"),))


def main(values: dict[str, Any]) -> int:
    """Print the list, or the rule named."""
    from ..comparability.rules import RULES

    chosen = [_find(name) for name in values["arguments"]] or list(RULES)
    if values.get("json"):
        import json

        rows = [_row(rule) for rule in chosen]
        answer(json.dumps(rows[0] if values["arguments"] else rows, indent=2, ensure_ascii=False) + "\n")
    elif values["arguments"]:
        answer(explain(chosen[0], width()))
    else:
        answer(listing(chosen))
    return 0


def _find(name: str) -> AnyRule:
    import difflib

    from ..comparability.rules import RULES_BY_ID
    from ..errors import UsageError

    if name not in RULES_BY_ID:
        near = difflib.get_close_matches(name, list(RULES_BY_ID), 3, 0.4)
        raise UsageError(f"rules: there is no rule {name!r}" + (f"; near: {', '.join(near)}" if near else
                                                                "; repro-env rules lists them"))
    return RULES_BY_ID[name]


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


def explain(rule: AnyRule, columns: int) -> str:
    """Return everything a rule says, in words."""
    why = (rule.why.replace("{expected}", "(left)").replace("{observed}", "(right)")
           .replace("{detail}", "(what was found)").replace("{side}", "(on which side)"))
    remains = (f"guaranteed {rule.guaranteed.word}, expected {rule.expected.word}, possible {rule.possible.word}")
    rows = [("says", why), ("remains", remains), ("effect", rule.effect), ("remedy", rule.remedy),
            ("if unread", rule.capture_how), ("set by", f"the {rule.set_by.value}"),
            ("asked by", ", ".join(question.value for question in rule.questions)),
            ("cause", rule.cause), ("known", f"{rule.confidence}: {'; '.join(rule.source)}")]
    if rule.subsumes:
        rows.append(("explains", ", ".join(rule.subsumes)))
    lines = [f"{rule.id} ({rule.layer})"]
    for name, text in rows:
        first, *more = wrap(text, columns, " " * 12)
        lines += [f"  {name:<10}{first.strip()}", *more]
    return "\n".join(lines) + "\n"


def _row(rule: AnyRule) -> dict[str, Any]:
    return {"id": rule.id, "layer": rule.layer, "cause": rule.cause, "guaranteed": rule.guaranteed.word,
            "expected": rule.expected.word, "possible": rule.possible.word, "why": rule.why, "effect": rule.effect,
            "remedy": rule.remedy, "capture_how": rule.capture_how, "set_by": rule.set_by.value,
            "questions": [question.value for question in rule.questions], "confidence": rule.confidence,
            "source": list(rule.source), "subsumes": list(rule.subsumes)}

"""``repro-env explain``: what is known about a rule, a cause or a layer, in words."""

from __future__ import annotations

from functools import lru_cache

from .console import BOLD, answer, paint, width
from .options import Command, Option, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.rule import AnyRule

COMMAND = Command(
    "explain", "Explains a rule: what it looks at, what it says, how large the effect is, how to mend it, and where "
    "that is known from. A cause or a layer, as `repro-env rules` lists them, is explained by its rules.",
    usage="explain NAME... [--json]",
    examples=(("repro-env explain torch-threads", "one rule"),
              ("repro-env explain tf32-matmul tf32-cudnn", "several"),
              ("repro-env explain thread_count", "a cause: every rule that names it"),
              ("repro-env explain precision", "a layer")),
    arguments=(("NAME...", "ids of rules, causes or layers, as verdicts and `repro-env rules` show them"),),
    options=(Option("--json", "print a JSON list of rules on stdout"),))

_MARGIN = 13
#: facts named of a rule that reads many.
MAX_READS = 8


def main(values: dict[str, Any]) -> int:
    """Print what is known under each name."""
    found = [part for name in values["arguments"] for part in _find(name)]
    if values.get("json"):
        import json

        rules = dict.fromkeys(rule for _, rules in found for rule in rules)
        answer(json.dumps([row(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n")
    else:
        answer("\n".join(explain(rules[0], width()) if title is None else overview(title, rules, width())
                         for title, rules in found))
    return 0


def rule_of(name: str, command: str) -> AnyRule:
    """Return the rule ``name``; raise ``UsageError`` for what is none, with the nearest."""
    from ..comparability.rules import RULES_BY_ID

    if name not in RULES_BY_ID:
        raise _unknown(name, command, list(RULES_BY_ID), "rule")
    return RULES_BY_ID[name]


def _find(name: str) -> list[tuple[str | None, list[AnyRule]]]:
    """Return the rules that ``name`` stands for, titled where it is a cause or a layer; raise ``UsageError``."""
    from ..comparability.causes import CAUSES
    from ..comparability.layers import LAYERS
    from ..comparability.rules import RULES, RULES_BY_ID

    layers = {rule.layer for rule in RULES}
    titles = [f"cause {name}: {CAUSES[name]}"] if name in CAUSES else []
    titles += [f"layer {name}: {LAYERS.get(name, name)}"] if name in layers else []
    found: list[tuple[str | None, list[AnyRule]]] = [(None, [RULES_BY_ID[name]])] if name in RULES_BY_ID else []
    if titles:
        found.append(("\n".join(titles), [rule for rule in RULES if name in (rule.cause, rule.layer)]))
    if not found:
        raise _unknown(name, "explain", [*RULES_BY_ID, *CAUSES, *layers], "rule, cause or layer")
    return found


def _unknown(name: str, command: str, known: list[str], kind: str) -> Exception:
    import difflib

    from ..errors import UsageError

    small = name.lower()
    begin = [item for item in known if small and item.startswith(small)]
    near = list(dict.fromkeys([*begin, *(item for item in known if small and small in item),
                               *difflib.get_close_matches(small, known, 3, 0.5)]))[:max(3, min(len(begin), 6))]
    return UsageError(f"{command}: there is no {kind} {name!r}" + (
        f"; near: {', '.join(near)}" if near else "; repro-env rules lists them"))


@lru_cache(maxsize=1)
def examples() -> dict[str, Any]:
    """Return, by rule id, what a rule looks at, a sentence with real values and the facts it reads (generated)."""
    import pkgutil

    from ..canonical import parse

    data = pkgutil.get_data("repro_env.comparability", "examples.json")
    return dict(parse(data or b"{}"))


def overview(title: str, rules: list[AnyRule], columns: int) -> str:
    """Return a cause or a layer: its words, then what each of its rules says, root causes first."""
    told = examples()
    lines = [line for part in title.split("\n") for line in wrap(part, columns)]
    lines.append(_count(rules))
    for rule in rules:
        lines += ["", paint_id(rule.id) + f": {remains(rule)}"]
        lines += wrap(told.get(rule.id, {}).get("example") or rule.effect, columns, "  ")
    if not rules:
        lines.append("Nothing that is judged today has it as its cause.")
    return "\n".join(lines) + "\n"


def _count(rules: list[AnyRule]) -> str:
    return f"{len(rules)} rule{'' if len(rules) == 1 else 's'}; `repro-env explain RULE` tells more of one"


def paint_id(text: str) -> str:
    """Return a rule id as a terminal shows it."""
    import sys

    return paint(text, BOLD, sys.stdout)


def remains(rule: AnyRule) -> str:
    """Say which levels are left when a rule bites."""
    levels = {end: getattr(rule, end).word for end in ("expected", "guaranteed", "possible")}
    if rule.confidence == "suspected":
        return "a note, lowers nothing"
    kept = "" if levels["possible"] == "bitwise" else f", possible at best {levels['possible']}"
    if levels["expected"] == levels["guaranteed"]:
        return f"leaves {levels['expected']}{kept}"
    least = "nothing" if levels["guaranteed"] == "none" else f"only {levels['guaranteed']}"
    return f"expected {levels['expected']}, {least} guaranteed{kept}"


def explain(rule: AnyRule, columns: int) -> str:
    """Return everything that is known of a rule, in words."""
    lines = [paint_id(rule.id) + f" ({rule.layer})"]
    for name, text in rows(rule):
        first, *more = wrap(text, columns, " " * _MARGIN)
        lines += [f"  {name:<{_MARGIN - 2}}{first.strip()}", *more]
    return "\n".join(lines) + "\n"


def rows(rule: AnyRule) -> list[tuple[str, str]]:
    """Return what there is to say of a rule, each with its name; what is empty is left out."""
    from ..comparability.causes import CAUSES

    told = examples().get(rule.id, {})
    reads = told.get("reads", [])
    more = f" and {len(reads) - MAX_READS} more" if len(reads) > MAX_READS else ""
    found = [
        ("looks at", told.get("what", "")), ("says", told.get("example", "")),
        ("cause", f"{rule.cause}: {CAUSES[rule.cause]}"),
        ("remains", remains(rule)), ("how large", rule.effect), ("to mend", rule.remedy),
        ("known", f"{rule.confidence}; {'; '.join(rule.source)}"), ("explains", ", ".join(rule.subsumes)),
        ("follows", ", ".join(implying(rule))), ("reads", ", ".join(reads[:MAX_READS]) + more),
        ("if unread", rule.capture_how),
        ("asked by", f"{', '.join(question.value for question in rule.questions)}; set by the {rule.set_by.value}")]
    return [(name, text) for name, text in found if text]


def implying(rule: AnyRule) -> list[str]:
    """Return the rules whose reason explains this one's."""
    from ..comparability.rules import RULES

    return [other.id for other in RULES if rule.id in other.subsumes]


def row(rule: AnyRule) -> dict[str, Any]:
    """Return the JSON form of a rule."""
    told = examples().get(rule.id, {})
    return {"id": rule.id, "layer": rule.layer, "cause": rule.cause, "guaranteed": rule.guaranteed.word,
            "expected": rule.expected.word, "possible": rule.possible.word, "what": told.get("what", ""),
            "why": rule.why, "example": told.get("example", ""), "effect": rule.effect, "remedy": rule.remedy,
            "reads": told.get("reads", []), "capture_how": rule.capture_how, "set_by": rule.set_by.value,
            "questions": [question.value for question in rule.questions], "confidence": rule.confidence,
            "source": list(rule.source), "subsumes": list(rule.subsumes)}

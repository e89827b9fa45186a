"""The pages on rules: an index, and one page a layer with everything that is known of each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from repro_env.cli import explain
from repro_env.comparability.causes import CAUSES
from repro_env.comparability.layers import LAYERS
from repro_env.comparability.rule import AnyRule
from repro_env.comparability.rules import RULES, RULES_BY_ID, RULESET

CONFIDENCES = {
    "proven": "measured by this project, or shown beyond doubt by those who made the software",
    "documented": "the makers of the software say so",
    "observed": "seen and reported by people who could show it, on the versions and devices that they name",
    "suspected": "likely, with no case that shows it alone: such a rule adds a note and lowers nothing",
}
#: rows of ``explain`` whose text names rules, and those whose text is a list of facts.
_NAMING_RULES, _NAMING_FACTS = ("explains", "follows"), ("reads",)


def index_page() -> str:
    """The layers, how to read a rule, and the causes with the rules that name them."""
    lines = ["# Rules\n", f"Rule set {RULESET}: {len(RULES)} rules in {len(_layers())} layers. A rule looks at the "
             "facts that act, and says which level is left where they differ or fail ([levels.md](levels.md)). "
             "`repro-env explain RULE` tells the same on a terminal. Which piece of research became which rule stands "
             "in [knowledge.md](knowledge.md).\n", "| layer | rules | what its rules look at |", "|---|---|---|"]
    lines += [f"| [{layer}](rules/{layer}.md) | {sum(rule.layer == layer for rule in RULES)} | {LAYERS[layer]} |"
              for layer in _layers()]
    lines += ["\n## Confidence\n", "| word | means |", "|---|---|"]
    lines += [f"| `{word}` | {meaning} |" for word, meaning in CONFIDENCES.items()]
    lines += ["\n## Causes\n", "What a reason is about, from a closed list; the first reason of a verdict is its root "
              "cause.\n", "| cause | in words | rules |", "|---|---|---|"]
    for cause, words in CAUSES.items():
        named = [_link(rule, "rules/") for rule in RULES if rule.cause == cause]
        shown = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
        lines.append(f"| `{cause}` | {words} | {shown} |")
    return "\n".join(lines) + "\n"


def layer_pages() -> dict[str, str]:
    """Return file name -> page, one for each layer."""
    return {f"rules/{layer}.md": _page(layer) for layer in _layers()}


def _layers() -> list[str]:
    return list(dict.fromkeys(rule.layer for rule in RULES))


def _page(layer: str) -> str:
    rules = [rule for rule in RULES if rule.layer == layer]
    lines = [f"# Rules: {layer}\n", f"{LAYERS[layer]} {len(rules)} rules, root causes first; "
             "[all layers](../rules.md), [what the levels mean](../levels.md).\n",
             "| rule | says, for example | what remains |", "|---|---|---|"]
    told = explain.examples()
    lines += [f"| {_link(rule)} | {plain(told[rule.id]['example'])} | {explain.remains(rule)} |" for rule in rules]
    for rule in rules:
        lines += ["", *_rule(rule)]
    return "\n".join(lines) + "\n"


def _rule(rule: AnyRule) -> list[str]:
    rows = dict(explain.rows(rule))
    lines = [f"## {rule.id}\n"]
    said, looks = rows.pop("says", ""), rows.pop("looks at", "")
    if looks:
        lines += [plain(looks), ""]
    if said:
        lines += [f"> {plain(said)}", ""]
    return lines + [f"- {name}: {_row(name, text)}" for name, text in rows.items()]


def _row(name: str, text: str) -> str:
    if name in _NAMING_RULES:
        return _enumerated(RULES_BY_ID[rule] for rule in text.split(", "))
    if name in _NAMING_FACTS:
        facts, more, rest = text.partition(" and ")
        return ", ".join(f"`{path}`" for path in facts.split(", ")) + more + rest
    if name == "cause":
        cause, _, words = text.partition(": ")
        return f"`{cause}`, {words}"
    return plain(text)


def _enumerated(rules: Iterable[AnyRule]) -> str:
    return ", ".join(_link(rule) for rule in rules)


def _link(rule: AnyRule, folder: str = "") -> str:
    return f"[{rule.id}]({folder}{rule.layer}.md#{rule.id.replace('.', '')})"


def plain(text: str) -> str:
    """Return words of rules as Markdown that shows them as they stand; what is in backticks stays code."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if index % 2 and index < len(parts) - 1 else re.sub(r"([*_<])", r"\\\1", part)
                    for index, part in enumerate(parts))

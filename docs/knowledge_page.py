"""The page on research: what became of each entry, from the tables in ``docs/knowledge``; and what is wrong in them."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rule_pages import plain

from repro_env.comparability.ignored import INERT
from repro_env.comparability.rules import RULES_BY_ID, declared

FOLDER = Path(__file__).parent / "knowledge"
#: how many entries the research has.
ENTRIES = 222
DISPOSITIONS = {
    "rule": "a rule of its own",
    "folded": "carried by the projection of another rule",
    "ignored": "a difference that does not act; it is listed with why",
    "suspected": "a note: likely, but no case shows it alone, so it lowers nothing",
    "declined": "left out, with the reason",
}
_FIELDS = {"layer", "becomes", "rules", "ignored", "reason", "checked"}
_NAMES_RULES, _SHORTEST_REASON = ("rule", "folded", "suspected"), 15


@dataclass(frozen=True)
class Entry:
    """One piece of research and its answer; ``part`` is the file that it stands in."""

    id: str
    part: str
    value: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return self.value.get(name, [] if name in ("rules", "ignored") else "")
        raise AttributeError(name)


def entries() -> list[Entry]:
    """Return all entries, part by part, as they stand in the files."""
    return [Entry(name, path.stem, value) for path in sorted(FOLDER.glob("*.toml"))
            for name, value in tomllib.loads(path.read_text(encoding="utf-8")).items()]


def problems(found: list[Entry]) -> list[str]:
    """Return what is wrong with the entries, a line each: names twice, unknown rules or paths, no reason."""
    twice = [f"{name}: stands in {count} tables" for name, count in Counter(item.id for item in found).items()
             if count > 1]
    return [*twice, *(f"{item.part}.toml, {item.id}: {words}" for item in found for words in _wrong(item))]


def _wrong(item: Entry) -> Iterator[str]:
    """Say what is wrong with one entry by itself: its form, then what it names."""
    if set(item.value) - _FIELDS:
        yield f"unknown fields {', '.join(sorted(set(item.value) - _FIELDS))}"
    if item.becomes not in DISPOSITIONS:
        yield f"becomes {item.becomes!r}, expected one of {', '.join(DISPOSITIONS)}"
    if len(item.reason) < _SHORTEST_REASON:
        yield "no reason"
    if not item.checked or not item.layer:
        yield "layer and checked are needed"
    if (item.becomes in _NAMES_RULES) != bool(item.rules):
        yield "rules are named where, and only where, one carries the entry"
    if item.becomes == "ignored" and not item.ignored:
        yield "names nothing that lists the difference as ignored"
    yield from (f"there is no rule {rule}" for rule in item.rules if rule not in RULES_BY_ID)
    yield from (f"{path} is not listed as ignored" for path in item.ignored if not _listed_as_ignored(path))
    if item.becomes == "suspected":
        yield from (f"rule {rule} is not suspected" for rule in item.rules
                    if rule in RULES_BY_ID and RULES_BY_ID[rule].confidence != "suspected")


#: what ``ignored.py`` lists by a function of its own instead of by path.
SPECIAL = ("driver.kernel_module", "driver.user_libcuda", "accelerators.devices", "accelerators.devices.memory_bytes",
           "accelerators.devices.ecc", "accelerators.devices.form_factor", "python.version", "distributions.installed")


def _listed_as_ignored(path: str) -> bool:
    return path in INERT or path in SPECIAL or path.startswith("variables.values") or (
        path.removeprefix("declared.values.") in declared.INERT)


def page() -> str:
    """Return the page: counts, then a table a research layer."""
    found = entries()
    counts = Counter(item.becomes for item in found)
    lines = ["# What became of the research\n", f"The rule set began as {ENTRIES} pieces of research. Each was checked "
             "against sources and experiments, corrected where it was wrong, and answered in one of five ways. "
             f"{len(found)} are answered here. Recorded cases (r…, f…) lie in [tests/reports](../tests/reports).\n",
             "| answer | entries | means |", "|---|---|---|"]
    lines += [f"| {name} | {counts[name]} | {meaning} |" for name, meaning in DISPOSITIONS.items()]
    for layer in dict.fromkeys(item.layer for item in found):
        of_layer = [item for item in found if item.layer == layer]
        lines += [f"\n## {layer}\n", "| entry | answer | by | why so | how checked |", "|---|---|---|---|---|"]
        lines += [f"| {item.id} | {item.becomes} | {_by(item)} | {plain(item.reason)} | {plain(item.checked)} |"
                  for item in sorted(of_layer, key=lambda item: list(DISPOSITIONS).index(item.becomes))]
    return "\n".join(lines) + "\n"


def _by(item: Entry) -> str:
    linked = [f"[{rule}](rules/{RULES_BY_ID[rule].layer}.md#{rule.replace('.', '')})" if rule in RULES_BY_ID else rule
              for rule in item.rules]
    return ", ".join([*linked, *(f"`{path}`" for path in item.ignored)])

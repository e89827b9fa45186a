"""What makes numbers move between two runs of this environment: Conditions of the rule set that fail, and drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..comparability.levels import Level, Question
from ..comparability.reading import Facts
from ..comparability.rule import Condition
from ..comparability.vector import FAILS, entry, rules_of
from ..fingerprint.facts import is_captured
from .finding import CONTRADICTION, MOVES, WRONG, Finding

_LOCAL_ORIGIN = "file:"
#: what observes computes nothing.
_OURS = ("repro-env", "repro-env-service")


def find(facts: Facts, capture: dict[str, Any]) -> Iterator[Finding]:
    """Yield failing Conditions, then what is not pinned, then what changed between looks."""
    for rule in rules_of(Question.REPEAT):
        if not isinstance(rule, Condition):
            continue
        state = entry(rule, facts)
        if state.state == FAILS:
            yield _failing(rule, str(state.value))
    yield from unpinned(facts)
    yield from drift(capture)


def _failing(rule: Condition, detail: str) -> Finding:
    """Return what a failing Condition says of one document."""
    if rule.cause == CONTRADICTION:
        return Finding(CONTRADICTION, rule.id, detail, rule.remedy, effect=rule.effect)
    kind = WRONG if rule.expected is Level.NONE else MOVES
    says = rule.why.replace("{detail}", detail).replace(" {side}", "").strip()
    return Finding(kind, rule.id, says, rule.remedy, effect=rule.effect)


def unpinned(facts: Facts) -> Iterator[Finding]:
    """Yield code that no version names: uncommitted changes, editable and local installations."""
    if facts.get("source.dirty") is True:
        yield Finding(MOVES, "uncommitted-changes", "the repository has changes that are in no commit",
                      "git commit, or git stash", ("source.dirty",), "nobody can run this code again")
    loose = [item["name"] for item in facts.get("distributions.installed") or ()
             if (item.get("editable") is True or _is_local(item)) and item["name"] not in _OURS]
    if loose:
        shown = ", ".join(loose[:5]) + (f" and {len(loose) - 5} more" if len(loose) > 5 else "")
        yield Finding(MOVES, "unpinned-distributions", f"installed from a folder, so no version names it: {shown}",
                      "install it by commit: pip install 'NAME @ git+URL@COMMIT'", ("distributions.installed",),
                      "the same version may be other code tomorrow")


def _is_local(item: dict[str, Any]) -> bool:
    origin = item.get("origin")
    return is_captured(origin) and str(origin).startswith(_LOCAL_ORIGIN)


def drift(capture: dict[str, Any]) -> Iterator[Finding]:
    """Yield facts that changed while the program ran."""
    for item in capture.get("drift") or ():
        yield Finding(MOVES, "drift", f"{item['path']} changed while the program ran: {item['before']} at the first "
                      f"look, {item['after']} later", "set it once, before the first step", (item["path"],),
                      "a part of the run is not what the end shows")

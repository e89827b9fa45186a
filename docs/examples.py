"""What each rule says of a real pair, and which facts it reads: taken from the pairs that the tests plant.

Written to ``repro_env/comparability/examples.json``, so that ``repro-env explain`` shows it where no tests are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repro_env.comparability.judge import judge, judge_vectors
from repro_env.comparability.levels import Scope
from repro_env.comparability.reading import Facts, Missing
from repro_env.comparability.rule import AnyRule, Distinction
from repro_env.comparability.rules import RULES
from repro_env.comparability.vector import merge, project
from repro_env.comparability.verdict import Verdict
from repro_env.comparability.wording import brief
from repro_env.fingerprint.document import Program, Stack

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "client" / "src" / "repro_env" / "comparability" / "examples.json"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
complete_document: Any = importlib.import_module("documents").complete_document
change: Any = importlib.import_module("documents").change

#: a rule that no single document of a process can break, and the stack that shows it from outside.
_OUTSIDE = {"default-precision": [{"stack": {
    "frameworks": {"torch": {"version": version}}, "accelerators": {"devices": [{"name": "A100"}]}}}
    for version in ("1.11.0", "1.12.0")]}
#: paths whose meaning says nothing of the one difference that was planted there.
_WIDE = ("accelerators.devices", "distributions.installed", "threads.blas_pools", "libraries.")


class Traced(Facts):
    """Facts that remember which of them were asked for."""

    __slots__ = ("asked",)

    def __init__(self, stack: dict[str, Any], program: dict[str, Any], vantage: str) -> None:
        super().__init__(stack, program, vantage)
        self.asked: dict[str, None] = {}

    def look(self, path: str) -> Any:
        """Return the fact at ``path`` as ``Facts`` does, and remember the path."""
        self.asked[path] = None
        return super().look(path)

    def variable(self, name: str) -> str | None:
        """Return a variable as ``Facts`` does, and remember it by name instead of the table that it stands in."""
        asked = dict(self.asked)
        try:
            return super().variable(name)
        finally:
            self.asked = {**asked, f"variables.values.{name}": None}


def examples() -> dict[str, dict[str, Any]]:
    """Return rule id -> what it looks at, a sentence with real values, and the facts it reads."""
    planted = _planted()
    found = {}
    for rule in RULES:
        sides, verdict = _pair(rule, planted.get(rule.id))
        reason = next((item for item in verdict.reasons if item.rule == rule.id), None) if verdict else None
        if reason is None:
            print(f"no planted pair shows what rule {rule.id} says", file=sys.stderr)
        said = brief(reason.why, reason.expected, reason.observed) if reason else ""
        found[rule.id] = {"what": _what(rule, planted.get(rule.id)), "example": said, "reads": _reads(rule, sides)}
    return found


def text() -> str:
    """Return the file: an entry a line, so that a change of one rule is a change of one line."""
    rows = ",\n".join(f"{json.dumps(rule)}: {json.dumps(row, ensure_ascii=False)}" for rule, row in examples().items())
    return f"{{\n{rows}\n}}\n"


def _planted() -> dict[str, Any]:
    lines: dict[str, Any] = {}
    for path in sorted((ROOT / "tests/client/comparability/planted").glob("[!_]*.py")):
        module = importlib.import_module(f"tests.client.comparability.planted.{path.stem}")
        lines.update(getattr(module, "PLANTED", {}))
    return lines


def _pair(rule: AnyRule, planted: Any) -> tuple[list[dict[str, Any]], Verdict | None]:
    """Return two documents that differ as the rule says, and the verdict on them; none where nobody planted one."""
    question = rule.questions[-2]
    if rule.id == "ranks-differ":
        pair = [complete_document(), complete_document(**{"threads.torch_intraop": 4})]
        run = merge(project(Facts.of(side), question) for side in pair)
        return pair, judge_vectors(run, run, scope=Scope.PROCESS, question=question)
    if rule.id in _OUTSIDE:
        pair = _OUTSIDE[rule.id]
        return pair, judge(*map(Facts.of, pair), question=question)
    verdict, pair = None, []
    for vantage in ("process", "prologue") if planted else ():
        base = complete_document(vantage, machine=planted.machine)
        pair = [change(base, **planted.left), change(base, **planted.right)]
        verdict = judge(*map(Facts.of, pair), question=question)
        if any(reason.rule == rule.id for reason in verdict.reasons):
            break
    return pair, verdict


def _reads(rule: AnyRule, sides: list[dict[str, Any]]) -> list[str]:
    asked: dict[str, None] = {}
    for side in sides:
        facts = Traced(side["stack"], side.get("program", {}), side.get("capture", {}).get("vantage", "import"))
        with contextlib.suppress(Missing):
            rule.project(facts) if isinstance(rule, Distinction) else rule.holds(facts)
        asked.update(facts.asked)
    return list(asked)


def _what(rule: AnyRule, planted: Any) -> str:
    """Return what the rule looks at: the first line of its function, else the meaning of the one fact planted."""
    function = rule.project if isinstance(rule, Distinction) else rule.holds
    line = (function.__doc__ or "").strip().split("\n")[0].replace("``", "`")
    if line or not isinstance(rule, Distinction):
        return "Fails" + line[4:] if line.startswith("Fail ") else line
    paths = [path for path in planted.right if planted.left.get(path) != planted.right[path]] if planted else []
    if len(paths) != 1 or paths[0].startswith(_WIDE):
        return ""
    return f"The variable {paths[0][17:]}." if paths[0].startswith("variables.values.") else _meaning(paths[0])


def _meaning(path: str) -> str:
    """Return what the document says that a field means; nothing for a path inside a list or a free map."""
    kinds = {item: hint for kind in (Stack, Program) for item, hint in typing.get_type_hints(kind).items()}
    section, *steps = path.split(".")
    kind = next(iter(_dataclasses(kinds[section])), None)
    for step in steps[:-1]:
        kind = next(iter(_dataclasses(typing.get_type_hints(kind).get(step))), None) if kind else None
    named = {item.name: item for item in dataclasses.fields(kind)} if kind else {}
    if not steps or steps[-1] not in named:
        return ""
    first, *further = str(named[steps[-1]].metadata["meaning"]).partition("; null")[0].rstrip(".").split(" ")
    return " ".join([first.capitalize() if first.isalpha() and first.islower() else first, *further]) + "."


def _dataclasses(hint: Any) -> Iterator[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint.__name__ != "Unread":
        yield hint
    for argument in typing.get_args(hint):
        yield from _dataclasses(argument)

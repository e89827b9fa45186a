"""A variable that differs is called harmless only where all rules on what it does are decided and silent."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Document, change, complete_document, framework

from repro_env import variables, whatif
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.comparability.steering import STEERS
from repro_env.comparability.vector import UNREAD, entry, rules_of
from repro_env.comparability.verdict import Verdict

OTHERS = {"frameworks.jax": framework("0.5.3"), "frameworks.tensorflow": framework("2.10.0")}
COMPLETE: dict[str, Document] = {
    f"{vantage} on {machine}": complete_document(vantage, machine=machine, **more)
    for vantage, machine, more in (("exit", "cpu", {}), ("exit", "h100", {}), ("exit", "h100", OTHERS),
                                   ("prologue", "cpu", OTHERS), ("import", "h100", OTHERS))}
SHORT = {"what-if with torch": "gpu=A100,torch=2.3.1+cu121", "what-if with NumPy": "numpy=2.1.3",
         "what-if with TensorFlow": "tensorflow=2.15.0", "what-if on the CPU": "gpu=none,torch=2.3.1+cpu"}


class Noted(dict):  # type: ignore[type-arg]
    """Values of variables that note which were asked for."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("name", COMPLETE)
def test_every_rule_that_reads_a_variable_is_known_to(name: str) -> None:
    document = COMPLETE[name]
    missing = {}
    for rule in rules_of(Question.REPEAT):
        values = Noted(document["stack"]["variables"]["values"])
        stack = {**document["stack"], "variables": {**document["stack"]["variables"], "values": values}}
        entry(rule, Facts(stack, document["program"], document["capture"]["vantage"]))
        unknown = sorted(asked for asked in values.asked if rule.id not in STEERS.get(asked, ()))
        if unknown:
            missing[rule.id] = unknown
    assert not missing


@pytest.mark.parametrize("name", sorted(STEERS))
def test_what_looks_at_a_variable_is_a_rule_and_the_variable_is_recorded(name: str) -> None:
    assert name in variables.ALLOWED
    assert set(STEERS[name]) <= set(RULES_BY_ID)


def harmless_against_its_rules(name: str, left: Facts, right: Facts) -> list[str]:
    """Rules that look at a variable, and bite or are open although it is called harmless."""
    verdict = judge(left, right, question=Question.REPEAT)
    if f"variables.values.{name}" not in {row.path for row in verdict.ignored}:
        return []
    speaking = {row.rule for row in (*verdict.reasons, *verdict.assumes)}
    return sorted(speaking.intersection(STEERS.get(name, ())))


@pytest.mark.parametrize("side", COMPLETE)
def test_no_variable_is_harmless_while_a_rule_on_it_speaks(side: str) -> None:
    document = COMPLETE[side]
    found = {}
    for name in variables.ALLOWED:
        pair = [Facts.of(change(document, **{f"variables.values.{name}": value})) for value in ("0", "1")]
        found[name] = harmless_against_its_rules(name, *pair)
    assert not {name: rules for name, rules in found.items() if rules}


@pytest.mark.parametrize("side", SHORT)
def test_no_stated_variable_is_harmless_while_a_rule_on_it_speaks(side: str) -> None:
    found = {}
    for name in variables.ALLOWED:
        pair = [Facts.of(whatif.document(f"{SHORT[side]},{name}={value}")) for value in ("0", "unset")]
        found[name] = harmless_against_its_rules(name, *pair)
    assert not {name: rules for name, rules in found.items() if rules}


def asked(left: str, right: str) -> Verdict:
    return judge(*(Facts.of(whatif.document(text)) for text in (left, right)))


@pytest.mark.parametrize(("base", "left", "right", "rule", "level"), [
    ("gpu=A100,torch=2.3.1+cu121", "NVIDIA_TF32_OVERRIDE=0", "NVIDIA_TF32_OVERRIDE=unset", "tf32-override",
     Level.STATISTICAL),
    ("gpu=A100,torch=2.3.1+cu121,tf32=on", "NVIDIA_TF32_OVERRIDE=0", "NVIDIA_TF32_OVERRIDE=unset", "tf32-matmul",
     Level.STATISTICAL),
    ("gpu=none,torch=2.3.1+cpu", "OMP_NUM_THREADS=4", "OMP_NUM_THREADS=8", "thread-variables", Level.CURVE),
    ("numpy=2.1.3", "OPENBLAS_NUM_THREADS=4", "OPENBLAS_NUM_THREADS=8", "thread-variables", Level.CURVE),
    ("numpy=2.1.3", "OPENBLAS_CORETYPE=Haswell", "OPENBLAS_CORETYPE=SkylakeX", "kernel-variables", Level.CURVE),
    ("gpu=8xA100,ranks=8", "NCCL_ALGO=Ring", "NCCL_ALGO=Tree", "collective-algorithm", Level.CURVE),
    ("gpu=8xA100,ranks=8", "NCCL_PROTO=Simple", "NCCL_PROTO=LL", "collective-protocol", Level.CURVE),
    ("gpu=A100,torch=2.3.1+cu121", "CUBLAS_WORKSPACE_CONFIG=:16:8", "CUBLAS_WORKSPACE_CONFIG=:4096:8",
     "cublas-workspace", Level.CURVE),
    ("tensorflow=2.15.0", "TF_DETERMINISTIC_OPS=1", "TF_DETERMINISTIC_OPS=0", "tensorflow-variables", Level.CURVE),
    ("gpu=none", "python=3.10", "python=3.12", "python-minor", Level.BITWISE)])
def test_a_stated_difference_is_the_first_reason_whatever_is_unread_beside_it(
        base: str, left: str, right: str, rule: str, level: Level) -> None:
    verdict = asked(f"{base},{left}", f"{base},{right}")
    assert verdict.reasons[0].rule == rule
    assert verdict.expected is level
    assert not verdict.ignored
    assert rule not in {row.rule for row in verdict.assumes}


def test_tf32_forbidden_by_the_variable_is_tf32_switched_off() -> None:
    base = "gpu=A100,torch=2.3.1+cu121,backend=cuda"
    assert not asked(f"{base},tf32=on,NVIDIA_TF32_OVERRIDE=0", f"{base},tf32=off,NVIDIA_TF32_OVERRIDE=unset").reasons
    assert asked(f"{base},tf32=on", f"{base},tf32=off").reasons


def test_a_switch_without_units_behind_it_is_named_as_harmless() -> None:
    verdict = asked("gpu=V100,torch=2.3.1+cu121,tf32=on", "gpu=V100,torch=2.3.1+cu121,tf32=off")
    assert {row.path for row in verdict.ignored} >= {"precision.allow_tf32_matmul", "precision.allow_tf32_cudnn"}
    assert not verdict.reasons


def test_parts_that_only_one_side_tells_set_nothing_apart() -> None:
    verdict = asked("numpy=2.1.3,OMP_NUM_THREADS=4", "numpy=2.1.3,MKL_NUM_THREADS=8")
    assert not verdict.reasons
    assert "thread-variables" in {row.rule for row in verdict.assumes}


def test_parts_stand_in_for_their_value_only_where_it_is_unread() -> None:
    told = entry(RULES_BY_ID["thread-variables"], Facts.of(whatif.document("OMP_NUM_THREADS=4")))
    assert told.state == UNREAD
    assert told.value == {"OMP_NUM_THREADS": "OMP_NUM_THREADS=4"}

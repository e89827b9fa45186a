"""One version may be built twice: what was loaded counts, from outside and on a processor it does not."""

from __future__ import annotations

from typing import Any

import pytest
from documents import complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict


def verdict(right: dict[str, Any], vantage: str = "process", machine: str = "h100") -> Verdict:
    sides = [Facts.of(complete_document(vantage, machine, **facts)) for facts in ({}, right)]
    return judge(*sides, question=Question.COMPARE)


@pytest.mark.parametrize("name", ["cudnn", "cublas", "cufft", "cusolver", "cusparse", "cuda_runtime", "nvrtc"])
def test_another_file_of_one_version_is_not_guaranteed_the_same_bits(name: str) -> None:
    told = verdict({f"libraries.{name}.build_id": "other"})
    assert (told.guaranteed, told.expected) == (Level.CURVE, Level.BITWISE)
    assert [reason.rule for reason in told.reasons] == [f"{name.replace('_', '-')}-build"]


@pytest.mark.parametrize("facts", [{"libraries.cudnn.build_id": "other"}, {"libraries.nccl.build_id": "other"}])
def test_what_a_process_did_not_load_has_no_build(facts: dict[str, Any]) -> None:
    assert verdict(facts, "prologue").guaranteed is Level.BITWISE


def test_libraries_of_devices_and_of_ranks_do_not_count_where_none_computes() -> None:
    assert verdict({"libraries.nccl.build_id": "other"}).guaranteed is Level.BITWISE
    assert verdict({"libraries.mkl.build_id": "other", "libraries.onednn.build_id": "other"}, "process", "cpu"
                   ).guaranteed is Level.BITWISE


@pytest.mark.parametrize("name", ["numpy", "scipy", "scikit_learn"])
def test_another_maker_of_one_version_is_not_guaranteed_the_same_bits(name: str) -> None:
    told = verdict({f"frameworks.{name}.build": "conda"}, "process", "cpu")
    assert (told.guaranteed, told.expected) == (Level.CURVE, Level.BITWISE)
    assert verdict({f"frameworks.{name}.build": "pip"}, "process", "cpu").guaranteed is Level.BITWISE


def test_kernels_made_by_a_compiler_that_nobody_told_are_not_guaranteed() -> None:
    made = {"determinism.inductor": {"max_autotune": "false"}, "model.compile": True}
    told = judge(*[Facts.of(complete_document("process", "cpu", **made))] * 2, question=Question.REPEAT)
    assert (told.guaranteed, told.expected) == (Level.CURVE, Level.BITWISE)
    assert [reason.rule for reason in told.reasons] == ["compiler-untold"]
    stated = {**made, "declared.values": {"compiler": "g++ 12.2.0"}}
    assert judge(*[Facts.of(complete_document("process", "cpu", **stated))] * 2,
                 question=Question.REPEAT).guaranteed is Level.BITWISE

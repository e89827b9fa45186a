"""Kinds of causes that public reports brought to light: each is named where little else is told, and not beside it."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.verdict import Verdict
from tests.client.comparability.sparse import side


def verdict(left: dict[str, Any], right: dict[str, Any], question: Question = Question.COMPARE, **common: Any
            ) -> Verdict:
    return judge(side(**common, **left), side(**common, **right), question=question)


def pool(version: str, architecture: str | None = None) -> dict[str, Any]:
    kernels = {"architecture": architecture} if architecture else {}
    return {"threads.blas_pools": [{"library": "openblas", "version": version, **kernels}]}


@pytest.mark.parametrize(("left", "right", "wrong"), [
    (pool("0.3.20", "Cooperlake"), pool("0.3.13"), True),
    (pool("0.3.20", "SapphireRapids"), pool("0.3.21", "SapphireRapids"), True),
    ({**pool("0.3.20"), "cpu.model": "Intel(R) Xeon(R) Gold 6448H"}, pool("0.3.21"), True),
    (pool("0.3.20", "SkylakeX"), pool("0.3.21", "SkylakeX"), False),
    ({**pool("0.3.20"), "cpu.model": "Intel(R) Xeon(R) Gold 6248"}, pool("0.3.21"), False),
], ids=["kernels", "newer kernels", "model", "older kernels", "older model"])
def test_a_wrong_openblas_is_found_by_its_pool_and_the_kernels_it_chose(
        left: dict[str, Any], right: dict[str, Any], wrong: bool) -> None:
    found = verdict(left, right, **{"frameworks.backend": "cpu"})
    assert (found.expected is Level.NONE) is wrong
    assert any(reason.cause == "library_bug" for reason in found.reasons) is wrong


def test_a_wheel_of_numpy_stands_for_the_openblas_in_it() -> None:
    common = {"cpu.model": "Intel(R) Xeon(R) Platinum 8480C", "frameworks.backend": "cpu"}
    for build, level in (("wheel", Level.NONE), ("conda", Level.CURVE)):
        left, right = ({"frameworks.numpy": {"version": version, "build": build}} for version in ("1.23.5", "1.24.0"))
        assert verdict(left, right, **common).expected is level


def test_a_fault_of_one_side_is_named_before_what_rounds() -> None:
    found = verdict({"libraries.cudnn": {"loaded": "7.6.5"}}, {"libraries.cudnn": {"loaded": "8.0.5"}},
                    **{"accelerators.devices": [{"name": "V100"}], "precision.autocast": "float16"})
    assert [reason.rule for reason in found.reasons[:2]] == ["known-cudnn-7.6-conv3d-half", "cudnn-loaded"]
    assert found.expected is Level.CURVE


def test_a_fault_of_both_sides_stands_behind_what_differs() -> None:
    common = {"libraries.cudnn": {"loaded": "7.6.5"}, "precision.autocast": "float16",
              "accelerators.devices": [{"name": "V100"}]}
    found = verdict({"frameworks.torch": {"version": "1.4.0"}}, {"frameworks.torch": {"version": "1.5.0"}}, **common)
    assert found.reasons[0].cause == "torch_version"
    assert "known-cudnn-7.6-conv3d-half" in {reason.rule for reason in found.reasons[1:]}


def test_the_driver_of_an_intel_gpu_counts_whatever_the_build_holds() -> None:
    old, new = ({"driver.kernel_module": version} for version in ("25.40", "26.19"))
    assert [reason.cause for reason in verdict(old, new, **{"frameworks.backend": "xpu"}).reasons] == ["driver"]
    assert not verdict(old, new, **{"frameworks.backend": "cpu"}).reasons


def test_another_rocm_is_named_though_nobody_says_that_the_build_has_no_cuda() -> None:
    left, right = ({"frameworks.torch": {"version": "2.6.0", "rocm_build": build}} for build in ("6.2", "6.3"))
    found = verdict(left, right, **{"frameworks.backend": "rocm"})
    assert [(reason.rule, reason.expected_level) for reason in found.reasons] == [("cuda-build", Level.CURVE)]


@pytest.mark.parametrize(("left", "right", "cause"), [
    ({"frameworks.backend": "cpu"}, {"frameworks.backend": "tpu"}, "precision_mode"),
    ({"frameworks.backend": "cpu"}, {"frameworks.backend": "cuda", "accelerators.devices": [{"name": "RTX 3090"}]},
     "precision_mode"),
    ({"frameworks.backend": "cpu"}, {"frameworks.backend": "cuda", "accelerators.devices": [{"name": "V100"}]},
     "backend"),
], ids=["tpu", "ampere", "volta"])
def test_what_jax_computes_products_in_comes_before_the_back_end(
        left: dict[str, Any], right: dict[str, Any], cause: str) -> None:
    assert verdict(left, right, **{"frameworks.jax": {"version": "0.4.38"}}).reasons[0].cause == cause


@pytest.mark.parametrize(("name", "level"), [
    ("lr-scheduler-state", Level.NONE), ("optimizer_state", Level.NONE), ("grad-scaler-state", Level.NONE),
    ("loader-state", Level.STATISTICAL), ("data-position", Level.STATISTICAL)])
def test_a_state_that_is_not_restored_is_a_matter_of_the_resume(name: str, level: Level) -> None:
    states = [{"declared.values": {name: state}} for state in ("restored", "not-restored")]
    found = verdict(*states, Question.RESUME)
    assert [reason.cause for reason in found.reasons] == ["resume_state"]
    assert found.expected is level
    assert not verdict(states[0], states[0], Question.RESUME).reasons


@pytest.mark.parametrize(("name", "level"), [("accelerate", Level.STATISTICAL), ("transformers", Level.STATISTICAL),
                                             ("xformers", Level.CURVE)])
def test_another_release_of_what_trains_changes_more_than_rounding(name: str, level: Level) -> None:
    left, right = ({"distributions.installed": [{"name": name, "version": f"0.{minor}.0"}]} for minor in (24, 25))
    assert verdict(left, right).expected is level


@pytest.mark.parametrize(("left", "right", "told"), [
    ("Intel 8th generation", "11th Gen Intel(R) Core(TM) i7-1165G7", True),
    ("Intel 8th generation", "12th Gen Intel(R) Core(TM) i7-12700K", False),
    ("4th Gen AMD EPYC", "Intel 8th generation", False)])
def test_generations_of_intel_tell_the_vector_level(left: str, right: str, told: bool) -> None:
    found = verdict({"cpu.model": left}, {"cpu.model": right}, **{"frameworks.backend": "cpu"})
    assert ("cpu-vector-level" in {reason.rule for reason in found.reasons}) is told

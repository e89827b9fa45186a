"""Frameworks: versions by what they say, defaults by what is in force, JAX and TensorFlow by what acts."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, framework, h100

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

V100 = {"name": "Tesla V100-SXM2-16GB", "compute_capability": "7.0", "sm_count": 80}
JAX = {"frameworks.jax": framework("0.10.2"), "frameworks.torch.imported": False,
       "determinism.xla_deterministic": True, "variables.values.XLA_FLAGS": "--xla_gpu_deterministic_ops=true"}
TENSORFLOW = {"frameworks.tensorflow": framework("2.21.0"), "determinism.tensorflow_op_determinism": True,
              "frameworks.torch.imported": False, "precision.tensorflow_tf32": True}


def stated(**frameworks: str) -> Facts:
    named = {name: {"version": version} for name, version in frameworks.items()}
    return Facts.of({"stack": {"frameworks": named}, "capture": {"vantage": "import"}})


def compared(machine: str, left: dict[str, Any], right: dict[str, Any]) -> Verdict:
    base = complete_document(machine=machine)
    return judge(Facts.of(change(base, **left)), Facts.of(change(base, **right)))


def rules_in(verdict: Verdict) -> set[str]:
    return {reason.rule for reason in verdict.reasons}


class TestVersions:
    """A version says as much as it states."""

    @pytest.mark.parametrize("name", ["torch", "jax", "tensorflow", "numpy", "scipy", "scikit_learn"])
    def test_a_version_cut_short_is_no_other_release(self, name: str) -> None:
        verdict = judge(stated(**{name: "2.1"}), stated(**{name: "2.1.2"}))
        assert not verdict.reasons

    def test_a_version_cut_short_does_not_prove_one_release(self) -> None:
        verdict = judge(stated(torch="2.1"), stated(torch="2.1"))
        assert verdict.guaranteed <= Level.STATISTICAL
        assert "torch-release" in {item.rule for item in verdict.assumes}

    def test_a_version_cut_short_still_tells_another_series(self) -> None:
        assert "torch-minor" in rules_in(judge(stated(torch="2.1"), stated(torch="2.2.1")))

    def test_a_process_tells_its_version_in_full(self) -> None:
        verdict = compared("cpu", {"frameworks.torch.version": "2.1"}, {"frameworks.torch.version": "2.1.2"})
        assert "torch-release" in rules_in(verdict)

    @pytest.mark.parametrize(("name", "left", "right"), [
        ("torch", "2.13.0+cpu", "2.13.1+cpu"), ("jax", "0.6.0", "0.6.1"), ("tensorflow", "2.10.0", "2.10.1"),
        ("scipy", "1.17.0", "1.17.1"), ("scikit_learn", "1.9.0", "1.9.1")])
    def test_a_patch_release_weighs_little_and_not_nothing(self, name: str, left: str, right: str) -> None:
        verdict = compared("cpu", {f"frameworks.{name}": framework(left, revision="r", build_flags={})},
                           {f"frameworks.{name}": framework(right, revision="r", build_flags={})})
        assert verdict.expected is Level.BITWISE
        assert verdict.guaranteed < Level.BITWISE

    def test_every_release_of_jax_before_0_5_was_a_series(self) -> None:
        assert "jax-version" in rules_in(judge(stated(jax="0.4.30"), stated(jax="0.4.31")))


class TestDefaults:
    """Defaults in force, not boundaries that lie between."""

    def test_a_release_that_changed_what_a_program_does_not_use_is_no_changed_default(self) -> None:
        verdict = compared("cpu", {"frameworks.torch.version": "2.9.1"}, {"frameworks.torch.version": "2.10.0"})
        assert "framework_default_change" not in {reason.cause for reason in verdict.reasons}
        assert verdict.expected is Level.CURVE

    @pytest.mark.parametrize(("card", "told"), [({}, True), (V100, False)])
    def test_attention_of_2_5_0_differs_from_hopper_on(self, card: dict[str, Any], told: bool) -> None:
        left, right = (Facts.of({"stack": {"accelerators": {"devices": [h100(**card)]},
                                           "frameworks": {"torch": {"version": version}}},
                                 "capture": {"vantage": "import"}}) for version in ("2.5.0", "2.5.1"))
        assert ("default-attention" in rules_in(judge(left, right))) is told


class TestJax:
    """What JAX's words come down to on the device."""

    @pytest.mark.parametrize("level", ["default", "bfloat16", "high", "tensorfloat32"])
    def test_levels_below_the_highest_are_one_on_a_gpu(self, level: str) -> None:
        verdict = compared("h100", {**JAX, "precision.jax_matmul": None}, {**JAX, "precision.jax_matmul": level})
        assert not verdict.reasons

    def test_levels_do_nothing_on_a_gpu_without_tf32(self) -> None:
        old = {**JAX, "accelerators.devices": [h100(**V100)]}
        verdict = compared("h100", old, {**old, "precision.jax_matmul": "highest"})
        assert not verdict.reasons

    @pytest.mark.parametrize("level", ["high", "highest", "tensorfloat32"])
    def test_levels_do_nothing_on_a_processor(self, level: str) -> None:
        """Measured with JAX 0.10.2 on the CPU."""
        verdict = compared("cpu", {**JAX, "precision.jax_matmul": None}, {**JAX, "precision.jax_matmul": level})
        assert (verdict.reasons, verdict.guaranteed) == ((), Level.BITWISE)

    @pytest.mark.parametrize(("level", "told"), [("highest", False), (None, True)])
    def test_the_variable_below_forbids_tf32_of_jax_too(self, level: str | None, told: bool) -> None:
        side = {**JAX, "precision.jax_matmul": level}
        verdict = compared("h100", side, {**side, "variables.values.NVIDIA_TF32_OVERRIDE": "0"})
        assert ("jax-matmul" in rules_in(verdict)) is told

    def test_widths_asked_for_by_variable_are_read_in_the_process(self) -> None:
        side = {**JAX, "precision.jax_x64": True}
        assert not compared("cpu", side, {**side, "variables.values.JAX_ENABLE_X64": "1"}).reasons

    @pytest.mark.parametrize(("left", "right"), [
        ("--xla_a=1 --xla_b=2", "--xla_b=2 --xla_a=1"), ("--xla_a=1", "--xla_a=0 --xla_a=1"),
        ("--xla_a", "--xla_a=true"), (None, "--xla_dump_to=/tmp/hlo")])
    def test_flags_that_add_up_to_the_same_are_silent(self, left: str | None, right: str) -> None:
        one, two = ({**JAX, "variables.values.XLA_FLAGS": flags} for flags in (left, right))
        assert not compared("cpu", one, two).reasons

    def test_the_platform_is_read_in_the_process(self) -> None:
        assert not compared("cpu", JAX, {**JAX, "variables.values.JAX_PLATFORMS": "cpu"}).reasons


class TestTensorflow:
    """What TensorFlow's switches come down to."""

    def test_tf32_needs_a_gpu_that_has_it(self) -> None:
        old = {**TENSORFLOW, "accelerators.devices": [h100(**V100)]}
        assert not compared("h100", old, {**old, "precision.tensorflow_tf32": False}).reasons

    @pytest.mark.parametrize("variables", [
        {"variables.values.TF_ENABLE_ONEDNN_OPTS": "1"}, {"variables.values.TF_NUM_INTEROP_THREADS": "2"},
        {"variables.values.TF_NUM_INTRAOP_THREADS": "8"}])
    def test_what_variables_ask_for_is_read_in_the_process(self, variables: dict[str, Any]) -> None:
        side = {**TENSORFLOW, "determinism.tensorflow_onednn": True, "threads.tensorflow_intraop": 0}
        assert not compared("cpu", side, {**side, **variables}).reasons

    def test_threads_asked_for_by_variable_act(self) -> None:
        side = {**TENSORFLOW, "threads.tensorflow_intraop": 0}
        assert "tensorflow-threads" in rules_in(
            compared("cpu", side, {**side, "variables.values.TF_NUM_INTRAOP_THREADS": "2"}))

    def test_whether_it_compiles_is_read_in_the_process(self) -> None:
        flags = {**TENSORFLOW, "variables.values.TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}
        assert "tensorflow-xla-flags" not in rules_in(compared("cpu", TENSORFLOW, flags))

    def test_the_last_of_repeated_flags_counts(self) -> None:
        one = {**TENSORFLOW, "variables.values.TF_XLA_FLAGS": "--tf_xla_min_cluster_size=4"}
        two = {**TENSORFLOW,
               "variables.values.TF_XLA_FLAGS": "--tf_xla_min_cluster_size=2 --tf_xla_min_cluster_size=4"}
        assert not compared("cpu", one, two).reasons

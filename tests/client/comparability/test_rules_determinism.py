"""Determinism: switches by what they restrict, and the holes that remain by name."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, distribution, framework, h100

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.comparability.rules.determinism import workspace_size
from repro_env.comparability.vector import Entry, entry
from repro_env.comparability.verdict import Verdict

A100 = {"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "sm_count": 108}
UNTOLD = {"unread": "not-reported"}
PACKAGES = [distribution("flash-attn", "2.6.3"), distribution("mamba-ssm", "2.2.2"), distribution("rich", "13.9.4")]


def both(left: dict[str, Any], right: dict[str, Any], machine: str = "h100", vantage: str = "process") -> Verdict:
    base = complete_document(vantage, machine=machine)
    return judge(Facts.of(change(base, **left)), Facts.of(change(base, **right)))


def rules_in(verdict: Verdict) -> set[str]:
    return {reason.rule for reason in verdict.reasons}


def said(rule_id: str, machine: str = "h100", **facts: Any) -> Entry:
    return entry(RULES_BY_ID[rule_id], Facts.of(complete_document(machine=machine, **facts)))


class TestHoles:
    """What torch's deterministic mode does not reach is named, not guessed."""

    def test_installed_kernels_outside_torch_are_named_where_nobody_saw_which_ran(self) -> None:
        item = said("known-nondeterministic-kernel", **{"determinism.nondeterministic_kernels": UNTOLD,
                                                        "distributions.installed": PACKAGES})
        assert [path.rpartition(".")[2] for path, _ in item.lacking] == [
            "nondeterministic_kernels", "flash-attn", "mamba-ssm"]

    def test_a_variable_that_restricts_a_package_closes_its_hole(self) -> None:
        item = said("known-nondeterministic-kernel", **{
            "determinism.nondeterministic_kernels": UNTOLD, "distributions.installed": PACKAGES,
            "variables.values.FLASH_ATTENTION_DETERMINISTIC": "1", "variables.values.MAMBA_DETERMINISTIC": "1"})
        assert len(item.lacking) == 1

    def test_packages_that_did_not_run_are_no_hole(self) -> None:
        assert said("known-nondeterministic-kernel", **{"distributions.installed": PACKAGES}).state == "ok"


class TestCudnn:
    """Either switch restricts convolutions."""

    def test_own_switch_adds_next_to_nothing_in_deterministic_mode(self) -> None:
        verdict = both({}, {"determinism.cudnn_deterministic": False})
        assert rules_in(verdict) == {"cudnn-deterministic"}
        assert (verdict.expected, verdict.guaranteed) == (Level.BITWISE, Level.CURVE)

    def test_own_switch_restricts_where_torch_does_not(self) -> None:
        off = {"determinism.deterministic_algorithms": False}
        assert "cudnn-switches" in rules_in(both(off, {**off, "determinism.cudnn_deterministic": False}))

    def test_timing_needs_cudnn(self) -> None:
        off = {"determinism.cudnn_enabled": False, "determinism.cudnn_benchmark": True}
        assert "cudnn-autotune" not in rules_in(both(off, off))


class TestWorkspace:
    """cuBLAS chooses by the size that torch gives it."""

    @pytest.mark.parametrize(("card", "setting", "torch", "size"), [
        ({}, ":4096:8", "2.5.1", "32768 KiB"), ({}, None, "2.5.1", "32768 KiB"), ({}, ":16:8", "2.5.1", "128 KiB"),
        ({}, ":4096:2:16:8", "2.5.1", "8320 KiB"), ({}, None, "2.0.1", "library default"),
        (A100, None, "2.5.1", "library default")])
    def test_size_in_force(self, card: dict[str, Any], setting: str | None, torch: str, size: str) -> None:
        side = complete_document(machine="h100", **{"accelerators.devices": [h100(**card)],
                                                    "determinism.cublas_workspace": setting,
                                                    "frameworks.torch.version": torch})
        assert workspace_size(Facts.of(side)) == size

    def test_unset_on_hopper_is_not_expected_to_differ_and_not_guaranteed(self) -> None:
        verdict = both({"frameworks.torch.version": "2.10.0"},
                       {"frameworks.torch.version": "2.10.0", "determinism.cublas_workspace": None})
        assert rules_in(verdict) == {"cublas-workspace-setting"}
        assert (verdict.expected, verdict.guaranteed) == (Level.BITWISE, Level.CURVE)


class TestTiming:
    """Kernels chosen by timing: where something is chosen at all."""

    def test_tunable_op_that_does_not_tune_repeats(self) -> None:
        told = {"determinism.tunable_op": True, "variables.values.PYTORCH_TUNABLEOP_TUNING": "0"}
        assert "tunable-op" not in rules_in(both(told, told))

    def test_a_variable_for_code_that_was_never_compiled_is_silent(self) -> None:
        assert not both({}, {"variables.values.TORCHINDUCTOR_MAX_AUTOTUNE": "1"}).reasons

    def test_the_variable_counts_where_nobody_saw_the_process(self) -> None:
        asked = {"variables.values.TORCHINDUCTOR_MAX_AUTOTUNE": "1"}
        assert "inductor-autotune" in rules_in(both(asked, asked, vantage="prologue"))

    @pytest.mark.parametrize(("settings", "timed"), [
        ({"max_autotune": "true", "deterministic": "true"}, False), ({"max_autotune": "false|true"}, True),
        ({"coordinate_descent_tuning": "true"}, True), ({"max_autotune": "false"}, False)])
    def test_settings_say_what_was_timed(self, settings: dict[str, str], timed: bool) -> None:
        assert (said("inductor-autotune", **{"determinism.inductor": settings}).state == "fails") is timed

    def test_small_choices_are_timed_on_gpus_alone(self) -> None:
        settings = {"determinism.inductor": {"deterministic": "false"}}
        assert said("inductor-benchmarks", **settings).state == "fails"
        assert said("inductor-benchmarks", "cpu", **settings).state == "ok"

    @pytest.mark.parametrize(("flags", "timed"), [
        (None, True), ("--xla_gpu_exclude_nondeterministic_ops=true", True), ("--xla_gpu_autotune_level=0", False),
        ("--xla_gpu_deterministic_ops=true", False), ("--xla_gpu_load_autotune_results_from=a.pb", False),
        ("--xla_gpu_deterministic_ops=true --xla_gpu_deterministic_ops=false", True)])
    def test_xla_times_unless_told_otherwise(self, flags: str | None, timed: bool) -> None:
        item = said("xla-autotune", **{"frameworks.jax": framework("0.5.3"), "variables.values.XLA_FLAGS": flags})
        assert (item.state == "fails") is timed


class TestCompiled:
    """Compiled against eager, and where compiled code draws from."""

    def test_eager_against_compiled_is_another_way_of_computing(self) -> None:
        verdict = both({}, {"determinism.inductor": {"fallback_random": "false"}}, machine="cpu")
        assert rules_in(verdict) == {"inductor-used", "compiler-untold"}
        assert (verdict.expected, verdict.guaranteed) == (Level.CURVE, Level.STATISTICAL)

    @pytest.mark.parametrize("setting", ["fallback_random", "align_random_eager"])
    def test_settings_that_align_random_numbers_are_told(self, setting: str) -> None:
        verdict = both({"determinism.inductor": {setting: "true"}}, {"determinism.inductor": {setting: "false"}},
                       machine="cpu")
        assert rules_in(verdict) == {"inductor-random", "compiler-untold"}
        assert verdict.expected is Level.STATISTICAL

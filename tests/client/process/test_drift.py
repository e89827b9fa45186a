"""What counts as drift between two looks, and how readings become sections."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env import keeping, looks, process
from repro_env.probes.inprocess import Readings, Seen

UNREAD = {"unread": "too-early"}


def test_equal_stacks_have_no_drift() -> None:
    stack = {"precision": {"allow_tf32_matmul": False, "autocast": None}, "threads": {"blas_pools": []}}
    assert looks.drift(stack, stack) == []


@pytest.mark.parametrize(("before", "after", "texts"), [
    (False, True, ("false", "true")), (None, "9.1.0", ("null", '"9.1.0"')), (8, 4, ("8", "4")),
    ([{"threads": 2, "library": "openblas"}], [], ('[{"library":"openblas","threads":2}]', "[]")),
], ids=["switch", "loaded-later", "count", "list"])
def test_drift_shows_both_values_as_canonical_json(before: Any, after: Any, texts: tuple[str, str]) -> None:
    assert looks.drift({"section": {"fact": before}}, {"section": {"fact": after}}) == [
        {"path": "section.fact", "before": texts[0], "after": texts[1]}]


@pytest.mark.parametrize(("before", "after"), [(UNREAD, 4), (4, UNREAD), (UNREAD, {"unread": "failed"})],
                         ids=["read-later", "lost", "other-code"])
def test_a_fact_that_was_not_read_twice_is_no_drift(before: Any, after: Any) -> None:
    assert looks.drift({"threads": {"openmp": before}}, {"threads": {"openmp": after}}) == []


def test_drift_is_sorted_by_path() -> None:
    before = {"threads": {"openmp": 1}, "cpu": {"torch_capability": "AVX2"}}
    after = {"threads": {"openmp": 2}, "cpu": {"torch_capability": "AVX512"}}

    assert [row["path"] for row in looks.drift(before, after)] == ["cpu.torch_capability", "threads.openmp"]


def test_a_switch_that_changed_after_the_first_step_is_told_with_its_value_there() -> None:
    seen = Seen()
    first = {"threads.torch_intraop": 8, "precision.flush_to_zero": False, "determinism.sdp_math": True,
             "threads.openmp": None, "cpu.torch_capability": "AVX2"}
    assert seen.changed(first) == UNREAD
    seen.settled = True
    assert seen.changed(first) == []
    later = {**first, "threads.torch_intraop": 1, "precision.flush_to_zero": True, "threads.openmp": 4,
             "cpu.torch_capability": "AVX512"}
    assert seen.changed(later) == ["precision.flush_to_zero: false", "threads.torch_intraop: 8"]
    assert seen.changed(first) == []


def test_a_switch_that_cannot_be_read_any_more_is_no_change() -> None:
    seen = Seen()
    seen.settled = True
    seen.changed({"precision.float32_matmul_precision": "high"})
    assert seen.changed({"precision.float32_matmul_precision": {"unread": "not-reported"}}) == []


def test_readings_become_sections_of_stack_and_program() -> None:
    readings = Readings()
    readings.put("frameworks.torch.version", "torch", "2.13.0")
    readings.put("frameworks.backend", "torch", "cpu")
    readings.put("program.random.seeds", "torch", {"torch": 1})

    nested = looks.sections(readings)

    assert nested["frameworks"] == {"torch": {"version": "2.13.0"}, "backend": "cpu"}
    assert nested["program.random"] == {"seeds": {"torch": 1}}
    assert nested["sources"]["frameworks.torch.version"] == "torch"


def test_a_warning_of_the_service_fits_one_line_of_a_log() -> None:
    warning = {"kind": "baseline", "baseline": "run-a", "headline": "Comparable as curves: 4 threads against 8.",
               "first_reason": "4 torch threads against 8", "remedy": "set the same number of threads"}

    assert keeping.warning_text(warning) == (
        "warning: against baseline run-a: Comparable as curves: 4 threads against 8; 4 torch threads against 8; "
        "set the same number of threads")
    assert keeping.warning_text({**warning, "first_reason": None, "remedy": None}).endswith("4 threads against 8")


def test_a_warning_of_another_form_is_still_shown() -> None:
    assert "later" in keeping.warning_text({"kind": "later"})


def test_a_message_is_said_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STATE", process.State())

    process.say("one")
    process.say("one")

    assert capsys.readouterr().err == "repro-env: one\n"

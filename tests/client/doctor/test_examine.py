"""The doctor finds what was planted, names the facts and what mends it, and is silent on sound documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from documents import Document, complete_document, distribution
from strategies import erase, fact_paths

from repro_env.capture import capture
from repro_env.doctor import KINDS, Finding, contradictions, examine


class Planted(NamedTuple):
    machine: str
    facts: dict[str, Any]
    words: str


GPU, CPU = "h100", "cpu"
VARIABLE = "variables.values."
INSTALLED = "distributions.installed"

PLANTED: dict[str, Planted] = {
    "driver-parts": Planted(GPU, {"driver.user_libcuda": "535.86.10"},
                            "the kernel runs driver 550.54.15, programs load libcuda 535.86.10"),
    "driver-too-old": Planted(GPU, {"frameworks.torch.cuda_build": "13.0"},
                              "torch was built for CUDA 13.0, the driver serves CUDA up to 12.4"),
    "threads-asked": Planted(CPU, {VARIABLE + "OMP_NUM_THREADS": "64", "threads.torch_intraop": 64},
                             "OMP_NUM_THREADS asks for 64 threads, the process may run on 8"),
    "threads-quota": Planted(CPU, {"threads.cgroup_limit_millicpu": 2500},
                             "the control group grants 2.5 processors, libraries count 8"),
    "threads-overridden": Planted(CPU, {VARIABLE + "OMP_NUM_THREADS": "4"},
                                  "OMP_NUM_THREADS says 4, torch works with 8 threads"),
    "benchmark-and-deterministic": Planted(GPU, {"determinism.cudnn_benchmark": True}, "so is cuDNN benchmarking"),
    "tf32-overridden": Planted(GPU, {VARIABLE + "NVIDIA_TF32_OVERRIDE": "1"},
                               "torch says TF32 is off, NVIDIA_TF32_OVERRIDE=1 says the opposite"),
    "hash-seed-late": Planted(CPU, {"random.hash_seed": "random"}, "PYTHONHASHSEED is 0, the interpreter works with"),
    "workspace-late": Planted(GPU, {"determinism.cublas_workspace": None},
                              "CUBLAS_WORKSPACE_CONFIG is :4096:8, cuBLAS works with its default"),
    "capability-unreachable": Planted(CPU, {VARIABLE + "ATEN_CPU_CAPABILITY": "avx512",
                                            "cpu.instruction_sets": ["avx2", "fma"]},
                                      "asks for avx512, this processor has no avx512f"),
    "gloo-on-gpu": Planted(GPU, {"collectives.backend": "gloo"}, "ranks exchange by gloo"),
    "imported-not-installed": Planted(CPU, {"frameworks.numpy.version": "1.26.4"},
                                      "numpy 1.26.4 is imported, 2.3.5 is installed"),
    "installed-twice": Planted(CPU, {INSTALLED: [distribution("numpy", "2.3.5"),
                                                 distribution("numpy", "1.26.4", shadowed=True)]},
                               "numpy is there twice: 2.3.5 comes first, 1.26.4 lies behind it"),
    "same-modules": Planted(CPU, {INSTALLED: [distribution("opencv-python", "4.10"),
                                              distribution("opencv-python-headless", "4.11")]},
                            "opencv-python and opencv-python-headless write the same modules"),
    "image-identity": Planted(CPU, {"capture.image_evidence": [
        {"what": "image_digest", "value": "sha256:" + letter * 64, "source": source, "trust": "claimed"}
        for letter, source in (("a", "REPRO_ENV_IMAGE_DIGEST"), ("b", "/run/.containerenv"))]},
        "the image digest is told twice"),
    **{f"library-{code}": Planted(GPU, {"libraries.cudnn.conflicts": [code], "libraries.cudnn.loaded": "8.9.7"},
                                  "cuDNN: ")
       for code in ("two-copies", "shadowed", "preloaded", "not-installed", "not-compiled-against")},
}


def found(document: Document, kind: str) -> list[Finding]:
    return [finding for finding in examine(document) if finding.kind == kind]


def planted(name: str) -> Document:
    line = PLANTED[name]
    return complete_document("exit", machine=line.machine, **line.facts)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_contradiction_is_found_with_both_values_and_what_mends_it(name: str) -> None:
    findings = {finding.check: finding for finding in found(planted(name), "contradiction")}
    assert PLANTED[name].words in findings[name].says
    assert findings[name].mend
    assert findings[name].facts


@pytest.mark.parametrize("name", PLANTED)
def test_a_contradiction_goes_once_a_fact_it_rests_on_was_not_read(name: str) -> None:
    document = planted(name)
    finding = next(item for item in examine(document) if item.check == name)
    for path in finding.facts:
        if path.startswith("capture"):
            continue
        part = "program" if path.startswith("random") else "stack"
        left = erase(document, {path: "denied"}) if _erasable(document, part, path) else None
        if left is not None and name != "image-identity":
            assert name not in {item.check for item in found(left, "contradiction")}, path


def _erasable(document: Document, part: str, path: str) -> bool:
    holder: Any = document[part]
    for step in path.split("."):
        if not isinstance(holder, dict) or step not in holder:
            return False
        holder = holder[step]
    return True


def test_every_check_has_a_planted_line() -> None:
    named = {finding.check for name in PLANTED for finding in found(planted(name), "contradiction")}
    silent = [check.__name__ for check in contradictions.CHECKS
              if not any(check(contradictions.Facts.of(planted(name))) for name in PLANTED if _runs(check, name))]
    assert silent == []
    assert named >= set(PLANTED)


def _runs(check: Any, name: str) -> bool:
    try:
        check(contradictions.Facts.of(planted(name)))
    except contradictions.Missing:
        return False
    return True


@pytest.mark.parametrize("machine", [CPU, GPU])
def test_a_sound_document_has_no_finding(machine: str) -> None:
    assert examine(complete_document("exit", machine=machine)) == ()


@pytest.mark.parametrize("facts", [
    {"driver.user_libcuda": "560.35.03", "driver.compat": True},
    {"frameworks.torch.cuda_build": "12.8", "frameworks.torch.version": "2.5.1"},
    {VARIABLE + "NVIDIA_TF32_OVERRIDE": "0"},
    {VARIABLE + "PYTHONHASHSEED": "00", "random.hash_seed": "0"},
    {"threads.cgroup_limit_millicpu": 8000},
], ids=["compat package", "newer minor CUDA", "override agrees", "seed written otherwise", "quota of all processors"])
def test_what_only_looks_like_a_contradiction_is_none(facts: dict[str, Any]) -> None:
    assert found(complete_document("exit", machine=GPU, **facts), "contradiction") == []


class TestWhatMovesNumbers:
    def test_failing_conditions_of_the_rules_are_told_with_their_remedy(self) -> None:
        document = complete_document("exit", machine=GPU, **{"determinism.deterministic_algorithms": False})
        (finding,) = found(document, "moves")
        assert finding.check == "nondeterministic-kernels-allowed"
        assert "{" not in finding.says
        assert "use_deterministic_algorithms(True)" in finding.mend

    def test_a_combination_that_computes_wrongly_is_graver_than_one_that_moves(self) -> None:
        document = complete_document("exit", machine=GPU, **{"libraries.cudnn.loaded": "8.9.7",
                                                             "determinism.deterministic_algorithms": False})
        kinds = [finding.kind for finding in examine(document)]
        assert kinds == sorted(kinds, key=KINDS.index)
        assert "wrong" in kinds

    @pytest.mark.parametrize(("facts", "check"), [
        ({"source.dirty": True}, "uncommitted-changes"),
        ({INSTALLED: [distribution("mine", "0.1", editable=True)]}, "unpinned-distributions"),
        ({INSTALLED: [distribution("mine", "0.1", origin="file:///home/researcher/mine")]}, "unpinned-distributions"),
        ({"capture.drift": [{"path": "precision.allow_tf32_matmul", "before": "false", "after": "true"}]}, "drift"),
    ], ids=["dirty", "editable", "from a folder", "drift"])
    def test_what_is_not_pinned_is_told(self, facts: dict[str, Any], check: str) -> None:
        assert check in {finding.check for finding in found(complete_document("exit", **facts), "moves")}


class TestWhatCouldNotBeRead:
    def test_a_failed_look_is_told_with_what_makes_it_readable(self) -> None:
        error = {"path": "accelerators", "code": "failed", "message": "libnvidia-ml.so.1 could not be loaded"}
        document = complete_document("exit", machine=GPU, **{"capture.errors": [error]})
        (finding,) = found(document, "unread")
        assert finding.says == "accelerators: libnvidia-ml.so.1 could not be loaded"
        assert "--gpus all" in finding.mend

    @pytest.mark.parametrize("code", ["timeout", "denied", "failed", "not-reported"])
    def test_every_code_of_a_failed_look_has_a_way_out(self, code: str) -> None:
        error = {"path": "cpu", "code": code, "message": "in words"}
        (finding,) = found(complete_document("exit", **{"capture.errors": [error]}), "unread")
        assert finding.mend

    def test_facts_that_rules_wait_for_are_grouped_by_why(self) -> None:
        document = complete_document("exit", **{"threads.torch_intraop": {"unread": "too-early"},
                                                "threads.mkl": {"unread": "too-early"}})
        (finding,) = found(document, "unread")
        assert set(finding.facts) == {"threads.torch_intraop", "threads.mkl"}
        assert "repro-env run" in finding.mend

    def test_a_fact_that_no_rule_waits_for_is_not_told(self) -> None:
        assert examine(complete_document("exit", **{"system.kernel": {"unread": "denied"}})) == ()


@pytest.mark.parametrize("machine", [CPU, GPU])
def test_whatever_was_not_read_is_no_contradiction_and_no_exception(machine: str) -> None:
    whole = complete_document("exit", machine=machine)
    for path in fact_paths(whole):
        findings = examine(erase(whole, {path: "failed"}))
        assert {finding.kind for finding in findings} <= {"unread"}, path
        assert all(finding.says and finding.mend for finding in findings), path


@pytest.mark.parametrize("host", ["h100-node", "a100-mig", "mi300x-node", "arm-node", "cpu-container"])
def test_recorded_hosts_contradict_themselves_nowhere(host: str) -> None:
    from recorded import RecordedSystem

    findings = examine(capture(RecordedSystem(host)))
    assert [finding for finding in findings if finding.kind in ("contradiction", "wrong")] == []
    assert {finding.kind for finding in findings} >= {"unread"}

"""Known-wrong combinations hit what they are bounded to and nothing beside it; changed meanings compare by meaning."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, distribution, framework, library

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts, Missing
from repro_env.comparability.rules import known, predicates
from repro_env.comparability.rules.known_changes import CHANGES
from repro_env.comparability.rules.known_wrong import CASES, LOUD, ORDINARY, SURE
from tests.client.comparability.planted.known import PLANTED
from tests.client.comparability.planted.planting import cards
from tests.client.comparability.sparse import side

#: a combination, and facts that lie just outside of its bounds.
OUTSIDE: dict[str, dict[str, Any]] = {
    "known-torch-1.8-pip-pascal": {"frameworks.torch.version": "1.9.0"},
    "known-cublas-9-tall": {"libraries.cublas": library("9.2.0")},
    "known-cudnn-7.6-conv3d-half": {"libraries.cudnn": library("8.0.5")},
    "known-sdpa-2.1-memory-efficient": {"frameworks.torch.version": "2.2.0"},
    "known-sdpa-2.5.0-cudnn": {"frameworks.torch.version": "2.5.1"},
    "known-sdpa-2.11-cudnn-hopper": {"determinism.sdp_cudnn": False},
    "known-cudnn-attention-b200": {"determinism.deterministic_algorithms": True, "determinism.warn_only": False},
    "known-compile-2.10-layer-norm": {"frameworks.backend": "cpu"},
    "known-xformers-0.0.16-training": {"distributions.installed": [distribution("xformers", "0.0.17")]},
    "known-rocm-7.2-gfx1201": {"frameworks.torch.rocm_build": "7.13.0"},
    "known-torch-2.0-gfx906": {"frameworks.torch.version": "1.13.1"},
    "known-mps-2022": {"frameworks.backend": "cpu"},
    "known-mps-optimizers": {"frameworks.torch.version": "2.4.0"},
    "known-mps-2.8-linear": {"frameworks.torch.version": "2.9.0"},
    "known-mps-attention": {"frameworks.torch.version": "2.11.0"},
    "known-mps-long-products": {"cpu.model": "Apple M4"},
    "known-mps-macos-27": {"system.os_name": "macOS 26.1"},
    "known-mkldnn-2019-avx512": {"cpu.instruction_sets": ["avx2"]},
    "known-mkl-2020-amd": {"cpu.vendor": "GenuineIntel"},
    "known-torch-2.4.0-windows": {"system.os_family": "linux"},
    "known-nnpack-1.8-arm": {"cpu.architecture": "x86_64"},
    "known-torch-1.9-apple-dot": {"frameworks.torch.version": "1.10.0"},
    "known-openblas-0.3.5-avx512": {"libraries.openblas": library("0.3.7")},
    "known-openblas-0.3.20-cooper-lake": {"cpu.instruction_sets": ["avx2", "avx512f"],
                                          "cpu.model": "Intel(R) Xeon(R) Platinum 8280", "threads.blas_pools": []},
    "known-openblas-0.3.33-apple": {"frameworks.numpy.build": "conda"},
    "known-openblas-0.3.16-avx512": {"libraries.openblas": library("0.3.17")},
    "known-scipy-1.16.0-sqrtm": {"frameworks.scipy": framework("1.16.1")},
    "known-jaxlib-0.4.28": {"distributions.installed": [distribution("jaxlib", "0.4.29")]},
    "known-deepspeed-0.17.6-zero-2": {"layout.sharding": "zero-3"},
    "known-nccl-2.27-one-rank": {"layout.world_size": 2},
    "known-iommu-peer-copies": {"declared.values": {"iommu": "off"}},
    "known-faulty-host": {"declared.values": None},
}


def fails(rule_id: str, document: dict[str, Any]) -> bool:
    rule: Any = next(rule for rule in known.WRONG if rule.id == rule_id)
    return rule.holds(Facts.of(document)) is not None


@pytest.mark.parametrize("rule_id", OUTSIDE)
def test_a_combination_ends_at_its_bounds(rule_id: str) -> None:
    planted = PLANTED[rule_id]
    wrong = change(complete_document(machine=planted.machine), **planted.right)
    assert fails(rule_id, wrong)
    assert not fails(rule_id, change(wrong, **OUTSIDE[rule_id]))


def test_every_combination_and_change_has_a_source_and_a_remedy_of_its_own() -> None:
    assert len(CASES) >= 40
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({item.id for item in CHANGES}) == len(CHANGES)
    for case in CASES:
        assert case.source
        assert case.remedy
        assert case.tests
        assert case.levels.guaranteed is Level.NONE or (case.levels is LOUD and "NaN" in case.words)


@pytest.mark.parametrize("case", [case for case in CASES if case.levels == SURE], ids=lambda case: case.id)
def test_nothing_above_none_is_possible_where_it_surely_computes_wrongly(case: Any) -> None:
    planted = PLANTED[f"known-{case.id}"]
    base = complete_document(machine=planted.machine)
    verdict = judge(Facts.of(change(base, **planted.left)), Facts.of(change(base, **planted.right)))
    assert (verdict.guaranteed, verdict.expected, verdict.possible) == (Level.NONE, Level.NONE, Level.NONE)


@pytest.mark.parametrize("case", [case for case in CASES if case.levels == ORDINARY], ids=lambda case: case.id)
def test_a_fault_of_ordinary_programs_leaves_other_programs_possible(case: Any) -> None:
    planted = PLANTED[f"known-{case.id}"]
    base = complete_document(machine=planted.machine)
    verdict = judge(Facts.of(change(base, **planted.right)), Facts.of(change(base, **planted.right)),
                    question=Question.COMPARE)
    assert verdict.expected is Level.NONE
    assert verdict.possible is Level.BITWISE


@pytest.mark.parametrize("item", CHANGES, ids=lambda item: item.id)
def test_releases_of_one_meaning_compare_and_the_last_before_a_change_is_before_it(item: Any) -> None:
    assert len(item.meanings) == len(item.releases) + 1
    project = known.meaning(item)

    def told(version: str) -> Any:
        if item.framework:
            return project(side(**{f"frameworks.{item.package}.version": version}))
        return project(side(**{"distributions.installed": [{"name": item.package, "version": version}]}))

    for index, boundary in enumerate(item.releases):
        assert told(boundary) == told(f"{boundary}.1") == item.meanings[index + 1]
    assert told("0.0.1") == item.meanings[0]


def test_a_summed_loss_lies_between_two_releases_that_compare() -> None:
    meanings = [known.meaning(CHANGES[0])(side(**{"distributions.installed": [
        {"name": "transformers", "version": version}]})) for version in ("4.45.2", "4.46.0", "4.47.1", "4.48.0")]
    assert meanings[0] == meanings[3] != meanings[1] == meanings[2]


def test_a_package_that_is_not_there_or_not_told_says_nothing() -> None:
    project = known.meaning(CHANGES[0])
    assert project(side(**{"distributions.installed": [], "distributions.complete": True})) is known.UNUSED
    with pytest.raises(Missing):
        project(side(**{"distributions.installed": []}))


class TestPredicates:
    """One that is surely false decides; one that nobody can tell is unread."""

    def test_a_library_is_the_loaded_one_in_the_process(self) -> None:
        document = complete_document("exit", **{"libraries.openblas": {**library("0.3.16"), "loaded": "0.3.30"}})
        assert not predicates.library("openblas", "0.3.16", "0.3.17")(Facts.of(document))

    def test_a_library_in_bounds_is_one_from_outside_wherever_it_is_stated(self) -> None:
        test = predicates.library("cublas", "", "9.2")
        assert test(side(**{"libraries.cublas.installed": "9.0"}))
        assert test(side(**{"libraries.cublas.loaded": "9.0"}))
        with pytest.raises(Missing):
            test(side(**{"libraries.cublas.loaded": "10.1"}))

    def test_a_library_that_was_not_loaded_is_not_the_one(self) -> None:
        facts = side("exit", **{"libraries.openblas.loaded": {"unread": "not-loaded"}})
        assert not predicates.library("openblas", "0.3.16", "0.3.17")(facts)

    def test_an_idle_device_is_no_device(self) -> None:
        document = complete_document(**{"accelerators.devices": cards()})
        assert not predicates.architecture(9)(Facts.of(document))

    def test_a_device_of_unknown_target_leaves_the_matter_open(self) -> None:
        with pytest.raises(Missing):
            predicates.architecture(9)(side(**{"accelerators.devices": [{"name": "a card of no known name"}]}))

    def test_a_label_of_an_index_tells_a_wheel(self) -> None:
        assert predicates.pip_wheel(side(**{"frameworks.torch.version": "1.8.1+cu111"}))
        assert not predicates.pip_wheel(side(**{"frameworks.torch": {"version": "1.8.1+cu111", "build": "conda"}}))
        with pytest.raises(Missing):
            predicates.pip_wheel(side(**{"frameworks.torch.version": "1.8.1"}))

    def test_half_precision_by_either_way_and_open_where_autocast_is_unread(self) -> None:
        assert predicates.half_precision(side(**{"precision.default_dtype": "float16"}))
        assert predicates.half_precision(side(**{"precision.autocast": "float16"}))
        assert not predicates.half_precision(side(**{"precision.autocast": None}))
        with pytest.raises(Missing):
            predicates.half_precision(side(**{"precision.default_dtype": "float32"}))

    @pytest.mark.parametrize(("version", "inside"), [
        ("2.4.0", True), ("2.4.0+cpu", True), ("2.4.1", False), ("2.3.1", False), ("2.4", False), ("main", False)])
    def test_bounds_hold_the_first_with_the_fault_and_not_the_first_without(self, version: str, inside: bool) -> None:
        assert predicates.within(version, "2.4.0", "2.4.1") is inside

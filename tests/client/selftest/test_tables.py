"""The tables of the self-test hold together, and a plan is the same at every call."""

from __future__ import annotations

import pytest

from repro_env.selftest import plan as planning
from repro_env.selftest.bases import BASES, BASES_BY_NAME, NEEDS
from repro_env.selftest.factors import FACTORS, FACTORS_BY_NAME, KINDS
from repro_env.selftest.machine import Machine
from repro_env.selftest.plan import Plan
from repro_env.selftest.running import _PREFIXES
from repro_env.selftest.stating import SEEN
from repro_env.selftest.workloads import SWITCHES, WORKLOADS


class Able(Machine):
    """A machine that has everything, or all but some modules and needs."""

    def __init__(self, *lacking: str) -> None:
        super().__init__([])
        self.lacking = lacking
        self.pythons = {"python": {"modules": [name for name in ("torch", "numpy", "scipy", "sklearn")
                                               if name not in lacking], "dispatched": []}}

    def has(self, need: str) -> bool:
        return need not in self.lacking


def test_names_are_said_once() -> None:
    assert len(FACTORS_BY_NAME) == len(FACTORS)
    assert len(BASES_BY_NAME) == len(BASES)


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_a_factor_names_what_there_is(factor: planning.Factor) -> None:
    assert set(factor.bases) <= set(BASES_BY_NAME)
    assert set(factor.workloads) <= set(NEEDS)
    assert len(set(factor.bases)) == len(factor.bases) > 0
    assert not factor.against or factor.against in FACTORS_BY_NAME
    assert factor.kind in KINDS


def test_every_workload_is_a_program_and_says_what_it_needs() -> None:
    assert set(NEEDS) == set(WORKLOADS)
    assert {workload for base in BASES for workload in base.workloads} == set(NEEDS)


def test_every_way_of_starting_is_known() -> None:
    known = {*_PREFIXES, "", "working-folder", "script-folder", "unrelated-distribution", "unknown-distribution",
             "edited", "fast-math", "blank-library", "numpy-simd"}
    assert {factor.start for factor in FACTORS} <= known


def test_settings_that_are_seen_are_settings_that_programs_read() -> None:
    assert set(SWITCHES) - {"warm"} < SEEN


def test_the_whole_has_at_least_600_launches_and_all_factors() -> None:
    plan = Plan(Able(), quick=False)

    assert len(plan.launches) >= 600
    assert {launch.factor.name for launch in plan.launches if launch.factor} == set(FACTORS_BY_NAME)
    assert {launch.base.name for launch in plan.launches} == set(BASES_BY_NAME)
    assert plan.left_out == []


def test_the_sample_is_small_and_the_same_at_every_call() -> None:
    one, other = (Plan(Able(), quick=True).launches for _ in range(2))

    assert one == other
    assert len(one) < 80
    assert sum("torch" in NEEDS[launch.workload] for launch in one) <= 12


def test_the_first_launches_are_those_of_the_bases() -> None:
    plan = Plan(Able(), quick=False)

    first = [launch for launch in plan.launches if launch.factor is None]
    assert plan.launches[:len(first)] == first
    assert {(launch.base.name, launch.workload) for launch in first} == {
        (launch.base.name, launch.workload) for launch in plan.launches}


def test_a_part_of_the_plan_has_something_of_every_base() -> None:
    launches = [launch for launch in Plan(Able(), quick=False).launches if launch.factor]

    assert {launch.base.name for launch in launches[:120]} == set(BASES_BY_NAME)
    assert {launch.factor.kind for launch in launches[:120] if launch.factor} == set(KINDS)


@pytest.mark.parametrize("quick", [True, False])
def test_what_is_not_importable_is_left_out_and_said(quick: bool) -> None:
    plan = Plan(Able("torch", "scipy", "sklearn"), quick=quick)

    assert {NEEDS[launch.workload] for launch in plan.launches} == {(), ("numpy",)}
    assert any("importable" in words for words in plan.left_out)


def test_a_factor_that_this_machine_cannot_set_is_left_out_and_said() -> None:
    plan = Plan(Able("unshare"), quick=False)

    assert "host-name" not in {launch.factor.name for launch in plan.launches if launch.factor}
    assert "factor host-name: unshare is not there" in plan.left_out


def test_one_base_alone_is_not_the_whole() -> None:
    plan = Plan(Able(), quick=False, bases=["python"])

    assert {launch.base.name for launch in plan.launches} == {"python"}
    assert not plan.whole
    assert Plan(Able(), quick=False).whole

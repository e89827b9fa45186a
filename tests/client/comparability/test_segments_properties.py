"""Gathering keeps every process once, in one segment, whatever was seen of a run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from repro_env.comparability.levels import Scope
from repro_env.comparability.segments import Look, gather

TIMES = st.integers(0, 9).map(lambda second: f"2026-01-31T12:00:0{second}.000Z")
LOOKS = st.builds(
    Look, st.text("abcdef0123456789", min_size=6, max_size=6), st.sampled_from(["process", "exit", "prologue"]),
    st.sampled_from(["process", "node", "environment"]), st.integers(0, 2), TIMES,
    st.sampled_from([None, "node-17", "node-18"]), st.none() | st.integers(0, 3), st.integers(1, 4),
    st.none() | st.integers(1, 4), st.sampled_from([None, "7.r0", "7.r1"]), st.sampled_from([None, "7", "8"]),
    st.none() | st.integers(0, 1))
RUNS = st.lists(LOOKS, min_size=1, max_size=12, unique_by=lambda look: look.observation_id)


@given(looks=RUNS, seed=st.randoms())
def test_order_does_not_matter(looks, seed):
    shuffled = list(looks)
    seed.shuffle(shuffled)
    assert gather(shuffled) == gather(looks) == gather(looks + looks)


@given(looks=RUNS)
def test_sides_are_those_of_the_segments_each_once(looks):
    run = gather(looks)
    of_segments = [side for segment in run.segments for side in segment.sides]
    assert sorted(of_segments, key=lambda side: side.look.observation_id) == list(run.sides)
    assert len({side.look.observation_id for side in run.sides}) == len(run.sides)
    assert run.sides
    assert all(segment.sides for segment in run.segments)


@given(looks=RUNS)
def test_inside_beats_outside(looks):
    run = gather(looks)
    inside = any(look.in_process for look in looks)
    assert (run.scope is Scope.PROCESS) is inside
    assert all(side.look.in_process is inside for side in run.sides)


@given(looks=RUNS)
def test_a_side_is_filled_by_prologues_of_its_node_and_of_no_other_start(looks):
    for side in gather(looks).sides:
        for filler in side.fillers:
            assert filler.vantage == "prologue"
            assert filler.node == side.look.node
            if side.look.in_process:
                assert None in {filler.job, side.look.job} or filler.job == side.look.job
                assert None in {filler.restart, side.look.restart} or filler.restart == side.look.restart
        assert len(set(side.fillers)) == len(side.fillers)


@given(looks=RUNS)
def test_ranks_are_counted_within_segments(looks):
    run = gather(looks)
    assert run.partial is any(segment.partial for segment in run.segments)
    for segment in run.segments:
        numbers = {side.look.rank for side in segment.sides if side.look.rank is not None}
        assert segment.ranks_seen == (max(len(numbers), 1) if run.scope is Scope.PROCESS else 0)
        assert segment.started_at <= min(side.look.captured_at for side in segment.sides)


@given(looks=RUNS)
def test_each_segment_is_a_run_of_its_own(looks):
    run = gather(looks)
    for segment in run.segments:
        alone = run.of_segment(segment)
        assert (alone.sides, alone.partial) == (segment.sides, segment.partial)
        assert (alone.ranks_seen, alone.world_size) == (segment.ranks_seen, segment.world_size)
    assert [segment.started_at for segment in run.segments] == sorted(
        segment.started_at for segment in run.segments)

"""A run that was started more than once: its processes by start, what fills them, and what stands for the whole."""

from __future__ import annotations

import random

import pytest
from documents import change, complete_document, h100

from repro_env.comparability.levels import Level, Question
from repro_env.comparability.runs import ends_of_documents, run_vector, vector_of_documents
from repro_env.comparability.segments import Look, gather, job_key
from repro_env.comparability.vector import FAILS, OK, UNREAD, class_key

DENIED = {"unread": "denied"}
SILENT = {"unread": "not-reported"}


def rank(number, segment, *, vantage="process", size=2, **overrides):
    """A look at one rank of one start."""
    start = int(segment.rpartition("r")[2]) if segment else 0
    return complete_document(vantage, "h100", **{
        "capture.observation_id": f"{segment}-{vantage}-{number}", "capture.segment": segment,
        "capture.process.rank": number, "capture.process.pid": 100 * start + number,
        "capture.process.world_size": size, "layout.world_size": size, "capture.job.scheduler": "slurm",
        "capture.job.cluster": "alpha", "capture.job.job_id": "7", "capture.job.restart": start,
        "capture.captured_at": f"2026-01-31T{12 + start}:00:00.000Z", **overrides})


def prolog(name="prolog", hour=11, restart=SILENT, **overrides):
    """A Prolog of the node, which is not told of restarts."""
    return complete_document("prologue", "h100", **{
        "capture.observation_id": name, "capture.subject": "node", "capture.segment": SILENT,
        "capture.job.scheduler": "slurm", "capture.job.cluster": "alpha", "capture.job.job_id": "7",
        "capture.job.restart": restart, "capture.captured_at": f"2026-01-31T{hour}:00:00.000Z", **overrides})


def shape(*documents):
    return gather(Look.of(document) for document in documents)


def fillers(*documents):
    return {side.look.observation_id: [look.observation_id for look in side.fillers] for side in
            shape(*documents).sides}


def test_ranks_count_within_their_segment():
    run = shape(rank(0, "7.r0"), rank(1, "7.r0"), rank(0, "7.r1"))
    assert [(segment.name, segment.ranks_seen, segment.world_size, segment.partial) for segment in run.segments] == [
        ("7.r0", 2, 2, False), ("7.r1", 1, 2, True)]
    assert (run.partial, run.ranks_seen, run.world_size) == (True, 1, 2)


def test_a_start_on_fewer_ranks_is_whole():
    run = shape(rank(0, "7.r0"), rank(1, "7.r0"), rank(0, "7.r1", size=1))
    assert (run.partial, run.ranks_seen, run.world_size) == (False, 1, 1)


def test_segments_stand_in_the_order_of_their_beginning():
    assert [segment.name for segment in shape(rank(0, "7.r10"), rank(0, "7.r9"), rank(0, "7.r1")).segments] == [
        "7.r1", "7.r9", "7.r10"]


def test_one_process_seen_in_both_starts_is_two_sides():
    same = {"capture.process.pid": 1}
    run = shape(rank(0, "7.r0", **same), rank(0, "7.r0", vantage="exit", **same), rank(0, "7.r1", **same))
    assert [side.look.observation_id for side in run.sides] == ["7.r0-exit-0", "7.r1-process-0"]


def test_a_process_that_swept_its_environment_stays_in_its_segment():
    swept = rank(0, "7.r0", vantage="exit", **{"capture.segment": None})
    run = shape(rank(0, "7.r0"), swept, rank(1, "7.r0"))
    assert [segment.name for segment in run.segments] == ["7.r0"]
    assert len(run.sides) == 2


def test_documents_that_tell_no_start_are_one_segment():
    for silent in (None, SILENT, {"unread": "not-recorded"}):
        run = shape(rank(0, "7.r0", **{"capture.segment": silent}), rank(1, "7.r1", **{"capture.segment": silent}))
        assert [segment.name for segment in run.segments] == [None]
        assert run.partial is False


def test_a_run_seen_from_outside_has_one_segment():
    run = shape(prolog("a"), prolog("b", hour=13))
    assert [(segment.name, segment.ranks_seen, segment.partial) for segment in run.segments] == [(None, 0, False)]


class TestFilling:
    """Which prologue fills which start."""

    def test_a_prolog_that_knows_its_start_fills_that_start_alone(self):
        assert fillers(rank(0, "7.r0"), rank(0, "7.r1"), prolog(restart=1)) == {
            "7.r0-process-0": [], "7.r1-process-0": ["prolog"]}

    def test_one_that_does_not_fills_the_start_after_it(self):
        before, between = prolog("before"), prolog("between", hour=12.5)
        between["capture"]["captured_at"] = "2026-01-31T12:30:00.000Z"
        assert fillers(rank(0, "7.r0"), rank(0, "7.r1"), before, between) == {
            "7.r0-process-0": ["before"], "7.r1-process-0": ["between"]}

    def test_a_later_prolog_fills_nothing_before_it(self):
        assert fillers(rank(0, "7.r0"), prolog(hour=20)) == {"7.r0-process-0": []}

    def test_the_last_of_each_subject_fills(self):
        environment = prolog("environment", hour=10, **{"capture.subject": "environment"})
        assert fillers(rank(0, "7.r0"), prolog("early", hour=9), prolog("late"), environment) == {
            "7.r0-process-0": ["environment", "late"]}

    def test_another_job_under_the_same_run_id_fills_nothing(self):
        other = prolog(restart=0, **{"capture.job.job_id": "8"})
        assert fillers(rank(0, "7.r0"), other) == {"7.r0-process-0": []}

    def test_what_it_fills_is_what_the_start_had(self):
        hidden = {"accelerators.devices": DENIED}
        other = h100(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0", sm_count=108)
        old, new = prolog("old"), prolog("new", **{"accelerators.devices": [other]})
        new["capture"]["captured_at"] = "2026-01-31T12:30:00.000Z"
        documents = [rank(0, "7.r0", size=1, **hidden), rank(0, "7.r1", size=1, **hidden), old, new]
        (first, _), (last, _) = ends_of_documents(documents, Question.COMPARE)
        assert first != last


class TestWhole:
    """What stands for a run of several starts."""

    def test_equal_starts_are_one_environment(self):
        one, _ = vector_of_documents([rank(0, "7.r0", size=1)])
        two, run = vector_of_documents([rank(0, "7.r0", size=1), rank(0, "7.r1", size=1)])
        assert one == two
        assert class_key(two, Level.BITWISE, run.scope) is not None

    def test_starts_that_differ_are_not_one_environment_and_that_is_said(self):
        vector, run = vector_of_documents([rank(0, "7.r0", size=1), rank(0, "7.r1", size=1,
                                                                         **{"threads.torch_intraop": 4})])
        assert vector["ranks-differ"].state == FAILS
        assert vector["ranks-differ"].value.endswith("from one segment of the run to another")
        assert class_key(vector, Level.BITWISE, run.scope) is None

    def test_ranks_that_differ_in_every_start_alike_differ_not_by_start(self):
        documents = [rank(number, segment, **({"threads.torch_intraop": 4} if number else {}))
                     for segment in ("7.r0", "7.r1") for number in (0, 1)]
        vector, _ = vector_of_documents(documents)
        assert vector["ranks-differ"].state == FAILS
        assert "segment" not in vector["ranks-differ"].value

    def test_a_start_that_was_not_seen_whole_leaves_it_open(self):
        vector, _ = vector_of_documents([rank(0, "7.r0"), rank(1, "7.r0"), rank(0, "7.r1")])
        assert vector["ranks-differ"].state == UNREAD

    def test_segments_may_be_given_as_any_sequences(self):
        documents = [rank(0, "7.r0", size=1), rank(0, "7.r1", size=1)]
        vector, run = vector_of_documents(documents)
        assert run_vector(iter([iter([vector]), (vector,)]), run) == vector


class TestResume:
    """The first start against the last."""

    def test_the_ends_are_the_first_and_the_last_start(self):
        documents = [rank(0, f"7.r{start}", size=1, **{"threads.torch_intraop": start + 1}) for start in (2, 0, 1)]
        (first, one), (last, other) = ends_of_documents(documents)
        assert ([segment.name for segment in one.segments], [segment.name for segment in other.segments]) == (
            ["7.r0"], ["7.r2"])
        assert first != last
        assert first["ranks-differ"].state == last["ranks-differ"].state == OK

    def test_the_program_counts(self):
        documents = [rank(0, "7.r0", size=1), rank(0, "7.r1", size=1, **{"random.resume_state": "not-restored"})]
        (first, _), (last, _) = ends_of_documents(documents)
        assert (first["resume-state"].state, last["resume-state"].state) == (OK, FAILS)

    def test_a_run_of_one_start_has_no_ends(self):
        with pytest.raises(ValueError, match="seen to start once"):
            ends_of_documents([rank(0, "7.r0"), rank(1, "7.r0")])

    def test_a_segment_is_found_by_its_name(self):
        run = shape(rank(0, "7.r0"), rank(0, "7.r1"))
        assert run.named("7.r1").name == "7.r1"
        with pytest.raises(KeyError, match=r"no segment 7\.r9; it has 7\.r0, 7\.r1"):
            run.named("7.r9")


@pytest.mark.parametrize("seed", range(12))
def test_nothing_depends_on_the_order_of_arrival(seed):
    documents = [rank(number, segment, vantage=vantage, **({"driver.kernel_module": DENIED} if number else {}))
                 for segment in ("7.r0", "7.r1", "7.r2") for number in (0, 1) for vantage in ("process", "exit")]
    documents += [prolog("p0"), prolog("p1", hour=13, **{"driver.kernel_module": "570.00"}),
                  prolog("p2", restart=2, hour=9), rank(5, None)]
    shuffled = random.Random(seed).sample(documents, len(documents))
    assert vector_of_documents(shuffled) == vector_of_documents(documents)
    assert ends_of_documents(shuffled) == ends_of_documents(documents)


class TestJobKey:
    """The identity that joins a job's prologue and its processes."""

    @staticmethod
    def of(**facts):
        document = change(complete_document(), **{f"capture.job.{name}": value for name, value in facts.items()})
        return job_key(document["capture"]["job"])

    def test_restarts_do_not_count(self):
        job = {"scheduler": "slurm", "cluster": "alpha", "job_id": "7"}
        assert self.of(**job, restart=0) == self.of(**job, restart=SILENT) == '["slurm","alpha","7"]'

    def test_without_a_job_there_is_none(self):
        assert self.of() is None
        assert self.of(scheduler="pbs", job_id=SILENT) is None

    def test_a_pod_counts_and_not_the_name_of_its_job(self):
        job = {"scheduler": "kubernetes", "cluster": SILENT, "job_id": "train", "namespace": "n"}
        assert self.of(**job, pod=SILENT) is None
        assert self.of(**job, pod="train-0-x7k2p") != self.of(**job, pod="train-0-c2l9q")

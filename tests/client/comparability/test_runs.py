"""Overlay, the choice of looks and the vector of a run are pure and do not depend on order."""

from __future__ import annotations

import itertools

import pytest
from documents import complete_document

from repro_env.comparability.judge import judge_vectors
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.runs import FILLED_SECTIONS, judged_facts, overlay, vector_of_documents
from repro_env.comparability.segments import Look, gather
from repro_env.comparability.vector import class_key

UNREAD = {"unread": "denied"}


def look(name, vantage="process", **overrides):
    return Look.of(document(name, vantage, **overrides))


def document(name, vantage="process", **overrides):
    return complete_document(vantage, "h100", **{"capture.observation_id": name, **overrides})


def test_facts_of_the_process_win_absent_ones_too():
    process = document("p", **{"driver.compat": None, "driver.cuda_level": "12.4"})["stack"]
    prologue = document("n", **{"driver.compat": True, "driver.cuda_level": "12.9"})["stack"]
    assert overlay(prologue, process) == process


@pytest.mark.parametrize(("process", "prologue", "kept"), [
    (("claimed", "a"), ("engine", "b"), ("engine", "b")), (("engine", "a"), ("engine", "b"), ("engine", "a")),
    (("claimed", "a"), ("claimed", "b"), ("claimed", "a")), (("file", "a"), ("claimed", "b"), ("claimed", "b")),
    (("claimed", "a"), ("engine", None), ("claimed", "a"))])
def test_digest_that_the_engine_told_outranks_one_that_was_claimed(process, prologue, kept):
    def stack(learned, digest):
        return document("n", **{"container.learned": learned, "container.image_digest": digest})["stack"]

    filled = overlay(stack(*prologue), stack(*process))["container"]
    assert (filled["learned"], filled["image_digest"]) == kept


@pytest.mark.parametrize("path", ["driver.kernel_module", "accelerators.devices", "cpu.model", "system.kernel",
                                  "container.engine"])
def test_unread_fact_of_the_machine_is_filled(path):
    section, name = path.split(".")
    filled = overlay(document("n")["stack"], document("p", **{path: UNREAD})["stack"])
    assert filled[section][name] == document("n")["stack"][section][name]


@pytest.mark.parametrize("path", ["threads.torch_intraop", "precision.autocast", "frameworks.torch", "python.version"])
def test_unread_fact_of_the_program_stays_unread(path):
    section, name = path.split(".")
    assert section not in FILLED_SECTIONS
    filled = overlay(document("n")["stack"], document("p", **{path: UNREAD})["stack"])
    assert filled[section][name] == UNREAD


def test_unread_code_of_the_process_stays_where_the_prologue_did_not_read_either():
    filled = overlay(document("n", **{"driver.compat": {"unread": "timeout"}})["stack"],
                     document("p", **{"driver.compat": UNREAD})["stack"])
    assert filled["driver"]["compat"] == UNREAD


def test_overlay_changes_neither_side():
    prologue, process = document("n")["stack"], document("p", **{"driver.compat": UNREAD})["stack"]
    overlay(prologue, process)
    assert process == document("p", **{"driver.compat": UNREAD})["stack"]
    assert prologue == document("n")["stack"]


def test_exit_look_stands_for_its_process():
    run = gather([look("end", "exit", **{"capture.sequence": 1}), look("step", **{"capture.sequence": 2})])
    assert [side.look.observation_id for side in run.sides] == ["end"]


def test_each_process_has_a_side_and_helpers_of_ranks_have_none():
    ranks = [look(f"r{number}", **{"capture.process.rank": number, "capture.process.pid": number,
                                   "capture.process.world_size": 2}) for number in range(2)]
    run = gather([*ranks, look("helper", **{"capture.process.pid": 99})])
    assert [side.look.observation_id for side in run.sides] == ["r0", "r1"]
    assert (run.ranks_seen, run.world_size, run.partial) == (2, 2, False)


def test_a_process_that_only_ended_beside_one_that_worked_has_started_it():
    looks = [look("launcher", "exit", **{"capture.process.pid": 1}), look("step", **{"capture.process.pid": 2}),
             look("end", "exit", **{"capture.process.pid": 2, "capture.sequence": 1})]
    assert [side.look.observation_id for side in gather(looks).sides] == ["end"]
    assert [side.look.observation_id for side in gather(looks[:1]).sides] == ["launcher"]


def test_world_size_is_the_largest_announced_and_a_single_process_is_whole():
    assert gather([look("a")]).partial is False
    assert gather([look("a", **{"capture.process.rank": 0, "layout.world_size": 4})]).partial is True


def test_prologues_alone_make_one_side_a_node():
    run = gather([look("env", "prologue"), look("node", "prologue", **{"capture.subject": "node"}),
                  look("other", "prologue", **{"capture.process.node": "node-18"})])
    assert run.scope is Scope.STACK
    assert [(side.look.observation_id, [filler.observation_id for filler in side.fillers]) for side in run.sides] == [
        ("env", ["node"]), ("other", [])]


def test_environment_prologue_fills_before_the_node_one():
    run = gather([look("p"), look("node", "prologue", **{"capture.subject": "node"}), look("env", "prologue")])
    assert [filler.observation_id for filler in run.sides[0].fillers] == ["env", "node"]


def test_empty_run_is_refused():
    with pytest.raises(ValueError, match="at least one look"):
        gather([])


def test_filled_facts_are_judged_as_read():
    facts = judged_facts(document("p", **{"driver.kernel_module": UNREAD}), [document("n", "prologue")["stack"]])
    assert facts.read("driver.kernel_module") == "550.54.15"
    assert facts.scope is Scope.PROCESS


def pieces():
    place = {"capture.process.world_size": 2, "layout.world_size": 2}
    return [document("a", "prologue"), document("b", **{"capture.process.rank": 0, **place, "driver.compat": UNREAD}),
            document("c", "exit", **{"capture.process.rank": 0, **place}),
            document("d", **{"capture.process.rank": 1, **place, "cpu.model": UNREAD})]


def test_vector_of_a_run_does_not_depend_on_order():
    expected = vector_of_documents(pieces())
    assert all(vector_of_documents(order) == expected for order in itertools.permutations(pieces()))


def test_partial_run_has_no_bitwise_key_and_the_whole_one_has():
    whole, run = vector_of_documents(pieces())
    assert (run.partial, class_key(whole, Level.BITWISE, run.scope) is None) == (False, False)
    part, run = vector_of_documents(pieces()[:3])
    assert run.partial
    assert class_key(part, Level.BITWISE, run.scope) is None
    assert part["ranks-differ"].lacking == (("capture.process.rank", "not-recorded"),)


def test_ranks_that_each_have_a_seed_and_arguments_of_their_own_share_an_environment():
    def run(first_seed):
        return [complete_document("exit", **{
            "capture.observation_id": f"o{rank}", "capture.process.rank": rank, "capture.process.pid": 100 + rank,
            "capture.process.world_size": 2, "layout.world_size": 2,
            "random.seeds": {"torch": first_seed + rank, "numpy": 1, "python": 1},
            "source.arguments_digest": f"sha256:{rank}" + "0" * 63}) for rank in (0, 1)]

    one, _ = vector_of_documents(run(42), Question.REPEAT)
    again, _ = vector_of_documents(run(42), Question.REPEAT)
    other, _ = vector_of_documents(run(43), Question.REPEAT)
    assert one["ranks-differ"].state == "ok"
    verdict = judge_vectors(one, again, scope=Scope.PROCESS, question=Question.REPEAT)
    assert verdict.guaranteed is Level.BITWISE
    verdict = judge_vectors(one, other, scope=Scope.PROCESS, question=Question.REPEAT)
    assert [reason.rule for reason in verdict.reasons] == ["seed"]

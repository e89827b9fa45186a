"""``with repro_env.run(...)``: a block is observed like a program, and nothing of it stays behind."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from .conftest import Start

TRAINING = """
import os, sys, torch, repro_env
from torch.nn.modules import module as modules
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, TensorDataset
hooks = lambda: [len(modules._global_forward_hooks), len(modules._global_forward_pre_hooks),
                 len(optimizers._global_optimizer_post_hooks), len(sys.meta_path)]
before, finders = hooks(), list(sys.meta_path)
original = DataLoader.__iter__
with repro_env.run(project="vision", group="table-2", labels={"owner": "team-a"}, watch=("loaders", "draws"),
                   declare={"layout.micro_batch": 2, "epochs": 1}) as run:
    torch.manual_seed(4)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (batch,) in DataLoader(TensorDataset(torch.ones(8, 3)), batch_size=2, shuffle=True, drop_last=True):
        model(batch).sum().backward(); optimizer.step()
    inside = run.observe()
    repro_env.report_result("weights", model)
    torch.use_deterministic_algorithms(True)
print(run.run_id)
assert inside.run_id == run.run_id
if "NOTHING_STAYS" in os.environ:
    assert hooks() == before and sys.meta_path == finders and DataLoader.__iter__ is original, hooks()
"""




def test_a_training_block_is_observed_as_under_run(started: Start, script: Callable[..., str]) -> None:
    program = script(TRAINING)
    plain = started(sys.executable, program, observed=False, NOTHING_STAYS="1")
    under = started(sys.executable, program)

    assert plain.returncode == 0, plain.stderr
    assert plain.stderr == ""
    assert plain.notice.count("\n") == 1
    moments = [(item["capture"]["vantage"], item["capture"]["moment"]) for item in plain.documents]
    assert moments == [("process", "first-step"), ("process", "call"), ("exit", "exit")]
    assert {item["capture"]["run_id"] for item in plain.documents} == {plain.stdout.strip()}
    last = plain.of("exit")
    assert (last["capture"]["project"], last["capture"]["group"]) == ("vision", "table-2")
    assert last["capture"]["labels"] == {"owner": "team-a"}
    assert set(last["capture"]["results"]) == {"weights"}
    assert {"path": "determinism.deterministic_algorithms", "before": "false", "after": "true"} \
        in last["capture"]["drift"]
    _states_the_program(last["program"])
    assert under.stdout.strip() == under.documents[0]["capture"]["run_id"]
    assert [item["digests"] for item in under.documents] == [item["digests"] for item in plain.documents]


def _states_the_program(program: dict) -> None:
    assert program["layout"]["micro_batch"] == 2
    assert program["declared"]["values"] == {"layout.micro_batch": "2", "epochs": "1"}
    assert program["random"]["seeds"] == {"torch": 4}
    assert program["random"]["largest_cuda_draw"] is None
    data = program["data"]
    assert (data["sampler"], data["drop_last"], data["loader_workers"]) == ("RandomSampler", True, 0)


def test_an_exception_passes_through_and_the_end_is_looked_at(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import repro_env
try:
    with repro_env.run():
        raise ValueError("mine")
except ValueError as error:
    assert error.__traceback__.tb_next is None, "nothing of ours in between"
    print(repr(error), error.__context__, error.__cause__)
""", observed=False)

    assert ended.stdout == "ValueError('mine') None None\n", ended.stderr
    assert [item["capture"]["moment"] for item in ended.documents] == ["exit"]


@pytest.mark.parametrize("leave", ["raise KeyboardInterrupt", "raise SystemExit(3)", "import sys; sys.exit(3)"])
def test_the_program_may_end_in_the_block(started: Start, leave: str) -> None:
    code = f"import repro_env\nwith repro_env.run():\n    {leave}\n"
    ended = started(sys.executable, "-c", code, observed=False)

    assert ended.returncode == (-2 if "Keyboard" in leave else 3)
    assert [item["capture"]["vantage"] for item in ended.documents] == ["exit"]


def test_each_block_is_a_run_of_its_own_and_an_inner_one_joins(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import repro_env
with repro_env.run(project="outer", declare={"a": 1}) as first:
    with repro_env.run(project="inner", declare={"b": 2}) as inner:
        inner.observe()
    first.observe()  # what the inner block states holds for the run
    assert inner.run_id == first.run_id
with repro_env.run() as second:
    repro_env.report_result("r", b"1")
with repro_env.run(run_id="given") as third:
    pass
print(len({first.run_id, second.run_id, third.run_id}), third.run_id)
""", observed=False)

    assert ended.stdout == "3 given\n", ended.stderr
    looks = [(item["capture"]["project"], item["capture"]["moment"], item["program"]["declared"]["values"])
             for item in ended.documents[:3]]
    assert looks == [("inner", "call", {"a": "1", "b": "2"}), ("inner", "call", {"a": "1", "b": "2"}),
                     ("inner", "exit", {"a": "1", "b": "2"})]
    assert ended.documents[3]["program"]["declared"]["values"] is None
    assert [sorted(item["capture"]["results"]) for item in ended.documents[3:]] == [["r"], []]
    assert len({item["capture"]["observation_id"] for item in ended.documents}) == 5


def test_blocks_under_one_given_run_have_ids_of_their_own(started: Start) -> None:
    code = "import repro_env\nfor _ in range(2):\n    with repro_env.run() as run: pass\n    print(run.run_id)"
    ended = started(sys.executable, "-c", code, observed=False, REPRO_ENV_RUN_ID="run-a")

    assert ended.stdout == "run-a\nrun-a\n"
    assert len({item["capture"]["observation_id"] for item in ended.documents}) == 2


def test_what_is_wrong_is_said_and_never_raised(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import repro_env
with repro_env.run(project="two words", labels={1: 2}, watch=("magic",), declare={"layout.micro_batch": "many"},
                   run_id="a b") as run:
    print("inside")
print(bool(run.run_id))
""", observed=False)

    assert ended.stdout == "inside\nTrue\n"
    for word in ("project:", "labels:", "watch:", "layout.micro_batch:", "run_id:"):
        assert word in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.documents) == 1


def test_a_block_that_cannot_be_observed_runs(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import repro_env, repro_env.looks, repro_env.process
def fail(*_, **__): raise RuntimeError("planted")
repro_env.looks.take = fail
repro_env.process.settings_in_force = fail
with repro_env.run() as run:
    print("inside", run.observe())
""", observed=False)

    assert (ended.returncode, ended.stdout) == (0, "inside None\n")
    assert "planted" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_children_of_a_block_know_its_run_and_the_program_sees_nothing(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import os, repro_env, subprocess, sys
child = [sys.executable, "-c", "import os; print(os.environ.get('REPRO_ENV_RUN_ID'))"]
with repro_env.run() as run:
    inside = subprocess.run(child, capture_output=True, text=True).stdout.strip()
    assert "REPRO_ENV_RUN_ID" not in os.environ
after = subprocess.run(child, capture_output=True, text=True).stdout.strip()
print(inside == run.run_id, after)
""", observed=False)

    assert ended.stdout == "True None\n"


def test_a_child_forked_in_a_block_takes_no_look_at_its_end(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import os, repro_env
with repro_env.run():
    child = os.fork()
if child:
    print(os.waitpid(child, 0)[1])
""", observed=False)

    assert ended.stdout == "0\n"
    assert len(ended.documents) == 1


def test_a_block_in_an_observed_program_adds_what_it_states(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import repro_env
with repro_env.run(project="vision") as run:
    run.observe()
print(run.run_id)
""", REPRO_ENV_PROJECT="speech")

    assert [(item["capture"]["project"], item["capture"]["vantage"]) for item in ended.documents] == [
        ("vision", "process"), ("vision", "exit")]
    assert {item["capture"]["run_id"] for item in ended.documents} == {ended.stdout.strip()}


def test_the_handle_can_be_printed() -> None:
    import repro_env

    assert repr(repro_env.run(run_id="run-a")) == "Run(run_id='run-a')"

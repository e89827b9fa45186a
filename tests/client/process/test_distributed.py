"""Real ranks that exchange gradients over gloo: one stack, one program, one whole run, whatever the number of ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from repro_env.comparability.runs import vector_of_documents
from repro_env.probes import inprocess, inprocess_distributed

from .conftest import Ended, Start

#: trains as one rank; ranks meet in a file of the working folder.
RANK = """
import os, torch
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"),
                                     rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
torch.manual_seed(1)
def train():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.5, static_graph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
train()  # the model is gone when the program ends
torch.distributed.destroy_process_group()
"""
#: starts every rank as a program of its own.
STARTED = """
import os, subprocess, sys
count = int(sys.argv[1])
ranks = [subprocess.Popen([sys.executable, sys.argv[2]], env={**os.environ, "RANK": str(n), "LOCAL_RANK": str(n),
                                                              "WORLD_SIZE": str(count)})
         for n in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
"""
#: imports torch once and forks every rank, which ends as programs do.
FORKED = """
import os, sys
import torch, torch._dynamo
count, program = int(sys.argv[1]), open(sys.argv[2]).read()
children = []
for rank in range(count):
    children.append(os.fork())
    if not children[-1]:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count))
        exec(program)
        sys.exit()
ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.stdout.flush()
os._exit(max(map(abs, ended)))
"""


@pytest.fixture(params=[(2, STARTED), (4, FORKED)], ids=["2-started", "4-forked"])
def job(request: pytest.FixtureRequest, started: Start, script: Callable[..., str]) -> tuple[int, Ended]:
    count, launcher = request.param
    ended = started(sys.executable, script(launcher, "launcher.py"), str(count), script(RANK))
    assert ended.returncode == 0, ended.stderr
    return count, ended


def _at(ended: Ended, vantage: str) -> list[dict[str, Any]]:
    return [document for document in ended.documents if document["capture"]["vantage"] == vantage]


def test_ranks_of_a_healthy_job_are_one_stack_and_one_whole_run(job: tuple[int, Ended]) -> None:
    count, ended = job
    assert len(ended.documents) == 2 * count
    assert all(document["capture"]["errors"] == [] for document in ended.documents)
    assert len({document["digests"]["stack"] for document in ended.documents}) == 1
    for vantage in ("process", "exit"):
        assert len({document["digests"]["program"] for document in _at(ended, vantage)}) == 1

    _, run = vector_of_documents(ended.documents)
    assert (run.ranks_seen, run.world_size, run.partial) == (count, count, False)
    _says_how_it_is_split(ended, count)


def _says_how_it_is_split(ended: Ended, count: int) -> None:
    first, last = _at(ended, "process")[0]["program"], _at(ended, "exit")[0]["program"]
    assert first["layout"]["ddp_buckets"] == {"unread": "too-early"}
    assert last["layout"].pop("ddp_buckets").startswith("sha256:")
    told = {name: value for name, value in last["layout"].items() if not isinstance(value, dict)}
    assert told == {"world_size": count, "data_parallel": count, "tensor_parallel": 1, "pipeline_parallel": 1,
                    "sharding": "none", "ddp_bucket_mb": "0.5", "static_graph": True, "jax_devices": None}
    assert last["model"]["training"] is True
    assert last["model"]["batch_norm"] == "train"
    assert last["model"]["compile"] is False
    assert {document["stack"]["collectives"]["backend"] for document in ended.documents} == {"gloo"}


#: spawns its ranks and hands them their numbers as arguments; no variable names them.
SPAWNED = """
import os, sys, torch
def rank(number, count, meeting):
    torch.distributed.init_process_group("gloo", init_method="file://" + meeting, rank=number, world_size=count)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    torch.distributed.destroy_process_group()
if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, args=(2, os.path.abspath("spawned")), nprocs=2)
"""


def test_ranks_that_a_program_spawned_are_known_by_their_group(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script(SPAWNED))

    assert ended.returncode == 0, ended.stderr
    places = {document["capture"]["process"]["pid"]: document["capture"]["process"] for document in ended.documents}
    assert sorted((place["rank"], place["world_size"]) for place in places.values() if place["rank"] is not None) == [
        (0, 2), (1, 2)]
    _, run = vector_of_documents(ended.documents)
    assert (len(run.sides), run.ranks_seen, run.world_size, run.partial) == (2, 2, 2, False)


@pytest.mark.parametrize(("announced", "told"), [
    ({}, {"rank": 3, "world_size": 8}), ({"RANK": "1", "WORLD_SIZE": "2"}, {"rank": 3, "world_size": 8}),
    ({"RANK": "3", "WORLD_SIZE": "8"}, {}), ({"RANK": "13", "WORLD_SIZE": "16"}, {})],
    ids=["none", "nodes", "ranks", "more-ranks"])
def test_the_place_in_a_group_counts_where_no_launcher_announced_as_many(announced: dict[str, str],
                                                                         told: dict[str, int]) -> None:
    seen = inprocess.Seen()
    seen.group, seen.rank = ("gloo", 8), 3
    system: Any = SimpleNamespace(environ=announced)
    assert inprocess_distributed.place(system, seen) == told

"""What the looks at a real program say, and when they are taken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from repro_env.looks import drift

from .conftest import Start

TRAINING = """
import torch
torch.manual_seed(11)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(5, 4)).sum().backward()
    optimizer.step()
"""
REPORTING = TRAINING + """
torch.use_deterministic_algorithms(True)
import repro_env
print(repro_env.report_result("weights", model))
"""
NUMPY = """
import numpy
a = numpy.ones((300, 300)); a @ a
"""


def test_training_is_looked_at_after_the_first_step_and_at_the_end(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script(REPORTING))

    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    first, last = ended.of("process"), ended.of("exit")
    assert first["capture"]["moment"] == "first-step"
    assert last["capture"]["moment"] == "exit"
    assert first["capture"]["run_id"] == last["capture"]["run_id"]
    assert [first["capture"]["sequence"], last["capture"]["sequence"]] == [0, 1]
    assert last["capture"]["results"] == {"weights": ended.stdout.strip()}
    _states_torch(first)
    assert last["capture"]["drift"] == [
        {"path": "determinism.deterministic_algorithms", "before": "false", "after": "true"}]


def _states_torch(document: dict) -> None:
    stack, program = document["stack"], document["program"]
    assert stack["frameworks"]["torch"]["imported"] is True
    assert stack["frameworks"]["backend"] == "cpu"
    assert stack["threads"]["torch_intraop"] >= 1
    assert stack["threads"]["mkl"] >= 1
    assert stack["libraries"]["mkl"]["loaded"]
    assert stack["libraries"]["onednn"]["loaded"]
    assert stack["precision"]["autocast"] is None
    assert stack["precision"]["default_dtype"] == "float32"
    assert stack["precision"]["flush_to_zero"] is False
    assert stack["determinism"]["mkldnn_enabled"] is True
    assert stack["cpu"]["torch_capability"]
    assert program["random"]["seeds"] == {"torch": 11}
    assert document["capture"]["errors"] == []


def test_every_torch_fact_that_torch_can_tell_was_read(started: Start, script: Callable[..., str]) -> None:
    stack = started(sys.executable, script(TRAINING)).of("exit")["stack"]

    unread = {f"{section}.{name}" for section in ("precision", "determinism", "threads")
              for name, value in stack[section].items() if isinstance(value, dict) and "unread" in value}
    assert unread <= {"precision.flex_attention", "determinism.xla_deterministic",
                      "determinism.nondeterministic_kernels", "threads.cgroup_limit_millicpu"}


def test_inference_is_looked_at_after_the_first_forward_pass(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script("""
import torch
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
"""))

    assert ended.of("process")["capture"]["moment"] == "first-forward"
    assert ended.of("exit")["stack"]["precision"]["autocast"] == "bfloat16"
    assert ended.of("exit")["capture"]["drift"] == []


def test_a_numpy_program_is_looked_at_when_it_ends(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script(NUMPY))

    (document,) = ended.documents
    stack = document["stack"]
    assert document["capture"]["moment"] == "exit"
    assert stack["frameworks"]["numpy"]["imported"] is True
    assert stack["frameworks"]["torch"]["imported"] is False
    assert stack["frameworks"]["backend"] == "cpu"
    assert stack["cpu"]["numpy_simd"] == sorted(stack["cpu"]["numpy_simd"])
    assert [pool["library"] for pool in stack["threads"]["blas_pools"]] == ["openblas"]
    assert stack["libraries"]["openblas"]["loaded"] == stack["threads"]["blas_pools"][0]["version"]
    assert stack["libraries"]["cudnn"] is None or stack["libraries"]["cudnn"]["loaded"] is None
    assert stack["threads"]["mkl"] is None


def test_one_thread_and_two_are_seen_as_they_act(started: Start, script: Callable[..., str]) -> None:
    program = script("import numpy, torch; torch.ones(3) @ torch.ones(3)")

    one = started(sys.executable, program, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1").of("exit")["stack"]
    two = started(sys.executable, program, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2").of("exit")["stack"]

    assert (one["threads"]["torch_intraop"], two["threads"]["torch_intraop"]) == (1, 2)
    assert (one["threads"]["openmp"], two["threads"]["openmp"]) == (1, 2)
    assert [one["threads"]["blas_pools"][0]["threads"], two["threads"]["blas_pools"][0]["threads"]] == [1, 2]


def test_two_runs_of_one_program_have_equal_digests(started: Start, script: Callable[..., str]) -> None:
    left, right = (started(sys.executable, script(NUMPY)) for _ in range(2))

    assert left.of("exit")["digests"] == right.of("exit")["digests"]
    assert left.of("exit")["capture"]["run_id"] != right.of("exit")["capture"]["run_id"]


def test_run_never_appears_as_a_difference(started: Start, script: Callable[..., str]) -> None:
    program = script("import numpy, repro_env; repro_env.observe()")

    with_run = started(sys.executable, program, "--lr", "0.1").of("exit")
    without = started(sys.executable, program, "--lr", "0.1", observed=False).of("exit")

    assert with_run["stack"] == without["stack"]
    assert with_run["program"] == without["program"]


def test_a_torch_program_under_run_and_alone_tell_nothing_that_differs(started: Start,
                                                                       script: Callable[..., str]) -> None:
    program = script(TRAINING + "import repro_env; repro_env.observe()")

    with_run = started(sys.executable, program, "--lr", "0.1").of("exit")
    without = started(sys.executable, program, "--lr", "0.1", observed=False).of("exit")

    for part in ("stack", "program"):
        assert drift(without[part], with_run[part]) == [], "what hooks alone know is unread without them"
    assert without["program"] == {**with_run["program"], "model": without["program"]["model"]}


def test_thread_counts_are_too_early_before_the_program_has_computed(started: Start,
                                                                     script: Callable[..., str]) -> None:
    ended = started(sys.executable, script("import numpy, repro_env; repro_env.observe()"), observed=False)

    assert ended.of("process")["stack"]["threads"]["blas_pools"] == {"unread": "too-early"}
    assert ended.of("process")["stack"]["frameworks"]["torch"]["imported"] == {"unread": "too-early"}
    assert isinstance(ended.of("exit")["stack"]["threads"]["blas_pools"], list)
    assert ended.of("exit")["stack"]["frameworks"]["torch"]["imported"] is False


def test_observing_returns_what_was_kept(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script("""
import repro_env
seen = repro_env.observe(project="vision", group="table-2", labels={"owner": "team-a"})
print(seen.run_id, seen.observation_id, seen.document["capture"]["moment"])
"""), observed=False)

    capture = ended.of("process")["capture"]
    assert ended.stdout.split() == [capture["run_id"], capture["observation_id"], "call"]
    assert (capture["project"], capture["group"], capture["labels"]) == ("vision", "table-2", {"owner": "team-a"})
    assert ended.of("exit")["capture"]["project"] == "vision"
    assert capture["run_id_source"] == "made"


def test_importing_the_package_loads_nothing(started: Start) -> None:
    source = Path(sys.modules["repro_env"].__file__ or "").parent.parent
    ended = started(sys.executable, "-S", "-c", f"""
import sys
before = set(sys.modules)
sys.path.insert(0, {str(source)!r})
import repro_env
print(sorted(set(sys.modules) - before - {{"__future__"}}))
""", observed=False)

    assert ended.stdout.strip() == "['repro_env', 'repro_env.version']", ended.stderr


def test_what_each_thread_has_for_itself_is_that_of_the_thread_that_computed(started: Start,
                                                                             script: Callable[..., str]) -> None:
    ended = started(sys.executable, script("""
import threading, torch
def train():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
torch.set_num_threads(2)
thread = threading.Thread(target=train)
thread.start()
thread.join()
"""))

    first, last = ended.of("process"), ended.of("exit")
    assert first["stack"]["precision"]["flush_to_zero"] is True
    assert first["stack"]["threads"]["openmp"] == 1
    assert last["capture"]["drift"] == []
    assert last["digests"]["stack"] == first["digests"]["stack"]

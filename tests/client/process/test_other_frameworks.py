"""Real JAX, TensorFlow and scikit-learn programs, in an environment of their own, each looked at when it ends.

The programs of one framework run once, two at a time, and each test reads what it is about from their documents.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .conftest import RUN, Ended, kept, without_notice

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
CLIENT = str(ROOT / "client" / "src")
#: an import that nobody has compiled yet takes this long on a busy machine.
pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Program:
    """One program and how it is started."""

    text: str
    observed: bool = True
    variables: dict[str, str] = field(default_factory=dict)


def start(program: Program, folder: Path) -> Ended:
    folder.mkdir()
    (folder / "train.py").write_text(program.text)
    spool = folder / "spool"
    # Compiled files are kept, so that only the first import of all compiles.
    variables = {**os.environ, "REPRO_ENV_SPOOL": str(spool), "PYTHONDONTWRITEBYTECODE": "",
                 "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", **program.variables}
    line = [*(RUN if program.observed else ()), *(("--",) if program.observed else ()), str(PYTHON), "train.py"]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=500, check=False, cwd=folder, env=variables)
    said, notice = without_notice(ended.stderr)
    return Ended(ended.returncode, ended.stdout, said, kept(spool), notice)


def results(programs: dict[str, Program], base: Path) -> dict[str, Ended]:
    with ThreadPoolExecutor(max_workers=2) as pool:
        waiting = {name: pool.submit(start, program, base / name) for name, program in programs.items()}
        return {name: future.result() for name, future in waiting.items()}


def needs(module: str) -> None:
    """Say what is missing: the environment is made by the set-up; a wheel may not exist for an interpreter."""
    assert PYTHON.exists(), "run `make venv-frameworks` first; `make test` does"
    code = f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
    found = subprocess.run([PYTHON, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    if found.strip() != "True":
        pytest.skip(f"there is no wheel of {module} for this platform and interpreter")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def unread(fact: object) -> bool:
    return isinstance(fact, dict) and "unread" in fact


JAX = """
import sys
import jax, jax.numpy as jnp
x = jax.random.normal(jax.random.key(0), (64, 64))
print(float((x @ x).sum()), file=sys.stderr)
print(float((x @ x).sum()))
sys.exit(3)
"""
JAX_CHANGED = """
import os
os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true --xla_force_host_platform_device_count=2"
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_default_prng_impl", "rbg")
jax.config.update("jax_threefry_partitionable", False)
jax.numpy.ones(3).sum().block_until_ready()
os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=false"
"""
#: looked at before it starts anything: whatever it could still choose, it must still be able to choose.
JAX_EARLY = """
import os, random, warnings
import jax, repro_env
from jax._src import xla_bridge
def state():
    return (xla_bridge._default_backend, dict(xla_bridge._backends), dict(jax.config.values), dict(os.environ),
            random.getstate(), list(warnings.filters))
before = state()
print(repro_env.observe().document["program"]["layout"]["jax_devices"])
assert state() == before
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
print(jax.device_count())
"""
JAX_IDLE = "import jax, jax.numpy"
JAX_RANK = """
import os, jax
jax.distributed.initialize(os.environ["COORDINATOR"], 2, int(os.environ["PROCESS"]), initialization_timeout=100)
print(jax.process_count(), jax.device_count())
"""


@pytest.fixture(scope="module")
def jax_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    needs("jax")
    coordinator = f"127.0.0.1:{free_port()}"
    ranks = {f"rank-{rank}": Program(JAX_RANK, variables={"COORDINATOR": coordinator, "PROCESS": str(rank)})
             for rank in range(2)}
    return results({
        **ranks, "default": Program(JAX), "again": Program(JAX), "plain": Program(JAX, observed=False),
        "changed": Program(JAX_CHANGED), "idle": Program(JAX_IDLE),
        "early": Program(JAX_EARLY, observed=False, variables={"PYTHONPATH": CLIENT}),
    }, tmp_path_factory.mktemp("jax"))


def test_a_jax_program_is_looked_at_when_it_ends(jax_runs: dict[str, Ended]) -> None:
    ended = jax_runs["default"]
    (document,) = ended.documents
    assert (document["capture"]["vantage"], document["capture"]["moment"]) == ("exit", "exit")
    assert document["capture"]["errors"] == []
    stack, layout = document["stack"], document["program"]["layout"]
    assert stack["frameworks"]["backend"] == "cpu"
    assert stack["precision"]["jax_x64"] is False
    assert stack["precision"]["jax_matmul"] is None
    assert stack["precision"]["autocast"] is None
    assert stack["determinism"]["jax_prng"] == "threefry2x32, partitionable"
    assert stack["determinism"]["xla_deterministic"] is False
    assert (layout["world_size"], layout["jax_devices"], layout["data_parallel"]) == (1, 1, 1)
    assert stack["collectives"]["backend"] is None
    assert document["program"]["model"]["compile"] is True


def test_the_build_of_jax_is_the_one_that_computes(jax_runs: dict[str, Ended]) -> None:
    document = jax_runs["default"].of("exit")
    jax = document["stack"]["frameworks"]["jax"]
    installed = {item["name"]: item["version"] for item in document["stack"]["distributions"]["installed"]}
    assert (jax["version"], jax["build_flags"]["jaxlib"]) == (installed["jax"], installed["jaxlib"])
    assert (jax["imported"], jax["build"], jax["abi"]) == (True, "wheel", None)
    assert (jax["cuda_build"], jax["rocm_build"], jax["arch_list"]) == (None, None, None)
    assert len(jax["revision"]) == 40


def test_jax_ends_as_it_does_unobserved(jax_runs: dict[str, Ended]) -> None:
    observed, plain = jax_runs["default"], jax_runs["plain"]
    assert (observed.returncode, observed.stdout, observed.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert (plain.returncode, plain.documents) == (3, [])


def test_two_runs_of_a_jax_program_have_equal_digests(jax_runs: dict[str, Ended]) -> None:
    assert jax_runs["default"].of("exit")["digests"] == jax_runs["again"].of("exit")["digests"]


def test_switches_of_jax_are_read_as_they_act(jax_runs: dict[str, Ended]) -> None:
    document = jax_runs["changed"].of("exit")
    assert document["stack"]["precision"]["jax_x64"] is True
    assert document["stack"]["precision"]["jax_matmul"] == "highest"
    assert document["stack"]["determinism"]["jax_prng"] == "rbg, not partitionable"
    assert document["program"]["layout"]["jax_devices"] == 2
    assert unread(document["stack"]["collectives"]["backend"]), "two devices exchange numbers by means XLA chooses"


def test_xla_was_told_what_its_variable_held_when_it_was_read(jax_runs: dict[str, Ended]) -> None:
    document = jax_runs["changed"].of("exit")
    assert document["stack"]["variables"]["values"]["XLA_FLAGS"].endswith("=false"), "changed too late to act"
    assert document["stack"]["determinism"]["xla_deterministic"] is True


def test_looking_starts_no_backend_and_leaves_every_choice_open(jax_runs: dict[str, Ended]) -> None:
    ended = jax_runs["early"]
    assert (ended.returncode, ended.stdout.splitlines()) == (0, ["{'unread': 'too-early'}", "3"]), ended.stderr
    assert ended.of("process")["capture"]["errors"] == []
    assert ended.of("exit")["program"]["layout"]["jax_devices"] == 3


def test_jax_that_computed_nothing_is_told_from_jax_at_work(jax_runs: dict[str, Ended]) -> None:
    document = jax_runs["idle"].of("exit")
    assert document["stack"]["frameworks"]["jax"]["imported"] is True
    assert document["program"]["layout"]["jax_devices"] is None
    assert unread(document["program"]["model"]["compile"])


def test_ranks_of_jax_know_each_other_and_have_one_stack(jax_runs: dict[str, Ended]) -> None:
    ranks = [jax_runs[f"rank-{rank}"] for rank in range(2)]
    assert [rank.stdout.split() for rank in ranks] == [["2", "2"]] * 2, ranks[0].stderr
    documents = [rank.of("exit") for rank in ranks]
    assert {document["program"]["layout"]["world_size"] for document in documents} == {2}
    assert {document["stack"]["collectives"]["backend"] for document in documents} == {"gloo"}
    assert len({document["digests"]["stack"] for document in documents}) == 1
    assert len({document["digests"]["program"] for document in documents}) == 1


TENSORFLOW = """
import sys
import tensorflow as tf
print(float(tf.reduce_sum(tf.ones((8, 8)) @ tf.ones((8, 8)))))
sys.exit(4)
"""
TENSORFLOW_CHANGED = """
import tensorflow as tf
tf.config.experimental.enable_tensor_float_32_execution(False)
tf.config.experimental.enable_op_determinism()
tf.keras.utils.set_random_seed(1)
tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
tf.config.optimizer.set_jit("autoclustering")
tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.threading.set_inter_op_parallelism_threads(3)
print(float(tf.reduce_sum(tf.ones((8, 8)) @ tf.ones((8, 8)))))
"""
TENSORFLOW_EARLY = """
import os, random, warnings
import tensorflow as tf
import repro_env, keras
from tensorflow.python.eager import context
from keras.src.backend.common import global_state
def state():
    return (context._context, dict(vars(global_state.GLOBAL_STATE_TRACKER)), dict(os.environ), random.getstate(),
            list(warnings.filters))
before = state()
seen = repro_env.observe()
assert state() == before
print(context._context, seen.document["stack"]["determinism"]["tensorflow_op_determinism"])
os.environ["TF_DETERMINISTIC_OPS"] = "1"
tf.config.threading.set_intra_op_parallelism_threads(1)
print(tf.config.experimental.list_physical_devices("GPU"), tf.config.experimental.get_synchronous_execution())
tf.ones(3)
"""


@pytest.fixture(scope="module")
def tensorflow_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    needs("tensorflow")
    base = tmp_path_factory.mktemp("tensorflow")
    first = start(Program(TENSORFLOW, variables={"TF_ENABLE_ONEDNN_OPTS": "1"}), base / "default")
    return {"default": first, **results({
        "changed": Program(TENSORFLOW_CHANGED, variables={"TF_ENABLE_ONEDNN_OPTS": "0"}),
        "again": Program(TENSORFLOW_CHANGED, variables={"TF_ENABLE_ONEDNN_OPTS": "0"}),
        "early": Program(TENSORFLOW_EARLY, observed=False, variables={"PYTHONPATH": CLIENT}),
    }, base)}


def test_a_tensorflow_program_is_looked_at_when_it_ends(tensorflow_runs: dict[str, Ended]) -> None:
    ended = tensorflow_runs["default"]
    assert (ended.returncode, ended.stdout) == (4, "512.0\n"), ended.stderr
    (document,) = ended.documents
    stack = document["stack"]
    assert (document["capture"]["moment"], document["capture"]["errors"]) == ("exit", [])
    assert stack["frameworks"]["backend"] == "cpu"
    assert stack["precision"]["tensorflow_tf32"] is True
    assert stack["precision"]["tensorflow_policy"] == "float32"
    assert stack["precision"]["autocast"] is None
    assert stack["determinism"]["tensorflow_op_determinism"] is False
    assert stack["determinism"]["tensorflow_jit"] is False
    assert stack["determinism"]["tensorflow_onednn"] is True
    assert (stack["threads"]["tensorflow_intraop"], stack["threads"]["tensorflow_interop"]) == (0, 0)
    assert document["program"]["layout"]["world_size"] == 1


def test_tensorflow_tells_its_build(tensorflow_runs: dict[str, Ended]) -> None:
    tensorflow = tensorflow_runs["default"].of("exit")["stack"]["frameworks"]["tensorflow"]
    assert tensorflow["revision"].startswith("v" + tensorflow["version"].rpartition(".")[0])
    assert tensorflow["build_flags"]["is_cuda_build"] == "false"
    assert any(letter.isdigit() for letter in tensorflow["build_flags"]["compiler"])
    assert (tensorflow["cuda_build"], tensorflow["rocm_build"], tensorflow["arch_list"]) == (None, None, None)
    assert tensorflow["abi"] == "cxx11"


def test_switches_of_tensorflow_are_read_as_they_act(tensorflow_runs: dict[str, Ended]) -> None:
    document = tensorflow_runs["changed"].of("exit")
    stack = document["stack"]
    assert stack["precision"]["tensorflow_tf32"] is False
    assert stack["precision"]["tensorflow_policy"] == "mixed_bfloat16"
    assert stack["determinism"]["tensorflow_op_determinism"] is True
    assert stack["determinism"]["tensorflow_jit"] is True
    assert stack["determinism"]["tensorflow_onednn"] is False
    assert (stack["threads"]["tensorflow_intraop"], stack["threads"]["tensorflow_interop"]) == (2, 3)
    assert stack["determinism"]["nondeterministic_kernels"] == []
    assert document["capture"]["errors"] == []


def test_two_runs_of_a_tensorflow_program_have_equal_digests(tensorflow_runs: dict[str, Ended]) -> None:
    assert tensorflow_runs["changed"].of("exit")["digests"] == tensorflow_runs["again"].of("exit")["digests"]


def test_looking_makes_no_context_and_fixes_nothing(tensorflow_runs: dict[str, Ended]) -> None:
    ended = tensorflow_runs["early"]
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0] == "None {'unread': 'too-early'}"
    last = ended.of("exit")["stack"]
    assert last["determinism"]["tensorflow_op_determinism"] is True, "the variable was set after the first look"
    assert last["threads"]["tensorflow_intraop"] == 1
    assert ended.of("process")["capture"]["errors"] == []


SCIKIT_LEARN = """
import numpy as np, sklearn.cluster
x = np.random.RandomState(0).rand(400, 3)
print(sklearn.cluster.KMeans(3, n_init=1, random_state=0).fit(x).inertia_ > 0)
"""


@pytest.fixture(scope="module")
def scikit_learn_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    needs("sklearn")
    return results({
        "two": Program(SCIKIT_LEARN, variables={"OMP_NUM_THREADS": "2"}), "default": Program(SCIKIT_LEARN),
        "idle": Program("import sklearn, scipy.linalg"),
    }, tmp_path_factory.mktemp("sklearn"))


def test_threads_of_scikit_learn_are_those_of_its_loops(scikit_learn_runs: dict[str, Ended]) -> None:
    threads = {name: ended.of("exit")["stack"]["threads"] for name, ended in scikit_learn_runs.items()}
    assert threads["two"]["scikit_learn"] == 2
    assert 1 <= threads["default"]["scikit_learn"] <= threads["default"]["affinity_count"]
    assert threads["idle"]["scikit_learn"] is None


def test_numpy_and_scipy_tell_compilers_and_blas_and_no_folders(scikit_learn_runs: dict[str, Ended]) -> None:
    frameworks = scikit_learn_runs["idle"].of("exit")["stack"]["frameworks"]
    for name in ("numpy", "scipy"):
        flags = frameworks[name]["build_flags"]
        assert flags["c"].split()[0] in ("gcc", "clang")
        assert "openblas" in flags["blas"].lower()
        assert not any("/" in value for value in flags.values())
        assert frameworks[name]["abi"] is None
    assert "fortran" in frameworks["scipy"]["build_flags"]
    assert frameworks["scikit_learn"]["build_flags"] is None
    assert frameworks["scikit_learn"]["version"].count(".") == 2


def test_only_the_frameworks_environment_holds_them() -> None:
    """The tests above would pass on another interpreter's copies otherwise."""
    found = subprocess.run([sys.executable, "-c", "import importlib.util as u; print(u.find_spec('tensorflow'))"],
                           capture_output=True, text=True, check=True).stdout
    assert found.strip() == "None"



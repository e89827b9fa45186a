"""Whatever fails, hangs or is full, around an observed program or in us: it runs on, and what can be kept is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro_env import capture as capturing
from repro_env import looks, process
from repro_env.fingerprint.validate import validate
from repro_env.probes import PROBES, inprocess, inprocess_random
from repro_env.spool import Spool

from .conftest import RUN, Start, environment, kept
from .standins import TORCH

READERS = [(path, reader.__module__.rpartition(".")[2]) for path, reader in inprocess._groups()]


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("planted")


@pytest.fixture
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPRO_ENV_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setattr(process, "STATE", process.State())


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("path", [path for path, _ in PROBES])
def test_a_probe_that_fails_costs_its_section_only(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(capturing, "PROBES", tuple(
        (name, fail if name == path else probe) for name, probe in PROBES))

    seen = process.observe(project=None, group=None, labels=None)

    assert seen is not None
    document = validate(seen.document)
    failed = [error for error in document["capture"]["errors"] if error["path"] == path]
    assert failed == [{"path": path, "code": "failed", "message": "the look raised RuntimeError"}]


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("number", range(len(READERS)), ids=[f"{path}-{module}" for path, module in READERS])
def test_a_reader_that_fails_costs_its_facts_only(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    groups = list(inprocess._groups())
    groups[number] = (groups[number][0], fail)
    monkeypatch.setattr(inprocess, "_groups", lambda: tuple(groups))

    seen = process.observe(project=None, group=None, labels=None)

    assert seen is not None
    errors = validate(seen.document)["capture"]["errors"]
    assert {"path": groups[number][0], "code": "failed", "message": "reading raised RuntimeError"} in errors


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("place", [(inprocess, "read"), (inprocess_random, "read"), (looks, "look"), (looks, "keep"),
                                   (looks, "send"), (looks, "bounded")], ids=lambda place: f"{place[1]}")
def test_a_step_of_the_look_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                               place: tuple[Any, str]) -> None:
    monkeypatch.setattr(*place, fail)

    assert process.observe(project=None, group=None, labels=None) is None
    assert capsys.readouterr().err == "repro-env: observe: this look failed: RuntimeError: planted\n"
    monkeypatch.undo()
    assert not process.STATE.looking


EVERY_FAULT = """
import os, random, signal, sys, warnings
def state():
    return [dict(os.environ), os.getcwd(), sys.path[:], sys.argv[:], random.getstate(), list(warnings.filters),
            [signal.getsignal(n) for n in (2, 10, 15)], sorted(os.listdir("/proc/self/fd"))]
import repro_env, repro_env.capture as capture, repro_env.probes.inprocess as inprocess, repro_env.process as process
def fail(*_, **__): raise MemoryError("planted")
probes, groups = capture.PROBES, inprocess._groups()
repro_env.observe()
before, seen = state(), 0
for number in range(len(probes)):
    capture.PROBES = tuple((path, fail if n == number else probe) for n, (path, probe) in enumerate(probes))
    process.STATE._memory = None
    seen += repro_env.observe() is not None
capture.PROBES = probes
for number in range(len(groups)):
    inprocess._groups = lambda: tuple((path, fail if n == number else group) for n, (path, group) in enumerate(groups))
    seen += repro_env.observe() is not None
assert state() == before
print(seen == len(probes) + len(groups))
"""


def test_no_fault_of_ours_changes_the_state_of_a_program(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script(EVERY_FAULT))

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")
    said = {error["path"] for item in ended.documents for error in item["capture"]["errors"]
            if "MemoryError" in error["message"]}
    assert said == {path for path, _ in PROBES} | {path for path, _ in READERS}


def test_a_spool_that_hangs_holds_the_program_for_a_bounded_time(started: Start, script: Callable[..., str]) -> None:
    program = script("""
import os, repro_env, time
def hang(*_, **__):
    time.sleep(600)
import repro_env.spool as spool
spool._write_durably = hang
start = time.monotonic()
print(repro_env.observe())
print(time.monotonic() - start < 20)
""")
    begun = time.monotonic()
    ended = started(sys.executable, program)

    assert (ended.returncode, ended.stdout) == (0, "None\nTrue\n")
    assert time.monotonic() - begun < 60
    assert "does not wait for this look any longer" in ended.stderr
    assert "no further look" in ended.stderr


#: a disk that takes six seconds for every write to arrive.
SLOW_DISK = """
#include <unistd.h>
int fsync(int file) { sleep(6); return 0; }
"""


def test_a_slow_disk_delays_the_program_for_a_bounded_time(started: Start, script: Callable[..., str],
                                                           tmp_path: Path) -> None:
    library = tmp_path / "libslow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"], input=SLOW_DISK, text=True,
                   check=True)
    program = script("""
import time, repro_env, repro_env.looks
repro_env.looks.LOOK_S = 0.5
start = time.monotonic()
print(repro_env.observe(), time.monotonic() - start < 4)
""")
    ended = started(sys.executable, program, LD_PRELOAD=str(library))

    assert (ended.returncode, ended.stdout) == (0, "None True\n")
    assert "does not wait for this look any longer" in ended.stderr, "the fault was there"


#: a folder that nobody can make, root included.
NOWHERE = dict.fromkeys(("HOME", "XDG_STATE_HOME", "REPRO_ENV_SPOOL"), "/proc/nowhere")


def test_without_a_home_the_temporary_folder_serves(started: Start, tmp_path: Path) -> None:
    ended = started(sys.executable, "-c", "print('ran')", **NOWHERE, TMPDIR=str(tmp_path))

    (folder,) = tmp_path.glob("repro-env-spool-*")
    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert len(kept(folder)) == 1


def test_where_no_folder_takes_a_document_the_loss_is_said_once(started: Start) -> None:
    ended = started(sys.executable, "-c", "print('ran')", **NOWHERE, TMPDIR="/proc/nowhere")

    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert ended.stderr.count("\n") == 1
    assert "the observation is lost" in ended.stderr


def test_a_full_disk_loses_the_document_and_leaves_no_half_of_it(started: Start, tmp_path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); print('ran')"
    ended = started(sys.executable, "-c", code, TMPDIR=str(tmp_path), HOME=str(tmp_path), XDG_STATE_HOME="")

    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert "the observation is lost" in ended.stderr
    assert "File too large" in ended.stderr, "the fault was there"
    assert [path for path in tmp_path.rglob("*") if path.suffix in {".json", ".part"}] == []


def test_memory_that_is_spent_costs_the_look_not_the_program(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script("""
import resource
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    bytearray(1 << 28)
except MemoryError:
    print("spent")
import repro_env
repro_env.observe()
print("ran")
"""))

    assert ended.stdout == "spent\nran\n"
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr


def test_a_kill_for_memory_keeps_the_first_look(script: Callable[..., str], tmp_path: Path) -> None:
    """The kernel ends a program that took too much with SIGKILL, from within an allocation."""
    program = script(TORCH + "import os\nstep()\nhoard = bytearray(1 << 24)\nos.kill(os.getpid(), 9)")

    ended = subprocess.run([*RUN, "--", sys.executable, program], check=False, env=environment(tmp_path / "spool", {}))

    assert ended.returncode == -signal.SIGKILL
    assert [item["capture"]["moment"] for item in kept(tmp_path / "spool")] == ["first-step"]


CHILDREN = TORCH + """
import multiprocessing, os, sys, threading
def work():
    import torch
    step()
if __name__ == "__main__":
    how = sys.argv[1]
    if how == "thread":
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
    elif how == "os-exit":
        child = os.fork()
        if not child:
            work()
            os._exit(0)
        os.waitpid(child, 0)
    else:
        child = multiprocessing.get_context(how).Process(target=work)
        child.start(); child.join()
        assert child.exitcode == 0
"""


@pytest.mark.parametrize(("how", "moments"), [
    ("fork", ["exit", "exit", "first-step"]), ("spawn", ["exit", "exit", "first-step"]),
    ("forkserver", ["exit", "exit", "first-step"]), ("os-exit", ["exit", "first-step"]),
    ("thread", ["exit", "first-step"]),
])
def test_a_child_that_trains_is_looked_at(started: Start, script: Callable[..., str], how: str,
                                          moments: list[str]) -> None:
    ended = started(sys.executable, script(CHILDREN), how)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(item["capture"]["moment"] for item in ended.documents) == moments
    assert len({item["capture"]["run_id"] for item in ended.documents}) == 1
    assert len({item["capture"]["observation_id"] for item in ended.documents}) == len(moments)
    assert len({item["capture"]["process"]["pid"] for item in ended.documents}) == (1 if how == "thread" else 2)


@pytest.mark.parametrize("name", ["repro_env/__init__.py", "repro_env.py"], ids=["package", "module"])
def test_a_package_of_the_users_named_like_ours_is_the_users(started: Start, script: Callable[..., str],
                                                             tmp_path: Path, name: str) -> None:
    script("mine = 'my own'\n", name)
    program = script("import repro_env, sys\nprint(repro_env.mine, repro_env.__name__, hasattr(repro_env, 'observe'))")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    plain = started(sys.executable, program, observed=False, cwd=elsewhere)
    observed = started(sys.executable, program, cwd=elsewhere)

    assert observed.stdout == plain.stdout == "my own repro_env False\n"
    assert observed.stderr == ""
    assert len(observed.documents) == 1


def test_a_program_that_imports_us_gets_the_one_that_observes_it(started: Start) -> None:
    ended = started(sys.executable, "-c", """
import importlib, sys, warnings
warnings.simplefilter("error")
import repro_env, repro_env.process as process
from repro_env import results
import repro_env.probes.cpu
assert process.STATE.watch is not None
assert sys.modules["repro_env.process"] is process is repro_env.process
assert repro_env.__spec__.name == repro_env.__name__
print(repro_env.report_result("a", b"1")[:7], importlib.import_module("repro_env.spool").SUFFIX)
""")

    assert ended.stdout == "sha256: .json\n", ended.stderr
    assert set(ended.of("exit")["capture"]["results"]) == {"a"}


def test_our_own_command_line_runs_under_run(started: Start) -> None:
    ended = started(sys.executable, "-m", "repro_env", "--version")

    assert ended.stdout.startswith("repro-env ")
    assert ended.stderr == ""


def test_a_usercustomize_of_the_users_own_still_runs(started: Start, tmp_path: Path) -> None:
    home = tmp_path / "base"
    asking = "import site; print(site.getusersitepackages(), site.ENABLE_USER_SITE)"
    where = subprocess.run([sys.executable, "-c", asking], env={**os.environ, "PYTHONUSERBASE": str(home)},
                           capture_output=True, text=True, check=True)
    folder, enabled = where.stdout.split()
    Path(folder).mkdir(parents=True)
    (Path(folder) / "usercustomize.py").write_text("import builtins; builtins.mine = 'user'\n")
    code = "import builtins; print(getattr(builtins, 'mine', None))"

    plain = started(sys.executable, "-c", code, observed=False, PYTHONUSERBASE=str(home))
    observed = started(sys.executable, "-c", code, PYTHONUSERBASE=str(home))

    assert observed.stdout == plain.stdout
    assert plain.stdout == ("user\n" if enabled == "True" else "None\n")


RANKS = """
import json, os, sys, threading
sys.path.insert(0, sys.argv[3])
from repro_env.spool import Spool
spool, number = Spool(sys.argv[1]), int(sys.argv[2])
def rank(index):
    spool.put(f"obs-{number}-{index}", json.dumps({"rank": [number, index], "filling": "x" * 5000}).encode())
children = []
for part in range(5):
    child = os.fork()
    if not child:
        threads = [threading.Thread(target=rank, args=(10 * part + index,)) for index in range(10)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(0)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] for child in children))
"""


def test_a_thousand_ranks_in_one_folder_lose_and_tear_nothing(tmp_path: Path, script: Callable[..., str]) -> None:
    program, folder = script(RANKS), str(tmp_path / "spool")
    source = str(Path(sys.modules["repro_env"].__file__ or "").parent.parent)
    running = [subprocess.Popen([sys.executable, program, folder, str(number), source]) for number in range(20)]

    assert [item.wait(120) for item in running] == [0] * 20
    found = [json.loads(Path(path).read_bytes()) for path in Spool(folder).pending()]
    assert sorted(item["rank"] for item in found) == [[number, index] for number in range(20) for index in range(50)]
    assert {len(item["filling"]) for item in found} == {5000}
    assert [name for name in os.listdir(folder) if not name.endswith(".json")] == []

"""A program does under ``repro-env run`` what it does without: one test a promise, each on a real program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import RUN, Start, environment, kept

STATE = """
import os, random, signal, sys, threading, warnings
%s
def state():
    import atexit, gc
    return {
        "environ": {k: v for k, v in sorted(os.environ.items()) if not k.startswith("REPRO_ENV_")},
        "bytes": sorted(k for k in os.environb if b"REPRO" in k or b"PYTHON" in k),
        "path": sys.path, "argv": sys.argv, "cwd": os.getcwd(), "umask": os.umask(0o022),
        "filters": [str(item) for item in warnings.filters], "hooks": [sys.excepthook is sys.__excepthook__],
        "signals": [str(signal.getsignal(n)) for n in (2, 15)], "threads": threading.active_count(),
        "sitecustomize": "sitecustomize" in sys.modules, "flags": str(sys.flags), "gc": gc.isenabled(),
        "open": sorted(os.listdir("/proc/self/fd")), "recursion": sys.getrecursionlimit(),
        "switch": sys.getswitchinterval(), "trace": [sys.gettrace() is None, sys.getprofile() is None],
        "path_cache": [p for p in sys.path_importer_cache if "bootstrap" in p],
    }
print(state())
"""


def test_a_program_sees_the_same_process(started: Start, script: Callable[..., str]) -> None:
    program = script(STATE % "")

    plain = started(sys.executable, program, "a b", "--lr=1", observed=False, PYTHONPATH="/nowhere")
    observed = started(sys.executable, program, "a b", "--lr=1", PYTHONPATH="/nowhere")

    assert observed.stdout == plain.stdout
    assert observed.stderr == plain.stderr == ""
    assert len(observed.documents) == 1


def test_an_unset_python_path_stays_unset(started: Start) -> None:
    code = "import os; print(os.environ.get('PYTHONPATH'), os.getenv('REPRO_ENV_INJECT'))"

    assert started(sys.executable, "-c", code).stdout == "None None\n"
    assert started(sys.executable, "-c", code, PYTHONPATH="").stdout == " None\n"


@pytest.mark.parametrize(("code", "returncode"), [
    ("pass", 0), ("raise SystemExit(7)", 7), ("raise ValueError('mine')", 1), ("import os; os._exit(9)", 9),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ("raise KeyboardInterrupt", -signal.SIGINT),
    ("import os; os.abort()", -signal.SIGABRT),
], ids=["end", "exit", "exception", "os-exit", "term", "kill", "interrupt", "abort"])
def test_the_exit_status_is_the_programs(started: Start, code: str, returncode: int) -> None:
    plain = started(sys.executable, "-c", code, observed=False)
    observed = started(sys.executable, "-c", code)

    assert observed.returncode == plain.returncode == returncode
    assert observed.stderr == plain.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda item: item.name)
def test_signals_reach_the_program(script: Callable[..., str], tmp_path: Path, number: signal.Signals) -> None:
    program = script("""
import signal, sys, time
def caught(number, frame):
    print("caught", number, flush=True)
    sys.exit(40 + number)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, caught)
print("ready", flush=True)
time.sleep(60)
""")
    with subprocess.Popen([*RUN, "--", sys.executable, program], stdout=subprocess.PIPE, text=True,
                          env=environment(tmp_path / "spool", {})) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        output = running.stdout.read()

    assert output == f"caught {int(number)}\n"
    assert running.returncode == 40 + number
    assert len(kept(tmp_path / "spool")) == 1


def test_input_output_and_arguments_pass_through(started: Start, script: Callable[..., str]) -> None:
    program = script("import sys; print(sys.stdin.read().upper(), sys.argv[1:]); print('err', file=sys.stderr)")

    ended = started(sys.executable, program, "--", "-x", "", "a b", "\u00e4", stdin="line\n")

    assert ended.stdout == "LINE\n ['--', '-x', '', 'a b', '\u00e4']\n"
    assert ended.stderr == "err\n"


def test_a_sitecustomize_of_the_users_own_still_runs(started: Start, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import builtins; builtins.mine = __file__\n")

    ended = started(sys.executable, "-c", "import sitecustomize; print(mine == sitecustomize.__file__, mine)",
                    PYTHONPATH=str(tmp_path / "own"))

    assert ended.stdout == f"True {tmp_path / 'own' / 'sitecustomize.py'}\n"
    assert len(ended.documents) == 1


def test_a_failing_sitecustomize_fails_as_it_would(started: Start, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('broken site')\n")
    arguments = (sys.executable, "-c", "print('on')")

    plain = started(*arguments, observed=False, PYTHONPATH=str(tmp_path))
    observed = started(*arguments, PYTHONPATH=str(tmp_path))

    assert "broken site" in plain.stderr
    assert observed.stderr == plain.stderr * 2, "once from repro-env's own start, once from the program's"
    assert observed.stdout == plain.stdout == "on\n"


def test_modules_named_like_ours_stay_the_users(started: Start, script: Callable[..., str], tmp_path: Path) -> None:
    for name in ("capture", "process", "probes", "watch", "launch", "system", "settings", "spool", "errors", "ids"):
        (tmp_path / f"{name}.py").write_text(f"name = 'my {name}'\n")
    program = script("import capture, process, probes, watch, launch, system, settings, spool, errors, ids\n"
                     "print(capture.name, process.name, ids.name)")

    ended = started(sys.executable, program)

    assert ended.stdout == "my capture my process my ids\n"
    assert ended.stderr == ""
    assert len(ended.documents) == 1


def test_a_package_is_run_with_m(started: Start, script: Callable[..., str], tmp_path: Path) -> None:
    script("", "pkg/__init__.py")
    script("import sys; print(__name__, sys.argv[1:])", "pkg/__main__.py")

    ended = started(sys.executable, "-m", "pkg", "x")

    assert ended.stdout == "__main__ ['x']\n"
    assert len(ended.documents) == 1


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_that_cannot_be_injected_runs_unobserved_and_says_so(started: Start, option: str) -> None:
    ended = started(sys.executable, option, "-c", "print('ran')")

    assert ended.stdout == "ran\n"
    assert ended.stderr.count("\n") == 1
    assert f"is started with {option}" in ended.stderr
    assert ended.documents == []


def test_another_program_runs_and_its_python_children_are_observed(started: Start) -> None:
    alone = started("/bin/sh", "-c", "echo ran; exit 3")
    parent = started("/bin/sh", "-c", f"{shlex.quote(sys.executable)} -c 'print(1)'")

    assert (alone.returncode, alone.stdout, alone.documents) == (3, "ran\n", [])
    assert "nothing of it is observed" in alone.stderr
    assert parent.stdout == "1\n"
    assert len(parent.documents) == 1


@pytest.mark.parametrize(("command", "returncode", "said"), [
    (["no-such-program"], 127, "'no-such-program', which is neither"), ([], 64, "expected a command, got none"),
], ids=["unknown", "none"])
def test_a_command_that_cannot_start_is_said(started: Start, command: list[str], returncode: int, said: str) -> None:
    ended = started(*command)

    assert ended.returncode == returncode
    assert said in ended.stderr


def test_a_file_that_is_no_program_is_said(started: Start, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    ended = started(str(tmp_path / "notes.txt"))

    assert ended.returncode == 126
    assert "could not be started" in ended.stderr


CHILDREN = """
import multiprocessing, os, subprocess, sys
CHECK = "import os, sys; print(os.environ.get('PYTHONPATH'), '_repro_env_observer.watch' in sys.modules)"
def work(queue):
    queue.put((os.environ.get("PYTHONPATH"), "sitecustomize" in sys.modules))
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        child = context.Process(target=work, args=(queue,))
        child.start(); print(method, queue.get()); child.join(); print(child.exitcode)
    run = lambda **more: print(subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True,
                                              **more).stdout.strip())
    run(); run(env={"A": "1"}); run(env={**os.environ, "PYTHONPATH": "/x"}); run(close_fds=False)
    sys.stdout.flush()
    os.system(f'"{sys.executable}" -c "{CHECK}"')
    os.environ["PYTHONPATH"] = "/later"
    run()
    print(os.environ["PYTHONPATH"])
    pid = os.fork()
    if pid == 0:
        sys.exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_children_work_and_are_observed_only_if_they_compute(started: Start, script: Callable[..., str]) -> None:
    program = script(CHILDREN)

    plain = started(sys.executable, program, observed=False)
    observed = started(sys.executable, program)

    assert observed.returncode == plain.returncode == 0
    assert observed.stdout.replace("True", "False") == plain.stdout.replace("True", "False")
    assert observed.stdout.count("True") == plain.stdout.count("True") + 6
    assert observed.stderr == plain.stderr == ""
    assert len(observed.documents) == 1


def test_ranks_of_a_launcher_are_observed_and_the_launcher_is_not(started: Start, script: Callable[..., str]) -> None:
    program = script("""
import os, subprocess, sys
if "RANK" in os.environ:
    import numpy
else:
    ranks = [subprocess.Popen([sys.executable, __file__],
             env={**os.environ, "RANK": str(n), "LOCAL_RANK": str(n), "WORLD_SIZE": "2"}) for n in range(2)]
    sys.exit(max(rank.wait() for rank in ranks))
""")

    ended = started(sys.executable, program)

    assert ended.returncode == 0
    assert sorted(item["capture"]["process"]["rank"] for item in ended.documents) == [0, 1]
    assert len({item["capture"]["run_id"] for item in ended.documents}) == 1
    assert len({item["digests"]["stack"] for item in ended.documents}) == 1


def test_a_kill_after_the_first_step_loses_the_exit_look_only(script: Callable[..., str], tmp_path: Path) -> None:
    program = script("""
import time, torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 1)).sum().backward(); optimizer.step()
print("stepped", flush=True)
time.sleep(60)
""")
    with subprocess.Popen([*RUN, "--", sys.executable, program], stdout=subprocess.PIPE, text=True,
                          env=environment(tmp_path / "spool", {})) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "stepped\n"
        running.kill()

    (document,) = kept(tmp_path / "spool")
    assert document["capture"]["moment"] == "first-step"


TORCH_STATE = """
import random, sys, warnings
import torch, numpy
def state():
    b = torch.backends
    return repr((torch.get_rng_state().sum().item(), numpy.random.get_state()[1][:3].tolist(), random.getstate()[1][:3],
            [str(item) for item in warnings.filters], torch.get_default_dtype(), torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(), b.cuda.matmul.fp32_precision, b.cudnn.benchmark,
            torch.get_float32_matmul_precision(), torch.get_num_threads(), torch.cuda.is_initialized(),
            sorted(k for k in vars(torch.__loader__)), torch.__spec__.loader is torch.__loader__))
torch.manual_seed(5); numpy.random.seed(5); random.seed(5)
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.Adam(model.parameters())
print(state())
for _ in range(2):
    model(torch.rand(3, 2)).sum().backward(); optimizer.step(); print(state(), model.weight.sum().item())
torch.set_num_interop_threads(3)
print(torch.get_num_interop_threads())
"""


def test_torch_program_keeps_its_state(started: Start, script: Callable[..., str]) -> None:
    program = script(TORCH_STATE)

    plain = started(sys.executable, "-W", "error", program, observed=False)
    observed = started(sys.executable, "-W", "error", program, options=("--watch", "loaders,draws"))

    assert plain.returncode == 0, plain.stderr
    assert observed.stdout == plain.stdout
    assert observed.stderr == plain.stderr
    assert [item["capture"]["moment"] for item in observed.documents] == ["first-step", "exit"]


def test_compiling_warns_of_no_hook_of_ours(started: Start, script: Callable[..., str]) -> None:
    program = script("""
import torch
model = torch.compile(torch.nn.Linear(2, 2), backend="eager", fullgraph=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward(); optimizer.step()
print("done")
""")

    ended = started(sys.executable, "-W", "error", program)

    assert ended.stdout == "done\n", ended.stderr
    assert ended.stderr == ""
    assert ended.of("process")["capture"]["moment"] == "first-step"
    assert ended.of("process")["stack"]["precision"]["autocast"] == {"unread": "not-reported"}


MIXED = """
import warnings
import torch
%s
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 1)).sum().backward(); optimizer.step()
"""


@pytest.mark.parametrize(("switch", "path", "value"), [
    ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "fp32_cuda_matmul", "tf32"),
    ("torch.backends.fp32_precision = 'tf32'", "fp32_generic", "tf32"),
    ("torch.set_float32_matmul_precision('high')", "float32_matmul_precision", "high"),
    ("torch.backends.cuda.matmul.allow_tf32 = True", "allow_tf32_matmul", True),
    ("torch.backends.cudnn.allow_tf32 = False", "allow_tf32_cudnn", False),
    ("torch.set_default_dtype(torch.float64)", "default_dtype", "float64"),
    ("torch.set_flush_denormal(True)", "flush_to_zero", True),
], ids=["new-matmul", "new-generic", "words", "old-matmul", "old-cudnn", "dtype", "denormals"])
def test_every_generation_of_switches_is_read_in_silence(started: Start, script: Callable[..., str], switch: str,
                                                         path: str, value: object) -> None:
    program = script(MIXED % switch)

    plain = started(sys.executable, program, observed=False)
    ended = started(sys.executable, program)

    assert (ended.returncode, ended.stderr) == (0, plain.stderr)
    assert len(ended.documents) == 2
    for document in ended.documents:
        assert document["stack"]["precision"][path] == value
        assert document["capture"]["errors"] == []


@pytest.mark.parametrize("place", ["repro_env.capture.capture", "repro_env.probes.inprocess.read",
                                   "repro_env.delivery.keep_document", "repro_env.process.settings_in_force"])
def test_what_fails_in_us_never_reaches_the_program(started: Start, script: Callable[..., str], place: str) -> None:
    module, _, name = place.rpartition(".")
    program = script(f"""
import {module}
def fail(*arguments, **options):
    raise RuntimeError("planted")
{module}.{name} = fail
import repro_env
print(repro_env.observe())
print(repro_env.report_result("w", b"1")[:10])
""")

    ended = started(sys.executable, program)

    assert ended.returncode == 0
    assert ended.stdout == "None\nsha256:6b8\n"
    assert "planted" in ended.stderr
    assert ended.stderr.count("\n") == 2
    assert "Traceback" not in ended.stderr


def test_a_full_or_closed_stderr_hurts_nobody(started: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = started(sys.executable, "-c", "import sys; sys.stderr.close(); sys.stderr = None; print('ran')",
                    HOME=str(tmp_path / "file"), XDG_STATE_HOME=str(tmp_path / "file"))

    assert (ended.returncode, ended.stdout) == (0, "ran\n")


def test_a_server_that_is_down_costs_a_bounded_wait(started: Start) -> None:
    begin = time.monotonic()
    ended = started(sys.executable, "-c", "print('ran')", REPRO_ENV_SERVER="http://127.0.0.1:9",
                    REPRO_ENV_TIMEOUT_S="1")

    assert ended.stdout == "ran\n"
    assert ended.returncode == 0
    assert len(ended.documents) == 1, "nothing is lost"
    assert "the observation waits for repro-env sync" in ended.stderr
    assert time.monotonic() - begin < 30


def test_a_folder_that_is_gone_hurts_nobody(started: Start, tmp_path: Path) -> None:
    ended = started(sys.executable, "-c", f"import os, shutil; os.mkdir('gone'); os.chdir('gone'); "
                                          f"os.rmdir({str(tmp_path / 'gone')!r}); print('ran')")

    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert "Traceback" not in ended.stderr
    assert len(ended.documents) == 1


def test_the_process_is_the_program(script: Callable[..., str], tmp_path: Path) -> None:
    with subprocess.Popen([*RUN, "--", sys.executable, "-c", "import os; print(os.getpid())"], text=True,
                          stdout=subprocess.PIPE, env=environment(tmp_path / "spool", {})) as running:
        assert running.stdout is not None
        assert int(running.stdout.read()) == running.pid


OTHER_PYTHONS = [path for version in ("3.9.18", "3.10.13", "3.12.1", "3.13.0", "3.8.18")
                 if (path := Path.home() / ".pyenv" / "versions" / version / "bin" / "python").exists()]


@pytest.mark.parametrize("python", OTHER_PYTHONS, ids=lambda path: path.parent.parent.name)
def test_other_interpreters_are_observed_or_left_alone(started: Start, script: Callable[..., str],
                                                       python: Path) -> None:
    program = script(STATE % "")
    old = "/3.8." in str(python)

    plain = started(str(python), program, observed=False)
    observed = started(str(python), program)

    assert observed.returncode == plain.returncode == 0
    assert observed.stdout == plain.stdout
    assert observed.stderr == ("" if not old else "repro-env: this program is not observed: expected Python 3.9 or "
                               f"newer, got {python.parent.parent.name}\n")
    assert len(observed.documents) == (0 if old else 1)


@pytest.mark.parametrize("python", [path for path in OTHER_PYTHONS if "/3.8." not in str(path)],
                         ids=lambda path: path.parent.parent.name)
def test_sending_at_the_end_loses_nothing_on_any_interpreter(started: Start, python: Path) -> None:
    ended = started(str(python), "-c", "print('ran')", REPRO_ENV_SERVER="http://127.0.0.1:9")

    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert len(ended.documents) == 1
    assert ended.stderr.startswith("repro-env: the observation waits for repro-env sync: ")
    assert ended.stderr.count("\n") == 1


def test_os_environ_is_what_the_caller_set(started: Start) -> None:
    ended = started(sys.executable, "-c", "import os; print(sorted(k for k in os.environ if k.startswith('REPRO')))",
                    options=(), REPRO_ENV_PROJECT="vision")

    assert ended.stdout == "['REPRO_ENV_PROJECT', 'REPRO_ENV_SPOOL']\n"
    assert ended.documents[0]["capture"]["project"] == "vision"
    assert os.environ.get("REPRO_ENV_PROJECT") is None

"""``make demo``: a running service, real captures, real runs, real GPU dumps, real verdicts, told as a story.

Everything shown is computed: other dumps (``--left``, ``--right``) and other machines give other verdicts.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DUMPS = sorted((HERE / "demo_dumps").glob("*.txt"))
PREFERRED_PORT = 8765
INTERRUPTED, PORT_TAKEN = 130, 69
#: where the commands that the story shows can be typed.
CLIENT = Path(sys.executable).parent / "repro-env"
START_TIMEOUT_S = 30.0
WIDTH = 78


class DemoError(Exception):
    """A step of the demo did not do what it should; the message says which and what it printed."""


class Teller:
    """Prints the story; colour only on a terminal."""

    def __init__(self) -> None:
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def chapter(self, title: str) -> None:
        """Print a heading."""
        print(f"\n{self._paint(title, '1')}\n{self._paint('─' * len(title), '2')}")

    def say(self, text: str) -> None:
        """Print a sentence."""
        print(text)

    def command(self, text: str) -> None:
        """Print a command as it would be typed."""
        print(self._paint(f"$ {text}", "36"))

    def output(self, text: str, mark: str = "  ") -> None:
        """Print what a command printed, indented."""
        for line in text.rstrip().splitlines():
            print(f"{mark}{line}".rstrip())


class Demo:
    """One telling: a data folder, a server address, and the client's commands."""

    def __init__(self, data: Path, server: str) -> None:
        self.data = data
        self.server = server
        self.tell = Teller()
        self.suffix = telling(data)
        self.project = self.run_id("demo")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("REPRO_ENV_")}
        self.environment |= {"REPRO_ENV_SERVER": server, "REPRO_ENV_SPOOL": str(data / "spool"),
                             "REPRO_ENV_PROJECT": self.project, "NO_COLOR": "1", "COLUMNS": str(WIDTH),
                             "PYTHONHASHSEED": "0"}

    def run_id(self, name: str) -> str:
        """Return the run id, or project, of this telling for ``name``: an earlier one in the folder has its own."""
        return f"{name}{self.suffix}"

    def client(self, *arguments: str, project: str | None = None, threads: int | None = None,
               folder: Path | None = None, accept: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        """Run ``repro-env`` in ``folder``; raise ``DemoError`` for an exit code outside ``accept``."""
        environment = {**self.environment, "REPRO_ENV_PROJECT": project or self.project}
        if threads is not None:
            environment["OPENBLAS_NUM_THREADS"] = str(threads)
        done = subprocess.run([sys.executable, "-m", "repro_env", *arguments], env=environment, text=True,
                              cwd=folder, capture_output=True, timeout=120, check=False)
        if done.returncode not in accept:
            raise DemoError(f"repro-env {' '.join(arguments)} exited with {done.returncode}:\n{done.stderr}")
        return done

    def get(self, path: str, **query: str) -> Any:
        """GET JSON from the service."""
        return self._ask("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path, None)

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """PUT JSON to the service."""
        return self._ask("PUT", path, json.dumps(body).encode())

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """POST JSON to the service."""
        return self._ask("POST", path, json.dumps(body).encode())

    def curl(self, method: str, path: str, body: dict[str, Any]) -> None:
        """Show a request with a body as it would be typed."""
        self.tell.command(f"curl -X {method} {self.server}{path} -H 'Content-Type: application/json' "
                          f"-d '{json.dumps(body)}'")

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(self.server + path, data=body, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise DemoError(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from error

    def compare(self, left: str, right: str, level: str) -> str:
        """Show the verdict as the command line prints it, and return that; it asks the service."""
        self.tell.command(f"repro-env compare {left} {right} --level {level}")
        shown = self.client("compare", left, right, "--level", level, accept=(0, 1, 2, 3))
        self.tell.output(shown.stdout)
        return shown.stdout


def main(arguments: list[str] | None = None) -> int:
    """Tell the whole story; return 0, or 1 with the step that failed."""
    parser = argparse.ArgumentParser(prog="python -m repro_env_service.demo", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".demo"), help="folder for database and spool")
    parser.add_argument("--left", type=Path, default=DUMPS[0], help="environment dump of the baseline")
    parser.add_argument("--right", type=Path, default=DUMPS[1], help="environment dump held against it")
    parser.add_argument("--port", type=int, default=PREFERRED_PORT, help="port to serve on, another if it is taken")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    data = options.data.resolve()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a locale without dashes and dots costs those, not the story; each line is seen as it comes, through a pipe too
        sys.stdout.reconfigure(errors="replace", line_buffering=True)
    for number in (signal.SIGINT, signal.SIGTERM):  # however it was started, both end it with the service stopped
        signal.signal(number, signal.default_int_handler)
    try:
        data.mkdir(parents=True, exist_ok=True)
        demo = tell(data, options)
    except DemoError as error:
        print(f"\nThe demo stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; the service is stopped.", file=sys.stderr)
        return INTERRUPTED
    close(demo, time.monotonic() - started)
    return 0


def tell(data: Path, options: argparse.Namespace) -> Demo:
    """Tell the chapters before a running service."""
    with service(data, options.port) as server:
        demo = Demo(data, server)
        demo.tell.say(f"repro-env demo: a service is running on {server}")
        same_machine(demo)
        threads(demo)
        two_gpus(demo, options.left.resolve(), options.right.resolve())
        warning(demo)
        several(demo)
    return demo


def telling(data: Path) -> str:
    """Return what the names of this telling end in: nothing the first time in a folder, then ``.2``, ``.3``."""
    counter = data / "tellings"
    number = int(counter.read_text()) + 1 if counter.exists() else 1
    counter.write_text(str(number))
    return "" if number == 1 else f".{number}"


def same_machine(demo: Demo) -> None:
    """Chapter 1: this machine, captured twice as a job prologue would."""
    demo.tell.chapter("1. This machine, captured twice, as a job's prologue does")
    first, second = demo.run_id("prologue-1"), demo.run_id("prologue-2")
    for run in (first, second):
        demo.tell.command(f"repro-env capture --run-id {run}")
        demo.tell.output(demo.client("capture", "--run-id", run).stderr)
    demo.tell.say("\nAre the two stacks, that is hardware, drivers and libraries, the same?")
    demo.compare(first, second, "bitwise")


def threads(demo: Demo) -> None:
    """Chapter 2: one workload twice with one thread, then with two, observed in the process."""
    demo.tell.chapter("2. A small NumPy training, observed while it runs")
    one, again, two = demo.run_id("one-thread"), demo.run_id("one-thread-again"), demo.run_id("two-threads")
    for run, count in ((one, 1), (again, 1), (two, 2)):
        demo.tell.command(f"OPENBLAS_NUM_THREADS={count} repro-env run --run-id {run} -- python demo_workload.py")
        done = demo.client("run", "--run-id", run, "--", sys.executable, str(HERE / "demo_workload.py"), threads=count)
        demo.tell.output(done.stdout)
    demo.tell.say("\nThe two one-thread runs, bit by bit:")
    demo.compare(one, again, "bitwise")
    demo.tell.say("\nOne thread against two:")
    if "result weights: equal" in demo.compare(one, two, "bitwise"):
        demo.tell.say("\nThe weights came out equal this time. The verdict says what can be relied on.")


def two_gpus(demo: Demo, left: Path, right: Path) -> None:
    """Chapter 3: two dumps of GPU machines, imported and compared."""
    demo.tell.chapter("3. Two GPU machines, from what people paste into bug reports")
    for path, side in ((left, "gpu-a"), (right, "gpu-b")):
        demo.tell.command(f"repro-env import {path.name} --run-id {demo.run_id(side)}")
        done = demo.client("import", path.name, "--run-id", demo.run_id(side), project=demo.run_id("demo-gpu"),
                           folder=path.parent)
        demo.tell.output(done.stderr)
    left_id, right_id = demo.run_id("gpu-a"), demo.run_id("gpu-b")
    demo.tell.say("\nAre they comparable? Asked over REST:")
    demo.tell.command(f"curl '{demo.server}/v1/comparisons?left={left_id}&right={right_id}&level=curve'")
    verdict = demo.get("/v1/comparisons", left=left_id, right=right_id, level="curve")
    shown = {name: verdict[name] for name in ("answer", "guaranteed", "expected", "possible", "headline")}
    demo.tell.output(json.dumps(shown, indent=2) + "\n… and the reasons")
    demo.tell.say("\nThe same, for people:")
    demo.compare(left_id, right_id, "curve")


def warning(demo: Demo) -> None:
    """Chapter 4: a baseline, and the warning that a job's log then gets."""
    demo.tell.chapter("4. A baseline, and the warning in a job's log")
    body, project = {"run": demo.run_id("gpu-a")}, demo.run_id("demo-gpu")
    demo.curl("PUT", f"/v1/projects/{project}/baseline", body)
    baseline = demo.put(f"/v1/projects/{project}/baseline", body)
    demo.tell.output(f"the baseline of project {baseline['project']} is now run {baseline['run']}, "
                     f"at level {baseline['level']}")
    demo.tell.say("\nA job of that project starts, here on this machine. Its prologue prints on stderr:")
    demo.tell.command(f"repro-env capture --project {project} --run-id {demo.run_id('job')}")
    done = demo.client("capture", "--run-id", demo.run_id("job"), project=project)
    demo.tell.output(done.stderr, mark="  | ")


def several(demo: Demo) -> None:
    """Chapter 5: the three trainings at once, and a policy that says what of this is on purpose."""
    demo.tell.chapter("5. Several runs at once, and what a project decides")
    runs = [demo.run_id(name) for name in ("one-thread", "one-thread-again", "two-threads")]
    demo.tell.say("The three trainings of chapter 2, over REST:")
    demo.curl("POST", "/v1/comparisons", {"runs": runs})
    found = demo.post("/v1/comparisons", {"runs": runs})
    for level in ("bitwise", "curve"):
        classes = [", ".join(row["members"]) for row in found["classes"] if row["level"] == level]
        demo.tell.output(f"{level:8} {' | '.join(classes) or 'no class'}")
    apart = [row for row in found["separates"] if row["guaranteed"] != "bitwise" and row["implied_by"] is None]
    for row in apart:
        demo.tell.output(f"apart by {row['rule']}: "
                         + "; ".join(f"{value} ({', '.join(names)})" for value, names in row["values"]))
    decide(demo, runs)


def decide(demo: Demo, runs: list[str]) -> None:
    """State in a policy what differs on purpose and which level is required, and ask again."""
    policy = {"name": "demo", "require": "bitwise", "vary": ["threads"]}
    path = f"/v1/projects/{demo.project}/policy"
    demo.tell.say("\nA project that varies the threads on purpose, and wants equal bits else, says so:")
    demo.curl("PUT", path, policy)
    stored = demo.put(path, policy)
    demo.tell.output(f"version {stored['version']} of the policy of project {stored['project']} is in force")
    demo.tell.say("\nOne thread against two, under this policy:")
    demo.tell.command(f"curl '{demo.server}/v1/comparisons?left={runs[0]}&right={runs[2]}'")
    verdict = demo.get("/v1/comparisons", left=runs[0], right=runs[2])
    demo.tell.output(json.dumps({name: verdict[name] for name in ("level", "answer", "headline")}, indent=2)
                     + "\n… and under `varied` what differs on purpose")


def close(demo: Demo, seconds: float) -> None:
    """Say where things lie and how to go on."""
    demo.tell.chapter("Done")
    demo.tell.say(f"That took {seconds:.0f} s; the service is stopped. Its database and log are in {demo.data}\n"
                  f"The command shown as repro-env is {CLIENT}\n\n"
                  "Go on:\n"
                  "  make serve        keep a service running; what you then send lies in ./data\n"
                  "  README.md         put it into your own jobs, in two lines\n"
                  "  docs/levels.md    what the levels mean, and expected, guaranteed and possible\n")


@contextmanager
def service(data: Path, preferred: int) -> Iterator[str]:
    """Run the service on a loopback port over ``data``; stop it by its own process id at the end."""
    log = data / "service.log"
    for port in (preferred, 0):
        with started(data, log, port) as process:
            server = address(process, log)
            if server is not None:
                yield server
                return
        if process.returncode != PORT_TAKEN:
            break
        print(f"Port {preferred} is taken; a free one is used instead.")
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
    raise DemoError(f"the service did not come up; the end of {log}:\n{tail}")


@contextmanager
def started(data: Path, log: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the service, its words in a fresh ``log``; stop it at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "repro_env_service", "serve", "--port", str(port),
                                    "--data", str(data)], stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def address(process: subprocess.Popen[bytes], log: Path) -> str | None:
    """Return the address that this very process says it listens on, once it answers there; ``None`` if it ends.

    Asking the port alone would take another service's answer for its.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and process.poll() is None:
        said = re.search(r" on (http://\S+), data in ", log.read_text(errors="replace"))
        try:
            if said:
                with opener.open(f"{said[1]}/readyz", timeout=2):
                    return said[1]
        except OSError:
            pass
        time.sleep(0.05)
    return None


if __name__ == "__main__":
    sys.exit(main())

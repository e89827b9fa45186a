"""What a capture costs: CPU of ``repro-env capture`` with a durable spool against the usual ways.

Rounds are interleaved, children are counted, medians are compared. The environment is the interpreter's own, filled up
to 100 distributions with small real ones in a throw-away folder (``--no-fill`` leaves that out, and so does an index
that cannot be reached; the table says the count). Run outside a git repository and without a GPU; calls of git and of
vendors' tools are timed apart, each on a case that needs it.

Aims: at most 5 x the bare interpreter, at least 30 x cheaper than ``torch.utils.collect_env``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_TIMES_BARE = 5.0
STRETCH_TIMES_BARE = 3.0
LEAST_TIMES_CHEAPER = 30.0
ENOUGH = 100
#: small distributions of pure Python, as training environments have them.
FILLING = (
    "absl-py", "aiofiles", "aiosignal", "appdirs", "argcomplete", "asttokens", "async-timeout", "backcall", "backoff",
    "beautifulsoup4", "blinker", "cachetools", "cloudpickle", "colorama", "coloredlogs", "configargparse",
    "contextlib2", "cycler", "decorator", "defusedxml", "dill", "einops", "executing", "filetype",
    "flatbuffers", "gast", "gitdb",
    "gitpython", "google-pasta", "humanfriendly", "isodate", "itsdangerous", "jedi", "jmespath", "joblib", "markdown",
    "munch", "nest-asyncio", "oauthlib", "opt-einsum", "parso", "pathspec", "portalocker", "ptyprocess", "pure-eval",
    "pyasn1", "pycparser", "pyparsing", "python-dateutil", "python-slugify", "pytz", "semver", "shellingham", "smmap",
    "soupsieve", "stack-data", "tabulate", "termcolor", "text-unidecode", "threadpoolctl", "toml", "toolz", "tqdm",
    "traitlets", "tzdata", "wcwidth", "webencodings", "werkzeug", "yacs", "zipp")
CAPTURE, BARE, FREEZE, COLLECT = "repro-env capture", "python -c pass", "pip freeze", "collect_env"


def cpu_ms(argv: list[str], environ: dict[str, str], folder: str) -> float:
    """Start a program, wait for it and its children, and return the CPU time of all of them in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=environ, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def environment(state: str) -> dict[str, str]:
    """Return an environment as a job has it: this interpreter first on PATH, byte code cached, nothing of ours set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REPRO_ENV_", "GIT_"))}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{kept.get('PATH', '')}", "XDG_STATE_HOME": state}


def measure(commands: dict[str, tuple[list[str], int]], environ: dict[str, str], folder: str,
            rounds: int) -> dict[str, list[float]]:
    """Return CPU times by name; a command of weight n takes part in every n-th round, after one unmeasured start."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for argv, _ in commands.values():
        cpu_ms(argv, environ, folder)
    for number in range(rounds):
        for name, (argv, every) in commands.items():
            if number % every == 0:
                times[name].append(cpu_ms(argv, environ, folder))
    return times


def outside_calls(environ: dict[str, str], folder: str) -> dict[str, int]:
    """Return the wall time in microseconds of each git or vendor call, from captures that need them."""
    run = subprocess.run
    run(["git", "init", "-q", folder], env=environ, check=True)
    Path(folder, "train.py").write_text("print(1)\n")
    run(["git", "-C", folder, "add", "."], env=environ, check=True)
    run(["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-q", "-m", "x"],
        env=environ, check=True)
    code = ("import json\nfrom repro_env.system import System\nfrom repro_env.capture import capture\n"
            "print(json.dumps(capture(System())['capture']['durations_us']))")
    done = run([sys.executable, "-c", code], env=environ, cwd=folder, check=True, capture_output=True, text=True)
    durations = json.loads(done.stdout)
    return {name: durations[name] for name in durations if name in ("git diff", "nvml", "nvidia-smi")}


def distributions(environ: dict[str, str], folder: str) -> tuple[int, bool]:
    """Return how many distributions the environment has, and whether torch is among them."""
    code = ("import importlib.metadata as m; names = {d.metadata['Name'].lower() for d in m.distributions()}; "
            "print(len(names), 'torch' in names)")
    done = subprocess.run([sys.executable, "-c", code], env=environ, cwd=folder, check=True, capture_output=True,
                          text=True)
    count, torch = done.stdout.split()
    return int(count), torch == "True"


def fill(environ: dict[str, str], folder: str, lacking: int) -> None:
    """Install ``lacking`` small distributions and put them on the path; without an index nothing changes."""
    have = subprocess.run([sys.executable, "-m", "pip", "list", "--format=freeze"], env=environ, check=True,
                          capture_output=True, text=True).stdout.lower()
    names = [name for name in FILLING if f"{name}==" not in have][:lacking]
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--target",
                           folder, *names], env=environ, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        environ["PYTHONPATH"] = folder
        return
    print(f"filling up to {ENOUGH} distributions failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and a last line of totals; return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds (default 15)")
    parser.add_argument("--no-fill", action="store_true", help="measure the environment with what it has")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        state, work, repository = (str(Path(folder, name)) for name in ("state", "work", "repository"))
        Path(work).mkdir()
        environ = environment(state)
        count, torch = distributions(environ, work)
        if count < ENOUGH and not arguments.no_fill:
            fill(environ, str(Path(folder, "more")), ENOUGH + 5 - count)
            count, torch = distributions(environ, work)
        commands: dict[str, tuple[list[str], int]] = {
            BARE: ([sys.executable, "-c", "pass"], 1),
            CAPTURE: ([sys.executable, "-m", "repro_env", "capture", "--no-send"], 1),
            FREEZE: ([sys.executable, "-m", "pip", "freeze"], 3),
        }
        if torch:
            commands[COLLECT] = ([sys.executable, "-m", "torch.utils.collect_env"], 3)
        times = measure(commands, environ, work, arguments.rounds)
        spooled = sum(1 for _ in Path(state).rglob("*.json"))
        calls = outside_calls(environ, repository)
    return report(times, calls, count, spooled)


def report(times: dict[str, list[float]], calls: dict[str, int], count: int, spooled: int) -> int:
    """Print what was measured and hold it against the aims."""
    torch = COLLECT in times
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"environment: {count} distributions, torch {'installed' if torch else 'missing'}; "
          f"{spooled} documents spooled")
    print(f"{'':<20}{'CPU ms':>10}{'x bare':>10}{'starts':>8}")
    for name, value in medians.items():
        print(f"{name:<20}{value:>10.1f}{value / medians[BARE]:>10.2f}{len(times[name]):>8}")
    for name, spent in calls.items():
        print(f"{'outside: ' + name:<20}{spent / 1000:>10.1f} ms of wall time, in a repository of one file")
    times_bare = medians[CAPTURE] / medians[BARE]
    cheaper = medians[COLLECT] / medians[CAPTURE] if torch else float("nan")
    missed = [text for text, wrong in (
        (f"expected at most {MOST_TIMES_BARE:.0f} x bare", times_bare > MOST_TIMES_BARE),
        (f"expected at least {LEAST_TIMES_CHEAPER:.0f} x cheaper than collect_env", not cheaper >= LEAST_TIMES_CHEAPER),
        ("expected every capture in the spool", spooled != len(times[CAPTURE]) + 1)) if wrong]
    stretch = "reached" if times_bare <= STRETCH_TIMES_BARE else "missed"
    print(f"capture: {times_bare:.2f} x bare interpreter (aim 5, stretch 3 {stretch}), {cheaper:.0f} x cheaper than "
          f"collect_env (aim 30), {count} distributions" + (f"; MISSED: {'; '.join(missed)}" if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

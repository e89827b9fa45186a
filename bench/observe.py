"""What ``repro-env run`` costs a program: until its first line, at each look, and in memory, with torch and without.

Rounds are interleaved, each observed program beside the same one alone, and medians are compared. The looks are timed
around the look itself, in a torch program that trains, within a git repository and outside of one; their documents are
kept durably, and no server is set. Until the first step every forward call is noted: what that costs is a ratio to the
call of a small layer.

Aims: at most 150 ms until the first line of the program, 50 ms a look.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_START_MS = 150.0
MOST_LOOK_MS = 50.0
RUN = [sys.executable, "-m", "repro_env", "run", "--"]
#: a program that tells when its first line was reached.
FIRST_LINE = "import time\nbegun = time.time_ns()\n"
SMALL = FIRST_LINE + "print(begun)\n"
#: a training whose looks are timed; alone it does the same without.
TRAINING = FIRST_LINE + """
import json, resource, sys, time
record = {"begun": begun, "looks": {}}
def tell():
    record["rss_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(record))
def timed(function, name, place):
    def call(*arguments, **options):
        start, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments, **options)
        moment = arguments[1] if arguments else "beside torch's import"
        record["looks"][moment] = [1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu)]
        if moment == "exit":
            tell()
        return result
    setattr(place, name, call)
observed = "_repro_env_observer" in sys.modules
if observed:
    from repro_env import process
    timed(process.prepare, "prepare", process)
import torch
if observed:
    from repro_env import looks
    timed(looks.take, "take", looks)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.ones(16, 64)).sum().backward()
    optimizer.step()
if not observed:
    tell()
"""
#: prints what noting one forward call costs, as a ratio to the call of a linear layer of two values.
NOTING = """
import time, torch
from repro_env.probes import inprocess, inprocess_model
layer, value, seen, best = torch.nn.Linear(2, 2), torch.ones(1, 2), inprocess.Seen(), {}
calls = {"bare": lambda: layer(value), "noted": lambda: inprocess_model.note_module(torch, layer, seen)}
for _ in range(15):
    for name, call in calls.items():
        start = time.perf_counter()
        for _ in range(2000):
            call()
        best[name] = min(best.get(name, 1e9), time.perf_counter() - start)
print(best["noted"] / best["bare"])
"""
#: what is timed but no look: loading and reading what lasts, once torch is there.
BESIDE = "beside torch's import"


def environment(state: str) -> dict[str, str]:
    """Return an environment as a job has it, with a spool of its own and nothing else of ours set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REPRO_ENV_", "GIT_"))}
    return {**kept, "XDG_STATE_HOME": state}


def started(line: list[str], environ: dict[str, str], folder: str) -> tuple[float, str]:
    """Run a program that prints when it begun; return the milliseconds until then, and all it printed."""
    start = time.time_ns()
    output = subprocess.run(line, env=environ, cwd=folder, check=True, capture_output=True, text=True).stdout
    told = json.loads(output)
    return ((told["begun"] if isinstance(told, dict) else told) - start) / 1e6, output


def repository(folder: Path, environ: dict[str, str], files: int) -> None:
    """Make a repository of ``files`` files, one of them changed since its commit."""
    for number in range(files):
        (folder / f"module_{number}.py").write_text(f"value = {number}\n" * 20)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=bench", "-c", "user.email=bench@example.org",
                                                 "commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], env=environ, check=True)
    (folder / "module_0.py").write_text("value = -1\n")


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and a last line; return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="interleaved rounds (default 11)")
    parser.add_argument("--files", type=int, default=200, help="files of the repository (default 200)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as base:
        environ = environment(str(Path(base, "state")))
        folders = {"outside a repository": Path(base, "work"), "in a repository": Path(base, "repository")}
        for folder in folders.values():
            folder.mkdir()
        repository(folders["in a repository"], environ, arguments.files)
        noted = float(subprocess.run([sys.executable, "-c", NOTING], env=environ, check=True, capture_output=True,
                                     text=True).stdout)
        rows = {place: measure(environ, str(folder), arguments.rounds) for place, folder in folders.items()}
    print(f"noting one forward call before the first step: {noted:.2f} x the call of a linear layer of two values")
    return report(rows)


def measure(environ: dict[str, str], folder: str, rounds: int) -> dict[str, float]:
    """Return the medians of one place by name."""
    found: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for name, code in (("small", SMALL), ("training", TRAINING)):
            command = [sys.executable, "-c", code]
            alone, plain = started(command, environ, folder)
            observed, told = started([*RUN, *command], environ, folder)
            if number == 0:
                continue  # byte code and files come into memory
            found.setdefault(f"{name}: start", []).append(observed - alone)
            if name == "training":
                left, right = json.loads(plain), json.loads(told)
                found.setdefault("memory MiB", []).append(right["rss_mib"] - left["rss_mib"])
                for moment, (wall, cpu) in right["looks"].items():
                    name_of = moment if moment == BESIDE else f"look: {moment}"
                    found.setdefault(name_of, []).append(wall)
                    found.setdefault(f"  of that CPU, {moment}", []).append(cpu)
    return {name: statistics.median(values) for name, values in found.items()}


def report(rows: dict[str, dict[str, float]]) -> int:
    """Print what was measured and hold it against the aims."""
    missed = []
    print(f"{'added by repro-env run, medians':<52}{'ms':>10}{'aim':>8}")
    for place, medians in rows.items():
        for name, value in medians.items():
            most = MOST_START_MS if name.endswith("start") else MOST_LOOK_MS if name.startswith("look") else None
            shown = f"{value:>10.1f}" + (f"{most:>8.0f}" if most else "")
            print(f"{name + ', ' + place:<52}{shown}")
            if most is not None and value > most:
                missed.append(f"{name} {place}: {value:.0f} ms, at most {most:.0f}")
    print("observe: " + (f"MISSED: {'; '.join(missed)}" if missed else "start and looks within their aims"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Brings a virtual environment up to date.

``.venv`` is for running, ``.venv-test`` for tests, ``.venv-frameworks`` for what tests observe in a process of its own,
``.venv-vendors`` for vendors' libraries that tests load, ``.venv-lock`` for pinning.

Everything comes from hash-pinned requirements, in the steps listed in ``steps``. Each finished step leaves the digest
of what it was made from in the environment, so a second call, or one after a change elsewhere, installs nothing.
Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: settings of the caller that would send what is installed elsewhere than into the environment.
MISLEADING = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PIP_NO_BUILD_ISOLATION",
              "PYTHONPATH", "PYTHONHOME")
#: what pip writes when the index does not answer, in its own and in its libraries' words.
UNREACHABLE = re.compile(r"Failed to establish|name resolution|Name or service not known|Network is unreachable"
                         r"|Connection refused|ConnectTimeout|ReadTimeout|ProxyError|Max retries", re.IGNORECASE)
STAMP = "installed.json"
LOG_LINES_SHOWN = 12
#: seconds without a line after which a person wonders whether anything still moves.
PULSE_S = 10.0
TORCH = Path("requirements", "torch.txt")


class SetupFailed(Exception):
    """A step ended with an error; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Step:
    """One call of pip: what it installs, and the files whose bytes decide whether it has to run again."""

    title: str
    arguments: tuple[str, ...]
    sources: tuple[Path, ...]


def steps(folder: str) -> tuple[Step, ...]:
    """Return what makes up an environment, in order."""
    if folder == ".venv-lock":
        return (pinned("lock"),)
    if folder == ".venv-frameworks":
        # What is imported is compiled then; compiling all of it here would take longer than the rest together.
        return (pinned("frameworks", "--no-compile"),)
    if folder == ".venv-vendors":
        return (pinned("vendors"),)
    packages = ("./client", "./service")
    local = ("--no-index", "--no-deps", "--no-build-isolation")
    if folder == ".venv":
        built = tuple(path for package in packages for path in sorted(Path(package).rglob("*")) if is_source(path))
        return (pinned("build"), pinned("service"),
                Step("repro-env and its service", (*local, "--force-reinstall", *packages), built))
    editable = tuple(part for package in packages for part in ("-e", package))
    projects = tuple(Path(package, "pyproject.toml") for package in packages)
    return (pinned("build"), pinned("service"), pinned("test"),
            Step("torch (about 200 MB for the CPU)", ("-r", str(TORCH)), (TORCH,)),
            Step("repro-env and its service, editable", (*local, "--force-reinstall", *editable), projects))


def pinned(name: str, *options: str) -> Step:
    """Return the step that installs one file of pinned requirements, every artefact checked by its hash."""
    path = Path("requirements", f"{name}.txt")
    what = {"build": "build tools", "service": "what the service needs (about 30 MB)", "test": "test tools",
            "lock": "the tool that pins", "frameworks": "JAX, TensorFlow and scikit-learn (about 460 MB)",
            "vendors": "two CUDA runtimes and NCCL (215 MB)"}[name]
    return Step(f"{what}, from {path}", ("--require-hashes", *options, "-r", str(path)), (path,))


def is_source(path: Path) -> bool:
    """Tell whether a file goes into a wheel."""
    return path.is_file() and "__pycache__" not in path.parts


def fingerprint(step: Step) -> str:
    """Return the digest of everything a step depends on, the place of the checkout included: scripts hold paths."""
    digest = hashlib.sha256(json.dumps([os.getcwd(), step.title, step.arguments]).encode())
    for path in step.sources:
        content = path.read_bytes()
        digest.update(f"\n{path} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def main(folder: str) -> None:
    """Bring ``folder`` up to date, or raise ``SetupFailed``."""
    planned = [(step, fingerprint(step)) for step in steps(folder)]
    if finished_steps(folder) == [digest for _, digest in planned]:
        return
    os.makedirs(folder, exist_ok=True)
    with open(Path(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two calls at once: the second finds everything done
        finished = finished_steps(folder)
        if finished == [digest for _, digest in planned]:
            return
        started = time.monotonic()
        print(f"Setting up {folder} in this folder; only what changed since the last time is installed.", flush=True)
        if not usable(folder):
            make_environment(folder)
        for index, (step, digest) in enumerate(planned):
            if finished[index:index + 1] == [digest]:
                continue
            finished = finished[:index]
            write_stamp(folder, finished)
            print(f"{folder}: step {index + 1} of {len(planned)}: {step.title}", flush=True)
            install(folder, step)
            finished.append(digest)
            write_stamp(folder, finished)
        print(f"{folder} is ready after {time.monotonic() - started:.0f} s.\n", flush=True)


def finished_steps(folder: str) -> list[str]:
    """Return the digests of the steps that are done in an environment; none where its Python is not the one meant.

    That is the one it was made with, unless the caller names one in PYTHON.
    """
    try:
        stamp = json.loads(Path(folder, STAMP).read_text())
        python, finished = stamp["python"], list(stamp["steps"])
    except (OSError, ValueError, TypeError, KeyError):
        return []
    named = bool(os.environ.get("PYTHON")) and python != sys.version
    return [] if named or python != version(folder) else finished


def write_stamp(folder: str, finished: list[str]) -> None:
    """Note which steps are done, and by which Python."""
    Path(folder, STAMP).write_text(json.dumps({"python": version(folder), "steps": finished}))


def version(folder: str) -> str | None:
    """Return what the Python of an environment says of itself; ``None`` where it does not start."""
    python = Path(folder, "bin", "python")
    try:
        return subprocess.run([python, "-I", "-S", "-c", "import sys; sys.stdout.write(sys.version)"], check=True,
                              capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def usable(folder: str) -> bool:
    """Tell whether an environment starts, is of the Python that is meant, and can install."""
    if os.environ.get("PYTHON") and version(folder) != sys.version:
        return False
    try:
        subprocess.run([Path(folder, "bin", "python"), "-c", "import pip"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def make_environment(folder: str) -> None:
    """Create the environment anew; the lock, which is held, stays."""
    print(f"{folder}: new, with Python {sys.version.split()[0]}", flush=True)
    for entry in Path(folder).iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != "lock":
            entry.unlink()
    python = Path(folder, "bin", "python")
    failure = ended_badly("venv", folder)
    # Debian keeps ensurepip in a package of its own; a pip beside the interpreter serves as well.
    if failure and (ended_badly("venv", "--without-pip", folder)
                    or ended_badly("pip", "--python", str(python), "install", "pip")):
        raise SetupFailed(f"cannot make {folder}:\n{failure}\nOn Debian and Ubuntu: apt-get install python3-venv")


def ended_badly(*module_call: str) -> str | None:
    """Run a module of the interpreter that runs this; return what it wrote if it failed."""
    process = subprocess.run([sys.executable, "-m", *module_call], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env=environment(), check=False)
    return (process.stdout.strip() or f"exit status {process.returncode}") if process.returncode else None


def environment() -> dict[str, str]:
    """Return the caller's variables without those that mislead pip; its index, proxy and cache settings stay."""
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return {**kept, "PIP_ROOT_USER_ACTION": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1",
            "PYTHONUNBUFFERED": "1"}


def install(folder: str, step: Step) -> None:
    """Run one step, one line for every distribution as it comes; raise ``SetupFailed`` with the end of pip's log."""
    started = time.monotonic()
    argv = [str(Path(folder, "bin", "python")), "-m", "pip", "install", "--progress-bar", "off", *step.arguments]
    log: list[str] = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=environment()) as process, pulse(started):
        assert process.stdout is not None
        for line in process.stdout:
            log.append(line.rstrip())
            if short := shortened(log[-1]):
                print(f"  {short}", flush=True)
    if process.returncode:
        told = [line for line in log if not line.startswith("WARNING: Retrying")]
        tail = "\n".join(f"  | {line}" for line in told[-LOG_LINES_SHOWN:])
        raise SetupFailed(f"pip ended with status {process.returncode} at {step.title}\n{tail}\n{remedy(log)}")
    print(f"  done in {time.monotonic() - started:.0f} s", flush=True)


@contextmanager
def pulse(started: float) -> Iterator[None]:
    """Say every ten seconds that a step goes on: a large download is one line of pip's, then silence."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(PULSE_S):
            print(f"  ... {time.monotonic() - started:.0f} s", flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def shortened(line: str) -> str | None:
    """Return what a line of pip's output tells a person who waits, if anything."""
    collecting = re.match(r"Collecting (\S+?)(?:==(\S+))?(?: |$)", line)
    if collecting:
        return " ".join(filter(None, collecting.groups()))
    downloading = re.match(r"\s*Downloading \S*?([^/\s]+) \(([\d.]+ [MG]B)\)", line)
    if downloading:
        return f"  downloading {downloading[1]}, {downloading[2]}"
    processing = re.match(r"(?:Processing|Obtaining) (.+?)(?: \(from .*)?$", line)
    if processing:
        path = Path(processing[1].removeprefix("file://"))
        return " ".join(path.name.split("-")[:2]) if path.suffix == ".whl" else f"building {path.name}"
    if line.startswith("Installing collected packages: "):
        return f"unpacking {line.count(',') + 1} distributions"
    return None


def remedy(log: list[str]) -> str:
    """Return the likeliest way out."""
    text = "\n".join(log)
    if UNREACHABLE.search(text):
        return ("The package index could not be reached. The first set-up needs the network: check the connection, the "
                "proxy variables,\nand pip's settings (python3 -m pip config list). What is done is kept; run the same "
                "command again.")
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in text:
        return "A download is not the file that was pinned: an altered mirror, or a broken transfer."
    if "No space left" in text:
        return "The disk is full."
    return "What is done is kept; run the same command again, or remove the folder to start anew."


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except SetupFailed as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; run the same command again to go on")

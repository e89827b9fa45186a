"""One launch: a workload as a program of its own, in an environment made for it, observed by ``repro-env run``.

Owns the folder in which workloads lie, the ways of starting them, and reading back what was observed. What is launched
is left to ``plan``, what it means to ``scoring``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from typing import Any

from .bases import BASES
from .factors import FACTORS
from .launches import Launch, Outcome
from .machine import TIMEOUT_S, Machine, text_of, works
from .stating import declared

_HERE = os.path.dirname(os.path.abspath(__file__))
#: what the program reads as text; its last letter has two bytes.
_WORDS = "na\u00efve caf\u00e9\n".encode()
_GIT = ("git", "-c", "user.name=selftest", "-c", "user.email=selftest@example.org", "-c", "init.defaultBranch=main",
        "-c", "commit.gpgsign=false")
_COMMITTED = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
#: way of starting -> the distribution beside the program.
_BESIDE = {"unrelated-distribution": "prettytable", "unknown-distribution": "nobody-knows-it"}
_LIBRARIES = {"fast-math": ("-O2", "-ffast-math"), "blank-library": ("-O2",)}
#: way of starting -> what stands before the command.
_PREFIXES: dict[str, tuple[str, ...]] = {
    "host-name": ("unshare", "--map-root-user", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"),
    "user": ("unshare", "--map-user=1234"),
    "nice": ("nice", "-n", "5"),
    "umask": ("sh", "-c", 'umask 077 && exec "$@"', "sh"),
    "stack-limit": ("sh", "-c", 'ulimit -s 16384 && exec "$@"', "sh"),
    "addresses": ("setarch", "-R"),
    "one-core": ("taskset", "-c", "{core}"),
}


class Stage:
    """A folder with the workloads in repositories of their own, and a spool for each launch."""

    def __init__(self, folder: str, machine: Machine) -> None:
        self.folder = folder
        self.machine = machine
        self._program()
        self._copy("script-folder")
        for start, name in _BESIDE.items():
            beside = os.path.join(self._copy(start), f"{name.replace('-', '_')}-1.0.dist-info")
            os.mkdir(beside)
            _write(os.path.join(beside, "METADATA"), f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode())
        edited = os.path.join(self._copy("edited"), "workloads.py")
        _write(edited, text_of(edited).replace('get("seed", 0)', 'get("seed", 3)').encode())
        for name, options in _LIBRARIES.items():
            self._compile(name, options)

    def _program(self) -> None:
        place = self._place("program")
        os.makedirs(os.path.join(place, "inner"))
        shutil.copy(os.path.join(_HERE, "workloads.py"), place)
        _write(os.path.join(place, "words.txt"), _WORDS)
        if self.machine.has("git"):
            for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "workloads")):
                subprocess.run([*_GIT, "-C", place, *words], env={**os.environ, **_COMMITTED}, check=True, timeout=60,
                               capture_output=True)

    def _copy(self, name: str) -> str:
        return str(shutil.copytree(self._place("program"), self._place(name)))

    def _compile(self, name: str, options: tuple[str, ...]) -> None:
        if self.machine.has("cc"):
            source = self._place(f"{name}.c")
            _write(source, b"int selftest_nothing(void) { return 0; }\n")
            works(["cc", *options, "-shared", "-fPIC", "-o", self._place(f"{name}.so"), source])

    def _place(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run(self, launch: Launch, number: int) -> Outcome:
        """Launch one workload observed; ``number`` tells launches of one stage apart."""
        spool = self._place(f"spool-{number}")
        command, folder = self._command(launch)
        try:
            done = subprocess.run(command, input=json.dumps(launch.settings), env=self._environment(launch, spool),
                                  cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                                  errors="replace")
            digest = _digest(done.stdout)
            error = None if digest and done.returncode == 0 else f"exit code {done.returncode}: {done.stderr[-500:]}"
        except (OSError, subprocess.SubprocessError) as problem:
            digest, error = None, str(problem)[:500]
        documents = _documents(spool)
        if error is None and not documents:
            error = "nothing was observed"
        return Outcome(launch, digest, zlib.compress(json.dumps(documents).encode(), 1), error)

    def _command(self, launch: Launch) -> tuple[list[str], str]:
        """Return the command and the folder it is started in."""
        factor = launch.factor
        start = factor.start if factor else ""
        program = start if start in ("script-folder", "edited", *_BESIDE) else "program"
        place = self._place(program)
        told = [word for name, value in declared(launch.workload, launch.settings).items()
                for word in ("--declare", f"{name}={value}")]
        prefix = [word.format(core=self.machine.cores[0]) if word == "{core}" else word
                  for word in _PREFIXES.get(start, ())]
        python = self._python(launch)
        return ([*prefix, sys.executable, "-m", "repro_env", "run", "--watch", "loaders", *told, "--", python,
                 *(factor.flags if factor else ()), os.path.join(place, "workloads.py"), launch.workload],
                os.path.join(place, "inner") if start == "working-folder" else place)

    def _python(self, launch: Launch) -> str:
        named = launch.factor.python if launch.factor else ""
        return named or self.machine.python_of(launch.workload) or sys.executable

    def _environment(self, launch: Launch, spool: str) -> dict[str, str]:
        """Return the environment of a launch: the user's own, without what the tables set."""
        factor = launch.factor
        kept = {name: value for name, value in os.environ.items()
                if name not in _SET_HERE and not name.startswith("REPRO_ENV_")}
        made = {**launch.base.variables, **(factor.variables if factor else {})}
        if factor and factor.start in _LIBRARIES:
            made["LD_PRELOAD"] = self._place(f"{factor.start}.so")
        if factor and factor.start == "numpy-simd":
            made["NPY_DISABLE_CPU_FEATURES"] = " ".join(self.machine.pythons[self._python(launch)]["dispatched"])
        for name in factor.without if factor else ():
            made.pop(name, None)
        return {**kept, **made, "REPRO_ENV_SPOOL": spool}


#: every name that a table sets; a launch has none of them from the user's environment.
_SET_HERE = frozenset((*(name for base in BASES for name in base.variables),
                       *(name for factor in FACTORS for name in factor.variables), "LC_ALL", "LC_CTYPE", "LD_PRELOAD",
                       "NPY_DISABLE_CPU_FEATURES"))


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)


def _digest(printed: str) -> str | None:
    """Return the digest on the last line that a workload printed."""
    for line in reversed(printed.splitlines()):
        try:
            return str(json.loads(line)["digest"])
        except (ValueError, KeyError, TypeError):
            continue
    return None


def _documents(spool: str) -> list[dict[str, Any]]:
    """Return the documents in a spool, and empty it."""
    names = sorted(os.listdir(spool)) if os.path.isdir(spool) else []
    found = [json.loads(text_of(os.path.join(spool, name))) for name in names if name.endswith(".json")]
    shutil.rmtree(spool, ignore_errors=True)
    return found

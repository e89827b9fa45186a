"""``repro-env run -- CMD``: become the command, with the injection in its environment.

The command replaces this process: exit code, signals, input, output, process id and working folder are the program's
own, with nothing in between. (The module is not named ``run``: that name is kept for the public interface.)
"""

from __future__ import annotations

import os
import sys

from . import ids, injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE, NOT_EXECUTABLE, NOT_FOUND = 64, 126, 127
#: interpreter options that make Python ignore the injection, and those that take the next argument.
_DEAF, _WITH_VALUE, _ENDING = "IES", "WX", "cm"
_NAMES = ("python", "pypy")


def main(argv: list[str], settings: Any, declared: dict[str, str] | None = None) -> int:
    """Run ``argv`` observed; return only when it could not be started: 64, 126 or 127, as a shell would."""
    if not argv:
        _say("run: expected a command, got none; write it after --, as in: repro-env run -- python train.py")
        return USAGE
    path = find(argv[0], os.environ)
    if path is None:
        _say(f"run: expected a command on PATH or a file, got {argv[0]!r}, which is neither; check the spelling")
        return NOT_FOUND
    deaf = unobserved(path, argv)
    if deaf:
        _say(deaf)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(path, argv, injection.inject(os.environ, handed_over(settings, declared or {})))  # noqa: S606 - what run is for
    except OSError as error:
        _say(f"run: {path} could not be started: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def handed_over(settings: Any, declared: dict[str, str]) -> dict[str, str]:
    """Return what the observed program needs to know: settings as variables, declared values, the run id made here,
    and how the working tree differs from its commit: the code that runs is the one that lies there now.

    Those that the environment has already are marked: a program may set them anew, and a launcher may drop them.
    """
    import time

    told = settings.variables()
    values = {name: value for name, value in told.items() if os.environ.get(name) != value}
    values.update({injection.INHERITED + name: value for name, value in told.items() if name not in values})
    run_id, source = ids.run_identity({**os.environ, **values}, time.time(), subject="process")
    if source == "made" and run_id is not None:
        values["made_run_id"] = run_id
    values.update({injection.DECLARED + name: value for name, value in declared.items()})
    values.update(working_tree())
    return values


def working_tree() -> dict[str, str]:
    """Return the state of the working tree around the working folder; nothing outside one, or where git cannot tell.

    Asked here, so that no program of ours is started inside the user's.
    """
    try:
        folder = os.getcwd()
        while not os.path.exists(os.path.join(folder, ".git")):
            above = os.path.dirname(folder)
            if above == folder:
                return {}
            folder = above
        from .probes.look import Look
        from .probes.source import difference
        from .system import System

        look = Look(System(), vantage="process", subject="process", python=None, budget_s=1.0)
        text = injection.difference(difference(look, folder))
    except Exception:  # noqa: BLE001 - the guard of the host contract: the look in the program says what fails
        return {}
    return {} if text is None else {injection.DIFFERENCE + folder: text}


def find(command: str, environ: Any) -> str | None:
    """Return the file that a shell would start for ``command``; ``None`` when there is none."""
    if os.sep in command:
        return command if os.path.exists(command) else None
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or os.curdir, command)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def unobserved(path: str, argv: list[str]) -> str | None:
    """Return why nothing of this command will be observed, in a sentence; ``None`` when it will."""
    interpreter, options = interpreter_of(path, argv)
    if interpreter is None:
        return (f"{argv[0]} is not a Python program: nothing of it is observed; Python programs that it starts are")
    option = deaf_option(options)
    if option:
        return (f"{argv[0]} is started with {option}, which shuts out every injection: nothing is observed; "
                "leave the option out, or call repro_env.observe() in the program")
    return None


def interpreter_of(path: str, argv: list[str]) -> tuple[str | None, list[str]]:
    """Return the Python that will run, with the arguments it gets; ``None`` for other programs."""
    if _is_python(path) or _is_python(os.path.realpath(path)):
        return path, argv[1:]
    words = _shebang(path)
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S" and "=" not in word]
    if words and _is_python(words[0]):
        return words[0], words[1:]
    return None, []


def deaf_option(options: list[str]) -> str | None:
    """Return the interpreter option (``-I``, ``-E``, ``-S``) that keeps the injection out; ``None`` without one."""
    position = 0
    while position < len(options):
        option = options[position]
        if not option.startswith("-") or option in ("-", "--") or option.startswith("--"):
            return None
        for index, letter in enumerate(option[1:], 1):
            if letter in _DEAF:
                return f"-{letter}"
            if letter in _ENDING:
                return None
            if letter in _WITH_VALUE:
                position += index == len(option) - 1
                break
        position += 1
    return None


def _is_python(path: str) -> bool:
    name = os.path.basename(path)
    return any(name.startswith(stem) and not name[len(stem):].strip("0123456789.t") for stem in _NAMES)


def _shebang(path: str) -> list[str]:
    """Return the words of a script's first line after ``#!``; empty for anything else."""
    try:
        with open(path, "rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []


def _say(message: str) -> None:
    sys.stderr.write(f"repro-env: {message}\n")

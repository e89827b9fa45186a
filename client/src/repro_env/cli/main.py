"""Which command runs, and what becomes of an error: words on stderr and an exit code, never a traceback.

Exit codes: 0 done or yes, 1 no or something remains, 2 unknown, 3 likely, 64 wrong usage, 65 invalid input or a run
that is not known, 69 the service is not there, 70 a fault of this program, 74 a file could not be written.
"""

from __future__ import annotations

import os
import sys

from ..errors import InvalidDocument, ReproEnvError, SpoolError, TransportError, UnknownFormat, UsageError
from .console import answer, say, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE, INVALID, UNAVAILABLE, FAULT, NOT_WRITTEN, INTERRUPTED, PIPE_CLOSED = 64, 65, 69, 70, 74, 130, 141

#: status of an answer that says what is wrong with the question: no such run, not two starts.
_ASKED_WRONGLY = (404, 422)
#: command -> what it does, in the order of the help.
COMMANDS = {
    "capture": "record this environment, without running anything (for a job's prologue)",
    "run": "run a program and record its environment from the inside",
    "compare": "say whether two environments are comparable, and what stands between them",
    "verify": "recompute a verdict and say whether it holds",
    "import": "make a document from an environment report that another tool printed",
    "doctor": "find what contradicts itself, moves numbers or could not be read, and mend it",
    "sync": "deliver documents that could not be delivered before",
    "rules": "list what is known about differences",
    "explain": "say what is known about a rule, a cause or a layer, and where from",
    "selftest": "hold verdicts against the bits of workloads that run here",
}
_EXAMPLES = """\
  repro-env capture                        record this environment, print its run id
  repro-env run -- python train.py         record what a program really loads and switches on
  repro-env compare run-a run-b            compare two runs that the service knows
  repro-env compare a.json b.json          compare two files; needs no server
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = _dispatch(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - a person gets words and an exit code, not a traceback
        return failed(error)


def failed(error: Exception) -> int:
    """Say what failed and return the exit code for it; with REPRO_ENV_DEBUG=1 the traceback goes on."""
    if os.environ.get("REPRO_ENV_DEBUG") == "1":
        raise error
    if isinstance(error, ReproEnvError):
        say(str(error))
        return _code(error)
    say(f"unexpected {type(error).__name__}: {error} (REPRO_ENV_DEBUG=1 shows where)")
    return FAULT


def _code(error: ReproEnvError) -> int:
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, (InvalidDocument, UnknownFormat)):
        return INVALID
    if isinstance(error, TransportError) and error.status in _ASKED_WRONGLY:
        return INVALID
    return NOT_WRITTEN if isinstance(error, SpoolError) else UNAVAILABLE


def _dispatch(words: list[str]) -> int:
    if not words:
        sys.stderr.write(overview())
        return USAGE
    name = words[0]
    if name in ("-h", "--help", "help"):
        if name == "help" and len(words) > 1:
            return _dispatch([words[1], "--help"])
        answer(overview())
        return 0
    if name in ("-V", "--version"):
        from ..version import VERSION

        answer(f"repro-env {VERSION}\n")
        return 0
    if name not in COMMANDS:
        raise UsageError(f"unknown command {name!r}{_near(name)}; repro-env --help lists the commands")
    module: Any = _module(name)
    values = module.COMMAND.parse(words[1:])
    if values is None:
        answer(module.COMMAND.help(width()))
        return 0
    code: int = module.main(values)
    return code


def _module(name: str) -> Any:
    """Import the module of one command, and no other."""
    path = f"{__package__}.{'import_' if name == 'import' else name}"
    __import__(path)
    return sys.modules[path]


def overview() -> str:
    """Return what ``repro-env --help`` shows."""
    lines = [f"  {name:<9} {summary}" for name, summary in COMMANDS.items()]
    return ("usage: repro-env COMMAND ...\n\n"
            "May these two results be compared, and if not, what in their environments stands between them?\n\n"
            "commands:\n" + "\n".join(lines) + "\n\nexamples:\n" + _EXAMPLES +
            "\nrepro-env COMMAND --help explains a command. Settings: a flag, else a REPRO_ENV_* variable, else\n"
            "reproenv.toml (server, token, project, group, labels, timeout_s, spool, python, watch).\n")


def _near(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(COMMANDS), 1, 0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def _drop_output() -> None:
    """Point stdout to nowhere, so that the interpreter's own flush at the end stays quiet."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return

"""What could not be read, why, and how to make it readable; what no rule waits for is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..comparability.levels import Level, Question
from ..comparability.reading import Facts
from ..comparability.vector import UNREAD as RULE_UNREAD
from ..comparability.vector import entry, rules_of
from .finding import UNREAD, Finding

#: facts named of each group.
MAX_PATHS = 4
_RUN = "repro-env run -- python train.py"
_THERE = "repro-env capture on that machine, or " + _RUN
_CODES = {
    "too-early": ("fixed only once the program has computed", _RUN),
    "not-loaded": ("known to the program alone", _RUN),
    "other-subject": ("not looked at, for this capture saw a node and not a job's environment",
                      "repro-env capture in the job's own shell"),
    "not-recorded": ("not told by this document", _THERE),
    "not-reported": ("told by nobody here", _RUN),
}
#: beginning of a path, word in the message -> what mends a look that failed; the first that fits counts.
_MENDS = (
    ("accelerators", "libnvidia-ml", "in a container start it with the GPUs (docker run --gpus all); on a host install "
     "the NVIDIA driver"),
    ("accelerators", "different versions", "reboot the node, or reload the module: modprobe -r nvidia_uvm nvidia && "
     "modprobe nvidia"),
    ("accelerators", "not loaded", "modprobe nvidia"),
    ("accelerators", "lost", "drain the node and reset or replace the card: nvidia-smi -r -i INDEX, else reboot"),
    ("accelerators", "nvidia-smi", "repair the driver's tools: nvidia-smi has to answer on the command line"),
    ("driver", "libnvidia-ml", "in a container start it with the GPUs (docker run --gpus all); on a host install the "
     "NVIDIA driver"),
    ("variables", "secret", "unset it, or give it a value that is no credential"),
    ("program.source", "", "git status, in the folder of the program"),
    ("container", "sha256", "export REPRO_ENV_IMAGE_DIGEST=sha256:... as the registry names it"),
)
_BY_CODE = {
    "timeout": "give it more time: repro-env capture --timeout 10",
    "denied": "run as a user who may read it, or let the container see it",
    "failed": "REPRO_ENV_DEBUG=1 repro-env capture --strict shows where",
}


def find(facts: Facts, capture: dict[str, Any]) -> Iterator[Finding]:
    """Yield looks that failed, then facts that rules wait for, grouped by why they are unread."""
    errors = capture.get("errors") or ()
    for error in errors:
        yield Finding(UNREAD, error["code"], f"{error['path']}: {error['message']}", _mend(error),
                      (error["path"],))
    failed = tuple(error["path"] for error in errors)
    for code, paths in _waited_for(facts).items():
        left = [path for path in paths if code in _CODES and not path.startswith(failed)]
        if left:
            why, mend = _CODES[code]
            more = f" and {len(left) - MAX_PATHS} more" if len(left) > MAX_PATHS else ""
            yield Finding(UNREAD, code, f"{why}: {', '.join(left[:MAX_PATHS])}{more}",
                          _THERE if capture["vantage"] == "import" else mend, tuple(left))


def _mend(error: dict[str, Any]) -> str:
    for path, word, mend in _MENDS:
        if error["path"].startswith(path) and word in error["message"]:
            return mend
    return _BY_CODE.get(error["code"], _RUN)


def _waited_for(facts: Facts) -> dict[str, list[str]]:
    """Return the unread facts that lower a guarantee, by code."""
    groups: dict[str, dict[str, None]] = {}
    for rule in rules_of(Question.REPEAT):
        state = entry(rule, facts)
        if state.state == RULE_UNREAD and rule.guaranteed < Level.BITWISE:
            for path, code in state.lacking:
                groups.setdefault(code, {})[path] = None
    return {code: list(paths) for code, paths in groups.items()}

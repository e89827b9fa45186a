"""Record the machine this runs on as a host for tests: what a capture of the node reads, and what programs answer.

    python tests/record_host.py NAME

writes ``tests/hosts/NAME/`` in the form that ``recorded.py`` plays back, and beside it ``document.json``, the document
of the real look: what came through a library's calls (NVML) cannot be played back and is kept there. Ids of devices
and the name of the machine are replaced; look at the files before you commit them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from repro_env.capture import capture
from repro_env.errors import ProbeFailed
from repro_env.outside import Outcome
from repro_env.system import System

HOSTS = Path(__file__).parent / "hosts"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32,64}\b")


class Recorder(System):
    """The machine itself; notes every answer it gives."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.denied: list[str] = []
        self.commands: dict[str, Any] = {}

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        try:
            self.files[path] = super().read_bytes(path, limit)
        except PermissionError:
            self.denied.append(path)
            raise
        return self.files[path]

    def list_dir(self, path: str) -> list[str]:
        try:
            return super().list_dir(path)
        except PermissionError:
            self.denied.append(path)
            raise

    def exists(self, path: str) -> bool:
        found = super().exists(path)
        if found and not os.path.isdir(path):
            self.files.setdefault(path, b"")
        return found

    def readlink(self, path: str) -> str:
        self.links[path] = super().readlink(path)
        return self.links[path]

    def realpath(self, path: str) -> str:
        real = super().realpath(path)
        if real != path:
            self.links[path] = real
            self.files.setdefault(real, b"")
        return real

    def run_status(self, argv: list[str], timeout_s: float, limit: int = 1 << 20) -> Outcome:
        command = " ".join(argv)
        try:
            outcome = super().run_status(argv, timeout_s, limit)
        except ProbeFailed as error:
            if self.executable(argv[0]) is not None:
                self.commands[command] = {"error": error.code}
            raise
        self.commands[command] = {"status": outcome.status, "output": outcome.output.decode("utf-8", "replace")}
        return outcome


class Masked:
    """Replaces ids and the name of the machine, each by the same stand-in wherever it occurs."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.seen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = text.replace(self.node, "node-00") if len(self.node) > 3 else text
        return _ID.sub(lambda match: self.seen.setdefault(match[0], self._stand_in(match[0])), text)

    def _stand_in(self, found: str) -> str:
        digits = f"{len(self.seen):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}" if "-" in found else digits


def record(folder: Path) -> dict[str, Any]:
    """Look at this machine as a node prologue does, write what was read below ``folder``, return the document."""
    system = Recorder()
    document = capture(system, subject="node")
    name = system.uname()
    masked = Masked(name.nodename)
    host = {
        "affinity": system.affinity(), "cores": system.processor_count(), "libc": "", "denied": sorted(system.denied),
        "links": system.links, "interpreter": {"search_path": []},
        "uname": [name.sysname, "node-00", name.release, name.version, name.machine]}
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/researcher", "USER": "researcher"}
    for path, content in system.files.items():
        file = folder / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(masked(content.decode("utf-8", "replace")))
    shown = {"stack": document["stack"], "sources": document["capture"]["sources"],
             "errors": document["capture"]["errors"], "durations_us": document["capture"]["durations_us"],
             "device_links": document["capture"]["device_links"],
             "device_states": document["capture"]["device_states"]}
    for file_name, value in (("host", host), ("environ", environ), ("commands", system.commands), ("document", shown)):
        (folder / f"{file_name}.json").write_text(masked(json.dumps(value, indent=1)) + "\n")
    return document


if __name__ == "__main__":
    record(HOSTS / sys.argv[1])

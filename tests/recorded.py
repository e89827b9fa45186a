"""Recorded hosts: what a machine answered, kept as files, standing in for ``repro_env.system.System``.

``tests/hosts/<name>/`` holds ``host.json`` (uname, processors, folders that are refused, links, interpreter),
``environ.json``, ``commands.json`` (programs and what they answered) and ``files/`` (the file system as far as it is
looked at). Whatever is not there is absent, as on a machine that does not have it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import posixpath
from pathlib import Path
from typing import Any

from repro_env.errors import ProbeFailed
from repro_env.outside import Outcome
from repro_env.system import System

HOSTS = Path(__file__).parent / "hosts"


class RecordedSystem(System):
    """A recorded host. ``environ``, ``library`` and ``host`` may be changed by a test before it is looked at."""

    def __init__(self, name: str, *, library: str | None = None, **environ: str) -> None:
        folder = HOSTS / name
        self.files = folder / "files"
        self.host: dict[str, Any] = json.loads((folder / "host.json").read_text())
        self.commands: dict[str, Any] = json.loads((folder / "commands.json").read_text())
        self.variables: dict[str, str] = {**json.loads((folder / "environ.json").read_text()), **environ}
        self.library = library
        self.started: list[str] = []
        self.clock = 100.0

    @property
    def environ(self) -> dict[str, str]:
        return self.variables

    def _resolve(self, path: str) -> str:
        """Return ``path`` behind the recorded links; refuse what the host refused."""
        links = self.host.get("links", {})
        for _ in range(8):
            head = next((link for link in links if path == link or path.startswith(link + "/")), None)
            if head is None:
                break
            path = posixpath.normpath(posixpath.join(posixpath.dirname(head), links[head])) + path[len(head):]
        if any(path == denied or path.startswith(denied + "/") for denied in self.host.get("denied", ())):
            raise PermissionError(errno.EACCES, "recorded as refused", path)
        return path

    def _real(self, path: str) -> Path:
        return self.files / self._resolve(path).lstrip("/")

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        with self._real(path).open("rb") as file:
            return file.read(limit)

    def read_at(self, path: str, offset: int, limit: int) -> bytes:
        return self.read_bytes(path, offset + limit)[offset:]

    def size(self, path: str) -> int:
        return self._real(path).stat().st_size

    def stamp(self, path: str) -> tuple[int, int]:
        return self.size(path), 0

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(self._real(path)))

    def exists(self, path: str) -> bool:
        try:
            return self._real(path).exists()
        except PermissionError:
            return False

    def is_dir(self, path: str) -> bool:
        return self.exists(path) and self._real(path).is_dir()

    def readlink(self, path: str) -> str:
        try:
            return str(self.host["links"][path])
        except KeyError:
            raise OSError(errno.EINVAL, "not a link", path) from None

    def realpath(self, path: str) -> str:
        return self._resolve(path)

    def executable(self, name: str) -> str | None:
        if "/" in name:
            return name if self.exists(name) else None
        if name in {command.split()[0] for command in self.commands}:
            return f"/usr/bin/{name}"
        return next((path for folder in self.environ.get("PATH", "").split(":")
                     if self.exists(path := f"{folder}/{name}")), None)

    def run_status(self, argv: list[str], timeout_s: float, limit: int = 1 << 20) -> Outcome:
        command = " ".join(argv)
        self.started.append(command)
        answer = self.commands.get(command)
        if answer is None:
            raise ProbeFailed("failed", f"{argv[0]} was not found on PATH")
        if "error" in answer:
            self.clock += timeout_s
            raise ProbeFailed(answer["error"], f"{argv[0]} was recorded as {answer['error']}")
        return Outcome(answer.get("status", 0), answer["output"].encode())

    def load_library(self, name: str) -> Any:
        if self.library is None:
            raise OSError(f"{name}: cannot open shared object file")
        return ctypes.CDLL(self.library)

    def uname(self) -> os.uname_result:
        return os.uname_result(self.host["uname"])

    def affinity(self) -> list[int]:
        return list(self.host["affinity"])

    def processor_count(self) -> int | None:
        return int(self.host["cores"])

    def confstr(self, name: str) -> str | None:
        return str(self.host["libc"])

    def text_encoding(self) -> str:
        return str(self.host.get("encoding", "UTF-8"))

    def utc_offset_s(self) -> int:
        return int(self.host.get("utc_offset_s", 0))

    def now(self) -> float:
        return 1_800_000_000.25

    def monotonic(self) -> float:
        self.clock += 0.0001
        return self.clock

    def pid(self) -> int:
        return int(self.host.get("pid", 4711))

    def working_folder(self) -> str:
        return str(self.host.get("working_folder", "/home/researcher"))

    def is_root(self) -> bool:
        return bool(self.host.get("root", False))

    def argv(self) -> list[str]:
        return list(self.host.get("argv", ["train.py"]))

    def mapped_files(self) -> list[str]:
        return list(self.host.get("mapped", ()))

    def interpreter(self) -> dict[str, Any]:
        return {"executable": "/opt/repro-env/bin/python", "prefix": "/opt/repro-env", "base_prefix": "/usr",
                "version": "3.11.2", "implementation": "cpython", "text": "3.11.2 (main) [GCC 12.2.0]",
                "free_threaded": False, "search_path": [], **self.host.get("interpreter", {})}

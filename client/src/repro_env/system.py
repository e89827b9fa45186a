"""The one boundary to the machine: files, environment, programs, clocks, the process itself.

Owns every read of the world and its bounds (size, time). Meaning is left to ``probes``; a recorded host stands in for
it in tests. Imports stay light on purpose: a capture in a job prologue may cost only a few bare interpreter starts.
"""

from __future__ import annotations

import os
import sys
import time

from .errors import ProbeFailed
from .outside import Outcome, isolated, run_program, threaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

READ_LIMIT = 65536
OUTPUT_LIMIT = 1 << 20


class System:
    """The machine, seen from this process."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Environment variables; values that are no UTF-8 carry lone surrogates, as Python gives them."""
        return os.environ

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a file; raise ``OSError`` as the machine does. Never waits on a pipe."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            parts = []
            while limit > 0:
                part = os.read(descriptor, limit)
                if not part:
                    break
                parts.append(part)
                limit -= len(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; raise ``OSError``."""
        return os.stat(path).st_size

    def stamp(self, path: str) -> tuple[int, int]:
        """Return size and time of the last change of a file or folder, which tell it from another one of that name."""
        status = os.stat(path)
        return status.st_size, status.st_mtime_ns

    def read_at(self, path: str, offset: int, limit: int) -> bytes:
        """Return at most ``limit`` bytes of a file from ``offset`` on; raise ``OSError``. Never waits on a pipe."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, limit, offset)
        finally:
            os.close(descriptor)

    def read_text(self, path: str, limit: int = READ_LIMIT) -> str:
        """Return the start of a file as text, bytes that are no UTF-8 replaced; raise ``OSError``."""
        return self.read_bytes(path, limit).decode("utf-8", "replace")

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; raise ``OSError``."""
        return sorted(os.listdir(path))

    def exists(self, path: str) -> bool:
        """Tell whether something stands at ``path``; an unreadable parent counts as no."""
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        """Tell whether ``path`` is a folder."""
        return os.path.isdir(path)

    def readlink(self, path: str) -> str:
        """Return where a link points; raise ``OSError`` for anything else."""
        return os.readlink(path)

    def realpath(self, path: str) -> str:
        """Return ``path`` with every link followed as far as it goes."""
        return os.path.realpath(path)

    def executable(self, name: str) -> str | None:
        """Return the file that a shell would start for ``name``, or ``None`` when PATH has none."""
        if "/" in name:
            return name if os.access(name, os.X_OK) and not os.path.isdir(name) else None
        for folder in self.environ.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(folder or ".", name)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
        return None

    def run(self, argv: list[str], timeout_s: float, limit: int = OUTPUT_LIMIT) -> str:
        """Start a program without a shell and return what it wrote to stdout.

        Input is empty, messages are dropped, output is bounded, and at the timeout its whole process group is ended.
        Raise ``ProbeFailed``: ``failed`` (not there, exit status, too much output), ``denied``, ``timeout``.
        """
        return self.run_status(argv, timeout_s, limit).checked(argv)

    def run_status(self, argv: list[str], timeout_s: float, limit: int = OUTPUT_LIMIT) -> Outcome:
        """Like ``run``, but an exit status other than 0 is the caller's to judge."""
        path = self.executable(argv[0])
        if path is None:
            raise ProbeFailed("failed", f"{argv[0]} was not found on PATH")
        return run_program(path, argv, dict(self.environ), timeout_s, limit)

    def call(self, function: Callable[[], Any], timeout_s: float, *, isolate: bool) -> Any:
        """Call into native code that may hang, for at most ``timeout_s``, and return its JSON value.

        ``isolate`` calls in a forked child (a prologue: nothing else runs); else in a thread (a host process, which
        must not be forked). Raise ``ProbeFailed``: ``timeout`` or ``failed``.
        """
        return isolated(function, timeout_s) if isolate else threaded(function, timeout_s)

    def load_library(self, name: str) -> Any:
        """Return a shared library opened with ctypes; raise ``OSError`` when it is not there."""
        import ctypes

        return ctypes.CDLL(name)

    def ask_library(self, path: str, question: Callable[[Any], Any]) -> Any:
        """Put a question to a library that this process has loaded, and give the handle back.

        Nothing is loaded: a file that is not the one in use (it was replaced on the disk) raises ``OSError``.
        """
        import _ctypes
        import ctypes

        library = ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
        try:
            return question(library)
        finally:
            _ctypes.dlclose(library._handle)

    def initial_variable(self, name: str) -> str | None:
        """Return a variable as this process was started with it, ``None`` when it was unset.

        The loader and the interpreter read theirs only then; setting one later reaches children alone.
        """
        try:
            entries = self.read_bytes("/proc/self/environ", 1 << 20).split(b"\0")
        except OSError:
            return self.environ.get(name)
        prefix = name.encode("ascii") + b"="
        return next((entry[len(prefix):].decode("utf-8", "surrogateescape") for entry in entries
                     if entry.startswith(prefix)), None)

    def uname(self) -> os.uname_result:
        """Return what the kernel says of itself."""
        return os.uname()

    def affinity(self) -> list[int]:
        """Return the processors this process may run on; raise ``OSError`` where the system cannot say."""
        if not hasattr(os, "sched_getaffinity"):
            raise OSError("this system has no processor affinity")
        return sorted(os.sched_getaffinity(0))

    def processor_count(self) -> int | None:
        """Return the logical processors online."""
        return os.cpu_count()

    def confstr(self, name: str) -> str | None:
        """Return a configuration string of the C library; raise ``OSError`` or ``ValueError`` for an unknown one."""
        return os.confstr(name)

    def text_encoding(self) -> str:
        """Return the encoding text files are opened with by default."""
        import _locale

        return "UTF-8" if sys.flags.utf8_mode else _locale.nl_langinfo(_locale.CODESET)

    def utc_offset_s(self) -> int:
        """Return the offset of local time from UTC now, in seconds."""
        return time.localtime().tm_gmtoff

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""
        return time.monotonic()

    def pid(self) -> int:
        """Return the process id."""
        return os.getpid()

    def working_folder(self) -> str:
        """Return the current folder; raise ``OSError`` when it is gone."""
        return os.getcwd()

    def is_root(self) -> bool:
        """Tell whether this process runs as the superuser."""
        return hasattr(os, "geteuid") and os.geteuid() == 0

    def argv(self) -> list[str]:
        """Return the command line of the running program, as it sees it."""
        return list(getattr(sys, "argv", []))

    def mapped_files(self) -> list[str]:
        """Return the files mapped into this process, each once, in order of address; raise ``OSError``."""
        lines = self.read_text("/proc/self/maps", 1 << 23).split("\n")
        return list(dict.fromkeys(line[line.index("/"):] for line in lines if "/" in line))

    def loaded_modules(self) -> Mapping[str, Any]:
        """Return the modules imported so far."""
        return sys.modules

    def interpreter(self) -> dict[str, Any]:
        """Return what the running interpreter says of itself: paths, version, implementation, build."""
        return {
            "executable": sys.executable, "prefix": sys.prefix, "base_prefix": sys.base_prefix,
            "version": ".".join(map(str, sys.version_info[:3])) + _pre_release(sys.version_info),
            "implementation": sys.implementation.name, "text": sys.version,
            "free_threaded": "free-threading" in sys.version, "search_path": list(sys.path),
        }


def _pre_release(info: Any) -> str:
    short = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(info.releaselevel)
    return f"{short}{info.serial}" if short else ""

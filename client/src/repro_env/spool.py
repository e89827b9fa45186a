"""The spool: documents that wait to be delivered. The only module of the client that writes files.

A document counts as kept once its file, and the folder that names it, are on the disk. Nothing here is ever removed
unless ``delivered`` is called for it; what cannot be delivered moves to ``set-aside/`` with the reason beside it.
Sending is left to ``transport``, the order of things to ``delivery``.
"""

from __future__ import annotations

import os
import time

from .errors import SpoolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = ".json"
SET_ASIDE = "set-aside"
#: a document is at most this long; a longer file in the spool is none of ours.
MAX_BYTES = 1 << 20
#: how many waiting documents one listing returns.
LISTING_LIMIT = 10_000
#: a writer that was killed leaves its unfinished file; after this long nobody is still writing it.
UNFINISHED_AGE_S = 600.0
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Spool:
    """One spool folder. Any number of processes may use it at once.

    ``exposed`` says that anybody could have made a folder of this name before us, so its owner is checked.
    """

    __slots__ = ("exposed", "folder")

    def __init__(self, folder: str, *, exposed: bool = False) -> None:
        self.folder = os.path.abspath(folder)
        self.exposed = exposed

    def put(self, observation_id: str, document: bytes) -> str:
        """Keep a document durably and return its path; raise ``SpoolError``.

        The name carries a digest of the bytes: the same document twice is one file, another document under the same
        id never replaces the first.
        """
        path = os.path.join(self.folder, f"{_safe(observation_id)}-{_short_digest(document)}{SUFFIX}")
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if not self.is_ours():
                raise SpoolError(f"{self.folder}: the document was not kept (the folder belongs to somebody else)")
            _write_durably(path, document)
        except OSError as error:
            raise SpoolError(f"{self.folder}: the document could not be kept ({error.strerror})") from error
        return path

    def is_ours(self) -> bool:
        """Tell whether the folder is there and may be used; raise ``OSError`` as the system does."""
        if not self.exposed:
            return os.path.isdir(self.folder)
        import stat

        status = os.lstat(self.folder)
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()

    def pending(self, limit: int = LISTING_LIMIT) -> list[str]:
        """Return the paths of at most ``limit`` waiting documents, the oldest first; raise ``SpoolError``."""
        found = sorted(self._listed(lambda name: name.endswith(SUFFIX) and not name.startswith("."), limit))
        return [path for _, path in found]

    def unfinished(self) -> list[str]:
        """Return files whose writer was killed while writing."""
        horizon = time.time() - UNFINISHED_AGE_S
        found = self._listed(lambda name: name.startswith(".") and name.endswith(".part"), LISTING_LIMIT)
        return sorted(path for written_at, path in found if written_at < horizon)

    def _listed(self, wanted: _Wanted, limit: int) -> list[tuple[float, str]]:
        found: list[tuple[float, str]] = []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if len(found) >= limit:
                        break
                    if wanted(entry.name) and entry.is_file(follow_symlinks=False):
                        found.append((_written_at(entry), entry.path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SpoolError(f"{self.folder}: the spool cannot be listed ({error.strerror})") from error
        return found

    def read(self, path: str) -> bytes:
        """Return the bytes of a waiting document, one more than ``MAX_BYTES`` at most.

        Raise ``FileNotFoundError`` where another process has delivered it meanwhile, ``OSError`` as the system does.
        """
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)

    def delivered(self, path: str) -> None:
        """Remove a document that the service has acknowledged. One that is gone already is no error."""
        try:
            os.unlink(path)
        except OSError:
            return  # gone, or not ours to remove: sending it again stores nothing new

    def set_aside(self, path: str, reason: str) -> str:
        """Move a document that will not be delivered to ``set-aside/``, the reason beside it; return its new path.

        Raise ``SpoolError`` where that fails; the document then stays where it is.
        """
        folder = os.path.join(self.folder, SET_ASIDE)
        target = os.path.join(folder, os.path.basename(path).lstrip("."))
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _write_durably(target + ".reason", (reason + "\n").encode("utf-8", "backslashreplace"))
            os.replace(path, target)
            _sync_folder(folder)
        except FileNotFoundError:
            return target  # another process did it first
        except OSError as error:
            raise SpoolError(f"{path}: could not be set aside ({error.strerror})") from error
        return target


if TYPE_CHECKING:
    from typing import Callable

    _Wanted = Callable[[str], bool]


def candidates(environ: Mapping[str, str], chosen: str | None = None) -> list[Spool]:
    """Return the spools that may be used, the preferred one first.

    ``chosen`` (setting ``spool``), else ``$XDG_STATE_HOME/repro-env/spool``, else ``~/.local/state/repro-env/spool``;
    last a folder for this user among the temporary files, for machines where there is no home that can be written.
    """
    spools = [Spool(chosen)] if chosen else []
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME") or _home_of_user()
    if os.path.isabs(state):
        spools.append(Spool(os.path.join(state, "repro-env", "spool")))
    elif os.path.isabs(home):
        spools.append(Spool(os.path.join(home, ".local", "state", "repro-env", "spool")))
    temporary = environ.get("TMPDIR", "")
    temporary = temporary if os.path.isabs(temporary) else "/tmp"  # noqa: S108 - its owner is checked
    spools.append(Spool(os.path.join(temporary, f"repro-env-spool-{os.getuid()}"), exposed=True))
    return spools


def keep(environ: Mapping[str, str], chosen: str | None, observation_id: str, document: bytes) -> tuple[Spool, str]:
    """Keep a document in the first candidate that takes it; return that spool and the path of the document.

    Raise ``SpoolError`` naming every folder that was tried.
    """
    problems = []
    for spool in candidates(environ, chosen):
        try:
            return spool, spool.put(observation_id, document)
        except SpoolError as error:
            problems.append(str(error))
    raise SpoolError("; ".join(problems))


def existing(environ: Mapping[str, str], chosen: str | None = None) -> list[Spool]:
    """Return the spools there are: a document lies in a later candidate where an earlier one was not writable.

    A chosen spool that is there stands alone: whoever names one keeps his documents apart from all others.
    """
    found = [spool for spool in candidates(environ, chosen) if _is_there(spool)]
    return found[:1] if chosen and found and found[0].folder == Spool(chosen).folder else found


def _is_there(spool: Spool) -> bool:
    try:
        return spool.is_ours()
    except OSError:
        return False


def write_file(path: str, content: bytes) -> None:
    """Write a file that the user named; raise ``SpoolError``. A regular file is replaced as a whole or not at all."""
    try:
        real = os.path.realpath(path)
        if os.path.exists(real) and not os.path.isfile(real):
            with open(real, "wb") as stream:  # a pipe or a terminal
                stream.write(content)
        else:
            _write_durably(real, content, mode=0o666 & ~_umask())
    except OSError as error:
        raise SpoolError(f"{path}: could not be written ({error.strerror}); name a file in a folder that exists and "
                         "can be written") from error


def _write_durably(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write beside ``path``, bring it to the disk, then give it its name and bring that to the disk too."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name[:150]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view):]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except BaseException:
        _remove(part)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        return  # some network file systems do not sync folders; the file itself is on the disk
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # it has its final name already


def _written_at(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _home_of_user() -> str:
    """Return the home folder that the user database names; empty where it names none."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _safe(observation_id: str) -> str:
    return "".join(item if item in _NAME_CHARACTERS else "_" for item in observation_id)[:80] or "_"


def _short_digest(document: bytes) -> str:
    from .canonical import digest_bytes

    return digest_bytes(document)[7:23]

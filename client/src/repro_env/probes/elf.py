"""What the head of an ELF file says: build id, the libraries it needs, where it has them looked for.

A small reader for the 64-bit little-endian files of today's machines, on bounded reads. Files that are something else,
or that contradict themselves, give nothing: whoever asks must not take that for an answer.
Layout: System V ABI, chapters 4 and 5; the build id is the linker's note of type 3.
"""

from __future__ import annotations

from ..canonical import digest_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System

_MAGIC = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC, _NOTE = 1, 2, 4
_NEEDED, _STRINGS, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29
_NOTE_SECTION = 7
#: start of the note: name of 4 bytes, identifier of 20, type 3, "GNU".
_BUILD_ID = b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"
_HEAD_BYTES = 16384
_TABLE_BYTES = 65536
_NAME_BYTES = 512
_CONTENT_BYTES = 64 << 20
#: files read in this process, by path, size and time of change; enough for every file that a process maps.
_KNOWN: dict[tuple[Any, ...], Any] = {}
_MOST_KNOWN = 4096


class Elf:
    """One file: what it is, what it needs. ``build_id`` is ``None`` where the linker or a later tool left none."""

    __slots__ = ("build_id", "needed", "rpath", "runpath", "soname")

    def __init__(self, build_id: str | None, needed: tuple[str, ...], soname: str, rpath: str, runpath: str) -> None:
        self.build_id = build_id
        self.needed = needed
        self.soname = soname
        self.rpath = rpath
        self.runpath = runpath


def read(system: System, path: str) -> Elf | None:
    """Return what the file says, ``None`` for one that cannot be understood; raise ``OSError`` as the machine does."""
    try:
        return _File(system, path).read()
    except (ValueError, IndexError, OverflowError):
        return None


def known(system: System, path: str) -> Elf | None:
    """Return what ``read`` returned for this very file before in this process, else read it."""
    found: Elf | None = _once(system, path, "read", read)
    return found


def build_id(system: System, path: str) -> str:
    """Return the build id in hexadecimal, else the digest of the content.

    Tools that repair wheels may drop the note; then only the content tells two builds apart. Raise ``OSError`` for a
    file that cannot be read, or that is too large to take a digest of.
    """
    found = known(system, path)
    if found is not None and found.build_id is not None:
        return found.build_id
    return str(_once(system, path, "digest", _content))


def identity(system: System, path: str) -> str:
    """Return the build id, else file name and size in bytes.

    For libraries of many megabytes: wheels give such a file a name that holds a digest of its content, so name and
    size stand in where the build id was dropped; a digest would cost more than all other looks.
    """
    found = known(system, path)
    if found is not None and found.build_id is not None:
        return found.build_id
    return f"{path.rpartition('/')[2]} {system.size(path)}"


def _once(system: System, path: str, kind: str, look: Any) -> Any:
    key = (kind, path, *system.stamp(path))
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = look(system, path)
    return _KNOWN[key]


def _content(system: System, path: str) -> str:
    content = system.read_bytes(path, _CONTENT_BYTES + 1)
    if len(content) > _CONTENT_BYTES:
        raise OSError("too large to take a digest of")
    return digest_bytes(content)


def _number(data: bytes, at: int, size: int) -> int:
    if at < 0 or at + size > len(data):
        raise ValueError("the file ends within a field")
    return int.from_bytes(data[at:at + size], "little")


class _File:
    """A file that is being read: its head, and what lies elsewhere on demand."""

    def __init__(self, system: System, path: str) -> None:
        self.system = system
        self.path = path
        self.head = system.read_at(path, 0, _HEAD_BYTES)
        self.segments: list[tuple[int, int, int, int]] = []  #: type, offset, address, size in the file

    def read(self) -> Elf:
        if not self.head.startswith(_MAGIC):
            raise ValueError("expected a 64-bit little-endian ELF file")
        offset, size, count = _number(self.head, 32, 8), _number(self.head, 54, 2), _number(self.head, 56, 2)
        table = self.part(offset, min(size * count, _TABLE_BYTES))
        self.segments = [(_number(table, at, 4), _number(table, at + 8, 8), _number(table, at + 16, 8),
                          _number(table, at + 32, 8)) for at in range(0, len(table) - 55, max(size, 56))]
        needed, names = self._dynamic()
        return Elf(self._build_id(), needed, names.get(_SONAME, ""), names.get(_RPATH, ""), names.get(_RUNPATH, ""))

    def part(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes at ``offset``, fewer at the end of the file."""
        if offset + size <= len(self.head):
            return self.head[offset:offset + size]
        return self.system.read_at(self.path, offset, size)

    def _dynamic(self) -> tuple[tuple[str, ...], dict[int, str]]:
        """Return the names of needed libraries in order, and the single names by their tag."""
        segment = next((segment for segment in self.segments if segment[0] == _DYNAMIC), None)
        if segment is None:
            return (), {}
        data = self.part(segment[1], min(segment[3], _TABLE_BYTES))
        entries = []
        for at in range(0, len(data) - 15, 16):
            tag, value = _number(data, at, 8), _number(data, at + 8, 8)
            if tag == 0:
                break
            entries.append((tag, value))
        start = self._offset_of(dict(entries).get(_STRINGS, 0))
        needed = tuple(self._name(start + value) for tag, value in entries if tag == _NEEDED)
        return needed, {tag: self._name(start + value) for tag, value in entries if tag in (_SONAME, _RPATH, _RUNPATH)}

    def _offset_of(self, address: int) -> int:
        """Return where in the file the byte lies that is loaded to ``address``."""
        for kind, offset, start, size in self.segments:
            if kind == _LOAD and start <= address < start + size:
                return offset + address - start
        raise ValueError("an address that no segment holds")

    def _name(self, offset: int) -> str:
        text, end, _ = self.part(offset, _NAME_BYTES).partition(b"\0")
        if not end:
            raise ValueError("a name without an end")
        return text.decode("utf-8", "replace")

    def _build_id(self) -> str | None:
        """Return the build id from the notes; tools that move them may leave the segment table behind."""
        for kind, offset, _, size in self.segments:
            if kind == _NOTE:
                found = _in_note(self.part(offset, min(size, _TABLE_BYTES)))
                if found:
                    return found
        return next((found for found in map(_in_note, self._note_sections()) if found), None)

    def _note_sections(self) -> list[bytes]:
        offset, size, count = _number(self.head, 40, 8), _number(self.head, 58, 2), _number(self.head, 60, 2)
        table = self.part(offset, min(size * count, _TABLE_BYTES)) if offset and size >= 64 else b""
        return [self.part(_number(table, at + 24, 8), min(_number(table, at + 32, 8), _TABLE_BYTES))
                for at in range(0, len(table) - 63, max(size, 64)) if _number(table, at + 4, 4) == _NOTE_SECTION]


def _in_note(data: bytes) -> str | None:
    at = data.find(_BUILD_ID)
    found = data[at + len(_BUILD_ID):at + len(_BUILD_ID) + 20]
    return found.hex() if at >= 0 and len(found) == 20 else None

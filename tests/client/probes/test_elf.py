"""The reader of ELF files against the linker's own work, other tools' reading of it, and broken files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiled import shared_library
from hypothesis import given
from hypothesis import strategies as st

from repro_env.probes import elf
from repro_env.system import System

ANSWER = "int answer(void) { return 42; }\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return shared_library(tmp_path / "libanswer.so.1.2", ANSWER, "-lm", "-Wl,--no-as-needed", "-lm",
                          "-Wl,-soname,libanswer.so.1", "-Wl,-rpath,$ORIGIN/../other", "-Wl,--disable-new-dtags")


def test_names_and_build_id_are_what_the_linker_wrote(library: Path) -> None:
    found = elf.read(System(), str(library))

    assert found is not None
    assert found.soname == "libanswer.so.1"
    assert "libm.so.6" in found.needed
    assert "libc.so.6" in found.needed
    assert (found.rpath, found.runpath) == ("$ORIGIN/../other", "")
    assert found.build_id is not None
    assert len(bytes.fromhex(found.build_id)) == 20


def test_a_runpath_is_told_from_an_rpath(tmp_path: Path) -> None:
    library = shared_library(tmp_path / "a.so", ANSWER, "-Wl,-rpath,/x", "-Wl,--enable-new-dtags")
    found = elf.read(System(), str(library))
    assert found is not None
    assert (found.rpath, found.runpath) == ("", "/x")


def mapped_here() -> list[str]:
    return [path for path in System().mapped_files() if ".so" in path]


def test_every_file_of_this_process_is_read_as_binutils_reads_it() -> None:
    if shutil.which("readelf") is None:
        pytest.skip("binutils reads the same files; install binutils")
    paths = mapped_here()
    assert len(paths) > 20
    for path in paths:
        text = subprocess.run(["readelf", "-ndW", path], check=True, capture_output=True, text=True).stdout
        note = re.search(r"Build ID: (\w+)", text)
        found = elf.read(System(), path)
        assert found is not None, path
        assert found.needed == tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), path
        assert found.build_id == (note.group(1) if note else None), path


def test_a_file_without_a_note_is_known_by_its_content(library: Path, tmp_path: Path) -> None:
    bare, other = tmp_path / "bare.so", tmp_path / "other.so"
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", str(library), str(bare)], check=True)
    other.write_bytes(bare.read_bytes() + b"\0")
    system = System()

    assert elf.read(system, str(bare)).build_id is None  # type: ignore[union-attr]
    assert elf.build_id(system, str(bare)).startswith("sha256:")
    assert elf.build_id(system, str(bare)) != elf.build_id(system, str(other))
    assert elf.identity(system, str(bare)) == f"bare.so {bare.stat().st_size}"


def test_a_note_that_the_segment_table_lost_is_found_by_its_section(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    start, size, count = (int.from_bytes(data[at:at + width], "little") for at, width in ((32, 8), (54, 2), (56, 2)))
    for at in range(start, start + size * count, size):
        if data[at:at + 4] == (4).to_bytes(4, "little"):
            data[at:at + 4] = (0).to_bytes(4, "little")
    moved = tmp_path / "moved.so"
    moved.write_bytes(data)

    before, after = elf.read(System(), str(library)), elf.read(System(), str(moved))

    assert before is not None
    assert after is not None
    assert before.build_id == after.build_id


@pytest.mark.parametrize("content", [
    b"", b"\x7fELF", b"\x7fELF\x01\x01" + b"\0" * 100, b"#!/bin/sh\n" + b"\0" * 100, b"\x7fELF\x02\x01" + b"\xff" * 200,
    b"GROUP ( /lib/libc.so.6 )"], ids=["empty", "cut", "32-bit", "script", "nonsense", "linker-script"])
def test_what_is_no_such_file_gives_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    assert elf.read(System(), str(path)) is None


def test_a_file_that_ends_anywhere_raises_nothing(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    path = tmp_path / "cut.so"
    for length in range(0, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:length])
        found = elf.read(System(), str(path))
        assert found is None or isinstance(found.needed, tuple)


def test_a_file_that_is_gone_is_an_error_of_the_machine(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        elf.read(System(), str(tmp_path / "gone.so"))
    with pytest.raises(FileNotFoundError):
        elf.build_id(System(), str(tmp_path / "gone.so"))


class Counting(System):
    """Counts the reads of files."""

    def __init__(self) -> None:
        self.reads = 0

    def read_at(self, path: str, offset: int, limit: int) -> bytes:
        self.reads += 1
        return super().read_at(path, offset, limit)


def test_a_file_is_read_once_and_again_when_it_was_changed(library: Path) -> None:
    system = Counting()
    first = elf.build_id(system, str(library))
    assert system.reads > 0

    system.reads = 0
    assert elf.build_id(system, str(library)) == first
    assert system.reads == 0

    shared_library(library, "int other(void) { return 4711; } int more(void) { return 3; }\n")
    assert elf.build_id(system, str(library)) != first
    assert system.reads > 0


def test_a_file_of_many_megabytes_costs_a_few_reads(tmp_path: Path) -> None:
    torch = next((path for path in sys.path if Path(path, "torch/lib/libtorch_cpu.so").exists()), None)
    assert torch is not None
    system = Counting()

    found = elf.read(system, f"{torch}/torch/lib/libtorch_cpu.so")

    assert found is not None
    assert "libc10.so" in found.needed
    assert system.reads < 40


@given(st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 255)), max_size=40), st.integers(64, 20000))
def test_a_damaged_file_raises_nothing(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(Path(sys.executable).resolve().read_bytes()[:length])
    for at, value in changes:
        if at < len(data):
            data[at] = value

    class Damaged(System):
        def read_at(self, path: str, offset: int, limit: int) -> bytes:
            return bytes(data[offset:offset + limit])

    found = elf.read(Damaged(), "x")
    assert found is None or isinstance(found, elf.Elf)

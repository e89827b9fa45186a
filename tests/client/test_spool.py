"""The spool: what it has taken is on the disk, and only an acknowledgement removes it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repro_env import spool
from repro_env.errors import SpoolError
from repro_env.spool import Spool, candidates, existing, keep, write_file

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")


def test_a_kept_document_is_pending_with_the_same_bytes(tmp_path: Path) -> None:
    place = Spool(str(tmp_path / "spool"))
    path = place.put("obs-1", b'{"a":1}')
    assert place.pending() == [path]
    assert place.read(path) == b'{"a":1}'


def test_folder_and_files_are_the_users_own(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = Spool(str(tmp_path / "spool")).put("obs-1", b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "spool").st_mode) == 0o700


def test_the_same_document_twice_is_one_file(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    assert place.put("obs-1", b"{}") == place.put("obs-1", b"{}")
    assert len(place.pending()) == 1


def test_another_document_of_the_same_id_does_not_replace_the_first(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    place.put("obs-1", b'{"a":1}')
    place.put("obs-1", b'{"a":2}')
    assert {place.read(path) for path in place.pending()} == {b'{"a":1}', b'{"a":2}'}


@pytest.mark.parametrize("name", ["../../etc/passwd", "/absolute", "a\x00b", "", ".", "..", "x" * 5000, "é", "a/b"],
                         ids=["up", "absolute", "nul", "empty", "dot", "dots", "long", "non-ascii", "slash"])
def test_an_id_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = Spool(str(tmp_path / "spool")).put(name, b"{}")
    assert Path(path).parent == tmp_path / "spool"
    assert Spool(str(tmp_path / "spool")).pending() == [path]


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    paths = [place.put(f"obs-{number}", b"{}") for number in (3, 1, 2)]
    for age, path in zip((10, 30, 20), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    assert place.pending() == [paths[1], paths[2], paths[0]]


def test_a_listing_is_bounded(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    for number in range(20):
        place.put(f"obs-{number}", b"{}")
    assert len(place.pending(limit=7)) == 7


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert Spool(str(tmp_path / "none")).pending() == []


def test_delivered_removes_and_twice_is_no_error(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    path = place.put("obs-1", b"{}")
    place.delivered(path)
    place.delivered(path)
    assert place.pending() == []


def test_set_aside_keeps_the_bytes_and_the_reason(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    target = place.set_aside(place.put("obs-1", b"{half"), "half-written")
    assert place.pending() == []
    assert Path(target).read_bytes() == b"{half"
    assert Path(target + ".reason").read_text() == "half-written\n"
    assert Path(target).parent.name == "set-aside"


def test_setting_aside_what_another_process_took_is_no_error(tmp_path: Path) -> None:
    place = Spool(str(tmp_path))
    path = place.put("obs-1", b"{}")
    place.delivered(path)
    place.set_aside(path, "gone")


def test_an_unfinished_file_is_never_pending(tmp_path: Path) -> None:
    (tmp_path / ".obs-1.json.123.ab.part").write_bytes(b"{ha")
    assert Spool(str(tmp_path)).pending() == []


def test_an_unfinished_file_counts_once_nobody_can_still_be_writing(tmp_path: Path) -> None:
    part = tmp_path / ".obs-1.json.123.ab.part"
    part.write_bytes(b"{ha")
    assert Spool(str(tmp_path)).unfinished() == []
    os.utime(part, (time.time() - spool.UNFINISHED_AGE_S - 1,) * 2)
    assert Spool(str(tmp_path)).unfinished() == [str(part)]


def test_links_and_folders_in_the_spool_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    place = Spool(str(tmp_path / "spool"))
    place.put("obs-1", b"{}")
    (tmp_path / "spool" / "link.json").symlink_to(tmp_path / "outside")
    (tmp_path / "spool" / "folder.json").mkdir()
    assert len(place.pending()) == 1


def test_many_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    code = ("import sys; from repro_env.spool import Spool; place = Spool(sys.argv[1])\n"
            "for number in range(25): place.put(f'obs-{sys.argv[2]}-{number}', b'{\"n\":%d}' % number)")
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s"), str(index)]) for index in range(6)]
    assert [writer.wait(60) for writer in writers] == [0] * 6
    place = Spool(str(tmp_path / "s"))
    assert len(place.pending()) == 150
    assert all(place.read(path).endswith(b"}") for path in place.pending())
    assert not [name for name in os.listdir(tmp_path / "s") if name.endswith(".part")]


def test_a_writer_killed_while_writing_leaves_no_half_document(tmp_path: Path) -> None:
    """Kill writers at random moments: whatever is pending is whole."""
    code = ("import sys; from repro_env.spool import Spool; place = Spool(sys.argv[1]); body = b'{' + b'x' * 300000 + "
            "b'}'\nprint('ready', flush=True)\nfor number in range(10000): place.put(f'obs-{number}', body)")
    for index in range(6):
        writer = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / str(index))], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.02 + 0.011 * index)
        writer.kill()
        writer.wait(30)
        writer.stdout.close()
        place = Spool(str(tmp_path / str(index)))
        assert all(len(place.read(path)) == 300_002 for path in place.pending())


def test_a_full_disk_is_an_error_and_leaves_nothing_half(tmp_path: Path) -> None:
    code = ("import resource, signal, sys; from repro_env.spool import Spool; from repro_env.errors import SpoolError\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "try: Spool(sys.argv[1]).put('obs-1', b'x' * 5000)\n"
            "except SpoolError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "could not be kept (File too large)" in done.stdout
    assert os.listdir(tmp_path) == []


def test_the_chosen_folder_comes_first_then_state_then_temporary(tmp_path: Path) -> None:
    environ = {"HOME": "/home/u", "TMPDIR": "/scratch"}
    folders = [place.folder for place in candidates(environ, "/chosen")]
    assert folders == ["/chosen", "/home/u/.local/state/repro-env/spool", f"/scratch/repro-env-spool-{os.getuid()}"]
    assert candidates({**environ, "XDG_STATE_HOME": "/state"})[0].folder == "/state/repro-env/spool"


def test_a_relative_state_folder_is_ignored_as_the_specification_says() -> None:
    assert candidates({"HOME": "/home/u", "XDG_STATE_HOME": "rel"})[0].folder.startswith("/home/u/.local")


def test_without_a_home_variable_the_user_database_knows() -> None:
    import pwd

    assert candidates({})[0].folder.startswith(pwd.getpwuid(os.getuid()).pw_dir)


def test_a_folder_that_cannot_be_made_gives_way_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    environ = {"HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    place, path = keep(environ, str(tmp_path / "file" / "spool"), "obs-1", b"{}")
    assert place.folder == str(tmp_path / f"repro-env-spool-{os.getuid()}")
    assert Path(path).read_bytes() == b"{}"
    assert [found.folder for found in existing(environ, str(tmp_path / "file" / "spool"))] == [place.folder]


def test_when_no_folder_takes_it_all_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    environ = {"HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "file" / "tmp")}
    with pytest.raises(SpoolError) as caught:
        keep(environ, str(tmp_path / "file" / "x"), "obs-1", b"{}")
    assert str(caught.value).count("could not be kept") == 3


@AS_ROOT
def test_a_folder_another_user_made_among_temporary_files_is_not_used(tmp_path: Path) -> None:
    foreign = tmp_path / f"repro-env-spool-{os.getuid()}"
    foreign.mkdir()
    os.chown(foreign, NOBODY, NOBODY)
    (tmp_path / "file").write_text("in the way")
    environ = {"HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    with pytest.raises(SpoolError, match="somebody else"):
        keep(environ, None, "obs-1", b"{}")
    assert os.listdir(foreign) == []


def test_a_link_among_temporary_files_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"repro-env-spool-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SpoolError, match="somebody else"):
        keep({"HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}, None, "obs-1", b"{}")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_file_the_user_named_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    write_file(str(target), b"new")
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_file_behind_a_link_is_written_where_the_link_points(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_file(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_can_be_written_to() -> None:
    write_file("/dev/null", b"x")
    assert not os.path.isfile("/dev/null")


def test_a_file_in_no_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match=r"could not be written .*; name a file in a folder that exists"):
        write_file(str(tmp_path / "none" / "out.json"), b"x")


def test_a_chosen_spool_keeps_its_documents_apart_from_all_others(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    for chosen in (None, str(tmp_path / "mine")):
        spool.keep(environ, chosen, f"o-{chosen is None}", b"{}")
    assert [found.folder for found in spool.existing(environ, str(tmp_path / "mine"))] == [str(tmp_path / "mine")]
    default = str(tmp_path / "state" / "repro-env" / "spool")
    assert default in [found.folder for found in spool.existing(environ)]


def test_a_chosen_spool_that_took_nothing_leaves_its_documents_to_be_found(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    (tmp_path / "file").write_text("")
    used, _ = spool.keep(environ, str(tmp_path / "file" / "spool"), "o", b"{}")
    assert used.folder in [found.folder for found in spool.existing(environ, str(tmp_path / "file" / "spool"))]

"""The program's source: commit and remote from git's files, state from one bounded call, on real repositories."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hanging import HANGING_S

from repro_env.capture import capture
from repro_env.probes.source import is_commit, sections
from repro_env.system import System


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "train.py").write_text("print(1)\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


class At(System):
    """This machine, standing in another folder with another command line."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.folder = folder
        self.words = list(argv) or ["train.py"]

    def working_folder(self) -> str:
        return str(self.folder)

    def argv(self) -> list[str]:
        return self.words


def source(folder: Path, *argv: str, vantage: str = "prologue") -> dict[str, Any]:
    return capture(At(folder, *argv), vantage=vantage)["program"]["source"]  # type: ignore[no-any-return]


def test_a_clean_repository(repository: Path) -> None:
    assert source(repository) == {
        "commit": git(repository, "rev-parse", "HEAD"), "dirty": False, "diff_digest": None, "remote": None,
        "entry_point": {"unread": "too-early"}, "arguments_digest": {"unread": "too-early"}, "submodules": None}


def test_a_folder_below_belongs_to_the_repository(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    assert source(repository / "deep" / "er")["commit"] == git(repository, "rev-parse", "HEAD")


def test_outside_a_repository_there_is_surely_no_commit(tmp_path: Path) -> None:
    facts = source(tmp_path)
    assert [facts[name] for name in ("commit", "dirty", "diff_digest", "remote", "submodules")] == [None] * 5


def test_a_change_is_dirty_and_its_digest_is_that_of_the_change(repository: Path) -> None:
    (repository / "train.py").write_text("print(2)\n")
    first = source(repository)
    (repository / "train.py").write_text("print(3)\n")
    second = source(repository)
    (repository / "train.py").write_text("print(2)\n")
    third = source(repository)
    assert first["dirty"] is second["dirty"] is True
    assert first["diff_digest"] == third["diff_digest"] != second["diff_digest"]


def test_a_staged_change_counts_and_an_untracked_file_does_not(repository: Path) -> None:
    (repository / "notes.txt").write_text("x")
    assert source(repository)["dirty"] is False
    git(repository, "add", "notes.txt")
    assert source(repository)["dirty"] is True


def test_a_touched_file_with_the_same_bytes_is_clean(repository: Path) -> None:
    (repository / "train.py").touch()
    assert source(repository)["dirty"] is False


def test_the_index_is_not_written(repository: Path) -> None:
    (repository / "train.py").touch()
    before = (repository / ".git" / "index").read_bytes()
    source(repository)
    assert (repository / ".git" / "index").read_bytes() == before
    assert not (repository / ".git" / "index.lock").exists()


@pytest.mark.parametrize("state", ["packed", "detached", "branch", "tag"])
def test_the_commit_is_found_however_head_is_kept(repository: Path, state: str) -> None:
    if state == "packed":
        git(repository, "pack-refs", "--all")
    elif state == "detached":
        git(repository, "checkout", "-q", "--detach")
    elif state == "branch":
        git(repository, "checkout", "-q", "-b", "feature/deep/name")
    else:
        git(repository, "tag", "-a", "v1", "-m", "v1")
        git(repository, "checkout", "-q", "v1")
    assert source(repository)["commit"] == git(repository, "rev-parse", "HEAD")


def test_a_worktree_has_its_own_commit_and_the_repository_s_remote(repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "add", "origin", "https://user:planted@example.org/team/project.git")
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    (tmp_path / "tree" / "new.py").write_text("x = 1\n")
    git(tmp_path / "tree", "add", ".")
    git(tmp_path / "tree", "commit", "-q", "-m", "second")
    facts = source(tmp_path / "tree")
    assert facts["commit"] == git(tmp_path / "tree", "rev-parse", "HEAD") != git(repository, "rev-parse", "HEAD")
    assert facts["remote"] == "https://example.org/team/project.git"


def test_submodules_have_their_commits(repository: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "lib.py").write_text("x = 1\n")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "third/inner")
    git(repository, "commit", "-q", "-m", "with submodule")
    assert source(repository)["submodules"] == {"third/inner": git(inner, "rev-parse", "HEAD")}
    assert source(repository / "third" / "inner")["commit"] == git(inner, "rev-parse", "HEAD")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    facts = source(tmp_path)
    assert facts["commit"] is None
    assert facts["dirty"] == {"unread": "failed"}


@pytest.mark.parametrize("text", ["", "ref: refs/heads/../../../etc/passwd", "ref: /etc/passwd", "not a commit",
                                  "ref: HEAD"], ids=["empty", "upward", "absolute", "words", "circle"])
def test_a_broken_head_is_unread_or_absent_and_leads_nowhere(repository: Path, text: str) -> None:
    (repository / ".git" / "HEAD").write_text(text)
    assert source(repository)["commit"] in ({"unread": "failed"}, None)


def test_a_git_file_that_says_nothing_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    document = capture(At(tmp_path))
    assert document["program"]["source"]["commit"] == {"unread": "failed"}
    assert ".git" in document["capture"]["errors"][-1]["message"]


def test_no_program_named_by_the_repository_is_run(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/run'\n")
    trap.chmod(0o755)
    for setting in ("core.fsmonitor", "diff.external", "core.pager"):
        git(repository, "config", setting, str(trap))
    (repository / ".gitattributes").write_text("*.py diff=trap\n")
    git(repository, "config", "diff.trap.textconv", str(trap))
    (repository / "train.py").write_text("print(9)\n")
    assert source(repository)["dirty"] is True
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("place", ["here", "submodule"])
@pytest.mark.parametrize("program", ["clean", "process"])
def test_no_filter_is_run_and_what_only_it_could_tell_is_unread(repository: Path, tmp_path: Path, program: str,
                                                                place: str) -> None:
    """Git runs filters on files that look changed, also those of submodules, with the rights of whoever captures."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/run'\ncat\n")
    trap.chmod(0o755)
    folder = repository
    if place == "submodule":
        git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
        git(repository, "commit", "-q", "-m", "with submodule")
        folder = repository / "inner"
    git(folder, "config", f"filter.trap.{program}", str(trap))
    (folder / ".gitattributes").write_text("*.py filter=trap\n")
    (folder / "train.py").write_text("print(9)\n")
    assert source(repository)["dirty"] == ({"unread": "denied"} if place == "here" else True)
    assert not (tmp_path / "run").exists()


def test_a_filter_elsewhere_leaves_the_state_readable(repository: Path) -> None:
    """Large-file storage is configured for every repository of many people, and used in few."""
    git(repository, "config", "filter.lfs.process", "false")
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n")
    assert source(repository)["dirty"] is False
    (repository / "train.py").write_text("print(9)\n")
    assert source(repository)["dirty"] is True


def test_a_filter_that_cannot_be_named_in_an_option_is_not_run(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "filter.a=b.clean", f"touch {tmp_path}/run; cat")
    (repository / ".gitattributes").write_text("*.py filter=a=b\n")
    (repository / "train.py").write_text("print(9)\n")
    assert source(repository)["dirty"] == {"unread": "denied"}
    assert not (tmp_path / "run").exists()


def test_a_git_that_hangs_is_unread_timeout_and_the_commit_stands(repository: Path, tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    (tmp_path / "git").write_text("#!/bin/sh\nsleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    start = time.monotonic()
    facts = source(repository)
    assert time.monotonic() - start < HANGING_S  # git sleeps 60 s
    assert facts["commit"] == commit
    assert facts["dirty"] == facts["diff_digest"] == {"unread": "timeout"}


def test_without_git_the_commit_stands_and_the_state_is_unread(repository: Path, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = source(repository)
    assert (facts["commit"], facts["dirty"]) == (commit, {"unread": "failed"})


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real repository of 50 000 files, made by git fast-import and checked out."""
    folder = tmp_path_factory.mktemp("huge")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    lines = [b"blob\nmark :1\ndata 2\nx\n", b"commit refs/heads/main\ncommitter T <t@example.org> 0 +0000\ndata 1\nx\n"]
    lines += [b"M 100644 :1 d%d/f%d\n" % (number % 500, number) for number in range(50_000)]
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=b"".join(lines), check=True)
    subprocess.run(["git", "-C", str(folder), "symbolic-ref", "HEAD", "refs/heads/main"], check=True)
    subprocess.run(["git", "-C", str(folder), "reset", "-q", "--hard"], check=True)
    return folder


@pytest.mark.parametrize("changed", [False, True], ids=["clean", "ten-thousand-changed"])
def test_a_repository_of_fifty_thousand_files_stays_within_its_bound(huge: Path, changed: bool) -> None:
    if changed:
        for number in range(10_000):
            (huge / f"d{number % 500}" / f"f{number}").write_text("y\n")
    start = time.monotonic()
    document = capture(At(huge))
    assert time.monotonic() - start < HANGING_S
    facts = document["program"]["source"]
    assert len(facts["commit"]) == 40
    assert facts["dirty"] in ({"unread": "timeout"}, changed)
    assert document["stack"]["cpu"]["cores"] is not None


def test_the_program_s_entry_point_is_relative_to_the_repository(repository: Path) -> None:
    (repository / "tools").mkdir()
    facts = source(repository / "tools", "../train.py", "--lr", "planted", vantage="process")
    assert facts["entry_point"] == "train.py"
    assert facts["arguments_digest"] == source(repository, "train.py", "--lr", "planted", vantage="process")[
        "arguments_digest"] != source(repository, "train.py", vantage="process")["arguments_digest"]
    assert "planted" not in str(facts)


def test_an_entry_point_outside_a_repository_is_its_name_alone(tmp_path: Path) -> None:
    assert source(tmp_path, "/home/somebody/secret/run.py", vantage="process")["entry_point"] == "run.py"
    assert source(tmp_path, "-c", vantage="process")["entry_point"] == {"unread": "not-reported"}


def test_git_s_configuration_as_text() -> None:
    text = '[core]\n\tbare = false\n# [x]\n[remote "origin"]\n\turl = https://a.example/x=y.git\n; c = d\n[broken\n'
    assert sections(text)["remote", "origin"] == {"url": "https://a.example/x=y.git"}
    assert sections(text)["core", ""] == {"bare": "false"}


@pytest.mark.parametrize(("remotes", "expected"), [
    ({}, None), ({"origin": "git@example.org:a/b.git"}, "git@example.org:a/b.git"),
    ({"up": "ssh://git@example.org/a.git"}, "ssh://example.org/a.git"),
    ({"a": "https://a.example/x", "b": "https://b.example/x"}, {"unread": "not-reported"}),
    ({"origin": "https://oauth2:planted@example.org/x.git", "b": "/srv/x"}, "https://example.org/x.git")],
    ids=["none", "scp", "only", "several", "credentials"])
def test_the_remote_is_origin_or_the_only_one(repository: Path, remotes: dict[str, str], expected: object) -> None:
    for name, url in remotes.items():
        git(repository, "remote", "add", name, url)
    assert source(repository)["remote"] == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("a" * 40, True), ("a" * 64, True), ("A" * 40, False), ("a" * 39, False), ("g" * 40, False), ("", False)])
def test_commit_ids_are_full(text: str, expected: bool) -> None:
    assert is_commit(text) is expected

"""Section ``source`` of the program: commit and remote from git's files, dirty and difference from git, bounded."""

from __future__ import annotations

import os

from ..canonical import digest, digest_bytes
from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from ..variables import without_credentials
from .keys import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

#: longest difference that is digested, in bytes.
DIFF_LIMIT = 8 << 20
#: longest that git may take to hold the working tree against the commit, in seconds.
GIT_LIMIT_S = 0.6
_CONFIG_LIMIT = 1 << 18
#: how many working trees, with submodules, are looked at.
MAX_TREES = 32


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the commit of the working folder's repository, its state, and how the program was started."""
    look.sources["program.source"] = "files"
    facts: dict[str, Any] = dict.fromkeys(SECTIONS["program.source"])
    facts.update(started(system, look, None))
    try:
        place = find_repository(system, system.working_folder())
    except FileNotFoundError as error:
        raise ProbeFailed("failed", "the working folder is gone") from error
    if place is None:
        return facts
    top, git_folder = place
    common = common_folder(system, git_folder)
    facts.update(started(system, look, top))
    facts.update(commit=commit(system, git_folder, common), remote=remote(system, common),
                 submodules=submodules(system, top))
    facts.update(difference(look, top))
    return facts


def started(system: System, look: Look, top: str | None) -> dict[str, Any]:
    """Return entry point and digest of the arguments of this process; a prologue runs before there are any."""
    if not look.in_process:
        return {"entry_point": unread("too-early"), "arguments_digest": unread("too-early")}
    argv = system.argv()
    if not argv or argv[0] in ("", "-c"):
        return {"entry_point": unread("not-reported"), "arguments_digest": digest(_storable(argv[1:]))}
    path = os.path.join(system.working_folder(), argv[0])
    inside = top is not None and system.realpath(path).startswith(system.realpath(top) + "/")
    entry = os.path.relpath(system.realpath(path), system.realpath(str(top))) if inside else os.path.basename(path)
    return {"entry_point": entry, "arguments_digest": digest(_storable(argv[1:]))}


def _storable(words: list[str]) -> list[str]:
    return [word.encode("utf-8", "backslashreplace").decode() for word in words]


def find_repository(system: System, folder: str) -> tuple[str, str] | None:
    """Return working tree and git folder of the repository that holds ``folder``; ``None`` outside one.

    In a worktree or submodule ``.git`` is a file that says where the git folder lies.
    """
    while True:
        marker = os.path.join(folder, ".git")
        if system.is_dir(marker):
            return folder, marker
        if system.exists(marker):
            word, _, target = system.read_text(marker, 4096).strip().partition(":")
            if word != "gitdir":
                raise ProbeFailed("failed", "the file .git does not say where the repository lies")
            return folder, os.path.normpath(os.path.join(folder, target.strip()))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def common_folder(system: System, git_folder: str) -> str:
    """Return the folder that a worktree shares with its repository: branches, packed references, configuration."""
    try:
        shared = system.read_text(os.path.join(git_folder, "commondir"), 4096).strip()
    except OSError:
        return git_folder
    return os.path.normpath(os.path.join(git_folder, shared))


def commit(system: System, git_folder: str, common: str) -> Any:
    """Return the commit that HEAD means, following references through files; ``None`` before the first commit."""
    try:
        target = system.read_text(os.path.join(git_folder, "HEAD"), 4096).strip()
    except OSError:
        return unread("failed")
    for _ in range(5):
        if not target.startswith("ref:"):
            return target if is_commit(target) else unread("failed")
        name = target[4:].strip()
        if os.path.isabs(name) or ".." in name.split("/"):
            return unread("failed")
        found = _reference(system, name, git_folder, common)
        if found is None:
            return unread("not-reported") if system.exists(os.path.join(common, "reftable")) else None
        target = found
    return unread("failed")


def _reference(system: System, name: str, git_folder: str, common: str) -> str | None:
    for folder in dict.fromkeys((git_folder, common)):
        try:
            return system.read_text(os.path.join(folder, name), 4096).strip()
        except OSError:
            continue
    try:
        packed = system.read_text(os.path.join(common, "packed-refs"), 1 << 22)
    except OSError:
        return None
    for line in packed.splitlines():
        if line.endswith(" " + name):
            return line.partition(" ")[0]
    return None


def is_commit(text: str) -> bool:
    """Tell whether ``text`` is a full commit id (SHA-1 or SHA-256)."""
    return len(text) in (40, 64) and all(digit in "0123456789abcdef" for digit in text)


def remote(system: System, common: str) -> Any:
    """Return the address of ``origin``, or of the only remote, without credentials; ``None`` without a remote."""
    try:
        text = system.read_text(os.path.join(common, "config"), _CONFIG_LIMIT)
    except OSError:
        return unread("failed")
    addresses = {name: values["url"] for (kind, name), values in sections(text).items()
                 if kind == "remote" and "url" in values}
    if "origin" in addresses:
        return without_credentials(addresses["origin"])
    return without_credentials(next(iter(addresses.values()))) if len(addresses) == 1 else \
        unread("not-reported") if addresses else None


def sections(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return git's configuration as (section, subsection) -> keys; later values win, includes are not followed."""
    result: dict[tuple[str, str], dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            kind, _, name = line[1:].rpartition("]")[0].partition(" ")
            current = result.setdefault((kind.lower(), name.strip().strip('"')), {})
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            current[key.strip().lower()] = value.strip().strip('"')
    return result


def submodules(system: System, top: str) -> Any:
    """Return the commit of each checked-out submodule by path; ``None`` without submodules."""
    try:
        text = system.read_text(os.path.join(top, ".gitmodules"), _CONFIG_LIMIT)
    except FileNotFoundError:
        return None
    found: dict[str, str] = {}
    for (kind, _), values in sections(text).items():
        path = values.get("path", "")
        if kind != "submodule" or not path or os.path.isabs(path) or ".." in path.split("/"):
            continue
        place = find_repository(system, os.path.join(top, path))
        if place is not None and place[0] != top:
            state = commit(system, place[1], common_folder(system, place[1]))
            if isinstance(state, str):
                found[path] = state
    return found


def working_trees(system: System, top: str) -> list[str]:
    """Return the working tree and those of its submodules at any depth, which git looks at too.

    A tree beyond ``MAX_TREES`` shows that there are too many.
    """
    trees = [top]
    for tree in trees:
        trees += [os.path.join(tree, path) for path in submodules(system, tree) or ()]
        if len(trees) > MAX_TREES:
            break
    return trees[:MAX_TREES + 1]


def difference(look: Look, top: str) -> dict[str, Any]:
    """Return whether tracked files differ from the commit and the digest of how, by bounded calls of git.

    Where this was asked before the program began, or at an earlier look, that answer stands.
    """
    known: dict[str, dict[str, Any]] = look.findings.get("differences", {})
    if top in known:
        look.sources["program.source.dirty"] = look.sources["program.source.diff_digest"] = "git"
        return dict(known[top])
    try:
        text = changes(look, top)
    except ProbeFailed as error:
        hint = " (is the repository another user's, or without a commit?)" if error.code == "failed" else ""
        look.failed("program.source.dirty", error.code, error.message + hint)
        return {"dirty": unread(error.code), "diff_digest": unread(error.code)}
    look.sources["program.source.dirty"] = look.sources["program.source.diff_digest"] = "git"
    return {"dirty": bool(text), "diff_digest": digest_bytes(text.encode("utf-8", "replace")) if text else None}


def changes(look: Look, top: str) -> str:
    """Return what tracked files differ by from the commit; raise ``ProbeFailed``.

    A repository's configuration may name programs: file-system monitors, external difference programs and filters.
    None of them is run. Where files under a filter look changed, only the filter could tell.
    """
    git = ["git", "-c", "core.fsmonitor=false", *without_filters(look, working_trees(look.system, top)),
           "--no-optional-locks", "-C", top]
    text = look.run([*git, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--binary",
                     "--submodule=short", "HEAD", "--"], "git diff", GIT_LIMIT_S, DIFF_LIMIT)
    if text and len(git) > _PLAIN and look.run([*git, "ls-files", "-m", "--", _FILTERED], "git ls-files", GIT_LIMIT_S):
        raise ProbeFailed("denied", "files under a git filter look changed, and filters are not run")
    return text


#: words of a call of git that has no filter to switch off.
_PLAIN = 6
#: every path whose attributes name a filter, set or unset.
_FILTERED = ":(exclude,attr:!filter)"
_FILTER_PROGRAMS = ("clean", "process")


def without_filters(look: Look, trees: list[str]) -> list[str]:
    """Return the options that switch off every filter the configurations of ``trees`` name; raise ``ProbeFailed``."""
    if len(trees) > MAX_TREES:
        raise ProbeFailed("failed", f"there are more than {MAX_TREES} submodules")
    listed = "".join(look.run(["git", "-C", tree, "config", "--null", "--name-only", "--list"], "git config",
                              GIT_LIMIT_S) for tree in trees)
    found = {key.rpartition(".")[0] for key in listed.split("\0")
             if key.startswith("filter.") and key.rpartition(".")[2] in _FILTER_PROGRAMS}
    if any("=" in name or "\n" in name for name in found):
        raise ProbeFailed("denied", "a git filter has a name that cannot be switched off")
    return [word for name in sorted(found)
            for setting in (*(f"{program}=" for program in _FILTER_PROGRAMS), "required=false")
            for word in ("-c", f"{name}.{setting}")]

"""What TensorFlow's ``tf_env_collect.sh`` writes: blocks under banners. The nvidia-smi in it is read as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..fingerprint.facts import is_unread
from ..probes.keys import FRAMEWORK, blank_of
from . import cudnn, host, inventory, pip_list, platforms
from .format import Reading, Text
from .words import is_silent

NAME = "tf-env-collect"
MADE_BY = "tf_env_collect.sh"

_BANNER = re.compile(r"== ([a-z][a-z0-9 .-]{2,40}?) *={5,}")
_ROW = re.compile(r"([A-Za-z_][\w .]{1,40}?) ?[:=] ?(\S.*)")
_KNOWN = frozenset(("check python", "check os platform", "are we in docker", "compiler", "check pips",
                    "check for virtualenv", "tensorflow import", "env", "nvidia-smi", "cuda libs",
                    "tensorflow installed from info", "tensorflow installed from", "python version",
                    "bazel version", "tensorflow installation", "tf.version", "tensorflow build info"))
_TUPLE = re.compile(r"\((\d+), (\d+), (\d+), '(\w+)', (\d+)\)")
_LEVELS = {"alpha": "a", "beta": "b", "candidate": "rc"}
#: what git describe says of the commit, on Pythons of old as bytes.
_GIT = re.compile(r"(?:b')?v?\d[\w.]*(?:-rc\d+)?-\d+-g([0-9a-f]{7,40})")
_VERSION = re.compile(r"\d+\.\d+[\w.+!-]{0,60}")
_PLATFORM_PYTHON = re.compile(r"\d+\.\d+\.\d+\S*")
_FAMILIES = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}
_MACHINES = {"amd64": "x86_64"}
_DISTRIBUTION = re.compile(r"\('([^']{1,60})', '([^']{0,60})', '[^']{0,60}'\)")
_LIBRARY_PATH = re.compile(r"LD_LIBRARY_PATH (?:is unset|(/\S{1,2000}))")
_MOST_LINES = 5000

Blocks = dict[str, list[str]]


def read(text: Text) -> Reading | None:
    """Return what the blocks of the first report state."""
    lines = text.lines
    if "== " not in text.joined:
        return None
    start = next((number for number, line in enumerate(lines) if _title(line)), None)
    if start is None:
        return None
    blocks, end = _blocks(lines, start)
    if len(blocks) < 2 and "tensorflow import" not in blocks:
        return None
    notes: list[str] = []
    found = [row for line in blocks.get("check pips", ())
             for row in (pip_list.row_of(line) or pip_list.old_row_of(line),) if row]
    sections = {**inventory.sections(found, notes), **_machine(blocks, notes)}
    _add_import(sections, _values(blocks.get("tensorflow import", ())), notes)
    python = _python(blocks)
    if python:
        sections["python"] = python
    _add_cudnn(sections, blocks.get("cuda libs", []), notes)
    path = next((match for match in map(_LIBRARY_PATH.fullmatch, blocks.get("env", ())) if match), None)
    if path:
        sections["variables"] = {"values": {"LD_LIBRARY_PATH": path[1]}}
    if any(line.strip(" .").lower() == "yes" for line in blocks.get("are we in docker", ())):
        sections["container"] = {"engine": "docker"}
    return Reading(NAME, sections, tuple(notes), start, not any(lines[end:]), max(1, len(blocks) * 2))


def _title(line: str) -> str | None:
    match = _BANNER.match(line[:120])
    return match[1] if match and match[1] in _KNOWN else None


def _blocks(lines: Sequence[str], start: int) -> tuple[Blocks, int]:
    """Return the lines below each banner; the last block without its last line, which the end may have broken."""
    blocks: Blocks = {}
    current: list[str] = []
    title: str | None
    end = min(len(lines), start + _MOST_LINES)
    for number in range(start, end):
        title = _title(lines[number])
        if title in blocks:
            return blocks, number
        if title is not None:
            current = blocks.setdefault(title, [])
        elif number < len(lines) - 1:
            current.append(lines[number])
    return blocks, end


def _values(lines: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for match in (_ROW.fullmatch(line[:1000]) for line in lines):
        if match:
            values.setdefault(match[1].strip(), match[2].strip())
    return values


def _add_import(sections: inventory.Sections, told: dict[str, str], notes: list[str]) -> None:
    """Add what TensorFlow said of itself when it was imported; it wins over its package row."""
    version, git = (next((told[key] for key in keys if key in told), "").strip("'\"") for keys in (
        ("tf.version.VERSION", "tf.VERSION"), ("tf.version.GIT_VERSION", "tf.GIT_VERSION")))
    if not _VERSION.fullmatch(version):
        return
    facts = sections["frameworks"]["tensorflow"]
    if is_unread(facts):
        facts = blank_of(FRAMEWORK, "not-recorded")
    elif facts["version"] != version:
        notes.append(f"TensorFlow says it is {version}, its package row says {facts['version']}: the first is believed")
    commit = _GIT.fullmatch(git)
    sections["frameworks"]["tensorflow"] = {**facts, "version": version,
                                            **({"revision": commit[1]} if commit else {})}


def _machine(blocks: Blocks, notes: list[str]) -> inventory.Sections:
    """Return system and processor; the line with the name of the node stays out."""
    told = _values(blocks.get("check os platform", ()))
    python = _python(blocks).get("version")
    system = platforms.sections(told.get("os platform", ""), python, notes).get("system", {})
    family = _FAMILIES.get(told.get("os", ""))
    if family:
        system["os_family"] = family
    if family == "linux" and "os release version" in told:
        system["kernel"] = told["os release version"]
    named = _DISTRIBUTION.fullmatch(told.get("linux distribution", ""))
    if named and named[1]:
        system["os_name"] = f"{named[1]} {named[2]}".strip()
    result: inventory.Sections = {"system": system} if system else {}
    machine = told.get("machine", "").lower()
    if machine:
        result["cpu"] = {"architecture": _MACHINES.get(machine, machine)}
    return result


def _python(blocks: Blocks) -> dict[str, Any]:
    """Return the interpreter: the tuple of ``sys.version_info`` is TensorFlow's own, the block at the top too."""
    told = _values(blocks.get("check python", ()))
    facts: dict[str, Any] = {}
    if _PLATFORM_PYTHON.fullmatch(told.get("python version", "")):
        facts = host.python_of(told["python version"])
    else:
        match = next((match for match in map(_TUPLE.fullmatch, blocks.get("python version", ())) if match), None)
        if match:
            level = _LEVELS.get(match[4])
            facts = {"version": ".".join(match.group(1, 2, 3)) + (f"{level}{match[5]}" if level else "")}
    if told.get("python implementation") == "CPython":
        facts["implementation"] = "cpython"
    compiler = told.get("python compiler version")
    if compiler and not is_silent(compiler):
        facts["compiler"] = compiler
    return facts


def _add_cudnn(sections: inventory.Sections, files: list[str], notes: list[str]) -> None:
    """Add the cuDNN files in the system's folders, which are not what TensorFlow loaded."""
    versions = cudnn.versions([found for found in cudnn.files(files) if found[0].startswith("/usr/")])
    if versions:
        sections["libraries"]["system_cudnn"] = versions
        notes.append("cuDNN files are the system's, not what TensorFlow loads")

"""Where a run departs from what its image promises: a pure difference of two stacks over image-owned sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repro_env.canonical import encode
from repro_env.fingerprint.facts import is_unread

#: what an image owns; the rest of a stack belongs to the machine or to the program.
IMAGE_SECTIONS = ("libraries", "frameworks", "python", "distributions")
IMAGE_FACTS = ("system.os_family", "system.os_name", "system.libc", "system.encoding")
#: process-time states of otherwise image-owned sections.
PROCESS_FACTS = frozenset({"frameworks.backend", "imported", "loaded", "conflicts", "unvetted_kernels", "build_id"})
MAX_DRIFT = 200


def drift(expected: dict[str, Any], observed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the facts the manifest states and the run contradicts, as path, expected, observed; at most 200.

    A fact that either side did not read contradicts nothing.
    """
    rows: list[dict[str, Any]] = []
    for section in IMAGE_SECTIONS:
        rows.extend(_differences(section, expected.get(section), observed.get(section)))
    for path in IMAGE_FACTS:
        section, name = path.split(".")
        sides = [(stack.get(section) or {}).get(name) for stack in (expected, observed)]
        rows.extend(_differences(path, *sides))
    return rows[:MAX_DRIFT]


def _differences(path: str, expected: Any, observed: Any) -> Iterator[dict[str, Any]]:
    if is_unread(expected) or is_unread(observed) or expected == observed or _process_fact(path):
        return
    if isinstance(expected, dict) and isinstance(observed, dict):
        for name in sorted(expected.keys() & observed.keys()):
            yield from _differences(f"{path}.{name}", expected[name], observed[name])
    elif path == "distributions.installed" and isinstance(expected, list) and isinstance(observed, list):
        yield from _distribution_differences(expected, observed)
    else:
        yield {"path": path, "expected": _shown(expected), "observed": _shown(observed)}


def _process_fact(path: str) -> bool:
    return path in PROCESS_FACTS or path.rpartition(".")[2] in PROCESS_FACTS


def _distribution_differences(expected: list[Any], observed: list[Any]) -> Iterator[dict[str, Any]]:
    """Compare the versions of each name: added, removed and changed distributions are drift."""
    sides = [_versions(expected), _versions(observed)]
    for name in sorted(sides[0].keys() | sides[1].keys()):
        left, right = sides[0].get(name), sides[1].get(name)
        if left != right:
            yield {"path": f"distributions.installed.{name}", "expected": left, "observed": right}


def _versions(installed: list[Any]) -> dict[str, str]:
    result: dict[str, str] = {}
    for item in installed:
        version = item["version"] if isinstance(item["version"], str) else "unread"
        told = f"{version} @ {item['revision']}" if isinstance(item["revision"], str) else version
        result[item["name"]] = f"{result[item['name']]}, {told}" if item["name"] in result else told
    return result


def _shown(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    text = encode(value).decode("utf-8")
    return text if len(text) <= 200 else text[:197] + "..."

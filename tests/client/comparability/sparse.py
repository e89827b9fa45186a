"""Sides of which little is told, as reports tell of them: a few facts by dotted path, everything else unread."""

from __future__ import annotations

from typing import Any

from repro_env.comparability.reading import PROGRAM_SECTIONS, Facts


def side(vantage: str = "import", /, **facts: Any) -> Facts:
    """Return a side that states ``facts`` and nothing else."""
    document: dict[str, Any] = {"stack": {}, "program": {}, "capture": {"vantage": vantage}}
    for path, value in facts.items():
        section, *steps = path.split(".")
        holder = document["program" if section in PROGRAM_SECTIONS else "stack"].setdefault(section, {})
        for step in steps[:-1]:
            holder = holder.setdefault(step, {})
        holder[steps[-1]] = value
    return Facts.of(document)

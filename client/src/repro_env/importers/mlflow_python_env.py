"""The ``python_env.yaml`` that MLflow writes beside a model: the interpreter, and what builds its environment."""

from __future__ import annotations

import re

from . import plain, yaml_subset
from .format import Reading, Text

NAME = "mlflow-python-env"
MADE_BY = "mlflow, beside a model: python_env.yaml"

_PYTHON = re.compile(r"python\s*:.*")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")


def read(text: Text) -> Reading | None:
    """Return the version of Python; the packages stand in requirements.txt."""
    if "build_dependencies" not in text.joined:
        return None
    place = next((number for number, line in enumerate(text.lines) if _PYTHON.fullmatch(line[:200])), None)
    if place is None or not any(line.startswith("build_dependencies") for line in text.lines[place:place + 20]):
        return None
    document = yaml_subset.parse(plain.indented(text.raw), place)
    value = document.value
    python = value.get("python") if isinstance(value, dict) else None
    if not isinstance(python, str) or not _VERSION.fullmatch(python) or "build_dependencies" not in value:
        return None
    return Reading(NAME, {"python": {"version": python}}, (), place, document.cut, document.last_line - place + 1)

"""The ``conda.yaml`` that MLflow writes beside a model: what the model needs, not what it was trained in."""

from __future__ import annotations

from . import conda_env
from .format import Reading, Text

NAME = "mlflow-conda-yaml"
MADE_BY = "mlflow, beside a model: conda.yaml"


def read(text: Text) -> Reading | None:
    """Return what MLflow's environment file states: Python, and the packages with the versions it was trained with."""
    found = conda_env.find(text) if "mlflow" in text.joined else None
    if found is None or not found.is_mlflows or found.exported:
        return None
    notes = ["MLflow lists what the model needs, without local version labels", *conda_env.remarks(found)]
    sections = conda_env.asked_for(found, notes)
    return Reading(NAME, sections, tuple(notes), found.first_line, found.cut, found.keys)

"""MLflow's ``MLmodel`` file: the versions with which a model was saved."""

from __future__ import annotations

import re
from typing import Any

from . import inventory, plain, yaml_subset
from .format import Reading, Text
from .rows import Row

NAME = "mlflow-mlmodel"
MADE_BY = "mlflow, beside a model: MLmodel"

_FLAVORS = re.compile(r"flavors\s*:\s*")
_KEY = re.compile(r"[A-Za-z_]\w*\s*:.*")
#: flavour -> key of its version -> distribution. Other keys of the form <name>_version name their own.
_VERSIONS = {
    "pytorch_version": "torch", "sklearn_version": "scikit-learn", "tf_version": "tensorflow",
    "keras_version": "keras", "xgb_version": "xgboost", "lgb_version": "lightgbm", "catboost_version": "catboost",
    "transformers_version": "transformers", "statsmodels_version": "statsmodels", "onnx_version": "onnx",
    "spacy_version": "spacy", "fastai_version": "fastai", "langchain_version": "langchain",
    "openai_version": "openai", "pmdarima_version": "pmdarima", "prophet_version": "prophet",
    "sentence_transformers_version": "sentence-transformers", "pyspark_version": "pyspark", "shap_version": "shap",
    "paddle_version": "paddlepaddle", "diviner_version": "diviner", "mleap_version": "mleap",
    "dspy_version": "dspy", "llama_index_version": "llama-index",
}
_VERSION = re.compile(r"\d[\w.+!-]{0,120}")


def read(text: Text) -> Reading | None:
    """Return Python, MLflow and the frameworks of every flavour."""
    if "flavors" not in text.joined:
        return None
    place = next((number for number, line in enumerate(text.lines) if _FLAVORS.fullmatch(line)), None)
    if place is None:
        return None
    lines = plain.indented(text.raw)
    document = yaml_subset.parse(lines, _first_line(lines, place))
    value = document.value
    flavors = value.get("flavors") if isinstance(value, dict) else None
    if not isinstance(flavors, dict):
        return None
    found, python = _versions(value, flavors)
    if not found and python is None:
        return None
    notes = ["MLflow tells the versions a model was saved with, not the whole environment"]
    sections = inventory.sections(found, notes)
    if python is not None:
        sections["python"] = {"version": python}
    first = _first_line(lines, place)
    return Reading(NAME, sections, tuple(notes), first, document.cut,
                   document.last_line - first + 1 - len(document.refused))


def _first_line(lines: list[str], place: int) -> int:
    """Return where the file begins: the keys above stand before ``flavors`` in the alphabet."""
    base = len(lines[place]) - len(lines[place].lstrip())
    first = place
    for number in range(place - 1, max(-1, place - 50), -1):
        indent = len(lines[number]) - len(lines[number].lstrip())
        if not lines[number].strip() or indent < base or lines[number].strip() == plain.FENCE:
            break
        if indent == base and not _KEY.fullmatch(lines[number].strip()[:1000]):
            break
        if indent == base:
            first = number
    return first


def _versions(value: dict[str, Any], flavors: dict[str, Any]) -> tuple[list[Row], str | None]:
    """Return the distributions that the flavours name, and the version of Python."""
    named: list[tuple[str, Any]] = [("mlflow_version", value.get("mlflow_version"))]
    named += [item for flavor in flavors.values() if isinstance(flavor, dict) for item in flavor.items()]
    python = next((told for key, told in named if key == "python_version" and _is_version(told)), None)
    distributions = {**_VERSIONS, "mlflow_version": "mlflow"}
    return [inventory.pip_row(distributions[key], told) for key, told in named
            if key in distributions and _is_version(told)], python


def _is_version(told: Any) -> bool:
    return isinstance(told, str) and _VERSION.fullmatch(told) is not None

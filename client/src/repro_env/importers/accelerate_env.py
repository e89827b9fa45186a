"""The list of ``accelerate env``. Its default configuration is not what a run used, and stands in a note."""

from __future__ import annotations

from . import hugging_face
from .format import Reading, Text

NAME = "accelerate-env"
MADE_BY = "accelerate env"


def read(text: Text) -> Reading | None:
    """Return what the first list states."""
    if "accelerate" not in text.joined.lower():
        return None
    notes: list[str] = []
    found = hugging_face.find(text, _is_one, notes)
    return None if found is None else hugging_face.reading(NAME, found, notes)


def _is_one(values: dict[str, str]) -> bool:
    return "accelerate version" in values and not any(
        label in values for label in ("transformers version", "diffusers version", "trl version"))

"""The list of ``transformers-cli env`` and of its sisters: diffusers, datasets, TRL, huggingface_hub.

Its "GPU type" is the current device alone; what stands in brackets behind torch is whether a GPU was found.
"""

from __future__ import annotations

from . import hugging_face
from .format import Reading, Text

NAME = "transformers-env"
MADE_BY = "transformers-cli env, also diffusers-cli, datasets-cli or trl env"

_OWN = ("transformers version", "diffusers version", "datasets version", "trl version", "huggingface_hub version")
_WORDS = ("transformers", "diffusers", "datasets", "trl", "huggingface")


def read(text: Text) -> Reading | None:
    """Return what the first list states."""
    letters = text.joined.lower()
    if not any(word in letters for word in _WORDS):
        return None
    notes: list[str] = []
    found = hugging_face.find(text, _is_one, notes)
    return None if found is None else hugging_face.reading(NAME, found, notes)


def _is_one(values: dict[str, str]) -> bool:
    """Tell whether the labels are of these commands: they alone, or the first of them at the beginning."""
    return any(label in values for label in _OWN) and ("platform" in values or "python version" in values
                                                       or next(iter(values)) in _OWN)

"""vLLM's text: PyTorch's collect_env with rows of its own, and since 2025 under banners."""

from __future__ import annotations

from . import collect_env, dump
from .format import Reading, Text

NAME = dump.VLLM
MADE_BY = "vllm collect-env"


def read(text: Text) -> Reading | None:
    """Return what a text of vLLM's command states."""
    return collect_env.reading(text, NAME)

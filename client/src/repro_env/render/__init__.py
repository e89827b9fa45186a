"""A verdict for people: one outline from the value, laid out as text or as Markdown. Judging is left to the rules."""

from __future__ import annotations

from .markdown import render_markdown
from .text import render_text

__all__ = ["render_markdown", "render_text"]

"""The command line: one module a command, the only part of the client that prints and exits."""

from __future__ import annotations

from .main import main

__all__ = ["main"]

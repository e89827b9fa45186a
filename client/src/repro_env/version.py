"""The version of the distribution, written here and nowhere else."""

from __future__ import annotations

VERSION = "0.1.0"

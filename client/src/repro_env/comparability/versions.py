"""Versions as rules compare them: releases as tuples, local labels and pre-releases apart."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Release = tuple[int, ...]


def release(version: Any) -> Release:
    """Return the release numbers of ``version`` ("2.5.1+cu124" → (2, 5, 1)); empty where there are none."""
    return _release(str(version))


@lru_cache(maxsize=4096)
def _release(version: str) -> Release:
    match = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


def local_label(version: Any) -> str | None:
    """Return the local label ("2.5.1+cu124" → "cu124"), ``None`` without one."""
    return str(version).partition("+")[2] or None


def public(version: Any) -> str:
    """Return the version without its local label, as it stands."""
    return str(version).partition("+")[0]


def prefix(version: Any, parts: int) -> str:
    """Return the first ``parts`` release numbers as text; missing ones are zero."""
    numbers = release(version)
    return ".".join(str(number) for number in (*numbers, *(0,) * parts)[:parts]) if numbers else str(version)


def older(version: Any, than: str) -> bool:
    """Tell whether the release of ``version`` is before ``than``."""
    return release(version) < release(than)

"""Which keys would state what a verdict lacks: the remedy of a side that was written, not captured."""

from __future__ import annotations

from functools import lru_cache

from ..comparability.verdict import Verdict
from . import keys, short
from .software import FRAMEWORK_FACTS
from .stated import Stated

#: the code of a fact that a side of short facts does not state.
_NOT_STATED = "not-recorded"
#: as many keys are named; all stand in docs/whatif.md.
MOST = 8
#: what separates ordinary programs most often is asked for first; the others follow in the order of the table.
_FIRST = ("gpu", "torch", "driver", "draw", "cudnn", "cublas", "tf32", "precision", "deterministic", "cudnn_benchmark",
          "numpy", "threads", "isa")
_ORDER = {name: place for place, name in enumerate(dict.fromkeys((*_FIRST, *(key.names[0] for key in keys.KEYS))))}


def keys_for(verdict: Verdict, side: str) -> list[str]:
    """Return examples of the keys that state what a side (``expected`` or ``observed``) lacks, likeliest first."""
    known = _keys_by_path()
    found = {known[path] for item in verdict.assumes for path, code in item.lacking.get(side, {}).items()
             if code == _NOT_STATED and path in known}
    return [key.example for key in sorted(found, key=lambda key: _ORDER[key.names[0]])]


@lru_cache(maxsize=1)
def _keys_by_path() -> dict[str, keys.Key]:
    """Return the key that states a fact, by the fact's path."""
    found: dict[str, keys.Key] = {}
    for key in keys.KEYS:
        stated = Stated()
        for name, value in short.pairs(key.example):
            keys.read(stated, name, value)
        keys.follow(stated)
        paths = [*stated.facts, *(f"frameworks.{FRAMEWORK_FACTS.get(row.name, row.name)}.version"
                                  for row in stated.rows)]
        for path in paths:
            found.setdefault(path, key)
    return found

"""Launches and what became of them, in memory and in the files that ``--keep`` leaves for judging again."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any, NamedTuple

from .bases import BASES_BY_NAME, Base
from .factors import FACTORS_BY_NAME, Factor, interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Launch(NamedTuple):
    """One launch of one workload, with one factor or with none (``None``: the base itself)."""

    base: Base
    workload: str
    factor: Factor | None
    number: int = 0

    @property
    def name(self) -> str:
        """The launch in words, for people."""
        return f"{self.base.name} {self.workload}" + (f": {self.factor.name}" if self.factor else "")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the program makes."""
        return {**self.base.settings, **(self.factor.settings if self.factor else {})}


class Outcome(NamedTuple):
    """What became of a launch: the digest of its results, and the documents of it (compressed JSON), or what failed."""

    launch: Launch
    digest: str | None
    documents: bytes
    error: str | None = None

    def read(self) -> list[dict[str, Any]]:
        """Return the documents."""
        found: list[dict[str, Any]] = json.loads(zlib.decompress(self.documents))
        return found


def keep(outcome: Outcome, folder: str, number: int) -> None:
    """Write what became of one launch into ``folder``."""
    launch = outcome.launch
    factor = launch.factor
    told = {"base": launch.base.name, "workload": launch.workload, "factor": factor.name if factor else None,
            "python": factor.python if factor else "", "number": launch.number, "digest": outcome.digest,
            "error": outcome.error, "documents": outcome.read()}
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{number:05}.json"), "w", encoding="utf-8") as stream:
        json.dump(told, stream)


def kept(folder: str) -> Iterator[Outcome]:
    """Yield what ``keep`` wrote, in its order; factors that are no longer tried are left out. Raise ``OSError``."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                told = json.load(stream)
            factor = interpreter(told["python"]) if told["python"] else FACTORS_BY_NAME.get(told["factor"])
            if told["base"] in BASES_BY_NAME and (factor is not None or told["factor"] is None):
                launch = Launch(BASES_BY_NAME[told["base"]], told["workload"], factor, told["number"])
                yield Outcome(launch, told["digest"], zlib.compress(json.dumps(told["documents"]).encode(), 1),
                              told["error"])

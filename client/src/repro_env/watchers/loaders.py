"""The training loader: how its workers are seeded and its order is drawn, read when the program begins to iterate it.

Reading attributes draws nothing and changes nothing. Which loader is the training one nobody says: it is among those
begun with gradients on before the first optimizer step; where several differ in a fact, that fact stays unread. A
program that reached its first step without one, and without a library that loads in its own way, surely has none.
"""

from __future__ import annotations

import functools
import sys

from ..fingerprint.facts import unread
from ..guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULE = "torch.utils.data.dataloader"
#: facts of a loader.
_FACTS = ("loader_workers", "worker_seeding", "persistent_workers", "sampler", "drop_last", "loader_generator")
#: packages that load in workers or threads of their own.
_OTHERS = ("nvidia.dali", "ffcv", "webdataset", "streaming", "torchdata", "litdata", "ray.data", "tensorflow", "grain",
           "petastorm", "deeplake", "squirrel", "mxnet", "torchrl")
#: the sampler that torch gives a data set without order.
_NO_SAMPLER = "_InfiniteConstantSampler"


class Loaders:
    """The loaders that were begun until the first step."""

    def __init__(self) -> None:
        self.training: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        self._class: Any = None
        self._original: Any = None
        self._ours: Any = None
        self._stepped = False

    def begin(self, torch: Any) -> None:
        """Stand where a loader begins to be iterated."""
        module = sys.modules.get(_MODULE)
        loader_class = getattr(module, "DataLoader", None)
        if loader_class is None or self._ours is not None:
            return
        original = loader_class.__iter__
        note = guarded(self.note, "watching loaders")

        @functools.wraps(original)
        def begun(loader: Any) -> Any:
            note(torch, loader)
            return original(loader)

        self._class, self._original, self._ours = loader_class, original, begun
        loader_class.__iter__ = begun

    def note(self, torch: Any, loader: Any) -> None:
        """Note one loader as it is begun."""
        (self.training if torch.is_grad_enabled() else self.others).append(described(loader))

    def step_done(self) -> None:
        """Later loaders are those of evaluation."""
        self._stepped = self._class is not None and self._class.__iter__ is self._ours
        self.end()

    def compiling(self) -> None:
        """Loading is not compiled."""

    def elsewhere(self) -> None:
        """Loaders are seen in every thread."""

    def end(self) -> None:
        """Leave, unless somebody else has taken the place since."""
        if self._class is not None and self._class.__iter__ is self._ours:
            self._class.__iter__ = self._original
            self._class = None

    def facts(self) -> dict[str, Any]:
        """Return what all loaders agree on; absent where there surely is none."""
        seen = self.training or self.others
        if not seen and self._stepped and not any(name in sys.modules for name in _OTHERS):
            return {f"program.data.{name}": None for name in _FACTS}
        return {f"program.data.{name}": seen[0][name] if all(item[name] == seen[0][name] for item in seen)
                else unread("not-reported") for name in seen[0]} if seen else {}


def described(loader: Any) -> dict[str, Any]:
    """Return the facts of one loader."""
    workers = int(loader.num_workers)
    sampler, own_batches = sampler_of(loader)
    return {
        "loader_workers": workers,
        "worker_seeding": None if workers == 0 else "default" if loader.worker_init_fn is None else "worker-init",
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "sampler": None if sampler is None else type(sampler).__name__,
        "drop_last": _drop_last(loader, sampler if own_batches else None),
        "loader_generator": "own" if _generator(loader, sampler) is not None else "default",
    }


def sampler_of(loader: Any) -> tuple[Any, bool]:
    """Return what decides the order, and whether it makes whole batches; ``None`` for a data set without order."""
    if loader.batch_size is None and loader.batch_sampler is not None:
        return loader.batch_sampler, True  # the sampler beside it is never asked
    return (None if type(loader.sampler).__name__ == _NO_SAMPLER else loader.sampler), False


def _drop_last(loader: Any, batches: Any) -> Any:
    if batches is None:
        return bool(loader.drop_last)
    told = getattr(batches, "drop_last", None)
    return told if isinstance(told, bool) else unread("not-reported")


def _generator(loader: Any, sampler: Any) -> Any:
    inner = getattr(sampler, "sampler", sampler)
    return loader.generator if loader.generator is not None else getattr(inner, "generator", None)

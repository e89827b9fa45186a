"""Layer ``program``: data and how it is loaded, order, workers and their seeds."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, all_hold, in_process, present
from ..reading import Facts
from ..rule import AnyRule, Fails
from ..versions import older
from .declared import stated
from .making import NONE, OTHER_TASK, STATISTICAL, fact
from .making import condition as _condition
from .making import distinction as _rule

#: first torch that seeds NumPy in each worker as well.
_NUMPY_SEEDED = "1.9"
#: what a program may state of randomness in its workers, for their number not to count.
_SEEDED_APART = ("none", "no", "false", "per-sample")


def unseeded_workers(facts: Facts) -> Fails | None:
    """Fail where loader workers share one random stream, copied at their start."""
    copied = all_hold(facts, (lambda side: side.read("data.worker_seeding") == "none",
                              lambda side: (side.read("data.loader_workers") or 0) > 0))
    return Fails("loader workers are not seeded apart") if copied else None


def worker_seeding(facts: Facts) -> Any:
    """How workers are seeded: what torch does by default changed with the version."""
    value = facts.read("data.worker_seeding")
    if value != "default":
        return present(value)
    torch = facts.read("frameworks.torch")
    if torch is None or not older(facts.read("frameworks.torch.version"), _NUMPY_SEEDED):
        return value
    return "default, which leaves NumPy out"


def loader_workers(facts: Facts) -> Any:
    """Number of workers, where samples may depend on it.

    Measured: without random numbers in workers, and with samples that are seeded by their index, the number of workers
    changes no epoch and leaves the main generator in one state.
    """
    count = present(facts.read("data.loader_workers"))
    if count is not UNUSED and in_process(facts):
        told = stated(facts)
        if told.get("worker-seeding") == "per-sample" or told.get("worker-randomness", "yes").lower() in _SEEDED_APART:
            return "any number of"
    return count


DATA: tuple[AnyRule, ...] = (
    _rule("preprocessing", "preprocessing_library", "preprocessing: {expected} against {observed}",
          fact("data.preprocessing"), expected=NONE, effect="the model sees other inputs",
          remedy="use the same library, function and options", confidence="observed",
          source=("torchvision issue 2950", "icml-2022 shift-happens pull request 62: 0.8 points from resizing")),
    _rule("dataset", "data_order", "data set {expected} against {observed}", fact("data.dataset_digest"),
          expected=NONE, effect=OTHER_TASK, remedy="use the same data"),
    _rule("file-order", "data_order", "files listed in order {expected} against {observed}",
          fact("data.file_order_digest"), expected=NONE, confidence="observed",
          effect="a seeded shuffle or split of another list gives other batches and other splits",
          remedy="sort the list of files", source=("torchvision issue 192",)),
    _condition("workers-unseeded", "dataloader_seed", "{detail} {side}", unseeded_workers, guaranteed=NONE,
               expected=NONE, effect="with fork every worker draws the same numbers, so augmentation repeats",
               remedy="seed NumPy and random in worker_init_fn, or use torch 1.9 or later",
               source=("pytorch issues 5059, 56488",)),
    _rule("worker-seeding", "dataloader_seed", "seeding of workers: {expected} against {observed}",
          worker_seeding, expected=STATISTICAL, effect="other augmentation",
          remedy="use the same worker_init_fn and generator", source=("PyTorch documentation, Randomness in loaders",)),
)
LOADER: tuple[AnyRule, ...] = (
    _rule("loader-workers", "dataloader_workers", "{expected} loader workers against {observed}",
          loader_workers, expected=STATISTICAL, confidence="proven",
          effect="augmentation in workers and the main generator draw otherwise",
          remedy="use the same num_workers, or seed each sample by its index",
          source=("measured: augmentation changes with the number of workers", "pytorch issue 122697")),
    _rule("persistent-workers", "dataloader_workers", "workers kept over epochs {expected} against {observed}",
          fact("data.persistent_workers"), expected=STATISTICAL,
          effect="order differs from the second epoch on, with a generator of its own too",
          remedy="set persistent_workers the same", confidence="proven",
          source=("measured: the seed of workers is drawn from the generator that draws the order",)),
    _rule("loader-generator", "data_order", "generator of the loader: {expected} against {observed}",
          fact("data.loader_generator"), expected=STATISTICAL,
          effect="another order of samples, and the main generator draws otherwise",
          remedy="pass the DataLoader a generator on both sides, seeded the same",
          source=("PyTorch documentation, Reproducibility: DataLoader",)),
    _rule("sampler", "data_order", "sampler {expected} against {observed}", fact("data.sampler"),
          expected=STATISTICAL, effect="other order of samples", remedy="use the same sampler"),
    _rule("drop-last", "batch_split", "incomplete last batch dropped {expected} against {observed}",
          fact("data.drop_last"), expected=STATISTICAL, effect="another number of steps",
          remedy="set drop_last the same"),
)

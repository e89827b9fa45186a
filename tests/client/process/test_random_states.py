"""States of generators: equal states have one digest, and reading one draws nothing."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from repro_env.probes import inprocess_random
from repro_env.probes.inprocess import Readings, Seen
from repro_env.results import is_digest
from repro_env.system import System


def states() -> dict[str, str]:
    return inprocess_random.states(sys.modules)


SOURCES: dict[str, tuple[Callable[[int], Any], Callable[[], Any]]] = {
    "python": (random.seed, random.random),
    "numpy": (np.random.seed, np.random.random),
    "torch": (torch.manual_seed, lambda: torch.rand(1).item()),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_digest_tells_states_apart_and_equal_ones_together(name: str) -> None:
    seed, draw = SOURCES[name]
    seed(1)
    first = states()
    draw()
    later = states()
    seed(1)

    assert is_digest(first[name])
    assert later[name] != first[name]
    assert states() == first
    assert {other for other in first if first[other] != later[other]} == {name}


@pytest.mark.parametrize("name", SOURCES)
def test_reading_a_state_draws_nothing(name: str) -> None:
    seed, draw = SOURCES[name]
    seed(5)
    plain = [draw() for _ in range(3)]
    seed(5)
    read = [(draw(), states())[0] for _ in range(3)]

    assert read == plain


def test_a_gaussian_that_is_kept_for_later_belongs_to_the_state() -> None:
    random.seed(1)
    before = states()["python"]
    random.gauss(0, 1)
    random.seed(1)
    random.gauss(0, 1)
    kept = states()["python"]
    random.gauss(0, 1)

    assert len({before, kept, states()["python"]}) == 3


def test_a_generator_that_is_not_loaded_has_no_state() -> None:
    assert inprocess_random.states({}) == {}
    assert set(inprocess_random.states({"random": random})) == {"python"}


def test_cuda_is_not_asked_before_the_program_has_started_it() -> None:
    assert not [name for name in states() if name.startswith("cuda")]
    assert not torch.cuda.is_initialized()


def test_each_device_of_a_started_cuda_has_its_state() -> None:
    class Cuda:
        default_generators = (torch.Generator(), torch.Generator().manual_seed(9))

        @staticmethod
        def is_initialized() -> bool:
            return True

    class Torch:
        cuda = Cuda
        _C = torch._C
        default_generator = torch.default_generator

    found = inprocess_random.states({"torch": Torch})

    assert set(found) == {"torch", "cuda:0", "cuda:1"}
    assert found["cuda:0"] != found["cuda:1"]


def test_a_mode_that_the_program_is_in_sees_nothing_of_it() -> None:
    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            type(self).calls += 1
            return func(*args, **(kwargs or {}))

    plain = states()["torch"]
    with Counting():
        assert states()["torch"] == plain

    assert Counting.calls == 0


def test_a_state_that_cannot_be_read_is_unread_and_said() -> None:
    class Broken(System):
        def loaded_modules(self) -> Any:
            raise RuntimeError("planted")

    readings = Readings()
    with pytest.raises(RuntimeError):
        inprocess_random.read(Broken(), Seen(), readings)

    class Odd(System):
        def loaded_modules(self) -> Any:
            return {"numpy.random.mtrand": type("M", (), {"_rand": object()})}

    inprocess_random.read(Odd(), Seen(), readings)
    assert readings.facts["capture.random_states"] == {"unread": "failed"}
    assert readings.errors[0]["path"] == "capture.random_states"


def test_states_of_the_whole_process_are_read() -> None:
    readings = Readings()
    inprocess_random.read(System(), Seen(), readings)

    assert {"python", "numpy", "torch"} <= set(readings.facts["capture.random_states"])
    assert readings.errors == []

"""What is watched on demand: seen truly, left behind whole, and never of any effect on what is computed."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

from repro_env import watchers
from repro_env.watchers.draws import FACT, Draws
from repro_env.watchers.loaders import Loaders, described

UNREAD = {"unread": "not-reported"}
DATA = TensorDataset(torch.arange(8.0).reshape(8, 1))


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


def seeded(worker: int) -> None:
    """A user's own seeding."""


@pytest.fixture
def loaders() -> Iterator[Loaders]:
    watcher = Loaders()
    watcher.begin(torch)
    yield watcher
    watcher.end()


@pytest.fixture
def draws() -> Iterator[Draws]:
    """The tracer, on the device that every machine has."""
    watcher = Draws("cpu")
    watcher.begin(torch)
    yield watcher
    watcher.end()
    assert _get_current_dispatch_mode_stack() == []


def fact(watcher: Draws) -> Any:
    watcher.end()
    return watcher.facts()[FACT]


def test_only_what_is_asked_for_is_watched() -> None:
    assert [type(watcher) for watcher in watchers.chosen(["draws", "loaders", "nothing"])] == [Loaders, Draws]
    assert watchers.chosen([]) == []


@pytest.mark.parametrize(("options", "facts"), [
    ({}, {"loader_workers": 0, "worker_seeding": None, "persistent_workers": False, "sampler": "SequentialSampler",
          "drop_last": False, "loader_generator": "default"}),
    ({"shuffle": True, "drop_last": True}, {"sampler": "RandomSampler", "drop_last": True}),
    ({"num_workers": 2, "persistent_workers": True},
     {"loader_workers": 2, "worker_seeding": "default", "persistent_workers": True}),
    ({"num_workers": 1, "worker_init_fn": seeded}, {"worker_seeding": "worker-init"}),
    ({"worker_init_fn": seeded}, {"worker_seeding": None}),
    ({"shuffle": True, "generator": torch.Generator()}, {"loader_generator": "own"}),
    ({"sampler": RandomSampler(DATA, generator=torch.Generator())}, {"loader_generator": "own"}),
    ({"sampler": DistributedSampler(DATA, num_replicas=2, rank=0)}, {"sampler": "DistributedSampler"}),
    ({"batch_sampler": BatchSampler(SequentialSampler(DATA), 2, drop_last=True)},
     {"sampler": "BatchSampler", "drop_last": True}),
    ({"batch_sampler": [[0, 1], [2, 3]]}, {"sampler": "list", "drop_last": UNREAD}),
    ({"batch_size": None}, {"sampler": "SequentialSampler", "drop_last": False}),
], ids=["plain", "shuffled", "workers", "init", "init-without-workers", "generator", "sampler-generator", "distributed",
        "batches", "batches-of-a-list", "no-batches"])
def test_a_loader_is_described_by_what_acts(options: dict[str, Any], facts: dict[str, Any]) -> None:
    found = described(DataLoader(DATA, **options))

    assert {name: found[name] for name in facts} == facts


def test_a_data_set_without_order_has_no_sampler() -> None:
    assert described(DataLoader(Stream()))["sampler"] is None


def test_the_training_loader_is_the_one_begun_with_gradients(loaders: Loaders) -> None:
    with torch.no_grad():
        list(DataLoader(DATA, batch_size=4))
    list(DataLoader(DATA, shuffle=True))

    assert loaders.facts()["program.data.sampler"] == "RandomSampler"


def test_a_program_without_gradients_has_the_loader_it_has(loaders: Loaders) -> None:
    with torch.no_grad():
        list(DataLoader(DATA))

    assert loaders.facts()["program.data.sampler"] == "SequentialSampler"


def test_loaders_that_differ_leave_the_fact_unread_where_they_do(loaders: Loaders) -> None:
    list(DataLoader(DATA, shuffle=True))
    list(DataLoader(DATA))

    facts = loaders.facts()
    assert facts["program.data.sampler"] == UNREAD
    assert facts["program.data.loader_workers"] == 0


def test_loaders_after_the_first_step_are_those_of_evaluation(loaders: Loaders) -> None:
    list(DataLoader(DATA, shuffle=True))
    loaders.step_done()
    list(DataLoader(DATA))

    assert loaders.facts()["program.data.sampler"] == "RandomSampler"


def test_before_the_first_step_nothing_is_said_without_a_loader(loaders: Loaders) -> None:
    assert loaders.facts() == {}


def test_a_first_step_without_a_loader_shows_that_there_is_none(loaders: Loaders) -> None:
    loaders.step_done()
    facts = loaders.facts()
    assert set(facts) == {f"program.data.{name}" for name in described(DataLoader(DATA))}
    assert set(facts.values()) == {None}
    assert loaders.facts() == facts


def test_where_another_library_loads_nothing_is_said(loaders: Loaders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webdataset", types.ModuleType("webdataset"))
    loaders.step_done()
    assert loaders.facts() == {}


def test_where_somebody_else_took_the_place_nothing_is_said(loaders: Loaders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataLoader, "__iter__", lambda loader: iter(()))
    loaders.step_done()
    assert loaders.facts() == {}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_watched_loader_yields_and_draws_as_ever(workers: int) -> None:
    def epoch() -> tuple[list[Any], Any]:
        torch.manual_seed(7)
        return [batch[0].tolist() for batch in DataLoader(DATA, shuffle=True, num_workers=workers)], \
            torch.get_rng_state().tolist()

    plain = epoch()
    watcher = Loaders()
    watcher.begin(torch)
    watched = epoch()
    watcher.end()

    assert watched == plain
    assert len(watcher.training) == 1


def test_the_class_is_as_it_was_afterwards() -> None:
    original = DataLoader.__iter__
    watcher = Loaders()
    watcher.begin(torch)
    assert DataLoader.__iter__ is not original
    assert (DataLoader.__iter__.__name__, DataLoader.__iter__.__doc__) == (original.__name__, original.__doc__)
    watcher.end()
    watcher.end()

    assert DataLoader.__iter__ is original


def test_somebody_who_came_after_us_keeps_his_place() -> None:
    original = DataLoader.__iter__
    watcher = Loaders()
    watcher.begin(torch)
    ours = DataLoader.__iter__

    def theirs(loader: Any) -> Any:
        return ours(loader)

    try:
        DataLoader.__iter__ = theirs  # type: ignore[method-assign]
        watcher.end()
        assert DataLoader.__iter__ is theirs
    finally:
        DataLoader.__iter__ = original  # type: ignore[method-assign]


def test_a_loader_that_cannot_be_described_is_iterated_all_the_same(loaders: Loaders,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    class Odd(DataLoader[Any]):
        num_workers = property(lambda self: 1 // 0, lambda self, value: None)  # type: ignore[assignment]

    odd = Odd.__new__(Odd)
    with pytest.raises(AttributeError, match="persistent_workers"):
        iter(odd)  # as without us
    assert "watching loaders failed: ZeroDivisionError" in capsys.readouterr().err


LSTM = torch.nn.LSTM(3, 3)
DRAWS: tuple[tuple[str, Callable[[], Any], Any], ...] = (
    ("none", lambda: torch.ones(5, 5) @ torch.ones(5, 5), 0),
    ("randn", lambda: torch.randn(6, 7), 42),
    ("in-place", lambda: torch.empty(30).normal_(), 30),
    ("uniform", lambda: torch.nn.init.uniform_(torch.empty(4, 4)), 16),
    ("dropout", lambda: torch.nn.functional.dropout(torch.ones(50), 0.5), 50),
    ("dropout-off", lambda: torch.nn.functional.dropout(torch.ones(50), 0.5, training=False), 0),
    ("multinomial", lambda: torch.multinomial(torch.ones(90), 3), 90),
    ("permutation", lambda: torch.randperm(33), 33),
    ("integers", lambda: torch.randint(9, (3, 3)), 9),
    ("bernoulli", lambda: torch.bernoulli(torch.full((11,), 0.5)), 11),
    ("own-generator", lambda: torch.rand(12, generator=torch.Generator()), 12),
    ("noise", lambda: torch.nn.functional.rrelu(torch.ones(8), training=False), 0),
    ("attention", lambda: torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 4, 4)] * 3), 0),
    ("lstm", lambda: LSTM(torch.ones(2, 1, 3)), 0),
    ("the-largest", lambda: (torch.rand(3), torch.rand(500), torch.rand(4)), 500),
)


@pytest.mark.parametrize(("draw", "size"), [case[1:] for case in DRAWS], ids=[case[0] for case in DRAWS])
def test_the_largest_draw_is_the_number_of_elements_drawn_at_once(draws: Draws, draw: Callable[[], Any],
                                                                  size: int) -> None:
    draw()

    assert fact(draws) == size


def test_draws_on_another_device_do_not_count() -> None:
    watcher = Draws("meta")
    watcher.begin(torch)
    torch.rand(100)
    torch.rand(7, device="meta")

    assert fact(watcher) == 7


def test_a_process_without_cuda_draws_nothing_on_it() -> None:
    watcher = Draws()
    watcher.begin(torch)
    torch.rand(100)

    assert not torch.cuda.is_initialized()
    assert fact(watcher) is None


@pytest.mark.parametrize("end", ["step_done", "compiling", "end"])
def test_nothing_is_traced_after_the_end(draws: Draws, end: str) -> None:
    torch.rand(10)
    getattr(draws, end)()
    torch.rand(1000)

    assert _get_current_dispatch_mode_stack() == []
    assert draws.largest == 10
    assert draws.facts()[FACT] == (UNREAD if end == "compiling" else 10)


def test_another_thread_makes_the_fact_unread(draws: Draws) -> None:
    torch.rand(10)
    draws.elsewhere()

    assert fact(draws) == UNREAD


def test_a_draw_whose_pattern_is_its_own_makes_the_fact_unread(draws: Draws) -> None:
    operator = torch.ops.aten._scaled_dot_product_flash_attention.default
    tensor = torch.ones(1, 1, 4, 4)
    draws.note(operator, (tensor, tensor, tensor, 0.0), {}, tensor)
    assert draws.known
    draws.note(operator, (tensor, tensor, tensor, 0.1), {}, tensor)

    assert fact(draws) == UNREAD


def test_an_operator_made_of_others_makes_the_fact_unread(draws: Draws) -> None:
    draws.note(object(), (), {}, torch.ones(3))

    assert fact(draws) == UNREAD


def test_a_tensor_of_many_makes_the_fact_unread(draws: Draws) -> None:
    class Sharded(torch.Tensor):
        pass

    draws.note(torch.ops.aten.bernoulli.default, (torch.ones(3).as_subclass(Sharded),), {}, torch.ones(3))

    assert fact(draws) == UNREAD


def test_under_a_mode_of_the_users_ours_waits_to_leave() -> None:
    class Theirs(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    watcher = Draws("cpu")
    watcher.begin(torch)
    with Theirs() as theirs:
        torch.rand(10)
        watcher.end()
        assert _get_current_dispatch_mode_stack()[-1] is theirs
        torch.rand(1000)
    watcher.end()

    assert _get_current_dispatch_mode_stack() == []
    assert watcher.facts()[FACT] == 10


def test_a_mode_entered_in_one_thread_is_not_left_in_another() -> None:
    watcher = Draws("cpu")
    watcher.begin(torch)
    thread = threading.Thread(target=watcher.end)
    thread.start()
    thread.join()
    assert len(_get_current_dispatch_mode_stack()) == 1

    watcher.end()
    assert _get_current_dispatch_mode_stack() == []


def test_a_torch_without_modes_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch.utils._python_dispatch")
    watcher = Draws("cpu")
    watcher.begin(torch)

    assert fact(watcher) == UNREAD


def training() -> list[str]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Dropout(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for (batch,) in DataLoader(DATA, batch_size=2, shuffle=True):
        loss = (model(batch + torch.randn_like(batch)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    return [*losses, *(parameter.sum().item().hex() for parameter in model.parameters())]


def test_watching_changes_no_bit_of_a_training() -> None:
    plain = training()
    watching = [Loaders(), Draws("cpu")]
    for watcher in watching:
        watcher.begin(torch)
    watched = training()
    for watcher in watching:
        watcher.end()

    assert watched == plain
    assert watching[0].facts()["program.data.sampler"] == "RandomSampler"
    assert watching[1].facts()[FACT] == 32

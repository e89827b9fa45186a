"""When torch calls for a look: the first step, else the first forward pass without gradients; and no hook stays."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.nn.modules import module as modules
from torch.optim import optimizer as optimizers

from repro_env import process, watch
from repro_env.watch import Watch

HOOKS = (modules._global_forward_hooks, modules._global_forward_pre_hooks,
         optimizers._global_optimizer_post_hooks)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process of its own kind; whatever a test does, no hook and no finder stays."""
    before, original, enter = list(sys.meta_path), _context().__init__, torch.autocast.__enter__
    monkeypatch.setattr(process, "STATE", process.State())
    yield
    assert sys.meta_path == before
    assert not any(HOOKS)
    assert _context().__init__ is original
    assert torch.autocast.__enter__ is enter


def _context() -> Any:
    import torch._dynamo.eval_frame as frames

    return frames.OptimizeContext


class Moments:
    """The moments at which a look was called for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        import torch._dynamo.eval_frame as frames

        monkeypatch.setattr(frames, "cached_backends", {})
        self.seen: list[str] = []
        self.watch = Watch(self.seen.append, **options)

    def __enter__(self) -> Moments:  # noqa: PYI034 - ``Self`` is younger than the oldest Python
        self.watch.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.end()


def step(model: Any = None) -> None:
    model = model or torch.nn.Linear(1, 1)
    model(torch.ones(1, 1)).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def forward(model: Any = None) -> None:
    with torch.no_grad():
        (model or torch.nn.Linear(1, 1))(torch.ones(1, 1))


def test_the_first_step_calls_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch) as moments:
        step()
        step()

    assert moments.seen == ["first-step"]


def test_a_forward_pass_without_gradients_calls_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch) as moments:
        forward()
        forward()

    assert moments.seen == ["first-forward"]


def test_a_step_counts_also_after_a_forward_pass_without_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch) as moments:
        forward()
        step()
        forward()

    assert moments.seen == ["first-forward", "first-step"]


def test_a_forward_pass_with_gradients_waits_for_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch) as moments:
        torch.nn.Linear(1, 1)(torch.ones(1, 1))

        assert moments.seen == []
        assert process.STATE.seen.settled


def test_the_look_comes_when_the_outermost_module_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    with Moments(monkeypatch) as moments:
        model[1].register_forward_hook(lambda *_: done.append(f"inner, {len(moments.seen)} looks"))
        forward(model)

    assert done == ["inner, 0 looks"]
    assert moments.seen == ["first-forward"]


def test_a_pass_that_raises_is_raised_and_the_next_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Linear(1, 1)
    with Moments(monkeypatch) as moments:
        with pytest.raises(RuntimeError, match="shapes"), torch.no_grad():
            model(torch.ones(1, 5))
        forward(model)

    assert moments.seen == ["first-forward"]


def test_forward_passes_are_left_alone_after_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch) as moments:
        step()
        assert not modules._global_forward_hooks
        assert not modules._global_forward_pre_hooks
        assert len(moments.seen) == 1


def test_forward_passes_are_left_alone_after_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MODULE_CALLS", 3)
    with Moments(monkeypatch):
        for _ in range(3):
            assert modules._global_forward_hooks
            forward()
        assert not modules._global_forward_hooks


def test_forward_passes_of_a_mere_child_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch, forward=False) as moments:
        forward()
        step()

    assert moments.seen == ["first-step"]


def test_a_step_in_another_thread_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch, wanted=("draws",)) as moments:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()

    assert moments.seen == ["first-step"]
    assert moments.watch.watchers[0].facts() == {"program.random.largest_cuda_draw": {"unread": "not-reported"}}


def test_a_look_that_fails_does_not_fail_the_step(monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    with Moments(monkeypatch) as moments:
        monkeypatch.setattr(moments.watch, "look", lambda moment: 1 // 0)
        step()

    assert "this look failed: ZeroDivisionError" in capsys.readouterr().err


def test_noting_a_module_that_fails_does_not_fail_the_pass(monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(process, "note_module", lambda *_: 1 // 0)
    with Moments(monkeypatch):
        forward()

    assert "ZeroDivisionError" in capsys.readouterr().err


def test_compiling_takes_the_forward_hooks_away_and_the_class_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    original = _context().__init__
    with Moments(monkeypatch, wanted=("draws",)) as moments:
        assert _context().__init__ is not original
        torch.compile(torch.nn.Linear(1, 1), backend="eager")
        assert _context().__init__ is original
        assert not modules._global_forward_hooks
        step()

    assert moments.seen == ["first-step"]
    assert process.STATE.seen.autocast == {"unread": "not-reported"}
    assert moments.watch.watchers[0].known is False


def test_a_process_that_has_compiled_before_gets_no_forward_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._dynamo.eval_frame as frames

    with Moments(monkeypatch) as moments:
        moments.watch.end()
        monkeypatch.setattr(frames, "cached_backends", {1: object()})
        moments.watch.begin()
        assert not modules._global_forward_hooks
        step()

    assert moments.seen == ["first-step"]


def test_autocast_of_a_forward_pass_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch), torch.autocast("cpu", dtype=torch.bfloat16):
        forward()
        assert process.STATE.seen.autocast == "bfloat16"


def test_the_mode_is_that_of_the_outermost_module(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    model[1].eval()
    with Moments(monkeypatch):
        step(model)

    assert process.STATE.seen.modules.passes == {True: {True}, False: set()}


class HalfInside(torch.nn.Module):
    """A model that opens and leaves its region within its own pass."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1, 1))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (value @ self.weight).float()


def test_autocast_within_a_pass_is_noted_and_the_class_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.autocast.__enter__
    with Moments(monkeypatch):
        assert torch.autocast.__enter__ is not original
        step(HalfInside())
        assert process.STATE.seen.autocast == "bfloat16"
        assert torch.autocast.__enter__ is original


def test_a_region_that_is_switched_off_is_no_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            forward()
        assert process.STATE.seen.autocast is None


def test_noting_a_region_that_fails_does_not_fail_the_pass(monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(process, "note_region", lambda *_: 1 // 0)
    with Moments(monkeypatch):
        step(HalfInside())

    assert "noting autocast failed: ZeroDivisionError" in capsys.readouterr().err


def test_regions_are_left_to_whoever_took_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.autocast.__enter__

    def another(region: Any) -> Any:
        return original(region)

    try:
        with Moments(monkeypatch):
            torch.autocast.__enter__ = another  # type: ignore[method-assign]
            step()
        assert torch.autocast.__enter__ is another
    finally:
        torch.autocast.__enter__ = original  # type: ignore[method-assign]


def test_watchers_are_added_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch, wanted=("draws",)) as moments:
        moments.watch.watch_too(("loaders", "draws"))
        names = [type(watcher).__name__ for watcher in moments.watch.watchers]
        list(torch.utils.data.DataLoader(torch.ones(3)))  # type: ignore[arg-type]

    assert names == ["Draws", "Loaders"]
    assert moments.watch.watchers[1].facts()["program.data.loader_workers"] == 0


def test_a_forked_child_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with Moments(monkeypatch, wanted=("draws", "loaders")) as moments:
        step()
        moments.watch.forked()
        step()

    assert moments.seen == ["first-step", "first-step"]

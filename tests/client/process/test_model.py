"""What forward calls tell of the model."""

from __future__ import annotations

import gc
import types
from typing import Any

import pytest
import torch

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import inprocess, inprocess_compile, inprocess_model
from repro_env.system import System
from tests.client.process.test_readers import passed


def told(seen: inprocess.Seen) -> dict[str, Any]:
    readings = inprocess.Readings()
    inprocess_model.read(System(), seen, readings)
    return {path.rpartition(".")[2]: value for path, value in readings.facts.items()}


def forward(model: Any, value: Any, **known: Any) -> inprocess.Seen:
    """Run ``model`` under a real global hook, as a watched program does."""
    seen = passed(**known)
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, *_: inprocess_model.note_module(torch, module, seen))
    try:
        model(value)
    finally:
        hook.remove()
    return seen


def network(norm: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 4), norm, torch.nn.ReLU())


def test_a_model_in_training_uses_the_statistics_of_its_batch() -> None:
    seen = forward(network(torch.nn.BatchNorm1d(4)), torch.ones(3, 4))
    assert told(seen) == {"training": True, "batch_norm": "train"}


def test_a_model_in_evaluation_uses_the_statistics_it_keeps() -> None:
    model = network(torch.nn.BatchNorm1d(4)).eval()
    assert told(forward(model, torch.ones(3, 4))) == {"training": False, "batch_norm": "eval"}


def test_a_batch_norm_that_keeps_no_statistics_has_only_those_of_its_batch() -> None:
    model = network(torch.nn.BatchNorm1d(4, track_running_stats=False)).eval()
    assert told(forward(model, torch.ones(3, 4)))["batch_norm"] == "train"


def test_frozen_batch_norms_beside_others_are_both_told() -> None:
    model = torch.nn.Sequential(network(torch.nn.BatchNorm1d(4)), network(torch.nn.BatchNorm1d(4)))
    model[0].eval()
    assert told(forward(model, torch.ones(3, 4))) == {"training": True, "batch_norm": "eval, train"}


def test_batch_norm_over_all_ranks_is_told_apart() -> None:
    norm = torch.nn.SyncBatchNorm(4)
    assert inprocess_model.norm_mode(norm) == "sync"
    assert inprocess_model.norm_mode(norm.eval()) == "eval"


def test_a_model_without_batch_norm_has_none() -> None:
    assert told(forward(network(torch.nn.LayerNorm(4)), torch.ones(3, 4))) == {"training": True, "batch_norm": None}


def test_a_check_without_gradients_before_training_does_not_count() -> None:
    model = network(torch.nn.BatchNorm1d(4))
    seen = passed()
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, *_: inprocess_model.note_module(torch, module, seen))
    with torch.no_grad():
        model.eval()(torch.ones(3, 4))
    model.train()(torch.ones(3, 4))
    hook.remove()

    assert told(seen) == {"training": True, "batch_norm": "train"}


def test_a_teacher_without_gradients_is_not_the_model_that_is_trained() -> None:
    teacher, student = network(torch.nn.BatchNorm1d(4)).eval(), network(torch.nn.Identity())
    seen = passed(student)
    with torch.no_grad():
        inprocess_model.note_module(torch, teacher[1], seen)
        inprocess_model.note_module(torch, teacher, seen)
        inprocess_model.note_pass(torch, teacher, seen)

    assert told(seen) == {"training": True, "batch_norm": None}
    assert seen.modules.outermost() is student


@pytest.mark.parametrize("modes", [(True, False), (False, True)])
def test_models_that_compute_with_gradients_in_both_modes_leave_the_mode_unread(modes: tuple[bool, bool]) -> None:
    seen = passed()
    for training in modes:
        model = network(torch.nn.Identity()).train(training)
        inprocess_model.note_module(torch, model, seen)
        inprocess_model.note_pass(torch, model, seen)

    assert told(seen)["training"] == {"unread": "not-reported"}


def test_a_whole_pass_tells_the_mode_and_its_frozen_parts_do_not() -> None:
    model = network(torch.nn.BatchNorm1d(4))
    model[1].eval()
    seen = passed(*model, model, model[1])
    inprocess_model.note_pass(torch, model, seen)
    inprocess_model.note_pass(torch, torch.nn.MSELoss().eval(), seen)

    assert told(seen)["training"] is True


def test_a_loss_is_no_model() -> None:
    assert told(passed(network(torch.nn.Identity()).eval(), torch.nn.MSELoss()))["training"] is False


def test_nothing_is_called_absent_in_the_middle_of_a_pass() -> None:
    seen = passed(torch.nn.Linear(2, 2))
    seen.whole_pass = False
    assert told(seen) == {"training": {"unread": "too-early"}, "batch_norm": {"unread": "too-early"}}


def test_forward_passes_that_were_compiled_were_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = passed(torch.nn.Linear(2, 2))
    monkeypatch.setattr(inprocess_compile, "compiled", lambda modules: True)
    assert all(is_unread(value) for value in told(seen).values())


def test_without_forward_calls_nothing_is_said() -> None:
    assert told(passed()) == {}


def test_the_implementation_of_attention_is_the_one_the_configuration_names() -> None:
    model = network(torch.nn.Identity())
    model.config = types.SimpleNamespace(_attn_implementation="sdpa")
    assert told(passed(*model, model))["attention"] == "sdpa"


@pytest.mark.parametrize("config", [None, {}, types.SimpleNamespace(), types.SimpleNamespace(_attn_implementation=None),
                                    types.SimpleNamespace(_attn_implementation={"text": "eager"})])
def test_a_configuration_of_another_form_says_nothing_of_attention(config: Any) -> None:
    model = network(torch.nn.Identity())
    model.config = config
    assert "attention" not in told(passed(model))


def test_wrappers_are_known_by_class_and_package_through_subclasses() -> None:
    def of(name: str, package: str) -> str:
        kind = type("Own", (type(name, (torch.nn.Module,), {"__module__": package}),), {"__module__": "train"})
        return inprocess_model.kind_of(torch, kind())

    assert of("DistributedDataParallel", "torch.nn.parallel.distributed") == "ddp"
    assert of("FullyShardedDataParallel", "torch.distributed.fsdp.fully_sharded_data_parallel") == "fsdp"
    assert of("FSDPModule", "torch.distributed.fsdp") == "fsdp2"
    assert of("DeepSpeedEngine", "deepspeed.runtime.engine") == "deepspeed"
    assert of("DistributedDataParallel", "megatron.core.distributed") == "megatron"
    assert of("DistributedDataParallel", "mine") == "plain"


def test_noting_keeps_no_module_alive() -> None:
    parallel = type("DataParallel", (torch.nn.Module,), {"__module__": "torch.nn.parallel"})
    seen = passed(parallel())
    gc.collect()

    assert len(seen.modules.wrappers) == 1
    assert inprocess_model.wrappers(seen, "dp") == []
    assert seen.modules.outermost is None or seen.modules.outermost() is None


def test_wrappers_around_every_layer_are_bounded() -> None:
    parallel = type("FSDPModule", (torch.nn.Module,), {"__module__": "torch.distributed.fsdp"})
    layers = [parallel() for _ in range(inprocess_model.MAX_WRAPPERS + 50)]
    assert len(inprocess_model.wrappers(passed(*layers, *layers), "fsdp2")) == inprocess_model.MAX_WRAPPERS

"""How a job is split, from stand-ins with the names that torch, Megatron and DeepSpeed give what they know."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import inprocess, inprocess_distributed, inprocess_sharding
from tests.client.process.test_readers import Host, passed, settled


def layout(seen: inprocess.Seen, modules: dict[str, Any] | None = None, **variables: str) -> dict[str, Any]:
    """Return the facts of the layout, of a process that imported torch and ``modules``."""
    readings = inprocess.Readings()
    inprocess_distributed.read(Host(modules={"torch": torch, **(modules or {})}, variables=variables), seen, readings)
    assert readings.errors == []
    assert set(readings.sources.values()) <= {"torch"}
    return {path.rpartition(".")[2]: value for path, value in readings.facts.items() if path.startswith("program")}


def distributed(size: int = 8, *, running: bool = True) -> Any:
    return types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: running,
                                 get_backend=lambda: "nccl", get_world_size=lambda: size, get_rank=lambda: 0)


class Mesh:
    """A device mesh as torch answers for it: names and sizes of its dimensions, and what it was cut from."""

    def __init__(self, sizes: tuple[int, ...], names: tuple[str, ...] | None, root: Any = None) -> None:
        self.sizes, self.mesh_dim_names, self.root = sizes, names, root

    def size(self, position: int | None = None) -> int:
        total = 1
        for size in self.sizes:
            total *= size
        return total if position is None else self.sizes[position]

    def _get_root_mesh(self) -> Any:
        return self.root or self


def wrapper(name: str, package: str, **told: Any) -> Any:
    """Return a module of a class of this name and package, as a wrapper of the model stands among its modules."""
    module = type(name, (torch.nn.Module,), {"__module__": package})()
    for attribute, value in told.items():
        setattr(module, attribute, value)
    return module


def ddp(size: int = 8, **told: Any) -> Any:
    logged = told.pop("logged", {"has_rebuilt_buckets": 1, "rebuilt_bucket_sizes": "120, 80",
                                 "rebuilt_per_bucket_param_indices": "3 2, 1 0"})
    return wrapper("DistributedDataParallel", "torch.nn.parallel.distributed", bucket_bytes_cap=25 << 20,
                   static_graph=False, process_group=types.SimpleNamespace(size=lambda: size),
                   _get_ddp_logging_data=lambda: logged, **told)


JOB = {"torch.distributed": distributed()}


def test_one_process_by_itself_is_whole() -> None:
    assert layout(settled()) == {
        "world_size": 1, "data_parallel": 1, "tensor_parallel": 1, "pipeline_parallel": 1, "context_parallel": 1,
        "expert_parallel": 1, "sharding": "none", "ddp_bucket_mb": None, "static_graph": None, "ddp_buckets": None}


@pytest.mark.parametrize("other", inprocess_distributed.OTHER_MEANS)
def test_one_process_that_may_exchange_by_other_means_is_not_called_whole(other: str) -> None:
    assert layout(settled(), {other: object()}) == {}


def test_one_of_several_ranks_that_a_launcher_announced_is_not_called_whole() -> None:
    assert layout(settled(), RANK="0", WORLD_SIZE="2") == {}
    assert layout(settled(), RANK="0", WORLD_SIZE="1")["world_size"] == 1


def test_nothing_is_called_whole_before_the_program_has_computed() -> None:
    assert layout(inprocess.Seen()) == {}


def test_a_process_with_a_second_device_may_hold_a_part_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert layout(settled()) == {}


def test_a_process_that_joins_a_job_later_is_no_longer_whole() -> None:
    seen = settled()
    assert layout(seen)["world_size"] == 1
    assert layout(seen, JOB) == {"world_size": 8}


def test_a_job_of_one_rank_has_degrees_of_one_and_may_still_shard() -> None:
    facts = layout(settled(), {"torch.distributed": distributed(1)})
    assert facts == {"world_size": 1, **dict.fromkeys(inprocess_distributed.DEGREES, 1)}


def test_ddp_over_the_whole_job_splits_nothing_of_the_model() -> None:
    model = ddp()
    facts = layout(passed(model), JOB)

    buckets = facts.pop("ddp_buckets")
    assert buckets.startswith("sha256:")
    assert facts == {"world_size": 8, "data_parallel": 8, "tensor_parallel": 1, "pipeline_parallel": 1,
                     "sharding": "none", "ddp_bucket_mb": "25", "static_graph": False}


def test_ddp_within_stages_differs_between_them_so_its_buckets_are_not_the_jobs() -> None:
    model = ddp(size=4)
    facts = layout(passed(model), JOB)

    assert facts["data_parallel"] == 4
    assert is_unread(facts["ddp_buckets"])
    assert "tensor_parallel" not in facts


def test_buckets_are_early_until_they_were_rebuilt_and_then_stay() -> None:
    logged: dict[str, Any] = {"bucket_sizes": "200"}
    model = ddp(logged=logged)
    seen = passed(model)
    assert layout(seen, JOB)["ddp_buckets"] == {"unread": "too-early"}

    logged.update(has_rebuilt_buckets=1, rebuilt_bucket_sizes="200", rebuilt_per_bucket_param_indices="1 0")
    told = layout(seen, JOB)["ddp_buckets"]
    del model
    assert layout(seen, {"torch.distributed": distributed(running=False)})["ddp_buckets"] == told


def test_buckets_are_awaited_over_the_first_steps_only_where_there_are_any() -> None:
    logged: dict[str, Any] = {}
    model = ddp(logged=logged)
    seen = passed(model)
    assert inprocess_distributed.note_buckets(seen) is False, "no look asked for them yet"
    layout(seen, JOB)
    assert inprocess_distributed.note_buckets(seen) is True

    logged.update(has_rebuilt_buckets=1, rebuilt_bucket_sizes="200")
    assert inprocess_distributed.note_buckets(seen) is False
    del model
    assert layout(seen, JOB)["ddp_buckets"].startswith("sha256:")
    assert inprocess_distributed.note_buckets(passed(torch.nn.Linear(1, 1))) is False


@pytest.mark.parametrize("other", [{"rebuilt_bucket_sizes": "120"}, {"rebuilt_per_bucket_param_indices": "2 3"},
                                   {"comm_hook": "bf16_compress_hook"}, {"gradient_as_bucket_view": 1}],
                         ids=["sizes", "order", "hook", "view"])
def test_whatever_groups_gradients_otherwise_is_another_digest(other: dict[str, Any]) -> None:
    logged = {"has_rebuilt_buckets": 1, "rebuilt_bucket_sizes": "200", "rebuilt_per_bucket_param_indices": "3 2"}
    timed = {"avg_backward_compute_time": 17, "rank": 3, "iteration": 4, "master_port": "29500"}
    one = inprocess_distributed.buckets([ddp(logged=logged)])

    assert inprocess_distributed.buckets([ddp(logged={**logged, **timed})]) == one
    assert inprocess_distributed.buckets([ddp(logged={**logged, **other})]) != one


@pytest.mark.parametrize(("count", "text"), [(25 << 20, "25"), (1 << 19, "0.5"), (7864320, "7.5"), (0, "0"),
                                             (1, "0.000001")])
def test_sizes_of_buckets_are_decimal_texts(count: int, text: str) -> None:
    assert inprocess_distributed.megabytes(count) == text


def test_a_job_without_ddp_has_no_buckets_where_every_pass_was_seen() -> None:
    model = torch.nn.Linear(2, 2)
    assert layout(passed(model), JOB) == {"world_size": 8, "ddp_bucket_mb": None, "static_graph": None,
                                          "ddp_buckets": None}
    assert layout(settled(), JOB) == {"world_size": 8}


def test_states_that_the_optimizer_splits_are_told() -> None:
    model = ddp()
    seen = passed(model)
    kind = type("ZeroRedundancyOptimizer", (), {})
    inprocess_sharding.note_optimizer(type("Mine", (kind,), {})(), seen)
    assert layout(seen, JOB)["sharding"] == "zero-1"

    other = settled()
    inprocess_sharding.note_optimizer(type("SGD", (), {})(), other)
    assert other.sharded_optimizer is False


@pytest.mark.parametrize(("strategy", "word"), [("FULL_SHARD", "full_shard"), ("SHARD_GRAD_OP", "shard_grad_op"),
                                                ("_HYBRID_SHARD_ZERO2", "hybrid_shard_zero2")])
def test_the_first_generation_of_fsdp_names_strategy_and_precision(strategy: str, word: str) -> None:
    mixed = types.SimpleNamespace(param_dtype=torch.bfloat16, reduce_dtype=None)
    model = wrapper("FullyShardedDataParallel", "torch.distributed.fsdp.fully_sharded_data_parallel",
                    sharding_strategy=types.SimpleNamespace(name=strategy), mixed_precision=mixed,
                    process_group=types.SimpleNamespace(size=lambda: 8))
    facts = layout(passed(model), JOB)

    assert facts["sharding"] == f"fsdp {word} param=bfloat16"
    assert facts.get("data_parallel") == (None if "HYBRID" in strategy else 8), "its group is one of several"


def _group(mesh: Any, *, reshards: bool, replicated: int | None = None, reduce: Any = None) -> Any:
    info = types.SimpleNamespace(mesh=mesh, replicate_mesh_dim=replicated)
    return types.SimpleNamespace(mesh_info=info, post_forward_mesh_info=info if reshards else None,
                                 mp_policy=types.SimpleNamespace(param_dtype=None, reduce_dtype=reduce))


def _sharded(*groups: Any, several: bool = True) -> Any:
    state = (types.SimpleNamespace(_fsdp_param_groups=list(groups)) if several
             else types.SimpleNamespace(_fsdp_param_group=groups[0] if groups else None))
    return wrapper("FSDPModule", "torch.distributed.fsdp", _get_fsdp_state=lambda: state)


@pytest.mark.parametrize("several", [True, False], ids=["2.12", "2.6"])
def test_the_second_generation_is_told_in_the_words_of_the_first(several: bool) -> None:
    mesh = Mesh((8,), None)
    layer = _sharded(_group(mesh, reshards=True), several=several)
    root = _sharded(_group(mesh, reshards=False), several=several)
    empty = _sharded(several=several)

    assert layout(passed(layer, root, empty), JOB)["sharding"] == "fsdp2 full_shard"
    assert layout(passed(root), JOB) == {"world_size": 8, "sharding": "fsdp2 shard_grad_op", "data_parallel": 8,
                                         "ddp_bucket_mb": None, "static_graph": None, "ddp_buckets": None}


def test_replicas_of_shards_and_mixed_precision_are_told() -> None:
    mesh = Mesh((2, 4), ("dp_replicate", "dp_shard"))
    layer = _sharded(_group(mesh, reshards=True, replicated=0, reduce=torch.float32))
    root = _sharded(_group(mesh, reshards=False, replicated=0))

    assert layout(passed(layer), JOB)["sharding"] == "fsdp2 hybrid_shard reduce=float32"
    assert layout(passed(layer, root), JOB)["sharding"] == "fsdp2 hybrid_shard reduce=float32|unchanged"


@pytest.mark.parametrize(("sizes", "names", "world", "degrees"), [
    ((2, 4), ("dp", "tp"), 8, {"data_parallel": 2, "tensor_parallel": 4, "pipeline_parallel": 1,
                               "context_parallel": 1}),
    ((2, 2, 2, 1), ("pp", "dp_replicate", "dp_shard", "tp"), 8, {
        "pipeline_parallel": 2, "data_parallel": 4, "tensor_parallel": 1, "context_parallel": 1}),
    ((2, 2), ("dp", "cp"), 8, {"data_parallel": 2, "context_parallel": 2}),
    ((2, 4), ("x", "tp"), 8, {"tensor_parallel": 4}),
    ((8,), None, 8, {}),
], ids=["two", "four", "a part of the job", "a name of its own", "no names"])
def test_a_mesh_tells_the_degrees_that_it_names(sizes: tuple[int, ...], names: Any, world: int,
                                                degrees: dict[str, int]) -> None:
    assert inprocess_distributed.degrees(Mesh(sizes, names), world) == degrees


def _placed(mesh: Any) -> Any:
    """A module with one parameter that lies on ``mesh``, as distributed tensors do."""
    module = torch.nn.Linear(1, 1)
    parameter = types.SimpleNamespace(device_mesh=mesh)
    module.parameters = lambda: iter([parameter, types.SimpleNamespace()])
    return module


def test_the_mesh_of_a_parameter_leads_to_the_one_it_was_cut_from() -> None:
    root = Mesh((2, 4), ("dp", "tp"))
    model = _placed(Mesh((4,), ("tp",), root))
    assert layout(passed(model), JOB)["data_parallel"] == 2


def test_the_mesh_of_a_model_whose_passes_were_not_seen_is_that_of_its_optimizer() -> None:
    lying = [types.SimpleNamespace(device_mesh=Mesh((2, 4), ("dp", "tp"))), types.SimpleNamespace()]
    seen = settled()
    inprocess_sharding.note_optimizer(types.SimpleNamespace(param_groups=[{"params": lying}, {"params": []}]), seen)
    assert layout(seen, JOB) == {"world_size": 8, "data_parallel": 2, "tensor_parallel": 4, "pipeline_parallel": 1,
                                 "context_parallel": 1}


def test_older_meshes_are_cut_by_a_table() -> None:
    root, part = (types.SimpleNamespace(mesh_dim_names=names, size=lambda position: (2, 4)[position])
                  for names in (("dp", "tp"), ("tp",)))

    class Table:
        def __init__(self) -> None:
            self.child_to_root_mapping = self

        def get(self, mesh: Any, default: Any) -> Any:
            return root if mesh is part else default

    modules = {**JOB, "torch.distributed.device_mesh": types.SimpleNamespace(_mesh_resources=Table())}
    model = _placed(part)
    assert layout(passed(model), modules)["tensor_parallel"] == 4


def _megatron(*, ready: bool = True) -> dict[str, Any]:
    sizes = {"get_data_parallel_world_size": 2, "get_tensor_model_parallel_world_size": 2,
             "get_pipeline_model_parallel_world_size": 2, "get_context_parallel_world_size": 1}
    state = types.SimpleNamespace(model_parallel_is_initialized=lambda: ready,
                                  **{name: (lambda size=size: size) for name, size in sizes.items()})
    batches = types.SimpleNamespace(get_num_microbatches=lambda: 16, get_micro_batch_size=lambda: 2)
    return {**JOB, "megatron.core.parallel_state": state, "megatron.core.num_microbatches_calculator": batches}


def test_megatron_tells_degrees_and_batches() -> None:
    assert layout(settled(), _megatron()) == {
        "world_size": 8, "data_parallel": 2, "tensor_parallel": 2, "pipeline_parallel": 2, "context_parallel": 1,
        "accumulation": 16, "micro_batch": 2}, "a version without the getter of experts says nothing of them"


def test_megatron_that_was_not_set_up_is_not_asked() -> None:
    assert layout(settled(), _megatron(ready=False)) == {"world_size": 8}


def test_megatron_answers_0_or_refuses_where_it_has_no_group() -> None:
    modules = _megatron()

    def refuse() -> int:
        raise AssertionError("not initialized")

    modules["megatron.core.parallel_state"].get_context_parallel_world_size = lambda: 0
    modules["megatron.core.num_microbatches_calculator"].get_num_microbatches = refuse
    facts = layout(settled(), modules)
    assert "context_parallel" not in facts
    assert "accumulation" not in facts


def test_megatron_splits_the_states_of_the_optimizer_where_it_is_told_to() -> None:
    config = types.SimpleNamespace(use_distributed_optimizer=True)
    model = wrapper("DistributedDataParallel", "megatron.core.distributed.distributed_data_parallel", ddp_config=config)
    assert layout(passed(model), _megatron())["sharding"] == "megatron distributed_optimizer"


@pytest.mark.parametrize(("stage", "word"), [(0, "none"), (1, "zero-1"), (3, "zero-3")])
def test_deepspeed_tells_its_stage_batches_and_degrees(stage: int, word: str) -> None:
    engine = wrapper("DeepSpeedEngine", "deepspeed.runtime.engine", zero_optimization_stage=lambda: stage,
                     train_micro_batch_size_per_gpu=lambda: 4, gradient_accumulation_steps=lambda: 8,
                     dp_world_size=4, mp_world_size=2)
    facts = layout(passed(engine), JOB)

    told = {name: facts[name] for name in ("sharding", "micro_batch", "accumulation", "data_parallel",
                                           "tensor_parallel")}
    assert told == {"sharding": word, "micro_batch": 4, "accumulation": 8, "data_parallel": 4, "tensor_parallel": 2}


def test_a_source_that_fails_costs_its_own_facts_only() -> None:
    model = ddp()
    del model._get_ddp_logging_data
    readings = inprocess.Readings()
    inprocess_distributed.read(Host(modules={"torch": torch, **_megatron()}, variables={}), passed(model), readings)

    assert readings.errors == [{"path": "program.layout", "code": "failed", "message": "reading raised AttributeError"}]
    assert readings.facts["program.layout.tensor_parallel"] == 2


@pytest.mark.parametrize(("given", "config", "cuda", "hip", "used"), [
    ("gloo", "cpu:gloo,cuda:gloo", False, None, "gloo"), ("nccl", "cuda:nccl", True, None, "nccl"),
    ("cpu:gloo,cuda:nccl", "cpu:gloo,cuda:nccl", True, None, "nccl"),
    ("undefined", "cpu:gloo,cuda:nccl", False, None, "gloo"), ("undefined", "cpu:gloo,cuda:nccl", True, None, "nccl"),
    ("nccl", "cuda:nccl", True, "6.1", "rccl"), ("undefined", "mps:other", False, None, "undefined")])
def test_the_backend_is_that_of_the_devices_that_compute(given: str, config: str, cuda: bool, hip: str | None,
                                                         used: str) -> None:
    group = types.SimpleNamespace(get_backend=lambda: given, get_backend_config=lambda: config)
    runtime = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: cuda),
                                    version=types.SimpleNamespace(hip=hip))
    assert inprocess_distributed.in_use(group, runtime) == used


def test_a_process_group_that_was_left_stays_known() -> None:
    seen = settled()
    assert layout(seen, JOB)["world_size"] == 8
    assert layout(seen, {"torch.distributed": distributed(running=False)})["world_size"] == 8
    assert seen.group == ("nccl", 8)

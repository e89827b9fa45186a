"""How parameters, gradients and optimizer states are split among ranks, as FSDP, DeepSpeed and Megatron say it."""

from __future__ import annotations

from . import inprocess_model
from .inprocess_torch import dtype_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .inprocess import Seen

_FIRST_PARAMETERS = 64


def note_optimizer(optimizer: Any, seen: Seen) -> None:
    """Note of the optimizer that stepped whether it keeps its states in shards, and where its parameters lie."""
    if any(base.__name__ == "ZeroRedundancyOptimizer" for base in type(optimizer).__mro__):
        seen.sharded_optimizer = True
    for group in getattr(optimizer, "param_groups", ()):
        note_meshes(group["params"], seen)


def note_meshes(parameters: Iterable[Any], seen: Seen) -> None:
    """Note the device meshes of the first of these parameters: one plan places all of a module's."""
    for position, parameter in enumerate(parameters):
        if position == _FIRST_PARAMETERS:
            break
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is not None:
            seen.meshes[id(mesh)] = mesh


def engine(modules: Any, seen: Seen) -> dict[str, Any]:
    """Return stage, batches and degrees of a DeepSpeed engine, from plain attributes and its own configuration."""
    found = inprocess_model.wrappers(seen, "deepspeed")
    if not found:
        return {}
    outer = found[-1]
    stage = int(outer.zero_optimization_stage())
    facts: dict[str, Any] = {"sharding": f"zero-{stage}" if stage else "none",
                             "micro_batch": int(outer.train_micro_batch_size_per_gpu()),
                             "accumulation": int(outer.gradient_accumulation_steps())}
    for name, attribute in (("data_parallel", "dp_world_size"), ("tensor_parallel", "mp_world_size")):
        size = getattr(outer, attribute, None)
        if isinstance(size, int) and size > 0:
            facts[name] = size
    return facts


def sharded(modules: Any, seen: Seen) -> dict[str, Any]:
    """Return how FSDP of either generation, Megatron's DDP, or the optimizer shards; the size of the group too."""
    first, second = inprocess_model.wrappers(seen, "fsdp"), inprocess_model.wrappers(seen, "fsdp2")
    words = {first_generation(module) for module in first} | ({second_generation(second)} if second else set())
    words |= {_megatron(module) for module in inprocess_model.wrappers(seen, "megatron")}
    if seen.sharded_optimizer and not words:
        words = {"zero-1"}
    facts: dict[str, Any] = {"sharding": ", ".join(sorted(words))} if words else {}
    sizes = {module.process_group.size() for module in first
             if "hybrid" not in first_generation(module)}
    sizes |= {int(group.mesh_info.mesh.size()) for module in second for group in _groups(module)
              if not group.mesh_info.mesh.mesh_dim_names}
    sizes |= {len(module.device_ids) for module in inprocess_model.wrappers(seen, "dp") if module.device_ids}
    if len(sizes) == 1:
        facts["data_parallel"] = sizes.pop()
    return facts


def first_generation(module: Any) -> str:
    """Return strategy and precision of one FullyShardedDataParallel, as ``fsdp full_shard reduce=bfloat16``."""
    strategy = getattr(module.sharding_strategy, "name", str(module.sharding_strategy)).strip("_").lower()
    return f"fsdp {strategy}{_mixed(getattr(module, 'mixed_precision', None))}"


def second_generation(found: list[Any]) -> str:
    """Return strategy and precision of modules that ``fully_shard`` was applied to, in the words of the first.

    The root keeps its parameters after forward whatever the others do, so one that gives them back speaks for all.
    """
    groups = [group for module in found for group in _groups(module)]
    if any(getattr(group.mesh_info, "replicate_mesh_dim", None) is not None for group in groups):
        strategy = "hybrid_shard"
    elif any(group.post_forward_mesh_info is not None for group in groups):
        strategy = "full_shard"
    else:
        strategy = "shard_grad_op"
    policies = {_mixed(group.mp_policy) for group in groups}
    mixed = "" if len(policies) < 2 else " " + "|".join(sorted(policy.strip() or "unchanged" for policy in policies))
    return f"fsdp2 {strategy}{mixed or ''.join(policies)}"


def _groups(module: Any) -> list[Any]:
    """Return the groups of parameters of one module: torch keeps one, or several (2.12 and later)."""
    state = module._get_fsdp_state()
    several = getattr(state, "_fsdp_param_groups", None)
    if several is not None:
        return list(several)
    one = getattr(state, "_fsdp_param_group", None)
    return [] if one is None else [one]


def _mixed(policy: Any) -> str:
    """Return the dtypes of parameters and of reduction where a policy sets them."""
    named = (("param", getattr(policy, "param_dtype", None)), ("reduce", getattr(policy, "reduce_dtype", None)))
    return "".join(f" {name}={dtype_name(dtype)}" for name, dtype in named if dtype is not None)


def _megatron(module: Any) -> str:
    """Return whether Megatron's DDP splits the optimizer's states."""
    config = getattr(module, "ddp_config", None)
    return "megatron distributed_optimizer" if getattr(config, "use_distributed_optimizer", False) else "none"

"""How the job is split: process group, degrees of parallelism, sharding, DDP's buckets.

Only what every rank of a healthy job says alike is recorded. A program leaves its process group, and frees its model,
before it ends, so what was read once stays. No getter is called that could make a group: that waits for other ranks.
"""

from __future__ import annotations

from .. import ids
from ..canonical import digest
from ..fingerprint.facts import is_unread, unread
from . import inprocess_model, inprocess_sharding, inprocess_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: modules by which ranks exchange numbers, or by which several processes are one program, beside torch.distributed.
OTHER_MEANS = ("jax", "tensorflow", "mpi4py", "mpi4py.MPI", "horovod", "byteps", "ray", "oneccl_bindings_for_pytorch")
DEGREES = ("data_parallel", "tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
#: Megatron's getters of degrees; they answer 0 outside of a job.
_MEGATRON = tuple(zip(DEGREES, ("get_data_parallel_world_size", "get_tensor_model_parallel_world_size",
                                "get_pipeline_model_parallel_world_size", "get_context_parallel_world_size",
                                "get_expert_model_parallel_world_size")))
#: what the dimensions of a device mesh are called for each degree.
_DIMENSIONS = {
    **dict.fromkeys(("dp", "ddp", "data", "data_parallel", "dp_replicate", "dp_shard", "replicate", "shard", "fsdp"),
                    "data_parallel"),
    **dict.fromkeys(("tp", "tensor", "tensor_parallel"), "tensor_parallel"),
    **dict.fromkeys(("pp", "pipeline", "pipeline_parallel"), "pipeline_parallel"),
    **dict.fromkeys(("cp", "sp", "context", "sequence", "context_parallel"), "context_parallel"),
    **dict.fromkeys(("ep", "expert", "expert_parallel"), "expert_parallel")}


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record backend, world size and layout of this rank's job; nothing when torch was not imported."""
    modules = system.loaded_modules()
    torch = inprocess_torch.imported(modules)
    if torch is None:
        return
    readings.attempt("collectives.backend", "torch", lambda: backend(modules, torch, seen))
    for name, number in place(system, seen).items():
        readings.put(f"capture.process.{name}", "torch", number)
    for look in (parallel_state, inprocess_sharding.engine, ddp, inprocess_sharding.sharded, meshes):
        try:
            facts = look(modules, seen)
        except Exception as error:  # noqa: BLE001 - the guard of the host contract: one source failing costs its own
            readings.fail("program.layout", error)
            continue
        for name, value in facts.items():
            if is_unread(seen.layout.get(name, unread("not-reported"))):
                seen.layout[name] = value
    for name, value in {**alone(system, torch, seen), **seen.layout}.items():
        readings.put(f"program.layout.{name}", "torch", value)


def backend(modules: Any, torch: Any, seen: Seen) -> Any:
    """Return the backend of the process group, ``None`` when there was none; note it and its size."""
    distributed = modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return None if seen.settled else unread("too-early")
    if distributed.is_initialized():
        seen.group = (in_use(distributed, torch), int(distributed.get_world_size()))
        seen.rank = int(distributed.get_rank())
        seen.layout["world_size"] = seen.group[1]
    return seen.group[0] if seen.group else None if seen.settled else unread("too-early")


def place(system: System, seen: Seen) -> dict[str, int]:
    """Return rank and size of a process group that is larger than what a launcher announced, or was announced by none.

    Programs that spawn their ranks hand them their numbers as arguments, which no variable shows.
    """
    _, _, announced = ids.ranks(system.environ)
    if seen.group is None or seen.rank is None or (announced is not None and announced >= seen.group[1]):
        return {}
    return {"rank": seen.rank, "world_size": seen.group[1]}


def in_use(distributed: Any, torch: Any) -> str:
    """Return the backend of the devices that compute: a group may have one for each kind of device, or be given none.

    ROCm's builds call RCCL by the name of the library whose interface it has.
    """
    name = str(distributed.get_backend())
    if ":" in name or name == "undefined":
        pairs = (pair.partition(":") for pair in str(distributed.get_backend_config()).split(","))
        by_device = {device: backend for device, _, backend in pairs}
        started = [kind for kind in ("cuda", "xpu") if hasattr(torch, kind) and getattr(torch, kind).is_initialized()]
        device = started[0] if started else "cpu"
        name = by_device.get(device, name)
    return "rccl" if name == "nccl" and torch.version.hip is not None else name


def parallel_state(modules: Any, seen: Seen) -> dict[str, Any]:
    """Return degrees and batches as Megatron keeps them, once it has set them up."""
    state = modules.get("megatron.core.parallel_state")
    ready = getattr(state, "model_parallel_is_initialized", None)
    if ready is None or not ready():
        return {}
    facts = {name: _count(state, getter) for name, getter in _MEGATRON}
    batches = modules.get("megatron.core.num_microbatches_calculator")
    facts["accumulation"] = _count(batches, "get_num_microbatches")
    facts["micro_batch"] = _count(batches, "get_micro_batch_size")
    return {name: value for name, value in facts.items() if value}


def _count(module: Any, getter: str) -> int:
    """Return what a getter answers; 0 where it is missing, or where what it asks for was not set up."""
    try:
        return int(getattr(module, getter)())
    except (AttributeError, AssertionError, TypeError):
        return 0


def ddp(modules: Any, seen: Seen) -> dict[str, Any]:
    """Return what DDP says of itself; that there is none, where every forward pass was noted and a group exists."""
    found = inprocess_model.wrappers(seen, "ddp")
    if not found:
        none = seen.group is not None and inprocess_model.complete(modules, seen)
        return dict.fromkeys(("ddp_bucket_mb", "static_graph", "ddp_buckets")) if none else {}
    size = {module.process_group.size() for module in found}
    whole = seen.group is not None and size == {seen.group[1]}
    facts: dict[str, Any] = {
        "ddp_bucket_mb": ", ".join(sorted({megabytes(int(module.bucket_bytes_cap)) for module in found})),
        "static_graph": any(bool(module.static_graph) for module in found),
        "ddp_buckets": buckets(found) if whole else unread("not-reported"),
        "sharding": "zero-1" if seen.sharded_optimizer else "none"}
    if len(size) == 1:
        facts["data_parallel"] = size.pop()
    if whole:
        # Each rank holds all of the model, so nothing of it is split.
        facts.update(tensor_parallel=1, pipeline_parallel=1)
    return facts


def megabytes(count: int) -> str:
    """Return bytes in MiB as a decimal text without an exponent."""
    return f"{count / (1 << 20):.6f}".rstrip("0").rstrip(".")


def buckets(found: list[Any]) -> Any:
    """Return the digest of the buckets by which gradients are added, and of what is done to them on the way.

    They are rebuilt in the order in which gradients were ready, at the second forward pass; until then it is early.
    """
    told = [module._get_ddp_logging_data() for module in found]
    if not all(data.get("has_rebuilt_buckets") for data in told):
        return unread("too-early")
    names = ("rebuilt_bucket_sizes", "rebuilt_per_bucket_param_indices", "comm_hook", "gradient_as_bucket_view")
    return digest(sorted([str(data.get(name, "")) for name in names] for data in told), "ddp_buckets")


def note_buckets(seen: Seen) -> bool:
    """Note the buckets of DDP once they were rebuilt; tell whether that is still to come."""
    found = inprocess_model.wrappers(seen, "ddp")
    if not found or seen.layout.get("ddp_buckets") != unread("too-early"):
        return False
    seen.layout["ddp_buckets"] = buckets(found)
    return is_unread(seen.layout["ddp_buckets"])


def meshes(modules: Any, seen: Seen) -> dict[str, Any]:
    """Return degrees from the named dimensions of the device meshes that the model's parameters lie on."""
    outermost = None if seen.modules is None or seen.modules.outermost is None else seen.modules.outermost()
    for module in [*inprocess_model.wrappers(seen, "fsdp2", "ddp"), *([] if outermost is None else [outermost])]:
        inprocess_sharding.note_meshes(module.parameters(), seen)
    roots = {id(root): root for root in (_root(modules, mesh) for mesh in seen.meshes.values())}
    facts: dict[str, Any] = {}
    for root in roots.values():
        facts.update(degrees(root, None if seen.group is None else seen.group[1]))
    return facts


def degrees(mesh: Any, world_size: int | None) -> dict[str, int]:
    """Return the degrees that a mesh names. One that spans the job with names for all its dimensions has no others.

    Experts are spread over ranks that are counted already, so of them silence says nothing.
    """
    names = tuple(mesh.mesh_dim_names or ())
    sizes = [int(mesh.size(position)) for position in range(len(names))]
    facts: dict[str, int] = {}
    for name, size in zip(names, sizes):
        degree = _DIMENSIONS.get(name)
        if degree is not None:
            facts[degree] = facts.get(degree, 1) * size
    total = 1
    for size in sizes:
        total *= size
    if names and total == world_size and all(name in _DIMENSIONS for name in names):
        for degree in DEGREES[:4]:
            facts.setdefault(degree, 1)
    return facts


def _root(modules: Any, mesh: Any) -> Any:
    """Return the mesh that ``mesh`` was cut from: it knows itself (2.9 and later), or torch keeps a table."""
    own = getattr(mesh, "_get_root_mesh", None)
    if own is not None:
        return own()
    table = getattr(getattr(modules.get("torch.distributed.device_mesh"), "_mesh_resources", None), "__dict__", {})
    parents = table.get("child_to_root_mapping") or table.get("child_to_parent_mapping") or {}
    return parents.get(mesh, mesh)


def alone(system: System, torch: Any, seen: Seen) -> dict[str, Any]:
    """Return the layout of one process that computes by itself on one device: everything is whole.

    Claimed only where no launcher announced other ranks, no other means of exchange was imported, and no second device
    could hold a part. In a process group of one, a wrapper that was not seen may still form buckets and shards.
    """
    _, _, announced = ids.ranks(system.environ)
    if not seen.settled or announced not in (None, 1) or (seen.group is not None and seen.group[1] > 1):
        return {}
    if any(name in system.loaded_modules() for name in OTHER_MEANS):
        return {}
    if any(runtime is not None and runtime.is_initialized() and runtime.device_count() > 1
           for runtime in (getattr(torch, name, None) for name in ("cuda", "xpu"))):
        return {}
    degrees_of_one = {"world_size": 1, **dict.fromkeys(DEGREES, 1)}
    if seen.group is not None:
        return degrees_of_one
    return {**degrees_of_one, "sharding": "none", **dict.fromkeys(("ddp_bucket_mb", "static_graph", "ddp_buckets"))}

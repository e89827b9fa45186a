"""Layer ``program``: what the user varies on purpose. Only *repeat* and *resume* judge it."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, all_hold, inner, present, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import PROGRAM_QUESTIONS, AnyRule, Condition, Distinction, Fails, Projection
from .accelerators import FAULTS
from .collectives import OVERLAPS, REDUCE_DTYPE

_DECLARE = ("run the program under `repro-env run --watch loaders`; what it does not record, state with --declare, as "
            "in data.dataset_digest=sha256:...")
#: declared names that other rules read.
_READ_ELSEWHERE = frozenset(("iommu", "acs", "determinism-set", "node-health", "hardware", *FAULTS, *REDUCE_DTYPE,
                             *OVERLAPS))


def fact(path: str) -> Projection:
    """Project a fact as it stands; surely absent has no say."""
    return lambda facts: present(facts.read(path))


def seeds(facts: Facts) -> Any:
    """Seed of each source."""
    found = facts.read("random.seeds")
    if not found:
        return UNUSED
    return [f"{name}={inner(value, f'random.seeds.{name}')}" for name, value in sorted(found.items())]


def submodules(facts: Facts) -> Any:
    """Commit of each submodule."""
    return [f"{path}@{commit}" for path, commit in sorted((facts.read("source.submodules") or {}).items())] or UNUSED


def arguments(facts: Facts) -> Any:
    """Declared settings that no other rule reads."""
    found = facts.read("declared.values") or {}
    return [f"{name}={value}" for name, value in sorted(found.items()) if name not in _READ_ELSEWHERE] or UNUSED


def batch_shape(facts: Facts) -> Any:
    """How one optimizer step is cut into forward passes."""
    micro, steps = facts.read_all("layout.micro_batch", "layout.accumulation")
    return UNUSED if micro is None else f"{steps or 1} passes of {micro} samples"


def global_batch(facts: Facts) -> Any:
    """Samples of one optimizer step over all ranks."""
    micro, steps, ranks = facts.read_all("layout.micro_batch", "layout.accumulation", "layout.data_parallel")
    return UNUSED if micro is None else micro * (steps or 1) * (ranks or 1)


def resume_state(facts: Facts) -> Fails | None:
    """Fail where a resumed run did not get all of its random state back."""
    state = facts.read("random.resume_state")
    return Fails(f"random state {state.replace('-', ' ')}") if state in ("not-restored", "partial") else None


def unseeded(facts: Facts) -> Fails | None:
    """Fail where a generator was used before it was seeded."""
    late = facts.read("random.seeded_before_use") is False
    return Fails("a generator was used before it was seeded") if late else None


def worker_seeding(facts: Facts) -> Fails | None:
    """Fail where loader workers share one random stream, copied at their start."""
    copied = all_hold(facts, (lambda side: side.read("data.worker_seeding") == "none",
                              lambda side: (side.read("data.loader_workers") or 0) > 0))
    return Fails("loader workers are not seeded apart") if copied else None


def late_switches(facts: Facts) -> Fails | None:
    """Fail where determinism was asked for after the model had been built: layers copy the setting."""
    when = (facts.read("declared.values") or {}).get("determinism-set")
    return Fails("determinism was set after the model was built") if when == "after model construction" else None


def fused_attention(facts: Facts) -> Fails | None:
    """Fail where attention's backward pass adds with atomics."""
    name = facts.read("model.attention") or ""
    if not name.startswith("flash_attention"):
        return None
    varies = all_hold(facts, (
        lambda side: side.look("model.training") is not False,
        lambda side: name == "flash_attention_3" or variable(side, "FLASH_ATTENTION_DETERMINISTIC") != "1"))
    return Fails(f"the backward pass of {name}") if varies else None


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, expected: Level, effect: str, remedy: str,
          guaranteed: Level | None = None, source: tuple[str, ...] = ("definition of the program",),
          confidence: str = "documented", subsumes: tuple[str, ...] = ()) -> Distinction:
    return Distinction(
        id=rule_id, layer="program", cause=cause, set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
        guaranteed=min(expected, Level.STATISTICAL) if guaranteed is None else guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence, source=source,
        subsumes=subsumes, project=project, capture_how=_DECLARE)


def _condition(rule_id: str, cause: str, why: str, holds: Any, *, guaranteed: Level, expected: Level, effect: str,
               remedy: str, source: tuple[str, ...], confidence: str = "observed") -> Condition:
    return Condition(id=rule_id, layer="program", cause=cause, set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
                     guaranteed=guaranteed, expected=expected, possible=Level.BITWISE, why=why, effect=effect,
                     remedy=remedy, confidence=confidence, source=source, holds=holds,
                     capture_how=_DECLARE)


_NONE, _STATISTICAL, _CURVE, _BITWISE = Level.NONE, Level.STATISTICAL, Level.CURVE, Level.BITWISE
_OTHER_TASK = "another experiment"
_OTHER_NUMBERS = "other random numbers from the first draw on"

RULES: tuple[AnyRule, ...] = (
    _rule("commit", "code_differs", "commit {expected} against {observed}", fact("source.commit"), expected=_NONE,
          effect=_OTHER_TASK, remedy="check out the same commit", subsumes=("diff", "dirty")),
    _rule("diff", "code_differs", "uncommitted changes {expected} against {observed}", fact("source.diff_digest"),
          expected=_NONE, effect=_OTHER_TASK, remedy="commit the changes and run both from it", subsumes=("dirty",)),
    _rule("dirty", "code_differs", "uncommitted changes: {expected} against {observed}", fact("source.dirty"),
          expected=_STATISTICAL, effect=_OTHER_TASK, remedy="commit the changes and run both from it"),
    _rule("submodules", "code_differs", "submodules {expected} against {observed}", submodules, expected=_NONE,
          effect=_OTHER_TASK, remedy="git submodule update"),
    _rule("entry-point", "code_differs", "started by {expected} against {observed}", fact("source.entry_point"),
          expected=_NONE, effect=_OTHER_TASK, remedy="start the same script"),
    _rule("arguments", "args_differ", "arguments {expected} against {observed}", fact("source.arguments_digest"),
          expected=_NONE, effect=_OTHER_TASK, remedy="pass the same arguments"),
    _rule("declared", "args_differ", "settings {expected} against {observed}", arguments, expected=_NONE,
          effect=_OTHER_TASK, remedy="use the same settings"),
    _rule("preprocessing", "preprocessing_library", "preprocessing: {expected} against {observed}",
          fact("data.preprocessing"), expected=_NONE, effect="the model sees other inputs",
          remedy="use the same library, function and options", confidence="observed",
          source=("torchvision issue 2950", "icml-2022 shift-happens pull request 62: 0.8 points from resizing")),
    _rule("dataset", "data_order", "data set {expected} against {observed}", fact("data.dataset_digest"),
          expected=_NONE, effect=_OTHER_TASK, remedy="use the same data"),
    _rule("file-order", "data_order", "files listed in order {expected} against {observed}",
          fact("data.file_order_digest"), expected=_NONE, confidence="observed",
          effect="a seeded shuffle or split of another list gives other batches and other splits",
          remedy="sort the list of files", source=("torchvision issue 192",)),
    _condition("workers-unseeded", "dataloader_seed", "{detail} {side}", worker_seeding, guaranteed=_NONE,
               expected=_NONE, effect="with fork every worker draws the same numbers, so augmentation repeats",
               remedy="seed NumPy and random in worker_init_fn, or use torch 1.9 or later",
               source=("pytorch issues 5059, 56488",)),
    _rule("worker-seeding", "dataloader_seed", "workers seeded {expected} against {observed}",
          fact("data.worker_seeding"), expected=_STATISTICAL, effect="other augmentation",
          remedy="use the same worker_init_fn and generator", source=("PyTorch documentation, Randomness in loaders",)),
    _rule("seed", "seed", "seeds {expected} against {observed}", seeds, expected=_STATISTICAL, effect=_OTHER_NUMBERS,
          remedy="use the same seeds", confidence="proven", source=("measured: order 1e-1 from the first steps",)),
    _condition("unseeded", "seed", "{detail} {side}", unseeded, guaranteed=_STATISTICAL, expected=_STATISTICAL,
               effect=_OTHER_NUMBERS, remedy="seed every generator at start",
               source=("PyTorch documentation, Reproducibility",)),
    _rule("dynamic-batching", "batch_split", "batches formed by load {expected} against {observed}",
          fact("layout.dynamic_batching"), expected=_STATISTICAL, confidence="observed",
          effect="another batch size picks other kernels, and greedy text flips",
          remedy="serve requests one by one, or use batch-invariant kernels", source=("vllm issue 23138",)),
    _rule("global-batch", "batch_split", "{expected} samples a step against {observed}", global_batch,
          expected=_NONE, effect="other optimisation", remedy="keep micro-batch times accumulation times ranks equal"),
    _rule("data-parallel", "batch_split", "data parallel over {expected} against {observed}",
          fact("layout.data_parallel"), expected=_STATISTICAL, guaranteed=_NONE, confidence="observed",
          effect="samples are dealt out otherwise, and schedules may step per rank",
          remedy="use the same number of data parallel ranks", source=("accelerate issue 1277",),
          subsumes=("world-size",)),
    _rule("batch-shape", "batch_split", "a step of {expected} against {observed}", batch_shape,
          expected=_STATISTICAL, guaranteed=_NONE, confidence="proven",
          effect="rounding when the loss is weighted rightly; accumulation bugs and batch norm go beyond",
          remedy="use the same micro-batch and accumulation",
          source=("measured: 4 times 16 and 64 samples differ by 2e-7", "build-nanogpt pull request 30")),
    _rule("tensor-parallel", "world_size", "tensor parallel over {expected} against {observed}",
          fact("layout.tensor_parallel"), expected=_STATISTICAL, effect="products are cut and summed otherwise",
          remedy="use the same tensor parallel degree", source=("vllm issue 7645",), subsumes=("world-size",)),
    _rule("pipeline-parallel", "world_size", "pipeline parallel over {expected} against {observed}",
          fact("layout.pipeline_parallel"), expected=_CURVE, effect="micro-batches are scheduled otherwise",
          remedy="use the same pipeline parallel degree", subsumes=("world-size",)),
    _rule("context-parallel", "world_size", "context parallel over {expected} against {observed}",
          fact("layout.context_parallel"), expected=_CURVE, effect="attention is summed over other pieces",
          remedy="use the same context parallel degree", subsumes=("world-size",)),
    _rule("expert-parallel", "world_size", "expert parallel over {expected} against {observed}",
          fact("layout.expert_parallel"), expected=_CURVE,
          effect="tokens are gathered and dropped in other groups",
          remedy="use the same expert parallel degree", subsumes=("world-size",)),
    _rule("jax-devices", "world_size", "JAX spreads arrays over {expected} devices against {observed}",
          fact("layout.jax_devices"), expected=_CURVE, effect="sums are cut into other pieces",
          remedy="use the same number of devices, also of the host (XLA_FLAGS)",
          source=("JAX documentation, distributed arrays",)),
    _rule("sharding", "world_size", "parameters split by {expected} against {observed}", fact("layout.sharding"),
          expected=_CURVE, effect="gradients are reduced in other pieces, and in another precision where it is mixed",
          remedy="use the same sharding", source=("PyTorch documentation, FullyShardedDataParallel",)),
    _rule("world-size", "world_size", "{expected} ranks against {observed}", fact("layout.world_size"),
          expected=_STATISTICAL, effect="samples, random numbers and sums are dealt out otherwise",
          remedy="use the same number of ranks", source=("PyTorch documentation, DistributedSampler",)),
    _rule("attention-implementation", "attention_implementation", "attention {expected} against {observed}",
          fact("model.attention"), expected=_STATISTICAL, guaranteed=_NONE, confidence="observed",
          effect="other kernels and masks; quality drops were reported for single models",
          remedy="pass the same attn_implementation", source=("transformers issue 33615",)),
    _rule("loader-workers", "dataloader_workers", "{expected} loader workers against {observed}",
          fact("data.loader_workers"), expected=_STATISTICAL, confidence="proven",
          effect="augmentation in workers and the main generator draw otherwise",
          remedy="use the same num_workers, or seed each sample by its index",
          source=("measured: augmentation changes with the number of workers", "pytorch issue 122697")),
    _rule("persistent-workers", "dataloader_workers", "workers kept over epochs {expected} against {observed}",
          fact("data.persistent_workers"), expected=_STATISTICAL, effect="order differs from the second epoch on",
          remedy="set persistent_workers the same", confidence="proven",
          source=("measured: epoch 2 differs without a generator of its own",)),
    _rule("loader-generator", "data_order", "the loader draws from {expected} against {observed} generator",
          fact("data.loader_generator"), expected=_STATISTICAL,
          effect="another order of samples, and the main generator draws otherwise",
          remedy="pass the DataLoader a generator on both sides, seeded the same",
          source=("PyTorch documentation, Reproducibility: DataLoader",)),
    _rule("sampler", "data_order", "sampler {expected} against {observed}", fact("data.sampler"),
          expected=_STATISTICAL, effect="other order of samples", remedy="use the same sampler"),
    _rule("drop-last", "batch_split", "incomplete last batch dropped {expected} against {observed}",
          fact("data.drop_last"), expected=_STATISTICAL, effect="another number of steps",
          remedy="set drop_last the same"),
    _rule("model-mode", "args_differ", "training mode {expected} against {observed}", fact("model.training"),
          expected=_NONE, effect=_OTHER_TASK, remedy="call model.train() or model.eval() on both sides"),
    _rule("batch-norm", "args_differ", "batch norm {expected} against {observed}", fact("model.batch_norm"),
          expected=_STATISTICAL, effect="statistics over other samples", remedy="use the same batch-norm mode"),
    _rule("compile", "compile_mode", "compiled {expected} against {observed}", fact("model.compile"),
          expected=_CURVE, effect="fused kernels round otherwise; dropout masks differ",
          remedy="compile on both sides or on none", confidence="proven",
          source=("measured: eager and compiled differ by 3e-7 in float32",)),
    _rule("ddp-buckets", "collective_algorithm", "gradient buckets of {expected} MiB against {observed}",
          fact("layout.ddp_bucket_mb"), expected=_CURVE, guaranteed=_CURVE,
          effect="gradients are added in other groups",
          remedy="use the same bucket_cap_mb", source=("PyTorch documentation, DistributedDataParallel",)),
    _rule("ddp-bucket-order", "collective_algorithm", "DDP buckets {expected} against {observed}",
          fact("layout.ddp_buckets"), expected=_CURVE, guaranteed=_CURVE,
          effect="gradients are added in other groups",
          remedy="use the same bucket_cap_mb, static_graph and order of layers",
          source=("PyTorch documentation, DistributedDataParallel: buckets are rebuilt after the first step",)),
    _rule("static-graph", "collective_algorithm", "DDP static graph {expected} against {observed}",
          fact("layout.static_graph"), expected=_BITWISE, guaranteed=_CURVE,
          effect="buckets may be rebuilt otherwise", remedy="set static_graph the same",
          source=("PyTorch documentation, DistributedDataParallel",)),
    _condition("resume-state", "resume_state", "{detail} {side}", resume_state, guaranteed=_STATISTICAL,
               expected=_CURVE, effect="random numbers after the resume are others",
               remedy="save and restore the state of every generator, and do not seed again after it",
               source=("transformers issue 17032", "ms-swift pull request 9935")),
    _condition("determinism-set-late", "determinism_flags", "{detail} {side}", late_switches, guaranteed=_CURVE,
               expected=_CURVE, effect="layers that copied the setting still run kernels that do not repeat",
               remedy="set determinism before the model is built", source=("AReaL pull request 1544",)),
    _condition("attention-backward", "nondeterministic_kernel", "{detail} does not repeat {side}", fused_attention,
               guaranteed=_CURVE, expected=_CURVE, effect="gradients differ at rounding level from the first step on",
               remedy="export FLASH_ATTENTION_DETERMINISTIC=1 with flash-attn 2.4.1 or later, or use sdpa",
               source=("flash-attention issues 414, 2244",)),
)

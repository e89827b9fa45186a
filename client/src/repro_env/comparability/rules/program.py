"""Layer ``program``: what the user varies on purpose. Only *repeat* and *resume* judge it."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, all_hold, any_imported, in_process, inner, present, variable
from ..reading import Facts, Missing
from ..rule import AnyRule, Fails, Projection
from . import declared, loading
from .accelerators import FAULTS
from .collectives import OVERLAPS, REDUCE_DTYPE
from .making import BITWISE, CURVE, NONE, OTHER_NUMBERS, OTHER_TASK, STATISTICAL, fact
from .making import condition as _condition
from .making import distinction as _rule

#: declared names that other rules read.
_READ_ELSEWHERE = frozenset(("iommu", "acs", "determinism-set", "node-health", "hardware", *FAULTS, *REDUCE_DTYPE,
                             *OVERLAPS))


#: generators of devices, which torch.manual_seed seeds as well.
_DEVICES = ("cuda", "mps", "xpu", "mtia", "hpu", "npu")
#: generators that no API tells the seed of, judged each by itself.
_APART = ("numpy", "python")
_STATE_SEED = "no API tells these seeds: state them, as in --declare random.seeds.numpy=42 random.seeds.python=42"


def seeds(facts: Facts) -> Any:
    """Seed of each source; a device seeded like torch is no source of its own."""
    found = facts.read("random.seeds") or {}
    values = {name: inner(value, f"random.seeds.{name}") for name, value in found.items() if name not in _APART}
    told = [f"{name}={value}" for name, value in sorted(values.items())
            if name not in _DEVICES or value != values.get("torch")]
    return told or UNUSED


def seed_of(source: str) -> Projection:
    """Project the stated seed of one generator; a side that does not state it says nothing."""
    def project(facts: Facts) -> Any:
        found = facts.read("random.seeds") or {}
        return inner(found[source], f"random.seeds.{source}") if source in found else UNUSED
    return project


def generators(facts: Facts) -> Any:
    """Kinds of generators as a report states them; what a process draws from follows from its code and its stack."""
    return UNUSED if in_process(facts) else present(facts.read("random.generators"))


def unseeded(facts: Facts) -> Fails | None:
    """Fail where a generator was used before it was seeded; open where nobody says with what NumPy or Python were."""
    if facts.read("random.seeded_before_use") is False:
        return Fails("a generator was used before it was seeded")
    if in_process(facts):
        found, kinds = facts.read("random.seeds") or {}, facts.get("random.generators")
        lacking = {f"random.seeds.{source}": "not-recorded" for source in _APART
                   if source not in found and in_use(facts, source, kinds)}
        if lacking:
            raise Missing(lacking)
    return None


def in_use(facts: Facts, source: str, kinds: Any) -> bool:
    """Tell whether the program may draw from one generator: those stated to be in use say, else what is imported."""
    if kinds is not None:
        return any(kind.startswith(source) for kind in kinds)
    return source == "python" or any_imported(facts, (source,))


#: declared names that tell which code ran, where no repository does.
_CODE = ("code", "code-digest", "code-version", "source-digest")


def states_code(facts: Facts) -> bool:
    """Tell whether the code that ran is stated."""
    return bool(set(_CODE) & set(declared.stated(facts)))


def code_untold(facts: Facts) -> Fails | None:
    """Fail where a program ran outside a repository and nobody states its code: it may have been edited in between."""
    if all_hold(facts, (lambda side: side.read("source.commit") is None, lambda side: not states_code(side))):
        return Fails("no repository tells which code ran")
    changed = all_hold(facts, (lambda side: side.read("source.dirty") is True,
                               lambda side: side.read("source.diff_digest") is None,
                               lambda side: not states_code(side)))
    return Fails("uncommitted changes of which no digest tells") if changed else None


def submodules(facts: Facts) -> Any:
    """Commit of each submodule."""
    return [f"{path}@{commit}" for path, commit in sorted((facts.read("source.submodules") or {}).items())] or UNUSED


def arguments(facts: Facts) -> Any:
    """Declared settings that no other rule reads and that do more than name, move or print."""
    found = facts.read("declared.values") or {}
    return [f"{name}={declared.canonical(value)}" for name, value in sorted(found.items())
            if name not in _READ_ELSEWHERE and not declared.is_fact(name)
            and declared.short(name) not in declared.NAMES and declared.short(name) not in declared.INERT] or UNUSED


def batch_shape(facts: Facts) -> Any:
    """How one optimizer step is cut into forward passes."""
    micro, steps = facts.read_all("layout.micro_batch", "layout.accumulation")
    if micro is None:
        return UNUSED
    return f"{steps} passes of {micro} samples" if (steps or 1) > 1 else f"one pass of {micro} samples"


def global_batch(facts: Facts) -> Any:
    """Samples of one optimizer step over all ranks."""
    micro, steps, ranks = facts.read_all("layout.micro_batch", "layout.accumulation", "layout.data_parallel")
    return UNUSED if micro is None else micro * (steps or 1) * (ranks or 1)


_LOST = {"not-restored": "not restored", "partial": "restored in part"}


def resume_state(facts: Facts) -> Fails | None:
    """Fail where a resumed run did not get all of its random state back."""
    state = facts.read("random.resume_state")
    return Fails(f"random state {_LOST[state]}") if state in _LOST else None


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
        lambda side: side.read("model.training") is not False,
        lambda side: name == "flash_attention_3" or variable(side, "FLASH_ATTENTION_DETERMINISTIC") != "1"))
    return Fails(f"the backward pass of {name}") if varies else None


RULES: tuple[AnyRule, ...] = (
    _rule("commit", "code_differs", "commit {expected} against {observed}", fact("source.commit"), expected=NONE,
          effect=OTHER_TASK, remedy="check out the same commit", subsumes=("diff", "dirty")),
    _rule("diff", "code_differs", "uncommitted changes {expected} against {observed}", fact("source.diff_digest"),
          expected=NONE, effect=OTHER_TASK, remedy="commit the changes and run both from it", subsumes=("dirty",)),
    _rule("dirty", "code_differs", "uncommitted changes: {expected} against {observed}", fact("source.dirty"),
          expected=STATISTICAL, effect=OTHER_TASK, remedy="commit the changes and run both from it"),
    _condition("code-untold", "code_differs", "{detail} {side}", code_untold, guaranteed=NONE, expected=BITWISE,
               effect="a program that was edited in between is another experiment", confidence="proven",
               remedy="run from a git repository, or state the code: --declare code-digest=sha256:...",
               source=("measured: an edited script outside a repository gave other bits and equal facts",)),
    _rule("submodules", "code_differs", "submodules {expected} against {observed}", submodules, expected=NONE,
          effect=OTHER_TASK, remedy="git submodule update"),
    _rule("entry-point", "code_differs", "started by {expected} against {observed}", fact("source.entry_point"),
          expected=NONE, effect=OTHER_TASK, remedy="start the same script"),
    _rule("arguments", "args_differ", "arguments {expected} against {observed}", fact("source.arguments_digest"),
          expected=NONE, effect=OTHER_TASK, remedy="pass the same arguments"),
    _rule("declared", "args_differ", "settings {expected} against {observed}", arguments, expected=NONE,
          effect=OTHER_TASK, remedy="use the same settings"),
    *declared.RULES,
    *loading.DATA,
    _rule("seed", "seed", "seeds {expected} against {observed}", seeds, expected=STATISTICAL, effect=OTHER_NUMBERS,
          remedy="use the same seeds", confidence="proven", source=("measured: order 1e-1 from the first steps",)),
    _rule("generators", "seed", "random numbers from {expected} against {observed}", generators,
          expected=STATISTICAL, effect="another generator draws other numbers from one seed",
          remedy="draw from the same kinds of generators, on the same kind of device", confidence="observed",
          source=("diffusers issue 13298: a generator of the GPU gives another image than one of the CPU",)),
    _rule("seed-numpy", "seed", "NumPy seeded with {expected} against {observed}", seed_of("numpy"),
          expected=STATISTICAL, effect=OTHER_NUMBERS, remedy="use the same seeds", confidence="proven",
          source=("measured: augmentation from NumPy changes with the seed",), capture_how=_STATE_SEED),
    _rule("seed-python", "seed", "random seeded with {expected} against {observed}", seed_of("python"),
          expected=STATISTICAL, effect=OTHER_NUMBERS, remedy="use the same seeds",
          source=("Python documentation, random: Notes on Reproducibility",), capture_how=_STATE_SEED),
    _condition("unseeded", "seed", "{detail} {side}", unseeded, guaranteed=STATISTICAL, expected=STATISTICAL,
               effect=OTHER_NUMBERS, remedy="seed every generator at start",
               source=("PyTorch documentation, Reproducibility",)),
    _rule("dynamic-batching", "batch_split", "batches formed by load {expected} against {observed}",
          fact("layout.dynamic_batching"), expected=STATISTICAL, confidence="observed",
          effect="another batch size picks other kernels, and greedy text flips",
          remedy="serve requests one by one, or use batch-invariant kernels", source=("vllm issue 23138",)),
    _rule("global-batch", "batch_split", "{expected} samples a step against {observed}", global_batch,
          expected=NONE, effect="other optimisation", remedy="keep micro-batch times accumulation times ranks equal",
          subsumes=("batch-shape", "micro-batch", "accumulation")),
    _rule("data-parallel", "batch_split", "data parallel over {expected} ranks against {observed}",
          fact("layout.data_parallel"), expected=STATISTICAL, guaranteed=NONE, confidence="observed",
          effect="samples are dealt out otherwise, and schedules may step per rank",
          remedy="use the same number of data parallel ranks", source=("accelerate issue 1277",),
          subsumes=("world-size",)),
    _rule("batch-shape", "batch_split", "a step of {expected} against {observed}", batch_shape,
          expected=STATISTICAL, guaranteed=NONE, confidence="proven",
          effect="rounding when the loss is weighted rightly; accumulation bugs and batch norm go beyond",
          remedy="use the same micro-batch and accumulation",
          source=("measured: 4 times 16 and 64 samples differ by 2e-7", "build-nanogpt pull request 30"),
          subsumes=("micro-batch", "accumulation")),
    _rule("micro-batch", "batch_split", "{expected} samples a pass against {observed}", fact("layout.micro_batch"),
          expected=STATISTICAL, guaranteed=NONE, effect="other kernels, and another step where nothing makes up for it",
          remedy="use the same micro-batch"),
    _rule("accumulation", "batch_split", "{expected} passes a step against {observed}", fact("layout.accumulation"),
          expected=STATISTICAL, guaranteed=NONE,
          effect="rounding when the loss is weighted rightly, another step where it is not",
          remedy="use the same accumulation", source=("trl issue 2175", "LlamaFactory issue 7443")),
    _rule("tensor-parallel", "world_size", "tensor parallel over {expected} ranks against {observed}",
          fact("layout.tensor_parallel"), expected=STATISTICAL, effect="products are cut and summed otherwise",
          remedy="use the same tensor parallel degree", source=("vllm issue 7645",), subsumes=("world-size",)),
    _rule("pipeline-parallel", "world_size", "pipeline parallel over {expected} ranks against {observed}",
          fact("layout.pipeline_parallel"), expected=CURVE, effect="micro-batches are scheduled otherwise",
          remedy="use the same pipeline parallel degree", subsumes=("world-size",)),
    _rule("context-parallel", "world_size", "context parallel over {expected} ranks against {observed}",
          fact("layout.context_parallel"), expected=CURVE, effect="attention is summed over other pieces",
          remedy="use the same context parallel degree", subsumes=("world-size",)),
    _rule("expert-parallel", "world_size", "expert parallel over {expected} ranks against {observed}",
          fact("layout.expert_parallel"), expected=CURVE,
          effect="tokens are gathered and dropped in other groups",
          remedy="use the same expert parallel degree", subsumes=("world-size",)),
    _rule("jax-devices", "world_size", "JAX spreads arrays over {expected} devices against {observed}",
          fact("layout.jax_devices"), expected=CURVE, effect="sums are cut into other pieces",
          remedy="use the same number of devices, also of the host (XLA_FLAGS)",
          source=("JAX documentation, distributed arrays",)),
    _rule("sharding", "world_size", "sharding of parameters: {expected} against {observed}", fact("layout.sharding"),
          expected=CURVE, effect="gradients are reduced in other pieces, and in another precision where it is mixed",
          remedy="use the same sharding", source=("PyTorch documentation, FullyShardedDataParallel",)),
    _rule("world-size", "world_size", "{expected} ranks against {observed}", fact("layout.world_size"),
          expected=STATISTICAL, effect="samples, random numbers and sums are dealt out otherwise",
          remedy="use the same number of ranks", source=("PyTorch documentation, DistributedSampler",)),
    _rule("attention-implementation", "attention_implementation", "attention by {expected} against {observed}",
          fact("model.attention"), expected=STATISTICAL, guaranteed=NONE, confidence="observed",
          effect="other kernels and masks; quality drops were reported for single models",
          remedy="pass the same attn_implementation", source=("transformers issue 33615",)),
    *loading.LOADER,
    _rule("model-mode", "args_differ", "training mode {expected} against {observed}", fact("model.training"),
          expected=NONE, effect=OTHER_TASK, remedy="call model.train() or model.eval() on both sides"),
    _rule("batch-norm", "args_differ", "batch norm: {expected} against {observed}", fact("model.batch_norm"),
          expected=STATISTICAL, effect="statistics over other samples", remedy="use the same batch-norm mode"),
    _rule("compile", "compile_mode", "compiled {expected} against {observed}", fact("model.compile"),
          expected=CURVE, effect="fused kernels round otherwise; dropout masks differ",
          remedy="compile on both sides or on none", confidence="proven",
          source=("measured: eager and compiled differ by 3e-7 in float32",)),
    _rule("ddp-buckets", "collective_algorithm", "gradient buckets of {expected} MiB against {observed}",
          fact("layout.ddp_bucket_mb"), expected=CURVE, guaranteed=CURVE,
          effect="gradients are added in other groups",
          remedy="use the same bucket_cap_mb", source=("PyTorch documentation, DistributedDataParallel",)),
    _rule("ddp-bucket-order", "collective_algorithm", "DDP buckets {expected} against {observed}",
          fact("layout.ddp_buckets"), expected=CURVE, guaranteed=CURVE,
          effect="gradients are added in other groups",
          remedy="use the same bucket_cap_mb, static_graph and order of layers",
          source=("PyTorch documentation, DistributedDataParallel: buckets are rebuilt after the first step",)),
    _rule("static-graph", "collective_algorithm", "DDP static graph {expected} against {observed}",
          fact("layout.static_graph"), expected=BITWISE, guaranteed=CURVE,
          effect="buckets may be rebuilt otherwise", remedy="set static_graph the same",
          source=("PyTorch documentation, DistributedDataParallel",)),
    _condition("resume-state", "resume_state", "{detail} {side}", resume_state, guaranteed=STATISTICAL,
               expected=CURVE, effect="random numbers after the resume are others",
               remedy="save and restore the state of every generator, and do not seed again after it",
               source=("transformers issue 17032", "ms-swift pull request 9935")),
    _condition("determinism-set-late", "determinism_flags", "{detail} {side}", late_switches, guaranteed=CURVE,
               expected=CURVE, effect="layers that copied the setting still run kernels that do not repeat",
               remedy="set determinism before the model is built", source=("AReaL pull request 1544",)),
    _condition("attention-backward", "nondeterministic_kernel", "{detail} does not repeat {side}", fused_attention,
               guaranteed=CURVE, expected=CURVE, effect="gradients differ at rounding level from the first step on",
               remedy="export FLASH_ATTENTION_DETERMINISTIC=1 with flash-attn 2.4.1 or later, or use sdpa",
               source=("flash-attention issues 414, 2244",)),
)

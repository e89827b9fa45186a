"""Layer ``program``: what only the author of a program can state, under the names that people use for it.

``--declare n_jobs=4`` and ``--declare data.n_jobs=4`` name one thing. A side that does not state it says nothing: then
the rule is open against a side that does. Names that are facts of the document fill those and are judged there.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..acting import UNUSED, all_hold
from ..levels import Level
from ..reading import Facts
from ..rule import AnyRule, Fails, Holds, Projection
from .making import BITWISE, CURVE, NONE, STATISTICAL, condition, distinction

#: facts of the program that a declared value of the same name fills; they are judged as facts.
FACTS = frozenset((
    "random.seeded_before_use", "random.largest_cuda_draw", "random.resume_state", "data.dataset_digest",
    "data.file_order_digest", "data.loader_workers", "data.worker_seeding", "data.persistent_workers", "data.sampler",
    "data.drop_last", "data.preprocessing", "data.loader_generator", "layout.data_parallel", "layout.tensor_parallel",
    "layout.pipeline_parallel", "layout.context_parallel", "layout.expert_parallel", "layout.micro_batch",
    "layout.accumulation", "layout.dynamic_batching", "layout.sharding", "model.training", "model.batch_norm",
    "model.attention", "model.compile"))
#: names of settings that move, name or print things, with why they do not act.
INERT = {
    **dict.fromkeys(("prefetch-factor", "pin-memory", "loader-timeout"), "moves batches and keeps their order"),
    **dict.fromkeys(("start-method", "multiprocessing-context"),
                    "torch, NumPy and random are seeded anew in each worker however it was started"),
    **dict.fromkeys(("output-dir", "out-dir", "log-dir", "logging-dir", "save-dir", "checkpoint-dir", "cache-dir"),
                    "where files lie changes no number"),
    **dict.fromkeys(("run-name", "experiment-name", "exp-name", "notes", "tags", "comment", "description"),
                    "a name changes no number"),
    **dict.fromkeys(("verbose", "verbosity", "report-to", "logging-steps", "log-interval", "log-every", "log-level",
                     "progress-bar", "disable-tqdm"), "what is printed changes no number"),
}
_NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.?\d+)(e[+-]?\d+)?", re.IGNORECASE)
#: what people state of a state that a resumed run did not get back, and the states.
_LOST = ("not-restored", "not restored", "partial", "lost", "reset", "no", "false", "none")
_TRAINING = ("optimizer-state", "scheduler-state", "lr-scheduler-state", "scaler-state", "grad-scaler-state")
_LOADING = ("loader-state", "dataloader-state", "sampler-state", "data-position")
_NO = ("false", "0", "no", "off", "none", "never")


class Word(NamedTuple):
    """One thing to state. ``same`` maps values that act as another one to it."""

    id: str
    names: tuple[str, ...]
    cause: str
    title: str
    guaranteed: Level
    expected: Level
    effect: str
    remedy: str
    source: str = "definition of the program"
    confidence: str = "documented"
    same: tuple[tuple[str, str], ...] = ()


WORDS = (
    Word("starting-checkpoint", ("checkpoint-digest", "pretrained-digest", "pretrained", "base-model",
                                 "init-checkpoint"), "args_differ", "starting weights", NONE, NONE,
         "another experiment", "start from the same weights, named by their digest"),
    Word("initial-weights", ("init-digest", "initial-weights", "init-sha256"), "seed", "initial weights",
         STATISTICAL, CURVE, "last bits where the host differs, everything where seeds or the order of draws do",
         "compare the norms: equal ones point at the CPU, others at seeds and the order of layers",
         "measured: initialisers differ in last bits below AVX2"),
    Word("tokenizer", ("tokenizer", "tokenizer-digest", "vocabulary-digest"), "preprocessing_library", "tokenizer",
         NONE, NONE, "the model sees other tokens", "use the same tokenizer files"),
    Word("image-decoder", ("decoder", "image-backend", "decode-device", "image-decoder"), "preprocessing_library",
         "images decoded by", STATISTICAL, STATISTICAL,
         "pixels differ by a few levels, and samples near a border flip",
         "use the same decoder on the same device, or decode once and keep the result", "torchvision issue 8088",
         "observed"),
    Word("resizing", ("antialias", "resize", "interpolation", "resize-backend"), "preprocessing_library",
         "images resized with", NONE, STATISTICAL, "inputs made smaller without antialiasing differ to the eye",
         "set antialias and interpolation explicitly on both sides", "torchvision issue 2950", "observed"),
    Word("sampler-seed", ("sampler-seed", "data-seed", "generator-seed", "shuffle-seed"), "seed", "order seeded by",
         STATISTICAL, STATISTICAL, "another order of samples", "give the sampler the same generator and seed",
         "measured: another data seed changes every training result", "proven"),
    Word("sample-order", ("order-digest", "sample-order"), "data_order", "samples in order", STATISTICAL,
         STATISTICAL, "other batches from the first one that differs",
         "use the same sampler, generator and number of ranks"),
    Word("first-batch", ("first-batch", "first-batch-digest", "batch-digest"), "data_order", "first batches",
         STATISTICAL, STATISTICAL, "the model sees other inputs, whatever the kernels do",
         "look for the difference in data, order, augmentation and preprocessing"),
    Word("shuffle-buffer", ("shuffle-buffer", "shuffle-buffer-size", "shards", "num-shards", "interleave"),
         "data_order", "streamed with", STATISTICAL, STATISTICAL, "another order of samples",
         "use the same buffer and the same shards", "PyTorch documentation, IterableDataset"),
    Word("epoch-shuffling", ("set-epoch", "set-epoch-called"), "data_order", "order drawn anew each epoch:", NONE,
         STATISTICAL, "every epoch in one order against a new order each: another procedure",
         "call sampler.set_epoch(epoch) in both", "PyTorch documentation, DistributedSampler"),
    Word("initial-device", ("init-device", "initialisation-device"), "seed", "weights drawn on", STATISTICAL,
         STATISTICAL, "another generator draws them, and on a GPU its size counts", "draw initial weights on the CPU",
         "PyTorch documentation, Reproducibility"),
    Word("memory-format", ("memory-format", "channels-last"), "args_differ", "memory format", CURVE, CURVE,
         "other convolution kernels", "use the same memory format", "measured: weights of a convolution differ by 1e-4",
         "proven", (("true", "channels-last"), ("channels_last", "channels-last"), ("false", "contiguous"),
                    ("torch.channels_last", "channels-last"), ("contiguous_format", "contiguous"))),
    Word("optimizer-implementation", ("optimizer-implementation", "optimizer-impl", "adam-impl"), "args_differ",
         "optimizer step", CURVE, CURVE, "a fused step rounds otherwise: 4e-7 in weights after 20 steps",
         "pass the same foreach and fused", "measured: foreach equals the loop bit for bit, fused does not", "proven",
         tuple((word, "unfused") for word in ("foreach", "loop", "for-loop", "forloop", "single-tensor", "default"))),
    Word("parallel-jobs", ("n-jobs", "num-jobs", "joblib-workers"), "thread_count", "parallel jobs", CURVE, CURVE,
         "results are added in the order in which jobs end", "pass the same n_jobs, or 1",
         "measured: RandomForest.predict_proba with n_jobs of 2 does not repeat", "proven"),
    Word("evaluation-batch", ("eval-batch-size", "evaluation-batch-size", "per-device-eval-batch-size"), "batch_split",
         "evaluated in batches of", STATISTICAL, CURVE, "other kernels for another shape: metrics move at noise level",
         "evaluate both in batches of one size", "measured: a row of a product differs between batch 1 and 64",
         "proven"),
    Word("evaluation-protocol", ("eval-digest", "eval-protocol", "eval-engine", "eval-dataset", "num-eval-samples"),
         "args_differ", "evaluated by", NONE, NONE, "the gap may come from the evaluation alone",
         "evaluate both checkpoints by one program in one environment"),
)
#: declared names that a rule of its own reads.
NAMES = frozenset((*(name for word in WORDS for name in word.names), "in-order", "time-limit", "max-time",
                   "early-stop-wallclock", "time-based-schedule", "resumed-inside-epoch", "exit-status",
                   "worker-randomness", "warm-up", "mkl-warm-up", *_TRAINING, *_LOADING))


def short(name: str) -> str:
    """Return the name by which a declared value is known, whatever section and letters it was written with."""
    return name.lower().replace("_", "-").rpartition(".")[2]


def stated(facts: Facts) -> dict[str, str]:
    """Return declared values by their short names; ``Missing`` where they are unread."""
    found = facts.read("declared.values")
    return {short(name): canonical(value) for name, value in found.items()} if found else {}


def canonical(value: Any) -> str:
    """Return a value as it acts: 1e-3 is 0.001, True is true."""
    text = str(value).strip()
    if text.lower() in ("true", "false", "none", "null"):
        return text.lower()
    if text.isdigit() or not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def is_fact(name: str) -> bool:
    """Tell whether a declared name fills a fact of the document."""
    path = name.partition("program.")[2] if name.startswith("program.") else name
    return path in FACTS or path.startswith("random.seeds.")


def of_word(word: Word) -> Projection:
    """Project a side to what it states under the names of ``word``."""
    same = dict(word.same)

    def project(facts: Facts) -> Any:
        found = stated(facts)
        values = [same.get(found[name].lower(), found[name]) for name in word.names if name in found]
        return (values[0] if len(values) == 1 else values) if values else UNUSED
    return project


def completion_order(facts: Facts) -> Fails | None:
    """Fail where the loader hands out batches as they are done."""
    return Fails("the loader was told in_order=False") if stated(facts).get("in-order", "").lower() in _NO[:4] else None


def parallel_jobs(facts: Facts) -> Fails | None:
    """Fail where scikit-learn adds results in the order in which jobs end."""
    varies = all_hold(facts, (
        lambda side: stated(side).get("n-jobs", "1") not in ("1", "none"),
        lambda side: side.read("frameworks.scikit_learn") is not None))
    return Fails("n_jobs is not 1") if varies else None


def by_the_clock(facts: Facts) -> Fails | None:
    """Fail where the wall clock decides how long the program trains."""
    found = stated(facts)
    names = [name for name in ("time-limit", "max-time", "early-stop-wallclock", "time-based-schedule")
             if found.get(name, "none").lower() not in _NO]
    return Fails(f"{' and '.join(names)} stated") if names else None


def inside_epoch(facts: Facts) -> Fails | None:
    """Fail where a run went on inside an epoch with loader workers, whose generators no checkpoint holds."""
    resumed = all_hold(facts, (
        lambda side: stated(side).get("resumed-inside-epoch", "no").lower() not in _NO,
        lambda side: (side.read("data.loader_workers") or 0) > 0,
        lambda side: side.read("data.worker_seeding") != "per-sample"))
    return Fails("resumed inside an epoch with loader workers") if resumed else None


def lost(names: tuple[str, ...]) -> Holds:
    """Return a test that fails where one of these states is stated not to have been restored."""
    def holds(facts: Facts) -> Fails | None:
        found = stated(facts)
        gone = [name for name in names if found.get(name, "restored").lower() in _LOST]
        return Fails(f"{' and '.join(gone)} not restored") if gone else None
    return holds


def failed(facts: Facts) -> Fails | None:
    """Fail where the program is stated to have ended otherwise than well."""
    status = stated(facts).get("exit-status", "0")
    return Fails(f"the program ended with status {status}") if status.lower() not in ("0", "ok", "success") else None


HOW = "state it with `repro-env run --declare NAME=VALUE`"
_DETAIL = "{detail} {side}"

RULES: tuple[AnyRule, ...] = (
    condition("program-failed", "args_differ", _DETAIL, failed, guaranteed=NONE, expected=NONE,
              effect="results of a part of the program", remedy="run it again to its end",
              source=("definition of the program",), capture_how=HOW),
    *(distinction(word.id, word.cause, f"{word.title} {{expected}} against {{observed}}", of_word(word),
                  guaranteed=word.guaranteed, expected=word.expected, effect=word.effect, remedy=word.remedy,
                  confidence=word.confidence, source=(word.source,), capture_how=HOW) for word in WORDS),
    condition("completion-order", "data_order", _DETAIL, completion_order, guaranteed=STATISTICAL,
              expected=STATISTICAL, effect="batches come in the order in which workers finish",
              remedy="pass in_order=True", source=("PyTorch documentation, torch.utils.data.DataLoader: in_order",),
              confidence="documented", capture_how=HOW),
    condition("parallel-jobs-vary", "nondeterministic_kernel", _DETAIL, parallel_jobs, guaranteed=CURVE,
              expected=CURVE, effect="results are added in the order in which jobs end", remedy="pass n_jobs=1",
              source=("measured: RandomForest.predict_proba with n_jobs of 2 does not repeat",), confidence="proven",
              capture_how=HOW),
    condition("resumed-inside-epoch", "resume_state", _DETAIL, inside_epoch, guaranteed=STATISTICAL,
              expected=STATISTICAL, effect="augmentation goes on from other random numbers",
              remedy="resume at the end of an epoch, seed each sample by its index, or load without workers",
              source=("speculators issue 1027",), capture_how=HOW),
    condition("training-state-lost", "resume_state", _DETAIL, lost(_TRAINING), guaranteed=NONE, expected=NONE,
              effect="the schedule, the moments or the loss scale start anew: another optimisation",
              remedy="save and restore the state of optimizer, schedule and loss scale",
              source=("the_well issue 77",), capture_how=HOW),
    condition("loader-state-lost", "resume_state", _DETAIL, lost(_LOADING), guaranteed=STATISTICAL,
              expected=STATISTICAL, effect="samples are seen twice or not at all",
              remedy="save where the loader stood, and go on from there",
              source=("joeynmt issue 125", "gpt-neox pull request 308"), capture_how=HOW),
    condition("stopped-by-clock", "args_differ", _DETAIL, by_the_clock, guaranteed=BITWISE, expected=BITWISE,
              effect="another number of steps on another machine", remedy="limit training by steps",
              source=("reasoned: schedules by wall clock",), confidence="suspected", capture_how=HOW),
)

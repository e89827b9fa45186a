"""Hypothesis strategies: consistent documents, what can be erased from them, and vectors over any rule set.

A *consistent* document states effective values that its raw facts bring about, as a machine would: eight threads where
``OMP_NUM_THREADS`` says eight. The laws of judging hold on consistent documents only, since a fallback stands for the
effective value that its raw facts determine.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, Union

from documents import Document, change, complete_document, distribution, framework, library
from hypothesis import strategies as st

from repro_env.comparability import vector as vectors
from repro_env.comparability.levels import Question
from repro_env.comparability.rule import AnyRule, Condition
from repro_env.comparability.vector import Entry, Vector, rules_of
from repro_env.fingerprint.document import Program, Stack
from repro_env.fingerprint.facts import UNREAD_CODES, is_captured
from repro_env.fingerprint.field import Unread

# --- consistent documents -----------------------------------------------------------------------------------------

Choices = dict[str, Any]

#: raw facts as a user or an administrator sets them; the first value of each is the ordinary one.
RAW: dict[str, list[Any]] = {
    "machine": ["cpu", "h100"],
    "gpu": ["h100", "h100-pcie", "a100", "mig"],
    "driver": ["550.54.15", "550.90.07", "535.104.05", "570.86.10"],
    "torch": ["2.5.1", "2.4.1", "2.13.0"],
    "omp_num_threads": [None, "1", "4"],
    "aten_cpu_capability": [None, "avx2", "default"],
    "has_avx512": [True, False],
    "tf32_override": [None, "0", "1"],
    "matmul_tf32": [False, True],
    "cudnn_tf32": [True, False],
    "workspace": [":4096:8", None, ":16:8"],
    "deterministic": [True, False],
    "benchmark": [False, True],
    "hash_seed": ["0", None, "7"],
    "python": ["3.11.7", "3.11.9", "3.12.1"],
    "numpy": ["2.3.5", "1.26.4"],
    "kernel": ["6.1.0-18-amd64", "5.15.0-105-generic"],
    "extra_distribution": [None, "1.0", "2.0"],
    "seed": [42, 43],
    "commit": ["9" * 40, "a" * 40],
    "loader_workers": [4, 0],
}
_GPUS: dict[str, Document] = {
    "h100": {},
    "h100-pcie": {"name": "NVIDIA H100 PCIe", "sm_count": 114, "form_factor": "PCIe"},
    "a100": {"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "sm_count": 108},
    "mig": {"sm_count": 60, "mig_profile": "3g.40gb", "memory_bytes": 42949672960},
}
PROCESSORS = 8


def build(choices: Choices, vantage: str = "process") -> Document:
    """Return the document that a machine with these raw facts gives."""
    cuda = choices["machine"] == "h100"
    document = complete_document(vantage, machine=choices["machine"])
    overrides = {**_threads(choices), **_processor(choices), **_modes(choices), **_software(choices, cuda=cuda)}
    if cuda:
        device = {**document["stack"]["accelerators"]["devices"][0], **_GPUS[choices["gpu"]]}
        overrides |= {"accelerators.devices": [device] * 2, "driver.kernel_module": choices["driver"],
                      "driver.user_libcuda": choices["driver"]}
    return change(document, **overrides)


def _threads(choices: Choices) -> Document:
    count = int(choices["omp_num_threads"] or PROCESSORS)
    pool = {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": count}
    return {"variables.values.OMP_NUM_THREADS": choices["omp_num_threads"], "threads.torch_intraop": count,
            "threads.openmp": count, "threads.mkl": count, "threads.blas_pools": [pool]}


def _processor(choices: Choices) -> Document:
    best = "AVX512" if choices["has_avx512"] else "AVX2"
    cap = (choices["aten_cpu_capability"] or best).upper()
    sets = ["avx", "avx2", *(["avx512bw", "avx512f", "avx512vl"] if choices["has_avx512"] else []), "fma"]
    simd = ["AVX2", *(["AVX512F", "AVX512_SKX"] if choices["has_avx512"] else []), "FMA3"]
    return {"cpu.instruction_sets": sets, "cpu.numpy_simd": simd, "cpu.torch_capability": cap,
            "variables.values.ATEN_CPU_CAPABILITY": choices["aten_cpu_capability"],
            "cpu.microarchitecture": "6-143" if choices["has_avx512"] else "6-63",
            "cpu.model": "Intel(R) Xeon(R) " + ("Platinum 8481C" if choices["has_avx512"] else "CPU E5-2690 v3")}


def _modes(choices: Choices) -> Document:
    new = choices["torch"] == "2.13.0"
    return {"variables.values.NVIDIA_TF32_OVERRIDE": choices["tf32_override"],
            "precision.allow_tf32_matmul": choices["matmul_tf32"],
            "precision.float32_matmul_precision": "high" if choices["matmul_tf32"] else "highest",
            "precision.fp32_generic": "none" if new else None,
            "precision.fp32_cuda_matmul": ("tf32" if choices["matmul_tf32"] else "none") if new else None,
            "precision.allow_tf32_cudnn": choices["cudnn_tf32"],
            "precision.fp32_cudnn_conv": ("tf32" if choices["cudnn_tf32"] else "none") if new else None,
            "precision.fp32_cudnn_rnn": ("tf32" if choices["cudnn_tf32"] else "none") if new else None,
            "determinism.cublas_workspace": choices["workspace"],
            "variables.values.CUBLAS_WORKSPACE_CONFIG": choices["workspace"],
            "determinism.deterministic_algorithms": choices["deterministic"],
            "determinism.cudnn_deterministic": choices["deterministic"],
            "determinism.cudnn_benchmark": choices["benchmark"],
            "variables.values.PYTHONHASHSEED": choices["hash_seed"], "random.hash_seed": choices["hash_seed"]}


def _software(choices: Choices, *, cuda: bool) -> Document:
    torch = choices["torch"] + ("+cu124" if cuda else "+cpu")
    arch_list = ["sm_70", "sm_80", "sm_90"] if cuda else []
    extra = choices["extra_distribution"]
    installed = [distribution("numpy", choices["numpy"]), distribution("torch", torch),
                 *([distribution("zzz-unrelated", extra)] if extra else [])]
    return {"frameworks.torch": framework(torch, cuda_build="12.4" if cuda else None, arch_list=arch_list),
            "frameworks.numpy": framework(choices["numpy"]), "distributions.installed": installed,
            "libraries.onednn": library({"2.5.1": "3.5.3", "2.4.1": "3.4.2", "2.13.0": "3.12.0"}[choices["torch"]]),
            "python.version": choices["python"], "system.kernel": choices["kernel"],
            "source.commit": choices["commit"], "data.loader_workers": choices["loader_workers"],
            "random.seeds": dict.fromkeys(("numpy", "python", "torch"), choices["seed"])}


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """Raw facts of one side: mostly ordinary ones."""
    odd = draw(st.sets(st.sampled_from(sorted(RAW)), max_size=6))
    return {name: draw(st.sampled_from(values)) if name in odd else values[0] for name, values in RAW.items()}


@st.composite
def siblings(draw: st.DrawFn, count: int = 2) -> list[Choices]:
    """Raw facts of sides that differ in few things, as runs that people compare do."""
    first = draw(choices())
    sides = [first]
    for _ in range(count - 1):
        other = dict(first)
        for name in draw(st.sets(st.sampled_from(sorted(RAW)), max_size=2)):
            other[name] = draw(st.sampled_from(RAW[name]))
        sides.append(other)
    return sides


class Drawn(dict[str, Any]):
    """A drawn document that says in few words how it came about, for the reader of a failure."""

    def __init__(self, document: Document, how: str) -> None:
        super().__init__(document)
        self.how = how

    def __repr__(self) -> str:
        return self.how


VANTAGES = st.sampled_from(("process", "process", "exit", "prologue", "import", "image"))


@st.composite
def documents(draw: st.DrawFn, count: int = 2) -> list[Document]:
    """Consistent documents of few differences, some facts erased, from any vantage."""
    drawn = []
    for side in draw(siblings(count)):
        vantage = draw(VANTAGES)
        whole = build(side, vantage)
        codes = draw(erasures(whole))
        odd = {name: value for name, value in side.items() if value != RAW[name][0]}
        drawn.append(Drawn(erase(whole, codes), f"build({odd}, {vantage}) less {sorted(codes)}"))
    return drawn


# --- erasing -------------------------------------------------------------------------------------------------------

def fact_paths(document: Document) -> list[str]:
    """Return the dotted paths of every fact of the judged parts that can be unread, coarse before fine."""
    return [path for part, kind in (("stack", Stack), ("program", Program))
            for path in _facts_below(kind, document[part], "")]


def _facts_below(kind: Any, value: Any, path: str) -> Iterator[str]:
    for name, hint in _hints(kind).items():
        yield from _facts_at(hint, value[name], f"{path}.{name}".lstrip("."))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _facts_at(hint: Any, value: Any, path: str) -> Iterator[str]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        yield path
        inner = next(item for item in arguments if item not in (type(None), Unread))
        if is_captured(value):
            yield from _facts_at(inner, value, path)
    elif dataclasses.is_dataclass(hint):
        yield from _facts_below(hint, value, path)
    elif origin is tuple:
        for index, item in enumerate(value):
            yield from _facts_at(arguments[0], item, f"{path}.{index}")
    elif origin is dict:
        for key, item in value.items():
            yield from _facts_at(arguments[1], item, f"{path}.{key}")


def erasures(document: Document, max_size: int = 5) -> st.SearchStrategy[dict[str, str]]:
    """Facts to erase, each with an unread code."""
    return st.dictionaries(st.sampled_from(fact_paths(document)), st.sampled_from(sorted(UNREAD_CODES)),
                           max_size=max_size)


def erase(document: Document, codes: dict[str, str]) -> Document:
    """Return ``document`` with the facts at these paths unread; finer paths first, so that none is lost on the way."""
    finest_first = sorted(codes, key=lambda path: -path.count("."))
    return change(document, **{path: {"unread": codes[path]} for path in finest_first})


# --- vectors over whatever rules there are ---------------------------------------------------------------------------

class Hidden(NamedTuple):
    """What is true of one rule on one side, and how much of it was read.

    A Distinction's ``raw`` fact determines its value (three raw facts, two values, and one that proves the rule not
    applicable); ``seen`` is ``value``, ``fallback`` (the raw fact only) or ``nothing``. A Condition fails at raw 3.
    """

    raw: int
    seen: str


_VALUE_OF_RAW: dict[int, Entry] = {0: Entry(vectors.NOT_APPLIED), 1: Entry(vectors.VALUE, "a"),
                                   2: Entry(vectors.VALUE, "a"), 3: Entry(vectors.VALUE, ["b", 3])}
#: raw facts look like values, so that only the state tells them apart.
_RAW_FACTS: dict[int, Any] = {0: None, 1: "a", 2: "c", 3: ["b", 3]}
_SEEN = ("value", "fallback", "nothing")
_LACKING = (("section.fact", "timeout"),)


def entry_of(rule: AnyRule, hidden: Hidden) -> Entry:
    """Return the entry by which a side shows its hidden state."""
    if hidden.seen == "nothing":
        return Entry(vectors.UNREAD, None, _LACKING)
    if isinstance(rule, Condition):
        return Entry(vectors.FAILS, "as planted") if hidden.raw == 3 else Entry(vectors.OK)
    if hidden.seen == "fallback":
        return Entry(vectors.FALLBACK, _RAW_FACTS[hidden.raw], _LACKING)
    return _VALUE_OF_RAW[hidden.raw]


Side = dict[str, Hidden]
PLAIN = Hidden(1, "value")


@st.composite
def hidden_sides(draw: st.DrawFn, question: Question, count: int = 2) -> list[Side]:
    """Sides that are alike but for a few rules."""
    names = [rule.id for rule in rules_of(question)]
    touched = draw(st.lists(st.sampled_from(names), max_size=5, unique=True))
    common = {name: draw(_hidden()) for name in touched}
    return [{name: draw(st.one_of(st.just(common[name]), _hidden())) for name in touched} for _ in range(count)]


def _hidden() -> st.SearchStrategy[Hidden]:
    return st.builds(Hidden, st.integers(0, 3), st.sampled_from(("value", "value", "fallback", "nothing")))


def vector_of(side: Side, question: Question) -> Vector:
    """Return the vector by which a hidden side shows itself."""
    return {rule.id: entry_of(rule, side.get(rule.id, PLAIN)) for rule in rules_of(question)}


@st.composite
def with_less_seen(draw: st.DrawFn, side: Side, other: Side) -> Side:
    """The same side with some facts erased.

    A value is not left to its raw fact where ``other`` shows its raw fact only: two equal raw facts then prove what a
    value against a raw fact could not, so there, and only there, saying less can tell more.
    """
    less = {}
    for name, hidden in side.items():
        allowed = [seen for seen in _SEEN[_SEEN.index(hidden.seen):]
                   if seen != "fallback" or hidden.seen == seen or other[name].seen != "fallback"]
        less[name] = Hidden(hidden.raw, draw(st.sampled_from(allowed)))
    return less


QUESTIONS = st.sampled_from(tuple(Question))

# --- JSON -------------------------------------------------------------------------------------------------------------

#: values with canonical bytes.
CANONICAL = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53 - 1), 2**53 - 1)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=6), inner, max_size=4), max_leaves=12)

#: anything that a JSON parser of Python can bring.
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=6), inner,
                                                                max_size=4), max_leaves=12)

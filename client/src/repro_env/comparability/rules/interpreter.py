"""Layer ``python``: the interpreter, the order of hashes, the operating system, text, and what is preloaded."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, any_imported, in_process, present, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import (
    PROGRAM_QUESTIONS,
    AnyRule,
    Condition,
    Distinction,
    Fails,
    Parts,
    Projection,
    show_parts,
    show_value,
)
from ..versions import older, prefix

#: libraries that only allocate memory or count; preloading them changes no result without MKL under NumPy.
_HARMLESS_PRELOADS = ("tcmalloc", "jemalloc", "mimalloc", "libiomp5", "libomp", "libgomp", "libeatmydata", "libnuma")


def python_minor(facts: Facts) -> Any:
    """Implementation and minor version; a patch release does not act."""
    read: dict[str, Any] = {}
    lacking: dict[str, str] = {}
    for path in ("python.implementation", "python.version"):
        try:
            read[path] = facts.read(path)
        except Missing as missing:
            lacking.update(missing.facts)
    if "python.version" in read:
        read["python.version"] = prefix(read["python.version"], 2)
    return Parts(read, lacking)


#: frameworks whose arrays a program computes with; without them it is pure Python.
_ARRAYS = ("numpy", "torch", "jax", "tensorflow")


def float_sum(facts: Facts) -> Any:
    """How ``sum()`` adds floats, in programs of pure Python; array libraries add by themselves."""
    version, implementation = facts.read_all("python.version", "python.implementation")
    if not in_process(facts) or any_imported(facts, _ARRAYS):
        return UNUSED
    compensated = implementation == "cpython" and not older(version, "3.12")
    return "adds floats with compensation" if compensated else "adds floats one by one"


def free_threaded(facts: Facts) -> Any:
    """Built with or without the global lock."""
    return "free-threaded" if facts.read("python.free_threaded") else "with the global lock"


def os_family(facts: Facts) -> Any:
    """Family of the operating system: others have other builds and other mathematics."""
    return present(facts.read("system.os_family"))


def libc(facts: Facts) -> Any:
    """C library and version: exp, log and sin of pure Python come from it."""
    return present(facts.read("system.libc"))


def encoding(facts: Facts) -> Any:
    """Preferred text encoding; the names of UTF-8 are one."""
    value = facts.read("system.encoding")
    return UNUSED if value is None else value.lower().replace("-", "").replace("_", "")


def preload(facts: Facts) -> Any:
    """Preloaded libraries that may compute."""
    value = variable(facts, "LD_PRELOAD") or ""
    names = [path.rpartition("/")[2] for path in value.replace(":", " ").split()]
    acting = sorted(name for name in names if not any(harmless in name for harmless in _HARMLESS_PRELOADS))
    return acting or "none"


def hash_seed(facts: Facts) -> Any:
    """Hash seed in force."""
    return present(facts.read("random.hash_seed"))


def random_hashes(facts: Facts) -> Fails | None:
    """Fail where the hash seed is drawn anew for every start."""
    return Fails("PYTHONHASHSEED is random") if facts.read("random.hash_seed") == "random" else None


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, guaranteed: Level, expected: Level, effect: str,
          remedy: str, source: tuple[str, ...], subsumes: tuple[str, ...] = (), set_by: SetBy = SetBy.MACHINE,
          show: Callable[[Any], str] = show_value) -> Distinction:
    return Distinction(id=rule_id, layer="python", cause=cause, set_by=set_by, guaranteed=guaranteed, expected=expected,
                       possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence="documented",
                       source=source, subsumes=subsumes, project=project, show=show,
                       capture_how="run `repro-env capture` in the job's environment")


RULES: tuple[AnyRule, ...] = (
    _rule("os-family", "os", "{expected} against {observed}", os_family, guaranteed=Level.STATISTICAL,
          expected=Level.CURVE, effect="other builds of every library; worker processes start otherwise",
          remedy="run both on one operating system", subsumes=("libc",),
          source=("PyTorch documentation, Reproducibility: platforms",)),
    _rule("preloaded-libraries", "wrong_library_loaded", "preloaded: {expected} against {observed}", preload,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, remedy="unset LD_PRELOAD",
          effect="a preloaded library replaces functions, or switches the arithmetic of the process",
          source=("measured: a preloaded library built with -ffast-math changes results",)),
    _rule("python-sum", "python", "sum() {expected} against {observed}", float_sum, guaranteed=Level.STATISTICAL,
          expected=Level.CURVE, effect="sums of floats differ in the last bits", subsumes=("python-minor",),
          set_by=SetBy.PROGRAM,
          remedy="use Python versions on one side of 3.12, or math.fsum()",
          source=("Python 3.12 release notes: sum()", "measured: Python 3.8 and 3.11 agree, 3.12 differs")),
    _rule("python-minor", "python", "Python {expected} against {observed}", python_minor,
          guaranteed=Level.STATISTICAL, expected=Level.BITWISE, show=show_parts("none", " "),
          effect="sums, sets and the random module of pure Python may differ; array code does not",
          remedy="use the same Python minor version",
          source=("measured: array code gave equal bits on three Pythons", "Python 3.12 release notes: sum()")),
    _rule("python-threading", "python", "Python {expected} against {observed}", free_threaded,
          guaranteed=Level.CURVE, expected=Level.BITWISE, effect="threads of Python code really run in parallel",
          remedy="use the same Python build", source=("PEP 703",)),
    _rule("libc", "os", "C library {expected} against {observed}", libc, guaranteed=Level.CURVE,
          expected=Level.BITWISE, effect="exp, log and sin of pure Python and SciPy may round otherwise",
          remedy="use the same base image", source=("glibc manual, Errors in Math Functions",)),
    _rule("text-encoding", "os", "text encoding {expected} against {observed}", encoding,
          guaranteed=Level.STATISTICAL, expected=Level.BITWISE,
          effect="programs that read text without naming an encoding read other characters",
          remedy="export PYTHONUTF8=1", source=("PEP 686",)),
    Distinction(
        id="hash-seed", layer="python", cause="hash_order", set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
        guaranteed=Level.STATISTICAL, expected=Level.BITWISE, possible=Level.BITWISE,
        why="hash seed {expected} against {observed}", effect="sets of strings come in another order",
        remedy="export PYTHONHASHSEED=0 before Python starts", confidence="proven",
        source=("measured: only programs that walk sets of strings change",), project=hash_seed),
    Condition(
        id="hash-seed-random", layer="python", cause="hash_order", set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
        guaranteed=Level.STATISTICAL, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="sets of strings come in another order at every start",
        remedy="export PYTHONHASHSEED=0 before Python starts", confidence="proven",
        source=("measured: only programs that walk sets of strings change",), holds=random_hashes),
)

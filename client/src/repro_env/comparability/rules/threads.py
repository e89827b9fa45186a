"""Layer ``threads``: effective counts and what they do to the order of additions."""

from __future__ import annotations

from typing import Any, Callable

from ...fingerprint.facts import is_captured
from ..acting import (
    HEAVY,
    UNUSED,
    all_hold,
    any_imported,
    imported,
    in_process,
    inner,
    on_cpu,
    present,
    settings,
    using,
    variable,
)
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection, show_parts, show_value
from .libraries import not_loaded

#: what a sparse list of pools does not say.
_NOT_SAID = {"unread": "not-recorded"}


@on_cpu
@using("torch")
def torch_threads(facts: Facts) -> Any:
    """Effective intra-op threads of torch where it computed on the CPU."""
    return present(facts.read("threads.torch_intraop"))


@using("torch")
def torch_host_threads(facts: Facts) -> Any:
    """Intra-op threads of torch wherever it computed: initialisation and preprocessing run on the host."""
    return present(facts.read("threads.torch_intraop"))


def pools(what: str) -> Projection:
    """Project every loaded BLAS pool to its library and ``what``, where NumPy was imported."""
    @using("numpy")
    def project(facts: Facts) -> Any:
        found = facts.read("threads.blas_pools")
        if not found:
            return unknown_blas(facts)
        return sorted({f"{pool['library']} {inner(pool.get(what, _NOT_SAID), 'threads.blas_pools')}" for pool in found})
    return project


def unknown_blas(facts: Facts) -> Any:
    """A process with NumPy has a BLAS: where no pool was recognised it is one that tells nothing of itself.

    MKL under NumPy, ATLAS and the reference library belong here; they were measured to differ, MKL from one start to
    the next.
    """
    if in_process(facts):
        raise Missing({"threads.blas_pools": "not-reported"})
    return UNUSED


def without_torch(project: Projection) -> Projection:
    """Limit a projection to programs whose numbers NumPy and its relatives compute."""
    def limited(facts: Facts) -> Any:
        if in_process(facts) and facts.read("frameworks.torch") is not None and imported(facts, "torch"):
            return UNUSED
        return project(facts)
    return limited


def acting_pools(what: str) -> Projection:
    """Limit BLAS pools to programs that compute with them: without torch, or with a torch built on OpenBLAS."""
    of_numpy, of_torch = without_torch(pools(what)), pools(what)

    def project(facts: Facts) -> Any:
        if in_process(facts) and _torch_on_openblas(facts):
            return of_torch(facts)
        return of_numpy(facts)
    return project


def _torch_on_openblas(facts: Facts) -> bool:
    """Tell whether the process computes with a torch whose BLAS is not MKL."""
    if facts.read("frameworks.torch") is None or not imported(facts, "torch"):
        return False
    flags = facts.read("frameworks.torch.build_flags") or {}
    return str(flags.get("BLAS_INFO", "")).lower() in ("open", "openblas")


@using("scikit_learn")
def openmp_threads(facts: Facts) -> Any:
    """Threads of the OpenMP runtime, which scikit-learn's own loops use; of each where several are loaded."""
    if not in_process(facts) and facts.read("frameworks.scikit_learn") is None:
        return UNUSED
    several = facts.look("threads.openmp_pools")
    if not facts.known("threads.openmp") and is_captured(several) and len(set(several.values())) > 1:
        return [f"{name} {count}" for name, count in sorted(several.items())]
    return present(facts.read("threads.openmp"))


@using("torch")
def mkl_threads(facts: Facts) -> Any:
    """Threads of MKL."""
    return present(facts.read("threads.mkl"))


def dynamic_threads(facts: Facts) -> Fails | None:
    """Fail where the OpenMP runtime may change the number of threads from loop to loop."""
    value = variable(facts, "OMP_DYNAMIC")
    return Fails("OMP_DYNAMIC is on") if value is not None and value.lower() in ("true", "1", "yes") else None


#: declared names of a warm-up, and what says that each elementwise function met one element before any sizable one.
WARM_UP = ("warm-up", "mkl-warm-up")
_WARMED = ("all", "every", "elementwise", "vml")


def mkl_race(facts: Facts) -> Fails | None:
    """Fail where the first threaded call of an elementwise function may run a part of it with another kernel.

    MKL resolves each function on its own at its first call, so that a warm-up of tanh settles tanh alone.
    """
    races = all_hold(facts, (
        lambda side: side.read("frameworks.backend") == "cpu",
        lambda side: str(side.read("libraries.mkl.loaded")).startswith("2024.2"),
        lambda side: imported(side, "torch") if in_process(side) else True,
        lambda side: (side.read("threads.torch_intraop") or 1) > 1,
        lambda side: not warmed_up(side)))
    return Fails("MKL 2024.2 picks its kernels in a race between threads") if races else None


def warmed_up(facts: Facts) -> bool:
    """Tell whether the program states that it called every elementwise function on one element at its start."""
    stated = facts.read("declared.values") or {}
    return any(str(stated.get(name, "")).lower() in _WARMED for name in WARM_UP)


def mkl_alignment(facts: Facts) -> Fails | None:
    """Fail where NumPy computes with MKL and nothing fixes its branch: code is then chosen by where arrays lie."""
    moves = all_hold(facts, (
        lambda side: side.read("libraries.mkl") is not None and not not_loaded(side, "mkl"),
        lambda side: side.read("libraries.mkl.loaded") is not None,
        lambda side: any_imported(side, ("numpy",)),
        lambda side: not any_imported(side, HEAVY),
        numpy_on_mkl,
        lambda side: variable(side, "MKL_CBWR") is None))
    return Fails("NumPy computes with MKL, and MKL_CBWR is not set") if moves else None


def numpy_on_mkl(facts: Facts) -> bool:
    """Tell whether MKL answers NumPy: preloaded, named by the build, or loaded with no other BLAS in sight."""
    if "libmkl" in (variable(facts, "LD_PRELOAD") or ""):
        return True
    flags = facts.read("frameworks.numpy.build_flags") or {}
    return "mkl" in str(flags.get("blas", "")).lower() or not facts.read("threads.blas_pools")


#: variables by which people ask for a number of threads.
ASKED = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS",
         "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "TBB_NUM_THREADS")


def asked_threads(facts: Facts) -> Any:
    """Numbers of threads that variables ask for, where nobody saw the process; in it the effective ones are read."""
    if in_process(facts):
        return UNUSED
    return settings(facts, ASKED)


_SET = "set the same number of threads: OMP_NUM_THREADS, or torch.set_num_threads()"
_SUMS = "sums are split at other places; about 1e-7 relative at first, growing as training goes on"
_MEASURED = ("measured: convolution, attention and reductions change with 1 against 2 threads",)


def _rule(rule_id: str, why: str, project: Projection, *, expected: Level, remedy: str, effect: str = _SUMS,
          cause: str = "thread_count", subsumes: tuple[str, ...] = (), source: tuple[str, ...] = _MEASURED,
          show: Callable[[Any], str] = show_value) -> Distinction:
    return Distinction(id=rule_id, layer="threads", cause=cause, set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
                       expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy,
                       confidence="proven", source=source, subsumes=subsumes, project=project, show=show)


_BLAS = "set the same number of threads: OPENBLAS_NUM_THREADS or MKL_NUM_THREADS, or threadpoolctl"

RULES: tuple[AnyRule, ...] = (
    _rule("torch-threads", "{expected} threads against {observed}", torch_threads, expected=Level.CURVE,
          remedy=_SET, subsumes=("torch-host-threads", "openmp-threads", "mkl-threads", "blas-threads-host")),
    _rule("blas-threads", "BLAS threads: {expected} against {observed}", acting_pools("threads"),
          expected=Level.CURVE, remedy=_BLAS, subsumes=("blas-threads-host", "openmp-threads"),
          source=("measured: NumPy products and scikit-learn change with 1 against 2 threads",)),
    _rule("scikit-learn-threads", "{expected} threads of scikit-learn against {observed}",
          using("scikit_learn")(lambda facts: present(facts.read("threads.scikit_learn"))), expected=Level.CURVE,
          remedy="set the same number of threads: OMP_NUM_THREADS, or threadpoolctl", subsumes=("openmp-threads",)),
    _rule("openmp-threads", "{expected} OpenMP threads against {observed}", openmp_threads, expected=Level.CURVE,
          remedy="export the same OMP_NUM_THREADS", source=("measured: scikit-learn changes with the OpenMP threads",)),
    _rule("mkl-threads", "{expected} MKL threads against {observed}", mkl_threads, expected=Level.BITWISE,
          remedy="export the same MKL_NUM_THREADS",
          source=("Intel oneMKL documentation, Conditional Numerical Reproducibility",)),
    _rule("torch-host-threads", "{expected} threads on the host against {observed}", torch_host_threads,
          expected=Level.BITWISE, remedy=_SET, effect="seen only in what the host computes", subsumes=("mkl-threads",)),
    _rule("blas-threads-host", "BLAS threads: {expected} against {observed}", pools("threads"),
          expected=Level.BITWISE, remedy=_BLAS, effect="seen only where NumPy computes"),
    Condition(
        id="dynamic-threads", layer="threads", cause="thread_count", set_by=SetBy.PROGRAM, guaranteed=Level.NONE,
        expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="{detail} {side}: the number of threads may change from loop to loop, and no API shows it",
        effect="hangs, garbage indices and other sums were measured on a loaded machine",
        remedy="unset OMP_DYNAMIC", confidence="proven",
        source=("measured: OMP_DYNAMIC=true on a loaded machine gives other sums and garbage indices",),
        holds=dynamic_threads),
    Condition(
        id="mkl-dispatch-race", layer="threads", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="in about one launch of two hundred a part of the first tanh, exp, log or sqrt comes from a kernel of "
        "lower accuracy",
        remedy="call every elementwise function of the program on one element at start and state it with "
        "--declare warm-up=all, run with one thread, or use a torch built with oneMKL 2025 or later",
        confidence="proven", holds=mkl_race,
        source=("pytorch issue 188792: oneMKL 2024.2.0 to 2024.2.2", "measured: 0.2 to 1 % of launches")),
    Condition(
        id="mkl-alignment", layer="threads", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE, why="{detail} {side}",
        effect="svd, eigh, qr and lstsq round by where arrays lie in memory, which changes from launch to launch",
        remedy="export MKL_CBWR=COMPATIBLE, or AVX2 on Intel CPUs, or use a NumPy built on OpenBLAS",
        confidence="proven", holds=mkl_alignment,
        source=("measured: equal only with address randomisation off or another allocator",
                "Intel oneMKL documentation, Reproducibility Conditions: alignment")),
    _rule("thread-variables", "threads asked for: {expected} against {observed}", asked_threads, expected=Level.CURVE,
          show=show_parts("no number asked for"), remedy="export the same numbers",
          source=("OpenMP specification, environment variables",)),
)

"""Layer ``threads``: effective counts and what they do to the order of additions."""

from __future__ import annotations

from typing import Any

from ...fingerprint.facts import is_captured
from ..acting import UNUSED, all_hold, imported, in_process, inner, on_cpu, present, using, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection

#: what a sparse list of pools does not say.
_NOT_SAID = {"unread": "not-recorded"}


@on_cpu
@using("torch")
def torch_threads(facts: Facts) -> Any:
    """Effective intra-op threads of torch where it computed on the CPU."""
    return present(facts.read("threads.torch_intraop"))


@using("torch")
def torch_host_threads(facts: Facts) -> Any:
    """The same wherever it computed: initialisation and preprocessing run on the host."""
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


@using("scikit_learn")
def openmp_threads(facts: Facts) -> Any:
    """Threads of the OpenMP runtime, which scikit-learn's own loops use; of each where several are loaded."""
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


def mkl_race(facts: Facts) -> Fails | None:
    """Fail where the first threaded tanh of a process may run half of it with another kernel."""
    races = all_hold(facts, (
        lambda side: side.read("frameworks.backend") == "cpu",
        lambda side: str(side.read("libraries.mkl.loaded")).startswith("2024.2"),
        lambda side: imported(side, "torch") if in_process(side) else True,
        lambda side: (side.read("threads.torch_intraop") or 1) > 1))
    return Fails("MKL 2024.2 picks its kernels in a race between threads") if races else None


_SET = "set the same number of threads: OMP_NUM_THREADS, or torch.set_num_threads()"
_SUMS = "sums are split at other places; about 1e-7 relative at first, growing as training goes on"
_MEASURED = ("measured: convolution, attention and reductions change with 1 against 2 threads",)


def _rule(rule_id: str, why: str, project: Projection, *, expected: Level, remedy: str, effect: str = _SUMS,
          cause: str = "thread_count", subsumes: tuple[str, ...] = (), source: tuple[str, ...] = _MEASURED
          ) -> Distinction:
    return Distinction(id=rule_id, layer="threads", cause=cause, set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
                       expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy,
                       confidence="proven", source=source, subsumes=subsumes, project=project)


_BLAS = "set the same number of threads: OPENBLAS_NUM_THREADS or MKL_NUM_THREADS, or threadpoolctl"

RULES: tuple[AnyRule, ...] = (
    _rule("torch-threads", "{expected} torch threads against {observed}", torch_threads, expected=Level.CURVE,
          remedy=_SET, subsumes=("torch-host-threads", "openmp-threads", "mkl-threads", "blas-threads-host")),
    _rule("blas-threads", "BLAS threads: {expected} against {observed}", without_torch(pools("threads")),
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
    _rule("torch-host-threads", "{expected} torch threads on the host against {observed}", torch_host_threads,
          expected=Level.BITWISE, remedy=_SET, effect="seen only in what the host computes"),
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
        effect="about one launch in two hundred differs at rounding level",
        remedy="call torch.tanh(torch.zeros(1)) once at start, or run with one thread", confidence="proven",
        source=("pytorch issue 188792", "measured: 0.2 to 1 % of launches"), holds=mkl_race),
)

"""Which launches: the whole, or a sample that is small enough for every change. Always the same ones, in one order."""

from __future__ import annotations

from collections import Counter

from .bases import BASES, BASES_BY_NAME, Base
from .factors import FACTORS, FACTORS_BY_NAME, PURE, Factor, interpreter
from .launches import Launch
from .machine import Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: launches of a base itself.
FULL_REPEATS, QUICK_REPEATS = 4, 2
#: base -> how many of its workloads a factor that must not matter is set against, and one that may act. Each factor
#: begins at another workload, so that together they meet all of them.
SHARES: dict[str, tuple[int, int]] = {"one-thread": (1, 2), "two-threads": (1, 2), "workers": (2, 2)}
ALL_WORKLOADS = (9, 9)
#: of torch, in the sample: factor -> base and workload.
QUICK_TORCH: dict[str, tuple[str, str]] = {
    "threads-2": ("one-thread", "convolution"),
    "ONEDNN_MAX_CPU_ISA=SSE41": ("one-thread", "convolution"),
    "medium": ("one-thread", "convolution"),
    "seed": ("one-thread", "convolution"),
    "OMP_SCHEDULE=dynamic,1": ("one-thread", "convolution"),
    "CUBLAS_WORKSPACE_CONFIG=:4096:8": ("one-thread", "convolution"),
    "threads-set-1": ("one-thread", "convolution"),
}
#: of NumPy, in the sample.
QUICK_NUMPY = ("threads-1", "numpy-simd", "OPENBLAS_CORETYPE=PRESCOTT", "OMP_STACKSIZE=16M", "MALLOC_ARENA_MAX=1",
               "data-seed", "one-core")


class Plan:
    """The launches of a self-test, and what of the tables cannot be run here, with why."""

    def __init__(self, machine: Machine, *, quick: bool, bases: Sequence[str] = ()) -> None:
        self.machine = machine
        self.whole = not quick and not bases
        self.left_out: list[str] = []
        chosen = [launch for launch in (self._quick() if quick else self._full())
                  if not bases or launch.base.name in bases]
        repeats = QUICK_REPEATS if quick else FULL_REPEATS
        places = list(dict.fromkeys((launch.base.name, launch.workload) for launch in chosen))
        self.launches = [*(Launch(BASES_BY_NAME[base], workload, None, number) for number in range(repeats)
                           for base, workload in places), *_spread(chosen)]

    def _runs(self, workload: str) -> bool:
        return self.machine.python_of(workload) is not None

    def _full(self) -> list[Launch]:
        found: list[Launch] = []
        self.left_out += [f"workload {workload} ({base.name}): not importable here" for base in BASES
                          for workload in base.workloads if not self._runs(workload)]
        for at, factor in enumerate(FACTORS):
            if not self.machine.has(factor.needs):
                self.left_out.append(f"factor {factor.name}: {factor.needs} is not there")
                continue
            for base in map(BASES_BY_NAME.__getitem__, factor.bases):
                found += self._of(factor, base, at)
        for python in self.machine.others:
            factor = interpreter(python)
            found += [Launch(base, workload, factor) for base in map(BASES_BY_NAME.__getitem__, factor.bases)
                      for workload in base.workloads
                      if self._runs(workload) and self.machine.imports(python, workload)]
        unsettled = BASES_BY_NAME["unsettled"]
        if self._runs("scatter"):
            found += [Launch(unsettled, "scatter", FACTORS_BY_NAME[name]) for name in ("TERM=dumb", "nice", "seed")]
        return found

    def _of(self, factor: Factor, base: Base, at: int) -> list[Launch]:
        """Return the launches of a factor on a base: some of its workloads, another choice for each factor."""
        able = [workload for workload in base.workloads
                if self._runs(workload) and (not factor.workloads or workload in factor.workloads)]
        quiet, acting = SHARES.get(base.name, ALL_WORKLOADS)
        most = quiet if base.name in factor.quiet else acting
        picked = [able[(at + step) % len(able)] for step in range(min(most, len(able)))]
        sides = (FACTORS_BY_NAME[factor.against], factor) if factor.against else (factor,)
        return [Launch(base, workload, side, 1 if len(sides) == 2 and side is sides[0] else 0)
                for workload in picked for side in sides]

    def _quick(self) -> list[Launch]:
        found: list[Launch] = []
        for factor in FACTORS:
            if not self.machine.has(factor.needs):
                continue
            if PURE in factor.bases:
                workload = "hash-order" if "hash" in factor.name.lower() else "text" if factor.name == "ascii" else (
                    "arithmetic")
                found.append(Launch(BASES_BY_NAME[PURE], workload, factor))
            if factor.name in QUICK_NUMPY and self._runs("numpy"):
                found.append(Launch(BASES_BY_NAME["numpy"], "numpy", factor))
            if factor.name in QUICK_TORCH and self._runs("convolution"):
                base, workload = QUICK_TORCH[factor.name]
                found.append(Launch(BASES_BY_NAME[base], workload, factor))
        if not self._runs("convolution"):
            self.left_out.append("torch is not importable here: its workloads are left out")
        if not self._runs("numpy"):
            self.left_out.append("numpy is not importable here: its workloads are left out")
        return found


def _spread(launches: list[Launch]) -> list[Launch]:
    """Return launches with every kind of factor on every base spread over the whole: a part says something of all."""
    kinds = [(launch.base.name, launch.factor.kind if launch.factor else "") for launch in launches]
    counts, seen = Counter(kinds), Counter[tuple[str, str]]()
    places: list[tuple[float, int]] = []
    for number, kind in enumerate(kinds):
        places.append((seen[kind] / counts[kind], number))
        seen[kind] += 1
    return [launches[number] for _, number in sorted(places)]

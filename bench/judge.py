"""What judging costs: two documents, two stored vectors, the vector and keys of one document, and a thousand runs.

Prints medians over rounds against the aims, then one line of totals; exits 1 where an aim is missed. Documents are
complete ones with 300 distributions, eight GPUs, and a few differences, as two runs that people compare have.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from documents import complete_document, distribution

from repro_env.canonical import encode, parse
from repro_env.comparability.fields import CLASS_LEVELS, Fields
from repro_env.comparability.judge import judge, judge_vectors
from repro_env.comparability.levels import Question, Scope
from repro_env.comparability.policy import NO_POLICY
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES, RULESET
from repro_env.comparability.several import Member, several
from repro_env.comparability.vector import Vector, class_keys, entry_of_line, from_text, lines_of, project, to_text
from repro_env.fingerprint.validate import part_digests, validate

DISTRIBUTIONS = 300
RUNS, STACKS = 1000, 50
#: facts in which the stacks of many runs differ, as those of a cluster do over months.
DIFFERENCES: dict[str, tuple[Any, ...]] = {
    "threads.torch_intraop": (8, 4, 16, 1), "driver.kernel_module": ("550.54.15", "570.86.10", "535.86.10"),
    "python.version": ("3.11.7", "3.12.1"), "libraries.cudnn.loaded": ("9.1.0", "9.5.1", {"unread": "not-loaded"}),
    "determinism.cudnn_benchmark": (False, True, {"unread": "not-loaded"}),
    "frameworks.torch.version": ("2.6.0", "2.5.1", "2.4.0"), "cpu.torch_capability": ("AVX512", "AVX2"),
    "precision.allow_tf32_matmul": (False, True), "frameworks.numpy.version": ("2.3.5", "2.2.6", "1.26.4"),
}
#: what is measured -> most milliseconds that its median may take; ``None`` where no aim is stated.
AIMS_MS: dict[str, float | None] = {
    "verdict on two parsed documents": 4.0,
    "verdict on two stored vectors": 0.3,
    "vector and keys of a document": 3.0,
    "1 000 runs over 50 stacks: matrix and classes": 1000.0,
    "1 000 distinct stacks: classes": 1000.0,
    "1 000 distinct stacks: matrix and classes": 15_000.0,
    "verdict on two stored vectors, first seen": None,
    "verdict on two vectors in memory": None,
    "reading and validating a document": None,
    "digests of a document": None,
}


def document(**overrides: Any) -> dict[str, Any]:
    """Return a complete document as it came from JSON text, with ``DISTRIBUTIONS`` distributions."""
    filled = complete_document(machine="h100", **overrides)
    installed = filled["stack"]["distributions"]["installed"]
    installed += [distribution(f"package-{number}", f"1.{number}") for number in range(DISTRIBUTIONS - len(installed))]
    parsed: dict[str, Any] = parse(encode(filled))
    return parsed


def keys_of(facts: Facts) -> list[str | None]:
    """Return what is stored of one side for a question: its vector, and its key for each scope and level."""
    vector = project(facts)
    lines = lines_of(vector)
    to_text(vector, lines)
    return list(class_keys(vector, CLASS_LEVELS, Scope, lines=lines).values())


def many(stacks: int) -> list[tuple[Vector, Scope]]:
    """Return the vectors of ``stacks`` distinct stacks, and their scopes."""
    found = []
    for number in range(stacks):
        facts = {"cpu.microarchitecture": f"6-{number}"}
        for position, (path, values) in enumerate(DIFFERENCES.items()):
            facts[path] = values[(number // (position + 1) + position) % len(values)]
        side = Facts.of(document(**facts))
        found.append((project(side), side.scope))
    return found


def members(sides: list[tuple[Vector, Scope]], runs: int) -> list[Member]:
    """Return ``runs`` runs dealt out over ``sides``."""
    return [Member(f"run-{number}", *sides[number % len(sides)]) for number in range(runs)]


def classes(runs: list[Member]) -> int:
    """Return how many classes of guaranteed ``bitwise`` there are, without the matrix."""
    fields = Fields([run.vector for run in runs], Question.COMPARE, NO_POLICY)
    return len({fields.key(index, level, runs[index].scope) for index in range(len(runs)) for level in CLASS_LEVELS})


def of_many() -> dict[str, Callable[[], object]]:
    """Return what is measured over a thousand runs; sides are projected before."""
    few, distinct = members(many(STACKS), RUNS), members(many(RUNS), RUNS)
    return {
        "1 000 runs over 50 stacks: matrix and classes": lambda: several(few),
        "1 000 distinct stacks: classes": lambda: classes(distinct),
        "1 000 distinct stacks: matrix and classes": lambda: several(distinct),
    }


def measured() -> dict[str, Callable[[], object]]:
    """Return what is measured, by name. A side is read afresh each time: nothing is kept from one round to the next."""
    left = document()
    right = document(**{"threads.torch_intraop": 4, "driver.kernel_module": "570.86.10", "python.version": "3.12.1",
                        "libraries.cudnn.loaded": "9.5.1", "determinism.cudnn_benchmark": {"unread": "not-loaded"}})
    data = encode(left)
    sides = [project(Facts.of(side)) for side in (left, right)]
    stored = [to_text(side) for side in sides]

    def stored_verdict() -> object:
        return judge_vectors(from_text(stored[0]), from_text(stored[1]), scope=Scope.PROCESS)

    def first_stored_verdict() -> object:
        entry_of_line.cache_clear()
        from_text.cache_clear()
        return stored_verdict()

    return {
        "verdict on two parsed documents": lambda: judge(Facts.of(left), Facts.of(right)),
        "verdict on two stored vectors": stored_verdict,
        "verdict on two stored vectors, first seen": first_stored_verdict,
        "vector and keys of a document": lambda: keys_of(Facts.of(left)),
        "verdict on two vectors in memory": lambda: judge_vectors(*sides, scope=Scope.PROCESS),
        "reading and validating a document": lambda: validate(parse(data)),
        "digests of a document": lambda: part_digests(left),
    }


def median_ms(work: Callable[[], object], rounds: int, repeats: int) -> float:
    """Return the median over rounds of the mean processor time of ``repeats`` calls, in milliseconds.

    Judging only computes, so what other processes take of the machine is left out.
    """
    times = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeats):
            work()
        times.append((time.process_time() - started) / repeats * 1000)
    return statistics.median(times)


def main() -> int:
    """Measure, print, and say whether every aim was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median is taken (default: 15)")
    parser.add_argument("--repeats", type=int, default=20, help="calls in each round (default: 20)")
    options = parser.parse_args()
    missed = 0
    print(f"{len(RULES)} rules of ruleset {RULESET}, {DISTRIBUTIONS} distributions")
    print(f"{'':47}{'median ms':>10}{'aim ms':>8}")
    single = {name: (work, options.rounds, options.repeats) for name, work in measured().items()}
    for name, (work, rounds, repeats) in {**single, **{name: (work, 1, 1) for name, work in of_many().items()}}.items():
        if repeats > 1:
            work()
        median, aim = median_ms(work, rounds, repeats), AIMS_MS[name]
        missed += aim is not None and median > aim
        print(f"{name:47}{median:10.3f}{aim if aim is not None else '-':>8}  "
              f"{'' if aim is None else 'met' if median <= aim else 'missed'}")
    aims = sum(aim is not None for aim in AIMS_MS.values())
    print(f"judge: {aims - missed} of {aims} aims met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

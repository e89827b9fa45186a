"""Verdicts held against measured bits: real workloads in pairs of environments, each observed, judged and compared.

    python bench/truth.py [--quick] [--keep DIR] [--judge DIR] [--python EXE ...] [--other EXE ...] [--jobs N] [--json]

This is ``repro-env selftest --full`` on the interpreters of this checkout: the one that runs it, and that of
``.venv-frameworks`` where it is there, for SciPy and scikit-learn. Aims, for *repeat* and for *compare*: no guarantee
of bits where they differ; ``possible`` below bitwise on equal bits at most 2 %; factors that must raise no alarm raise
none, 98 %; at least 30 harmless pairs on bases that repeat, 95 % of them guaranteed. Exits 1 where one is missed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from repro_env.cli.main import main

FRAMEWORKS = Path(__file__).resolve().parents[1] / ".venv-frameworks" / "bin" / "python"


def words(given: list[str]) -> list[str]:
    """Return the words of the command: everything, on both interpreters, unless others are named."""
    chosen = [] if "--quick" in given or "--judge" in given else ["--full"]
    if FRAMEWORKS.exists() and "--python" not in given and "--judge" not in given:
        chosen += ["--python", sys.executable, "--python", str(FRAMEWORKS)]
    return ["selftest", *chosen, *(word for word in given if word != "--full")]


if __name__ == "__main__":
    sys.exit(main(words(sys.argv[1:])))

"""The layers that rules belong to, in the order of the rule set, each with what differs in it."""

from __future__ import annotations

#: layer -> what its rules look at, as one sentence.
LAYERS = {
    "known": "Combinations of versions, devices and settings that are known to compute wrongly.",
    "contradictory": "Facts of one side that cannot be true together, so that none of them can be built on.",
    "libraries": "Numeric libraries: which version is loaded, which is installed, and whether it is the right one.",
    "driver": "The GPU driver, and whether it compiles anything that runs.",
    "distributions": "Installed packages that numbers pass through, and what their releases changed.",
    "program": "What the program is and was told: code, arguments, seeds, data, batches, ranks, model.",
    "accelerators": "GPUs and other accelerators: kind, architecture, size, and what random numbers depend on.",
    "precision": "The arithmetic that products, convolutions and sums really use.",
    "frameworks": "Versions and builds of torch, JAX, TensorFlow, NumPy, SciPy and scikit-learn.",
    "determinism": "Switches for repeatable kernels, and kernels that do not repeat or are chosen by timing.",
    "collectives": "How ranks add up what they computed: back end, algorithm, protocol, placement.",
    "threads": "How many threads sums are split over, as far as that takes effect.",
    "cpu": "The instruction set that each library really uses on the CPU.",
    "python": "The interpreter, the operating system, the C library and what is loaded before them.",
}

"""A small real workload: a two-layer network trained with NumPy, deterministic with one thread.

Run by the demo under ``repro-env run``. It reports the digest of its final weights, nothing else.
"""

from __future__ import annotations

import numpy as np
import repro_env
from numpy.typing import NDArray

SAMPLES, FEATURES, HIDDEN, STEPS = 1024, 256, 512, 60


def train(seed: int) -> tuple[NDArray[np.float32], float]:
    """Return the flattened final weights and the final loss."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
    y = np.tanh(x @ rng.standard_normal((FEATURES, 1), dtype=np.float32))
    w1 = rng.standard_normal((FEATURES, HIDDEN), dtype=np.float32) / np.float32(16)
    w2 = rng.standard_normal((HIDDEN, 1), dtype=np.float32) / np.float32(22)
    loss = 0.0
    for _ in range(STEPS):
        hidden = np.tanh(x @ w1)
        error = hidden @ w2 - y
        loss = float(np.mean(error * error))
        gradient = error / np.float32(SAMPLES)
        w1 -= np.float32(0.1) * (x.T @ ((gradient @ w2.T) * (1 - hidden * hidden)))
        w2 -= np.float32(0.1) * (hidden.T @ gradient)
    return np.concatenate([w1.ravel(), w2.ravel()]), loss


def main() -> None:
    """Train once and report the weights."""
    weights, loss = train(seed=7)
    repro_env.report_result("weights", weights)
    print(f"final loss {loss:.6f}")


if __name__ == "__main__":
    main()

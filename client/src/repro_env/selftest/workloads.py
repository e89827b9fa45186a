"""Small programs as people write them, each ending in the digest of all that it computed.

Run as a script of its own, ``workloads.py NAME``, from a copy that lies in a repository of its own; so it imports
nothing of ours. Settings come as one JSON object on standard input, where no observation looks: what a verdict
says of a setting was seen in the process, or was declared by whoever started it. The last line printed is a JSON
object with ``digest`` (SHA-256 of weights, outputs or texts).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import random
import sys
from importlib import import_module
from typing import Any, Callable

STEPS = 4
Settings = dict[str, Any]


class Results:
    """What a program computed, folded into one digest."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *values: Any) -> None:
        """Fold arrays, tensors and plain values in, by their bytes or their exact text."""
        for value in values:
            array = value.detach().cpu() if hasattr(value, "detach") else value
            if hasattr(array, "view") and not hasattr(array, "tobytes"):
                array = array.contiguous().numpy()
            self._hash.update(array.tobytes() if hasattr(array, "tobytes") else repr(value).encode("utf-8"))

    @property
    def digest(self) -> str:
        """The digest so far."""
        return f"sha256:{self._hash.hexdigest()}"


#: elementwise functions whose kernels MKL chooses at the first call.
ELEMENTWISE = (
    "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "floor", "lgamma", "log",
    "log10", "log1p", "log2", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")


def warm_up(torch: Any) -> None:
    """Call every elementwise function on one element, so that no two threads ask for its kernel at once."""
    for kind in (torch.float32, torch.float64):
        for name in ELEMENTWISE:
            getattr(torch, name)(torch.full((1,), 0.5, dtype=kind))


#: setting -> what torch is told; without the setting nothing is.
SWITCHES: dict[str, Callable[[Any, Any], Any]] = {
    "threads": lambda torch, value: torch.set_num_threads(value),
    "interop": lambda torch, value: torch.set_num_interop_threads(value),
    "warm": lambda torch, value: warm_up(torch),
    "deterministic": lambda torch, value: torch.use_deterministic_algorithms(value),
    "matmul": lambda torch, value: torch.set_float32_matmul_precision(value),
    "fp32": lambda torch, value: setattr(torch.backends, "fp32_precision", value),
    "onednn": lambda torch, value: setattr(torch.backends.mkldnn, "enabled", value),
    "onednn_deterministic": lambda torch, value: setattr(torch.backends.mkldnn, "deterministic", value),
    "flush": lambda torch, value: torch.set_flush_denormal(value),
    "fast_path": lambda torch, value: torch.backends.mha.set_fastpath_enabled(value),
    "dtype": lambda torch, value: torch.set_default_dtype(getattr(torch, value)),
}


def torch_as(settings: Settings) -> Any:
    """Import torch, set it as asked, seed it."""
    import torch

    for name, switch in SWITCHES.items():
        if name in settings:
            switch(torch, settings[name])
    seed(settings)
    torch.manual_seed(settings.get("seed", 0))
    return torch


def seed(settings: Settings) -> None:
    """Seed the generators of Python, and of NumPy where it is there already."""
    random.seed(settings.get("seed", 0))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(settings.get("seed", 0))


def train(torch: Any, model: Any, batches: Any, settings: Settings, results: Results) -> None:
    """Train on batches of inputs and labels; fold every loss and the weights in."""
    if settings.get("channels_last"):
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=settings.get("foreach"))
    called = torch.compile(model) if settings.get("compile") else model
    autocast = torch.autocast("cpu", torch.bfloat16) if settings.get("autocast") else contextlib.nullcontext()
    for inputs, labels in batches:
        optimizer.zero_grad()
        with autocast:
            loss = torch.nn.functional.cross_entropy(called(inputs), labels)
        loss.backward()
        optimizer.step()
        results.add(loss)
    results.add(*model.state_dict().values())


def made(torch: Any, settings: Settings, shape: tuple[int, ...], classes: int) -> list[Any]:
    """Return batches of made data, drawn from a generator of their own."""
    generator = torch.Generator().manual_seed(1000 + settings.get("data_seed", 0))
    size = settings.get("batch", 64)
    inputs = torch.randn(STEPS * 64, *shape, generator=generator)
    labels = torch.randint(classes, (STEPS * 64,), generator=generator)
    return [(inputs[at:at + size], labels[at:at + size]) for at in range(0, STEPS * 64, size)]


def linear(settings: Settings, results: Results) -> None:
    """Train two linear layers with a tanh between them."""
    torch = torch_as(settings)
    model = torch.nn.Sequential(torch.nn.Linear(96, 384), torch.nn.Tanh(), torch.nn.Linear(384, 10))
    train(torch, model, made(torch, settings, (96,), 10), settings, results)


def convolution(settings: Settings, results: Results) -> None:
    """Train two convolutions with batch norm and pooling."""
    torch = torch_as(settings)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                          nn.Linear(512, 10))
    train(torch, model, made(torch, settings, (3, 20, 20), 10), settings, results)


def transformer(settings: Settings, results: Results) -> None:
    """Train a small transformer with dropout; then its outputs in evaluation."""
    torch = torch_as(settings)
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
    body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(body, nn.Flatten(), nn.Linear(64 * 12, 10))
    batches = made(torch, settings, (12, 64), 10)
    train(torch, model, batches, settings, results)
    model.eval()
    with torch.no_grad():
        results.add(model(batches[0][0]))


class Augmented:
    """Made samples with noise added as they are taken: from the global generator, or from one for each index."""

    def __init__(self, settings: Settings, *, indexed: bool) -> None:
        import numpy as np

        self.indexed = indexed
        self.samples = np.random.default_rng(settings.get("data_seed", 0)).normal(size=(96, 32)).astype("float32")

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        """Return one sample with its noise, and its label."""
        import numpy as np
        import torch

        draw = np.random.default_rng(index) if self.indexed else np.random  # the global one, as augmentations do
        noise = draw.normal(size=32).astype("float32")
        return torch.from_numpy(self.samples[index] + 0.1 * noise), index % 10


def begin_worker(number: int) -> None:
    """Seed a loader's worker by its number."""
    import numpy as np

    np.random.seed(77 + number)  # noqa: NPY002 - as worker_init_fn is written


def loader(settings: Settings, results: Results, *, indexed: bool = False) -> None:
    """Train on what a loader augments from the global generator of NumPy."""
    import numpy as np  # noqa: F401 - torch_as seeds what is there

    torch = torch_as(settings)
    workers = settings.get("workers", 0)
    own = torch.Generator().manual_seed(5) if settings.get("generator") else None
    options = {name: settings[name] for name in ("prefetch_factor", "multiprocessing_context", "persistent_workers")
               if name in settings and workers}
    batches = torch.utils.data.DataLoader(
        Augmented(settings, indexed=indexed), batch_size=settings.get("batch", 24), shuffle=True, num_workers=workers,
        worker_init_fn=begin_worker if settings.get("worker_init") else None, generator=own, **options)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    for _ in range(2):
        train(torch, model, batches, settings, results)


def loader_indexed(settings: Settings, results: Results) -> None:
    """Do the same with one generator for each sample, whoever takes it."""
    loader(settings, results, indexed=True)


def denormal(settings: Settings, results: Results) -> None:
    """Multiply numbers so small that a processor may flush them to zero, as a layer of a model does."""
    torch = torch_as(settings)
    layer = torch.nn.Bilinear(1, 1, 4096, bias=False)
    torch.nn.init.constant_(layer.weight, 1e-30)
    small = layer(torch.full((8, 1), 1e-4), torch.full((8, 1), 1e-5))
    results.add(small, small.sum(), small * torch.linspace(1e-3, 1e-1, 4096))


def scatter(settings: Settings, results: Results) -> None:
    """Add into few places from several threads at once: does not repeat unless asked to."""
    torch = torch_as(settings)
    index = torch.randint(7, (400_000,))
    drawn = torch.nn.Identity()(torch.randn(400_000))
    results.add(torch.zeros(7).index_put((index,), drawn, accumulate=True))


def numpy_algebra(settings: Settings, results: Results) -> None:
    """Products, decompositions and sums of NumPy."""
    import numpy as np

    seed(settings)
    draw = np.random.default_rng(settings.get("data_seed", 0))
    for kind in ("float32", "float64"):
        matrix = draw.normal(size=(160, 160)).astype(kind)
        results.add(matrix @ matrix, np.linalg.svd(matrix)[1], np.linalg.eigh(matrix + matrix.T)[0],
                    np.linalg.solve(matrix, matrix[0]), np.exp(matrix), np.sin(matrix), matrix.sum(),
                    matrix.mean(0), np.einsum("ij,kj->ik", matrix, matrix))
    results.add(np.random.normal(size=64))  # noqa: NPY002 - seeded with the program


def scipy_algebra(settings: Settings, results: Results) -> None:
    """Least squares, a matrix exponential, an interpolation and an optimisation of SciPy."""
    import numpy as np

    linalg, fft, optimize = (import_module(f"scipy.{name}") for name in ("linalg", "fft", "optimize"))
    draw = np.random.default_rng(settings.get("data_seed", 0))
    matrix = draw.normal(size=(120, 120))
    results.add(linalg.lstsq(matrix, matrix[0])[0], linalg.expm(matrix / 20), linalg.lu(matrix)[2],
                fft.rfft(matrix[0]), optimize.minimize(lambda x: ((x - 1) ** 4).sum(), matrix[0][:8]).x)


def scikit(settings: Settings, results: Results) -> None:
    """Fit a forest, clusters, components and a logistic regression of scikit-learn."""
    import numpy as np

    cluster, decomposition, ensemble, linear_model = (
        import_module(f"sklearn.{name}") for name in ("cluster", "decomposition", "ensemble", "linear_model"))
    draw = np.random.default_rng(settings.get("data_seed", 0))
    inputs = draw.normal(size=(600, 20))
    labels = (inputs[:, 0] + inputs[:, 1] > 0).astype(int)
    state = settings.get("seed", 0)
    forest = ensemble.RandomForestClassifier(40, random_state=state, n_jobs=settings.get("n_jobs", 1))
    results.add(forest.fit(inputs, labels).predict_proba(inputs),
                decomposition.PCA(5, random_state=state).fit_transform(inputs),
                linear_model.LogisticRegression().fit(inputs, labels).coef_,
                cluster.KMeans(4, n_init=1, random_state=state).fit(inputs).cluster_centers_)


def arithmetic(settings: Settings, results: Results) -> None:
    """Compute with the floats, the integers and the generator of Python alone."""
    seed(settings)
    numbers = [random.gauss(0.0, 1.0) for _ in range(4000)]
    results.add(sum(numbers), math.fsum(numbers), [math.exp(x) * math.sin(x) for x in numbers[:500]],
                pow(3, 4001, 10**40 + 7), random.sample(range(1000), 50))


def hash_order(settings: Settings, results: Results) -> None:
    """Walk a set of words, which come in the order of their hashes."""
    seed(settings)
    words = {f"word-{number}" for number in range(300)}
    results.add(list(words), random.choice(list(words)))  # noqa: S311 - no secret


def text(settings: Settings, results: Results) -> None:
    """Read a text without naming its encoding, and format numbers."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt")
    with open(path, errors="replace") as stream:
        results.add(stream.read(), f"{1234.5:n}", sorted(os.environ.get("WORDS", "b a").split()))


WORKLOADS: dict[str, Callable[[Settings, Results], None]] = {
    "linear": linear, "convolution": convolution, "transformer": transformer, "loader": loader,
    "loader-indexed": loader_indexed, "denormal": denormal, "scatter": scatter, "numpy": numpy_algebra,
    "scipy": scipy_algebra, "scikit-learn": scikit, "arithmetic": arithmetic, "hash-order": hash_order, "text": text,
}


def main(words: list[str]) -> int:
    """Run one workload with the settings on standard input; print its digest."""
    given = sys.stdin.read()
    results = Results()
    WORKLOADS[words[0]](json.loads(given) if given.strip() else {}, results)
    sys.stdout.write(json.dumps({"digest": results.digest}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What one version number does not tell apart."""

from __future__ import annotations

from documents import distribution, framework, library

from repro_env.comparability.rules.builds import BUILT
from tests.client.comparability.planted.planting import INSTALLED, NCCL, ROCM, Planted, cpu, gpu

_OWN = distribution("mymodels", "0.1.0", origin="file:///home/team/models", editable=True)


def _build(name: str) -> Planted:
    common = {**ROCM, **({"layout.world_size": 2, "collectives.backend": "rccl"} if name == "rccl" else {})}
    if name in ("hip_runtime", "rocblas", "hipblaslt", "miopen", "rccl"):
        sides = [{**common, f"libraries.{name}": {**library("6.2.1"), "build_id": build}} for build in ("0a1b", "0c2d")]
        return Planted("h100", *sides)
    return gpu(f"libraries.{name}.build_id", "0a1b", "0c2d", **(NCCL if name == "nccl" else {}))


PLANTED: dict[str, Planted] = {
    **{f"{kind.name.replace('_', '-')}-build": _build(kind.name) for kind in BUILT},
    "numpy-build": cpu("frameworks.numpy.build", "wheel", "conda"),
    "scipy-build": cpu("frameworks.scipy.build", "wheel", "source"),
    "scikit-learn-build": cpu("frameworks.scikit_learn.build", "conda", "wheel"),
    "jax-build": cpu("frameworks.jax", *(framework("0.5.3", build=place) for place in ("wheel", "conda"))),
    "tensorflow-build": cpu("frameworks.tensorflow", *(framework("2.10.0", build=place) for place in (
        "wheel", "vendor"))),
    "compiler-untold": cpu("determinism.inductor", None, {"max_autotune": "false"}, **{"model.compile": True}),
    "package-code-untold": cpu(INSTALLED, [{**_OWN, "editable": False}], [_OWN]),
}

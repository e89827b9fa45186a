"""How a difference is planted in two documents that are otherwise equal."""

from __future__ import annotations

from typing import Any, NamedTuple

from documents import Document, distribution, framework, h100

#: what a NumPy program without torch looks like.
NUMPY_ONLY = {"frameworks.torch.imported": False}
NCCL = {"collectives.backend": "nccl", "layout.world_size": 2}
ROCM = {"frameworks.backend": "rocm"}
JAX = {"frameworks.jax": framework("0.5.3"), "determinism.xla_deterministic": True}
TENSORFLOW = {"frameworks.tensorflow": framework("2.10.0"), "determinism.tensorflow_op_determinism": True,
              "precision.tensorflow_tf32": False, "precision.tensorflow_policy": "float32"}


class Planted(NamedTuple):
    """What differs between two documents that are otherwise equal; a Condition is planted on the right."""

    machine: str
    left: dict[str, Any]
    right: dict[str, Any]


def cpu(path: str, left: Any, right: Any, **common: Any) -> Planted:
    return Planted("cpu", {**common, path: left}, {**common, path: right})


def gpu(path: str, left: Any, right: Any, **common: Any) -> Planted:
    return Planted("h100", {**common, path: left}, {**common, path: right})


def cards(**facts: Any) -> list[Document]:
    return [h100(**facts)]


def packages(**versions: str) -> list[Document]:
    return [distribution(name.replace("_", "-"), version) for name, version in versions.items()]


DEVICES, INSTALLED = "accelerators.devices", "distributions.installed"
GTX1650 = cards(name="NVIDIA GeForce GTX 1650", compute_capability="7.5", sm_count=14, threads_per_sm=1024)
PASCAL = cards(name="NVIDIA GeForce GTX 1080 Ti", compute_capability="6.1", sm_count=28)
VOLTA = cards(name="Tesla V100-SXM2-16GB", compute_capability="7.0", sm_count=80)
B200 = cards(name="NVIDIA B200", compute_capability="10.0", sm_count=148)
OLD = ["sm_37", "sm_50", "sm_60", "sm_70"]
FALCON = {"frameworks.torch.version": "1.8.1", "frameworks.torch.cuda_build": "11.1",
          "frameworks.torch.arch_list": ["sm_60"], DEVICES: PASCAL}
POOL = {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8}

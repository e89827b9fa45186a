"""Combinations known to compute wrongly, and releases at which a quantity changed its meaning."""

from __future__ import annotations

from typing import Any

from documents import distribution, framework, library

from tests.client.comparability.planted.planting import (
    B200,
    DEVICES,
    FALCON,
    GTX1650,
    INSTALLED,
    NUMPY_ONLY,
    PASCAL,
    TENSORFLOW,
    VOLTA,
    Planted,
    cards,
    cpu,
    gpu,
    packages,
)

TORCH, CUDA, ARCH = "frameworks.torch.version", "frameworks.torch.cuda_build", "frameworks.torch.arch_list"
BACKEND, LOOSE = "frameworks.backend", {"determinism.deterministic_algorithms": False}
MPS = {BACKEND: "mps"}


def both(machine: str, **facts: Any) -> Planted:
    """A combination of which both sides are: nothing differs but that it computes wrongly."""
    return Planted(machine, facts, facts)


def mps(version: str, **facts: Any) -> Planted:
    return both("cpu", **{**MPS, TORCH: version, **facts})


def rocm(version: str, gfx_target: str, build: str, **facts: Any) -> Planted:
    card = cards(vendor="amd", name="AMD card", compute_capability=None, gfx_target=gfx_target)
    return both("h100", **{DEVICES: card, BACKEND: "rocm", TORCH: version, CUDA: None, ARCH: [gfx_target],
                           "frameworks.torch.rocm_build": build, **facts})


def blas(version: str, **facts: Any) -> Planted:
    return both("cpu", **{**NUMPY_ONLY, "libraries.openblas": library(version), **facts})


def with_torch(version: str, cuda: str, cudnn: str | None, **facts: Any) -> Planted:
    """A GPU program whose torch, CUDA, cuDNN and NumPy belong together."""
    return both("h100", **{TORCH: version, CUDA: cuda, "libraries.cudnn": library(cudnn) if cudnn else None,
                           "frameworks.numpy": framework("1.26.4"), **facts})


VOLTA_HALF = {DEVICES: VOLTA, ARCH: ["sm_70"], "precision.autocast": "float16"}
ZERO_2 = {"layout.sharding": "zero-2"}
WRONG: dict[str, Planted] = {
    "known-wrong-build": gpu("frameworks.torch.build", "conda", "wheel", **FALCON),
    "known-gtx16-half": gpu("precision.autocast", None, "float16", **{DEVICES: GTX1650}),
    "known-torch-1.8-pip-pascal": both("h100", **FALCON),
    "known-torch-1.7-cuda-11.0-pascal": with_torch("1.7.1", "11.0", None, **{DEVICES: PASCAL, ARCH: ["sm_60"]}),
    "known-cublas-9-tall": gpu("libraries.cublas", library("9.2.0"), library("9.0.0"),
                               **{DEVICES: PASCAL, ARCH: ["sm_60"]}),
    "known-cublas-10.1-half-volta": gpu("precision.autocast", None, "float16",
                                        **{DEVICES: VOLTA, ARCH: ["sm_70"], TORCH: "1.6.0", CUDA: "10.1"}),
    "known-cudnn-7-cuda-8-volta": with_torch("0.4.1", "8.0", "7.0.4", **{**VOLTA_HALF, "precision.autocast": None}),
    "known-cudnn-7.6-conv3d-half": with_torch("1.5.1", "10.2", "7.6.5", **VOLTA_HALF),
    "known-sdpa-2.1-memory-efficient": with_torch("2.1.2+cu121", "12.1", "8.9.2"),
    "known-sdpa-2.5.0-cudnn": both("h100", **{TORCH: "2.5.0+cu124"}, **LOOSE),
    "known-sdpa-2.11-cudnn-hopper": with_torch("2.13.0+cu128", "12.8", "9.20.0", **LOOSE),
    "known-cudnn-attention-b200": with_torch("2.11.0+cu128", "12.8", "9.19.0", **LOOSE,
                                             **{DEVICES: B200, ARCH: ["sm_100"], "driver.kernel_module": "570.86.10",
                                                "driver.user_libcuda": "570.86.10"}),
    "known-compile-2.10-layer-norm": with_torch("2.10.0+cu128", "12.8", "9.10.2", **{"model.compile": True}),
    "known-xformers-0.0.16-training": both(
        "h100", **{DEVICES: cards(name="NVIDIA GeForce RTX 3090", compute_capability="8.6", sm_count=82,
                                  threads_per_sm=1536), ARCH: ["sm_86"], INSTALLED: packages(xformers="0.0.16")}),
    "known-sdpa-2.6-rocm": rocm("2.6.0+rocm6.2.4", "gfx942", "6.2.41134"),
    "known-rocm-7.2-gfx1201": rocm("2.13.0+rocm7.2", "gfx1201", "7.2.1"),
    "known-rocm-7.15-gfx1151": rocm("2.14.0", "gfx1151", "7.15.0"),
    "known-torch-2.0-gfx906": rocm("2.0.1+rocm5.4.2", "gfx906", "5.4.22803"),
    "known-mps-2022": cpu(TORCH, "1.13.0", "1.12.1", **MPS),
    "known-mps-lstm": mps("1.13.1"),
    "known-mps-optimizers": mps("2.3.1"),
    "known-mps-batched-products": mps("2.1.0"),
    "known-mps-2.8-linear": mps("2.8.0"),
    "known-mps-attention": mps("2.10.0"),
    "known-mps-long-products": mps("2.12.0", **{"cpu.model": "Apple M1 Pro"}),
    "known-mps-macos-27": mps("2.12.0", **{"system.os_name": "macOS 27.0"}),
    "known-tensorflow-metal": both(
        "cpu", **{**TENSORFLOW, "frameworks.tensorflow": framework("2.14.0"), "system.os_family": "macos",
                  INSTALLED: packages(tensorflow_metal="1.1.0")}),
    "known-mkldnn-2019-avx512": cpu(TORCH, "1.1.0", "1.0.1"),
    "known-torch-1.0-sliced-convolution": both("cpu", **{TORCH: "1.0.1", "cpu.instruction_sets": ["avx2"]}),
    "known-mkl-2020-amd": cpu("libraries.mkl", library("2020.1"), library("2020.0"),
                              **{"cpu.vendor": "AuthenticAMD"}),
    "known-torch-2.4.0-windows": cpu(TORCH, "2.4.1+cpu", "2.4.0+cpu", **{"system.os_family": "windows"}),
    "known-nnpack-1.8-arm": both("cpu", **{TORCH: "1.8.1", "cpu.architecture": "aarch64",
                                           "frameworks.numpy": framework("1.26.4")}),
    "known-torch-1.9-apple-dot": both("cpu", **{TORCH: "1.9.0", "cpu.architecture": "arm64",
                                                "system.os_family": "macos", "frameworks.numpy": framework("1.26.4")}),
    "known-openblas-0.3.5-avx512": blas("0.3.6"),
    "known-openblas-0.3.20-cooper-lake": blas("0.3.20"),
    "known-openblas-0.3.33-apple": blas("0.3.33", **{"system.os_family": "macos", "cpu.architecture": "arm64"}),
    "known-openblas-0.3.16-avx512": blas("0.3.16"),
    "known-openblas-0.3.22-getrf": blas("0.3.22"),
    "known-openblas-0.3.23-apple": blas("0.3.23", **{"system.os_family": "macos", "cpu.architecture": "arm64"}),
    "known-scipy-0.13.0-label": both("cpu", **{"frameworks.scipy": framework("0.13.0")}),
    "known-scipy-1.16.0-sqrtm": both("cpu", **{"frameworks.scipy": framework("1.16.0")}),
    "known-jaxlib-0.1-aliasing": both("cpu", **{INSTALLED: packages(jaxlib="0.1.70")}),
    "known-jaxlib-0.4.28": both("cpu", **{INSTALLED: packages(jaxlib="0.4.28")}),
    "known-jax-0.4.32-tpu": both("cpu", **{"frameworks.jax": framework("0.4.32"), BACKEND: "tpu",
                                           "determinism.xla_deterministic": True, "layout.jax_devices": 8}),
    "known-deepspeed-0.17.6-zero-2": both("h100", **ZERO_2, **{INSTALLED: packages(deepspeed="0.18.2")}),
    "known-deepspeed-offload": both("h100", **{INSTALLED: packages(deepspeed="0.16.4"),
                                               "layout.sharding": "zero-2, offload to the CPU",
                                               "layout.accumulation": 4}),
    "known-nccl-2.27-one-rank": both("h100", **{"libraries.nccl": library("2.27.5"), "collectives.backend": "nccl"}),
    "known-iommu-peer-copies": gpu("declared.values", {"iommu": "off"}, {"iommu": "on"}),
    "known-faulty-host": cpu("declared.values", {"node-health": "ok"}, {"node-health": "faulty"}),
    "stated-hardware": cpu("declared.values", {"hardware": "AWS"}, {"hardware": "home PC"}),
    "stated-gpu-hardware": gpu("declared.values", {"hardware": "first machine"}, {"hardware": "second machine"}),
}


def versions(package: str, before: str, since: str) -> Planted:
    return cpu(INSTALLED, [distribution(package, before)], [distribution(package, since)])


KERAS = {name: value for name, value in TENSORFLOW.items() if name != "frameworks.tensorflow"}
CHANGES: dict[str, Planted] = {
    "change-transformers-loss": versions("transformers", "4.47.1", "4.51.3"),
    "change-transformers-token-mean": versions("transformers", "4.44.0", "4.48.0"),
    "change-flash-attn-causal": versions("flash-attn", "2.0.9", "2.1.0"),
    "change-torchvision-antialias": versions("torchvision", "0.16.2", "0.17.0"),
    "change-pillow-resize": versions("pillow", "6.2.2", "7.0.0"),
    "change-librosa-resample": versions("librosa", "0.9.2", "0.10.0"),
    "change-xgboost-metric": versions("xgboost", "1.2.1", "1.3.0"),
    "change-xgboost-tree-method": versions("xgboost", "1.7.6", "2.0.0"),
    "change-torch-scheduler-order": cpu(TORCH, "1.0.1", "1.1.0", **{BACKEND: "xpu"}),
    "change-torch-grid-sample": cpu(TORCH, "1.2.0", "1.3.0"),
    "change-torch-floor-divide": cpu(TORCH, "1.12.1", "1.13.0"),
    "change-scikit-learn-0.22": cpu("frameworks.scikit_learn", framework("0.21.3"), framework("0.22.2")),
    "change-scikit-learn-kmeans": cpu("frameworks.scikit_learn", framework("1.3.2"), framework("1.4.0")),
    "change-keras-optimizers": cpu("frameworks.tensorflow", framework("2.10.0"), framework("2.11.0"), **KERAS),
    "change-keras-3": cpu("frameworks.tensorflow", framework("2.15.0"), framework("2.16.1"), **KERAS),
    "change-numpy-binomial": cpu("frameworks.numpy", framework("2.4.2"), framework("2.5.0")),
}
PLANTED: dict[str, Planted] = {**WRONG, **CHANGES}

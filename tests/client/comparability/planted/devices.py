"""Devices, drivers, their libraries and collectives."""

from __future__ import annotations

from typing import Any

from documents import h100, library

from repro_env.comparability.rules.libraries import KINDS
from tests.client.comparability.planted.planting import DEVICES, NCCL, OLD, Planted, cards, cpu, gpu

PLANTED: dict[str, Planted] = {
    "cudnn-wrong": gpu("libraries.cudnn.loaded", "9.1.0", "8.9.7"),
    "cublas-wrong": gpu("libraries.cublas.loaded", "12.4.5", "12.1.3"),
    "arch-not-in-build": gpu("frameworks.torch.arch_list", [*OLD, "sm_90"], OLD),
    "cuda-older-than-gpu": gpu("frameworks.torch.cuda_build", "12.4", "11.3"),
    "backend-maturity": cpu("frameworks.backend", "cpu", "mps"),
    "backend": gpu("frameworks.backend", "cuda", "xpu"),
    "gpu-vendor": gpu(DEVICES, cards(), [*cards(), {**h100(), "vendor": "amd", "gfx_target": "gfx942",
                                                   "compute_capability": "9.0"}],
                      **{"frameworks.torch.arch_list": ["sm_90", "gfx942"]}),
    "rng-launch-geometry": gpu(DEVICES, cards(), cards(threads_per_sm=1536)),
    "gpu-architecture": gpu(DEVICES, cards(), cards(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0"),
                            **{"precision.allow_tf32_matmul": None}),
    "mig-profile": gpu(DEVICES, cards(mig_profile="3g.40gb", sm_count=60), cards(mig_profile="4g.40gb", sm_count=60)),
    "gpu-sm-count": gpu(DEVICES, cards(), cards(sm_count=114), **{"random.largest_cuda_draw": 1000}),
    "gpu-model": gpu(DEVICES, cards(), cards(name="NVIDIA H200")),
    "collective-backend": gpu("collectives.backend", "nccl", "gloo"),
    "collective-topology": gpu("collectives.topology", "one rack", "two racks", **NCCL),
    "collective-algorithm": gpu("collectives.algorithm", "Ring", "Tree", **NCCL),
    "collective-protocol": gpu("collectives.protocol", "Simple", "LL", **NCCL),
    "collective-channels": gpu("variables.values.NCCL_MAX_NCHANNELS", "8", "16", **NCCL),
    "nvls": gpu("collectives.nvls", False, True, **NCCL),
    "openblas-build": cpu("libraries.openblas.build_id", "0a", "0b"),
    "unvetted-kernels": gpu("libraries.unvetted_kernels", ["kernel.so@0a"], ["kernel.so@0b"]),
    "library-not-the-installed": gpu("libraries.cudnn.conflicts", [], ["not-installed"]),
    "library-conflicts": gpu("libraries.cudnn.conflicts", [], ["two-copies"]),
    "cuda-build": gpu("frameworks.torch.cuda_build", "12.4", "12.6"),
    "driver-compiles": gpu("driver.user_libcuda", "550.54.15", "535.86.10",
                           **{"frameworks.torch.arch_list": ["sm_80", "compute_80"]}),
    "driver-compat": gpu("driver.compat", False, True),
}
for _kind in KINDS:
    _slug, _machine = _kind.name.replace("_", "-"), "h100" if _kind.name not in ("mkl", "onednn", "openblas") else "cpu"
    _common: dict[str, Any] = {f"libraries.{_kind.name}": library("9.1.0"), "collectives.backend": "nccl"}
    for _fact in ("loaded", "installed"):
        PLANTED.setdefault(f"{_slug}-{_fact}", Planted(
            _machine, _common, {**_common, f"libraries.{_kind.name}": {**library("9.1.0"), _fact: "9.2.0"}}))

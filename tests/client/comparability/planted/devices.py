"""Devices, drivers, their libraries and collectives."""

from __future__ import annotations

from typing import Any

from documents import framework, h100, library

from repro_env.comparability.rules.libraries import KINDS
from tests.client.comparability.planted.planting import DEVICES, NCCL, OLD, ROCM, Planted, cards, cpu, gpu

#: in the process what is loaded stands for what is installed.
FROM_OUTSIDE = frozenset(f"{kind.name.replace('_', '-')}-installed" for kind in KINDS if kind.one_form)
CU124 = framework("2.5.1+cu124", cuda_build="12.4", arch_list=["sm_80", "sm_90"])
V100_TORCH = framework("2.10.0+cu128", cuda_build="12.8", arch_list=["sm_70", "sm_80"])
MI300X = {**h100(), "vendor": "amd", "name": "AMD Instinct MI300X", "compute_capability": None, "gfx_target": "gfx942",
          "sm_count": 304, "form_factor": "OAM"}
RX7900 = {**MI300X, "name": "AMD Radeon RX 7900 XTX", "gfx_target": "gfx1100", "sm_count": 48, "form_factor": None}
ROCM_TORCH = framework("2.5.1+rocm6.2", rocm_build="6.2", arch_list=["gfx942", "gfx1100"])
AMD = {**ROCM, DEVICES: [MI300X], "frameworks.torch": ROCM_TORCH, "libraries.cudnn": None}
RADEON = {**AMD, DEVICES: [RX7900]}
A100 = cards(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0", sm_count=108)
TWO_KINDS = [*cards(), *A100]
M2 = {**h100(), "vendor": "apple", "name": "Apple M2", "compute_capability": None, "sm_count": 10,
      "threads_per_sm": None, "form_factor": None}
MAC = {"frameworks.backend": "mps", DEVICES: [M2], "system.os_name": "macOS 14.5"}
HOPPER = {"frameworks.torch.version": "2.13.0", "determinism.deterministic_algorithms": False}
PLANTED: dict[str, Planted] = {
    "cudnn-wrong": gpu("libraries.cudnn.loaded", "9.1.0", "8.9.7"),
    "cublas-wrong": gpu("libraries.cublas.loaded", "12.4.5", "12.1.3"),
    "arch-not-in-build": gpu("frameworks.torch.arch_list", [*OLD, "sm_90"], OLD),
    "cuda-older-than-gpu": gpu("frameworks.torch.cuda_build", "12.4", "11.3"),
    "gpu-older-than-build": gpu("frameworks.torch", V100_TORCH, {**V100_TORCH, "version": "2.11.0+cu128"}, **{
        DEVICES: cards(name="Tesla V100", compute_capability="7.0", sm_count=80)}),
    "autocast-architecture": gpu(DEVICES, cards(), A100, **{
        "precision.autocast": "bfloat16", "precision.allow_tf32_matmul": None, "random.largest_cuda_draw": 1000}),
    "backend-maturity": cpu("frameworks.backend", "cpu", "mps"),
    "backend": gpu("frameworks.backend", "cuda", "xpu"),
    "gpu-vendor": Planted("h100", {}, AMD),
    "rng-launch-geometry": gpu(DEVICES, cards(), cards(threads_per_sm=1536)),
    "gpu-architecture": gpu(DEVICES, cards(), A100,
                            **{"precision.allow_tf32_matmul": None, "random.largest_cuda_draw": 1000}),
    "mig-profile": gpu(DEVICES, cards(mig_profile="3g.40gb", sm_count=60), cards(mig_profile="4g.40gb", sm_count=60)),
    "gpu-sm-count": gpu(DEVICES, cards(), cards(sm_count=114), **{"random.largest_cuda_draw": 1000}),
    "gpu-model": gpu(DEVICES, cards(), cards(name="NVIDIA H200")),
    "mixed-devices": gpu(DEVICES, TWO_KINDS, TWO_KINDS),
    "device-fault": gpu("declared.values", {"xid": "79"}, {"xid": "79"}),
    "cudnn-attention-gate": gpu("libraries.cudnn.loaded", "9.13.0", "9.19.0", **HOPPER,
                                **{"libraries.cudnn.compiled_against": "9.13.0"}),
    "triton-generated": gpu("libraries.triton.loaded", "3.1.0", "3.3.1",
                            **{"determinism.inductor": {"max_autotune": "false"}}),
    "rocm-tf32": gpu("variables.values.HIPBLASLT_ALLOW_TF32", None, "1", **AMD,
                     **{"precision.allow_tf32_matmul": True}),
    "rocm-tf32-convolutions": gpu("precision.allow_tf32_cudnn", False, True, **{
        **AMD, "frameworks.torch": {**ROCM_TORCH, "version": "2.11.0+rocm6.2"}}),
    "miopen-search": gpu("variables.values.MIOPEN_FIND_MODE", None, None, **{
        **AMD, "frameworks.torch": {**ROCM_TORCH, "version": "2.9.0+rocm6.2"}}),
    "rocm-fused-attention": gpu("variables.values.TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", None, "1", **RADEON),
    "rocm-strict-holes": gpu("frameworks.numpy", framework("1.26.4"), framework("1.26.4"), **{
        **AMD, "frameworks.torch": {**ROCM_TORCH, "version": "2.1.0+rocm6.2"}}),
    "macos-release": gpu("system.os_name", "macOS 14.5", "macOS 15.1", **{**MAC, "system.os_name": None}),
    "mps-switches": gpu("variables.values.PYTORCH_MPS_FAST_MATH", None, "1", **MAC),
    "mps-strict-holes": gpu("determinism.warn_only", False, False, **MAC),
    "reduce-dtype": gpu("declared.values", {"reduce-dtype": "float32"}, {"reduce-dtype": "bfloat16"}, **NCCL),
    "device-links": gpu("accelerators.links", ["nvlink-18 x 28"], ["pcie x 28"], **NCCL),
    "fused-communication": gpu("declared.values", {"tp-comm-overlap": "on"}, {"tp-comm-overlap": "on"}, **NCCL),
    "collective-backend": gpu("collectives.backend", "nccl", "gloo", **{"layout.world_size": 2}),
    "collective-topology": gpu("collectives.topology", "one rack", "two racks", **NCCL),
    "collective-algorithm": gpu("collectives.algorithm", "Ring", "Tree", **NCCL),
    "collective-protocol": gpu("collectives.protocol", "Simple", "LL", **NCCL),
    "collective-channels": gpu("variables.values.NCCL_MAX_NCHANNELS", "8", "16", **NCCL),
    "nvls": gpu("collectives.nvls", False, True, **NCCL),
    "openblas-build": cpu("libraries.openblas.build_id", "0a", "0b"),
    "unvetted-kernels": gpu("libraries.unvetted_kernels", ["kernel.so@0a"], ["kernel.so@0b"]),
    "library-not-the-installed": gpu("libraries.cudnn.conflicts", [], ["not-installed"]),
    "library-conflicts": gpu("libraries.cudnn.conflicts", [], ["two-copies"]),
    "cuda-build": gpu("frameworks.torch", CU124, {**CU124, "version": "2.5.1+cu126", "cuda_build": "12.6"}),
    "driver-of-intel": gpu("driver.kernel_module", "625.40", "626.19", **{"frameworks.backend": "xpu",
                                                                        "driver.user_libcuda": None}),
    "driver-compiles": gpu("driver.user_libcuda", "550.54.15", "535.86.10",
                           **{"frameworks.torch.arch_list": ["sm_80", "compute_80"]}),
}
for _kind in KINDS:
    _slug, _machine = _kind.name.replace("_", "-"), "h100" if _kind.name not in ("mkl", "onednn", "openblas") else "cpu"
    _common: dict[str, Any] = {f"libraries.{_kind.name}": library("9.1.0"), **NCCL}
    for _fact in ("loaded", "installed"):
        PLANTED.setdefault(f"{_slug}-{_fact}", Planted(
            _machine, _common, {**_common, f"libraries.{_kind.name}": library("9.2.0") if _kind.one_form
                                and _fact == "installed" else {**library("9.1.0"), _fact: "9.2.0"}}))

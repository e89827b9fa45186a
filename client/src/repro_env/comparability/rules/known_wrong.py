"""Known-wrong combinations as data: builds, devices and libraries that compute wrongly, a line a case with its source.

Releases are given as the first that has the fault and the first that has not; where the start is not known it is the
first release in which the fault was seen. How far a case goes is one of three:

* ``SURE``: every program of the kind is hit, so nothing above ``none`` is possible;
* ``ORDINARY``: ordinary programs are hit, so ``none`` is expected;
* ``SOME``: programs that call one operation in one way are hit: nothing is guaranteed, and what is expected stays;
* ``LOUD``: likewise, but the fault shows itself (NaN in the loss), so no result that anybody compares holds it.

Tests that cost least and rule out most stand first.
"""

from __future__ import annotations

from typing import NamedTuple

from ..levels import Level, SetBy
from ..policy import Levels
from .predicates import (
    Test,
    architecture,
    avx512,
    capability,
    cooper_lake,
    declared,
    distribution,
    either,
    fact_is,
    fact_starts,
    framework,
    gfx,
    half_precision,
    library,
    may_vary,
    mentions,
    model,
    more_than,
    not_off,
    on,
    openblas,
    os_is,
    pip_wheel,
    rocm,
    several_devices,
    switched_on,
    toolkit,
    torch,
    uses,
    wheel_of_numpy,
)

SURE = Levels(Level.NONE, Level.NONE, Level.NONE)
ORDINARY = Levels(Level.NONE, Level.NONE, Level.BITWISE)
SOME = Levels(Level.NONE, Level.BITWISE, Level.BITWISE)
LOUD = Levels(Level.CURVE, Level.BITWISE, Level.BITWISE)
#: wrong in one of two calls where it was seen, and the next program may be right.
SUSPECT = Levels(Level.NONE, Level.STATISTICAL, Level.BITWISE)


class Case(NamedTuple):
    """One combination: all ``tests`` hold. ``source`` names its sources, parted by semicolons."""

    id: str
    words: str
    tests: tuple[Test, ...]
    source: str
    remedy: str
    levels: Levels = SOME
    cause: str = "library_bug"
    confidence: str = "documented"
    set_by: SetBy = SetBy.PROGRAM


_MPS, _CUDNN = on("mps"), not_off("determinism.sdp_cudnn")
_ELSEWHERE = "or compute on the CPU"
_NO_CUDNN = "call torch.backends.cuda.enable_cudnn_sdp(False)"
_MACHINE = SetBy.MACHINE
_ARM = fact_is("cpu.architecture", "arm64", "aarch64")

CUDA = (
    Case("gtx16-half", "GTX 16xx cards give NaN in float16", (half_precision, model("16"), capability((7, 5))),
         "ultralytics issue 280; yolov5 issue 7908", "turn autocast off on GTX 16xx cards", SURE,
         confidence="observed"),
    Case("torch-1.8-pip-pascal", "the pip wheel of torch 1.8 for CUDA 11.1 computes wrong products before Volta",
         (torch("1.8.0", "1.9"), toolkit("11.1"), pip_wheel, architecture(5, 6)),
         "pytorch issues 56747, 57347, 58754", "install torch 1.8.1 from conda, or torch 1.9", SURE,
         confidence="proven", set_by=_MACHINE),
    Case("torch-1.7-cuda-11.0-pascal", "batched products of torch 1.7.1 with CUDA 11.0 come out as zeros on Pascal",
         (torch("1.7.1", "1.8"), toolkit("11.0"), capability((6, 1))), "pytorch issue 52515",
         "install the build for CUDA 10.2, or torch 1.9", confidence="observed", set_by=_MACHINE),
    Case("cublas-9-tall", "cuBLAS before 9.2 computes wrong products of very tall matrices on Maxwell and Pascal",
         (library("cublas", "", "9.2"), architecture(5, 6)), "pytorch issue 22078", "install CUDA 9.2 or later",
         ORDINARY, confidence="proven", set_by=_MACHINE),
    Case("cublas-10.1-half-volta", "cuBLAS of CUDA 10.1 gives NaN in large float16 products on V100",
         (torch("", "1.7"), toolkit("10.1"), half_precision, capability((7, 0))), "pytorch issue 45724",
         "install torch 1.7 or later", ORDINARY, confidence="proven"),
    Case("cudnn-7-cuda-8-volta", "cuDNN 7.0 for CUDA 8.0 may compute wrongly on Volta",
         (library("cudnn", "7.0", "7.1"), toolkit("8.0"), capability((7, 0))),
         "cuDNN 7.0.4 release notes, known issues", "install the build for CUDA 9", ORDINARY),
    Case("cudnn-7.6-conv3d-half", "cuDNN 7.6 computes some 3D convolutions wrongly in float16 on V100",
         (library("cudnn", "7.6", "8.0"), half_precision, capability((7, 0))), "pytorch issue 40275",
         "install cuDNN 8, or set torch.backends.cudnn.enabled = False"),
    Case("sdpa-2.1-memory-efficient",
         "memory-efficient attention of torch 2.1 returns garbage for a mask with inputs that are not contiguous",
         (torch("2.1", "2.2"), architecture(5, 6, 7, 8, 9), not_off("determinism.sdp_mem_efficient")),
         "pytorch issue 112577; transformers pull request 40315", "install torch 2.2 or later"),
    Case("sdpa-2.5.0-cudnn", "cuDNN attention, the default of torch 2.5.0 on Hopper, gives NaN in training",
         (torch("2.5.0", "2.5.1"), capability((9, 0)), _CUDNN, may_vary),
         "diffusers issue 9768; pytorch issue 139298", f"install torch 2.5.1, or {_NO_CUDNN}", LOUD,
         confidence="observed"),
    Case("sdpa-2.11-cudnn-hopper",
         "cuDNN attention gives NaN gradients on Hopper for a mask and lengths of 64 modulo 128",
         (torch("2.11", "2.14"), capability((9, 0)), _CUDNN, may_vary), "pytorch issue 196678; trl issue 7181",
         _NO_CUDNN, LOUD),
    Case("cudnn-attention-b200", "cuDNN attention scores wrongly on B200 for models with few key-value heads",
         (torch("2.11", "2.14"), architecture(10), _CUDNN, may_vary), "pytorch issue 193893", _NO_CUDNN, ORDINARY,
         "attention_implementation", "observed"),
    Case("compile-2.10-layer-norm",
         "compiled chains of layer norms that share a scale get gradients that were never written",
         (torch("2.10", "2.14"), switched_on("model.compile"), on("cuda", "rocm", "xpu")), "pytorch issue 193061",
         "export TORCHINDUCTOR_MIX_ORDER_REDUCTION=0"),
    Case("xformers-0.0.16-training", "xformers before 0.0.17 gives NaN gradients on GPUs of capability 8.6",
         (distribution("xformers", "0.0.14", "0.0.17"), capability((8, 6))),
         "xformers issue 631; diffusers pull request 2254", "install xformers 0.0.17 or later", LOUD),
)
AMD = (
    Case("sdpa-2.6-rocm", "memory-efficient attention of torch 2.6.0 on ROCm is wrong with a mask of one's own",
         (torch("2.6.0", "2.6.1"), rocm("6.2"), not_off("determinism.sdp_mem_efficient")), "pytorch issue 147460",
         "call torch.backends.cuda.enable_mem_efficient_sdp(False)", confidence="observed"),
    Case("rocm-7.2-gfx1201", "float32 products with more than 524288 rows are wrong on gfx1201",
         (rocm("7.2"), gfx("gfx1201")), "ROCm/legacy-rocm-build issue 6595; ROCm/rocm-libraries issue 5706",
         "split the product, or compute it in another way", confidence="observed", set_by=_MACHINE),
    Case("rocm-7.15-gfx1151", "flash attention with heads of 512 is wrong on gfx1151",
         (rocm("7.15"), gfx("gfx1151"), not_off("determinism.sdp_flash")), "pytorch issue 189849",
         "call torch.backends.cuda.enable_flash_sdp(False)", confidence="observed"),
    Case("torch-2.0-gfx906", "torch 2.0 computes NaN on gfx906, where 1.13 is right",
         (torch("2.0", "2.1"), gfx("gfx906")), "pytorch issue 103973; ROCm/legacy-rocm-build issue 2055",
         "install torch 1.13, or a build whose hipBLASLt knows the card", ORDINARY, confidence="observed",
         set_by=_MACHINE),
)
APPLE = (
    Case("mps-2022", "the MPS back end of torch 1.12 computes wrongly", (_MPS, torch("", "1.13.0.dev")),
         "pytorch issue 82707", f"install torch 1.13 or later, {_ELSEWHERE}", SURE, "backend"),
    Case("mps-lstm", "LSTM layers compute wrongly on MPS before torch 2.0", (_MPS, torch("1.13", "2.0")),
         "pytorch issues 92615, 90421", f"install torch 2.0 or later, {_ELSEWHERE}", cause="backend"),
    Case("mps-optimizers", "optimizers do not update weights that are not contiguous on MPS before torch 2.4",
         (_MPS, torch("1.13", "2.4")), "pytorch issue 118115", f"install torch 2.4 or later, {_ELSEWHERE}",
         cause="backend"),
    Case("mps-batched-products", "large batched products are wrong on MPS with torch 2.1",
         (_MPS, torch("2.1", "2.2")), "pytorch issue 111634", f"install a later torch, {_ELSEWHERE}",
         cause="backend"),
    Case("mps-2.8-linear", "linear layers are wrong on MPS with torch 2.8.0 for inputs that are not contiguous",
         (_MPS, torch("2.8.0", "2.9")), "pytorch issue 161640; TransformerLens pull requests 1068, 1271",
         f"install torch 2.9 or later, {_ELSEWHERE}", cause="backend"),
    Case("mps-attention", "attention reads past its inputs on MPS for some lengths before torch 2.11",
         (_MPS, torch("2.8", "2.11")), "pytorch issue 174861; transformers pull request 44359",
         f"install torch 2.11 or later, {_ELSEWHERE}", cause="backend"),
    Case("mps-long-products", "products with an inner dimension over 32768 are wrong on M1 and M2 before torch 2.14",
         (_MPS, torch("2.7", "2.14"), fact_starts("cpu.model", "Apple M1", "Apple M2")), "pytorch issue 193487",
         f"install torch 2.14 or later, {_ELSEWHERE}", cause="backend"),
    Case("mps-macos-27", "image models come out corrupted on MPS under macOS 27 before torch 2.13",
         (_MPS, torch("2.0", "2.13"), fact_starts("system.os_name", "macOS 27")), "pytorch issue 187280",
         f"install torch 2.13 or later, {_ELSEWHERE}", cause="backend"),
    Case("tensorflow-metal", "the Metal plug-in of TensorFlow computes other results than the CPU for simple models",
         (distribution("tensorflow-metal", "0.3", "1.2.1"), os_is("macos"), framework("tensorflow", "2.7", "2.17")),
         "tensorflow issues 92686, 71577, 53441", "remove tensorflow-metal", cause="backend", confidence="observed"),
)
PROCESSORS = (
    Case("mkldnn-2019-avx512", "MKL-DNN of torch before 1.1 computes wrong convolutions with AVX-512",
         (torch("", "1.1"), on("cpu"), avx512), "pytorch issue 18218", "install torch 1.1 or later", ORDINARY),
    Case("torch-1.0-sliced-convolution", "convolutions of slices are wrong on the CPU with torch 1.0",
         (torch("1.0", "1.1"), on("cpu")), "pytorch issue 18948", "install torch 1.1 or later",
         confidence="observed"),
    Case("mkl-2020-amd", "convolutions came out wrong in half of the calls with MKL before 2020.1 on an AMD CPU",
         (library("mkl", "2019", "2020.1"), on("cpu"), fact_is("cpu.vendor", "AuthenticAMD"), uses("torch")),
         "pytorch issue 49268", "export MKL_DEBUG_CPU_TYPE=5, or install torch 1.8 or later", SUSPECT, "cpu_isa",
         "observed"),
    Case("torch-2.4.0-windows", "convolutions of torch 2.4.0 change from call to call on a Windows CPU",
         (torch("2.4.0", "2.4.1"), os_is("windows"), on("cpu")),
         "pytorch issues 131958, 130619; ultralytics issue 15049", "install torch 2.4.1", ORDINARY),
    Case("nnpack-1.8-arm", "NNPACK convolves wrongly on ARM for weights that are not contiguous",
         (torch("1.8.0", "1.9"), on("cpu"), fact_is("cpu.architecture", "aarch64", "arm64")), "pytorch issue 55781",
         "make the weights contiguous, or install a later torch", confidence="observed"),
    Case("torch-1.9-apple-dot", "products of two float32 vectors come out as 0 on Apple processors with torch 1.9.0",
         (torch("1.9.0", "1.9.1"), on("cpu"), os_is("macos"), _ARM), "pytorch issues 60351, 62218, 64156",
         "install torch 1.10 or later", confidence="observed"),
    Case("openblas-0.3.5-avx512", "OpenBLAS 0.3.5 and 0.3.6 compute wrong products with AVX-512",
         (openblas("0.3.5", "0.3.7"), avx512),
         "OpenBLAS changelog, 0.3.6, 0.3.7; numpy issues 13401, 13828, 14305; numba pull request 4273",
         "install OpenBLAS 0.3.7 or later", ORDINARY),
    Case("openblas-0.3.20-cooper-lake", "OpenBLAS 0.3.20 computes wrong products on Cooper Lake and Sapphire Rapids",
         (either(openblas("0.3.20", "0.3.21"), wheel_of_numpy("1.23", "1.24")), cooper_lake),
         "numpy issues 22502, 24903; rocker-versioned2 issue 836",
         "install OpenBLAS 0.3.21 or NumPy 1.24, or export OPENBLAS_CORETYPE=SkylakeX", ORDINARY,
         confidence="observed"),
    Case("openblas-0.3.33-apple", "NumPy wheels with OpenBLAS 0.3.33 compute wrong float32 products on Apple silicon",
         (openblas("0.3.33", "0.3.34"), os_is("macos"), _ARM, fact_is("frameworks.numpy.build", "wheel", "pip")),
         "numpy issue 31776", "install the wheel that uses Accelerate, or NumPy from conda", ORDINARY,
         confidence="observed"),
    Case("openblas-0.3.16-avx512", "OpenBLAS 0.3.16 computes wrong float32 matrix-vector products with AVX-512",
         (library("openblas", "0.3.16", "0.3.17"), avx512), "OpenBLAS changelog, 0.3.17", "install OpenBLAS 0.3.17"),
    Case("openblas-0.3.22-getrf", "OpenBLAS 0.3.22 takes matrices with subnormal elements for singular",
         (library("openblas", "0.3.22", "0.3.23"),), "OpenBLAS changelog, 0.3.23", "install OpenBLAS 0.3.23"),
    Case("openblas-0.3.23-apple", "OpenBLAS 0.3.23 computes wrong norms and complex products on Apple silicon",
         (library("openblas", "0.3.23", "0.3.24"), os_is("macos"), fact_is("cpu.architecture", "arm64", "aarch64")),
         "OpenBLAS changelog, 0.3.24", "install OpenBLAS 0.3.24"),
)
PACKAGES = (
    Case("scipy-0.13.0-label", "ndimage.label of SciPy 0.13.0 returns wrong labels",
         (framework("scipy", "0.13.0", "0.13.1"),), "SciPy 0.13.1 release notes", "install SciPy 0.13.1"),
    Case("scipy-1.16.0-sqrtm", "linalg.sqrtm of SciPy 1.16.0 is wrong for some matrices",
         (framework("scipy", "1.16.0", "1.16.1"),), "SciPy 1.16.1 release notes, issue 23278", "install SciPy 1.16.1"),
    Case("jaxlib-0.1-aliasing", "XLA of jaxlib before 0.1.72 lets buffers overwrite each other",
         (distribution("jaxlib", "0.1.69", "0.1.72"),), "JAX changelog, jaxlib 0.1.72; jax issue 7461",
         "install jaxlib 0.1.72 or later"),
    Case("jaxlib-0.4.28", "jaxlib 0.4.28 compiles some products on the CPU and some sharded sums wrongly",
         (distribution("jaxlib", "0.4.28", "0.4.29"),), "JAX changelog, jaxlib 0.4.29; jax issue 21403",
         "install jaxlib 0.4.29"),
    Case("jax-0.4.32-tpu", "jax 0.4.32, withdrawn, corrupts data where a job has several TPU slices",
         (framework("jax", "0.4.32", "0.4.33"), on("tpu")), "JAX changelog, 0.4.32 and 0.4.33", "install jax 0.4.33"),
    Case("deepspeed-0.17.6-zero-2", "ZeRO stage 2 of DeepSpeed 0.17.6 to 0.18.2 computes wrong gradients",
         (distribution("deepspeed", "0.17.6", "0.18.3"), fact_starts("layout.sharding", "zero-2")),
         "DeepSpeed issue 7718; trl issue 4540", "install DeepSpeed 0.18.3", ORDINARY),
    Case("deepspeed-offload", "ZeRO with gradients on the CPU drops all but the first pass of a step",
         (distribution("deepspeed", "0.15.3", "0.18.9"), fact_starts("layout.sharding", "zero-1", "zero-2"),
          mentions("layout.sharding", "offload"), more_than("layout.accumulation", 1)),
         "DeepSpeed pull requests 6550, 7967",
         "install a later DeepSpeed, or do not offload", ORDINARY),
    Case("nccl-2.27-one-rank", "NCCL 2.27 leaves the last elements out of an average over one rank",
         (library("nccl", "2.27.5", "2.29.7"), fact_is("collectives.backend", "nccl"),
          fact_is("layout.world_size", 1)), "nccl issue 1950; pytorch issue 168092", "install NCCL 2.29.7"),
)
HOSTS = (
    Case("iommu-peer-copies", "copies between GPUs are corrupted with IOMMU or ACS on",
         (declared("iommu", "acs"), several_devices),
         "pytorch issue 84803; tensorflow issue 57893; NCCL troubleshooting guide, PCI Access Control Services",
         "turn IOMMU and PCIe ACS off in the BIOS, or export NCCL_P2P_DISABLE=1", SURE, "hardware_or_host_setting"),
    Case("faulty-host", "this machine is stated to compute wrongly where others of its kind do not",
         (declared("node-health", values=("faulty", "suspect", "bad")),),
         "pytorch issue 71753; torchtitan issue 951; dion issue 76: NaN that left with the machine",
         "run the vendor's diagnosis on this machine, and repeat the run on another", ORDINARY,
         "hardware_or_host_setting", "observed"),
)
CASES: tuple[Case, ...] = (*CUDA, *AMD, *APPLE, *PROCESSORS, *PACKAGES, *HOSTS)

"""The host: CPU, threads, packages, interpreter."""

from __future__ import annotations

from documents import distribution, library

from repro_env.comparability.rules.distributions import CRITICAL
from tests.client.comparability.planted.planting import INSTALLED, NUMPY_ONLY, POOL, Planted, cpu, gpu, packages

PURE_PYTHON = {**{f"frameworks.{name}": None for name in ("torch", "numpy", "scipy", "scikit_learn")},
               "frameworks.backend": "cpu"}
MKL_UNDER_NUMPY = {**NUMPY_ONLY, "libraries.mkl": library("2024.1"), "threads.blas_pools": []}

PLANTED: dict[str, Planted] = {
    "scikit-learn-threads": cpu("threads.scikit_learn", 8, 4),
    "torch-threads": cpu("threads.torch_intraop", 8, 4),
    "blas-threads": cpu("threads.blas_pools", [POOL], [{**POOL, "threads": 4}], **NUMPY_ONLY),
    "openmp-threads": cpu("threads.openmp", 8, 4),
    "mkl-threads": cpu("threads.mkl", 8, 4),
    "torch-host-threads": gpu("threads.torch_intraop", 8, 4),
    "blas-threads-host": cpu("threads.blas_pools", [POOL], [{**POOL, "threads": 4}]),
    "dynamic-threads": cpu("variables.values.OMP_DYNAMIC", None, "true"),
    "mkl-dispatch-race": Planted("cpu", {"libraries.mkl": library("2024.2")}, {"libraries.mkl": library("2024.2")}),
    "cpu-architecture": cpu("cpu.architecture", "x86_64", "aarch64"),
    "cpu-vector-level": cpu("cpu.instruction_sets", ["avx2", "avx512f"], ["avx2"]),
    "cpu-vendor": cpu("cpu.vendor", "GenuineIntel", "AuthenticAMD"),
    "torch-capability": cpu("cpu.torch_capability", "AVX512", "AVX2"),
    "onednn-isa": cpu("variables.values.ONEDNN_MAX_CPU_ISA", None, "AVX2"),
    "onednn-half-units": cpu("variables.values.ONEDNN_MAX_CPU_ISA", None, "AVX512_CORE_BF16",
                             **{"precision.autocast": "bfloat16"}),
    "mkl-branch": cpu("variables.values.MKL_CBWR", None, "COMPATIBLE"),
    "kernel-variables": cpu("variables.values.ATEN_CPU_CAPABILITY", None, "avx2"),
    "thread-variables": cpu("variables.values.OMP_NUM_THREADS", None, "1"),
    "mkl-alignment": Planted("cpu", MKL_UNDER_NUMPY, MKL_UNDER_NUMPY),
    "numpy-simd": cpu("cpu.numpy_simd", ["AVX2", "AVX512F"], ["AVX2"], **NUMPY_ONLY),
    "blas-kernels": cpu("threads.blas_pools", [POOL], [{**POOL, "architecture": "Haswell"}], **NUMPY_ONLY),
    "torch-host-capability": gpu("cpu.torch_capability", "AVX512", "AVX2"),
    "numpy-simd-host": cpu("cpu.numpy_simd", ["AVX2", "AVX512F"], ["AVX2"]),
    "blas-kernels-host": cpu("threads.blas_pools", [POOL], [{**POOL, "architecture": "Haswell"}]),
    "host-branches": gpu("variables.values.MKL_CBWR", None, "COMPATIBLE"),
    "glibc-caps": cpu("variables.values.GLIBC_TUNABLES", None, "glibc.cpu.hwcaps=-AVX2"),
    "processor": cpu("cpu.microarchitecture", "6-143", "6-106"),
    "other-packages": cpu(INSTALLED, packages(my_project="1.0"), packages(my_project="1.1")),
    "vcs-revisions": cpu(INSTALLED, [distribution("project", "1.0", revision="a" * 40)],
                         [distribution("project", "1.0", revision="b" * 40)]),
    "edited-files": cpu(INSTALLED, [distribution("project", "1.0", record_digest="sha256:" + "1" * 64)],
                        [distribution("project", "1.0", record_digest="sha256:" + "2" * 64)]),
    "os-family": cpu("system.os_family", "linux", "windows"),
    "preloaded-libraries": cpu("variables.values.LD_PRELOAD", None, "/opt/lib/libfastmath.so"),
    "python-sum": cpu("python.version", "3.11.7", "3.12.1", **PURE_PYTHON),
    "python-minor": cpu("python.version", "3.11.7", "3.12.1"),
    "python-threading": cpu("python.free_threaded", False, True),
    "libc": cpu("system.libc", "glibc 2.36", "glibc 2.31"),
    "text-encoding": cpu("system.encoding", "UTF-8", "ISO-8859-1"),
    "hash-seed": cpu("random.hash_seed", "0", "1"),
    "hash-seed-random": Planted("cpu", {"random.hash_seed": "random"}, {"random.hash_seed": "random"}),
}
for _family in CRITICAL:
    for _name in _family.felt:
        PLANTED[f"package-{_name}"] = gpu(INSTALLED, [distribution(_name, "2.0.1")], [distribution(_name, "3.0.2")])
    _name = (*_family.other, *_family.felt)[0]
    PLANTED[f"{_family.slug}-releases"] = gpu(INSTALLED, [], [distribution(_name, "2.0.1")])
# a step over the release that changed the meaning of its loss would come first
PLANTED["package-transformers"] = gpu(INSTALLED, packages(transformers="4.50"), packages(transformers="5.0"))

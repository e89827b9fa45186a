"""Sections of the stack that are installed: libraries, frameworks, variables, python, distributions."""

from __future__ import annotations

from dataclasses import dataclass

from .field import Fact, fact


@dataclass(frozen=True)
class Library:
    """One numeric library. Installed, loaded and compiled-against are three facts, never one."""

    installed: Fact[str] = fact("version of the distribution or file that would be loaded",
                                source="distribution-metadata", example="9.1.0.70")
    loaded: Fact[str] = fact("version that the loaded library itself reports", source="loaded-library",
                             example="9.1.0")
    compiled_against: Fact[str] = fact("version the framework was compiled against", source="torch", example="9.1.0")
    found: Fact[str] = fact("where its file lies: wheel, conda, system, user, container", source="path",
                            example="wheel")
    build_id: Fact[str] = fact("ELF build id or digest of the file", source="loaded-library", example="a1b2c3d4")
    conflicts: Fact[tuple[str, ...]] = fact(
        "codes: two-copies, shadowed, preloaded, not-installed, not-compiled-against", source="mapped files",
        example=[])
    candidates: Fact[tuple[str, ...]] = fact(
        "files of it that a loader could take, each as where it lies and its version, in the order of looking",
        source="files", example=["wheel 9.1.0", "system 8.9.7"])


@dataclass(frozen=True)
class Libraries:
    """Numeric libraries by name; null means surely not there."""

    cuda_runtime: Fact[Library] = fact("CUDA runtime", source="see Library", example=None)
    cublas: Fact[Library] = fact("cuBLAS and cuBLASLt", source="see Library", example=None)
    cudnn: Fact[Library] = fact("cuDNN", source="see Library", example=None)
    cufft: Fact[Library] = fact("cuFFT", source="see Library", example=None)
    cusolver: Fact[Library] = fact("cuSOLVER", source="see Library", example=None)
    cusparse: Fact[Library] = fact("cuSPARSE", source="see Library", example=None)
    nccl: Fact[Library] = fact("NCCL", source="see Library", example=None)
    nvjitlink: Fact[Library] = fact("nvJitLink", source="see Library", example=None)
    nvrtc: Fact[Library] = fact("NVRTC", source="see Library", example=None)
    triton: Fact[Library] = fact("Triton", source="see Library", example=None)
    hip_runtime: Fact[Library] = fact("HIP runtime", source="see Library", example=None)
    rocblas: Fact[Library] = fact("rocBLAS", source="see Library", example=None)
    hipblaslt: Fact[Library] = fact("hipBLASLt", source="see Library", example=None)
    miopen: Fact[Library] = fact("MIOpen", source="see Library", example=None)
    rccl: Fact[Library] = fact("RCCL", source="see Library", example=None)
    mkl: Fact[Library] = fact("Intel oneMKL", source="see Library", example=None)
    onednn: Fact[Library] = fact("oneDNN", source="see Library", example=None)
    openblas: Fact[Library] = fact("OpenBLAS", source="see Library", example=None)
    openmp: Fact[Library] = fact("OpenMP runtime", source="see Library", example=None)
    system_cudnn: Fact[tuple[str, ...]] = fact("cuDNN versions found in system folders, not necessarily loaded",
                                               source="files, imported", example=["8.9.7"])
    cuda_toolkit: Fact[str] = fact("CUDA compiler on the machine (nvcc); not what torch uses", source="files, imported",
                                   example="12.4.131")
    unvetted_kernels: Fact[tuple[str, ...]] = fact(
        "mapped extensions outside known distributions: owner@build-id", source="mapped files", example=[])


@dataclass(frozen=True)
class Framework:
    """One framework as imported, else as installed."""

    version: Fact[str] = fact("full PEP 440 version with local label", source="module, distribution-metadata",
                              example="2.4.1+cu121")
    imported: Fact[bool] = fact("whether the observed process had imported it", source="sys.modules", example=True)
    revision: Fact[str] = fact("commit the build came from", source="version module", example="38b96d3399a695e7")
    cuda_build: Fact[str] = fact("CUDA version it was built with; null for a build without CUDA",
                                 source="version module, local label", example="12.1")
    rocm_build: Fact[str] = fact("ROCm version it was built with; null for a build without ROCm",
                                 source="version module", example="6.1")
    arch_list: Fact[tuple[str, ...]] = fact("GPU targets that its binaries hold, PTX as compute_XY",
                                            source="torch.cuda.get_arch_list", example=["sm_80", "sm_90"])
    build: Fact[str] = fact("wheel, conda, source, vendor", source="distribution-metadata", example="wheel")
    debug: Fact[bool] = fact("whether it is a debug build", source="version module", example=False)
    abi: Fact[str] = fact("C++ library interface it was built for: cxx11, pre-cxx11", source="torch", example="cxx11")
    build_flags: Fact[dict[str, str]] = fact("settings of its build that choose kernels, as it reports them",
                                             source="torch, numpy, tensorflow",
                                             example={"BLAS_INFO": "mkl", "USE_MKLDNN": "1"})


@dataclass(frozen=True)
class Frameworks:
    """Frameworks by name; null means surely not installed. ``backend`` is what the process computed on."""

    backend: Fact[str] = fact("where the process computed: cuda, rocm, mps, xpu, tpu, cpu", source="torch, jax",
                              example="cuda")
    torch: Fact[Framework] = fact("PyTorch", source="see Framework", example=None)
    jax: Fact[Framework] = fact("JAX", source="see Framework", example=None)
    tensorflow: Fact[Framework] = fact("TensorFlow", source="see Framework", example=None)
    numpy: Fact[Framework] = fact("NumPy", source="see Framework", example=None)
    scipy: Fact[Framework] = fact("SciPy", source="see Framework", example=None)
    scikit_learn: Fact[Framework] = fact("scikit-learn", source="see Framework", example=None)


@dataclass(frozen=True)
class Python:
    """The interpreter."""

    version: Fact[str] = fact("full version", source="sys.version_info", example="3.11.7")
    implementation: Fact[str] = fact("cpython, pypy, ...", source="sys.implementation", example="cpython")
    compiler: Fact[str] = fact("compiler that built it", source="sys.version", example="GCC 12.2.0")
    free_threaded: Fact[bool] = fact("whether it was built without the GIL", source="sysconfig", example=False)
    environment: Fact[str] = fact("venv, conda, system", source="prefix", example="venv")


@dataclass(frozen=True)
class Distribution:
    """One installed distribution."""

    name: str = fact("PEP 503 normalised name", source="distribution-metadata", example="scikit-learn")
    version: Fact[str] = fact("PEP 440 version", source="distribution-metadata", example="1.4.2")
    origin: Fact[str] = fact("PEP 610 origin without credentials: a URL; null when it came from an index",
                             source="direct_url.json", example="git+https://example.org/project.git")
    revision: Fact[str] = fact("commit of a VCS origin", source="direct_url.json", example="9f1c2d3")
    editable: Fact[bool] = fact("whether it is an editable install", source="direct_url.json", example=False)
    shadowed: Fact[bool] = fact("whether another copy comes earlier on the path", source="sys.path order",
                                example=False)
    record_digest: Fact[str] = fact("digest of its RECORD, on demand", source="RECORD",
                                    example="sha256:" + "0" * 64)


@dataclass(frozen=True)
class Distributions:
    """What is installed, sorted by name, version and shadowing."""

    installed: Fact[tuple[Distribution, ...]] = fact("distributions on the interpreter's path", source="files",
                                                     example=[])
    complete: Fact[bool] = fact("whether the list is the whole environment (an import may hold a selection)",
                                source="capture", example=True)


@dataclass(frozen=True)
class Variables:
    """Environment variables of the allow-list (``repro_env.variables``): set, or null for surely unset."""

    values: Fact[dict[str, Fact[str]]] = fact("every allow-listed variable by name", source="environment",
                                              example={"OMP_NUM_THREADS": "8", "CUBLAS_WORKSPACE_CONFIG": None})

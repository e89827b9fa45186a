"""How the files of numeric libraries are named, and which distributions bring them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: start of a file's name, up to a digest or the suffix -> library.
STEMS = {
    "libcudart": "cuda_runtime", "libcublas": "cublas", "libcudnn": "cudnn", "libcufft": "cufft",
    "libcusolver": "cusolver", "libcusparse": "cusparse", "libnccl": "nccl", "libnvJitLink": "nvjitlink",
    "libnvrtc": "nvrtc", "libamdhip64": "hip_runtime", "librocblas": "rocblas", "libhipblaslt": "hipblaslt",
    "libMIOpen": "miopen", "librccl": "rccl", "libmkl_rt": "mkl", "libmkl_core": "mkl", "libdnnl": "onednn",
    "libgomp": "openmp", "libiomp5": "openmp", "libomp": "openmp",
}
#: files that hold a part of a library, loaded by its main file or beside it; kernels lie in them.
PARTS = {
    "libcublasLt": "cublas", "libcudnn_graph": "cudnn", "libcudnn_ops": "cudnn", "libcudnn_cnn": "cudnn",
    "libcudnn_adv": "cudnn", "libcudnn_heuristic": "cudnn", "libcudnn_engines_precompiled": "cudnn",
    "libcudnn_engines_runtime_compiled": "cudnn", "libcudnn_ops_infer": "cudnn", "libcudnn_ops_train": "cudnn",
    "libcudnn_cnn_infer": "cudnn", "libcudnn_cnn_train": "cudnn", "libcudnn_adv_infer": "cudnn",
    "libcudnn_adv_train": "cudnn", "libmkl_intel_thread": "mkl", "libmkl_gnu_thread": "mkl",
    "libmkl_intel_lp64": "mkl", "libmkl_intel_ilp64": "mkl", "libmkl_def": "mkl", "libmkl_avx2": "mkl",
    "libmkl_avx512": "mkl",
}
#: NumPy and SciPy each bring their own, torch a third: several copies are the rule, each with its pool in ``threads``.
SEVERAL_ARE_USUAL = frozenset(("openblas", "openmp"))
#: library -> names of distributions that bring it (NVIDIA's carry the CUDA major version, since 13 none).
DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "cuda_runtime": ("nvidia-cuda-runtime",), "cublas": ("nvidia-cublas",), "cudnn": ("nvidia-cudnn",),
    "cufft": ("nvidia-cufft",), "cusolver": ("nvidia-cusolver",), "cusparse": ("nvidia-cusparse",),
    "nccl": ("nvidia-nccl",), "nvjitlink": ("nvidia-nvjitlink",), "nvrtc": ("nvidia-cuda-nvrtc",),
    "triton": ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm", "triton-windows"),
    "mkl": ("mkl",), "openmp": ("intel-openmp",),
}
_CUDA_MAJORS = ("", "-cu13", "-cu12", "-cu11")
#: folder of each library below ``nvidia`` in the wheels' layout, where it is not the library's key.
_WHEEL_FOLDERS = {"nvrtc": "cuda_nvrtc"}
_HEXADECIMAL = frozenset("0123456789abcdef")


def distributions_of(library: str) -> list[str]:
    """Return the names of the distributions that bring a library, in the order in which to look for them."""
    return [stem + major for stem in DISTRIBUTIONS.get(library, ())
            for major in (_CUDA_MAJORS if stem.startswith("nvidia-") else ("",))]


def stem_of(path: str) -> str:
    """Return the start of a library's file name, without the digests that tools put behind it when they move it.

    Empty for a file that is no shared library, and for extensions of Python, which are named otherwise.
    """
    name = path.rpartition("/")[2]
    if not name.startswith("lib") or (".so" not in name and ".dylib" not in name):
        return ""
    stem, *rest = name.split(".")
    kind = next((part for part in rest if not part.isdigit()), "")
    if kind.partition(" ")[0] not in ("so", "dylib"):
        return ""  # a variant of its own, as libnvrtc.alt.so.12
    parts = stem.split("-")
    while len(parts) > 1 and len(parts[-1]) >= 6 and _HEXADECIMAL.issuperset(parts[-1]):
        parts.pop()
    return "-".join(parts)


def library_of(path: str) -> str | None:
    """Return the library whose main file this is; ``None`` for any other file."""
    stem = stem_of(path)
    if stem in STEMS:
        return STEMS[stem]
    if stem == "libtriton":
        return "triton" if "/triton/_C/" in path else None
    return "openblas" if "openblas" in stem else None


def by_library(paths: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the main files among ``paths`` by library, and the files that hold a part of one, in the order given."""
    main: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    for path in paths:
        name = library_of(path)
        if name is not None:
            main.setdefault(name, []).append(path)
        elif stem_of(path) in PARTS:
            parts.setdefault(PARTS[stem_of(path)], []).append(path)
    return main, parts


def version_in_name(path: str) -> str | None:
    """Return ``9.1.0`` of ``libcudnn.so.9.1.0``; ``None`` where only the number of the interface stands there."""
    _, found, version = path.rpartition("/")[2].partition(".so.")
    parts = version.split(".")
    return version if found and len(parts) >= 2 and all(part.isdigit() for part in parts) else None


def wheel_folders(library: str) -> tuple[str, ...]:
    """Return the folders below a site folder in which wheels keep a library."""
    folder = _WHEEL_FOLDERS.get(library, library)
    return (f"nvidia/{folder}/lib", "nvidia/cu13/lib", "torch/lib")

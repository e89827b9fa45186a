"""Distributions whose native code is no riddle: numeric ones that rules know by version, and ones without arithmetic.

Whatever is missing here is judged by what its files link to, so a name is worth a line only where that says too much
(an image library that brings a BLAS) or would cost a look into many files.
"""

from __future__ import annotations

#: their kernels are what the rules are about: a version, or the version of a library that they bring, tells them.
NUMERIC = frozenset((
    "torch", "torchvision", "torchaudio", "torchtext", "torchdata", "functorch", "triton", "pytorch-triton",
    "pytorch-triton-rocm", "triton-rocm", "triton-windows", "numpy", "scipy", "scikit-learn", "jax", "jaxlib",
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "tensorflow-intel", "tensorflow-rocm",
    "intel-tensorflow", "tf-nightly", "numba", "llvmlite", "mkl", "mkl-service", "mkl-fft", "mkl-random", "onednn",
    "intel-openmp", "tbb", "scipy-openblas32", "scipy-openblas64", "numexpr", "bottleneck", "pandas", "pyarrow",
    "scikit-image", "statsmodels",
))
#: starts of names of which every distribution is one of the above.
NUMERIC_STARTS = ("nvidia-", "cupy-", "jax-cuda", "jax-rocm", "opencv-", "rocm-sdk-", "tensorflow-io")
#: text, files, networks, processes: nothing that adds up tensors.
HARMLESS = frozenset((
    "aiohttp", "asyncpg", "bcrypt", "brotli", "cffi", "charset-normalizer", "contourpy", "coverage", "cramjam",
    "cryptography", "cython", "duckdb", "fonttools", "frozenlist", "google-crc32c", "greenlet", "grpcio", "h5py",
    "hf-transfer", "hf-xet", "httptools", "hiredis", "jiter", "kiwisolver", "levenshtein", "librt", "lmdb", "lxml",
    "lz4", "markupsafe", "matplotlib", "ml-dtypes", "msgpack", "msgspec", "multidict", "mypy", "netcdf4", "orjson",
    "pillow", "pillow-simd", "propcache", "protobuf", "psutil", "psycopg2-binary", "pybase64", "pycryptodome",
    "pycryptodomex", "pydantic", "pydantic-core", "pynacl", "pynvml", "pyyaml", "pyzmq", "rapidfuzz", "regex",
    "rpds-py", "ruamel-yaml-clib", "safetensors", "sentencepiece", "setproctitle", "simplejson", "soundfile",
    "sqlalchemy", "tiktoken", "tokenizers", "tornado", "ujson", "uvloop", "wandb", "watchfiles", "websockets", "wrapt",
    "xxhash", "yarl", "zstandard",
))
#: modules that are named otherwise than their distribution, as far as they are common.
OF_MODULE = {
    "sklearn": ("scikit-learn",), "scikit_learn": ("scikit-learn",), "PIL": ("pillow", "pillow-simd"),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
    "yaml": ("pyyaml",), "skimage": ("scikit-image",), "google": ("protobuf", "google-crc32c"),
    "_cffi_backend": ("cffi",), "grpc": ("grpcio",), "zmq": ("pyzmq",), "Crypto": ("pycryptodome",),
    "triton": ("pytorch-triton", "pytorch-triton-rocm", "triton-rocm"), "cupy": (
        "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"), "cupy_backends": ("cupy-cuda11x", "cupy-cuda12x",
                                                                          "cupy-cuda13x"),
    "tensorflow": ("tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "tensorflow-intel", "tensorflow-rocm",
                   "intel-tensorflow", "tf-nightly"),
}


def numeric(name: str) -> bool:
    """Tell whether rules know the kernels of a distribution by its version."""
    return name in NUMERIC or name.startswith(NUMERIC_STARTS)


def harmless(name: str) -> bool:
    """Tell whether the native code of a distribution surely does no arithmetic on tensors."""
    return name in HARMLESS

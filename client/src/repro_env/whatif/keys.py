"""The keys of short facts: what each is called, what it states, and how its value is read.

A key that is none of the table is a fact of the document by its dotted path, a variable of the allow-list, or an
installed distribution.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..comparability.rules.distributions import WATCHED
from ..errors import InvalidDocument, UsageError
from ..importers.rows import normalised
from ..variables import ALLOWED, looks_secret
from . import following, hardware, paths, software
from .stated import NAMES, Stated

Read = Callable[[Stated, str, str], None]
_VERSION = re.compile(r"v?\d+(\.\d+)*([.+_!-]?[0-9A-Za-z.+_-]+)?")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*|TZ|LANG")
#: parts and sections of the document: no distribution is meant by them.
_PLACES = NAMES | {"schema", "stack", "program", "capture", "digests"}
#: how near a word has to be to a known one for it to be taken for a slip.
_SLIP = 0.8


class Key(NamedTuple):
    """One key with its other names."""

    names: tuple[str, ...]
    states: str
    example: str
    read: Read


def _fact(*targets: str) -> Read:
    """Return a reader that states facts by path, as the definition of the document types them."""
    def read(stated: Stated, key: str, text: str) -> None:
        for path in targets:
            stated.put(key, path, None if text.lower() == "none" else paths.read(path, text))
    return read


def _number(*targets: str) -> Read:
    def read(stated: Stated, key: str, text: str) -> None:
        for path in targets:
            stated.put(key, path, paths.number(key, text))
    return read


def _switch(path: str) -> Read:
    return lambda stated, key, text: stated.put(key, path, paths.switch(key, text))


KEYS: tuple[Key, ...] = (
    Key(("gpu", "device", "accelerator"), "devices: name, several as 8xH100 or A100+V100, an instance of "
        "a cloud, or none", "gpu=8xH100", hardware.gpu),
    Key(("gpus", "count", "gpu_count"), "number of devices", "gpus=8", hardware.count),
    Key(("sm_count", "sms"), "SMs of each device, where they are not those of its name", "sm_count=114",
        _number("accelerators.devices.sm_count")),
    Key(("capability", "compute_capability", "cc"), "compute capability of each device", "capability=9.0",
        _fact("accelerators.devices.compute_capability")),
    Key(("gfx", "gfx_target"), "instruction set target of AMD's devices", "gfx=gfx942",
        _fact("accelerators.devices.gfx_target")),
    Key(("mig", "mig_profile"), "MIG profile of each device, or none", "mig=3g.40gb",
        _fact("accelerators.devices.mig_profile")),
    Key(("driver", "nvidia_driver"), "driver, its libcuda included, or none", "driver=550.54.15", software.driver),
    Key(("compat",), "whether the forward-compatibility libcuda stands in", "compat=on", _switch("driver.compat")),
    Key(("torch", "pytorch"), "torch with its local label; the CUDA or ROCm build follows from it",
        "torch=2.3.1+cu121", partial(software.framework, "torch")),
    Key(("jax",), "JAX", "jax=0.5.3", partial(software.framework, "jax")),
    Key(("tensorflow", "tf"), "TensorFlow", "tensorflow=2.17.0", partial(software.framework, "tensorflow")),
    Key(("numpy", "np"), "NumPy", "numpy=2.1.3", partial(software.framework, "numpy")),
    Key(("scipy",), "SciPy", "scipy=1.14.1", partial(software.framework, "scipy")),
    Key(("scikit-learn", "sklearn"), "scikit-learn", "sklearn=1.5.2", partial(software.framework, "scikit-learn")),
    Key(("cuda", "cuda_build"), "CUDA version that the framework was built with, or none", "cuda=12.1", software.cuda),
    Key(("rocm", "rocm_build"), "ROCm version that torch was built with, or none", "rocm=6.2", software.rocm),
    *(Key((name,), f"{title}, installed and loaded", example, partial(software.library, name))
      for name, title, example in software.LIBRARIES),
    Key(("python", "py"), "Python", "python=3.11.7", partial(software.versioned, "python.version", 2)),
    Key(("backend",), "where the program computes: cuda, rocm, mps, xpu, tpu, cpu", "backend=cuda", software.backend),
    Key(("tf32", "allow_tf32"), "TF32 in products and convolutions of torch", "tf32=on", software.tf32),
    Key(("precision", "amp", "autocast", "dtype"), "fp32, bf16, fp16 (autocast), fp64, tf32, or highest, high, medium",
        "precision=bf16", software.precision),
    Key(("deterministic", "deterministic_algorithms"), "torch's deterministic algorithms: on, off, warn",
        "deterministic=on", software.deterministic),
    Key(("cudnn_benchmark", "benchmark"), "choice of cuDNN's kernels by timing", "cudnn_benchmark=off",
        _switch("determinism.cudnn_benchmark")),
    Key(("cudnn_deterministic",), "cuDNN's deterministic kernels", "cudnn_deterministic=on",
        _switch("determinism.cudnn_deterministic")),
    Key(("cublas_workspace",), "CUBLAS_WORKSPACE_CONFIG", "cublas_workspace=:4096:8", _fact(
        "determinism.cublas_workspace", "variables.values.CUBLAS_WORKSPACE_CONFIG")),
    Key(("threads", "num_threads"), "threads of torch, OpenMP and MKL", "threads=8",
        _number("threads.torch_intraop", "threads.openmp", "threads.mkl")),
    Key(("cpu", "processor"), "name of the processor", "cpu='EPYC 7742'", hardware.cpu),
    Key(("isa", "simd"), "widest instruction set: avx2, avx512, neon, sve, ...", "isa=avx2", hardware.isa),
    Key(("os", "system"), "operating system", "os='Ubuntu 22.04'", software.system),
    Key(("libc", "glibc"), "C library", "glibc=2.35", software.libc),
    Key(("image", "docker_image"), "container image: name, or sha256 digest", "image=example.org/train:1.2",
        software.image),
    Key(("container", "engine"), "container engine, or none", "container=docker", _fact("container.engine")),
    Key(("seed", "seeds"), "seed of Python, NumPy and torch", "seed=42",
        _number("random.seeds.python", "random.seeds.numpy", "random.seeds.torch")),
    Key(("draw", "largest_draw"), "elements of the largest single draw on the GPU", "draw=49152",
        _number("random.largest_cuda_draw")),
    Key(("batch", "batch_size", "micro_batch"), "samples a rank and forward pass", "batch=32",
        _number("layout.micro_batch")),
    Key(("accumulation", "grad_accum", "gradient_accumulation_steps"), "forward passes an optimizer step",
        "accumulation=4", _number("layout.accumulation")),
    Key(("workers", "num_workers", "loader_workers"), "worker processes of the loader", "workers=4",
        _number("data.loader_workers")),
    Key(("attention", "attn", "attn_implementation"), "attention implementation of the model", "attention=sdpa",
        _fact("model.attention")),
    Key(("compile",), "torch.compile or XLA jit in use", "compile=on", _switch("model.compile")),
    Key(("ranks", "world_size"), "number of ranks", "ranks=8", _number("layout.world_size")),
    Key(("data_parallel", "dp"), "data parallel degree", "dp=8", _number("layout.data_parallel")),
    Key(("tensor_parallel", "tp"), "tensor parallel degree", "tp=2", _number("layout.tensor_parallel")),
    Key(("pipeline_parallel", "pp"), "pipeline parallel degree", "pp=2", _number("layout.pipeline_parallel")),
    Key(("sampler",), "kind of sampler", "sampler=RandomSampler", _fact("data.sampler")),
    Key(("drop_last",), "incomplete last batch dropped", "drop_last=on", _switch("data.drop_last")),
    Key(("preprocessing",), "preprocessing, in words", "preprocessing='PIL resize'", _fact("data.preprocessing")),
    Key(("commit", "revision"), "commit of the code", "commit=9f1c2d3", _fact("source.commit")),
)
_BY_NAME = {name.replace("-", "_"): key for key in KEYS for name in key.names}


def read(stated: Stated, name: str, text: str) -> None:
    """Add what one pair states; raise ``UsageError`` for an unknown key, ``InvalidDocument`` for a wrong value."""
    if looks_secret(text):
        raise InvalidDocument(name, "the value has the shape of a secret")
    if text.lower() in paths.OPEN:
        return
    key = _BY_NAME.get(name.lower().replace("-", "_"))
    if key is not None:
        key.read(stated, name, text)
    elif "." in name:
        _path(stated, name, text)
    elif name in ALLOWED or _VARIABLE.fullmatch(name):
        _variable(stated, name, text)
    else:
        _distribution(stated, name, text)


def follow(stated: Stated) -> None:
    """Add what surely follows from everything stated."""
    hardware.place(stated)
    software.follow(stated)
    following.follow(stated)


def _path(stated: Stated, name: str, text: str) -> None:
    """Read a fact by its dotted path; ``variables.NAME`` and ``distributions.NAME`` stand for their members."""
    path = name.removeprefix("stack.").removeprefix("program.")
    section, _, rest = path.partition(".")
    if section == "variables":
        _variable(stated, rest.removeprefix("values."), text)
    elif section == "distributions" and rest != "complete":
        software.distribution(stated, name, normalised(rest), text)
    elif section not in NAMES:
        _distribution(stated, name, text)
    elif paths.kind_of(path) is None and not path.startswith("accelerators.devices."):
        raise UsageError(f"facts: the document has no fact {path}{_near(path, paths.catalogue())}")
    else:
        stated.put(name, path, paths.read(path, text))


def _variable(stated: Stated, name: str, text: str) -> None:
    if name not in ALLOWED:
        raise UsageError(f"facts: {name} is none of the variables that are recorded and judged{_near(name, ALLOWED)}; "
                         "docs/fields.md and `repro-env rules` tell what counts")
    stated.put(name, f"variables.values.{name}", None if text.lower() in ("unset", "none", *paths.ABSENT) else text)


def _distribution(stated: Stated, name: str, text: str) -> None:
    """Read an installed distribution: one that a rule looks at, or one of any other name with a version."""
    known = normalised(name)
    if name in _PLACES:
        within = next((f", as in {path}" for path in paths.catalogue() if path.startswith(f"{name}.")), "")
        raise UsageError(f"facts: {name} holds facts and is none; name one of them by its path{within}")
    if known not in WATCHED:
        slip = _near(known, [*_BY_NAME, *WATCHED, *map(str.lower, ALLOWED)], _SLIP)
        if slip or not _VERSION.fullmatch(text):
            raise UsageError(f"facts: unknown key {name!r}{slip or _near(known, [*_BY_NAME, *WATCHED])}; known are "
                             f"{', '.join(key.names[0] for key in KEYS[:12])} and others (docs/whatif.md), facts by "
                             "path as in precision.allow_tf32_matmul=on, variables, and distributions with their "
                             "version")
    software.distribution(stated, name, known, text)


def _near(word: str, known: object, cutoff: float = 0.5) -> str:
    near = difflib.get_close_matches(word.replace("-", "_"), list(known), 1, cutoff)  # type: ignore[call-overload]
    near = near or difflib.get_close_matches(word, list(known), 1, cutoff)  # type: ignore[call-overload]
    return f" (did you mean {near[0]}?)" if near else ""


def table() -> str:
    """Return the keys as rows of a Markdown table: key, other names, what it states, an example."""
    others = [", ".join(f"`{name}`" for name in key.names[1:]) for key in KEYS]
    rows = [f"| `{key.names[0]}` | {also} | {key.states} | `{key.example}` |" for key, also in zip(KEYS, others)]
    return "\n".join(["| key | also | states | example |", "|---|---|---|---|", *rows]) + "\n"

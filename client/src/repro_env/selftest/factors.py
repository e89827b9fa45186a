"""What is varied: one factor a row, as people meet it. Learnt from measured pairs; a new one is a row.

A factor that is ``quiet`` on a base must raise no alarm there; elsewhere only the bits say whether it acts. What a
factor changes is a variable, an option of the interpreter, a setting that the program makes, or the way of starting.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .bases import LOADERS

ONE, TWO, WORKERS, NUMPY, SCIKIT, PURE = "one-thread", "two-threads", "workers", "numpy", "scikit-learn", "python"
ALL = (ONE, TWO, NUMPY, SCIKIT, PURE)
TORCHES = (ONE, TWO)
COMPUTING = (ONE, TWO, NUMPY, SCIKIT)


class Factor(NamedTuple):
    """One difference. ``workloads`` limits it; ``against`` names the factor that stands on the other side.

    ``needs`` names what a machine must have, ``python`` another interpreter.
    """

    name: str
    words: str
    quiet: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    variables: dict[str, str] = {}  # noqa: RUF012 - a row of a table, never changed
    settings: dict[str, Any] = {}  # noqa: RUF012
    flags: tuple[str, ...] = ()
    start: str = ""
    needs: str = ""
    workloads: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    against: str = ""
    python: str = ""
    kind: str = ""

    @property
    def bases(self) -> tuple[str, ...]:
        """Every base that the factor is set against."""
        return (*self.quiet, *self.on)

    @property
    def program(self) -> bool:
        """Whether people vary it on purpose, so that *compare* does not judge it."""
        return self.kind == "program"


def _variable(name: str, value: str, **where: Any) -> Factor:
    return Factor(f"{name}={value}", f"variable {name}={value}", variables={name: value}, **where)


def _setting(name: str, words: str, settings: dict[str, Any], **where: Any) -> Factor:
    return Factor(name, words, settings=settings, **where)


#: started otherwise: none of it may matter.
STARTED = (
    Factor("host-name", "another host name", ALL, start="host-name", needs="unshare"),
    Factor("user", "another user id, by a user namespace", ALL, start="user", needs="unshare"),
    Factor("working-folder", "another working folder", ALL, start="working-folder"),
    Factor("script-folder", "the program in another folder", ALL, start="script-folder"),
    Factor("nice", "nice 5", ALL, start="nice", needs="nice"),
    Factor("umask", "umask 077", ALL, start="umask", needs="sh"),
    Factor("stack-limit", "stack limit of 16 MiB", ALL, start="stack-limit", needs="sh"),
    Factor("addresses", "addresses not randomised", ALL, start="addresses", needs="setarch"),
    Factor("unrelated-distribution", "a distribution that computes nothing installed beside the program", ALL,
           start="unrelated-distribution"),
    Factor("optimised", "python -O", ALL, flags=("-O",)),
    Factor("developer", "python -X dev", ALL, flags=("-X", "dev")),
    Factor("environment-size", "20 000 bytes more in the environment", ALL, variables={"FILLER": "x" * 20_000}),
)
#: variables that steer nothing in a program that computes on the CPU.
IDLE = (
    _variable("CUDA_VISIBLE_DEVICES", "", quiet=ALL),
    _variable("CUDA_LAUNCH_BLOCKING", "1", quiet=ALL),
    _variable("CUDA_MODULE_LOADING", "EAGER", quiet=TORCHES),
    _variable("CUBLAS_WORKSPACE_CONFIG", ":4096:8", quiet=ALL),
    _variable("NVIDIA_TF32_OVERRIDE", "0", quiet=ALL),
    _variable("NVIDIA_VISIBLE_DEVICES", "all", quiet=TORCHES),
    _variable("NCCL_ALGO", "Ring", quiet=TORCHES),
    _variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", quiet=TORCHES),
    Factor("scheduler", "variables of a Slurm job", ALL,
           variables={"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "train", "SLURM_CPUS_PER_TASK": "2"}),
    _variable("TERM", "dumb", quiet=ALL),
    _variable("DISPLAY", ":3", quiet=(ONE, NUMPY, PURE)),
    _variable("LANG", "en_US.UTF-8", quiet=ALL),
    _variable("TZ", "Etc/UTC", quiet=ALL),
    _variable("PYTHONUTF8", "1", quiet=ALL),
    _variable("PYTHONUNBUFFERED", "1", quiet=ALL),
    _variable("PYTHONDONTWRITEBYTECODE", "1", quiet=ALL),
    _variable("PYTHONMALLOC", "malloc", quiet=ALL),
    _variable("MALLOC_ARENA_MAX", "1", quiet=COMPUTING),
    _variable("MALLOC_PERTURB_", "165", quiet=COMPUTING),
    _variable("MALLOC_MMAP_THRESHOLD_", "4096", quiet=COMPUTING),
    _variable("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", quiet=COMPUTING),
    _variable("OMP_WAIT_POLICY", "passive", quiet=COMPUTING),
    _variable("OMP_STACKSIZE", "16M", quiet=COMPUTING),
    _variable("OMP_SCHEDULE", "dynamic,1", quiet=COMPUTING),
    _variable("GOMP_SPINCOUNT", "0", quiet=COMPUTING),
    _variable("KMP_BLOCKTIME", "0", quiet=TORCHES),
    _variable("KMP_AFFINITY", "compact", quiet=TORCHES),
    _variable("ONEDNN_VERBOSE", "1", quiet=TORCHES),
    _variable("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0", quiet=TORCHES),
    _setting("interop", "two threads between operators", {"interop": 2}, quiet=TORCHES),
)
#: what was in effect anyway, set by name.
SAME = (
    _setting("threads-set-1", "torch.set_num_threads(1), as before", {"threads": 1}, quiet=(ONE,)),
    _setting("threads-set-2", "torch.set_num_threads(2), as before", {"threads": 2}, quiet=(TWO,)),
    _variable("ATEN_CPU_CAPABILITY", "avx512", quiet=TORCHES, needs="avx512"),
    _variable("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", quiet=TORCHES, needs="avx512"),
    _variable("MKL_CBWR", "AVX512", quiet=TORCHES, needs="avx512"),
    _variable("MKL_ENABLE_INSTRUCTIONS", "AVX512", quiet=TORCHES, needs="avx512"),
    _variable("ONEDNN_DEFAULT_FPMATH_MODE", "STRICT", quiet=TORCHES),
    _setting("prefetch", "prefetch_factor 4", {"prefetch_factor": 4}, quiet=(WORKERS,)),
    _setting("spawn", "loader workers spawned", {"multiprocessing_context": "spawn"}, quiet=(WORKERS,)),
    _setting("forkserver", "loader workers from a fork server", {"multiprocessing_context": "forkserver"},
             quiet=(WORKERS,)),
)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_TWO_THREADS = dict.fromkeys(_ONE_THREAD, "2")
_FOUR_THREADS = dict.fromkeys(_ONE_THREAD, "4")
THREADS = (
    Factor("threads-1", "two threads to one", on=(TWO, NUMPY), variables=_ONE_THREAD),
    Factor("threads-2", "one thread to two", on=(ONE, SCIKIT), variables=_TWO_THREADS),
    Factor("threads-4", "four threads", on=(TWO, NUMPY, SCIKIT), variables=_FOUR_THREADS),
    Factor("threads-4-fixed", "two threads to four, MKL_DYNAMIC=FALSE", on=(TWO,),
           variables={**_FOUR_THREADS, "MKL_DYNAMIC": "FALSE"}),
    _setting("threads-called-1", "torch.set_num_threads(1) over two", {"threads": 1}, on=(TWO,)),
    _setting("threads-called-2", "torch.set_num_threads(2) over one", {"threads": 2}, on=(ONE,)),
    Factor("one-core", "bound to one core", on=(ONE, TWO, NUMPY, SCIKIT), start="one-core", needs="taskset"),
    Factor("two-routes", "one thread by variable against one by call", on=(TWO,), settings={"threads": 1},
           against="threads-1"),
    _variable("OPENBLAS_NUM_THREADS", "1", on=(NUMPY,)),
    _variable("OPENBLAS_NUM_THREADS", "2", on=(SCIKIT,)),
)
INSTRUCTIONS = (
    _variable("ATEN_CPU_CAPABILITY", "default", on=TORCHES),
    _variable("ATEN_CPU_CAPABILITY", "avx2", on=TORCHES),
    _variable("ONEDNN_MAX_CPU_ISA", "AVX2", on=TORCHES),
    _variable("ONEDNN_MAX_CPU_ISA", "SSE41", on=TORCHES),
    _variable("ONEDNN_CPU_ISA_HINTS", "PREFER_YMM", on=TORCHES),
    _variable("MKL_CBWR", "COMPATIBLE", on=TORCHES),
    _variable("MKL_CBWR", "AVX2,STRICT", on=TORCHES),
    _variable("MKL_ENABLE_INSTRUCTIONS", "AVX2", on=TORCHES),
    _variable("OPENBLAS_CORETYPE", "HASWELL", on=COMPUTING),
    _variable("OPENBLAS_CORETYPE", "PRESCOTT", on=(NUMPY, SCIKIT)),
    _variable("OPENBLAS_CORETYPE", "NEHALEM", on=(NUMPY, SCIKIT)),
    _variable("OPENBLAS_CORETYPE", "SKYLAKEX", on=(NUMPY, SCIKIT), needs="avx512"),
    _variable("OPENBLAS_CORETYPE", "ZEN", on=(NUMPY,)),
    Factor("zen-haswell", "OPENBLAS_CORETYPE=ZEN against HASWELL", on=(NUMPY, SCIKIT),
           against="OPENBLAS_CORETYPE=HASWELL", variables={"OPENBLAS_CORETYPE": "ZEN"}),
    Factor("numpy-simd", "NumPy without its dispatched instruction sets", on=COMPUTING, start="numpy-simd"),
    _variable("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4", on=(ONE, NUMPY, SCIKIT, PURE)),
)
ARITHMETIC = (
    _setting("medium", "matmul precision medium", {"matmul": "medium"}, on=TORCHES),
    _setting("high", "matmul precision high", {"matmul": "high"}, on=TORCHES),
    _setting("fp32-tf32", "torch.backends.fp32_precision tf32", {"fp32": "tf32"}, on=TORCHES),
    _setting("fp32-ieee", "torch.backends.fp32_precision ieee", {"fp32": "ieee"}, on=TORCHES),
    Factor("medium-avx2", "precision medium against none, both on AVX2", on=(ONE,), settings={"matmul": "medium"},
           variables={"ONEDNN_MAX_CPU_ISA": "AVX2"}, against="ONEDNN_MAX_CPU_ISA=AVX2"),
    _variable("ONEDNN_DEFAULT_FPMATH_MODE", "BF16", on=TORCHES),
    _setting("onednn-off", "oneDNN off", {"onednn": False}, on=TORCHES),
    _setting("onednn-deterministic", "oneDNN deterministic", {"onednn_deterministic": True}, on=TORCHES),
    _setting("autocast", "autocast to bfloat16", {"autocast": True}, on=TORCHES,
             workloads=("linear", "convolution", "transformer")),
    _setting("flush", "denormals flushed", {"flush": True}, on=TORCHES, workloads=("denormal", "linear")),
    _setting("float64", "default type float64", {"dtype": "float64"}, on=(ONE,), workloads=("linear", "convolution")),
    _setting("fast-path", "fused attention in evaluation off", {"fast_path": False}, on=TORCHES,
             workloads=("transformer", "linear")),
    _setting("deterministic", "deterministic algorithms on", {"deterministic": True}, on=(ONE,)),
    _setting("not-deterministic", "deterministic algorithms off", {"deterministic": False}, on=(TWO,)),
    Factor("fast-math", "a preloaded library linked with -ffast-math", on=ALL, start="fast-math", needs="cc"),
    Factor("fast-math-small", "the same where numbers are small", on=TORCHES, start="fast-math", needs="cc",
           workloads=("denormal",)),
    Factor("ascii", "an ASCII locale", on=ALL,
           variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Factor("blank-library", "a preloaded library that does nothing", on=(ONE, NUMPY, PURE), start="blank-library",
           needs="cc"),
)
PROGRAM = (
    _setting("n-jobs", "two jobs in the forest", {"n_jobs": 2}, on=(SCIKIT,)),
    _setting("seed", "another seed", {"seed": 1}, on=(*ALL, WORKERS)),
    _setting("data-seed", "other data", {"data_seed": 1}, on=(ONE, NUMPY, SCIKIT)),
    _setting("batch", "half the batch", {"batch": 32}, on=TORCHES, workloads=("linear", "convolution", "transformer")),
    _setting("workers-1", "one loader worker instead of none", {"workers": 1}, on=TORCHES, workloads=LOADERS),
    _setting("workers-2", "two loader workers instead of none", {"workers": 2}, on=TORCHES, workloads=LOADERS),
    _setting("workers-4", "four loader workers instead of two", {"workers": 4}, on=(WORKERS,)),
    _setting("worker-init", "workers seeded by the program", {"worker_init": True}, on=(WORKERS,)),
    _setting("generator", "a generator for the loader", {"generator": True}, on=(ONE, WORKERS), workloads=LOADERS),
    _setting("persistent", "workers kept", {"persistent_workers": True}, on=(WORKERS,)),
    _setting("foreach", "Adam over lists of tensors", {"foreach": True}, on=(ONE,),
             workloads=("linear", "transformer")),
    _setting("channels-last", "channels last", {"channels_last": True}, on=TORCHES, workloads=("convolution",)),
    _setting("compile", "torch.compile", {"compile": True}, on=(ONE,), needs="c++", workloads=("linear",)),
    Factor("unknown-distribution", "a distribution that nobody knows installed beside the program", on=ALL,
           start="unknown-distribution"),
    Factor("edited", "the program edited", on=(ONE, NUMPY, PURE), start="edited", needs="git"),
    _variable("PYTHONHASHSEED", "1", on=ALL),
    Factor("hash-random", "PYTHONHASHSEED unset", on=ALL, without=("PYTHONHASHSEED",)),
)
KINDS: dict[str, tuple[Factor, ...]] = {
    "started otherwise": STARTED, "idle variables": IDLE, "set as it was": SAME, "threads": THREADS,
    "instruction sets": INSTRUCTIONS, "arithmetic": ARITHMETIC, "program": PROGRAM,
}
FACTORS: tuple[Factor, ...] = tuple(factor._replace(kind=kind) for kind, members in KINDS.items()
                                    for factor in members)
FACTORS_BY_NAME = {factor.name: factor for factor in FACTORS}


def interpreter(python: str) -> Factor:
    """Return the factor that another interpreter is, with all that is installed for it."""
    return Factor(f"interpreter {python}", f"the interpreter {python}, with what is installed for it",
                  on=(ONE, NUMPY, SCIKIT, PURE), python=python, kind="versions")

"""Factors that were measured on a CPU, by kind: those that change nothing stay silent, those that act are found.

Each row states what the process shows when the factor is set, and in which programs it acted. The programs are those of
the measurement: torch on two threads, NumPy and SciPy, scikit-learn, pure Python. Whether bits moved in every program
of a kind is not the point: a factor that moved them in one must not be guaranteed to do nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from documents import change, complete_document, distribution, framework, library

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

POOL = {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 2}
TWO = {"threads.torch_intraop": 2, "threads.openmp": 2, "threads.openmp_pools": {"libgomp": 2}, "threads.mkl": 2,
       "threads.blas_pools": [POOL], "threads.affinity_count": 2, "cpu.cores": 2}
NO_TORCH = {"frameworks.torch": None, "libraries.mkl": None, "libraries.onednn": None, "threads.torch_intraop": None,
            "threads.mkl": None, "cpu.torch_capability": None}
PROGRAMS: dict[str, dict[str, Any]] = {
    "torch": {**TWO, "frameworks.scikit_learn": None},
    "numpy": {**TWO, **NO_TORCH, "frameworks.scikit_learn": None},
    "sklearn": {**TWO, **NO_TORCH, "threads.scikit_learn": 2},
    "python": {**TWO, **NO_TORCH, **{f"frameworks.{name}": None for name in ("numpy", "scipy", "scikit_learn")},
               "libraries.openblas": None, "threads.blas_pools": [], "cpu.numpy_simd": None},
}
ALL = tuple(PROGRAMS)
ARRAYS = ("torch", "numpy", "sklearn")
ON_NUMPY = ("numpy", "sklearn")


class Factor(NamedTuple):
    """What the variant shows, the programs in which it was set, and those among them in which bits moved."""

    facts: dict[str, Any]
    programs: tuple[str, ...]
    acts: tuple[str, ...] = ()


def variables(**values: str | None) -> dict[str, Any]:
    return {f"variables.values.{name}": value for name, value in values.items()}


ONE_POOL = [{**POOL, "threads": 1}]
HASWELL = [{**POOL, "architecture": "Haswell"}]
AVX2_NUMPY = ["AVX2", "FMA3"]
FACTORS: dict[str, Factor] = {
    "other host, process and folder": Factor({"capture.process.node": "other", "capture.process.pid": 5,
                                              "source.remote": "https://example.org/x.git"}, ALL),
    "wait policy unset": Factor(variables(OMP_WAIT_POLICY="passive"), ALL),
    "schedule": Factor(variables(OMP_SCHEDULE="dynamic,1"), ALL),
    "affinity of libiomp5 without libiomp5": Factor(variables(KMP_AFFINITY="compact", KMP_BLOCKTIME="0"), ALL),
    "binding that leaves the counts": Factor(variables(OMP_PROC_BIND="close", OMP_PLACES="cores"), ("torch", "numpy")),
    "German locale": Factor(variables(LANG="de_DE.UTF-8", LC_ALL="de_DE.UTF-8"), ALL),
    "optimised bytecode": Factor(variables(PYTHONOPTIMIZE="1", PYTHONUTF8="1"), ALL),
    "arenas": Factor(variables(MALLOC_ARENA_MAX="1"), ALL),
    "huge pages": Factor(variables(GLIBC_TUNABLES="glibc.malloc.hugetlb=1"), ALL),
    "tcmalloc": Factor(variables(LD_PRELOAD="/usr/lib/libtcmalloc_minimal.so.4"), ALL),
    "libiomp5 for libgomp": Factor({**variables(LD_PRELOAD="/usr/lib/libiomp5.so"),
                                    "threads.openmp_pools": {"libiomp5": 2},
                                    "libraries.openmp": library("libiomp5 5.0")}, ALL),
    "libomp for libgomp": Factor({**variables(LD_PRELOAD="/usr/lib/libomp.so.5"), "threads.openmp_pools": {"libomp": 2},
                                  "libraries.openmp": library("libomp 14.0")}, ALL),
    "threads asked for that are in force": Factor(variables(OMP_NUM_THREADS="2"), ALL),
    "four threads asked for on two cores": Factor(variables(OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="4"),
                                                  ("torch", "numpy")),
    "threads of OpenBLAS in a torch program": Factor(variables(OPENBLAS_NUM_THREADS="4"), ("torch",)),
    "affinity with equal counts": Factor({"threads.affinity_count": 1}, ("torch", "numpy")),
    "inter-op threads": Factor({"threads.torch_interop": 1}, ("torch",)),
    "capability that is in force": Factor(variables(ATEN_CPU_CAPABILITY="avx512"), ALL),
    "MKL held at what it takes": Factor(variables(MKL_CBWR="AVX512"), ALL),
    "MKL enabled for what it takes": Factor(variables(MKL_ENABLE_INSTRUCTIONS="AVX512"), ALL),
    "MKL capped where it is not loaded": Factor(variables(MKL_CBWR="COMPATIBLE", MKL_ENABLE_INSTRUCTIONS="AVX2"),
                                                (*ON_NUMPY, "python")),
    "oneDNN held at AVX512_CORE": Factor(variables(ONEDNN_MAX_CPU_ISA="AVX512_CORE"), ALL),
    "oneDNN capped where it is not loaded": Factor(variables(ONEDNN_MAX_CPU_ISA="AVX2"), (*ON_NUMPY, "python")),
    "oneDNN hints": Factor(variables(ONEDNN_CPU_ISA_HINTS="PREFER_YMM"), ALL),
    "OpenBLAS core that is in force": Factor(variables(OPENBLAS_CORETYPE="SKYLAKEX"), ALL),
    "OpenBLAS core that runs the same kernels": Factor(variables(OPENBLAS_CORETYPE="COOPERLAKE"), ALL),
    "TF32 asked for on a CPU": Factor({"precision.fp32_generic": "tf32", "precision.fp32_mkldnn_matmul": "tf32",
                                       "precision.allow_tf32_matmul": True}, ALL),
    "oneDNN determinism": Factor({"determinism.mkldnn_deterministic": True}, ("torch",)),
    "Python patch release": Factor({"python.version": "3.11.2"}, ALL),
    "time zone of equal offset": Factor(variables(TZ="Africa/Accra"), ALL),
    "unrelated packages": Factor({"distributions.installed": [
        distribution("numpy", "2.3.5"), distribution("rich", "13.0"), distribution("threadpoolctl", "3.5.0"),
        distribution("torch", "2.13.0+cpu"), distribution("transformers", "5.0.0")]}, ALL),
    "variables of GPUs": Factor(variables(CUBLAS_WORKSPACE_CONFIG=":16:8", CUDA_LAUNCH_BLOCKING="1",
                                          NVIDIA_TF32_OVERRIDE="1", NCCL_ALGO="Ring"), ALL),
    "order of equal pools": Factor({"threads.blas_pools": [POOL, POOL]}, ARRAYS),
    "one thread": Factor({**variables(OMP_NUM_THREADS="1"), "threads.torch_intraop": 1, "threads.openmp": 1,
                          "threads.openmp_pools": {"libgomp": 1}, "threads.blas_pools": ONE_POOL, "threads.mkl": 1},
                         ARRAYS, ARRAYS),
    "three threads of OpenMP": Factor({"threads.openmp": 3, "threads.openmp_pools": {"libgomp": 3},
                                       "threads.scikit_learn": 3}, ("sklearn",), ("sklearn",)),
    "one thread of scikit-learn by affinity": Factor({"threads.affinity_count": 1, "threads.scikit_learn": 1},
                                                     ("sklearn",), ("sklearn",)),
    "MKL not dynamic": Factor({**variables(MKL_DYNAMIC="FALSE", OMP_NUM_THREADS="4"), "threads.torch_intraop": 4,
                               "threads.mkl": 4}, ("torch",), ("torch",)),
    "torch without vectors": Factor({**variables(ATEN_CPU_CAPABILITY="default"), "cpu.torch_capability": "DEFAULT"},
                                    ("torch",), ("torch",)),
    "MKL held at AVX2": Factor(variables(MKL_CBWR="AVX2,STRICT"), ("torch",), ("torch",)),
    "MKL enabled for AVX2": Factor(variables(MKL_ENABLE_INSTRUCTIONS="AVX2"), ("torch",), ("torch",)),
    "MKL compatible": Factor(variables(MKL_CBWR="COMPATIBLE"), ("torch",), ("torch",)),
    "oneDNN held at AVX2": Factor(variables(ONEDNN_MAX_CPU_ISA="AVX2"), ("torch",), ("torch",)),
    "oneDNN in bfloat16": Factor(variables(ONEDNN_DEFAULT_FPMATH_MODE="BF16"), ("torch",), ("torch",)),
    "precision medium": Factor({"precision.float32_matmul_precision": "medium",
                                "precision.fp32_mkldnn_matmul": "bf16"}, ("torch",), ("torch",)),
    "autocast": Factor({"precision.autocast": "bfloat16"}, ("torch",), ("torch",)),
    "oneDNN off": Factor({"determinism.mkldnn_enabled": False}, ("torch",), ("torch",)),
    "attention without fast path": Factor({"determinism.mha_fastpath": False}, ("torch",), ("torch",)),
    "NumPy without AVX-512": Factor({**variables(NPY_DISABLE_CPU_FEATURES="AVX512F"), "cpu.numpy_simd": AVX2_NUMPY},
                                    ON_NUMPY, ON_NUMPY),
    "OpenBLAS for Haswell": Factor({**variables(OPENBLAS_CORETYPE="HASWELL"), "threads.blas_pools": HASWELL}, ON_NUMPY,
                                   ON_NUMPY),
    "fast-math preloaded": Factor({**variables(LD_PRELOAD="/opt/libftz.so"), "precision.flush_to_zero": True}, ARRAYS,
                                  ARRAYS),
    "NumPy 2.2.6": Factor({"frameworks.numpy": framework("2.2.6")}, ("numpy",), ("numpy",)),
    "scikit-learn 1.8.0": Factor({"frameworks.scikit_learn": framework("1.8.0")}, ("sklearn",), ("sklearn",)),
    "Python 3.12": Factor({"python.version": "3.12.1"}, ("python",), ("python",)),
    "Latin-1": Factor({"system.encoding": "ISO-8859-1"}, ("python",), ("python",)),
    "threads that may change": Factor(variables(OMP_DYNAMIC="true"), ARRAYS, ARRAYS),
    "MKL over OpenBLAS": Factor({**variables(LD_PRELOAD="/usr/lib/libmkl_rt.so"), "libraries.mkl": library("2020.4"),
                                 "threads.mkl": 2}, ON_NUMPY, ON_NUMPY),
    "reference BLAS": Factor({"threads.blas_pools": [], "libraries.openblas": None}, ON_NUMPY, ON_NUMPY),
    "bottleneck and numexpr": Factor({"distributions.installed": [
        distribution("bottleneck", "1.5.0"), distribution("numexpr", "2.13"), distribution("numpy", "2.3.5"),
        distribution("torch", "2.13.0+cpu"), distribution("transformers", "5.0.0")]}, ("numpy",), ("numpy",)),
}
SILENT = [pytest.param(name, program, id=f"{program}: {name}") for name, factor in FACTORS.items()
          for program in factor.programs if program not in factor.acts]
ACTING = [pytest.param(name, program, id=f"{program}: {name}") for name, factor in FACTORS.items()
          for program in factor.acts]


def verdict_on(name: str, program: str, question: Question) -> Verdict:
    base = complete_document("exit", **PROGRAMS[program])
    return judge(Facts.of(base), Facts.of(change(base, **FACTORS[name].facts)), question=question)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_base_repeats_itself(program: str) -> None:
    side = Facts.of(complete_document("exit", **PROGRAMS[program]))
    verdict = judge(side, side, question=Question.REPEAT)
    assert verdict.guaranteed is Level.BITWISE, verdict.assumes


@pytest.mark.parametrize(("name", "program"), SILENT)
@pytest.mark.parametrize("question", [Question.COMPARE, Question.REPEAT])
def test_a_factor_that_moved_no_bit_is_silent(name: str, program: str, question: Question) -> None:
    verdict = verdict_on(name, program, question)
    assert not verdict.reasons, [(reason.rule, reason.why) for reason in verdict.reasons]
    assert verdict.guaranteed is Level.BITWISE, [row.rule for row in verdict.assumes]


@pytest.mark.parametrize(("name", "program"), [case for case in SILENT if any(
    path.startswith("variables.") for path in FACTORS[str(case.values[0])].facts)])
def test_a_variable_that_moved_no_bit_is_listed_as_ignored(name: str, program: str) -> None:
    listed = {row.path for row in verdict_on(name, program, Question.COMPARE).ignored}
    assert {path for path in FACTORS[name].facts if path.startswith("variables.")} <= listed


@pytest.mark.parametrize(("name", "program"), ACTING)
def test_a_factor_that_moved_bits_is_never_guaranteed_to_do_nothing(name: str, program: str) -> None:
    verdict = verdict_on(name, program, Question.COMPARE)
    assert verdict.guaranteed < Level.BITWISE
    assert verdict.reasons or verdict.assumes

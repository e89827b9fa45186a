"""What nobody can see is not guaranteed: variables without an effective value, unknown BLAS, kernels of others."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, framework

from repro_env import variables
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules.unseen import FAMILIES
from repro_env.comparability.steering import JUDGED_VARIABLES

#: variables that lead to a value which is read itself, or that steer no arithmetic.
READ_OTHERWISE = frozenset((
    "ATEN_CPU_CAPABILITY", "BLIS_ARCH_TYPE", "BLIS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_CACHE_DISABLE",
    "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DISABLE_PTX_JIT", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
    "GOTO_NUM_THREADS", "HCCL_DETERMINISTIC", "KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_DUPLICATE_LIB_OK",
    "LANG", "LCCL_DETERMINISTIC", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LD_BIND_NOW", "LD_LIBRARY_PATH",
    "LOKY_MAX_CPU_COUNT", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "NCCL_ALGO", "NCCL_NVLS_ENABLE", "NCCL_PROTO",
    "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "NUMBA_NUM_THREADS", "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_WAIT_POLICY",
    "ONEDNN_CPU_ISA_HINTS", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS",
    "PYTHONNOUSERSITE", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_TUNABLEOP_ENABLED", "TBB_NUM_THREADS",
    "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "TORCH_NCCL_HIGH_PRIORITY", "TRITON_CACHE_AUTOTUNING", "TZ",
    "VECLIB_MAXIMUM_THREADS", "XLA_PYTHON_CLIENT_PREALLOCATE"))


@pytest.mark.parametrize("name", variables.ALLOWED)
def test_every_recorded_variable_is_judged_or_known_to_be_read_otherwise(name: str) -> None:
    assert (name in JUDGED_VARIABLES) is not (name in READ_OTHERWISE)


@pytest.mark.parametrize("name", sorted(JUDGED_VARIABLES | READ_OTHERWISE))
def test_no_rule_waits_for_a_variable_that_is_never_recorded(name: str) -> None:
    assert name in variables.ALLOWED


#: families that a process reads by what they led to.
FROM_OUTSIDE = frozenset(("jax-precision", "tensorflow-variables"))


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in FAMILIES for name in family.names],
                         ids=lambda item: item if isinstance(item, str) else item.id)
def test_no_member_of_a_family_is_guaranteed_to_do_nothing(family: Any, name: str) -> None:
    machine = "h100" if family.layer != "threads" else "cpu"
    used = {"frameworks.jax": framework("0.5.3"), "frameworks.tensorflow": framework("2.10.0"),
            "frameworks.backend": "rocm" if "rocm" in family.id else "cuda" if machine == "h100" else "cpu"}
    base = complete_document("prologue" if family.id in FROM_OUTSIDE else "exit", machine=machine, **used)
    verdict = judge(Facts.of(base), Facts.of(change(base, **{f"variables.values.{name}": "1"})))
    assert family.id in {reason.rule for reason in verdict.reasons}
    assert verdict.guaranteed <= family.guaranteed < Level.BITWISE


NUMPY_ONLY = {"frameworks.torch.imported": False, "libraries.mkl.loaded": None, "frameworks.scikit_learn": None}


def test_numpy_over_a_blas_that_tells_nothing_is_not_guaranteed() -> None:
    """MKL under NumPy, ATLAS and the reference library have no pool that is read."""
    side = Facts.of(complete_document("exit", **NUMPY_ONLY, **{"threads.blas_pools": []}))
    verdict = judge(side, side)
    assert verdict.guaranteed < Level.BITWISE
    assert not verdict.reasons
    assert "blas-kernels" in {row.rule for row in verdict.assumes}


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("used", [NUMPY_ONLY, {**NUMPY_ONLY, "frameworks.scikit_learn": framework("1.9.1")}, {}],
                         ids=["numpy", "sklearn", "torch"])
def test_kernels_nobody_vouches_for_are_not_guaranteed(used: dict[str, Any], threads: int) -> None:
    """Forests in several processes, KMeans on three threads, compiled loops: no switch of torch holds them."""
    base = complete_document("exit", **used, **{"threads.torch_intraop": threads})
    known, unknown = base, change(base, **{"determinism.nondeterministic_kernels": {"unread": "not-reported"}})
    assert judge(Facts.of(known), Facts.of(known)).guaranteed is Level.BITWISE
    verdict = judge(Facts.of(unknown), Facts.of(unknown))
    assert verdict.guaranteed < Level.BITWISE
    assert verdict.expected is Level.BITWISE

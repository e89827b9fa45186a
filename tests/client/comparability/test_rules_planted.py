"""Every rule finds the difference it is there for: planted alone, it is the first reason. No rule goes without."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from documents import Document, change, complete_document, distribution, framework, h100, library

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.rule import Condition
from repro_env.comparability.rules import RULES, RULES_BY_ID
from repro_env.comparability.rules.distributions import CRITICAL
from repro_env.comparability.rules.libraries import KINDS

#: what a NumPy program without torch looks like.
NUMPY_ONLY = {"frameworks.torch.imported": False}
NCCL = {"collectives.backend": "nccl"}
ROCM = {"frameworks.backend": "rocm"}
JAX = {"frameworks.jax": framework("0.5.3"), "determinism.xla_deterministic": True}
TENSORFLOW = {"frameworks.tensorflow": framework("2.10.0"), "determinism.tensorflow_op_determinism": True,
              "precision.tensorflow_tf32": False, "precision.tensorflow_policy": "float32"}


class Planted(NamedTuple):
    """What differs between two documents that are otherwise equal; a Condition is planted on the right."""

    machine: str
    left: dict[str, Any]
    right: dict[str, Any]


def cpu(path: str, left: Any, right: Any, **common: Any) -> Planted:
    return Planted("cpu", {**common, path: left}, {**common, path: right})


def gpu(path: str, left: Any, right: Any, **common: Any) -> Planted:
    return Planted("h100", {**common, path: left}, {**common, path: right})


def cards(**facts: Any) -> list[Document]:
    return [h100(**facts)]


def packages(**versions: str) -> list[Document]:
    return [distribution(name.replace("_", "-"), version) for name, version in versions.items()]


DEVICES, INSTALLED = "accelerators.devices", "distributions.installed"
GTX1650 = cards(name="NVIDIA GeForce GTX 1650", compute_capability="7.5", sm_count=14, threads_per_sm=1024)
PASCAL = cards(name="NVIDIA GeForce GTX 1080 Ti", compute_capability="6.1", sm_count=28)
VOLTA = cards(name="Tesla V100-SXM2-16GB", compute_capability="7.0", sm_count=80)
B200 = cards(name="NVIDIA B200", compute_capability="10.0", sm_count=148)
OLD = ["sm_37", "sm_50", "sm_60", "sm_70"]
FALCON = {"frameworks.torch.version": "1.8.1", "frameworks.torch.cuda_build": "11.1",
          "frameworks.torch.arch_list": ["sm_60"], DEVICES: PASCAL}
POOL = {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8}

PLANTED: dict[str, Planted] = {
    "known-gtx16-half": gpu("precision.autocast", None, "float16", **{DEVICES: GTX1650}),
    "known-torch-1.8.1-pip-pascal": gpu("frameworks.torch.build", "conda", "wheel", **FALCON),
    "known-cublas-9-tall": gpu("libraries.cublas", library("9.2.0"), library("9.0.0"),
                               **{DEVICES: PASCAL, "frameworks.torch.arch_list": ["sm_60"]}),
    "known-cublas-10.1-half-volta": gpu(
        "precision.autocast", None, "float16",
        **{DEVICES: VOLTA, "frameworks.torch.version": "1.6.0", "frameworks.torch.cuda_build": "10.1",
           "frameworks.torch.arch_list": ["sm_70"]}),
    "known-mps-2022": cpu("frameworks.torch.version", "1.13.0", "1.12.1", **{"frameworks.backend": "mps"}),
    "known-iommu-peer-copies": gpu("declared.values", {"iommu": "off"}, {"iommu": "on"}),
    "known-mkldnn-2019-avx512": cpu("frameworks.torch.version", "1.1.0", "1.0.1"),
    "known-cudnn-attention-b200": gpu("determinism.sdp_cudnn", False, True,
                                      **{DEVICES: B200, "frameworks.torch.cuda_build": "12.8",
                                         "frameworks.torch.arch_list": ["sm_100"]}),
    "cudnn-wrong": gpu("libraries.cudnn.loaded", "9.1.0", "8.9.7"),
    "cublas-wrong": gpu("libraries.cublas.loaded", "12.4.5", "12.1.3"),
    "arch-not-in-build": gpu("frameworks.torch.arch_list", [*OLD, "sm_90"], OLD),
    "cuda-older-than-gpu": gpu("frameworks.torch.cuda_build", "12.4", "11.3"),
    "logged-meaning": cpu(INSTALLED, packages(transformers="4.44.0"), packages(transformers="4.47.1")),
    "commit": cpu("source.commit", "a" * 40, "b" * 40),
    "diff": cpu("source.diff_digest", "sha256:" + "4" * 64, "sha256:" + "5" * 64, **{"source.dirty": True}),
    "dirty": cpu("source.dirty", False, True),
    "submodules": cpu("source.submodules", {"lib": "a" * 40}, {"lib": "b" * 40}),
    "entry-point": cpu("source.entry_point", "train.py", "train_v2.py"),
    "arguments": cpu("source.arguments_digest", "sha256:" + "1" * 64, "sha256:" + "6" * 64),
    "declared": cpu("declared.values", {"epochs": "1"}, {"epochs": "4"}),
    "preprocessing": cpu("data.preprocessing", "PIL resize", "tensor resize"),
    "dataset": cpu("data.dataset_digest", "sha256:" + "2" * 64, "sha256:" + "7" * 64),
    "file-order": cpu("data.file_order_digest", "sha256:" + "3" * 64, "sha256:" + "8" * 64),
    "workers-unseeded": cpu("data.worker_seeding", "default", "none"),
    "worker-seeding": cpu("data.worker_seeding", "default", "per-sample"),
    "seed": cpu("random.seeds", {"torch": 42}, {"torch": 43}),
    "unseeded": cpu("random.seeded_before_use", True, False),
    "dynamic-batching": cpu("layout.dynamic_batching", False, True),
    "global-batch": cpu("layout.micro_batch", 16, 32),
    "data-parallel": Planted("cpu", {"layout.data_parallel": 1, "layout.accumulation": 2},
                             {"layout.data_parallel": 2, "layout.accumulation": 1}),
    "batch-shape": Planted("cpu", {"layout.micro_batch": 64, "layout.accumulation": 1},
                           {"layout.micro_batch": 16, "layout.accumulation": 4}),
    "tensor-parallel": cpu("layout.tensor_parallel", 1, 2),
    "pipeline-parallel": cpu("layout.pipeline_parallel", 1, 2),
    "world-size": cpu("layout.world_size", 1, 2),
    "attention-implementation": cpu("model.attention", "sdpa", "eager"),
    "loader-workers": cpu("data.loader_workers", 2, 4),
    "persistent-workers": cpu("data.persistent_workers", False, True),
    "sampler": cpu("data.sampler", "RandomSampler", "SequentialSampler"),
    "drop-last": cpu("data.drop_last", True, False),
    "model-mode": cpu("model.training", True, False),
    "batch-norm": cpu("model.batch_norm", "train", "sync"),
    "compile": cpu("model.compile", False, True),
    "ddp-buckets": cpu("layout.ddp_bucket_mb", "20", "21"),
    "ddp-bucket-order": cpu("layout.ddp_buckets", "sha256:" + "1" * 64, "sha256:" + "2" * 64),
    "context-parallel": cpu("layout.context_parallel", 1, 2),
    "expert-parallel": cpu("layout.expert_parallel", 1, 2),
    "sharding": cpu("layout.sharding", "none", "fsdp full_shard"),
    "loader-generator": cpu("data.loader_generator", "default", "own"),
    "static-graph": cpu("layout.static_graph", False, True),
    "resume-state": cpu("random.resume_state", "restored", "not-restored"),
    "determinism-set-late": cpu("declared.values", {"determinism-set": "before model construction"},
                                {"determinism-set": "after model construction"}),
    "attention-backward": Planted("cpu", {"model.attention": "flash_attention_3"},
                                  {"model.attention": "flash_attention_3"}),
    "backend-maturity": cpu("frameworks.backend", "cpu", "mps"),
    "backend": gpu("frameworks.backend", "cuda", "xpu"),
    "gpu-vendor": gpu(DEVICES, cards(), [*cards(), {**h100(), "vendor": "amd", "gfx_target": "gfx942",
                                                   "compute_capability": "9.0"}],
                      **{"frameworks.torch.arch_list": ["sm_90", "gfx942"]}),
    "autocast": gpu("precision.autocast", None, "bfloat16"),
    "default-dtype": gpu("precision.default_dtype", "float32", "float64"),
    "tf32-matmul": gpu("precision.allow_tf32_matmul", False, True),
    "tf32-cudnn": gpu("precision.allow_tf32_cudnn", True, False),
    "float32-matmul-precision": gpu("precision.float32_matmul_precision", "highest", "high"),
    "fp32-cuda-matmul": gpu("precision.fp32_cuda_matmul", "ieee", "tf32"),
    "fp32-cudnn-conv": gpu("precision.fp32_cudnn_conv", "tf32", "ieee"),
    "fp32-cudnn-rnn": gpu("precision.fp32_cudnn_rnn", "tf32", "ieee"),
    "tf32-override": gpu("variables.values.NVIDIA_TF32_OVERRIDE", None, "0"),
    "flex-attention-precision": gpu("precision.flex_attention", "ieee", "tf32"),
    "cpu-products": cpu("precision.fp32_mkldnn_matmul", "none", "bf16"),
    "host-products": gpu("precision.fp32_mkldnn_matmul", "none", "bf16"),
    "onednn-fpmath": cpu("variables.values.ONEDNN_DEFAULT_FPMATH_MODE", None, "BF16"),
    "fp16-reduction": gpu("precision.fp16_reduced_reduction", True, False),
    "bf16-reduction": gpu("precision.bf16_reduced_reduction", True, False),
    "fp16-accumulation": gpu("precision.fp16_accumulation", False, True),
    "math-sdp-reduction": gpu("precision.math_sdp_reduced", False, True),
    "jax-x64": cpu("precision.jax_x64", False, True, **JAX),
    "jax-matmul": gpu("precision.jax_matmul", None, "highest", **JAX),
    "jax-matmul-host": cpu("precision.jax_matmul", None, "highest", **JAX),
    "jax-prng": cpu("determinism.jax_prng", "threefry2x32", "threefry2x32, partitionable", **JAX),
    "tensorflow-tf32": gpu("precision.tensorflow_tf32", True, False, **TENSORFLOW),
    "tensorflow-policy": cpu("precision.tensorflow_policy", "float32", "mixed_bfloat16", **TENSORFLOW),
    "tensorflow-onednn": cpu("determinism.tensorflow_onednn", True, False, **TENSORFLOW),
    "tensorflow-jit": cpu("determinism.tensorflow_jit", True, False, **TENSORFLOW),
    "scikit-learn-threads": cpu("threads.scikit_learn", 8, 4),
    "jax-devices": cpu("layout.jax_devices", 1, 8),
    "tensorflow-threads": cpu("threads.tensorflow_intraop", 0, 4, **TENSORFLOW),
    "attention-order": gpu("determinism.sdp_priority", ["flash", "math"], ["math", "flash"]),
    "preferred-libraries": gpu("determinism.preferred_blas", "default", "cublaslt"),
    "inductor-settings": cpu("determinism.inductor", {"shape_padding": "true"}, {"shape_padding": "false"}),
    "compile-cache": cpu("determinism.compile_cache", "sha256:" + "1" * 64, "sha256:" + "2" * 64),
    "torch-build-flags": cpu("frameworks.torch.build_flags", {"BLAS_INFO": "mkl"}, {"BLAS_INFO": "open"}),
    "tensorflow-build-flags": cpu("frameworks.tensorflow", framework("2.10.0"),
                                  framework("2.10.0", build_flags={"is_cuda_build": "true"})),
    "numpy-build-flags": cpu("frameworks.numpy.build_flags", {"blas": "openblas"}, {"blas": "mkl"}),
    "scipy-build-flags": cpu("frameworks.scipy.build_flags", {"blas": "openblas"}, {"blas": "mkl"}),
    "flush-to-zero": cpu("precision.flush_to_zero", False, True),
    "main-framework": cpu("frameworks.torch", framework("2.13.0+cpu"), None,
                          **{"frameworks.jax": framework("0.5.3"), "layout.jax_devices": 1}),
    "torch-accelerator": gpu("frameworks.torch.cuda_build", "12.4", None),
    "torch-build": cpu("frameworks.torch.build", "wheel", "conda"),
    "torch-label": cpu("frameworks.torch.version", "2.13.0+cpu", "2.13.0+nv24.5"),
    "torch-revision": cpu("frameworks.torch.revision", "a" * 40, "b" * 40),
    "rng-launch-geometry": gpu(DEVICES, cards(), cards(threads_per_sm=1536)),
    "gpu-architecture": gpu(DEVICES, cards(), cards(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0"),
                            **{"precision.allow_tf32_matmul": None}),
    "mig-profile": gpu(DEVICES, cards(mig_profile="3g.40gb", sm_count=60), cards(mig_profile="4g.40gb", sm_count=60)),
    "gpu-sm-count": gpu(DEVICES, cards(), cards(sm_count=114), **{"random.largest_cuda_draw": 1000}),
    "gpu-model": gpu(DEVICES, cards(), cards(name="NVIDIA H200")),
    "torch-major": cpu("frameworks.torch.version", "1.13.1", "2.0.1"),
    "torch-minor-gpu": gpu("frameworks.torch.version", "2.6.0", "2.7.0"),
    "torch-minor": cpu("frameworks.torch.version", "2.13.0+cpu", "2.14.0+cpu"),
    "torch-release": cpu("frameworks.torch.version", "2.14.0+cpu", "2.14.1+cpu"),
    "torch-defaults": cpu("frameworks.torch.version", "2.9.1", "2.10.0"),
    "jax-version": cpu("frameworks.jax", framework("0.5.3"), framework("0.6.0")),
    "tensorflow-version": cpu("frameworks.tensorflow", framework("2.10.0"), framework("2.11.0")),
    "numpy-version": cpu("frameworks.numpy.version", "2.3.5", "2.2.6", **NUMPY_ONLY),
    "numpy-installed": cpu("frameworks.numpy.version", "2.3.5", "2.2.6"),
    "scikit-learn-version": cpu("frameworks.scikit_learn.version", "1.9.1", "1.8.0"),
    "scikit-learn-release": cpu("frameworks.scikit_learn.version", "1.9.1", "1.9.0"),
    "scipy-version": cpu("frameworks.scipy.version", "1.17.1", "1.16.0"),
    "scipy-release": cpu("frameworks.scipy.version", "1.17.1", "1.17.0"),
    "deterministic-mode": cpu("determinism.deterministic_algorithms", True, False),
    "cudnn-switches": gpu("determinism.cudnn_deterministic", True, False),
    "mkldnn-enabled": cpu("determinism.mkldnn_enabled", True, False),
    "attention-fastpath": cpu("determinism.mha_fastpath", True, False),
    "changed-while-running": cpu("determinism.changed", [], ["threads.torch_intraop: 4"]),
    "cublas-workspace": gpu("determinism.cublas_workspace", ":4096:8", ":16:8"),
    "attention-kernels": gpu("determinism.sdp_flash", True, False),
    "fill-uninitialized": cpu("determinism.fill_uninitialized_memory", True, False),
    "known-nondeterministic-kernel": gpu("determinism.nondeterministic_kernels", [], ["roi_align_backward"]),
    "cudnn-autotune": gpu("determinism.cudnn_benchmark", False, True),
    "tunable-op": gpu("determinism.tunable_op", False, True),
    "inductor-autotune": gpu("variables.values.TORCHINDUCTOR_MAX_AUTOTUNE", None, "1"),
    "xla-nondeterministic": gpu("determinism.xla_deterministic", True, False, **{"frameworks.jax": framework("0.5")}),
    "tensorflow-nondeterministic": gpu("determinism.tensorflow_op_determinism", True, False,
                                       **{"frameworks.tensorflow": framework("2.10.0")}),
    "transformer-engine-nondeterministic": gpu("variables.values.NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0", "1"),
    "deterministic-warn-only": Planted("h100", {"determinism.warn_only": True}, {"determinism.warn_only": True}),
    "workspace-unset": Planted("h100", {"determinism.cublas_workspace": None}, {"determinism.cublas_workspace": None}),
    "nondeterministic-kernels-allowed": Planted("h100", {"determinism.deterministic_algorithms": False},
                                                {"determinism.deterministic_algorithms": False}),
    "cpu-atomics-allowed": Planted("cpu", {"determinism.deterministic_algorithms": False},
                                   {"determinism.deterministic_algorithms": False}),
    "emulated-precision": gpu("variables.values.CUBLAS_EMULATE_SINGLE_PRECISION", None, "1"),
    "rocm-precision": gpu("variables.values.HIPBLASLT_ALLOW_TF32", None, "1", **ROCM),
    "jax-precision": cpu("variables.values.JAX_ENABLE_X64", None, "1", **{"frameworks.jax": framework("0.5.3")}),
    "gpu-kernel-choice": gpu("variables.values.TORCH_BLAS_PREFER_CUBLASLT", None, "1"),
    "rocm-kernel-choice": gpu("variables.values.MIOPEN_FIND_MODE", None, "2", **ROCM),
    "gpu-code-generation": gpu("variables.values.PTXAS_OPTIONS", None, "-O1"),
    "compilation-switches": cpu("variables.values.TORCH_COMPILE_DISABLE", None, "1"),
    "xla-flags": cpu("variables.values.XLA_FLAGS", None, "--xla_cpu_enable_fast_math=true",
                     **{"frameworks.jax": framework("0.5.3")}),
    "tensorflow-switches": cpu("variables.values.TF_ENABLE_ONEDNN_OPTS", None, "0",
                               **{"frameworks.tensorflow": framework("2.10.0")}),
    "mkl-threading": cpu("variables.values.MKL_DYNAMIC", None, "FALSE"),
    "openmp-limits": cpu("variables.values.OMP_THREAD_LIMIT", None, "1"),
    "collective-backend": gpu("collectives.backend", "nccl", "gloo"),
    "collective-topology": gpu("collectives.topology", "one rack", "two racks", **NCCL),
    "collective-algorithm": gpu("collectives.algorithm", "Ring", "Tree", **NCCL),
    "collective-protocol": gpu("collectives.protocol", "Simple", "LL", **NCCL),
    "collective-channels": gpu("variables.values.NCCL_MAX_NCHANNELS", "8", "16", **NCCL),
    "nvls": gpu("collectives.nvls", False, True, **NCCL),
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
    "onednn-cap": cpu("variables.values.ONEDNN_MAX_CPU_ISA", None, "AVX2"),
    "mkl-caps": cpu("variables.values.MKL_CBWR", None, "COMPATIBLE"),
    "numpy-simd": cpu("cpu.numpy_simd", ["AVX2", "AVX512F"], ["AVX2"], **NUMPY_ONLY),
    "blas-kernels": cpu("threads.blas_pools", [POOL], [{**POOL, "architecture": "Haswell"}], **NUMPY_ONLY),
    "torch-host-capability": gpu("cpu.torch_capability", "AVX512", "AVX2"),
    "numpy-simd-host": cpu("cpu.numpy_simd", ["AVX2", "AVX512F"], ["AVX2"]),
    "blas-kernels-host": cpu("threads.blas_pools", [POOL], [{**POOL, "architecture": "Haswell"}]),
    "host-caps": gpu("variables.values.MKL_CBWR", None, "COMPATIBLE"),
    "glibc-caps": cpu("variables.values.GLIBC_TUNABLES", None, "glibc.cpu.hwcaps=-AVX2"),
    "processor": cpu("cpu.microarchitecture", "6-143", "6-106"),
    "openblas-build": cpu("libraries.openblas.build_id", "0a", "0b"),
    "unvetted-kernels": gpu("libraries.unvetted_kernels", ["kernel.so@0a"], ["kernel.so@0b"]),
    "library-not-the-installed": gpu("libraries.cudnn.conflicts", [], ["not-installed"]),
    "jax-build-flags": cpu("frameworks.jax", framework("0.5.3", build_flags={"jaxlib": "0.5.3"}),
                           framework("0.5.3", build_flags={"jaxlib": "0.5.1"})),
    "library-conflicts": gpu("libraries.cudnn.conflicts", [], ["two-copies"]),
    "cuda-build": gpu("frameworks.torch.cuda_build", "12.4", "12.6"),
    "vcs-revisions": cpu(INSTALLED, [distribution("project", "1.0", revision="a" * 40)],
                         [distribution("project", "1.0", revision="b" * 40)]),
    "edited-files": cpu(INSTALLED, [distribution("project", "1.0", record_digest="sha256:" + "1" * 64)],
                        [distribution("project", "1.0", record_digest="sha256:" + "2" * 64)]),
    "driver-compiles": gpu("driver.user_libcuda", "550.54.15", "535.86.10",
                           **{"frameworks.torch.arch_list": ["sm_80", "compute_80"]}),
    "driver-compat": gpu("driver.compat", False, True),
    "os-family": cpu("system.os_family", "linux", "windows"),
    "preloaded-libraries": cpu("variables.values.LD_PRELOAD", None, "/opt/lib/libfastmath.so"),
    "python-minor": cpu("python.version", "3.11.7", "3.12.1"),
    "python-threading": cpu("python.free_threaded", False, True),
    "libc": cpu("system.libc", "glibc 2.36", "glibc 2.31"),
    "text-encoding": cpu("system.encoding", "UTF-8", "ISO-8859-1"),
    "hash-seed": cpu("random.hash_seed", "0", "1"),
    "hash-seed-random": Planted("cpu", {"random.hash_seed": "random"}, {"random.hash_seed": "random"}),
}
for _kind in KINDS:
    _slug, _machine = _kind.name.replace("_", "-"), "h100" if _kind.name not in ("mkl", "onednn", "openblas") else "cpu"
    _common: dict[str, Any] = {f"libraries.{_kind.name}": library("9.1.0"), "collectives.backend": "nccl"}
    for _fact in ("loaded", "installed"):
        PLANTED.setdefault(f"{_slug}-{_fact}", Planted(
            _machine, _common, {**_common, f"libraries.{_kind.name}": {**library("9.1.0"), _fact: "9.2.0"}}))
for _family in CRITICAL:
    for _name in _family.felt:
        PLANTED[f"package-{_name}"] = gpu(INSTALLED, [distribution(_name, "2.0.1")], [distribution(_name, "3.0.2")])
    _name = (*_family.other, *_family.felt)[0]
    PLANTED[f"{_family.slug}-releases"] = gpu(INSTALLED, [], [distribution(_name, "2.0.1")])
# a step over the release that changed the meaning of its loss would come first
PLANTED["package-transformers"] = gpu(INSTALLED, packages(transformers="4.50"), packages(transformers="5.0"))

#: rules that are not about the process, or that a single document cannot break.
ELSEWHERE = {"default-precision": "seen from outside only: test_precision_seen_from_outside",
             "ranks-differ": "a single process has one environment: tests of runs"}
#: rules that the process replaces by what it reads itself.
FROM_OUTSIDE = frozenset(("mkl-installed", "onednn-installed"))


def sides(rule_id: str) -> tuple[Facts, Facts]:
    planted = PLANTED[rule_id]
    base = complete_document("prologue" if rule_id in FROM_OUTSIDE else "process", machine=planted.machine)
    return Facts.of(change(base, **planted.left)), Facts.of(change(base, **planted.right))


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES])
def test_no_rule_without_a_planted_difference(rule_id: str) -> None:
    assert rule_id in PLANTED or rule_id in ELSEWHERE


@pytest.mark.parametrize("rule_id", PLANTED)
def test_planted_difference_is_the_first_reason(rule_id: str) -> None:
    left, right = sides(rule_id)
    rule = RULES_BY_ID[rule_id]
    verdict = judge(left, right, question=rule.questions[-2])
    assert verdict.reasons, verdict.assumes
    assert verdict.reasons[0].cause == rule.cause, [reason.rule for reason in verdict.reasons]
    assert rule_id in {reason.rule for reason in verdict.reasons}
    assert verdict.guaranteed <= rule.guaranteed
    assert verdict.expected <= rule.expected


@pytest.mark.parametrize("rule_id", PLANTED)
def test_reason_speaks_in_full(rule_id: str) -> None:
    left, right = sides(rule_id)
    rule = RULES_BY_ID[rule_id]
    reason = next(item for item in judge(left, right, question=rule.questions[-2]).reasons if item.rule == rule_id)
    assert "{" not in reason.why
    assert "NOT_APPLICABLE" not in reason.why
    if not isinstance(rule, Condition):
        assert reason.expected in reason.why
        assert reason.observed in reason.why


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_is_complete(rule: Any) -> None:
    assert rule.why
    assert rule.effect
    assert rule.remedy
    assert rule.source
    assert rule.capture_how
    assert all(lesser in RULES_BY_ID for lesser in rule.subsumes), rule.subsumes


def test_rule_ids_are_unique() -> None:
    assert len(RULES_BY_ID) == len(RULES)


@pytest.mark.parametrize("machine", ["cpu", "h100"])
@pytest.mark.parametrize("question", Question)
def test_complete_document_against_itself_is_guaranteed(machine: str, question: Question) -> None:
    side = Facts.of(complete_document(machine=machine))
    verdict = judge(side, side, question=question)
    assert verdict.guaranteed is Level.BITWISE, (verdict.reasons, verdict.assumes)

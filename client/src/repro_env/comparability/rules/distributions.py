"""Layer ``distributions``: installed packages that compute, prepare data, or decide what a number means."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..acting import UNUSED, inner
from ..bystanders import stands_by
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import PROGRAM_QUESTIONS, AnyRule, Distinction, Projection
from ..versions import prefix, public


class Critical(NamedTuple):
    """A family of distributions: those an ordinary program feels, those it may feel, and what they do.

    ``felt`` names lower the expected level where both sides have them in other versions (``parts`` numbers of it);
    one that only one side has may well be unused there, so it lowers what is guaranteed alone, like ``other`` names.
    """

    slug: str
    felt: tuple[str, ...]
    other: tuple[str, ...]
    parts: int
    expected: Level
    effect: str
    cause: str = "package_version"
    source: str = "release notes of the package"
    presence: bool = False


CRITICAL = (
    Critical("attention", ("flash-attn", "flash-attn-3", "xformers"), ("flashinfer-python", "sageattention"), 3,
             Level.CURVE, "attention kernels sum in another order"),
    Critical("accelerated", ("apex", "transformer-engine", "bitsandbytes", "deepspeed", "megatron-core", "vllm"),
             ("fairscale", "liger-kernel", "causal-conv1d", "mamba-ssm", "torchao", "sglang", "onnxruntime",
              "onnxruntime-gpu", "tensorrt", "flash-linear-attention", "fla-core", "natten", "quack-kernels",
              "cut-cross-entropy", "unsloth", "megablocks", "grouped-gemm", "tilelang", "fbgemm-gpu", "torchrec",
              "intel-extension-for-pytorch", "torch-npu", "torch-xla", "optimum", "openvino", "ctranslate2"), 2,
             Level.CURVE, "kernels, optimisers or their precision change"),
    Critical("training", ("transformers", "accelerate", "trl", "lightning", "pytorch-lightning", "diffusers", "timm",
                          "chemprop", "ultralytics"),
             ("peft", "sentence-transformers", "keras", "flax", "optax", "fairseq", "torchrl",
              "chex", "equinox", "dm-haiku", "tf-keras", "mosaicml", "fastai", "detectron2", "mmcv", "mmengine",
              "lightning-fabric", "stable-baselines3", "gymnasium", "monai"), 2, Level.STATISTICAL,
             "losses, schedules and defaults change", "framework_version"),
    Critical("media", ("torchvision", "torchaudio", "pillow", "pillow-simd", "opencv-python", "opencv-python-headless",
                       "albumentations"),
             ("torchtext", "opencv-contrib-python", "imgaug", "kornia", "nvidia-dali-cuda120", "nvidia-dali-cuda110",
              "scikit-image", "librosa", "soundfile", "av", "decord", "imageio",
              "torchcodec", "pyturbojpeg", "simplejpeg", "jpeg4py", "imagecodecs", "pyvips", "resampy", "soxr",
              "audioread", "torchio", "nvidia-dali-cuda130", "libjpeg-turbo", "jpeg", "opencv", "py-opencv", "ffmpeg"),
             2, Level.CURVE,
             "decoding, resizing and resampling round otherwise", "preprocessing_library"),
    Critical("text", (), ("tokenizers", "sentencepiece", "tiktoken", "datasets", "webdataset",
                          "sacremoses", "mistral-common", "mosaicml-streaming", "litdata", "grain", "torchdata",
                          "ffcv", "tensorflow-datasets"), 2, Level.BITWISE,
             "tokens or the order of samples may change", "preprocessing_library"),
    Critical("numeric", ("pandas", "polars", "numba", "xgboost", "lightgbm", "catboost", "jaxlib", "torch-scatter",
                         "torch-geometric", "dgl"),
             ("llvmlite", "cupy-cuda12x", "cupy-cuda11x", "statsmodels", "faiss-cpu", "faiss-gpu", "numpyro", "pymc",
              "torch-sparse", "e3nn", "scikit-learn-intelex", "daal4py", "mkl-fft", "mkl-random", "mkl-umath", "pyfftw",
              "cuml-cu12", "cudf-cu12"), 2, Level.CURVE, "sums and compiled loops round otherwise", "package_version",
             "measured: pandas 3.1 and 2.3 change sums"),
    Critical("optional", ("bottleneck", "numexpr", "nvidia-cutlass-dsl"), ("apache-tvm-ffi", "opt-einsum"), 2,
             Level.CURVE, "their presence alone replaces kernels of pandas or torch", "package_version",
             "measured: bottleneck and numexpr change sums of pandas; torch._native and torch.einsum",
             presence=True),
    Critical("metrics", (),
             ("torchmetrics", "evaluate", "sacrebleu", "lm-eval", "rouge-score", "pycocotools", "seqeval"), 2,
             Level.BITWISE, "the same outputs may be scored otherwise"),
    Critical("test-order", (), ("pytest-randomly", "pytest-xdist", "pytest-random-order"), 2, Level.BITWISE,
             "tests run in another order with another seed", "package_version",
             "measured: pytest-randomly reseeds before each test"),
)


def version(facts: Facts, name: str) -> Any:
    """Return the version of one distribution, ``None`` where it is surely not installed.

    Raise ``Missing`` where it is unread, or where it is not listed and the list may be a selection.
    """
    item = facts.distribution(name)
    if item is not None:
        return inner(item.get("version"), f"distributions.installed.{name}.version")
    if facts.read("distributions.installed") is not None and facts.read("distributions.complete") is not True:
        raise Missing({"distributions.complete": "not-reported"})
    return None


def felt(kind: Critical, name: str) -> Projection:
    """Project one distribution to the parts of its version that matter."""
    def project(facts: Facts) -> Any:
        value = version(facts, name)
        if value is None:
            return "not installed" if kind.presence else UNUSED
        return prefix(value, kind.parts)
    return project


def releases(kind: Critical) -> Projection:
    """Project the distributions of a family to their full public versions."""
    names = sorted((*kind.felt, *kind.other))

    def project(facts: Facts) -> Any:
        found = [(name, version(facts, name)) for name in names]
        return [f"{name} {public(value)}" for name, value in found if value is not None] or "none"
    return project


def sources(facts: Facts) -> Any:
    """Installs from a repository or in place: their code is not told by a version."""
    rows = []
    for item in facts.read("distributions.installed") or ():
        revision = item.get("revision")
        if isinstance(revision, str) and item.get("shadowed") is not True:
            rows.append(f"{item['name']}@{revision[:12]}")
    return sorted(rows) or UNUSED


def edited(facts: Facts) -> Any:
    """Digests of the file lists of distributions, where they were asked for."""
    rows = [f"{item['name']} {item['record_digest'][:19]}" for item in facts.read("distributions.installed") or ()
            if isinstance(item.get("record_digest"), str)]
    return sorted(rows) or UNUSED


def others(facts: Facts) -> Any:
    """Distributions that nobody vouches for: neither judged by a rule of their own nor known to compute nothing."""
    installed = facts.read("distributions.installed")
    if facts.read("distributions.complete") is not True:
        raise Missing({"distributions.complete": "not-reported"})
    return sorted({f"{item['name']} {public(inner(item.get('version'), 'distributions.installed.version'))}"
                   for item in installed or () if not has_rule(item["name"]) and not stands_by(item["name"])}) or "none"


#: every distribution that a rule looks at.
WATCHED = frozenset(name for kind in CRITICAL for name in (*kind.felt, *kind.other))
#: distributions that are judged as frameworks, and beginnings of those that bring a numeric library.
_FRAMEWORKS = frozenset(("torch", "numpy", "scipy", "scikit-learn", "jax", "tensorflow"))
_LIBRARIES = ("nvidia-", "triton", "pytorch-triton", "mkl", "libblas", "blas", "openblas", "libopenblas",
              "intel-openmp", "llvm-openmp", "cudnn", "cudatoolkit", "cuda-", "nccl", "libcu", "onednn", "rocm")
_HOW = "run `repro-env capture` in the job's environment"


@lru_cache(maxsize=4096)
def has_rule(name: str) -> bool:
    """Tell whether a rule judges the distribution ``name``, by itself or by the library that it brings."""
    return name in WATCHED or name in _FRAMEWORKS or name.startswith(_LIBRARIES)


def _rules(kind: Critical) -> tuple[AnyRule, ...]:
    def rule(rule_id: str, why: str, expected: Level, project: Projection, set_by: SetBy,
             subsumes: tuple[str, ...]) -> Distinction:
        return Distinction(
            id=rule_id, layer="distributions", cause=kind.cause, set_by=set_by,
            guaranteed=Level.STATISTICAL, expected=expected, possible=Level.BITWISE, why=why, effect=kind.effect,
            remedy="install the same versions on both sides",
            confidence="observed", source=(kind.source,), subsumes=subsumes, project=project, capture_how=_HOW)
    whole = f"{kind.slug}-releases"
    return (*(rule(f"package-{name}", f"{name} {{expected}} against {{observed}}", kind.expected, felt(kind, name),
                   SetBy.PROGRAM, (whole,)) for name in kind.felt),
            rule(whole, "{expected} against {observed}", Level.BITWISE, releases(kind), SetBy.MACHINE, ()))


RULES: tuple[AnyRule, ...] = (
    *(rule for kind in CRITICAL for rule in _rules(kind)),
    Distinction(
        id="other-packages", layer="distributions", cause="package_version", questions=PROGRAM_QUESTIONS,
        guaranteed=Level.STATISTICAL, expected=Level.BITWISE, possible=Level.BITWISE,
        why="further packages {expected} against {observed}",
        effect="nobody vouches that they compute nothing: a package of your own is code of the program",
        remedy="install the same versions on both sides", confidence="observed",
        source=("shap issue 3215: another release draws other rows",), capture_how=_HOW, project=others),
    Distinction(
        id="vcs-revisions", layer="distributions", cause="package_version", guaranteed=Level.STATISTICAL,
        expected=Level.CURVE, possible=Level.BITWISE, why="installed from repositories: {expected} against {observed}",
        effect="other code under one version", remedy="install the same revisions", confidence="documented",
        source=("PEP 610",), capture_how=_HOW, project=sources),
    Distinction(
        id="edited-files", layer="distributions", cause="package_version", set_by=SetBy.MACHINE,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="installed files: {expected} against {observed}",
        effect="a file edited in place changes results and no version",
        remedy="reinstall the distribution", confidence="proven",
        source=("measured: one edited optimizer file changed the weights",), project=edited),
)

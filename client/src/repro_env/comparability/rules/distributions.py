"""Layer ``distributions``: installed packages that compute, prepare data, or decide what a number means."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...fingerprint.facts import is_unread
from ..acting import UNUSED
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Distinction, Projection
from ..versions import older, prefix, public


class Critical(NamedTuple):
    """A distribution that matters, the parts of its version that do, and what it does."""

    names: tuple[str, ...]
    parts: int
    expected: Level
    effect: str
    cause: str = "package_version"
    source: str = "release notes of the package"


CRITICAL = (
    Critical(("flash-attn", "flash-attn-3", "xformers", "flashinfer-python", "sageattention"), 3, Level.CURVE,
             "attention kernels sum in another order"),
    Critical(("apex", "transformer-engine", "bitsandbytes", "deepspeed", "megatron-core", "fairscale", "liger-kernel",
              "causal-conv1d", "mamba-ssm", "torchao", "vllm", "sglang", "onnxruntime", "onnxruntime-gpu", "tensorrt"),
             2, Level.CURVE, "kernels, optimisers or their precision change"),
    Critical(("transformers", "accelerate", "trl", "peft", "lightning", "pytorch-lightning", "diffusers", "timm",
              "sentence-transformers", "keras", "flax", "optax", "fairseq", "torchrl", "ultralytics", "chemprop"), 2,
             Level.CURVE, "losses, schedules and defaults change", "framework_version"),
    Critical(("torchvision", "torchaudio", "torchtext", "pillow", "pillow-simd", "opencv-python",
              "opencv-python-headless", "opencv-contrib-python", "albumentations", "imgaug", "kornia",
              "nvidia-dali-cuda120", "nvidia-dali-cuda110", "scikit-image", "librosa", "soundfile", "av", "decord",
              "imageio"), 2, Level.CURVE, "decoding, resizing and resampling round otherwise", "preprocessing_library"),
    Critical(("tokenizers", "sentencepiece", "tiktoken", "datasets", "webdataset"), 2, Level.BITWISE,
             "tokens or the order of samples may change", "preprocessing_library"),
    Critical(("pandas", "polars", "bottleneck", "numexpr", "numba", "llvmlite", "cupy-cuda12x", "cupy-cuda11x",
              "xgboost", "lightgbm", "catboost", "statsmodels", "faiss-cpu", "faiss-gpu", "numpyro", "pymc",
              "torch-scatter", "torch-sparse", "torch-geometric", "dgl", "e3nn", "jaxlib"), 2, Level.CURVE,
             "sums and compiled loops round otherwise", "package_version",
             "measured: pandas 3.1 and 2.3, and optional bottleneck and numexpr, change sums"),
    Critical(("nvidia-cutlass-dsl", "apache-tvm-ffi"), 2, Level.CURVE,
             "their presence makes torch replace kernels of its own", "package_version",
             "torch._native: kernels swapped in when installed"),
    Critical(("pytest-randomly", "pytest-xdist", "pytest-random-order"), 2, Level.BITWISE,
             "tests run in another order with another seed", "package_version",
             "measured: pytest-randomly reseeds before each test"),
)
#: distribution -> releases at which a logged or trained quantity changed its meaning, with words.
MEANING = {"transformers": (("4.46", "losses summed over accumulation steps"),)}


def versions(facts: Facts, names: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of those of ``names`` that are installed; raise ``Missing`` naming those that are unread."""
    found: dict[str, str] = {}
    lacking: dict[str, str] = {}
    for name in names:
        version = (facts.distribution(name) or {}).get("version")
        if is_unread(version):
            lacking[f"distributions.installed.{name}.version"] = version["unread"]
        elif version is not None:
            found[name] = version
    if lacking:
        raise Missing(lacking)
    return found


def critical(kind: Critical) -> Projection:
    """Project the installed distributions of one kind to the parts of their versions that matter."""
    def project(facts: Facts) -> Any:
        found = versions(facts, kind.names)
        return [f"{name} {prefix(version, kind.parts)}" for name, version in sorted(found.items())] or UNUSED
    return project


def release_of(kind: Critical) -> Projection:
    """Project the same distributions to their full public versions."""
    def project(facts: Facts) -> Any:
        found = versions(facts, kind.names)
        return [f"{name} {public(version)}" for name, version in sorted(found.items())] or UNUSED
    return project


def meaning(facts: Facts) -> Any:
    """What the numbers mean that installed packages log, by the releases that changed it."""
    found = versions(facts, tuple(MEANING))
    return [f"{name} {'before' if older(version, boundary) else 'since'} {boundary} ({words})"
            for name, version in sorted(found.items()) for boundary, words in MEANING[name]] or UNUSED


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


_SLUGS = ("attention", "accelerated", "training", "media", "text", "numeric", "native-dsl", "test-order")


def _rules(kind: Critical, slug: str) -> tuple[AnyRule, ...]:
    def rule(suffix: str, expected: Level, project: Projection, subsumes: tuple[str, ...]) -> Distinction:
        return Distinction(
            id=f"{slug}-{suffix}", layer="distributions", cause=kind.cause, guaranteed=Level.STATISTICAL,
            expected=expected, possible=Level.BITWISE, why="{expected} against {observed}", effect=kind.effect,
            remedy="install the same versions on both sides", confidence="observed", source=(kind.source,),
            subsumes=subsumes, project=project, capture_how="run `repro-env capture` in the job's environment")
    return (rule("packages", kind.expected, critical(kind), (f"{slug}-releases",)),
            rule("releases", Level.BITWISE, release_of(kind), ()))


MEANINGS: tuple[AnyRule, ...] = (
    Distinction(
        id="logged-meaning", layer="distributions", cause="framework_version", guaranteed=Level.NONE,
        expected=Level.NONE, possible=Level.BITWISE, why="{expected} against {observed}: the logged quantity differs",
        effect="the logged loss changes by a factor, so curves must not be overlaid",
        remedy="use versions on one side of the change", confidence="documented",
        source=("transformers issue 35556",), subsumes=("training-packages", "training-releases"), project=meaning),
)

RULES: tuple[AnyRule, ...] = (
    *(rule for kind, slug in zip(CRITICAL, _SLUGS) for rule in _rules(kind, slug)),
    Distinction(
        id="vcs-revisions", layer="distributions", cause="package_version", guaranteed=Level.STATISTICAL,
        expected=Level.CURVE, possible=Level.BITWISE, why="installed from repositories: {expected} against {observed}",
        effect="other code under one version", remedy="install the same revisions", confidence="documented",
        source=("PEP 610",), capture_how="run `repro-env capture` in the job's environment", project=sources),
    Distinction(
        id="edited-files", layer="distributions", cause="package_version", set_by=SetBy.MACHINE,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="installed files: {expected} against {observed}",
        effect="a file edited in place changes results and no version",
        remedy="reinstall the distribution", confidence="proven",
        source=("measured: one edited optimizer file changed the weights",), project=edited),
)

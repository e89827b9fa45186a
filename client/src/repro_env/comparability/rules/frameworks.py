"""Layer ``frameworks``: torch at each distance and its builds; JAX, TensorFlow, NumPy and its relatives."""

from __future__ import annotations

from typing import Any

from ..acting import (
    HEAVY,
    UNUSED,
    by_heavy_framework,
    imported,
    in_process,
    of_devices,
    on_gpu,
    present,
    using,
    with_accelerator,
)
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Distinction, Fallback, Projection
from ..versions import local_label, older, prefix, public, release

_MEASURED = "measured: four torch releases gave equal bits in eager mode on one CPU"
_NOTES = "PyTorch release notes: backwards incompatible changes"
#: torch release -> a default that changed with it and acts on training wherever it runs. What other defaults lead to is
#: read in the process (precision, attention, compiler), so a release between two of them says nothing by itself.
DEFAULTS = (("1.9", "workers seed NumPy"), ("2.0", "zero_grad sets gradients to None"))


def version(facts: Facts, name: str) -> Any:
    """Return the full version of a framework, ``None`` where it is surely not installed."""
    return facts.read(f"frameworks.{name}.version")


def stated(facts: Facts, name: str, parts: int) -> Any:
    """Return the version where it says ``parts`` release numbers, ``None`` where the framework is surely not there.

    People write "2.1" for any release of 2.1, so an import that says no more leaves the others unread. What a process
    or an installation tells of itself is whole.
    """
    value = version(facts, name)
    if value is not None and facts.vantage == "import" and len(release(value)) < parts:
        raise Missing({f"frameworks.{name}.version": "not-reported"})
    return value


def part(name: str, parts: int) -> Projection:
    """Project a framework to its first ``parts`` release numbers."""
    @using(name)
    def project(facts: Facts) -> Any:
        value = stated(facts, name, parts)
        return UNUSED if value is None else prefix(value, parts)
    return project


@using("torch")
def torch_release(facts: Facts) -> Any:
    """Public torch version, with the date of a nightly."""
    value = stated(facts, "torch", 3)
    return UNUSED if value is None else public(value)


@using("jax")
def jax_series(facts: Facts) -> Any:
    """Series of JAX: before 0.5 each release was one of its own."""
    value = stated(facts, "jax", 2)
    return UNUSED if value is None else prefix(value, 3 if older(value, "0.5") else 2)


@using("torch")
def torch_minor_on_gpu(facts: Facts) -> Any:
    """Minor torch version of a side that computed on an accelerator or, seen from outside, is no build for the CPU."""
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return UNUSED
    value = stated(facts, "torch", 2)
    if value is None or (not in_process(facts) and local_label(value) == "cpu"):
        return UNUSED
    return prefix(value, 2)


@using("torch")
def torch_defaults(facts: Facts) -> Any:
    """Defaults in force, by the releases that changed them."""
    value = version(facts, "torch")
    return UNUSED if value is None else [words for boundary, words in DEFAULTS if not older(value, boundary)]


@on_gpu
@using("torch")
def default_attention(facts: Facts) -> Any:
    """Kernel that attention tried first unless told otherwise, seen from outside: cuDNN's in 2.5.0 from Hopper on."""
    if in_process(facts):
        return UNUSED
    value = stated(facts, "torch", 3)
    if value is None:
        return UNUSED
    changed = release(value) == (2, 5, 0) and any(
        int(str(target).partition(".")[0]) >= 9 for target in _capabilities(facts))
    return "cuDNN" if changed else "flash"


def _capabilities(facts: Facts) -> list[str]:
    found = of_devices(facts, lambda device: device.target)
    return [] if isinstance(found, Fallback) else [target for target in found if target[:1].isdigit()]


@using("torch")
def torch_build(facts: Facts) -> Any:
    """Where the build came from: wheel, conda, source, vendor."""
    return present(facts.read("frameworks.torch.build"))


@using("torch")
def torch_variant(facts: Facts) -> Any:
    """What the build was made for, whatever the machine has."""
    if facts.read("frameworks.torch") is None:
        return UNUSED
    cuda, rocm = facts.read_all("frameworks.torch.cuda_build", "frameworks.torch.rocm_build")
    return "CUDA" if cuda else "ROCm" if rocm else "the processor alone"


torch_accelerator = with_accelerator(torch_variant)


def torch_variant_outside(facts: Facts) -> Any:
    """The same of a side seen from outside; a process shows what it loaded and where it computed."""
    return UNUSED if in_process(facts) else torch_variant(facts)


def main_framework_of(facts: Facts) -> Any:
    """The framework that programs of this environment compute with; a process that imported none does not say."""
    if not by_heavy_framework(facts):
        return UNUSED
    return next((name for name in HEAVY if facts.read(f"frameworks.{name}") is not None), "none")


@using("torch")
def torch_revision(facts: Facts) -> Any:
    """Commit the build came from, and whether it is a debug build."""
    revision = facts.read("frameworks.torch.revision")
    return UNUSED if revision is None else revision[:12]


@using("torch")
def torch_label(facts: Facts) -> Any:
    """Local label of the build, other than the name of its accelerator library (a rule of its own)."""
    value = stated(facts, "torch", 3)
    if value is None:
        return UNUSED
    label = local_label(value)
    return label if label and not label.startswith(("cu", "cpu", "rocm", "xpu")) else "without a vendor's label"


def build_flags(name: str) -> Projection:
    """Project a framework to the settings of its build as it reports them; one build has the same, read or not."""
    @using(name)
    def project(facts: Facts) -> Any:
        path = f"frameworks.{name}.build_flags"
        if not facts.known(path):
            build = facts.read_all(*(f"frameworks.{name}.{part}" for part in ("version", "revision", "build")))
            return Fallback(list(build), (path,))
        found = facts.read(path)
        return UNUSED if found is None else [f"{key}={value}" for key, value in sorted(found.items())]
    return project


def main_framework(name: str, others: tuple[str, ...], parts: int) -> Projection:
    """Project a framework's version where it did the work: the process imported none of ``others``."""
    @using(name)
    def project(facts: Facts) -> Any:
        if in_process(facts) and any(facts.read(f"frameworks.{other}") is not None and imported(facts, other)
                                     for other in others):
            return UNUSED
        value = version(facts, name)
        return UNUSED if value is None else prefix(value, parts)
    return project


_HEAVY = ("torch", "jax", "tensorflow")


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, guaranteed: Level, expected: Level, effect: str,
          remedy: str, source: tuple[str, ...], set_by: SetBy = SetBy.MACHINE, subsumes: tuple[str, ...] = (),
          confidence: str = "documented") -> Distinction:
    return Distinction(
        id=rule_id, layer="frameworks", cause=cause, set_by=set_by, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence, source=source,
        subsumes=subsumes, project=project, capture_how="run `repro-env capture` in the job's environment")


_SAME_TORCH = "install the same torch version on both sides"

BUILDS: tuple[AnyRule, ...] = (
    _rule("main-framework", "framework_version", "framework: {expected} against {observed}", main_framework_of,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, set_by=SetBy.PROGRAM,
          remedy="install the same framework",
          effect="other kernels, defaults and random numbers", source=("definition of the stack",)),
    _rule("torch-accelerator", "build_variant", "torch built for {expected} against {observed}", torch_accelerator,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, set_by=SetBy.PROGRAM,
          remedy="install the build of torch for the same kind of device on both sides",
          effect="other kernels; a build without code for the device computes on the processor",
          source=("PyTorch documentation, installation",),
          subsumes=("torch-variant", "torch-build-flags", "cuda-build")),
    _rule("torch-variant", "build_variant", "torch built for {expected} against {observed}",
          torch_variant_outside, guaranteed=Level.CURVE, expected=Level.BITWISE, set_by=SetBy.PROGRAM,
          remedy="install the same build of torch on both sides", confidence="observed",
          effect="on the processor one version number, compiled apart; equal bits were measured",
          source=("measured: the CPU and the CUDA build of one release gave equal bits on the processor",),
          subsumes=("torch-build-flags", "cuda-build")),
    _rule("torch-build", "build_variant", "torch from {expected} against {observed}", torch_build,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, confidence="observed",
          remedy="install torch from the same source on both sides",
          effect="one version number, other libraries linked in", source=("pytorch issue 56747",)),
    _rule("torch-label", "build_variant", "torch build {expected} against {observed}", torch_label,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, remedy="install the same build of torch",
          effect="a vendor's build has patches and other defaults", source=("NVIDIA container release notes",)),
    _rule("torch-revision", "build_variant", "torch built from {expected} against {observed}", torch_revision,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, remedy="install the same build of torch",
          effect="other code under one version", source=("torch.version.git_version",)),
    *(_rule(f"{name}-build-flags", "build_variant", f"{title} built with {{expected}} against {{observed}}",
            build_flags(name), set_by=SetBy.PROGRAM, guaranteed=Level.CURVE, expected=expected,
            remedy=f"install the same build of {title}", effect="other kernels under one version", source=(source,))
      for name, title, expected, source in (
          ("torch", "torch", Level.CURVE, "torch.__config__.show()"),
          ("tensorflow", "TensorFlow", Level.CURVE, "tf.sysconfig.get_build_info()"),
          ("jax", "JAX", Level.CURVE, "jaxlib.version"),
          ("numpy", "NumPy", Level.BITWISE, "numpy.show_config()"),
          ("scipy", "SciPy", Level.BITWISE, "scipy.show_config()"))),
)

RULES: tuple[AnyRule, ...] = (
    _rule("torch-major", "torch_version", "torch {expected} against {observed}", part("torch", 1),
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, remedy=_SAME_TORCH,
          effect="many defaults and kernels changed", source=(_NOTES, "pytorch issue 105837"),
          subsumes=("torch-minor-gpu", "torch-minor", "torch-release", "torch-defaults", "default-attention",
                    "torch-revision", "torch-build-flags")),
    _rule("torch-minor-gpu", "torch_version", "torch {expected} against {observed}", torch_minor_on_gpu,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, set_by=SetBy.PROGRAM,
          remedy=_SAME_TORCH, confidence="observed",
          effect="on an accelerator other kernels and other ways to choose them, sometimes other defaults",
          source=(_NOTES, "pytorch issues 181737, 28197"),
          subsumes=("torch-minor", "torch-release", "torch-defaults", "default-attention", "torch-revision",
                    "torch-build-flags")),
    _rule("torch-minor", "torch_version", "torch {expected} against {observed}", part("torch", 2),
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, remedy=_SAME_TORCH,
          effect="on a CPU in eager mode often none; defaults may have changed", source=(_NOTES, _MEASURED),
          subsumes=("torch-release", "torch-revision", "torch-build-flags")),
    _rule("torch-release", "torch_version", "torch {expected} against {observed}", torch_release,
          guaranteed=Level.STATISTICAL, expected=Level.BITWISE, remedy=_SAME_TORCH, confidence="observed",
          effect="patch releases gave equal bits where measured; nothing promises it", source=(_NOTES, _MEASURED),
          subsumes=("torch-revision", "torch-build-flags")),
    _rule("torch-defaults", "framework_default_change", "defaults: {expected} against {observed}", torch_defaults,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, set_by=SetBy.PROGRAM,
          remedy="set the changed options explicitly on both sides, or use the same torch version",
          effect="parameters without gradients, or loader workers, behave otherwise",
          source=(_NOTES, "PyTorch 2.0 release notes: zero_grad", "pytorch pull request 56488")),
    _rule("default-attention", "framework_default_change", "by default attention tries {expected} against {observed}",
          default_attention, guaranteed=Level.CURVE, expected=Level.CURVE, set_by=SetBy.PROGRAM,
          remedy="call torch.backends.cuda.enable_cudnn_sdp(False), or install torch 2.5.1",
          effect="attention sums in another order", source=("PyTorch 2.5.1 release notes: cuDNN attention",
                                                            "pytorch pull request 138522")),
    _rule("jax-version", "framework_version", "jax {expected} against {observed}", jax_series,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE, remedy="install the same jax and jaxlib",
          effect="XLA compiles and fuses otherwise", source=("JAX changelog",), subsumes=("jax-release",)),
    _rule("jax-release", "framework_version", "jax {expected} against {observed}", part("jax", 3),
          guaranteed=Level.STATISTICAL, expected=Level.BITWISE, remedy="install the same jax and jaxlib",
          effect="a patch release mends single faults; nothing promises equal bits", source=("JAX changelog",)),
    _rule("tensorflow-version", "framework_version", "tensorflow {expected} against {observed}",
          part("tensorflow", 2), guaranteed=Level.STATISTICAL, expected=Level.CURVE,
          remedy="install the same tensorflow", effect="other kernels and defaults",
          source=("TensorFlow release notes",), subsumes=("tensorflow-release",)),
    _rule("tensorflow-release", "framework_version", "tensorflow {expected} against {observed}",
          part("tensorflow", 3), guaranteed=Level.STATISTICAL, expected=Level.BITWISE,
          remedy="install the same tensorflow", source=("TensorFlow release notes",),
          effect="a patch release mends single faults; nothing promises equal bits"),
    _rule("numpy-version", "framework_version", "NumPy {expected} against {observed}",
          main_framework("numpy", _HEAVY, 2), guaranteed=Level.CURVE, expected=Level.CURVE, set_by=SetBy.PROGRAM,
          remedy="install the same NumPy", effect="another OpenBLAS and other SIMD loops come with it",
          source=("measured: NumPy 2.3.5 and 2.2.6 differ in products",), subsumes=("numpy-installed",)),
    _rule("numpy-installed", "framework_version", "NumPy {expected} against {observed}", part("numpy", 3),
          guaranteed=Level.CURVE, expected=Level.BITWISE, remedy="install the same NumPy",
          effect="seen only where NumPy computes", source=("NumPy NEP 19: legacy random streams are frozen",)),
    _rule("scikit-learn-version", "framework_version", "scikit-learn {expected} against {observed}",
          part("scikit_learn", 2), guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL,
          remedy="install the same scikit-learn", effect="algorithms and defaults change between minor versions",
          source=("measured: scikit-learn 1.9 and 1.8 give other models",), subsumes=("scikit-learn-release",)),
    _rule("scikit-learn-release", "framework_version", "scikit-learn {expected} against {observed}",
          part("scikit_learn", 3), guaranteed=Level.CURVE, expected=Level.BITWISE,
          remedy="install the same scikit-learn", effect="a patch release gave equal bits where measured",
          source=("measured: scikit-learn 1.9.1 and 1.9.0 gave equal bits",)),
    _rule("scipy-version", "framework_version", "SciPy {expected} against {observed}", part("scipy", 2),
          guaranteed=Level.CURVE, expected=Level.CURVE, remedy="install the same SciPy",
          effect="decompositions and optimisers may take another route", source=("SciPy release notes",),
          subsumes=("scipy-release",)),
    _rule("scipy-release", "framework_version", "SciPy {expected} against {observed}", part("scipy", 3),
          guaranteed=Level.CURVE, expected=Level.BITWISE, remedy="install the same SciPy",
          effect="a patch release gave equal bits where measured",
          source=("measured: SciPy 1.17.1 and 1.17.0 gave equal bits",)),
)

"""Layers ``precision``, ``determinism`` and ``threads`` as JAX and TensorFlow set them, each where it was imported."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, all_hold, imported, in_process, on_cpu, on_gpu, present, using, using_any, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Distinction, Fails, Projection
from ..versions import older
from .tf32 import effective

_JAX = "JAX documentation, configuration options"
_WIDTH = "every constant and array has another width"
#: words of JAX for its three levels; unset is the first.
LEVELS = {"default": "default", "fastest": "default", "bfloat16": "default", "high": "high", "tensorfloat32": "high",
          "bfloat16_3x": "high", "highest": "highest", "float32": "highest"}


def jax_level(facts: Facts) -> str:
    """Return the level that JAX asks for in products, or the name of an algorithm as it stands."""
    value = facts.read("precision.jax_matmul") or "default"
    return LEVELS.get(value, str(value))


@on_gpu
@using("jax")
def jax_products(facts: Facts) -> Any:
    """Float32 products of JAX off the processor: below *highest* a GPU may take TF32 where it has it."""
    level = jax_level(facts)
    if in_process(facts) and facts.read("frameworks.backend") not in ("cuda", "rocm"):
        return f"level {level}"
    return effective(facts, lowered=level != "highest") if level in LEVELS.values() else level


@using("jax")
def jax_products_on_host(facts: Facts) -> Any:
    """Float32 products of JAX on a processor. Measured: all levels give the same bits, so only algorithms are told."""
    level = jax_level(facts)
    return "float32" if level in LEVELS.values() else level


@using("jax")
def jax_default_products(facts: Facts) -> Any:
    """What float32 products of JAX use unless the program asks for more, seen from outside: the devices decide."""
    if in_process(facts):
        return UNUSED
    backend = facts.read("frameworks.backend")
    if backend == "tpu":
        return "bfloat16"
    return effective(facts, lowered=True) if backend == "cuda" else "IEEE float32"


@using("jax")
def jax_default_generator(facts: Facts) -> Any:
    """The generator that JAX takes unless told otherwise, seen from outside; in the process it is read."""
    if in_process(facts):
        return UNUSED
    version = facts.read("frameworks.jax.version")
    if version is None:
        return UNUSED
    return "threefry2x32, not partitionable" if older(version, "0.5") else "threefry2x32, partitionable"


@on_gpu
@using("tensorflow")
def tensorflow_products(facts: Facts) -> Any:
    """Arithmetic of TensorFlow's float32 products and convolutions on these devices."""
    value = facts.read("precision.tensorflow_tf32")
    return UNUSED if value is None else effective(facts, lowered=value is True)


@using("jax")
def platforms(facts: Facts) -> Any:
    """Devices that JAX may take, seen from outside; in the process what it computed on is read."""
    return UNUSED if in_process(facts) else variable(facts, "JAX_PLATFORMS") or "any"


@using("tensorflow")
def tensorflow_xla(facts: Facts) -> Any:
    """Flags of TensorFlow's own compiler as they add up: of one name the last counts, whether it compiles is apart."""
    words = _words(variable(facts, "TF_XLA_FLAGS"))
    if in_process(facts):
        words.pop("--tf_xla_auto_jit", None)
    return _listed(words)


@using_any("jax", "tensorflow")
def xla(facts: Facts) -> Any:
    """Flags of XLA as they add up, without those that only write or find files."""
    return _listed({name: value for name, value in _words(variable(facts, "XLA_FLAGS")).items()
                    if not name.startswith(_IDLE)})


#: starts of flags that compute nothing.
_IDLE = ("--xla_dump", "--xla_hlo_profile", "--xla_gpu_cuda_data_dir")


def _words(flags: str | None) -> dict[str, str]:
    """Return flags by name; of one name the last counts."""
    return dict(word.partition("=")[::2] for word in (flags or "").split())


def _listed(words: dict[str, str]) -> list[str] | str:
    return [f"{name}={value or 'true'}" for name, value in sorted(words.items())] or "none"


def xla_varies(facts: Facts) -> Fails | None:
    """Fail where JAX on an accelerator may use scatter and reductions that do not repeat."""
    on = all_hold(facts, (on_accelerator, _uses("jax"),
                          lambda side: side.read("determinism.xla_deterministic") is not True))
    return Fails("XLA deterministic ops are not asked for") if on else None


def xla_times(facts: Facts) -> Fails | None:
    """Fail where XLA chooses kernels by timing: not with deterministic ops, level 0, or results from a file.

    Leaving out kernels that do not repeat is less: timing stays, so two compilations may choose differently.
    """
    on = all_hold(facts, (lambda side: side.read("frameworks.backend") in ("cuda", "rocm"), _uses("jax"),
                          lambda side: not _untimed(variable(side, "XLA_FLAGS") or "")))
    return Fails("XLA chooses kernels by timing") if on else None


def _untimed(flags: str) -> bool:
    last = _words(flags)
    return (last.get("--xla_gpu_deterministic_ops", "false").lower() in ("", "true", "1")
            or last.get("--xla_gpu_autotune_level") == "0" or "--xla_gpu_load_autotune_results_from" in last)


def tensorflow_varies(facts: Facts) -> Fails | None:
    """Fail where TensorFlow on an accelerator may use kernels that do not repeat."""
    on = all_hold(facts, (on_accelerator, _uses("tensorflow"),
                          lambda side: side.read("determinism.tensorflow_op_determinism") is not True))
    return Fails("TensorFlow op determinism is off") if on else None


def on_accelerator(facts: Facts) -> bool:
    """Tell whether the process computed on an accelerator."""
    return facts.read("frameworks.backend") not in ("cpu", None)


def _uses(name: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.read(f"frameworks.{name}") is not None and (
        not in_process(facts) or imported(facts, name))


@on_cpu
@using("tensorflow")
def tensorflow_threads(facts: Facts) -> Any:
    """Intra-op threads of TensorFlow where it computed on the CPU: told, else by variable, else all it may use."""
    asked = facts.read("threads.tensorflow_intraop")
    if asked is None:
        return UNUSED
    by_variable = variable(facts, "TF_NUM_INTRAOP_THREADS") or ""
    return asked or (int(by_variable) if by_variable.isdigit() else 0) or facts.read("threads.affinity_count")


def _rule(rule_id: str, layer: str, cause: str, why: str, project: Projection, *, guaranteed: Level, expected: Level,
          effect: str, remedy: str, source: tuple[str, ...], subsumes: tuple[str, ...] = ()) -> Distinction:
    return Distinction(
        id=rule_id, layer=layer, cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence="documented", source=source,
        subsumes=subsumes, project=project)


def _condition(rule_id: str, cause: str, why: str, holds: Callable[[Facts], Fails | None], *, expected: Level,
               remedy: str, source: tuple[str, ...], confidence: str = "documented") -> Condition:
    return Condition(
        id=rule_id, layer="determinism", cause=cause, set_by=SetBy.PROGRAM, guaranteed=Level.CURVE, expected=expected,
        possible=Level.BITWISE, why=why, effect="two runs of one program may differ from the first step on",
        remedy=remedy, confidence=confidence, source=source, holds=holds)


_PARTITIONABLE = "JAX changelog, 0.5.0: threefry_partitionable"

RULES: tuple[AnyRule, ...] = (
    _rule("jax-x64", "precision", "precision_mode", "64-bit types in JAX {expected} against {observed}",
          using("jax")(lambda facts: present(facts.read("precision.jax_x64"))), guaranteed=Level.STATISTICAL,
          expected=Level.STATISTICAL, effect=_WIDTH, remedy="set jax_enable_x64 the same", source=(_JAX,)),
    _rule("jax-matmul", "precision", "precision_mode", "JAX products in {expected} against {observed}",
          jax_products, guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL,
          effect="about 1e-3 relative a product", remedy="set jax_default_matmul_precision the same", source=(_JAX,),
          subsumes=("jax-matmul-host", "jax-default-precision")),
    _rule("jax-default-precision", "precision", "precision_mode",
          "by default JAX computes products in {expected} against {observed}", jax_default_products,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, effect="1e-3 to 1e-2 relative a product",
          remedy="set jax_default_matmul_precision to highest on both sides",
          source=("JAX documentation, jax.lax.Precision", "jax issues 9973, 12008, 14022"), subsumes=("backend",)),
    _rule("jax-matmul-host", "precision", "precision_mode",
          "JAX products in {expected} against {observed}, on the host", jax_products_on_host,
          guaranteed=Level.CURVE, expected=Level.BITWISE, effect="processors compute most algorithms in float32",
          remedy="set jax_default_matmul_precision the same",
          source=(_JAX, "measured: all levels give equal bits on the CPU")),
    _rule("jax-prng", "determinism", "determinism_flags", "JAX draws by {expected} against {observed}",
          using("jax")(lambda facts: present(facts.read("determinism.jax_prng"))), guaranteed=Level.STATISTICAL,
          expected=Level.STATISTICAL, effect="other random numbers from one key",
          remedy="set jax_default_prng_impl and jax_threefry_partitionable the same",
          source=("JAX documentation, jax.random: generators", _PARTITIONABLE), subsumes=("jax-default-prng",)),
    _rule("jax-default-prng", "determinism", "framework_default_change",
          "by default JAX draws by {expected} against {observed}", jax_default_generator,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, effect="other random numbers from one key",
          remedy="set jax_threefry_partitionable the same", source=(_PARTITIONABLE,)),
    _rule("jax-platforms", "determinism", "backend", "JAX may take {expected} against {observed}", platforms,
          guaranteed=Level.STATISTICAL, expected=Level.CURVE,
          effect="it computes on another kind of device where several are there",
          remedy="set JAX_PLATFORMS the same on both sides", source=(_JAX,)),
    _rule("tensorflow-tf32", "precision", "precision_mode",
          "TensorFlow products and convolutions in {expected} against {observed}", tensorflow_products,
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, effect="about 1e-3 relative a product",
          remedy="call tf.config.experimental.enable_tensor_float_32_execution() with the same value",
          source=("TensorFlow documentation, tf.config.experimental.enable_tensor_float_32_execution",)),
    _rule("tensorflow-policy", "precision", "precision_mode", "Keras dtype policy {expected} against {observed}",
          using_any("tensorflow", "jax", "torch")(lambda facts: present(facts.read("precision.tensorflow_policy"))),
          guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL,
          effect="1e-3 to 1e-2 relative in layers that compute in half precision",
          remedy="call keras.mixed_precision.set_global_policy() with the same policy",
          source=("Keras documentation, mixed precision",)),
    _rule("tensorflow-onednn", "determinism", "determinism_flags", "oneDNN in TensorFlow {expected} against {observed}",
          on_cpu(using("tensorflow")(lambda facts: present(facts.read("determinism.tensorflow_onednn")))),
          guaranteed=Level.CURVE, expected=Level.CURVE, effect="other kernels, so other rounding",
          remedy="export TF_ENABLE_ONEDNN_OPTS=0, or 1, on both sides before the process starts",
          source=("TensorFlow documentation, oneDNN optimizations",), subsumes=("tensorflow-variables",)),
    _rule("tensorflow-jit", "determinism", "compile_mode", "TensorFlow compiles by XLA {expected} against {observed}",
          using("tensorflow")(lambda facts: present(facts.read("determinism.tensorflow_jit"))),
          guaranteed=Level.CURVE, expected=Level.CURVE, effect="fused kernels round otherwise",
          remedy="call tf.config.optimizer.set_jit() with the same value",
          source=("TensorFlow documentation, tf.config.optimizer.set_jit",), subsumes=("tensorflow-xla-flags",)),
    _rule("xla-flags", "determinism", "determinism_flags", "XLA flags {expected} against {observed}", xla,
          guaranteed=Level.STATISTICAL, expected=Level.BITWISE, effect="other kernels, so other rounding",
          remedy="set XLA_FLAGS the same on both sides", source=("OpenXLA documentation, flags",)),
    _rule("tensorflow-xla-flags", "determinism", "compile_mode", "TF_XLA_FLAGS {expected} against {observed}",
          tensorflow_xla, guaranteed=Level.CURVE, expected=Level.BITWISE,
          effect="what is compiled, and how it is cut, decides how kernels are fused",
          remedy="set TF_XLA_FLAGS the same on both sides", source=("TensorFlow documentation, XLA",)),
    _rule("tensorflow-threads", "threads", "thread_count", "{expected} TensorFlow threads against {observed}",
          tensorflow_threads, guaranteed=Level.CURVE, expected=Level.CURVE,
          effect="sums are split at other places; about 1e-7 relative at first, growing as training goes on",
          remedy="call tf.config.threading.set_intra_op_parallelism_threads() with the same number",
          source=("TensorFlow documentation, tf.config.threading",)),
)

#: conditions of one execution; they stand after what differs between two.
VARYING: tuple[AnyRule, ...] = (
    _condition("xla-nondeterministic", "nondeterministic_kernel", "{detail} {side}", xla_varies, expected=Level.CURVE,
               remedy="add --xla_gpu_deterministic_ops=true to XLA_FLAGS", confidence="observed",
               source=("jax issues 13672, 28783", "OpenXLA documentation, determinism on GPU")),
    _condition("xla-autotune", "cudnn_autotune", "{detail} {side}", xla_times, expected=Level.BITWISE,
               remedy="add --xla_gpu_deterministic_ops=true to XLA_FLAGS, or load the autotuning results of one run",
               source=("OpenXLA documentation, persisted autotuning", "openxla pull request 12520")),
    _condition("tensorflow-nondeterministic", "nondeterministic_kernel", "{detail} {side}", tensorflow_varies,
               expected=Level.CURVE, remedy="call tf.config.experimental.enable_op_determinism()",
               source=("TensorFlow documentation, enable_op_determinism",)),
)

"""Layers ``precision``, ``determinism`` and ``threads`` as JAX and TensorFlow set them, each where it was imported."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, on_cpu, on_gpu, present, using, using_any
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Distinction, Projection
from .precision import effective

_JAX = "JAX documentation, configuration options"
_WIDTH = "every constant and array has another width"


def jax_products(facts: Facts) -> Any:
    """Precision that JAX asks for in products; unset, the platform decides."""
    return facts.read("precision.jax_matmul") or "the platform's default"


@on_gpu
@using("tensorflow")
def tensorflow_products(facts: Facts) -> Any:
    """Arithmetic of TensorFlow's float32 products and convolutions on these devices."""
    value = facts.read("precision.tensorflow_tf32")
    return UNUSED if value is None else effective(facts, lowered=value is True)


@on_cpu
@using("tensorflow")
def tensorflow_threads(facts: Facts) -> Any:
    """Intra-op threads of TensorFlow where it computed on the CPU; told nothing, it takes all it may use."""
    asked = facts.read("threads.tensorflow_intraop")
    return UNUSED if asked is None else asked or facts.read("threads.affinity_count")


def _rule(rule_id: str, layer: str, cause: str, why: str, project: Projection, *, guaranteed: Level, expected: Level,
          effect: str, remedy: str, source: tuple[str, ...], subsumes: tuple[str, ...] = ()) -> Distinction:
    return Distinction(
        id=rule_id, layer=layer, cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence="documented", source=source,
        subsumes=subsumes, project=project)


RULES: tuple[AnyRule, ...] = (
    _rule("jax-x64", "precision", "precision_mode", "64-bit types in JAX {expected} against {observed}",
          using("jax")(lambda facts: present(facts.read("precision.jax_x64"))), guaranteed=Level.STATISTICAL,
          expected=Level.STATISTICAL, effect=_WIDTH, remedy="set jax_enable_x64 the same", source=(_JAX,)),
    _rule("jax-matmul", "precision", "precision_mode", "JAX products in {expected} against {observed}",
          on_gpu(using("jax")(jax_products)), guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL,
          effect="about 1e-3 relative a product", remedy="set jax_default_matmul_precision the same", source=(_JAX,),
          subsumes=("jax-matmul-host",)),
    _rule("jax-matmul-host", "precision", "precision_mode",
          "JAX products in {expected} against {observed}, on the host", using("jax")(jax_products),
          guaranteed=Level.CURVE, expected=Level.BITWISE, effect="processors compute float32 products in float32",
          remedy="set jax_default_matmul_precision the same", source=(_JAX,)),
    _rule("jax-prng", "determinism", "determinism_flags", "JAX draws by {expected} against {observed}",
          using("jax")(lambda facts: present(facts.read("determinism.jax_prng"))), guaranteed=Level.STATISTICAL,
          expected=Level.STATISTICAL, effect="other random numbers from one key",
          remedy="set jax_default_prng_impl and jax_threefry_partitionable the same",
          source=("JAX documentation, jax.random: generators", "JAX changelog, 0.5.0: threefry_partitionable")),
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
          source=("TensorFlow documentation, oneDNN optimizations",), subsumes=("tensorflow-switches",)),
    _rule("tensorflow-jit", "determinism", "compile_mode", "TensorFlow compiles by XLA {expected} against {observed}",
          using("tensorflow")(lambda facts: present(facts.read("determinism.tensorflow_jit"))),
          guaranteed=Level.CURVE, expected=Level.CURVE, effect="fused kernels round otherwise",
          remedy="call tf.config.optimizer.set_jit() with the same value",
          source=("TensorFlow documentation, tf.config.optimizer.set_jit",)),
    _rule("tensorflow-threads", "threads", "thread_count", "{expected} TensorFlow threads against {observed}",
          tensorflow_threads, guaranteed=Level.CURVE, expected=Level.CURVE,
          effect="sums are split at other places; about 1e-7 relative at first, growing as training goes on",
          remedy="call tf.config.threading.set_intra_op_parallelism_threads() with the same number",
          source=("TensorFlow documentation, tf.config.threading",)),
)

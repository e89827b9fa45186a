"""The dtype policy that Keras layers are made with, in each generation of Keras, without setting its default.

Keras's own getter makes a policy where none was set, and keeps it. So the place where it is kept is read instead.
"""

from __future__ import annotations

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Keras 3: where it keeps what was set, and the default's type.
_STATE, _FLOATS = "keras.src.backend.common.global_state", "keras.src.backend.config"
#: Keras 2 under each of its names, and the one inside TensorFlow that came before: module, and the default's type.
_EARLIER = (("tf_keras.src.mixed_precision.policy", "tf_keras.src.backend"),
            ("keras.src.mixed_precision.policy", "keras.src.backend"),
            ("keras.mixed_precision.policy", "keras.backend"))
_WITHIN_TENSORFLOW = ("tensorflow.python.keras.mixed_precision.policy", "tensorflow.python.keras.backend")


def imported(modules: Any) -> bool:
    """Tell whether a Keras that stands by itself was imported."""
    return any(name in modules for name in ("keras", "tf_keras"))


def policy(modules: Any) -> Any:
    """Return the name of the policy in force; unread without Keras, and where two of them disagree."""
    found = {_third(modules), *(_second(modules, *names) for names in _EARLIER)} - {None}
    if not found and not imported(modules):
        found = {_second(modules, *_WITHIN_TENSORFLOW)} - {None}
    return found.pop() if len(found) == 1 else unread("not-reported")


def _third(modules: Any) -> str | None:
    """Return the policy of Keras 3, kept for each thread."""
    state, floats = modules.get(_STATE), modules.get(_FLOATS)
    if state is None or floats is None:
        return None
    chosen = getattr(state.GLOBAL_STATE_TRACKER, "dtype_policy", None)
    return str(floats.floatx() if chosen is None else chosen.name)


def _second(modules: Any, name: str, floats: str) -> str | None:
    """Return the policy of Keras 2."""
    module = modules.get(name)
    if module is None:
        return None
    chosen = getattr(module, "_global_policy", None)
    return str(modules[floats].floatx() if chosen is None else chosen.name)

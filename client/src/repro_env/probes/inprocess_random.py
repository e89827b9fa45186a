"""The states of the program's random generators at a look, as digests: equal ones go on with equal numbers.

Reading a state draws nothing. CUDA's generators are asked only where the program has started CUDA.
"""

from __future__ import annotations

from ..canonical import digest_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

FACT = "capture.random_states"


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record one digest for each generator that the process has loaded."""
    modules = system.loaded_modules()
    readings.attempt(FACT, "interpreter", lambda: states(modules) or None)


def states(modules: Any) -> dict[str, str]:
    """Return digests by generator: python, numpy (its global one), torch, cuda:0 and so on."""
    found = {name: look(modules) for name, look in (("python", _python), ("numpy", _numpy), ("torch", _torch))}
    return {**{name: digest for name, digest in found.items() if digest is not None}, **_cuda(modules)}


def _python(modules: Any) -> str | None:
    """Return the state of the functions of ``random``: 625 words, and the Gaussian that is kept for later."""
    random = modules.get("random")
    generator = getattr(random, "_inst", None)
    return None if generator is None else digest_bytes(repr(generator.getstate()).encode("ascii"))


def _numpy(modules: Any) -> str | None:
    """Return the state of NumPy's global generator; a generator that a program made itself is its own affair."""
    legacy = getattr(modules.get("numpy.random.mtrand"), "_rand", None)
    if legacy is None:
        return None
    state = legacy.get_state(legacy=False)
    inner = state["state"]
    words = b"".join(inner[name].tobytes() if hasattr(inner[name], "tobytes") else repr(inner[name]).encode("ascii")
                     for name in sorted(inner))
    rest = f"{state['bit_generator']} {state['has_gauss']} {float(state['gauss']).hex()} "
    return digest_bytes(rest.encode("ascii") + words)


def _torch(modules: Any) -> str | None:
    torch = modules.get("torch")
    generator = getattr(torch, "default_generator", None)
    return None if generator is None else _of_torch(torch, generator)


def _cuda(modules: Any) -> dict[str, str]:
    torch = modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not hasattr(cuda, "is_initialized") or not cuda.is_initialized():
        return {}
    return {f"cuda:{index}": _of_torch(torch, generator) for index, generator in enumerate(cuda.default_generators)}


def _of_torch(torch: Any, generator: Any) -> str:
    """Return the digest of a generator's state, unseen by dispatch modes that the program is in."""
    import ctypes

    with torch._C._DisableTorchDispatch():
        state = generator.get_state()
        size = state.numel() * state.element_size()
        return digest_bytes(ctypes.string_at(state.data_ptr(), size))

"""What an imported JAX tells: build, precision, generator, devices, processes, and what XLA was told.

Nothing here starts a backend. XLA reads its variable once, and ends the process where it cannot understand it, so it is
asked only where the program has made it read that variable already. JAX takes its backends down before the program's
last exit handlers run, so what it had started is noted before that, and stays.
"""

from __future__ import annotations

import re

from ..fingerprint.facts import unread
from . import xla_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: libraries that JAX's plugin was compiled against: its function, and what one is worth of each part of the number.
_COMPILED_AGAINST = (
    ("cuda_runtime", "cuda_runtime_build_version", (1000, 10)), ("cublas", "cublas_build_version", (10000, 100, 1)),
    ("cudnn", "cudnn_build_version", (10000, 100, 1)), ("cufft", "cufft_build_version", (1000, 100, 1)),
    ("cusolver", "cusolver_build_version", (1000, 100, 1)), ("cusparse", "cusparse_build_version", (1000, 100, 1)))
_OLD_CUDNN = (1000, 100, 1)


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what JAX tells; nothing when the process has not imported it, or is still importing it."""
    modules = system.loaded_modules()
    jax = imported(modules)
    if jax is None:
        return
    readings.attempt_all(SWITCHES, jax.config)
    readings.attempt_all(BUILD, modules)
    if seen.settled and not any(name in modules for name in ("torch", "tensorflow")):
        readings.put("precision.autocast", "jax", None)  # JAX casts where the program says so
    note(system, modules, seen)
    readings.put("program.layout.jax_devices", "jax", devices(modules, seen))
    if seen.jax:
        readings.put("determinism.xla_deterministic", "jax", seen.jax["xla_deterministic"])
    if seen.jax and "torch" not in modules:
        # Whatever JAX computes, XLA has compiled: functions as wholes, or one operation at a time.
        readings.attempt("program.model.compile", "jax", lambda: not jax.config.jax_disable_jit)
    versions = _cuda_versions(modules)
    if versions is not None and "torch" not in modules:
        for name, function, parts in _COMPILED_AGAINST:
            readings.attempt(f"libraries.{name}.compiled_against", "jax",
                             lambda ask=function, parts=parts: _dotted(getattr(versions, ask)(), parts))  # type: ignore[misc]


def imported(modules: Any) -> Any:
    """Return JAX where it was imported whole, else ``None``."""
    jax = modules.get("jax")
    return jax if hasattr(getattr(jax, "config", None), "jax_enable_x64") and hasattr(jax, "jit") else None


def note(system: System, modules: Any, seen: Seen) -> None:
    """Note what JAX computes on, over how many devices and processes, and what XLA was told, once it has started."""
    # No reference to the client may stay: JAX ends the process where one is left when it takes its backends down.
    client = getattr(modules.get("jax._src.xla_bridge"), "_default_backend", None)
    if client is None:
        return
    seen.jax = {"backend": platform_of(client), "devices": int(client.device_count()),
                "processes": max(int(device.process_index) for device in client.devices()) + 1}
    seen.jax["xla_deterministic"] = xla_deterministic(system, modules)


def missed(modules: Any, seen: Seen) -> bool:
    """Tell whether JAX had started a backend that was gone before it could be noted; a handler of its own stays."""
    return not seen.jax and bool(getattr(modules.get("jax._src.xla_bridge"), "_at_fork_handler_installed", False))


def devices(modules: Any, seen: Seen) -> Any:
    """Return how many devices the backend spans, over all processes; ``None`` where none was started."""
    if missed(modules, seen):
        return unread("not-reported")
    return seen.jax.get("devices", None if seen.settled else unread("too-early"))


def platform_of(client: Any) -> str | None:
    """Return what a client computes on: cpu, cuda, rocm, tpu."""
    platform = getattr(client, "_raw_platform", None) or getattr(client, "platform", None)
    if platform == "gpu":
        return "rocm" if "rocm" in str(getattr(client, "platform_version", "")).lower() else "cuda"
    return platform if isinstance(platform, str) else None


def processes(modules: Any, seen: Seen) -> int:
    """Return how many processes compute together by JAX; 1 for one by itself, 0 where it started nothing.

    What a program was told to join stays when it has left.
    """
    state = getattr(modules.get("jax._src.distributed"), "global_state", None)
    joined = int(getattr(state, "num_processes", None) or 1)
    return max(joined if joined > 1 else 0, int(seen.jax.get("processes", 0)))


def xla_deterministic(system: System, modules: Any) -> Any:
    """Tell whether XLA was told to take deterministic kernels only.

    The library that JAX brings has read the variable once it has started the processor's backend. Where it has not, or
    cannot tell, the variable counts, unless the program changed it: before or after a backend read it, nobody knows.
    """
    backends = getattr(modules.get("jax._src.xla_bridge"), "_backends", None) or {}
    make = getattr(modules.get("jaxlib.xla_client"), "CompileOptions", None)
    if "cpu" in backends and make is not None and hasattr(make, "SerializeAsString"):
        options = make()
        if options.executable_build_options.debug_options is not None:  # reading them fills them in
            return xla_options.deterministic(options.SerializeAsString())
    flags = system.environ.get("XLA_FLAGS", "")
    return xla_options.demanded(flags) if flags == (system.initial_variable("XLA_FLAGS") or "") \
        else unread("not-reported")


def generator(config: Any) -> str:
    """Return the default generator, and whether an array's numbers stay the same however it is split over devices."""
    partitionable = bool(getattr(config, "jax_threefry_partitionable", False))
    return f"{config.jax_default_prng_impl}, {'' if partitionable else 'not '}partitionable"


def _matmul(config: Any) -> Any:
    value = config.jax_default_matmul_precision
    return None if value is None else str(value)


def _revision(modules: Any) -> Any:
    return getattr(modules.get("jax.version"), "_git_hash", None) or unread("not-reported")


def _cuda_versions(modules: Any) -> Any:
    """Return the module in which JAX keeps what its CUDA kernels were built against; ``None`` without such kernels."""
    return getattr(modules.get("jax._src.lib"), "cuda_versions", None)


def _cuda_build(modules: Any) -> Any:
    """Return the CUDA version of the kernels that JAX found when it was imported."""
    if "jax._src.lib" not in modules or not hasattr(modules["jax._src.lib"], "cuda_versions"):
        label = re.search(r"\+cuda(\d+)", _jaxlib_version(modules) or "+cuda")
        return label.group(1) if label else None
    versions = _cuda_versions(modules)
    return None if versions is None else _dotted(versions.cuda_runtime_build_version(), (1000, 10))


def _rocm_build(modules: Any) -> Any:
    """Return that there are no ROCm kernels; where there are, their module does not say of which version."""
    found = any(name.startswith("jax_rocm") for name in _plugins(modules))
    return unread("not-reported") if found or "rocm" in (_jaxlib_version(modules) or "rocm") else None


def _arch_list(modules: Any) -> Any:
    builds = (_cuda_build(modules), _rocm_build(modules))
    return None if builds == (None, None) else unread("not-reported")


def _jaxlib_version(modules: Any) -> str | None:
    version = getattr(modules.get("jaxlib.version") or modules.get("jaxlib"), "__version__", None)
    return version if isinstance(version, str) else None


def _build_flags(modules: Any) -> Any:
    """Return the versions of what computes: jaxlib holds XLA and its kernels, plugins hold those of devices."""
    flags = {name: getattr(modules.get(f"{name}.version"), "__version__", None) for name in _plugins(modules)}
    flags["jaxlib"] = _jaxlib_version(modules)
    flags["jaxlib_revision"] = getattr(modules.get("jaxlib.version"), "_git_hash", None)
    flags["xla_client"] = getattr(modules.get("jaxlib.xla_client"), "_version", None)
    return {name: str(value) for name, value in flags.items() if value} or unread("not-reported")


def _plugins(modules: Any) -> set[str]:
    """Return the names of packages with kernels for devices that were imported."""
    return {name.partition(".")[0] for name in list(modules) if name.startswith(("jax_cuda", "jax_rocm"))}


def _dotted(number: int, parts: tuple[int, ...]) -> str:
    """Return 90800 as 9.8.0, each part worth what ``parts`` says."""
    if parts[0] == 10000 and number < 10000:
        parts = _OLD_CUDNN
    words = []
    for part in parts:
        words.append(str(number // part))
        number %= part
    return ".".join(words)


SWITCHES = (
    ("precision.jax_x64", "jax", lambda config: bool(config.jax_enable_x64)),
    ("precision.jax_matmul", "jax", _matmul),
    ("determinism.jax_prng", "jax", generator),
)
BUILD = (
    ("frameworks.jax.revision", "jax", _revision),
    ("frameworks.jax.cuda_build", "jax", _cuda_build),
    ("frameworks.jax.rocm_build", "jax", _rocm_build),
    ("frameworks.jax.arch_list", "jax", _arch_list),
    ("frameworks.jax.abi", "jax", lambda modules: None),
    ("frameworks.jax.build_flags", "jax", _build_flags),
)

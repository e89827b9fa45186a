"""What an imported TensorFlow tells: build, precision, determinism, threads, devices, processes.

Its public getters start the runtime, which takes devices and fixes settings that the program may still want to set. So
the places behind them are read: modules that TensorFlow has imported itself, and its context once it has made one.
"""

from __future__ import annotations

from ..fingerprint.facts import unread
from . import inprocess_keras

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

_VERSIONS = "tensorflow.python.framework.versions"
_CONFIG = "tensorflow.python.framework.config"
_CONTEXT = "tensorflow.python.eager.context"
_BUILD_INFO = "tensorflow.python.platform.build_info"
#: extension modules, as newer and older versions name them.
_DETERMINISM = ("tensorflow.python.util._pywrap_determinism",)
_PORT = ("tensorflow.python.util._pywrap_util_port", "tensorflow.python._pywrap_util_port")
#: facts of the build that have a field of their own, or name files of another system.
_OWN_FIELD = ("cuda_compute_capabilities", "msvcp_dll_names")
#: rewrites of graphs that lower precision: option, and the type that they lower to.
_REWRITES = (("auto_mixed_precision", "float16"), ("auto_mixed_precision_mkl", "bfloat16"),
             ("auto_mixed_precision_onednn_bfloat16", "bfloat16"))
#: jobs of a cluster whose tasks compute; parameter servers and evaluators do not.
_COMPUTING = ("worker", "chief")


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what TensorFlow tells; nothing when the process has not imported it, or is still importing it."""
    modules = system.loaded_modules()
    if imported(modules) or inprocess_keras.imported(modules):
        readings.attempt("precision.tensorflow_policy", "keras", lambda: inprocess_keras.policy(modules))
    if not imported(modules):
        return
    readings.attempt_all(BUILD + SWITCHES, modules)
    context = made_context(modules)
    if seen.settled and "torch" not in modules:
        readings.attempt("precision.autocast", "tensorflow", lambda: graph_autocast(context))
    readings.attempt("determinism.tensorflow_op_determinism", "tensorflow",
                     lambda: op_determinism(system, modules, seen))
    readings.attempt("determinism.tensorflow_jit", "tensorflow", lambda: jit(system, context))
    for name in ("intra", "inter"):
        readings.attempt(f"threads.tensorflow_{name}op", "tensorflow",
                         lambda name=name: threads(context, f"{name}_op_parallelism_threads", seen))  # type: ignore[misc]
    if "torch" not in modules:
        for name, key in (("cuda_runtime", "cuda_version"), ("cudnn", "cudnn_version")):
            version = _info(modules).get(key)
            if version:
                readings.put(f"libraries.{name}.compiled_against", "tensorflow", str(version))


def imported(modules: Any) -> bool:
    """Tell whether TensorFlow was imported whole."""
    return "tensorflow" in modules and all(name in modules for name in (_VERSIONS, _CONFIG, _CONTEXT))


def made_context(modules: Any) -> Any:
    """Return the context that the program made by its first operation or setting, ``None`` before it."""
    return getattr(modules.get(_CONTEXT), "_context", None)


def started(modules: Any) -> Any:
    """Return the context where the program has started the runtime, else ``None``."""
    context = made_context(modules)
    return context if getattr(context, "_initialized", False) else None


def backend(modules: Any) -> str | None:
    """Return what TensorFlow computed on: cpu, cuda, rocm, mps, tpu; ``None`` where it started nothing."""
    context = started(modules)
    if context is None:
        return None
    kinds = {device.device_type for device in context._logical_devices or ()}
    if "GPU" in kinds:
        built_for = _info(modules)
        return "rocm" if built_for.get("is_rocm_build") else "cuda" if built_for.get("is_cuda_build") else "mps"
    return "tpu" if "TPU" in kinds else "cpu"


def accelerators(modules: Any) -> int:
    """Return how many accelerators the runtime holds, over which a strategy may spread the work."""
    devices = getattr(started(modules), "_logical_devices", None) or ()
    return sum(device.device_type != "CPU" for device in devices)


def processes(modules: Any) -> int:
    """Return how many processes compute together by TensorFlow; 1 for one by itself, 0 where it started nothing."""
    context = started(modules)
    if context is None:
        return 0
    server = context._server_def or getattr(context, "_collective_ops_server_def", None)
    if server is None:
        return 1
    tasks = {job.name: len(job.tasks) for job in server.cluster.job}
    return sum(tasks.get(name, 0) for name in _COMPUTING) or sum(tasks.values())


def graph_autocast(context: Any) -> Any:
    """Return the dtype that graphs are rewritten to on the way to the devices, ``None`` where they are not.

    This is apart from the policy of Keras, which layers are made with.
    """
    options = getattr(context, "_optimizer_experimental_options", None) or {}
    found = [dtype for name, dtype in _REWRITES if options.get(name)]
    given = getattr(context, "_config", None)
    if not found and given is not None:
        return unread("not-reported")
    return found[0] if found else None


def op_determinism(system: System, modules: Any, seen: Seen) -> Any:
    """Tell whether kernels must be deterministic.

    Being asked, TensorFlow reads TF_DETERMINISTIC_OPS once for all, so it is asked only when the program is over with
    setting it. Versions before 2.8 have the variable alone, and read it whenever they need it.
    """
    if not seen.settled:
        return unread("too-early")
    switch = _first(modules, _DETERMINISM)
    if switch is not None:
        return bool(switch.is_enabled())
    return system.environ.get("TF_DETERMINISTIC_OPS", "").lower() in ("1", "true")


def strict(modules: Any) -> bool:
    """Tell whether this version refuses kernels that are not deterministic when it is told to take no others."""
    return _first(modules, _DETERMINISM) is not None


def jit(system: System, context: Any) -> Any:
    """Tell whether graphs are compiled by XLA without the program asking for each: its setting, else its variable."""
    chosen = getattr(context, "_optimizer_jit", None)
    if chosen is not None:
        return bool(chosen)
    given = getattr(context, "_config", None)
    level = given.graph_options.optimizer_options.global_jit_level if given is not None else 0
    if level:
        return bool(level > 0)
    flags = system.environ.get("TF_XLA_FLAGS", "")
    if flags != (system.initial_variable("TF_XLA_FLAGS") or ""):
        return unread("not-reported")
    levels = [word.partition("=")[2] for word in flags.split() if word.startswith("--tf_xla_auto_jit=")]
    return bool(levels) and levels[-1] not in ("0", "-1")


def threads(context: Any, name: str, seen: Seen) -> Any:
    """Return how many threads TensorFlow was told to use; 0 where it was told nothing."""
    if not seen.settled and not getattr(context, "_initialized", False):
        return unread("too-early")
    told = getattr(context, f"_{name}", None)
    if told is None:
        told = getattr(getattr(context, "_config", None), name, None)
    return int(told or 0)


def _first(modules: Any, names: tuple[str, ...]) -> Any:
    return next((modules[name] for name in names if name in modules), None)


def _info(modules: Any) -> dict[str, Any]:
    """Return what the build says of itself; empty in versions that keep it otherwise."""
    found = getattr(modules.get(_BUILD_INFO), "build_info", None)
    return dict(found) if isinstance(found, dict) else {}


def _library(modules: Any, name: str) -> Any:
    """Return the version of CUDA or ROCm that was built for; ``None`` for a build without it."""
    info = _info(modules)
    if info.get(f"is_{name}_build") is False:
        return None
    return str(info.get(f"{name}_version") or "") or unread("not-reported")


def _arch_list(modules: Any) -> Any:
    info = _info(modules)
    if info.get("is_cuda_build") is False and info.get("is_rocm_build") is False:
        return None
    targets = info.get("cuda_compute_capabilities")
    return sorted(str(target) for target in targets) if targets else unread("not-reported")


def _revision(modules: Any) -> Any:
    revision = getattr(modules[_VERSIONS], "GIT_VERSION", None)
    text = revision.decode("ascii", "replace") if isinstance(revision, bytes) else revision
    return unread("not-reported") if not text or text == "unknown" else str(text)


def _abi(modules: Any) -> Any:
    flag = getattr(modules[_VERSIONS], "CXX11_ABI_FLAG", None)
    return unread("not-reported") if flag is None else "cxx11" if flag else "pre-cxx11"


def _build_flags(modules: Any) -> dict[str, str]:
    """Return what the build tells of its compilers and of what it was built for."""
    flags = {name: str(value).lower() if isinstance(value, bool) else str(value)
             for name, value in _info(modules).items() if value is not None and name not in _OWN_FIELD}
    compiler = getattr(modules[_VERSIONS], "COMPILER_VERSION", None)
    if compiler:
        flags["compiler"] = compiler.decode("ascii", "replace") if isinstance(compiler, bytes) else str(compiler)
    return flags


def _tf32(modules: Any) -> Any:
    """Whether float32 products may run in TF32; versions before 2.4 have no such switch."""
    getter = getattr(modules[_CONFIG], "tensor_float_32_execution_enabled", None)
    return None if getter is None else bool(getter())


def _onednn(modules: Any) -> Any:
    """Whether oneDNN's kernels are taken: decided at import, by variable and processor.

    Versions that are too old to tell x86 from other processors answer for builds of Intel's alone.
    """
    port = _first(modules, _PORT)
    if port is None:
        return unread("not-reported")
    return bool(port.IsMklEnabled()) or (False if hasattr(port, "IsX86Available") else unread("not-reported"))


BUILD = (
    ("frameworks.tensorflow.revision", "tensorflow", _revision),
    ("frameworks.tensorflow.cuda_build", "tensorflow", lambda modules: _library(modules, "cuda")),
    ("frameworks.tensorflow.rocm_build", "tensorflow", lambda modules: _library(modules, "rocm")),
    ("frameworks.tensorflow.arch_list", "tensorflow", _arch_list),
    ("frameworks.tensorflow.abi", "tensorflow", _abi),
    ("frameworks.tensorflow.build_flags", "tensorflow", _build_flags),
)
SWITCHES = (
    ("precision.tensorflow_tf32", "tensorflow", _tf32),
    ("determinism.tensorflow_onednn", "tensorflow", _onednn),
)

"""Differences that do not act: listed with why, never judged."""

from __future__ import annotations

from typing import Any

from ..fingerprint.facts import is_captured, is_unread
from .acting import UNUSED
from .levels import Question
from .reading import Facts, Missing
from .rule import Projection, show_value
from .rules import amd, apple, collectives, cpu, declared, threads, unseen
from .rules.distributions import has_rule
from .rules.driver import compiling_driver
from .vector import project
from .verdict import Ignored
from .versions import prefix

_SAME_KERNELS = "the build ships native code for this GPU, so the driver compiles nothing"

#: path -> why a difference there does not act by itself.
INERT: dict[str, str] = {
    "driver.cuda_level": "the highest CUDA version the driver supports, not the one in use",
    "driver.kernel_flavour": "open and proprietary kernel modules run the same kernels",
    "libraries.cuda_toolkit": "the compiler on the machine is not what the framework was built with or loads",
    "libraries.system_cudnn": "files in system folders are not what the framework loads",
    "accelerators.interconnect": "a link moves numbers; the order of additions is judged under collectives",
    "accelerators.links": "links move numbers; the order of additions is judged under collectives",
    "frameworks.torch.abi": "the library interface decides what can be linked, not what is computed",
    "frameworks.tensorflow.abi": "the library interface decides what can be linked, not what is computed",
    "determinism.cudnn_benchmark_limit": "acts only where kernels are timed, which is judged by itself",
    "threads.tensorflow_interop": "inter-op threads do not split sums",
    "threads.torch_interop": "inter-op threads do not split sums",
    "threads.affinity_count": "effective thread counts are what acts",
    "threads.cgroup_limit_millicpu": "a quota slows down; effective thread counts are what acts",
    "cpu.cores": "effective thread counts are what acts",
    "cpu.model": "the instruction sets and the kernels chosen are what acts",
    "system.kernel": "the kernel release does not compute",
    "system.os_name": "the C library and the packages are what acts",
    "system.virtualisation": "a hypervisor does not compute; masked instruction sets are judged under cpu",
    "system.utc_offset": "numbers do not depend on the time zone",
    "python.compiler": "array code does not run what this compiler made",
    "python.environment": "the distributions in it are what acts",
    "container.engine": "the content of the image is what acts",
    "container.image_reference": "the content of the image is what acts",
    "container.image_digest": "the content of the image is what acts",
    "container.image_key": "the content of the image is what acts",
    "container.learned": "how a digest was learned changes nothing",
    "determinism.mkldnn_deterministic": "gave equal bits on and off where measured",
    "source.remote": "the commit is what acts",
}
#: path of ``INERT`` -> the projection by which it acts where it does.
ACTS: dict[str, Projection] = {"accelerators.interconnect": collectives.node_links,
                               "accelerators.links": collectives.node_links, "system.os_name": apple.os_release}
#: variables that no rule reads, by what they are for.
_WITHOUT_EFFECT = "this variable steers no arithmetic, or its effect is judged by the value it leads to"
_READ_IN_FORCE = "what it led to was read and is judged instead"
_SAME_EITHER_WAY = "either value leads to the same here"


def ignored_differences(expected: Facts, observed: Facts) -> tuple[Ignored, ...]:
    """Return the differing facts that do not act, each with its reason."""
    rows = [Ignored(path, _short(left), _short(right), why) for path, why in INERT.items()
            for left, right in [_pair(path, expected, observed)] if left != right
            and (path not in ACTS or all(_unused(ACTS[path], side) for side in (expected, observed)))]
    for special in (_driver, _memory, _python_patch, _variables, _distributions, _declared):
        rows += special(expected, observed)
    return tuple(rows)


def _pair(path: str, expected: Facts, observed: Facts) -> tuple[Any, Any]:
    """Return both values, or twice ``None`` where a side was not read."""
    left, right = expected.look(path), observed.look(path)
    return (None, None) if is_unread(left) or is_unread(right) else (left, right)


def _driver(expected: Facts, observed: Facts) -> list[Ignored]:
    rows = []
    for path in ("driver.kernel_module", "driver.user_libcuda", "driver.compat"):
        left, right = _pair(path, expected, observed)
        if left != right and _unused(compiling_driver, expected) and _unused(compiling_driver, observed):
            rows.append(Ignored(path, _short(left), _short(right), _SAME_KERNELS))
    return rows


def _unused(project: Projection, side: Facts) -> bool:
    try:
        return project(side) is UNUSED
    except Missing:
        return False


def _device_facts(side: Facts, name: str) -> Any:
    found = side.get("accelerators.devices") or []
    return sorted({str(device.get(name)) for device in found if is_captured(device.get(name))})


def _memory(expected: Facts, observed: Facts) -> list[Ignored]:
    rows = []
    for name, why in (("memory_bytes", "memory size does not change what is computed"),
                      ("ecc", "error correction does not change what is computed"),
                      ("form_factor", "the SM count is what acts")):
        left, right = _device_facts(expected, name), _device_facts(observed, name)
        if left and right and left != right:
            rows.append(Ignored(f"accelerators.devices.{name}", _short(left), _short(right), why))
    left, right = expected.get("accelerators.devices") or [], observed.get("accelerators.devices") or []
    if left and right and len(left) != len(right):
        rows.append(Ignored("accelerators.devices", f"{len(left)} devices", f"{len(right)} devices",
                            "how many devices a program uses is judged by its number of ranks"))
    return rows


def _python_patch(expected: Facts, observed: Facts) -> list[Ignored]:
    left, right = _pair("python.version", expected, observed)
    if left != right and left and right and prefix(left, 2) == prefix(right, 2):
        return [Ignored("python.version", left, right, "a patch release of Python does not change arithmetic")]
    return []


def _variables(expected: Facts, observed: Facts) -> list[Ignored]:
    left, right = expected.get("variables.values") or {}, observed.get("variables.values") or {}
    rows = []
    for name in sorted({*left, *right}):
        values = left.get(name, UNUSED), right.get(name, UNUSED)
        if values[0] == values[1] or UNUSED in values or any(is_unread(value) for value in values):
            continue
        if name not in JUDGED_VARIABLES and name not in ASKING:
            rows.append(Ignored(f"variables.values.{name}", _short(values[0]), _short(values[1]), _WITHOUT_EFFECT))
        elif not (_acts(name, values[1], expected) or _acts(name, values[0], observed)):
            why = _READ_IN_FORCE if name in ASKING else _SAME_EITHER_WAY
            rows.append(Ignored(f"variables.values.{name}", _short(values[0]), _short(values[1]), why))
    return rows


def _acts(name: str, value: Any, side: Facts) -> bool:
    """Tell whether any rule says something else of ``side`` with another value of one variable."""
    variables = {**side.stack["variables"], "values": {**side.stack["variables"]["values"], name: value}}
    other = Facts({**side.stack, "variables": variables}, side.program, side.vantage)
    return project(other, Question.REPEAT) != project(side, Question.REPEAT)


#: variables that a rule reads itself; a difference there is never listed as one that does not act where it may.
JUDGED_VARIABLES = unseen.JUDGED | frozenset((*collectives.CHANNELS, *amd.VARIABLES, *apple.SWITCHES)) | frozenset((
    "CUDA_FORCE_PTX_JIT", "DNNL_DEFAULT_FPMATH_MODE", "DNNL_MAX_CPU_ISA", "FLASH_ATTENTION_DETERMINISTIC",
    "GLIBC_TUNABLES", "JAX_PLATFORMS", "LD_PRELOAD", "MKL_CBWR", "MKL_DEBUG_CPU_TYPE", "MKL_ENABLE_INSTRUCTIONS",
    "NCCL_CONF_FILE", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "NVIDIA_TF32_OVERRIDE",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO", "OMP_DYNAMIC", "ONEDNN_DEFAULT_FPMATH_MODE", "ONEDNN_MAX_CPU_ISA",
    "PYTORCH_TUNABLEOP_TUNING", "TF_XLA_FLAGS", "TORCHINDUCTOR_MAX_AUTOTUNE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"))


#: variables by which people ask for what is read in force where the process was seen.
ASKING = frozenset((*threads.ASKED, *cpu.ASKED, "ATEN_CPU_CAPABILITY"))


def _declared(expected: Facts, observed: Facts) -> list[Ignored]:
    """List stated settings that move, name or print things."""
    left, right = ({declared.short(name): str(value) for name, value in (side.get("declared.values") or {}).items()}
                   for side in (expected, observed))
    return [Ignored(f"declared.values.{name}", _short(left[name]), _short(right[name]), why)
            for name, why in declared.INERT.items() if name in left and name in right and left[name] != right[name]]


def _distributions(expected: Facts, observed: Facts) -> list[Ignored]:
    """Summarise the distributions that no rule judges in one row."""
    left, right = _unrelated(expected), _unrelated(observed)
    if left is None or right is None or left == right:
        return []
    names = sorted({name for name in {**left, **right} if left.get(name) != right.get(name)})
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return [Ignored("distributions.installed", f"{len(left)} unrelated", f"{len(right)} unrelated",
                    f"distributions without a rule of their own: {shown}")]


def _unrelated(side: Facts) -> dict[str, Any] | None:
    found = side.get("distributions.installed")
    if found is None:
        return None
    return {item["name"]: str(item.get("version")) for item in found if not has_rule(item["name"])}


def _short(value: Any) -> str:
    text = show_value(value)
    return text if len(text) <= 80 else text[:77] + "..."

"""Differences that do not act: listed with why, never judged."""

from __future__ import annotations

from typing import Any

from ..fingerprint.facts import is_captured, is_unread
from .acting import UNUSED
from .levels import Scope
from .reading import Facts, Missing
from .rule import AnyRule, Projection, show_value
from .rules import RULES_BY_ID, apple, collectives, declared
from .rules.distributions import has_rule
from .rules.driver import compiling_driver
from .steering import ASKING, LOADING, STEERS
from .vector import UNSETTLED, entry
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
#: why a variable does nothing, by who looks at it.
_WITHOUT_EFFECT = "this variable steers no arithmetic"
_READ_IN_FORCE = "what it led to was read and is judged instead"
_SAME_EITHER_WAY = "either value leads to the same here"


def ignored_differences(expected: Facts, observed: Facts) -> tuple[Ignored, ...]:
    """Return the differing facts that do not act, each with its reason."""
    rows = [Ignored(path, _short(left), _short(right), why) for path, why in INERT.items()
            for left, right in [_pair(path, expected, observed)] if left != right
            and (path not in ACTS or all(_unused(ACTS[path], side) for side in (expected, observed)))]
    for special in (_driver, _memory, _python_patch, _switches, _variables, _distributions, _declared):
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


#: switch -> rules on what it does.
_SWITCHES = {
    "precision.allow_tf32_matmul": ("tf32-matmul", "rocm-tf32"),
    "precision.allow_tf32_cudnn": ("tf32-conv", "tf32-rnn", "tf32-cudnn", "rocm-tf32-convolutions"),
    "precision.tensorflow_tf32": ("tensorflow-tf32",)}


def _switches(expected: Facts, observed: Facts) -> list[Ignored]:
    """List switches of float32 that do the same on either side: the device has no TF32, or nothing computed on it."""
    return [Ignored(path, _short(left), _short(right), _SAME_EITHER_WAY) for path, names in _SWITCHES.items()
            for left, right in [_pair(path, expected, observed)]
            if left != right and _settled(names, expected, observed)]


def _variables(expected: Facts, observed: Facts) -> list[Ignored]:
    """List variables that differ and surely do nothing here; where a rule that looks at one is open, none is."""
    left, right = expected.get("variables.values") or {}, observed.get("variables.values") or {}
    outside = Scope.STACK in (expected.scope, observed.scope)
    rows = []
    for name in sorted({*left, *right}):
        values = left.get(name, UNUSED), right.get(name, UNUSED)
        if values[0] == values[1] or UNUSED in values or any(is_unread(value) for value in values):
            continue
        if (outside and name in LOADING) or not _settled(STEERS.get(name, ()), expected, observed):
            continue
        if not (_acts(name, values[1], expected) or _acts(name, values[0], observed)):
            rows.append(Ignored(f"variables.values.{name}", _short(values[0]), _short(values[1]), _why(name)))
    return rows


def _why(name: str) -> str:
    """Say why a variable does nothing here."""
    if name in ASKING:
        return _READ_IN_FORCE
    return _SAME_EITHER_WAY if name in STEERS else _WITHOUT_EFFECT


def _acts(name: str, value: Any, side: Facts) -> bool:
    """Tell whether a rule that looks at a variable says something else of ``side`` with another value of it."""
    variables = {**side.stack["variables"], "values": {**side.stack["variables"]["values"], name: value}}
    other = Facts({**side.stack, "variables": variables}, side.program, side.vantage)
    return any(entry(rule, other) != entry(rule, side) for rule in _rules(STEERS.get(name, ())))


def _settled(names: tuple[str, ...], expected: Facts, observed: Facts) -> bool:
    """Tell whether each of these rules was decided on both sides, and finds nothing on either nor between them."""
    for rule in _rules(names):
        left, right = entry(rule, expected), entry(rule, observed)
        if left.state in UNSETTLED or not left.same(right):
            return False
    return True


def _rules(names: tuple[str, ...]) -> list[AnyRule]:
    return [RULES_BY_ID[name] for name in names]


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

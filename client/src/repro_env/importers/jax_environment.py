"""What ``jax.print_environment_info()`` prints; the nvidia-smi table at its end is read as one."""

from __future__ import annotations

import re
from typing import Any

from .. import variables
from . import devices, host, inventory
from .format import Reading, Text
from .plain import FENCE

NAME = "jax-print-environment-info"
MADE_BY = 'python -c "import jax; jax.print_environment_info()"'

_ROW = re.compile(r"(?:[-*\u2022] +)?(jaxlib|jax|numpy|python|device info|process_count|platform"
                  r"|jax\.devices ?\([^()]{0,60}\)):\s*(.*)")
_VARIABLE = re.compile(r"((?:XLA|JAX|TF|CUDA)_[A-Z0-9_]{1,60})=(.*)")
_VERSION = re.compile(r"\d+\.\d+[\w.+!-]{0,80}")
#: ``NVIDIA A100-SXM4-40GB-8, 8 local devices"``: kind, number of all devices, number of this process's.
_DEVICE_INFO = re.compile(r"(.+)-(\d{1,6}), (\d{1,6}) local devices\"?")
_DEVICES = re.compile(r"jax\.devices ?\((\d{1,6}) total, (\d{1,6}) local\)")
_FIRST_DEVICE = re.compile(r"\[?\s*(?:\w+\.)*(Cuda|Gpu|Rocm|Tpu|Cpu|Metal|cuda|gpu|rocm|METAL)(?:Device)?\(")
_NODE = re.compile(r"uname_result\(system='([^']{1,20})'.*?release='([^']{1,100})'.*?machine='([^']{1,20})'")
_FAMILIES = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}
_MACHINES = {"amd64": "x86_64"}
_BACKENDS = {"cuda": "cuda", "rocm": "rocm", "tpu": "tpu", "cpu": "cpu", "metal": "mps"}
_MOST_LINES = 60
_MOST_DEVICES = 64

Values = dict[str, str]


def read(text: Text) -> Reading | None:
    """Return what the first report states."""
    lines = text.lines
    if "jaxlib" not in text.joined:
        return None
    start = next((number for number, line in enumerate(lines)
                  if _is_first(line) and any(_is_second(other) for other in lines[number + 1:number + 3])), None)
    if start is None:
        return None
    values, environ, end = _rows(lines, start)
    notes: list[str] = []
    distributions = [inventory.pip_row(name, values[name]) for name in ("jax", "jaxlib", "numpy")
                     if _VERSION.fullmatch(values.get(name, ""))]
    sections = {**inventory.sections(distributions, notes), **_machine(values)}
    if "python" in values:
        sections["python"] = host.python_of(values["python"])
    backend = _backend(values)
    if backend:
        sections["frameworks"]["backend"] = backend
    sections["accelerators"] = _accelerators(values, notes)
    told, _ = variables.read(environ)
    if environ:
        sections["variables"] = {"values": {name: told[name] for name in environ if name in told}}
    return Reading(NAME, sections, tuple(notes), start, not any(lines[end:]), end - start)


def _is_first(line: str) -> bool:
    match = _ROW.fullmatch(line[:200])
    return match is not None and match[1] == "jax" and _VERSION.fullmatch(match[2]) is not None


def _is_second(line: str) -> bool:
    match = _ROW.fullmatch(line[:200])
    return match is not None and match[1] == "jaxlib"


def _rows(lines: tuple[str, ...], start: int) -> tuple[Values, dict[str, str], int]:
    """Return the rows, the variables below them, and where they end; the very last line may be broken."""
    values: Values = {}
    environ: dict[str, str] = {}
    end = start
    last = None
    for number in range(start, min(start + _MOST_LINES, len(lines) - 1)):
        line = lines[number][:4096]
        match, variable = _ROW.fullmatch(line), _VARIABLE.fullmatch(line)
        if line == FENCE or line.startswith("$ "):
            break
        if match:
            last = "jax.devices" if match[1].startswith("jax.devices") else match[1]
            if last in values:
                break
            values[last] = line if last == "jax.devices" else match[2].strip()
        elif variable:
            environ.setdefault(variable[1], variable[2])
        elif line and last in ("jax.devices", "python", "platform"):
            values[last] += f" {line}"  # a terminal or numpy wrapped it
        elif line or "platform" in values:
            break
        end = number + 1
    return values, environ, end


def _machine(values: Values) -> inventory.Sections:
    """Return system and processor by the words of ``platform.uname()``; the name of the node stays out."""
    match = _NODE.match(values.get("platform", ""))
    if match is None:
        return {}
    system: dict[str, Any] = {"os_family": _FAMILIES[match[1]]} if match[1] in _FAMILIES else {}
    if match[1] == "Linux":
        system["kernel"] = match[2]
    machine = match[3].lower()
    return {"system": system, "cpu": {"architecture": _MACHINES.get(machine, machine)}}


def _backend(values: Values) -> str | None:
    """Return what JAX computes on by default: the platform of its devices."""
    first = _FIRST_DEVICE.match(values.get("jax.devices", "").partition("): ")[2])
    if first:
        return _BACKENDS.get(first[1].lower())
    match = _DEVICE_INFO.fullmatch(values.get("device info", ""))
    kind = match[1] if match else ""
    if kind.startswith("TPU"):
        return "tpu"
    if kind.lower() == "cpu":
        return "cpu"
    return {"nvidia": "cuda", "amd": "rocm"}.get(devices.vendor_of(kind) or "")


def _accelerators(values: Values, notes: list[str]) -> dict[str, Any]:
    """Return this process's devices where their kind is told; JAX tells none that it does not compute on."""
    match = _DEVICE_INFO.fullmatch(values.get("device info", ""))
    if match and match[1].lower() != "cpu":
        local = int(match[3])
        if int(match[2]) != local:
            notes.append(f"{match[2]} devices in all, of which {local} are this process's: those are listed")
        device = devices.named(match[1])
        if match[1].startswith("TPU"):
            device.update(vendor="google", compute_capability=None, gfx_target=None, mig_profile=None)
        listed = [dict(device) for _ in range(min(local, _MOST_DEVICES))]
        return devices.section(listed, notes, whole=local <= _MOST_DEVICES) if listed else {}
    counted = _DEVICES.match(values.get("jax.devices", ""))
    if counted:
        notes.append(f"JAX has {counted[2]} devices of its own, {counted[1]} in all")
    if match or counted:
        notes.append("JAX lists the devices it computes on, which does not tell what the machine has")
    return {}

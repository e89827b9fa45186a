"""Section ``frameworks``: what is installed, from metadata and the version modules' text, without importing any."""

from __future__ import annotations

from ..fingerprint.facts import unread
from . import distributions, pci
from .keys import FRAMEWORK, FRAMEWORKS, blank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

#: framework -> (distribution names, package folder, version module).
_KNOWN: dict[str, tuple[tuple[str, ...], str, str]] = {
    "torch": (("torch",), "torch", "version.py"),
    "jax": (("jax",), "jax", ""),
    "tensorflow": (("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "intel-tensorflow",
                    "tensorflow-rocm", "tf-nightly"), "tensorflow", ""),
    "numpy": (("numpy",), "numpy", "version.py"),
    "scipy": (("scipy",), "scipy", "version.py"),
    "scikit_learn": (("scikit-learn",), "sklearn", ""),
}


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return each framework as installed (``None``: surely not), and the backend where it cannot be another."""
    look.sources["frameworks"] = "distribution-metadata"
    return {"backend": backend(look), **{name: framework(system, look, name) for name in FRAMEWORKS}}


def backend(look: Look) -> Any:
    """Return ``cpu`` where there is surely no device to compute on; else the program decides."""
    return "cpu" if pci.surely_no_accelerator(look) else unread("not-loaded" if look.in_process else "too-early")


def framework(system: System, look: Look, name: str) -> Any:
    """Return the facts of one framework, ``None`` when the whole path was seen and does not hold it."""
    names, package, module = _KNOWN[name]
    _, complete = distributions.scan(system, look)
    installed = distributions.first_by_name(system, look)
    item = next((installed[key] for key in names if key in installed), None)
    folder = distributions.holding(system, look, package)
    if item is None and folder is None:
        return None if complete else unread("denied")
    facts = blank_of(FRAMEWORK, "not-loaded")
    values = version_values(system, f"{folder}/{package}/{module}") if folder and module else {}
    version = item.version if item else values.get("__version__") or values.get("version")
    facts.update(version=version or unread("not-reported"),
                 revision=_first(values, "git_version", "git_revision") or unread("not-reported"),
                 build=build(system, item, version or ""))
    if name == "torch":
        facts.update(torch_build(values, version or ""))
    elif name in ("numpy", "scipy", "scikit_learn"):
        facts.update(cuda_build=None, rocm_build=None, arch_list=None, debug=unread("not-reported"), abi=None)
    return facts


def torch_build(values: dict[str, Any], version: str) -> dict[str, Any]:
    """Return what torch's version module says of the build; without it, what the local label says."""
    silent = unread("not-reported")
    if "cuda" in values:
        cuda, rocm = values["cuda"], values.get("hip")
    else:
        label = version.partition("+")[2]
        cuda = None if label.startswith(("cpu", "rocm", "xpu")) else silent
        rocm = None if label.startswith(("cpu", "cu", "xpu")) else silent
    return {"cuda_build": cuda, "rocm_build": rocm, "debug": values.get("debug", silent),
            "arch_list": None if cuda is None and rocm is None else unread("not-loaded")}


def version_values(system: System, path: str) -> dict[str, Any]:
    """Return the assignments of plain constants in a version module, read as text."""
    try:
        text = system.read_text(path, 16384)
    except OSError:
        return {}
    values: dict[str, Any] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        name = name.partition(":")[0].strip()
        if equals and name.isidentifier():
            constant = _constant(value.strip())
            if constant is not _NOT_CONSTANT:
                values[name] = constant
    return values


_NOT_CONSTANT = object()


def _constant(text: str) -> Any:
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0] and text[0] not in text[1:-1]:
        return text[1:-1]
    return _NOT_CONSTANT


def build(system: System, item: distributions.Found | None, version: str) -> Any:
    """Return where the build came from: wheel, conda, source, vendor."""
    if item is None or item.metadata.endswith((".egg-link", ".egg-info")):
        return "source"
    if ".nv" in version or "+git" in version:
        return "vendor" if ".nv" in version else "source"
    if distributions.origin(system, item)["editable"] is True:
        return "source"
    try:
        installer = system.read_text(f"{item.metadata}/INSTALLER", 64).strip()
    except OSError:
        return unread("not-reported")
    return "conda" if installer == "conda" else "wheel"


def _first(values: dict[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if isinstance(values.get(name), str)), None)

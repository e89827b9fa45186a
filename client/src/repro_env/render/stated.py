"""One line on what a document states, for a person who just imported it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FRAMEWORKS = {"torch": "torch", "tensorflow": "TensorFlow", "jax": "JAX", "numpy": "NumPy"}


def stated(document: dict[str, Any]) -> str:
    """Return frameworks, devices, driver, toolkit, Python and system as far as they are stated; else "no chief fact".

    The CUDA versions are named by what they are: one is never shown for another.
    """
    stack = document["stack"]
    words = [*_frameworks(stack["frameworks"]), *_devices(stack["accelerators"]["devices"])]
    driver = stack["driver"]
    for name, value in (("driver", driver["kernel_module"]), ("CUDA level of the driver", driver["cuda_level"]),
                        ("CUDA toolkit", stack["libraries"]["cuda_toolkit"]), ("Python", stack["python"]["version"])):
        if isinstance(value, str):
            words.append(f"{name} {value}")
    system = [value for value in (stack["system"]["os_name"], stack["system"]["os_family"]) if isinstance(value, str)]
    installed = stack["distributions"]["installed"]
    number = [f"{len(installed)} distributions"] if isinstance(installed, list) else []
    return ", ".join([*words, *system[:1], *number]) or "no chief fact"


def _frameworks(facts: dict[str, Any]) -> list[str]:
    found = []
    for key, name in _FRAMEWORKS.items():
        framework = facts[key]
        if not isinstance(framework, dict) or not isinstance(framework.get("version"), str):
            continue
        builds = [f"{maker} {framework[key]}" for maker, key in (("CUDA", "cuda_build"), ("ROCm", "rocm_build"))
                  if isinstance(framework[key], str)]
        found.append(f"{name} {framework['version']}" + (f" built with {builds[0]}" if builds else ""))
    return found


def _devices(devices: Any) -> list[str]:
    if devices is None:
        return ["no accelerator"]
    if not isinstance(devices, list):
        return []
    names = [_name(device) for device in devices]
    counted = [f"{names.count(name)} x {name}" for name in dict.fromkeys(filter(None, names))]
    return [*counted, "perhaps other devices"] if "" in names else counted


def _name(device: dict[str, Any]) -> str:
    if isinstance(device["name"], str):
        profile = device["mig_profile"]
        return f"{device['name']} [{profile}]" if isinstance(profile, str) else str(device["name"])
    return "device of unknown name" if isinstance(device["vendor"], str) else ""

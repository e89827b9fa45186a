"""Every recorded host gives a valid document and the facts it was recorded for."""

from __future__ import annotations

from typing import Any

import pytest
from recorded import HOSTS, RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import validate

U = "unread"
#: host -> vendors of its devices, kernel driver, microarchitecture, hypervisor, operating system.
EXPECTED: dict[str, tuple[Any, ...]] = {
    "a100-mig": (["nvidia"], "535.161.08", "23-49", None, "Ubuntu 22.04.4 LTS"),
    "a100-seven-slices": (["nvidia"] * 7, "535.216.01", U, U, U),
    "arm-node": (None, None, "0x41-0xd4f", "kvm", "Ubuntu 22.04.4 LTS"),
    "cpu-container": (None, None, "6-207", "kvm", "Debian GNU/Linux 12 (bookworm)"),
    "h100-node": (["nvidia", "nvidia"], "550.54.15", "6-143", None, "Ubuntu 22.04.4 LTS"),
    "mac-intel": (["amd", "intel"], U, "6-158", None, "macOS 13.6"),
    "mac-m2": (["apple"], U, "cpufamily-0xda33d83d", None, "macOS 14.5"),
    "mi300x-node": (["amd"], "6.7.0", "25-17", None, "Ubuntu 22.04.4 LTS"),
    "micro-vm-epyc": (None, None, "25-1", "kvm", "Debian GNU/Linux 12 (bookworm)"),
    "unreadable-bus": (U, U, "6-207", "kvm", "Debian GNU/Linux 12 (bookworm)"),
    "wsl2-laptop": (["nvidia"], "551.88", U, "hyperv", "Ubuntu 22.04.2 LTS"),
    "xeon-sapphire-rapids": (None, None, "6-143", None, "CentOS Stream 8"),
}
MACHINES = sorted(EXPECTED)


def seen(value: Any) -> Any:
    return U if is_unread(value) else value


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("subject", ["environment", "node"])
def test_a_host_shows_what_it_was_recorded_for(name: str, subject: str) -> None:
    document = capture(RecordedSystem(name), subject=subject)
    validate(document)
    stack = document["stack"]
    devices = stack["accelerators"]["devices"]
    vendors = [device["vendor"] for device in devices] if isinstance(devices, list) else seen(devices)
    assert (vendors, seen(stack["driver"]["kernel_module"]), seen(stack["cpu"]["microarchitecture"]),
            seen(stack["system"]["virtualisation"]), seen(stack["system"]["os_name"])) == EXPECTED[name]


@pytest.mark.parametrize("name", MACHINES)
def test_two_looks_at_a_host_give_one_stack(name: str) -> None:
    assert len({capture(RecordedSystem(name))["digests"]["stack"] for _ in range(2)}) == 1


@pytest.mark.parametrize("name", MACHINES)
def test_every_fact_of_the_devices_has_a_source(name: str) -> None:
    document = capture(RecordedSystem(name))
    for section in ("accelerators", "driver", "cpu", "system"):
        if any(not is_unread(value) for value in document["stack"][section].values()):
            assert section in document["capture"]["sources"]


@pytest.mark.parametrize("name", MACHINES)
def test_the_origin_of_a_host_is_told(name: str) -> None:
    assert f"| `{name}` |" in (HOSTS / "README.md").read_text()

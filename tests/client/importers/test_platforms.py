"""The line of ``platform.platform()`` on every system, and what it is known to say wrongly."""

from __future__ import annotations

import pytest

from repro_env.importers.platforms import sections

NEW = "3.11.9"


@pytest.mark.parametrize(
    ("told", "kernel", "machine", "libc"),
    [
        ("Linux-5.19.0-46-generic-x86_64-with-glibc2.36", "5.19.0-46-generic", "x86_64", "glibc 2.36"),
        ("Linux-6.1.0-13-amd64-x86_64-with-glibc2.36", "6.1.0-13-amd64", "x86_64", "glibc 2.36"),
        ("Linux-6.1.0-13-arm64-aarch64-with-glibc2.36", "6.1.0-13-arm64", "aarch64", "glibc 2.36"),
        ("Linux-5.14.0-427.el9.x86_64-x86_64-with-glibc2.34", "5.14.0-427.el9.x86_64", "x86_64", "glibc 2.34"),
        ("Linux-6.6.41-0-lts-x86_64-with-musl1.2.4", "6.6.41-0-lts", "x86_64", "musl 1.2.4"),
        ("Linux-5.15.0-1019-nvidia-64k-aarch64-with-glibc2.35", "5.15.0-1019-nvidia-64k", "aarch64", "glibc 2.35"),
        ("Linux-4.18.0-ppc64le-with-glibc2.28", "4.18.0", "ppc64le", "glibc 2.28"),
    ],
)
def test_linux_tells_kernel_machine_and_c_library(told, kernel, machine, libc):
    found = sections(told, NEW, [])
    assert found["system"] == {"os_family": "linux", "kernel": kernel, "libc": libc}
    assert found["cpu"] == {"architecture": machine}


def test_an_old_python_names_a_distribution_that_is_not_believed():
    found = sections("Linux-5.4.0-122-generic-x86_64-with-debian-bullseye-sid", "3.7.3", [])
    assert found["system"] == {"os_family": "linux", "kernel": "5.4.0-122-generic"}


def test_the_c_library_of_an_old_python_is_not_believed():
    notes = []
    found = sections("Linux-4.15.0-x86_64-with-glibc2.10", "3.7.3", notes)
    assert found["system"]["libc"] == {"unread": "not-reported"}
    assert "glibc-2.10 is what the file of an old Python needs" in notes[0]


@pytest.mark.parametrize("kernel", ["5.15.153.1-microsoft-standard-WSL2", "6.6.87.2-microsoft-standard-WSL2"])
def test_the_kernel_of_wsl_tells_it(kernel):
    assert sections(f"Linux-{kernel}-x86_64-with-glibc2.35", NEW, [])["system"]["virtualisation"] == "wsl2"


@pytest.mark.parametrize("told", ["Windows-10-10.0.19045-SP0", "Windows-11-10.0.26100-SP0"])
def test_windows_tells_its_family_alone(told):
    assert sections(told, NEW, []) == {"system": {"os_family": "windows"}}


def test_macos_tells_release_and_machine():
    found = sections("macOS-14.6.1-arm64-arm-64bit", NEW, [])
    assert found == {"system": {"os_family": "macos", "os_name": "macOS 14.6.1"}, "cpu": {"architecture": "arm64"}}


def test_the_release_that_hides_every_later_macos_is_not_believed():
    notes = []
    found = sections("macOS-10.16-x86_64-i386-64bit", NEW, notes)
    assert found["system"] == {"os_family": "macos"}
    assert "macOS 10.16" in notes[0]


def test_darwin_tells_a_kernel():
    assert sections("Darwin-19.6.0-x86_64-i386-64bit", "3.7.9", [])["system"]["kernel"] == "19.6.0"


@pytest.mark.parametrize("told", ["", "Linux", "linux", "Ubuntu 22.04", "Linux-", "FreeBSD-14.0-RELEASE-amd64"])
def test_another_line_tells_nothing(told):
    assert sections(told, NEW, []) == {}


def test_a_line_without_a_machine_tells_no_kernel():
    assert sections("Linux-5.4.0", NEW, []) == {"system": {"os_family": "linux"}}

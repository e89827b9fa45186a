"""The fixtures of ``conftest.py`` do what every other test relies on."""

from __future__ import annotations

import os
import socket
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org"])
def test_connections_off_this_machine_are_refused(host: str) -> None:
    with pytest.raises(AssertionError, match=f"loopback only.*{host}"):
        socket.create_connection((host, 80), timeout=1)


def test_name_lookups_off_this_machine_are_refused() -> None:
    with pytest.raises(AssertionError, match="loopback only"):
        socket.getaddrinfo("example.org", 80)


def test_datagrams_off_this_machine_are_refused() -> None:
    refused = pytest.raises(AssertionError, match="loopback only")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, refused:
        sender.sendto(b"x", ("192.0.2.1", 9))


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
        pass


def test_settings_and_files_of_the_user_are_out_of_sight() -> None:
    assert not [name for name in os.environ if name.startswith("REPRO_ENV_")]
    assert {Path(os.environ[name]).is_relative_to(os.environ["HOME"]) for name in os.environ if name.startswith("XDG_")
            and name.endswith("_HOME")} == {True}
    assert [path.name for path in Path.home().iterdir() if path.is_file()] == [".gitconfig"]


def test_a_warning_is_an_error() -> None:
    with pytest.raises(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


@given(number=st.integers())
def test_examples_are_counted_by_the_profile(number: int) -> None:
    expected = {"ci": 100, "soak": 10_000}[os.environ.get("HYPOTHESIS_PROFILE", "ci")]
    assert (settings.default.max_examples, settings.default.deadline) == (expected, None)

"""What holds for every test: how many examples, nothing of the user's own settings and files, no way off this machine.

Servers of tests listen on loopback and are real; whatever else opens a connection is a mistake and fails the test.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Times vary on shared machines, so no single example has a deadline: pytest's own timeout bounds a test.
settings.register_profile("ci", max_examples=100, deadline=None, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("ci"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: variables that name the user's settings, his scheduler's job, or his proxy.
FOREIGN_PREFIXES = ("REPRO_ENV_", "SLURM_", "PBS_", "LSB_", "KUBERNETES_", "OMPI_", "TORCHELASTIC_")
FOREIGN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "JOB_ID", "HTTP_PROXY", "HTTPS_PROXY",
           "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "PYTHONPATH")
FOLDERS = {"HOME": ".", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state",
           "XDG_CACHE_HOME": ".cache", "XDG_RUNTIME_DIR": ".run"}
GIT_SETTINGS = "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"
LOOPBACK = ("127.", "::1", "localhost")


class LeftTheMachine(AssertionError):
    """A test opened a connection to somewhere else than loopback."""


def clean_environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Point the environment to an empty home folder, and take out what steers repro-env."""
    for name in [name for name in os.environ if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN]:
        patch.delenv(name)
    for name, folder in FOLDERS.items():
        path = home / folder
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        patch.setenv(name, str(path))
    (home / ".gitconfig").write_text(GIT_SETTINGS)


@pytest.fixture(scope="session", autouse=True)
def _session_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The clean environment for fixtures that outlive a test, such as servers."""
    base = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        clean_environment(patch, base / "session")
        yield base


@pytest.fixture(autouse=True)
def _environment(_session_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fresh home folder for every test."""
    home = Path(tempfile.mkdtemp(dir=_session_environment))
    clean_environment(monkeypatch, home)
    yield
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_look_at_the_end_of_the_tests() -> Iterator[None]:
    """A test that observes this very process leaves nothing to do when the tests end."""
    yield
    observer = sys.modules.get("repro_env.process")
    if observer is not None:
        atexit.unregister(observer._exit_look)
        observer.STATE.exit_armed = False


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections, datagrams and name look-ups end at this machine."""

    def checked(method: str) -> Any:
        original = getattr(socket.socket, method)

        def call(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if self.family in {socket.AF_INET, socket.AF_INET6} and isinstance(address, tuple):
                refuse_unless_loopback(address[0])
            return original(self, *arguments)

        return call

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        refuse_unless_loopback(host)
        return look_up(host, *arguments, **options)

    look_up = socket.getaddrinfo
    for method in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, method, checked(method))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def refuse_unless_loopback(host: object) -> None:
    """Raise ``LeftTheMachine`` for a host that is not this one; no host at all means this one."""
    text = host.decode() if isinstance(host, bytes) else host
    if text and not str(text).startswith(LOOPBACK):
        raise LeftTheMachine(f"expected loopback only, got a connection to {text}")

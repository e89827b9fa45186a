"""The command line: one clear line and an exit code for what is wrong, a clean stop for what is not."""

from __future__ import annotations

import socket
import subprocess
import sys

import httpx
import pytest

from repro_env_service import __version__
from repro_env_service.cli import main
from repro_env_service.settings import Settings, default_data_folder
from repro_env_service.storage import Storage


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"repro-env-service {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["serve", "--port"], ["migrate", "--port", "1"]])
def test_wrong_usage_exits_64(arguments, capsys):
    assert main(arguments) == 64
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_host_beyond_loopback_is_refused_with_the_reason(host, capsys, tmp_path):
    assert main(["serve", "--host", host, "--data", str(tmp_path)]) == 64
    told = capsys.readouterr().err
    assert "no authentication" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("port", ["65536", "-1", "http", "٣", "1e3"])
def test_wrong_port_is_refused(port, capsys, tmp_path):
    assert main(["serve", f"--port={port}", "--data", str(tmp_path)]) == 64
    assert "expected a port" in capsys.readouterr().err


def test_taken_port_is_told_in_one_line(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port), "--data", str(tmp_path)]) == 69
    told = capsys.readouterr().err
    assert f"port {port} on 127.0.0.1 is taken" in told
    assert told.count("\n") == 1


def test_folder_in_use_exits_75(capsys, tmp_path):
    storage = Storage(Settings(data=tmp_path))
    assert main(["migrate", "--data", str(tmp_path)]) == 75
    storage.close()
    assert "in use" in capsys.readouterr().err


def test_migrate_makes_the_schema_and_then_has_nothing_to_do(capsys, tmp_path):
    assert main(["migrate", "--data", str(tmp_path / "new")]) == 0
    assert "from empty" in capsys.readouterr().out
    assert main(["migrate", "--data", str(tmp_path / "new")]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_variables_set_what_flags_do_not(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_ENV_SERVICE_DATA", str(tmp_path / "named"))
    assert main(["migrate"]) == 0
    assert (tmp_path / "named").is_dir()
    assert main(["migrate", "--data", str(tmp_path / "flag")]) == 0
    assert (tmp_path / "flag").is_dir()
    assert default_data_folder({"XDG_DATA_HOME": "/x"}).as_posix() == "/x/repro-env-service"


def test_service_serves_over_a_socket_and_stops_cleanly(start_service, tmp_path, observation):
    service = start_service(tmp_path / "with a space")
    answer = httpx.put(f"{service.address}/v1/observations/o1", json=observation(), trust_env=False)
    assert answer.status_code == 201
    assert httpx.get(f"{service.address}/readyz", trust_env=False).json() == {"status": "ok", "version": __version__}
    assert service.stop() == 0
    again = start_service(tmp_path / "with a space")
    assert httpx.get(f"{again.address}/v1/runs/r1", trust_env=False).status_code == 200


def test_answers_do_not_wait_for_delayed_acknowledgements(start_service, tmp_path):
    service = start_service(tmp_path)
    with httpx.Client(base_url=service.address, trust_env=False) as client:
        times_s = sorted(client.get("/livez").elapsed.total_seconds() for _ in range(20))
    assert times_s[0] < 0.035, "the fastest of 20 answers took as long as a delayed acknowledgement (40 ms)"


def test_second_process_on_the_folder_is_refused(start_service, tmp_path):
    start_service(tmp_path)
    second = subprocess.run([sys.executable, "-m", "repro_env_service", "serve", "--port", "0", "--data",
                             str(tmp_path)], capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 75
    assert "in use by another" in second.stderr

"""Secrets planted wherever environments have them reach nothing: no document, spool, wire, log, page or answer.

Ten shapes of credentials in each of the channels below; every secret has a core of its own, which is searched for in
all that leaves the programs. That the search would find a leak is shown by searching for what may leave.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self
from urllib.parse import quote

import pytest
from importing import dump_text

from repro_env.importers import import_text

Plant = Callable[["World", str], None]


def core(*words: object) -> str:
    """32 letters and digits that stand nowhere else."""
    raw = hashlib.sha256(":".join(map(str, words)).encode()).digest()
    return base64.b32encode(raw)[:31].decode().lower() + "7"


SHAPES: dict[str, Callable[[str], str]] = {
    "hugging face": lambda text: f"hf_{text}",
    "github": lambda text: f"ghp_{text}abcd",
    "openai": lambda text: f"sk-proj-{text}",
    "slack": lambda text: f"xoxb-{text}",
    "jwt": lambda text: f"eyJhbGciOiJIUzI1NiJ9.{text}.sig",
    "mixed key": lambda text: text[:16].upper() + text[16:],
    "password": lambda text: f"password={text}",
    "bearer": lambda text: f"Bearer {text}",
    "user information": lambda text: f"https://user:{text}@host.example/x",
    "private key": lambda text: f"-----BEGIN PRIVATE KEY-----{text}",
}


class World:
    """A home, a repository and an environment in which secrets lie about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "project"
        self.site = folder / "site"
        self.programs = folder / "programs"
        self.environ: dict[str, str] = {}
        self.options: list[str] = []
        self.arguments: list[str] = []
        self.dumps: list[str] = []
        self.git_settings = ""
        for place in (self.repository, self.site, self.programs):
            place.mkdir(parents=True)

    def distribution(self, name: str, record: dict[str, object]) -> None:
        metadata = self.site / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (metadata / "direct_url.json").write_text(json.dumps(record))

    def variable(self, name: str, value: str) -> None:
        self.environ[name] = value


def url(secret: str, path: str = "team/project.git") -> str:
    return f"https://user:{quote(secret, safe='')}@host.example/{path}"


CHANNELS: dict[str, Plant] = {
    "cloud key": lambda world, secret: world.variable("AWS_SECRET_ACCESS_KEY", secret),
    "hub token": lambda world, secret: world.variable("HF_TOKEN", secret),
    "tracker key": lambda world, secret: world.variable("WANDB_API_KEY", secret),
    "continuous integration": lambda world, secret: world.variable("CI_JOB_TOKEN", secret),
    "package index": lambda world, secret: world.variable("PIP_EXTRA_INDEX_URL", url(secret, "simple")),
    "proxy": lambda world, secret: world.variable("HTTPS_PROXY", url(secret, "")),
    "listed variable": lambda world, secret: world.variable("XLA_FLAGS", f"--xla_dump_to={secret}"),
    "listed path": lambda world, secret: world.variable("LD_LIBRARY_PATH", f"/opt/lib:{secret}"),
    "listed file": lambda world, secret: world.variable("NCCL_TOPO_FILE", secret),
    "argument": lambda world, secret: world.arguments.append(f"--api-key={secret}"),
    "remote": lambda world, secret: _git(world, f'[remote "origin"]\n\turl = {url(secret)}\n'),
    "remote's query": lambda world, secret: _git(
        world, f'[remote "other"]\n\turl = https://host.example/x.git?access_token={quote(secret)}\n'),
    "git header": lambda world, secret: _git(world, f'[http]\n\textraheader = "AUTHORIZATION: {secret}"\n'),
    "submodule": lambda world, secret: _write(world.repository / ".gitmodules",
                                              f'[submodule "lib"]\n\tpath = lib\n\turl = {url(secret)}\n'),
    "archive origin": lambda world, secret: world.distribution("archived", {"url": url(secret), "archive_info": {}}),
    "repository origin": lambda world, secret: world.distribution("cloned", {
        "url": url(secret) + f"?token={quote(secret)}", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}}),
    "image reference": lambda world, secret: world.variable("REPRO_ENV_IMAGE", f"user:{secret}@registry.example/image"),
    "image digest": lambda world, secret: world.variable("REPRO_ENV_IMAGE_DIGEST", secret),
    "container file": lambda world, secret: world.variable("APPTAINER_CONTAINER", f"docker://user:{secret}@host/x"),
    "label": lambda world, secret: world.options.extend(("--label", f"key={secret}")),
    "declaration": lambda world, secret: world.options.extend(("--declare", f"key={secret}")),
    "failing tool": lambda world, secret: _program(world, "nvidia-smi", f"echo '{secret}' | tee /dev/stderr; exit 9"),
    "imported rows": lambda world, secret: world.dumps.append(dump_text(
        rows=f"[pip3] numpy==1.26.4\n[pip3] mine @ git+{url(secret)}\n[conda] Could not collect")),
    "imported run": lambda world, secret: world.dumps.append(json.dumps({
        "os": "Linux-5.15", "python": "3.10.12", "args": ["--api-key", secret], "program": f"/x/{secret}/train.py",
        "git": {"remote": url(secret), "commit": "a" * 40}, "gpu": "NVIDIA A100", "gpu_count": 1, "cudaVersion": "12.2",
        "host": "node-17", "username": "researcher"})),
    "imported image": lambda world, secret: world.dumps.append(json.dumps([{
        "Id": "sha256:" + "c" * 64, "RepoDigests": ["registry.example/x@sha256:" + "d" * 64], "Os": "linux",
        "Architecture": "amd64", "RootFS": {"Type": "layers", "Layers": []},
        "Config": {"Env": [f"HF_TOKEN={secret}", f"XLA_FLAGS={secret}", f"PIP_INDEX_URL={url(secret)}"],
                   "Labels": {"key": secret}}}])),
    "imported list": lambda world, secret: world.dumps.append(
        f"numpy==1.26.4\nmine @ git+{url(secret)}@{'b' * 40}\n--extra-index-url {url(secret, 'simple')}\n"
        "torch==2.4.1\nscipy==1.14.0\n"),
}


def _git(world: World, text: str) -> None:
    world.git_settings += text


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _program(world: World, name: str, text: str) -> None:
    path = world.programs / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Wire:
    """Passes bytes on to the service and keeps them; left, it has closed its sockets."""

    def __init__(self, address: str) -> None:
        self.target = ("127.0.0.1", int(address.rpartition(":")[2].rstrip("/")))
        self.seen: list[bytes] = []
        self.open: list[socket.socket] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._serve, daemon=True)]
        self.threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for thread in self.threads:
            thread.join(20)
        for connection in self.open:
            connection.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            self.open += [near, far]
            for pair in ((near, far), (far, near)):
                self.threads.append(threading.Thread(target=self._pass, args=pair, daemon=True))
                self.threads[-1].start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.seen.append(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The real service with its log and data below one folder."""
    folder = tmp_path_factory.mktemp("service")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "repro_env_service", "serve", "--port", "0", "--data", str(folder / "data")],
            stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        yield next(word.rstrip(",") for word in line.split() if word.startswith("http://")), folder
        process.terminate()
        process.wait(20)
        process.stdout.close()


def planted(world: World, shape: str) -> dict[str, str]:
    """Plant one secret a channel; return the channel of each core."""
    cores = {}
    for name, plant in CHANNELS.items():
        text = core(shape, name)
        secret = SHAPES[shape](text)
        plant(world, secret)
        cores[text if text in secret else text[16:]] = name
    subprocess.run(["git", "init", "-q", str(world.repository)], check=True)
    (world.repository / "train.py").write_text("import sys\nassert len(sys.argv) > 1\n")
    for command in (["add", "train.py"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", "-C", str(world.repository), *command], check=True)
    with (world.repository / ".git" / "config").open("a") as file:
        file.write(world.git_settings)
    return cores


def everything(world: World, wire: Wire, server: str, folder: Path) -> bytes:
    """Run every command that looks, keeps, sends, shows; return all that came out of them anywhere."""
    spool = world.folder / "spool"
    environ = {**os.environ, **world.environ, "REPRO_ENV_SPOOL": str(spool), "REPRO_ENV_RUN_ID": "planted",
               "PYTHONPATH": str(world.site), "PATH": f"{world.programs}:{os.environ['PATH']}",
               "NO_PROXY": "127.0.0.1", "REPRO_ENV_TIMEOUT_S": "20"}
    out = []

    def run(*words: str, **more: str) -> None:
        done = subprocess.run([sys.executable, "-m", "repro_env", *words], cwd=world.repository, capture_output=True,
                              env={**environ, **more}, timeout=60, check=False)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        out.extend((done.stdout, done.stderr))

    python = ("--python", sys.executable)
    run("capture", "--json", *python, *world.options, REPRO_ENV_SERVER=wire.address)
    assert len(out[0]) > 1000
    run("doctor", *python)
    run("run", "--", sys.executable, "train.py", *world.arguments)
    out += [json.dumps(import_text(text)).encode() for text in world.dumps]
    kept = [path.read_bytes() for path in spool.rglob("*") if path.is_file()]
    assert kept
    run("sync", REPRO_ENV_SERVER=wire.address)
    for path in ("/v1/runs/planted", "/v1/comparisons?left=planted&right=planted"):
        with urllib.request.urlopen(server + path, timeout=20) as answer:
            out.append(answer.read())
    stored = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert wire.seen
    assert sum(map(len, stored)) > 10_000
    return b"\n".join([*out, *kept, *wire.seen, *stored])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_planted_secret_comes_out_nowhere(shape: str, tmp_path: Path, service: tuple[str, Path]) -> None:
    server, folder = service
    world = World(tmp_path / "world")
    cores = planted(world, shape)
    with Wire(server) as wire:
        out = everything(world, wire, server, folder)
    lowered = out.lower()
    leaks = [channel for text, channel in cores.items() if text.encode() in lowered]
    assert leaks == []
    # the search sees what may leave: the commit, and distributions by name
    assert b"planted" in out
    assert b"archived" in out


def test_two_hundred_secrets_are_planted() -> None:
    assert len(SHAPES) * len(CHANNELS) >= 200
    assert len(CHANNELS) >= 20


@pytest.mark.parametrize("address", ["http://user:{}@127.0.0.1:9", "http://127.0.0.1:9/?token={}", "ftp://{}@host"])
def test_a_server_address_with_a_secret_is_never_repeated(address: str, tmp_path: Path) -> None:
    text = core("server", address)
    done = subprocess.run(
        [sys.executable, "-m", "repro_env", "capture"], cwd=tmp_path, capture_output=True, timeout=60, check=False,
        env={**os.environ, "REPRO_ENV_SERVER": address.format(text), "REPRO_ENV_SPOOL": str(tmp_path / "spool")})
    assert done.returncode == 0
    assert done.stderr
    kept = b"".join(path.read_bytes() for path in (tmp_path / "spool").glob("*.json"))
    assert text.encode() not in (done.stdout + done.stderr + kept).lower()


def test_a_token_leaves_in_its_header_alone(tmp_path: Path, service: tuple[str, Path]) -> None:
    server, folder = service
    text = core("token")
    with Wire(server) as wire:
        done = subprocess.run(
            [sys.executable, "-m", "repro_env", "capture", "--json"], cwd=tmp_path, capture_output=True, timeout=60,
            check=False, env={**os.environ, "REPRO_ENV_SERVER": wire.address, "REPRO_ENV_TOKEN": text,
                              "REPRO_ENV_SPOOL": str(tmp_path / "spool"), "REPRO_ENV_TIMEOUT_S": "20"})
    sent = b"".join(wire.seen)
    assert f"Bearer {text}".encode() in sent
    assert sent.count(text.encode()) == 1
    elsewhere = [done.stdout, done.stderr, *(path.read_bytes() for path in folder.rglob("*") if path.is_file())]
    assert text.encode() not in b"".join(elsewhere)

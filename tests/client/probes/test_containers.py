"""What can be known of a container from inside, as each runtime leaves it (``../containers/*.json``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.validate import validate
from repro_env.probes import evidence
from repro_env.probes.evidence import TRUST, plain_reference

FOLDER = Path(__file__).parents[1] / "containers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
DIGEST = "sha256:" + "d4" * 32


def recorded(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


class Inside(RecordedSystem):
    """A machine as it looks inside a recorded container; ``None`` stands for a file that may not be read."""

    def __init__(self, name: str, **environ: str) -> None:
        told = recorded(name)
        super().__init__("arm-node", **told["environ"], **environ)
        self.texts: dict[str, str | None] = told["files"]

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        if path not in self.texts:
            if path.startswith(("/proc/1/", "/proc/self/", "/run/", "/etc/rc", "/etc/repro-env")):
                raise FileNotFoundError(2, "not recorded", path)
            return super().read_bytes(path, limit)
        text = self.texts[path]
        if text is None:
            raise PermissionError(13, "refused", path)
        return text.encode()[:limit]

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.texts) or super().exists(path)


def errors_on(document: dict[str, Any], *starts: str) -> list[str]:
    return [error["path"] for error in document["capture"]["errors"] if error["path"].startswith(starts)]


@pytest.mark.parametrize("name", NAMES)
class TestRecorded:
    """Every recorded container."""

    def test_engine_and_identities(self, name: str) -> None:
        assert capture(Inside(name))["stack"]["container"] == recorded(name)["container"]

    def test_every_piece_of_evidence_is_kept_with_source_and_trust(self, name: str) -> None:
        document = capture(Inside(name))
        assert validate(document) == document
        assert document["capture"]["image_evidence"] == recorded(name)["evidence"]
        assert {piece["trust"] for piece in document["capture"]["image_evidence"]} <= set(TRUST)

    def test_the_id_is_the_container_s_own(self, name: str) -> None:
        assert capture(Inside(name))["capture"]["container_id"] == recorded(name)["container_id"]

    def test_what_could_not_be_told_is_said_in_words_without_values(self, name: str) -> None:
        document, told = capture(Inside(name)), recorded(name)
        assert errors_on(document, "container", "capture.") == told["errors"]
        values = [piece["value"] for piece in told["evidence"]]
        assert not [error for error in document["capture"]["errors"] for value in values if value in error["message"]]

    def test_nothing_that_differs_between_hosts_stands_in_the_stack(self, name: str) -> None:
        told = recorded(name)
        text = json.dumps(capture(Inside(name))["stack"])
        own = [told["container_id"]] if isinstance(told["container_id"], str) else []
        local = [*own, "a1a1a1", "b2b2b2", "e7e7e7", "/home/researcher/images", "/images/train", "overlay2"]
        assert not [word for word in local if f'"{word}"' in text or (word not in own and word in text)]

    def test_each_fact_has_its_source(self, name: str) -> None:
        record = capture(Inside(name))["capture"]
        for fact in ("image_reference", "image_digest"):
            if isinstance(recorded(name)["container"][fact], str):
                assert record["sources"][f"container.{fact}"] in {"variable", "files"}


def test_there_is_a_recording_of_every_engine() -> None:
    engines = {recorded(name)["container"]["engine"] for name in NAMES if isinstance(
        recorded(name)["container"]["engine"], str)}
    assert engines == {"docker", "podman", "containerd", "apptainer", "enroot", "kubernetes", "charliecloud",
                       "shifter"}


@pytest.mark.parametrize(("text", "reference"), [
    ("docker://nvcr.io#nvidia/pytorch:24.05-py3", "nvcr.io/nvidia/pytorch:24.05-py3"),
    ("docker://user@nvcr.io#nvidia/pytorch", "nvcr.io/nvidia/pytorch"),
    ("docker://user@alpine:3.19", "alpine:3.19"),
    (f"alpine@{DIGEST}", f"alpine@{DIGEST}"),
    ("localhost:5000/train:7", "localhost:5000/train:7"),
    ("docker:nersc/pytorch:24.06.02", "nersc/pytorch:24.06.02"),
    ("/images/train.sif", ""), ("./train.sif", ""), ("~/train.sif", ""), ("https://example.org/train", ""),
    ("two words", ""), ("", "")])
def test_a_reference_is_spelled_as_registries_do(text: str, reference: str) -> None:
    assert plain_reference(text) == reference


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "null", "1" * 5000, '{"image_key": 7, "definition": ["x"]}',
                                  '{"image_key": "sha256:short", "definition": ""}', "\x00\xff"])
def test_a_file_of_an_image_that_is_not_what_it_should_be_tells_nothing(text: str) -> None:
    system = Inside("docker-cgroup-v2")
    system.texts[evidence.BAKED_FILE] = text
    document = capture(system)
    assert document["capture"]["image_evidence"] == []
    assert document["stack"]["container"]["engine"] == "docker"
    assert document["stack"]["container"]["image_key"] == {"unread": "not-reported"}


def test_a_file_of_an_image_that_is_nested_beyond_reason_costs_the_section_alone() -> None:
    system = Inside("docker-cgroup-v2")
    system.texts[evidence.BAKED_FILE] = "[" * 60000
    document = capture(system)
    assert validate(document)
    assert document["stack"]["container"]["image_key"]["unread"] == "failed"


def test_a_very_long_value_is_no_evidence() -> None:
    assert capture(Inside("docker-cgroup-v2", REPRO_ENV_IMAGE="x" * 600))["capture"]["image_evidence"] == []


def test_ranks_in_containers_of_their_own_have_one_stack() -> None:
    stacks = set()
    for word in ("a1", "f6"):
        system = Inside("docker-cgroup-v1")
        system.texts = {path: text and text.replace("a1", word) for path, text in system.texts.items()}
        stacks.add(capture(system, vantage="process")["digests"]["stack"])
    assert len(stacks) == 1


def test_a_node_prolog_looks_into_no_container() -> None:
    system = Inside("docker-launcher-claims", SLURM_JOB_ID="7", SLURM_SCRIPT_CONTEXT="prolog_slurmd")
    document = capture(system)
    assert set(map(str, document["stack"]["container"].values())) == {str({"unread": "other-subject"})}
    assert document["capture"]["image_evidence"] == {"unread": "other-subject"}


def namespaces_work() -> bool:
    """Tell whether this machine lets us mount inside a name space of our own."""
    try:
        done = subprocess.run(["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/run"],
                              check=False, capture_output=True, timeout=20)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not namespaces_work(), reason="this machine allows no mounts in a name space of one's own")
class TestReal:
    """A root file system that is really changed under the command, in a name space of its own."""

    @staticmethod
    def inside(folder: Path, script: str, **environ: str) -> dict[str, Any]:
        command = f"{script}; exec {sys.executable} -m repro_env capture --json --no-send"
        done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-ec", command], cwd=folder, timeout=60,
                              check=False, capture_output=True, env={**os.environ, **environ})
        assert done.returncode == 0, done.stderr.decode()
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def test_the_file_of_a_privileged_podman(self, tmp_path: Path) -> None:
        told = recorded("podman-privileged")
        (tmp_path / "env").write_text(told["files"]["/run/.containerenv"])
        document = self.inside(tmp_path, "mount -t tmpfs none /run; cp env /run/.containerenv")
        assert document["stack"]["container"]["engine"] == "podman"
        assert document["stack"]["container"]["image_reference"] == "docker.io/library/alpine:3.19"
        assert {piece["trust"] for piece in document["capture"]["image_evidence"]} == {"observed"}

    def test_the_file_of_an_image_of_this_project(self, tmp_path: Path) -> None:
        key = "sha256:" + "c3" * 32
        (tmp_path / "upper" / "repro-env").mkdir(parents=True)
        (tmp_path / "upper" / "repro-env" / "image.json").write_text(json.dumps({"image_key": key}))
        document = self.inside(tmp_path, "mount -t tmpfs none /run; : > /run/.containerenv; "
                                         "mount --bind upper /etc")
        assert document["stack"]["container"]["image_key"] == key

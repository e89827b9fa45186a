"""The whole document: complete and valid whatever the machine answers, equal where the machine is, free of secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import HOSTS, RecordedSystem

from repro_env import capture as capture_module
from repro_env.capture import capture, overlay, printable, rfc3339
from repro_env.errors import ProbeFailed
from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import part_digests, validate
from repro_env.probes import PROBES
from repro_env.probes.keys import SECTIONS, blank
from repro_env.system import System

NAMES = sorted(path.name for path in HOSTS.iterdir() if path.is_dir())
SLURM = {"SLURM_JOB_ID": "123456", "SLURM_CLUSTER_NAME": "alpha", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8",
         "SLURM_SUBMIT_DIR": "/home/researcher"}
HEAVY = ("dataclasses", "typing", "pathlib", "inspect", "importlib.metadata", "logging", "subprocess", "platform",
         "uuid", "http.client", "urllib.request", "ssl", "hashlib", "ctypes", "numpy", "torch")


def section(document: dict[str, Any], path: str) -> dict[str, Any]:
    part, _, name = path.rpartition(".")
    return document[part or "stack"][name]  # type: ignore[no-any-return]  # a section of the document


@pytest.mark.parametrize("vantage", ["prologue", "process", "exit", "image"])
@pytest.mark.parametrize("host", NAMES)
def test_every_host_gives_a_valid_document_at_every_vantage(host: str, vantage: str) -> None:
    document = capture(RecordedSystem(host), vantage=vantage)
    assert validate(document) == document
    assert document["digests"] == part_digests(document)
    json.dumps(document)


@pytest.mark.parametrize("host", NAMES)
def test_every_section_has_a_source_or_nothing_read(host: str) -> None:
    document = capture(RecordedSystem(host))
    sources = document["capture"]["sources"]
    for path in SECTIONS:
        for key, fact in section(document, path).items():
            if not is_unread(fact) and path not in ("libraries", "program.declared"):
                assert path in sources or f"{path}.{key}" in sources, f"{path}.{key} = {fact!r} has no source"


@pytest.mark.parametrize("host", NAMES)
def test_two_captures_of_one_host_have_one_stack(host: str) -> None:
    assert capture(RecordedSystem(host))["digests"]["stack"] == capture(RecordedSystem(host))["digests"]["stack"]


def test_two_captures_of_this_machine_have_one_stack() -> None:
    documents = [capture(System()) for _ in range(2)]
    for document in documents:
        validate(document)
    assert documents[0]["digests"]["stack"] == documents[1]["digests"]["stack"]
    assert documents[0]["capture"]["observation_id"] != documents[1]["capture"]["observation_id"]


def test_eight_ranks_have_one_stack_and_eight_observations_of_one_run() -> None:
    documents = []
    for rank in range(8):
        system = RecordedSystem("h100-node", **SLURM, SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank),
                                CUDA_VISIBLE_DEVICES=str(rank % 2), GOMP_CPU_AFFINITY=f"{rank * 8}-{rank * 8 + 7}",
                                TORCHINDUCTOR_CACHE_DIR=f"/tmp/{rank}", OMP_PLACES=f"{{{rank * 8}:8}}")
        system.host.update(pid=1000 + rank, affinity=list(range(rank * 8, rank * 8 + 8)))
        documents.append(capture(system, vantage="process"))
    assert len({document["digests"]["stack"] for document in documents}) == 1
    assert len({document["digests"]["program"] for document in documents}) == 1
    assert len({document["capture"]["run_id"] for document in documents}) == 1
    assert len({document["capture"]["observation_id"] for document in documents}) == 8
    assert [document["capture"]["process"]["rank"] for document in documents] == list(range(8))


def test_the_same_circumstances_at_the_same_time_give_the_same_ids() -> None:
    first, second = (capture(RecordedSystem("h100-node", **SLURM))["capture"] for _ in range(2))
    assert first["run_id_source"] == "scheduler"
    assert (first["run_id"], first["observation_id"]) == (second["run_id"], second["observation_id"])


def test_another_look_has_another_id() -> None:
    ids = {capture(RecordedSystem("h100-node", **SLURM), sequence=sequence, vantage=vantage)["capture"][
        "observation_id"] for sequence in (0, 1) for vantage in ("prologue", "process", "exit")}
    assert len(ids) == 6


def test_two_processes_without_ranks_do_not_share_an_observation() -> None:
    ids = set()
    for pid in (1, 2):
        system = RecordedSystem("cpu-container", REPRO_ENV_RUN_ID="r")
        system.host["pid"] = pid
        ids.add(capture(system, vantage="process")["capture"]["observation_id"])
    assert len(ids) == 2


def test_a_seed_sweep_has_one_stack() -> None:
    stacks = {capture(RecordedSystem("cpu-container", PYTHONHASHSEED=seed))["digests"]["stack"] for seed in "0123"}
    programs = {capture(RecordedSystem("cpu-container", PYTHONHASHSEED=seed))["digests"]["program"] for seed in "0123"}
    assert (len(stacks), len(programs)) == (1, 4)


@pytest.mark.parametrize(("error", "code"), [
    (ProbeFailed("timeout", "it took too long"), "timeout"), (PermissionError(13, "secret path"), "denied"),
    (ValueError("secret value"), "failed"), (RecursionError(), "failed"), (OSError(5, "secret path"), "failed"),
    (UnicodeDecodeError("utf-8", b"secret", 0, 1, "x"), "failed"), (MemoryError(), "failed")],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__)
@pytest.mark.parametrize("path", [path for path, _ in PROBES])
def test_a_probe_that_fails_leaves_its_section_unread_and_every_other_as_it_was(
        monkeypatch: pytest.MonkeyPatch, path: str, error: Exception, code: str) -> None:
    healthy = capture(RecordedSystem("cpu-container"))

    def broken(system: System, look: object) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(capture_module, "PROBES", tuple(
        (name, broken if name == path else probe) for name, probe in PROBES))
    document = capture(RecordedSystem("cpu-container"))
    validate(document)
    assert section(document, path) == blank(path, code)
    assert [entry["path"] for entry in document["capture"]["errors"]] == [path]
    assert "secret" not in json.dumps(document)
    for other in SECTIONS:
        if other != path:
            assert section(document, other) == section(healthy, other)


def test_when_everything_fails_the_document_is_still_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(system: System, look: object) -> dict[str, Any]:
        raise RuntimeError

    monkeypatch.setattr(capture_module, "PROBES", tuple((name, broken) for name, _ in PROBES))
    assert len(validate(capture(RecordedSystem("h100-node")))["capture"]["errors"]) == len(PROBES)


def test_a_spent_budget_leaves_the_rest_unread_timeout() -> None:
    document = capture(RecordedSystem("h100-node"), budget_s=0.0)
    validate(document)
    assert document["stack"]["cpu"]["model"] == {"unread": "timeout"}
    assert {error["code"] for error in document["capture"]["errors"]} == {"timeout"}


def test_slow_tools_are_cut_to_what_is_left_of_the_budget() -> None:
    system = RecordedSystem("h100-node")
    system.commands = {command: {"error": "timeout"} for command in system.commands}
    start = system.clock
    capture(system, budget_s=0.3)
    assert system.clock - start < 0.5


def test_the_prolog_on_the_host_sees_the_node_and_nothing_of_the_job_s_environment() -> None:
    system = RecordedSystem("h100-node", SLURM_JOB_ID="123456", SLURM_SCRIPT_CONTEXT="prolog_slurmd",
                            SLURM_CLUSTER_NAME="alpha")
    document = capture(system)
    validate(document)
    assert document["capture"]["subject"] == "node"
    assert document["capture"]["run_id"] is None
    assert document["stack"]["accelerators"]["devices"][0]["name"] == "NVIDIA H100 80GB HBM3"
    assert document["stack"]["driver"]["kernel_module"] == "550.54.15"
    assert document["stack"]["cpu"]["model"] == "Intel(R) Xeon(R) Platinum 8480+"
    for path in ("python", "distributions", "frameworks", "libraries", "variables", "container", "program.source"):
        assert set(map(json.dumps, section(document, path).values())) == {'{"unread": "other-subject"}'}
    assert document["stack"]["system"]["libc"] == document["stack"]["system"]["encoding"] == {"unread": "other-subject"}
    assert document["stack"]["system"]["kernel"] == "5.15.0-105-generic"


def test_the_subject_may_be_named() -> None:
    assert capture(RecordedSystem("h100-node"), subject="node")["capture"]["subject"] == "node"
    assert capture(RecordedSystem("h100-node"), vantage="process")["capture"]["subject"] == "process"


def test_settings_of_the_user_stand_in_capture_and_nowhere_else() -> None:
    plain = capture(RecordedSystem("arm-node"))
    named = capture(RecordedSystem("arm-node"), project="vision", group="table-2", labels={"owner": "team-a"},
                    run_id="r-1", moment="start")
    assert named["digests"] == plain["digests"]
    assert named["capture"]["labels"] == {"owner": "team-a"}
    assert (named["capture"]["run_id"], named["capture"]["run_id_source"]) == ("r-1", "given")


def test_secrets_in_the_environment_do_not_reach_the_document() -> None:
    secrets = {
        "HF_TOKEN": "hf_planted0000000000000000000000000", "NCCL_ALGO": "sk-planted4-000000000000",
        "XLA_FLAGS": "--key hf_planted1111111111111111111111", "PYTHONHASHSEED": "planted5",
        "LD_PRELOAD": "https://user:planted2@host.example/x", "CUBLAS_WORKSPACE_CONFIG": "ghp_planted3" + "0" * 30,
        "APPTAINER_CONTAINER": "docker://user:planted6@registry.example/image", "REPRO_ENV_IMAGE_DIGEST": "planted7"}
    system = RecordedSystem("cpu-container", **secrets)
    system.host["argv"] = ["train.py", "--api-key", "planted8"]
    for vantage in ("prologue", "process"):
        text = json.dumps(capture(system, vantage=vantage))
        assert "planted" not in text
    assert capture(system)["stack"]["variables"]["values"]["XLA_FLAGS"] == {"unread": "denied"}


def test_a_claimed_image_digest_is_said_to_be_claimed() -> None:
    digest = "sha256:" + "ab" * 32
    container = capture(RecordedSystem("cpu-container", REPRO_ENV_IMAGE_DIGEST=digest))["stack"]["container"]
    assert (container["image_digest"], container["learned"]) == (digest, "claimed")


class TestOverrides:
    """What an observer inside the process read better."""

    def test_read_facts_replace_and_unread_ones_do_not(self) -> None:
        document = capture(RecordedSystem("cpu-container"), vantage="process", overrides={
            "frameworks": {"torch": {"imported": True, "version": {"unread": "failed"}}, "backend": "cpu"},
            "program.random": {"seeds": {"torch": 42}}, "sources": {"frameworks.torch": "torch"},
            "errors": [{"path": "threads", "code": "failed", "message": "in words"}], "durations_us": {"torch": 7},
            "capture": {"results": {"w": "sha256:" + "0" * 64}, "process": {"rank": 0}}})
        validate(document)
        torch = document["stack"]["frameworks"]["torch"]
        assert (torch["imported"], torch["version"]) == (True, "2.13.0+cpu")
        assert document["program"]["random"]["seeds"] == {"torch": 42}
        assert document["capture"]["sources"]["frameworks.torch"] == "torch"
        assert document["capture"]["durations_us"]["torch"] == 7
        assert document["capture"]["errors"][-1]["message"] == "in words"
        assert document["capture"]["process"]["node"] == "c0ffee"

    def test_a_library_described_in_part_is_completed(self) -> None:
        document = capture(RecordedSystem("cpu-container"), vantage="process", overrides={
            "libraries": {"nccl": {"loaded": "2.20.5"}}})
        validate(document)
        assert document["stack"]["libraries"]["nccl"]["installed"] == {"unread": "not-reported"}

    def test_an_absence_read_in_the_process_replaces(self) -> None:
        assert overlay({"a": {"unread": "too-early"}, "b": 1}, {"a": None}) == {"a": None, "b": 1}

    def test_a_better_reason_replaces_a_reason(self) -> None:
        assert overlay({"unread": "too-early"}, {"unread": "failed"}) == {"unread": "failed"}


@pytest.mark.parametrize("name", ["caf\udce9", "nul\x00", "\ud800"])
def test_text_without_a_canonical_form_is_spelled_out(name: str) -> None:
    document = capture(RecordedSystem("cpu-container", OMP_PLACES=name, USER=name))
    validate(document)
    assert "\\" in document["stack"]["variables"]["values"]["OMP_PLACES"]


def test_printable_keeps_what_is_storable() -> None:
    assert printable({"ä": ["ö", 1, None, True]}) == {"\\xe4": ["ö", 1, None, True]}


def test_times_are_rfc_3339_in_utc() -> None:
    assert rfc3339(1_800_000_000.25) == "2027-01-15T08:00:00.250Z"


def test_the_capture_path_imports_nothing_dear(tmp_path: Path) -> None:
    code = ("import sys; before = set(sys.modules)\n"
            "from repro_env.system import System\nfrom repro_env.capture import capture\ncapture(System())\n"
            f"print(sorted((set(sys.modules) - before) & set({HEAVY!r})))")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path,
                          env=environ)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_a_capture_changes_nothing_in_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state: Callable[[], tuple[Any, ...]] = lambda: (
        dict(os.environ), os.getcwd(), list(sys.path), list(sys.argv), sorted(os.listdir(tmp_path)),
        len(os.listdir("/proc/self/fd")))
    before = state()
    capture(System())
    assert state() == before

"""What schedulers and launchers start, as their documentation says that processes see it (``jobs/*.json``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env import ids, jobs
from repro_env.capture import capture
from repro_env.fingerprint.validate import validate
from repro_env.jobs import JOB
from repro_env.memory import Memory

FOLDER = Path(__file__).parent / "jobs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
SILENT = {"unread": "not-reported"}


def recorded(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def reader(files: dict[str, str]) -> Any:
    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(2, "not recorded", path)
        return files[path]
    return read


def run_of(name: str, **changes: str) -> str | None:
    return ids.run_identity({**recorded(name)["environ"], **changes}, 0.0)[0]


class Place(RecordedSystem):
    """A recorded environment on a recorded machine."""

    def __init__(self, name: str, host: str = "cpu-container", **changes: str) -> None:
        super().__init__(host)
        told = recorded(name)
        self.variables = {**told["environ"], **changes}
        self.host.update(root=told["root"])
        self.texts: dict[str, str] = told["files"]

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        return self.texts[path].encode()[:limit] if path in self.texts else super().read_bytes(path, limit)


@pytest.mark.parametrize("name", NAMES)
class TestRecorded:
    """Every recorded environment."""

    def test_the_job_is_what_the_scheduler_says(self, name: str) -> None:
        told = recorded(name)
        facts = jobs.job(told["environ"], reader(told["files"]))
        assert facts == told["job"]
        assert tuple(facts) == JOB

    def test_rank_and_start(self, name: str) -> None:
        told = recorded(name)
        facts = jobs.job(told["environ"], reader(told["files"]))
        assert list(ids.ranks(told["environ"])) == told["ranks"]
        assert jobs.segment(facts, told["environ"]) == told["segment"]

    def test_the_run_does_not_depend_on_files(self, name: str) -> None:
        environ = recorded(name)["environ"]
        ours = {**environ, **{key: "/nowhere" for key in environ if key.endswith("FILE")}}
        if ids.run_identity(environ, 0.0)[1] == "scheduler":
            assert ids.run_identity(environ, 0.0) == ids.run_identity(ours, 9.0)

    @pytest.mark.parametrize("vantage", ["prologue", "process"])
    def test_the_document_is_valid_and_tells_job_and_start(self, name: str, vantage: str) -> None:
        told = recorded(name)
        document = capture(Place(name), vantage=vantage)
        record = document["capture"]
        assert validate(document) == document
        assert {key: value for key, value in record["job"].items() if key != "container"} == {
            key: value for key, value in told["job"].items() if key != "container"}
        assert (record["segment"], record["process"]["rank"]) == (told["segment"], told["ranks"][0])
        assert ("capture.job" in record["sources"]) is (told["job"]["scheduler"] is not None)

    def test_nothing_of_the_job_stands_in_the_stack(self, name: str) -> None:
        if name.startswith("kubernetes"):
            return  # whose service is how its containers are known
        workstation = capture(Place("workstation"), vantage="process")["stack"]
        stack = capture(Place(name), vantage="process")["stack"]
        told = {section for section in stack if stack[section] != workstation[section]}
        assert told <= {"variables"}, "OMP_NUM_THREADS, which torchrun sets, is a setting and no part of a job"


def test_two_tasks_of_a_step_are_two_ranks_of_one_run() -> None:
    documents = [capture(Place(f"slurm-step-task-{task}"), vantage="process")["capture"] for task in (0, 1)]
    assert documents[0]["run_id"] == documents[1]["run_id"]
    assert documents[0]["run_id_source"] == "scheduler"
    assert [document["process"]["rank"] for document in documents] == [0, 1]
    assert documents[0]["observation_id"] != documents[1]["observation_id"]


def test_a_task_prolog_belongs_to_the_run_of_its_task() -> None:
    assert run_of("slurm-task-prolog") == run_of("slurm-step-task-1")


def test_a_requeued_job_another_step_and_another_element_are_other_runs() -> None:
    runs = [run_of("slurm-batch"), run_of("slurm-requeued"), run_of("slurm-array"), run_of("slurm-step-task-0"),
            run_of("slurm-step-task-0", SLURM_STEP_ID="1"), run_of("slurm-step-task-0", SLURM_CLUSTER_NAME="beta")]
    assert len(set(runs)) == len(runs)


def test_an_mpirun_in_a_batch_script_is_one_run_on_all_its_nodes() -> None:
    assert run_of("slurm-mpirun-first-node") == run_of("slurm-mpirun-second-node")
    assert run_of("slurm-mpirun-first-node") != run_of("slurm-batch")
    other = {"OMPI_MCA_orte_precondition_transports": "ffff-0000"}
    assert run_of("slurm-mpirun-first-node", **other) != run_of("slurm-mpirun-first-node")


def test_two_applications_in_one_job_are_two_runs() -> None:
    assert run_of("pbs-pals") == run_of("pbs-pals", PALS_RANKID="0", PMI_RANK="0")
    assert run_of("pbs-pals") != run_of("pbs-pals", PALS_APID="11111111-2222-4333-8444-555555555555")


@pytest.mark.parametrize("name", ["mpirun-openmpi-5", "mpirun-mpich"])
def test_a_launcher_that_tells_nothing_of_its_own_joins_no_ranks(name: str) -> None:
    """A process id and a host name are given again: ranks would join those of another day."""
    assert ids.run_identity(recorded(name)["environ"], 0.0)[1] == "made"


def test_a_launcher_s_key_never_stands_in_a_document() -> None:
    told = recorded("slurm-mpirun-first-node")
    key = told["environ"]["OMPI_MCA_orte_precondition_transports"]
    assert key
    assert key not in json.dumps(capture(Place("slurm-mpirun-first-node"), vantage="process"))


def test_a_kubernetes_job_is_a_run_only_where_its_uid_is_told() -> None:
    named = recorded("kubernetes-indexed-job")["environ"]
    assert ids.run_identity(named, 0.0)[1] == "scheduler"
    assert ids.run_identity({key: value for key, value in named.items() if key != "JOB_UID"}, 0.0)[1] == "made"


def test_agents_on_several_nodes_have_no_common_restart_count() -> None:
    several = recorded("slurm-torchrun")
    alone = {**several["environ"], "GROUP_WORLD_SIZE": "1"}
    assert several["environ"]["TORCHELASTIC_RESTART_COUNT"] == "1"
    assert jobs.segment(jobs.job(alone), alone) == several["segment"] + ".e1"


@pytest.mark.parametrize(("problem", "code"), [(PermissionError(13, "x"), "denied"), (OSError(5, "x"), "failed"),
                                               (FileNotFoundError(2, "x"), "failed")])
def test_a_list_of_nodes_that_cannot_be_read_says_so(problem: OSError, code: str) -> None:
    def refuse(path: str) -> str:
        raise problem

    facts = jobs.job(recorded("pbs")["environ"], refuse)
    assert facts["node_count"] == facts["node_list"] == {"unread": code}


def test_a_name_space_that_may_not_be_read_says_so() -> None:
    def refuse(path: str) -> str:
        raise PermissionError(13, "x")

    assert jobs.job(recorded("kubernetes-bare")["environ"], refuse)["namespace"] == {"unread": "denied"}


def test_a_long_list_of_nodes_is_counted_and_not_told() -> None:
    names = "".join(f"node-{number}\n" for number in range(2000))
    facts = jobs.job(recorded("pbs")["environ"], lambda path: names)
    assert (facts["node_count"], facts["node_list"]) == (2000, SILENT)


def test_pyxis_is_known_by_the_folder_of_its_container() -> None:
    system = Place("slurm-step-task-0")
    system.texts = {"/etc/rc": 'if [ -s /etc/rc.local ]; then\n . /etc/rc.local\nfi\nexec "$@"\n',
                    "/proc/self/mountinfo": "7 6 0:5 /enroot/1000/pyxis_123456.0 / rw - ext4 /dev/md0 rw\n"}
    record = capture(system, vantage="process")["capture"]
    assert (record["job"]["container"], record["container_id"]) == ("pyxis", "pyxis_123456.0")
    assert record["sources"]["capture.job.container"] == "files"


def test_a_second_look_at_a_process_says_the_same_of_its_container() -> None:
    memory = Memory()
    first, second = (capture(Place("slurm-step-task-0", "h100-node", REPRO_ENV_IMAGE="alpine:3.19"), vantage="process",
                             memory=memory)["capture"] for _ in range(2))
    assert first["image_evidence"] == second["image_evidence"] != []
    assert (first["container_id"], first["job"]) == (second["container_id"], second["job"])
    assert second["job"]["container"] is None


def test_outside_a_container_no_plugin_has_put_the_task_into_one() -> None:
    assert capture(Place("slurm-step-task-0", "h100-node"), vantage="process")["capture"]["job"]["container"] is None


def test_a_second_capture_in_one_place_is_another_observation() -> None:
    first, later, other = Place("slurm-step-task-0"), Place("slurm-step-task-0"), Place("slurm-step-task-0")
    later.now = lambda: 1_800_000_001.5  # type: ignore[method-assign]  # a second later
    other.host["pid"] = 99
    told = [capture(system)["capture"] for system in (first, later, other)]
    assert len({record["run_id"] for record in told}) == 1
    assert len({record["observation_id"] for record in told}) == 3


def test_a_second_start_under_a_given_run_id_is_another_observation_in_another_segment() -> None:
    told = [capture(Place("slurm-step-task-0", REPRO_ENV_RUN_ID="r", SLURM_RESTART_COUNT=count),
                    vantage="process")["capture"] for count in ("0", "1")]
    assert {record["run_id"] for record in told} == {"r"}
    assert [record["segment"] for record in told] == ["123456.r0.s0", "123456.r1.s0"]
    assert told[0]["observation_id"] != told[1]["observation_id"]


class TestPrologs:
    """The command itself, in exactly the environment that Slurm gives to its prologs."""

    @staticmethod
    def run(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        environ = {**recorded(name)["environ"], "REPRO_ENV_SPOOL": str(folder / "spool")}
        if name != "slurm-prolog":
            environ["HOME"] = str(folder)
        return subprocess.run([sys.executable, "-m", "repro_env", "capture", *arguments], cwd=folder, env=environ,
                              timeout=60, check=False, capture_output=True)

    @staticmethod
    def document(folder: Path) -> dict[str, Any]:
        (path,) = (folder / "spool").glob("*.json")
        return validate(json.loads(path.read_bytes()))  # type: ignore[no-any-return]  # a document

    def test_prolog(self, tmp_path: Path) -> None:
        assert "PATH" not in recorded("slurm-prolog")["environ"]
        done = self.run("slurm-prolog", tmp_path)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
        record = self.document(tmp_path)["capture"]
        assert (record["subject"], record["run_id"], record["job"]["job_id"]) == ("node", None, "123456")
        assert (record["segment"], record["job"]["restart"]) == ("123456", SILENT)
        assert record["image_evidence"] == record["container_id"] == {"unread": "other-subject"}

    @pytest.mark.parametrize("arguments", [(), ("--json",), ("--json", "--strict")], ids=["plain", "json", "strict"])
    @pytest.mark.parametrize("name", ["slurm-prolog", "slurm-task-prolog"])
    def test_slurm_never_gets_a_line_to_interpret(self, tmp_path: Path, name: str, arguments: tuple[str, ...]) -> None:
        done = self.run(name, tmp_path, *arguments)
        assert done.stdout == b""
        assert done.returncode == (1 if "--strict" in arguments else 0), done.stderr.decode()
        assert (b"not printed" in done.stderr) is ("--json" in arguments)
        assert len(list((tmp_path / "spool").glob("*.json"))) == 1

    def test_task_prolog_looks_at_the_environment_of_the_task(self, tmp_path: Path) -> None:
        self.run("slurm-task-prolog", tmp_path)
        record = self.document(tmp_path)["capture"]
        assert (record["subject"], record["process"]["rank"], record["run_id"]) == (
            "environment", 1, run_of("slurm-task-prolog"))

    def test_two_captures_in_one_task_are_two_documents(self, tmp_path: Path) -> None:
        for _ in range(2):
            self.run("slurm-step-task-0", tmp_path)
        documents = [json.loads(path.read_bytes())["capture"] for path in (tmp_path / "spool").glob("*.json")]
        assert len({record["observation_id"] for record in documents}) == 2
        assert len({record["run_id"] for record in documents}) == 1


def test_the_recorded_environments_hold_no_name_of_this_machine() -> None:
    here = {os.uname().nodename, os.environ.get("USER", "")} - {"", "root", "localhost"}
    assert not [name for name in NAMES for word in here if word in json.dumps(recorded(name))]

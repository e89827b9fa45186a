"""Names of people and machines stand in ``capture`` alone, and there as pseudonyms where that is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import RecordedSystem

from repro_env import names
from repro_env.capture import capture
from repro_env.fingerprint.validate import validate

PATHS = {
    "/home/alice/x/lib": "~/x/lib", "/home/alice": "~", "/opt/x:/home/alice/lib:/usr/lib": "/opt/x:~/lib:/usr/lib",
    "file:///home/alice/project": "file://~/project", "/Users/alice/Library": "~/Library",
    "C:\\Users\\alice\\venv": "C:~\\venv", "/mnt/home/alice/x": "/mnt/home/~/x",
    "--dump_to=/home/alice/d": "--dump_to=~/d",
    "/home/": "/home/", "/homework/alice": "/homework/alice", "/opt/conda/lib": "/opt/conda/lib", "8": "8",
    "https://example.org/home/page": "https://example.org/home/~",
}


@pytest.mark.parametrize(("text", "cleared"), PATHS.items())
def test_a_home_folder_becomes_a_tilde(text: str, cleared: str) -> None:
    assert names.without_names(text) == cleared


def test_a_home_in_an_unusual_place_is_known_from_the_environment() -> None:
    assert names.without_names("/nfs/staff/a17:/nfs/staff/a170/lib:/nfs/staff/a17/lib", "/nfs/staff/a17") == (
        "~:/nfs/staff/a170/lib:~/lib")


def test_folders_named_after_the_user_are_cleared_wherever_they_lie() -> None:
    assert names.without_names("/scratch/alice/run:/scratch/alice2", "", "alice") == "/scratch/~/run:/scratch/alice2"


@pytest.mark.parametrize("user", ["root", "", "lib"])
def test_a_name_that_is_nobodys_clears_nothing(user: str) -> None:
    assert names.without_names("/usr/lib/root/x", "", user) == "/usr/lib/root/x"


@given(st.text(), st.text(max_size=12), st.text(max_size=8))
def test_clearing_any_text_ends_and_is_done_at_once(text: str, home: str, user: str) -> None:
    once = names.without_names(text)
    assert names.without_names(once) == once or "~" in once
    names.without_names(text, home, user)


def test_two_users_with_the_same_settings_have_one_stack() -> None:
    digests = set()
    for user in ("alice", "bob"):
        system = RecordedSystem("cpu-container", HOME=f"/home/{user}", USER=user,
                                LD_LIBRARY_PATH=f"/home/{user}/lib:/scratch/{user}/lib")
        document = validate(capture(system, python="/home/researcher/venv/bin/python"))
        assert document["stack"]["variables"]["values"]["LD_LIBRARY_PATH"] == "~/lib:/scratch/~/lib"
        assert document["capture"]["process"]["user"] == user
        assert user not in json.dumps([document["stack"], document["program"]])
        digests.add(document["digests"]["stack"])
    assert len(digests) == 1


SLURM = {"USER": "alice", "SLURM_JOB_ID": "7", "SLURM_CLUSTER_NAME": "c", "SLURM_JOB_NODELIST": "node-[1-2]",
         "SLURM_JOB_NUM_NODES": "2"}


class TestMasking:
    def look(self, *kinds: str, key: str = "", **more: str) -> dict[str, Any]:
        system = RecordedSystem("cpu-container", **{**SLURM, **more})
        return validate(capture(system, run_id=more.get("RUN", "run-a"), mask=names.Mask(kinds, key)))

    def test_without_it_names_stand_in_capture(self) -> None:
        process = self.look()["capture"]["process"]
        assert process["user"] == "alice"
        assert not process["node"].startswith("masked-")

    def test_user_and_host_become_pseudonyms_everywhere(self) -> None:
        plain, masked = self.look(), self.look("user", "host")
        text = json.dumps(masked)
        assert "alice" not in text
        assert plain["capture"]["process"]["node"] not in text
        assert "node-[1-2]" not in text
        assert masked["digests"] == plain["digests"]

    def test_one_node_keeps_one_pseudonym_within_a_run(self) -> None:
        first, second = (self.look("host")["capture"] for _ in range(2))
        assert first["process"]["node"] == second["process"]["node"]
        assert self.look("host", RUN="run-b")["capture"]["process"]["node"] != first["process"]["node"]

    def test_a_site_key_keeps_it_over_runs_and_hides_it_from_guessing(self) -> None:
        nodes = {self.look("host", key=key, RUN=run)["capture"]["process"]["node"]
                 for key, run in (("site", "run-a"), ("site", "run-b"))}
        assert len(nodes) == 1
        assert self.look("host", key="other")["capture"]["process"]["node"] not in nodes

    def test_the_command_line_masks_by_a_setting(self, tmp_path: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "repro_env", "capture", "--json", "--no-send"], cwd=tmp_path, capture_output=True,
            check=True, timeout=60, text=True,
            env={**os.environ, "USER": "alice", "REPRO_ENV_MASK": "user,host", "REPRO_ENV_MASK_KEY": "site-secret"})
        process = json.loads(done.stdout)["capture"]["process"]
        assert process["user"].startswith("masked-")
        assert process["node"].startswith("masked-")
        assert "site-secret" not in done.stdout + done.stderr

    def test_a_wrong_setting_is_said_and_both_are_masked(self, tmp_path: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "repro_env", "capture", "--json", "--no-send"], cwd=tmp_path, capture_output=True,
            check=True, timeout=60, text=True, env={**os.environ, "USER": "alice", "REPRO_ENV_MASK": "everything"})
        assert "REPRO_ENV_MASK" in done.stderr
        assert "user, host" in done.stderr
        assert json.loads(done.stdout)["capture"]["process"]["user"].startswith("masked-")

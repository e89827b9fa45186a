"""The demo tells what is there: its story holds, nothing in it is canned, and it leaves nothing running."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

DUMPS = Path(__file__).parents[2] / "service" / "src" / "repro_env_service" / "demo_dumps"
LEFT, RIGHT = sorted(DUMPS.glob("*.txt"))


def tell(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run([sys.executable, "-m", "repro_env_service.demo", "--data", str(data), *arguments],
                          env=environment, capture_output=True, text=True, timeout=110, check=False)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> str:
    done = tell(tmp_path_factory.mktemp("with a space"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def chapter(story: str, number: int) -> str:
    """Return the text of one chapter."""
    parts = re.split(r"^\d\. .*\n─+$", story, flags=re.MULTILINE)
    return parts[number]


def verdicts(text: str) -> list[str]:
    """Return the verdicts shown in a chapter."""
    return re.split(r"^\$ repro-env compare .*$", text, flags=re.MULTILINE)[1:]


def test_two_captures_of_this_machine_are_one_stack(story: str) -> None:
    (verdict,) = verdicts(chapter(story, 1))
    assert "Same stack; whether the program repeats was not observed." in verdict
    assert "to cover: run the program under `repro-env run`" in verdict


def test_one_thread_twice_is_guaranteed_bitwise_and_the_digests_agree(story: str) -> None:
    verdict, _ = verdicts(chapter(story, 2))
    assert "Comparable at level bitwise? Yes, guaranteed." in verdict
    assert "result weights: equal" in verdict


def test_two_threads_are_not_guaranteed_bitwise_and_the_thread_rule_comes_first(story: str) -> None:
    _, verdict = verdicts(chapter(story, 2))
    assert "Comparable at level bitwise? No." in verdict
    first = verdict.partition("1. ")[2].partition("2. ")[0]
    assert "openblas 1 against openblas 2" in first
    assert "rule: blas-threads" in first


def test_two_gpu_dumps_are_compared_over_rest_with_reasons(story: str) -> None:
    text = chapter(story, 3)
    assert '"answer": "no"' in text
    assert "GPU architecture Turing (7.5) against Ada (8.9)" in text


def test_the_example_of_the_readme_is_what_the_demo_prints(story: str) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = readme.partition("```text\n")[2].partition("```")[0]
    told = "\n".join(line.removeprefix("  ") for line in chapter(story, 2).splitlines())
    lines = [line for line in example.splitlines() if line not in {"", "…"}]
    assert lines[0].startswith("$ repro-env compare")
    assert [line for line in lines if line not in told.splitlines()] == []


def test_a_job_is_warned_on_stderr(story: str) -> None:
    text = chapter(story, 4)
    assert "  | repro-env: WARNING against baseline" in text
    assert "  |            remedy: " in text


def test_several_runs_make_classes_and_a_policy_says_what_is_on_purpose(story: str) -> None:
    text = chapter(story, 5)
    assert "  bitwise  one-thread, one-thread-again | two-threads" in text
    assert "  curve    one-thread, one-thread-again, two-threads" in text
    assert "apart by blas-threads: openblas 1 (one-thread, one-thread-again); openblas 2 (two-threads)" in text
    assert "version 1 of the policy of project demo is in force" in text
    assert '"answer": "yes"' in text.partition("under this policy")[2]


def test_story_says_where_the_data_lies_and_how_to_go_on(story: str) -> None:
    assert "with a space" in story.rpartition("Done")[2]
    assert "make serve" in story


def test_other_dumps_on_a_taken_port_give_another_verdict_and_nothing_stays_running(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = tell(tmp_path, "--left", str(RIGHT), "--right", str(RIGHT), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 0, done.stderr
    assert "is taken; a free one is used instead." in done.stdout
    text = chapter(done.stdout, 3)
    assert "GPU architecture" not in text
    assert "No difference that matters was found" in text
    server = re.search(r"service is running on (\S+)", done.stdout)
    assert server is not None
    with pytest.raises(OSError):
        urllib.request.urlopen(server.group(1) + "/livez", timeout=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_an_interrupted_demo_stops_its_service_and_says_so(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-u", "-m", "repro_env_service.demo", "--data", str(tmp_path)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = next(line for line in process.stdout if "a service is running on" in line)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "\nInterrupted; the service is stopped.\n"
    with pytest.raises(OSError):
        urllib.request.urlopen(first.split()[-1] + "/livez", timeout=2)


def test_a_second_telling_in_the_same_folder_is_told_the_same_under_other_names(tmp_path: Path) -> None:
    first, second = tell(tmp_path), tell(tmp_path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "--run-id gpu-a\n" in first.stdout
    assert "--run-id gpu-a.2\n" in second.stdout
    told = chapter(second.stdout, 3)
    assert "WARNING" not in told
    assert verdicts(told)[0].replace(".2", "") == verdicts(chapter(first.stdout, 3))[0].replace(".2", "")


def test_a_dump_that_is_none_stops_the_demo_with_the_step_that_failed(tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.txt"
    nonsense.write_text("nothing of the kind\n")
    done = tell(tmp_path, "--left", str(nonsense))
    assert done.returncode == 1
    assert "The demo stopped: repro-env import" in done.stderr
    assert "Traceback" not in done.stderr

"""``compare`` and ``import``: sides from files, dumps and the service; invalid input names file and field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loopback
import pytest
from documents import complete_document
from loopback import problem, says, serving

from repro_env.comparability.verdict import Verdict
from repro_env.fingerprint.validate import part_digests, validate
from repro_env.importers import FORMATS

Run = Callable[..., Any]
DUMP = """PyTorch version: 2.4.1+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
GCC version: Could not collect
Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: {gpu}
Nvidia driver version: 550.54.15
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] torch==2.4.1+cu121
"""


def put(folder: Path, name: str, value: Any) -> str:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


def document(run_id: str, **facts: Any) -> dict[str, Any]:
    made = complete_document("process", machine="cpu", **facts)
    made["capture"]["run_id"] = run_id
    made["digests"] = part_digests(made)
    return validate(made)


@pytest.fixture
def pair(folder: Path) -> tuple[str, str]:
    """Two documents that differ in the number of torch threads."""
    return (put(folder, "four.json", document("a", **{"threads.torch_intraop": 4})),
            put(folder, "eight.json", document("b", **{"threads.torch_intraop": 8})))


def test_two_files_need_no_server(pair: tuple[str, str], repro_env: Run) -> None:
    done = repro_env("compare", *pair)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Comparable as curves, not bit by bit: 4 threads against 8.\n")
    assert "Comparable at level curve? Yes, guaranteed." in done.out
    assert "remedy: set the same number of threads" in done.out


@pytest.mark.parametrize(("level", "code"), [("bitwise", 1), ("curve", 0), ("statistical", 0), ("none", 0)])
def test_the_exit_code_is_the_answer_at_the_level(level: str, code: int, pair: tuple[str, str], repro_env: Run) -> None:
    assert repro_env("compare", *pair, "--level", level).code == code


def test_unread_facts_alone_make_it_unknown(folder: Path, repro_env: Run) -> None:
    unread = document("a", **{"threads.torch_intraop": {"unread": "too-early"}})
    left, right = put(folder, "a.json", unread), put(folder, "b.json", document("b"))
    done = repro_env("compare", left, right, "--level", "bitwise")
    assert done.code == 2
    assert "Unknown: nothing that was read stands against it, but" in done.out


def test_likely_is_3_and_can_be_accepted(folder: Path, repro_env: Run) -> None:
    def likely(connection: Any, request: loopback.Request) -> None:
        verdict = {**_verdict(repro_env, folder), "answer": "likely"}
        connection.sendall(loopback.reply("200 OK", verdict))

    with serving(likely) as server:
        assert repro_env("compare", "run-a", "run-b", "--server", server.url).code == 3
        assert repro_env("compare", "run-a", "run-b", "--server", server.url, "--accept", "likely").code == 0


def _verdict(repro_env: Run, folder: Path) -> dict[str, Any]:
    left, right = put(folder, "l.json", document("a")), put(folder, "r.json", document("b"))
    verdict: dict[str, Any] = repro_env("compare", left, right, "--json").json()
    return verdict


def test_json_is_the_verdict_and_nothing_else(pair: tuple[str, str], repro_env: Run) -> None:
    done = repro_env("compare", *pair, "--json", "--level", "bitwise")
    told = done.json()
    assert (done.code, told["answer"], told["level"], told["expected"]) == (1, "no", "bitwise", "curve")
    assert told["reasons"][0]["rule"] == "torch-threads"
    assert Verdict.from_json(told).to_json() == told
    assert repro_env("compare", *pair, "--format", "json", "--level", "bitwise").out == done.out


def test_markdown_is_for_an_issue(pair: tuple[str, str], repro_env: Run) -> None:
    out = repro_env("compare", *pair, "--format", "markdown").out
    assert out.startswith("## Comparable as curves, not bit by bit: 4 threads against 8.\n")
    assert "| expected | `curve` |" in out


def test_two_run_ids_are_asked_of_the_service(folder: Path, repro_env: Run) -> None:
    verdict = {**_verdict(repro_env, folder), "left": {"run_id": "run-a"}, "observed": ["result weights: equal"]}
    asked = ("--level", "bitwise", "--question", "repeat")
    with serving(says("200 OK", verdict)) as server:
        done = repro_env("compare", "run-a", "run-b", "--server", server.url, *asked)
    assert server.requests[0].target == "/v1/comparisons?left=run-a&right=run-b&question=repeat&level=bitwise"
    assert done.code == 0
    assert "result weights: equal" in done.out


def test_a_run_and_a_file_are_compared_here(folder: Path, repro_env: Run, pair: tuple[str, str]) -> None:
    run = {"run_id": "run-a", "entries": [{"document": document("run-a", **{"threads.torch_intraop": 2})}]}
    with serving(says("200 OK", run)) as server:
        done = repro_env("compare", "run-a", pair[0], "--server", server.url)
    assert server.requests[0].target == "/v1/runs/run-a"
    assert "2 threads against 4" in done.out


def test_a_run_id_without_a_server_says_what_to_set(repro_env: Run) -> None:
    done = repro_env("compare", "run-a", "run-b")
    assert done.code == 64
    assert "'run-a' is no file here, and no run of that id waits in the spool" in done.err


def test_an_unknown_run_is_told_in_the_words_of_the_service(repro_env: Run) -> None:
    with serving(problem("404 Not Found", "No run with this id", "no observation of run 'x' has arrived")) as server:
        done = repro_env("compare", "x", "y", "--server", server.url)
    assert (done.code, done.out) == (65, "")
    assert done.lines == ["repro-env: No run with this id: no observation of run 'x' has arrived"]


@pytest.mark.parametrize(("content", "words"), [
    ('{"schema": "1.1"}', "bad.json: stack"), ("{", "bad.json: $: expected JSON, got a syntax error at line 1"),
    ('{"schema": "9.0"}', "bad.json: schema: expected major version 1, got 9.0"),
    ("[]", "bad.json: $: expected at least"),
    ("[1]", "bad.json: $: expected an object"), ('{"a": NaN}', "bad.json: "), ("", "empty file"),
    ("hello world", "bad.json: expected "), ('{"a": 1, "a": 2}', "bad.json: a: expected each key once")],
    ids=["incomplete", "cut", "version", "no-document", "number", "nan", "empty", "prose", "twice"])
def test_invalid_input_is_65_and_names_file_and_field(content: str, words: str, folder: Path, repro_env: Run,
                                                      pair: tuple[str, str]) -> None:
    done = repro_env("compare", pair[0], put(folder, "bad.json", content))
    assert (done.code, done.out, len(done.lines)) == (65, "", 1)
    assert words in done.err


def test_a_wrong_field_is_named_with_its_path(folder: Path, repro_env: Run, pair: tuple[str, str]) -> None:
    wrong = document("a")
    wrong["stack"]["python"]["version"] = 3
    wrong["digests"] = part_digests(wrong)
    done = repro_env("compare", pair[0], put(folder, "bad.json", wrong))
    assert done.code == 65
    assert "bad.json: stack.python.version: expected text, got 3" in done.err


def test_a_file_that_is_not_there_is_said(repro_env: Run, pair: tuple[str, str]) -> None:
    done = repro_env("compare", pair[0], "gone.json")
    assert done.code == 64
    assert done.lines == ["repro-env: gone.json: could not be read (No such file or directory)"]


def test_a_policy_waives_with_a_reason(folder: Path, repro_env: Run, pair: tuple[str, str]) -> None:
    from repro_env.comparability.rules import RULES_BY_ID

    waive = dict.fromkeys(("torch-threads", *RULES_BY_ID["torch-threads"].subsumes), "measured to be equal here")
    done = repro_env("compare", *pair, "--level", "bitwise", "--policy", put(folder, "p.json", {"waive": waive}))
    assert "measured to be equal here" in done.out
    assert "What stands between them" not in done.out


@pytest.mark.parametrize(("policy", "words"), [
    ({"waive": {"no-such-rule": "x"}}, "p.json, line 1: policy.waive.no-such-rule: no such rule"),
    ({"waive": {"torch-threads": ""}}, "p.json, line 1: policy.waive.torch-threads: expected a reason"),
    ([], "p.json: policy: expected an object")], ids=["rule", "reason", "list"])
def test_a_wrong_policy_names_file_line_and_field(policy: Any, words: str, folder: Path, repro_env: Run,
                                             pair: tuple[str, str]) -> None:
    done = repro_env("compare", *pair, "--policy", put(folder, "p.json", policy))
    assert done.code == 65
    assert words in done.err


def test_one_side_may_come_from_a_pipe(folder: Path, repro_env: Run, pair: tuple[str, str]) -> None:
    data = (folder / pair[1]).read_bytes()
    assert repro_env("compare", pair[0], "-", data=data).code == 0
    assert repro_env("compare", "-", "-", data=data).code == 64


def test_dumps_are_compared_as_they_are(folder: Path, repro_env: Run) -> None:
    left = put(folder, "a.txt", DUMP.format(gpu="NVIDIA A100-SXM4-80GB"))
    right = put(folder, "b.txt", DUMP.format(gpu="NVIDIA H100 80GB HBM3"))
    done = repro_env("compare", left, right)
    assert done.code == 1
    assert "the stacks alone" in done.out


def test_no_colour_unless_a_terminal_asks(pair: tuple[str, str], repro_env: Run) -> None:
    assert "\x1b" not in repro_env("compare", *pair).out


def test_control_characters_in_a_document_never_reach_the_terminal(folder: Path, repro_env: Run) -> None:
    evil = document("a", **{"system.os_name": "Evil\x1b[2J\x07"})
    for form in ("text", "markdown", "json"):
        done = repro_env("compare", put(folder, "a.json", evil), put(folder, "b.json", document("b")), "--format", form)
        assert "\x1b" not in done.out
        assert "\x07" not in done.out


def test_import_says_what_was_recognised_and_sends(folder: Path, repro_env: Run, spool: Path) -> None:
    path = put(folder, "a.txt", DUMP.format(gpu="NVIDIA A100-SXM4-80GB"))
    with serving(loopback.takes) as server:
        done = repro_env("import", path, "--run-id", "gpu-a", "--project", "p", "--server", server.url)
    assert (done.code, done.out) == (0, "")
    assert done.lines[0] == "repro-env: a.txt: recognised as pytorch-collect-env; run gpu-a"
    assert done.lines[-1] == f"repro-env: run gpu-a sent to {server.url}"
    record = validate(server.requests[0].document())["capture"]
    assert (record["run_id"], record["project"], record["vantage"]) == ("gpu-a", "p", "import")
    assert not list(spool.glob("*.json"))


def test_import_from_a_pipe_to_stdout(repro_env: Run) -> None:
    done = repro_env("import", "-", "--json", "--no-send", data=DUMP.format(gpu="NVIDIA A100-SXM4-80GB").encode())
    assert validate(done.json())["stack"]["frameworks"]["torch"]["version"] == "2.4.1+cu121"
    assert "standard input: recognised as" in done.lines[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_import_reads_what_shells_write(encoding: str, repro_env: Run) -> None:
    data = DUMP.format(gpu="NVIDIA A100-SXM4-80GB").replace("\n", "\r\n").encode(encoding)
    assert repro_env("import", "-", "--json", "--no-send", data=data).code == 0


def test_import_of_an_unknown_text_is_65(folder: Path, repro_env: Run) -> None:
    done = repro_env("import", put(folder, "a.txt", "just some words"))
    assert (done.code, done.out) == (65, "")
    assert done.lines[0].startswith("repro-env: a.txt: expected ")


def test_import_that_cannot_be_delivered_waits_and_says_1(folder: Path, repro_env: Run, spool: Path) -> None:
    path = put(folder, "a.txt", DUMP.format(gpu="NVIDIA A100-SXM4-80GB"))
    done = repro_env("import", path, "--server", f"http://127.0.0.1:{loopback.free_port()}")
    assert done.code == 1
    assert len(list(spool.glob("*.json"))) == 1


def test_a_document_is_imported_as_it_is(folder: Path, repro_env: Run, pair: tuple[str, str]) -> None:
    with serving(loopback.takes) as server:
        assert repro_env("import", pair[0], "--server", server.url).code == 0
        assert server.requests[0].document() == json.loads((folder / pair[0]).read_text())
        renamed = repro_env("import", pair[0], "--server", server.url, "--run-id", "other")
    assert renamed.code == 64
    assert "keeps its run" in renamed.err


def test_json_of_others_is_named_as_such(folder: Path, repro_env: Run) -> None:
    done = repro_env("import", put(folder, "wandb.json", '{"os": "Linux", "python": "3.12"}'))
    assert done.code == 65
    assert "this JSON is no document of repro-env" in done.err


METADATA = {"os": "Linux-5.15.0-x86_64-with-glibc2.35", "python": "3.12.1", "startedAt": "2024-01-01", "cpu_count": 8}


def test_a_report_that_is_json_is_imported(folder: Path, repro_env: Run) -> None:
    text = json.dumps(METADATA, indent=2)
    done = repro_env("import", put(folder, "wandb-metadata.json", text), "--json", "--no-send")
    assert done.json()["stack"]["python"]["version"] == "3.12.1"
    assert "recognised as wandb-metadata" in done.err
    assert "states Python 3.12.1, linux" in done.err


def test_a_report_that_is_cut_json_is_imported(folder: Path, repro_env: Run) -> None:
    text = json.dumps(METADATA, indent=2).partition('"cpu_count"')[0]
    done = repro_env("import", put(folder, "wandb-metadata.json", text), "--json", "--no-send")
    assert done.json()["stack"]["python"]["version"] == "3.12.1"


def test_help_lists_every_format(repro_env: Run) -> None:
    shown = repro_env("import", "--help").out
    assert [name for name in FORMATS if f"  {name}" not in shown] == []


def test_a_log_that_begins_with_a_bracket_is_a_text(folder: Path, repro_env: Run) -> None:
    done = repro_env("import", put(folder, "ds.txt", "[2024-05-24 09:17:18,762] [WARNING] no accelerator\n"))
    assert done.code == 65
    assert "got a text that begins with 'no accelerator'" in done.err


#: cut off within its list of cuDNN files, and with a toolkit that torch does not use.
SHIPPED = Path(__file__).parents[3] / "service/src/repro_env_service/demo_dumps/rtx-2080-ti-torch-2.2.txt"


def test_notes_that_ask_nothing_of_a_person_stay_in_the_document(repro_env: Run) -> None:
    done = repro_env("import", str(SHIPPED), "--no-send")
    assert [line.strip() for line in done.lines if "note:" in line] == [
        "note: the text is cut: what it would have said further on is not recorded"]


def test_without_a_server_runs_are_found_where_their_documents_wait(repro_env: Run, spool: Path) -> None:
    spool.mkdir()
    for run_id, threads in (("run-a", 8), ("run-b", 4)):
        document = complete_document("exit", **{"capture.run_id": run_id, "threads.torch_intraop": threads})
        (spool / f"{run_id}.json").write_text(json.dumps(document))
    (spool / "damaged-run-a.json").write_text('{"run-a":')
    told = repro_env("compare", "run-a", "run-b", "--json").json()
    assert [reason["cause"] for reason in told["reasons"]][:1] == ["thread_count"]
    assert repro_env("doctor", "run-b").code == 0
    assert repro_env("compare", "run-a", "run-c").code == 64

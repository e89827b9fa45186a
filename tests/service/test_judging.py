"""Verdicts over REST: comparisons, comparable runs by class key, evidence; baselines and their warnings."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

UNREAD = {"unread": "denied"}
FOUR = {"threads.torch_intraop": 4}


@pytest.mark.parametrize("question", ["compare", "repeat", "resume"])
@pytest.mark.parametrize("level", [None, "bitwise", "statistical"])
def test_stored_vectors_give_the_verdict_of_the_documents(api, observation, question, level):
    left, right = observation(machine="h100"), observation("o2", "r2", **FOUR, **{"capture.project": "b"})
    api.send(left)
    api.send(right)
    query = {"left": "r1", "right": "r2", "question": question} | ({"level": level} if level else {})
    answer = api.get("/v1/comparisons", **query)
    assert answer.status_code == 200, answer.text
    verdict = judge(Facts.of(left), Facts.of(right), question=Question(question),
                    level=Level.parse(level) if level else None)
    told = answer.json()
    stored = {name: told[name] for name in verdict.to_json()}
    assert {**stored, "sides": []} == verdict.to_json()
    assert replace(Verdict.from_json(stored), sides=()) == verdict
    assert (told["left"]["run_id"], told["right"]["project"], told["same_run"]) == ("r1", "b", False)


def test_run_against_itself_says_same_run(api, observation):
    api.send(observation())
    told = api.get("/v1/comparisons?left=r1&right=r1").json()
    assert told["same_run"] is True
    assert told["headline"].startswith("Same run.")


def test_result_digests_stand_beside_the_verdict(api, observation):
    results = [{"weights": "sha256:1", "loss": "sha256:2"},
               {"weights": "sha256:1", "loss": "sha256:3", "x": "sha256:4"}]
    for number, told in enumerate(results):
        api.send(observation(f"o{number}", f"r{number}", vantage="exit", **{"capture.results": told}))
    answer = api.get("/v1/comparisons?left=r0&right=r1").json()
    assert answer["results"] == {"equal": ["weights"], "different": ["loss"]}
    assert answer["observed"] == ["result weights: equal", "result loss: different"]
    api.send(observation("bare", "bare"))
    assert api.get("/v1/comparisons?left=r0&right=bare").json()["observed"] == []


def test_later_look_has_the_results_that_count(api, observation):
    api.send(observation(**{"capture.results": {"w": "sha256:1"}}))
    api.send(observation("end", vantage="exit", **{"capture.results": {"w": "sha256:2"}, "capture.sequence": 1}))
    api.send(observation("o2", "r2", **{"capture.results": {"w": "sha256:2"}}))
    assert api.get("/v1/comparisons?left=r1&right=r2").json()["results"]["equal"] == ["w"]


@pytest.mark.parametrize("path", ["/v1/comparisons?left=r1&right=nope", "/v1/comparisons?left=nope&right=r1",
                                  "/v1/runs/nope", "/v1/runs/nope/comparable", "/v1/runs/nope/conformance"])
def test_unknown_run_answers_404_with_what_to_do(api, observation, path):
    api.send(observation())
    answer = api.get(path)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-run")
    assert "nope" in answer.json()["detail"]
    assert "/v1/runs" in answer.json()["remedy"]


VARIANTS = {
    "plain": {}, "again": {}, "four": FOUR, "benchmark": {"determinism.cudnn_benchmark": True},
    "blind": {"threads.torch_intraop": UNREAD}, "numpy": {"frameworks.numpy.version": "1.26.4"},
    "python": {"python.version": "3.12.1"}, "kernel": {"system.kernel": "5.15.0"}}


@pytest.mark.parametrize("level", ["bitwise", "curve", "statistical", "none"])
def test_comparable_lists_exactly_the_runs_that_are_guaranteed(api, observation, level):
    for name, changes in VARIANTS.items():
        api.send(observation(name, name, **changes))
    for name, other in itertools.permutations(VARIANTS, 2):
        listed = {run["run_id"] for run in api.get(f"/v1/runs/{name}/comparable?level={level}").json()["runs"]}
        guaranteed = api.get(f"/v1/comparisons?left={name}&right={other}").json()["guaranteed"]
        assert (other in listed) == (Level.parse(guaranteed) >= Level.parse(level)), (name, other)


def test_run_seen_from_outside_is_listed_as_the_comparison_says(api, observation):
    api.send(observation("inside", "inside"))
    for name, changes in VARIANTS.items():
        api.send(observation(name, name, vantage="import", **changes))
    for name, level in itertools.product(VARIANTS, ("bitwise", "curve", "statistical")):
        verdict = api.get(f"/v1/comparisons?left=inside&right={name}").json()
        assert verdict["scope"] == "stack"
        guaranteed = Level.parse(verdict["guaranteed"]) >= Level.parse(level)
        for one, other in (("inside", name), (name, "inside")):
            listed = {run["run_id"] for run in api.get(f"/v1/runs/{one}/comparable?level={level}").json()["runs"]}
            assert (other in listed) == guaranteed, (one, other, level)


def test_undetermined_counts_runs_and_names_what_they_lack(api, observation):
    api.send(observation())
    for number in range(3):
        api.send(observation(f"blind{number}", f"blind{number}", **{"threads.torch_intraop": UNREAD}))
    api.send(observation("dark", "dark", **{"threads.torch_intraop": UNREAD, "cpu.torch_capability": UNREAD}))
    answer = api.get("/v1/runs/r1/comparable?level=bitwise").json()
    assert answer["undetermined"]["count"] == 4
    assert answer["undetermined"]["lacking"][0] == {"path": "threads.torch_intraop", "runs": 4}
    own = api.get("/v1/runs/blind0/comparable?level=bitwise").json()
    assert (own["key"], own["failing"], own["runs"]) == (None, False, [])
    assert "threads.torch_intraop" in own["lacking"]


def test_pages_of_comparable_runs_hold_every_run_once(api, observation):
    for number in range(5):
        api.send(observation(f"o{number}", f"r{number}"))
    path, seen = "/v1/runs/r0/comparable?limit=3", []
    while path:
        page = api.get(path).json()
        seen += [run["run_id"] for run in page["runs"]]
        path = page["next"]
    assert seen == ["r4", "r3", "r2", "r1"]


def test_comparable_runs_are_found_by_index(api):
    plan = api.explain("SELECT runs.id FROM runs JOIN vector_classes c ON c.vector_digest = runs.compare_vector "
                       "WHERE c.key IN ('a', 'b') AND c.level = 'curve' AND c.scope = runs.scope")
    assert "vector_classes_by_key" in plan
    assert "runs_by_compare_vector" in plan


# --- baselines ----------------------------------------------------------------------------------------------------

BASELINE = "/v1/projects/vision/baseline"


def test_baseline_is_set_read_and_moved(api, observation):
    api.send(observation())
    api.send(observation("o2", "r2"))
    answer = api.put(BASELINE, {"run": "r1"})
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in ("project", "run", "manifest", "level", "question")} == {
        "project": "vision", "run": "r1", "manifest": None, "level": "curve", "question": "compare"}
    api.put(BASELINE, {"run": "r2", "question": "repeat"})
    assert (api.get(BASELINE).json()["run"], api.get(BASELINE).json()["level"]) == ("r2", "bitwise")


@pytest.mark.parametrize(("body", "status", "kind"), [
    ({"run": "nope"}, 404, "unknown-run"), ({"manifest": "a/1"}, 404, "unknown-manifest"),
    ({}, 422, "invalid-request"), ({"run": "r1", "manifest": "a/1"}, 422, "invalid-request"),
    ({"run": 1}, 422, "invalid-request"), ({"run": "r1", "level": "best"}, 422, "invalid-request"),
    ({"run": "r1", "colour": 1}, 422, "invalid-request"), ([], 422, "invalid-request"),
    (b'{"run": "r1", "run": "r1"}', 400, "invalid-json"), (b"x", 400, "invalid-json")])
def test_wrong_baseline_is_refused(api, observation, body, status, kind):
    api.send(observation())
    answer = api.put(BASELINE, body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
    assert api.get(BASELINE).json()["type"] == "/problems/no-baseline"


def test_run_that_departs_from_the_baseline_is_warned_with_reason_and_remedy(api, observation):
    api.send(observation())
    api.put(BASELINE, {"run": "r1", "level": "bitwise"})
    (warning,) = api.send(observation("o2", "r2", **FOUR)).json()["warnings"]
    assert (warning["kind"], warning["baseline"], warning["level"], warning["answer"]) == (
        "baseline", "r1", "bitwise", "no")
    assert "8" in warning["first_reason"]
    assert "4" in warning["first_reason"]
    assert warning["remedy"]
    verdict = api.get(warning["comparison"]).json()
    assert (verdict["headline"], verdict["answer"]) == (warning["headline"], "no")


def test_repeated_post_is_warned_again(api, observation):
    api.send(observation())
    api.put(BASELINE, {"run": "r1", "level": "bitwise"})
    first = api.send(observation("o2", "r2", **FOUR)).json()["warnings"]
    assert first == api.send(observation("o2", "r2", **FOUR)).json()["warnings"] != []


def test_equal_run_other_project_and_the_baseline_itself_are_not_warned(api, observation):
    api.send(observation())
    api.put(BASELINE, {"run": "r1", "level": "bitwise"})
    for document in (observation("o2", "r2"), observation("o3", "r3", **FOUR, **{"capture.project": "speech"}),
                     observation("o4", "r4", **FOUR, **{"capture.project": None}), observation()):
        answer = api.send(document).json()
        assert (answer["warnings"], answer["notes"]) == ([], [])


def test_unread_facts_alone_make_a_note_and_no_warning(api, observation):
    api.send(observation())
    api.put(BASELINE, {"run": "r1", "level": "bitwise"})
    answer = api.send(observation("o2", "r2", **{"threads.torch_intraop": UNREAD, "threads.openmp": UNREAD})).json()
    assert answer["warnings"] == []
    assert "threads.torch_intraop" in answer["notes"][0]


def test_manifest_is_a_baseline_too(api, observation):
    api.put("/v1/manifests/base/1", observation("m", vantage="image", machine="h100"))
    api.put(BASELINE, {"manifest": "base/1"})
    (warning,) = api.send(observation("o2", "r2", machine="h100", **{"libraries.cudnn.loaded": "8.9.7",
                                                                     "libraries.cudnn.installed": "8.9.7",
                                                                     "frameworks.torch.version": "1.13.1+cu117"})
                          ).json()["warnings"]
    assert warning["baseline"] == "manifest:base/1"
    assert api.get(warning["comparison"]).json()["left"]["manifest"] == "base/1"


def test_failing_judgement_costs_the_warnings_and_not_the_receipt(api, observation, monkeypatch, caplog):
    def failing(*_arguments):
        raise RuntimeError("broken rule")

    monkeypatch.setattr("repro_env_service.api.observations.hold_against_baseline", failing)
    answer = api.send(observation())
    assert answer.status_code == 201
    assert "failed" in answer.json()["notes"][0]
    assert "broken rule" in caplog.text
    assert api.get("/v1/runs/r1").status_code == 200

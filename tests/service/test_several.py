"""``POST /v1/comparisons``: every pair as the comparison of two has it, classes, what separates, what is refused."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from documents import complete_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from repro_env.comparability.levels import Level
from repro_env.comparability.several import Several
from repro_env_service import several
from repro_env_service.several_answers import SeveralAnswer
from repro_env_service.tables import Run

PATH = "/v1/comparisons"
DENIED = {"unread": "denied"}
ENDS = ("guaranteed", "expected", "possible")
VARIANTS = {
    "plain": {}, "again": {}, "four": {"threads.torch_intraop": 4}, "blind": {"threads.torch_intraop": DENIED},
    "benchmark": {"determinism.cudnn_benchmark": True}, "python": {"python.version": "3.12.1"},
    "numpy": {"frameworks.numpy.version": "1.26.4"}, "seed": {"random.seeds": {"torch": 8}},
    "kernel": {"system.kernel": "5.15.0"}}


@pytest.fixture
def runs(api, observation):
    """Runs of one project, one a variant."""
    for name, changes in VARIANTS.items():
        assert api.send(observation(name, name, **changes)).status_code == 201
    return list(VARIANTS)


def ask(api, runs, **more):
    answer = api.post(PATH, {"runs": list(runs), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def ends_of(told, one, other):
    """Return the three ends that the answer tells of two names."""
    index = {name: number for number, names in enumerate(told["groups"]) for name in names}
    return {end: told[end][index[one]][index[other]] for end in ENDS}


WAIVER = {"name": "ours", "waive": {"torch-threads": "three digits count"}, "require": "statistical"}
QUERIES = st.fixed_dictionaries({}, optional={
    "question": st.sampled_from(["compare", "repeat"]), "level": st.sampled_from(["bitwise", "curve", "statistical"]),
    "vary": st.sampled_from(["seed", "threads", "python", "seed,threads"]),
    "policy": st.sampled_from(["project", "none"])})
SIDES = st.lists(st.tuples(st.sampled_from(sorted(VARIANTS)), st.sampled_from(["process", "import"]),
                           st.sampled_from(["cpu", "h100"])), min_size=2, max_size=5)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sides=SIDES, asked=QUERIES, held=st.booleans())
def test_the_matrix_is_what_the_comparisons_of_two_say(make_api, sides, asked, held):
    folder = Path(tempfile.mkdtemp())
    api = make_api(folder)
    try:
        for number, (variant, vantage, machine) in enumerate(sides):
            assert api.send(complete_document(vantage, machine, **{
                "capture.observation_id": f"o{number}", "capture.run_id": f"r{number}", "capture.project": "vision",
                **VARIANTS[variant]})).status_code == 201
        if held or asked.get("policy") == "project":
            api.put("/v1/projects/vision/policy", WAIVER)
        names = [f"r{number}" for number in range(len(sides))]
        words = {**asked, **({"vary": asked["vary"].split(",")} if "vary" in asked else {})}
        told = ask(api, names, **words)
        answers = set()
        for one, other in itertools.product(names, names):
            pair = api.get(PATH, left=one, right=other, **asked).json()
            assert ends_of(told, one, other) == {end: pair[end] for end in ENDS}, (one, other)
            assert (told["policy"], told["level"], told["in_force"], told["terms"]) == (
                pair["policy"], pair["level"], pair["in_force"], pair["terms"])
            if one != other:
                answers.add(pair["answer"])
        assert told["answer"] == next(word for word in ("no", "unknown", "likely", "yes") if word in answers)
    finally:
        shutil.rmtree(folder)


def test_classes_are_the_runs_that_are_comparable_with_each_other(api, runs):
    told = ask(api, runs)
    for level in ("bitwise", "curve", "statistical"):
        class_of = {name: set(row["members"]) for row in told["classes"] if row["level"] == level
                    for name in row["members"]}
        for name in runs:
            listed = {run["run_id"] for run in api.get(f"/v1/runs/{name}/comparable?level={level}").json()["runs"]}
            assert class_of.get(name, {name}) - {name} == listed, (name, level)


def test_equal_environments_are_one_group(api, runs):
    told = ask(api, runs)
    groups = [set(group) for group in told["groups"]]
    assert any({"plain", "again", "seed", "kernel"} <= group for group in groups)
    assert {"four"} in groups
    assert sum(map(len, groups)) == len(runs)
    assert len({row["vector"] for row in told["runs"]}) == len(groups)
    assert [row["name"] for row in told["runs"]] == runs
    assert ["seed"] in ask(api, runs, question="repeat")["groups"]


def test_a_run_in_no_class_says_which_facts_it_lacks(api, runs):
    outside = {(row["level"], name): row for row in ask(api, runs)["outside"] for name in row["members"]}
    assert "threads.torch_intraop" in outside["bitwise", "blind"]["lacking"]
    assert outside["bitwise", "blind"]["failing"] == []
    assert ("bitwise", "plain") not in outside
    own = api.get("/v1/runs/blind/comparable?level=bitwise").json()
    assert set(outside["bitwise", "blind"]["lacking"]) == set(own["lacking"])


def test_what_separates_them_names_the_values_and_who_has_them(api, runs):
    separates = {row["rule"]: row for row in ask(api, ["plain", "again", "four", "blind"])["separates"]}
    values = dict(separates["torch-threads"]["values"])
    assert {tuple(names) for names in values.values()} == {("plain", "again"), ("four",)}
    assert separates["torch-threads"]["unread"] == ["blind"]


def test_what_moves_with_what_was_declared_is_named(api, observation):
    for number in range(4):
        changes = {"threads.torch_intraop": 4, "frameworks.numpy.version": "1.26.4"} if number % 2 else {}
        api.send(observation(f"o{number}", f"r{number}", **changes))
    told = ask(api, [f"r{number}" for number in range(4)], vary=["threads"])
    assert told["confounds"]
    assert {row["together"] == row["pairs"] for row in told["confounds"]} == {True}


def test_a_manifest_can_be_one_of_them(api, observation):
    api.put("/v1/manifests/base/1", observation("m", vantage="image"))
    api.send(observation())
    told = ask(api, ["manifest:base/1", "r1"])
    pair = api.get(PATH, left="manifest:base/1", right="r1").json()
    assert ends_of(told, "manifest:base/1", "r1") == {end: pair[end] for end in ENDS}
    assert (told["scope"], told["runs"][0]["manifest"]) == ("stack", "base/1")


class TestPolicy:
    """One policy holds for all of them."""

    def test_runs_of_several_projects_are_judged_without_one(self, api, observation):
        api.send(observation())
        api.send(observation("o2", "r2", **{"capture.project": "speech"}))
        api.put("/v1/projects/vision/policy", WAIVER)
        assert ask(api, ["r1", "r2"])["in_force"]["project"] is None
        answer = api.post(PATH, {"runs": ["r1", "r2"], "policy": "project"})
        assert (answer.status_code, answer.json()["field"]) == (422, "policy")
        assert "speech, vision" in answer.json()["detail"]

    def test_a_project_without_a_policy_says_so_where_it_is_asked_for(self, api, runs):
        answer = api.post(PATH, {"runs": runs, "policy": "project"})
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/no-policy")

    def test_a_policy_can_be_stated_for_one_request(self, api, runs):
        told = ask(api, runs, policy=WAIVER)
        assert (told["terms"], told["level"], told["in_force"]["version"]) == (WAIVER, "statistical", None)
        assert "torch-threads" not in [row["rule"] for row in told["separates"]]
        assert api.rows()["policies"] == 0

    @pytest.mark.parametrize(("policy", "field"), [({"waive": {"gone": "x"}}, "policy.waive.gone"),
                                                   ({"waive": {"torch-threads": ""}}, "policy.waive.torch-threads")])
    def test_a_stated_policy_is_refused_with_its_field(self, api, runs, policy, field):
        answer = api.post(PATH, {"runs": runs, "policy": policy})
        assert (answer.status_code, answer.json()["type"], answer.json()["field"]) == (
            422, "/problems/invalid-policy", field)


@pytest.mark.parametrize(("body", "status", "kind", "word"), [
    ({"runs": ["plain", "nope", "gone"]}, 404, "unknown-run", "nope, gone"),
    ({"runs": ["plain", "manifest:a/1"]}, 404, "unknown-manifest", "a/1"),
    ({"runs": ["plain", "four", "plain"]}, 422, "invalid-request", "plain more than once"),
    ({"runs": ["plain"]}, 422, "invalid-request", "2 to 1000"), ({"runs": []}, 422, "invalid-request", "2 to 1000"),
    ({"runs": [f"r{number}" for number in range(1001)]}, 422, "invalid-request", "got 1001"),
    ({}, 422, "invalid-request", "runs"), ({"runs": "plain"}, 422, "invalid-request", "runs"),
    ({"runs": ["plain", 1]}, 422, "invalid-request", "runs.1"), ([], 422, "invalid-request", ""),
    ({"runs": ["plain", "a b"]}, 422, "invalid-request", "runs.1"),
    ({"runs": ["plain", "four"], "question": "resume"}, 422, "invalid-request", "question"),
    ({"runs": ["plain", "four"], "level": "best"}, 422, "invalid-request", "level"),
    ({"runs": ["plain", "four"], "vary": ["no-such-word"]}, 422, "invalid-request", "no-such-word"),
    ({"runs": ["plain", "four"], "vary": ["seed"] * 51}, 422, "invalid-request", "vary"),
    ({"runs": ["plain", "four"], "policy": "mine"}, 422, "invalid-request", "policy"),
    ({"runs": ["plain", "four"], "colour": 1}, 422, "invalid-request", "colour"),
    (b'{"runs": [], "runs": []}', 400, "invalid-json", "runs"), (b"{", 400, "invalid-json", "")])
def test_wrong_requests_are_refused_with_what_is_wrong(api, runs, body, status, kind, word):
    answer = api.post(PATH, body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}"), answer.text
    assert word in answer.json()["detail"]


def test_many_unknown_runs_are_named_in_part_and_counted(api):
    answer = api.post(PATH, {"runs": [f"r{number}" for number in range(100)]}).json()
    assert "r9 and 90 more" in answer["detail"]


class TestCost:
    """What is asked of many runs is bounded."""

    def test_the_matrix_of_many_environments_is_told_where_it_is_asked_for(self, api, runs, monkeypatch):
        monkeypatch.setattr(several, "MATRIX_GROUPS", 3)
        few, many = ask(api, ["plain", "again", "four"]), ask(api, runs)
        assert [few[end] is None for end in ENDS] == [False] * 3
        assert [many[end] for end in ENDS] == [None] * 3
        assert (many["answer"], bool(many["classes"])) == ("likely", True)
        whole = ask(api, runs, matrix=True)
        assert {**many, **{end: whole[end] for end in ENDS}} == whole
        assert ask(api, ["plain", "four"], matrix=False)["guaranteed"] is None

    def test_a_thousand_runs_of_few_environments_make_few_groups(self, api, observation):
        names = [f"r{number}" for number in range(several.MOST)]
        for number in range(5):
            api.send(observation(f"o{number}", names[number], **{"threads.torch_intraop": 1 + number}))
        with api.storage.writing() as session:
            stored = [{column.key: getattr(run, column.key) for column in Run.__table__.columns.values()
                       if column.key not in ("id", "number", "run_group")} for run in session.scalars(
                           select(Run).order_by(Run.number))]
            for number, name in enumerate(names[5:], 5):
                session.add(Run(id=name, **stored[number % 5]))
        told = ask(api, names)
        assert [len(group) for group in told["groups"]] == [200] * 5
        assert {Level.parse(level) for row in told["guaranteed"] for level in row} == {Level.CURVE, Level.BITWISE}

    def test_one_request_computes_and_the_next_is_told_to_come_later(self, api, runs, monkeypatch):
        monkeypatch.setattr(several, "WAIT_S", 0.01)
        held = threading.Lock()
        held.acquire()
        monkeypatch.setattr(several, "_computing", held)
        answer = api.post(PATH, {"runs": runs})
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/busy")
        assert int(answer.headers["retry-after"]) > 0
        held.release()
        ask(api, runs)


def test_asking_stores_nothing(api, runs):
    before = api.rows()
    ask(api, runs, policy=WAIVER, vary=["seed"])
    assert api.rows() == before


def test_the_answer_is_what_the_api_says(api, runs):
    told = ask(api, runs, policy=WAIVER)
    assert SeveralAnswer.model_validate(told).model_dump(mode="json") == told
    known = Several.from_json(told)
    assert {name: told[name] for name in known.to_json()} == known.to_json()
    assert ends_of(told, "plain", "four") == {end: getattr(known.pair("plain", "four"), end).word for end in ENDS}

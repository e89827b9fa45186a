"""A document is stored once, whole, and acknowledged with the digests that the service computed."""

from __future__ import annotations

import json

import pytest
from documents import change

from repro_env.canonical import digest


def test_new_document_answers_201_with_computed_digests(api, observation):
    document = observation()
    answer = api.send(document)
    assert answer.status_code == 201
    receipt = answer.json()
    assert receipt["observation_id"] == "o1"
    assert receipt["run_id"] == "r1"
    assert receipt["project"] == "vision"
    assert receipt["created"] is True
    assert receipt["digests"]["stack"] == digest(document["stack"])
    assert receipt["digests"]["program"] == digest(document["program"])
    assert (receipt["warnings"], receipt["notes"]) == ([], [])


def test_same_document_again_answers_200_and_stores_nothing(api, observation):
    first = api.send(observation()).json()
    before = api.rows()
    answer = api.send(observation())
    assert answer.status_code == 200
    assert answer.json() == {**first, "created": False}
    assert api.rows() == before


def test_layout_and_claims_of_a_document_do_not_make_it_another(api, observation):
    document = observation()
    api.send(document)
    claimed = {**document, "digests": {"stack": digest(document["stack"]), "program": digest(document["program"])}}
    reordered = json.dumps(dict(reversed(claimed.items())), indent=3).encode()
    assert api.put("/v1/observations/o1", reordered).status_code == 200


@pytest.mark.parametrize("path", ["threads.torch_intraop", "layout.micro_batch", "capture.process.pid"])
def test_another_document_under_the_id_answers_409_and_the_first_stays(api, observation, path):
    api.send(observation())
    answer = api.send(observation(**{path: 3}))
    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/other-document"
    assert api.get("/v1/observations/o1").json() == observation()


def test_document_comes_back_as_it_was_sent(api, observation):
    document = observation(machine="h100", **{"capture.labels": {"owner": "tëam ✓"}})
    api.send(document)
    assert api.get("/v1/observations/o1").json() == document


def test_parts_are_stored_once(api, observation):
    for number in range(5):
        api.send(observation(f"o{number}", f"r{number}"))
    rows = api.rows()
    assert (rows["parts"], rows["observations"], rows["runs"]) == (2, 5, 5)
    assert (rows["vectors"], rows["projections"]) == (2, 2)


def test_document_without_a_run_is_a_run_of_its_own(api, observation):
    receipt = api.send(observation("dump", None, vantage="import")).json()
    assert receipt["run_id"] == "dump"
    assert api.get("/v1/runs/dump").json()["scope"] == "stack"


def test_newer_minor_schema_is_stored_whole_and_said(api, observation):
    document = {**observation(), "schema": "1.9"}
    document["stack"]["driver"]["firmware"] = "96.00"
    answer = api.send(document)
    assert answer.status_code == 201
    assert "1.9" in answer.json()["notes"][0]
    assert api.get("/v1/observations/o1").json() == document


def test_run_keeps_its_project(api, observation):
    api.send(observation())
    answer = api.send(observation("o2", **{"capture.project": "speech"}))
    assert answer.status_code == 409
    assert (answer.json()["type"], answer.json()["field"]) == ("/problems/other-project", "capture.project")
    assert api.send(observation("o3", **{"capture.project": None})).status_code == 201
    assert api.get("/v1/runs/r1").json()["project"] == "vision"


def test_lists_and_stack_tell_of_the_run(api, observation):
    receipt = api.send(observation(**{"capture.labels": {"owner": "a"}, "capture.results": {"w": "sha256:1"}})).json()
    run = api.get("/v1/runs/r1").json()
    (entry,) = run["entries"]
    assert entry["document"] == change(observation(), **{"capture.labels": {"owner": "a"},
                                                         "capture.results": {"w": "sha256:1"}})
    assert (entry["labels"], entry["results"], entry["vantage"]) == ({"owner": "a"}, {"w": "sha256:1"}, "process")
    assert entry["digests"] == receipt["digests"]
    assert api.get("/v1/runs/r1", documents="false").json()["entries"][0]["document"] is None
    stack = api.get(f"/v1/stacks/{receipt['digests']['stack']}").json()
    assert (stack["run_count"], stack["newest_runs"]) == (1, ["r1"])
    assert stack["stack"] == observation()["stack"]


def test_pages_hold_every_run_once_newest_first(api, observation):
    for number in range(7):
        api.send(observation(f"o{number}", f"r{number}", **{"capture.project": "ab"[number % 2]}))
    for project, expected in ((None, [6, 5, 4, 3, 2, 1, 0]), ("a", [6, 4, 2, 0])):
        path = "/v1/runs?limit=2" + (f"&project={project}" if project else "")
        seen = []
        while path:
            page = api.get(path).json()
            seen += [run["run_id"] for run in page["runs"]]
            path = page["next"]
        assert seen == [f"r{number}" for number in expected]


def test_run_that_comes_while_paging_moves_no_page(api, observation):
    for number in range(4):
        api.send(observation(f"o{number}", f"r{number}"))
    page = api.get("/v1/runs?limit=2").json()
    api.send(observation("late", "late"))
    assert [run["run_id"] for run in api.get(page["next"]).json()["runs"]] == ["r1", "r0"]



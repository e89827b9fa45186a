"""Manifests are stored once; a run conforms where it contradicts nothing that its image promises."""

from __future__ import annotations

import pytest
from documents import distribution

from repro_env_service.conformance import drift

IMAGE = "sha256:" + "a" * 64
PATH = "/v1/manifests/base/1"


@pytest.fixture
def manifest(observation):
    return lambda **overrides: observation("m", vantage="image", **overrides)


def test_manifest_is_stored_once_and_never_changed(api, manifest):
    assert api.put(PATH, manifest()).status_code == 201
    before = api.rows()
    again = api.put(PATH, manifest())
    assert (again.status_code, again.json()["created"]) == (200, False)
    other = api.put(PATH, manifest(**{"python.version": "3.12.1"}))
    assert (other.status_code, other.json()["type"]) == (409, "/problems/other-document")
    assert api.rows() == before
    assert api.get(PATH).json() == manifest()
    assert api.rows()["runs"] == 0


def test_manifest_of_another_vantage_is_refused(api, observation):
    answer = api.put(PATH, observation())
    assert (answer.status_code, answer.json()["field"]) == (422, "capture.vantage")


def test_unknown_manifest_answers_404(api):
    assert api.get(PATH).json()["type"] == "/problems/unknown-manifest"


@pytest.mark.parametrize(("fact", "how"), [("container.image_digest", "image"), ("container.image_key", "image")])
def test_manifest_is_found_by_the_image_of_the_run(api, manifest, observation, fact, how):
    api.put(PATH, manifest(**{fact: IMAGE}))
    api.send(observation(**{fact: IMAGE}))
    answer = api.get("/v1/runs/r1/conformance").json()
    assert (answer["found"], answer["manifest"], answer["conforms"], answer["drift"]) == (how, "base/1", True, [])
    assert answer["verdict"]["scope"] == "stack"


def test_manifest_of_the_project_is_the_fallback_and_a_named_one_wins(api, manifest, observation):
    api.send(observation())
    assert api.get("/v1/runs/r1/conformance").json()["type"] == "/problems/no-manifest-for-run"
    api.put(PATH, manifest())
    api.put("/v1/manifests/base/2", manifest(**{"python.version": "3.12.1"}))
    api.put("/v1/projects/vision/baseline", {"manifest": "base/1"})
    assert api.get("/v1/runs/r1/conformance").json()["found"] == "baseline"
    named = api.get("/v1/runs/r1/conformance?manifest=base/2").json()
    assert (named["found"], named["conforms"]) == ("named", False)
    assert named["drift"] == [{"path": "python.version", "expected": "3.12.1", "observed": "3.11.7"}]


def stack(observation, **overrides):
    return observation(**overrides)["stack"]


@pytest.mark.parametrize("path", ["system.kernel", "cpu.model", "threads.torch_intraop", "driver.kernel_module",
                                  "precision.autocast", "frameworks.torch.imported", "libraries.mkl.loaded"])
def test_facts_of_machine_and_process_are_no_drift(observation, path):
    assert drift(stack(observation), stack(observation, **{path: None})) == []


@pytest.mark.parametrize("path", ["python.version", "libraries.mkl.installed", "system.os_name",
                                  "frameworks.numpy.build"])
def test_facts_of_the_image_are_drift_where_both_sides_read_them(observation, path):
    changed = drift(stack(observation), stack(observation, **{path: "other"}))
    assert [row["path"] for row in changed] == [path]
    assert drift(stack(observation), stack(observation, **{path: {"unread": "denied"}})) == []


def test_added_removed_and_changed_distributions_are_drift(observation):
    installed = [distribution("numpy", "2.3.5"), distribution("rich", "14.0.0"), distribution("extra", "1.0"),
                 distribution("torch", "2.13.0+cpu")]
    rows = drift(stack(observation), stack(observation, **{"distributions.installed": installed}))
    assert {row["path"].rpartition(".")[2]: (row["expected"], row["observed"]) for row in rows} == {
        "rich": ("13.9.4", "14.0.0"), "extra": (None, "1.0"), "transformers": ("5.0.0", None)}

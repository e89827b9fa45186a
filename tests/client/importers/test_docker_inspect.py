"""docker's and podman's words on images and containers: two digests, allow-listed variables, no hints as facts."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.fingerprint.validate import validate

NOT_RECORDED = {"unread": "not-recorded"}
MANIFEST, OTHER_MANIFEST, CONFIG, IDENTITY = ("a1" * 32, "e5" * 32, "b2" * 32, "d4" * 32)


def image(**told):
    return {
        "Id": f"sha256:{CONFIG}",
        "RepoTags": ["registry.example.org/lab/train:24.05"],
        "RepoDigests": [f"registry.example.org/lab/train@sha256:{MANIFEST}"],
        "Architecture": "amd64",
        "Os": "linux",
        "Config": {"Env": ["PATH=/usr/bin", "OMP_NUM_THREADS=8"], "Labels": {}},
        **told,
    }


def container(env=("OMP_NUM_THREADS=4",), host=None, **told):
    return {
        "Id": IDENTITY,
        "Created": "2024-06-02T08:00:00Z",
        "State": {"Running": True},
        "Image": f"sha256:{CONFIG}",
        "ResolvConfPath": f"/var/lib/docker/containers/{IDENTITY}/resolv.conf",
        "Name": "/train",
        "Platform": "linux",
        "HostConfig": host or {},
        "Config": {"Hostname": "host-17", "Env": list(env), "Image": "lab/train:24.05"},
        **told,
    }


def text_of(*objects, indent=4):
    return json.dumps(list(objects), indent=indent)


def evidence(text):
    return {
        (piece["what"], piece["value"]): piece for piece in importers.import_text(text)["capture"]["image_evidence"]
    }


def test_manifest_digest_is_the_images_and_the_id_is_of_its_configuration():
    text = text_of(image())
    assert stack_of(text)["container"] == {
        "engine": NOT_RECORDED,
        "image_reference": "registry.example.org/lab/train:24.05",
        "image_digest": f"sha256:{MANIFEST}",
        "image_key": NOT_RECORDED,
        "learned": "engine",
    }
    assert ("config_digest", f"sha256:{CONFIG}") in evidence(text)
    assert ("image_digest", f"sha256:{CONFIG}") not in evidence(text)


def test_document_is_valid():
    document = importers.import_text(text_of(container(), image()))
    assert validate(document) == document


@pytest.mark.parametrize("digests", [[], None, ["<none>@<none>"], ["train@sha256:short"]])
def test_image_that_was_built_here_has_no_manifest_digest(digests):
    found = stack_of(text_of(image(RepoDigests=digests)))["container"]
    assert (found["image_digest"], found["learned"]) == (NOT_RECORDED, NOT_RECORDED)


def test_two_manifest_digests_leave_it_open():
    text = text_of(image(RepoDigests=[f"a/b@sha256:{MANIFEST}", f"c/d@sha256:{OTHER_MANIFEST}"]))
    assert stack_of(text)["container"]["image_digest"] == NOT_RECORDED
    assert {what for what, _ in evidence(text)} >= {"image_digest", "config_digest"}


@pytest.mark.parametrize("tags", [[], None, ["<none>:<none>"], [3]])
def test_image_without_a_name(tags):
    assert stack_of(text_of(image(RepoTags=tags)))["container"]["image_reference"] == NOT_RECORDED


def test_image_tells_no_engine_and_no_facts_of_a_process():
    stack = stack_of(text_of(image()))
    assert stack["container"]["engine"] == NOT_RECORDED
    assert stack["accelerators"]["devices"] == NOT_RECORDED
    assert (stack["system"]["os_family"], stack["cpu"]["architecture"]) == ("linux", "x86_64")
    assert any("those the image sets" in note for note in notes_of(text_of(image())))


def test_words_of_an_image_on_versions_and_drivers_are_no_facts():
    env = [
        "CUDA_VERSION=12.4.1",
        "NVIDIA_REQUIRE_CUDA=cuda>=12.4 driver>=470",
        "NV_CUDNN_VERSION=9.1.0.70-1",
        "NCCL_VERSION=2.21.5-1",
        "PYTHON_VERSION=3.11.9",
        "NVIDIA_PYTORCH_VERSION=24.05",
    ]
    text = text_of(image(Config={"Env": env}))
    stack = stack_of(text)
    assert stack["libraries"]["cuda_runtime"] == stack["libraries"]["cudnn"] == NOT_RECORDED
    assert stack["driver"]["kernel_module"] == stack["driver"]["cuda_level"] == NOT_RECORDED
    assert stack["python"]["version"] == NOT_RECORDED
    assert stack["variables"]["values"] == {}
    assert evidence(text)[("label", "NVIDIA_PYTORCH_VERSION=24.05")]["trust"] == "hinted"


def test_variables_of_the_allow_list_alone():
    env = ["OMP_NUM_THREADS=4", "WANDB_API_KEY=0000", "HOME=/home/someone", "CUBLAS_WORKSPACE_CONFIG=:4096:8", "BARE"]
    text = text_of(container(env=env))
    assert stack_of(text)["variables"]["values"] == {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "4"}
    assert "0000" not in json.dumps(importers.import_text(text)["stack"])
    assert "someone" not in json.dumps(importers.import_text(text))


def test_value_that_looks_like_a_credential_is_withheld():
    text = text_of(container(env=["XLA_FLAGS=token=hf_abcdefghijklmnopqrstuvwxyz0123456789"]))
    assert stack_of(text)["variables"]["values"] == {"XLA_FLAGS": {"unread": "denied"}}
    assert any("withheld" in note and "XLA_FLAGS" in note for note in notes_of(text))
    assert "hf_abc" not in json.dumps(importers.import_text(text))


def test_variable_that_stands_there_twice_has_its_last_value():
    assert stack_of(text_of(container(env=["TZ=UTC", "TZ=Asia/Tokyo"])))["variables"]["values"] == {"TZ": "Asia/Tokyo"}


def test_container_names_its_engine_and_itself():
    document = importers.import_text(text_of(container()))
    assert document["stack"]["container"]["engine"] == "docker"
    assert document["stack"]["container"]["image_reference"] == "lab/train:24.05"
    assert document["capture"]["container_id"] == IDENTITY
    assert document["capture"]["process"]["node"] == NOT_RECORDED


def test_podman():
    text = text_of(
        container(
            OCIRuntime="crun",
            ImageDigest=f"sha256:{MANIFEST}",
            ImageName="lab/train:24.05",
            Image=CONFIG,
            ResolvConfPath="/run/user/x",
        )
    )
    assert stack_of(text)["container"]["engine"] == "podman"
    assert stack_of(text)["container"]["image_digest"] == f"sha256:{MANIFEST}"
    assert ("config_digest", f"sha256:{CONFIG}") in evidence(text)


def test_container_started_by_digest():
    found = stack_of(text_of(container(Config={"Image": f"lab/train@sha256:{MANIFEST}"})))["container"]
    assert found["image_digest"] == f"sha256:{MANIFEST}"


def test_container_and_its_image_belong_together():
    found = stack_of(text_of(container(), image()))
    assert found["container"]["image_digest"] == f"sha256:{MANIFEST}"
    assert found["variables"]["values"] == {"OMP_NUM_THREADS": "4"}
    assert found["cpu"]["architecture"] == "x86_64"


def test_image_of_another_container_is_not_mixed_in():
    text = text_of(container(), image(Id=f"sha256:{'f6' * 32}"))
    assert stack_of(text)["container"]["image_digest"] == NOT_RECORDED
    assert any("1 more containers or images" in note for note in notes_of(text))


@pytest.mark.parametrize(
    ("host", "limit"),
    [
        ({"NanoCpus": 7_500_000_000}, 7500),
        ({"CpuQuota": 50000, "CpuPeriod": 25000}, 2000),
        ({"CpuQuota": 150000}, 1500),
        ({"NanoCpus": 0, "CpuQuota": 0}, NOT_RECORDED),
        ({"NanoCpus": "x"}, NOT_RECORDED),
        ({"CpuQuota": -1}, NOT_RECORDED),
        ({"NanoCpus": True}, NOT_RECORDED),
    ],
)
def test_share_of_processors(host, limit):
    assert stack_of(text_of(container(host=host)))["threads"]["cgroup_limit_millicpu"] == limit


@pytest.mark.parametrize(("told", "architecture"), [("amd64", "x86_64"), ("arm64", "aarch64"), ("sparc", NOT_RECORDED)])
def test_architecture(told, architecture):
    assert stack_of(text_of(image(Architecture=told)))["cpu"]["architecture"] == architecture


def test_label_of_the_allow_list_alone():
    labels = {"org.opencontainers.image.revision": "0a1b", "owner": "someone", "org.opencontainers.image.version": 3}
    found = evidence(text_of(image(Config={"Labels": labels})))
    assert [value for what, value in found if what == "label"] == ["org.opencontainers.image.revision=0a1b"]


@pytest.mark.parametrize("end", range(10, len(text_of(image())), 7))
def test_cut_anywhere_contradicts_nothing(end):
    whole = stack_of(text_of(image()))["container"]
    try:
        part = stack_of(text_of(image())[:end])["container"]
    except UnknownFormat:
        return
    assert {key: value for key, value in part.items() if value not in (NOT_RECORDED, whole[key])} == {}


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        [{}],
        [{"Id": "x"}],
        [{"Id": CONFIG}],
        [{"Id": 3, "RepoTags": []}],
        [[1]],
        3,
        None,
        [{"Id": None, "Image": "x"}],
    ],
    ids=repr,
)
def test_other_json_is_no_answer_of_docker(value):
    with pytest.raises(UnknownFormat):
        importers.import_text(json.dumps(value))


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [None], {"a": None}], ids=repr)
@pytest.mark.parametrize("key", ["RepoTags", "RepoDigests", "Config", "Architecture", "Os"])
def test_odd_values_raise_nothing(key, odd):
    importers.import_text(text_of(image(**{key: odd})))
    importers.import_text(text_of(image(Config={"Env": odd, "Labels": odd})))
    importers.import_text(text_of(container(Config=odd, HostConfig=odd)))

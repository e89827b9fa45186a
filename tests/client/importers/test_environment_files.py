"""Environment files of conda, and the files that MLflow writes beside a model."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat

NOT_RECORDED = {"unread": "not-recorded"}

EXPORTED = """name: seg
channels:
  - pytorch
dependencies:
  - libopenblas=0.3.15=pthreads_h8fe5266_1
  - numpy=1.20.3=py38h9894fe3_1
  - python=3.8.10=h49503c6_1_cpython
  - pytorch=1.9.0=py3.8_cuda11.1_cudnn8.0.5_0
  - pip:
    - timm==0.4.12
    - torchmetrics==0.4.1
prefix: /home/someone/miniconda3/envs/seg
"""


def versions(text):
    return {row["name"]: row["version"] for row in stack_of(text)["distributions"]["installed"]}


def by_hand(*dependencies, head="name: demo\nchannels:\n- defaults\n", tail=""):
    return f"{head}dependencies:\n" + "".join(f"- {line}\n" for line in dependencies) + tail


def test_export_is_the_whole_environment():
    stack = stack_of(EXPORTED)
    assert stack["distributions"]["complete"] is True
    assert stack["frameworks"]["jax"] is None
    assert stack["frameworks"]["torch"]["cuda_build"] == "11.1"
    assert stack["libraries"]["openblas"]["installed"] == "0.3.15"
    assert (stack["python"]["version"], stack["python"]["environment"]) == ("3.8.10", "conda")


def test_export_whose_end_is_missing_may_go_on():
    stack = stack_of(EXPORTED.partition("prefix:")[0])
    assert stack["distributions"]["complete"] == NOT_RECORDED
    assert stack["frameworks"]["jax"] == NOT_RECORDED


def test_name_and_folder_of_the_environment_are_not_kept():
    assert "someone" not in json.dumps(importers.import_text(EXPORTED))


def test_pip_section_is_of_wheels():
    text = EXPORTED.replace("  - pytorch=1.9.0=py3.8_cuda11.1_cudnn8.0.5_0\n", "").replace("timm", "torch")
    assert stack_of(text)["frameworks"]["torch"]["build"] == "wheel"


@pytest.mark.parametrize(
    ("spec", "name", "version"),
    [
        ("numpy=1.21.2", "numpy", "1.21.2"),
        ("numpy==1.21", "numpy", "1.21"),
        ("numpy = 1.21.2", "numpy", "1.21.2"),
        ("numpy=1.21=py39_0", "numpy", "1.21"),
        ("conda-forge::numpy=1.21.2", "numpy", "1.21.2"),
        ("pytorch::pytorch=1.7.1", "torch", "1.7.1"),
        ("numpy=1.21", "numpy", None),
        ("numpy>=1.21.2", "numpy", None),
        ("numpy 1.21.*", "numpy", None),
        ("numpy=1.21.*", "numpy", None),
        ("numpy", "numpy", None),
        ("numpy[version='>=1.2']", "numpy", None),
    ],
)
def test_version_that_a_file_written_by_hand_pins(spec, name, version):
    text = by_hand("python=3.9", spec, "tqdm=4.62.0")
    assert versions(text).get(name) == version
    assert versions(text)["tqdm"] == "4.62.0"


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ("python=3.8", "3.8"),
        ("python=3.8.10", "3.8.10"),
        ("python==3.8", "3.8"),
        ("python>=3.8", None),
        ("python", None),
    ],
)
def test_python_that_a_file_written_by_hand_asks_for(spec, version):
    text = by_hand(spec, "tqdm=4.62.0", head="name: x\n")
    assert stack_of(text)["python"]["version"] == (version or NOT_RECORDED)
    assert "python" not in versions(text)


def test_file_written_by_hand_is_no_whole_environment_and_says_so():
    text = by_hand("python=3.9", "numpy=1.21.2", tail="prefix: /x\n")
    assert stack_of(text)["distributions"]["complete"] is False
    assert any("asked for" in note for note in notes_of(text))


def test_channel_of_a_package_where_it_is_named():
    rows = stack_of(by_hand("conda-forge::numpy=1.21.2", "scipy=1.7.1"))["distributions"]["installed"]
    assert [row["origin"] for row in rows] == ["conda:conda-forge", NOT_RECORDED]


def test_variables_of_the_allow_list_alone():
    tail = 'variables:\n  OMP_NUM_THREADS: "4"\n  DATA_ROOT: /home/someone\n'
    text = by_hand("python=3.9", "numpy=1.21.2", tail=tail)
    values = stack_of(text)["variables"]["values"]
    assert values == {"OMP_NUM_THREADS": "4"}


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v2\nname: chart\ndependencies:\n- name: postgresql\n  version: 1.2.3\n",
        "dependencies:\n- a\n- b\n",
        "dependencies:\n",
        "name: x\ndependencies: none\n",
        "name: x\ndependencies:\n  a: 1\n",
        "build_dependencies:\n- pip==23.0\ndependencies:\n- python=3.8\n",
    ],
)
def test_other_files_with_dependencies_are_none_of_condas(text):
    with pytest.raises(UnknownFormat):
        importers.import_text(text)


def test_lines_that_are_not_read_are_told():
    text = EXPORTED.replace("channels:\n", "channels: &c\n")
    assert any("of a kind that is not read" in note for note in notes_of(text))
    assert stack_of(text)["python"]["version"] == "3.8.10"


DRESSES = {
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "quoted in a list": lambda text: "".join(f">   {line}\n" for line in text.splitlines()),
    "fenced": lambda text: f"My environment:\n\n```yaml\n{text}```\nThanks\n",
    "indented": lambda text: "".join(f"      {line}\n" for line in text.splitlines()),
    "log": lambda text: "".join(f"2024-07-05T10:11:12.123Z {line}\n" for line in text.splitlines()),
    "prompt above": lambda text: f"$ conda env export\n{text}",
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
}


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_dress_changes_no_fact(dress):
    assert stack_of(dress(EXPORTED)) == stack_of(EXPORTED)


# MLflow

MODEL = """artifact_path: model
flavors:
  python_function:
    loader_module: mlflow.{flavor}
    python_version: 3.10.12
  {flavor}:
    code: null
    {key}: {version}
mlflow_version: 2.9.2
run_id: 0000
"""


@pytest.mark.parametrize(
    ("flavor", "key", "version", "name"),
    [
        ("pytorch", "pytorch_version", "2.1.0+cu118", "torch"),
        ("sklearn", "sklearn_version", "1.3.2", "scikit-learn"),
        ("xgboost", "xgb_version", "2.0.2", "xgboost"),
        ("lightgbm", "lgb_version", "4.1.0", "lightgbm"),
        ("transformers", "transformers_version", "4.35.0", "transformers"),
        ("keras", "keras_version", "3.0.5", "keras"),
        ("onnx", "onnx_version", "1.15.0", "onnx"),
    ],
)
def test_version_of_every_flavour(flavor, key, version, name):
    text = MODEL.format(flavor=flavor, key=key, version=version)
    assert versions(text) == {name: version, "mlflow": "2.9.2"}
    assert stack_of(text)["python"]["version"] == "3.10.12"


def test_local_label_of_a_model_tells_the_build():
    text = MODEL.format(flavor="pytorch", key="pytorch_version", version="2.1.0+cu118")
    torch = stack_of(text)["frameworks"]["torch"]
    assert (torch["cuda_build"], torch["build"]) == ("11.8", "wheel")


def test_model_names_the_versions_it_was_saved_with_only():
    text = MODEL.format(flavor="sklearn", key="sklearn_version", version="1.3.2")
    assert stack_of(text)["distributions"]["complete"] is False
    assert stack_of(text)["frameworks"]["torch"] == NOT_RECORDED


@pytest.mark.parametrize("told", ["null", "''", "unknown", "{a: 1}", "[1]", "&x 1"])
def test_version_that_is_none_is_not_read(told):
    text = MODEL.format(flavor="pytorch", key="pytorch_version", version=told)
    assert versions(text) == {"mlflow": "2.9.2"}


@pytest.mark.parametrize(
    "text", ["flavors:\n- a\n- b\n", "flavors:\n  vanilla: 1\n", "flavors:\n", "flavors: many\nx: 1\n"]
)
def test_other_files_with_flavours_are_no_model(text):
    with pytest.raises(UnknownFormat):
        importers.import_text(text)


CONDA = """channels:
- conda-forge
dependencies:
- python=3.12.0
- pip<=24.2
- pip:
  - mlflow==2.20.1
  - numpy==2.2.2
  - torch==2.6.0
name: mlflow-env
"""


def test_conda_file_of_mlflow():
    stack = stack_of(CONDA)
    assert importers.detect(CONDA) == "mlflow-conda-yaml"
    assert stack["python"] == {**dict.fromkeys(stack["python"], NOT_RECORDED), "version": "3.12.0"}
    assert stack["frameworks"]["torch"]["version"] == "2.6.0"
    assert stack["frameworks"]["torch"]["build"] == NOT_RECORDED
    assert any("without local version labels" in note for note in notes_of(CONDA))


def test_conda_file_of_mlflow_is_not_the_environment_of_the_training():
    assert stack_of(CONDA)["distributions"]["complete"] is False
    assert stack_of(CONDA)["python"]["environment"] == NOT_RECORDED


def test_export_that_holds_mlflow_is_still_condas():
    text = EXPORTED.replace("timm==0.4.12", "mlflow==2.20.1")
    assert importers.detect(text) == "conda-env-export"


PYTHON_ENV = (
    "python: 3.10.12\nbuild_dependencies:\n- pip==23.2.1\n- wheel==0.38.4\ndependencies:\n- -r requirements.txt\n"
)


def test_python_env_file_of_mlflow():
    stack = stack_of(PYTHON_ENV)
    assert stack["python"]["version"] == "3.10.12"
    assert stack["distributions"]["installed"] == NOT_RECORDED


@pytest.mark.parametrize("version", ["3", "three", "'>=3.8'", ""])
def test_python_env_file_without_a_version_is_none(version):
    with pytest.raises(UnknownFormat):
        importers.import_text(PYTHON_ENV.replace("3.10.12", version))


def test_files_of_one_model_in_one_paste_are_joined():
    model = MODEL.format(flavor="pytorch", key="pytorch_version", version="2.6.0+cu124").replace("2.9.2", "2.20.1")
    text = model.replace("3.10.12", "3.12.0") + "\n---\n\n" + CONDA
    stack = stack_of(text)
    assert stack["frameworks"]["torch"]["version"] == "2.6.0+cu124"
    assert stack["frameworks"]["numpy"]["version"] == "2.2.2"

"""TensorFlow's script of blocks and the form of its issues, which people fill in by hand."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.importers import plain, tensorflow_issue
from repro_env.importers.format import Text

NOT_RECORDED = {"unread": "not-recorded"}
BLOCKS = {
    "check python": "python version: 3.8.10\npython compiler version: GCC 9.4.0\npython implementation: CPython",
    "check os platform": "os: Linux\nos release version: 5.4.0-77-generic\n"
    "linux distribution: ('Ubuntu', '20.04', 'focal')\n"
    "uname: uname_result(system='Linux', node='host-17', release='5.4.0-77-generic')\nmachine: x86_64",
    "are we in docker": "No",
    "check pips": "numpy                  1.19.5\nprotobuf               3.17.3\ntensorflow             2.5.0",
    "tensorflow import": "tf.version.VERSION = 2.5.0\ntf.version.GIT_VERSION = v2.5.0-rc3-213-ga4dfb8d1a71",
    "env": "LD_LIBRARY_PATH is unset\nDYLD_LIBRARY_PATH is unset",
    "nvidia-smi": "tf_env_collect.sh: line 147: nvidia-smi: command not found",
    "cuda libs": "",
    "python version": "(major, minor, micro, releaselevel, serial)\n(3, 8, 10, 'final', 0)",
}


def report(**told):
    """A report in which the named blocks say something else; ``None`` leaves a block out."""
    blocks = {**BLOCKS, **{name.replace("_", " "): text for name, text in told.items()}}
    return "".join(f"\n== {name} {'=' * 30}\n{text}\n" for name, text in blocks.items() if text is not None)


def test_blocks():
    stack = stack_of(report())
    assert stack["frameworks"]["tensorflow"]["version"] == "2.5.0"
    assert stack["frameworks"]["tensorflow"]["revision"] == "a4dfb8d1a71"
    assert (stack["python"]["version"], stack["python"]["compiler"]) == ("3.8.10", "GCC 9.4.0")
    assert (stack["system"]["os_family"], stack["system"]["kernel"]) == ("linux", "5.4.0-77-generic")
    assert stack["system"]["os_name"] == "Ubuntu 20.04"
    assert stack["cpu"]["architecture"] == "x86_64"


def test_name_of_the_node_is_not_kept():
    assert "host-17" not in json.dumps(importers.import_text(report()))


def test_missing_nvidia_smi_is_not_no_device():
    stack = stack_of(report())
    assert stack["accelerators"]["devices"] == NOT_RECORDED
    assert stack["driver"]["kernel_module"] == NOT_RECORDED


def test_what_tensorflow_says_of_itself_wins_over_its_row():
    text = report(tensorflow_import="tf.version.VERSION = 2.4.1\ntf.version.GIT_VERSION = v2.4.0-49-g85c8b2a817f")
    assert stack_of(text)["frameworks"]["tensorflow"]["version"] == "2.4.1"
    assert any("its package row says 2.5.0" in note for note in notes_of(text))


@pytest.mark.parametrize(
    ("lines", "version", "revision"),
    [
        ("tf.VERSION = 1.7.0\ntf.GIT_VERSION = v1.7.0-3-g024aecf414", "1.7.0", "024aecf414"),
        ("tf.VERSION = 1.13.1\ntf.GIT_VERSION = b'v1.13.1-0-g6612da8951'", "1.13.1", "6612da8951"),
        ("tf.version.VERSION = 2.10.0\ntf.version.GIT_VERSION = unknown", "2.10.0", NOT_RECORDED),
        ("tf.version.VERSION = 2.16.0-dev20231101", "2.16.0-dev20231101", NOT_RECORDED),
    ],
)
def test_import_of_every_era(lines, version, revision):
    facts = stack_of(report(check_pips="", tensorflow_import=lines))["frameworks"]["tensorflow"]
    assert (facts["version"], facts["revision"]) == (version, revision)


@pytest.mark.parametrize(
    "lines", ["ModuleNotFoundError: No module named 'tensorflow'", "", "Traceback (most recent call last):\n  File x"]
)
def test_import_that_failed_leaves_the_row(lines):
    text = report(tensorflow_import=lines)
    assert stack_of(text)["frameworks"]["tensorflow"]["version"] == "2.5.0"
    assert stack_of(report(tensorflow_import=lines, check_pips=""))["frameworks"]["tensorflow"] == NOT_RECORDED


def test_rows_of_old_pips():
    text = report(check_pips="numpy (1.14.2)\ntensorflow-gpu (1.7.0)", tensorflow_import="")
    assert stack_of(text)["frameworks"]["tensorflow"]["version"] == "1.7.0"
    assert stack_of(text)["distributions"]["complete"] is False


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("(3, 12, 0, 'candidate', 2)", "3.12.0rc2"),
        ("(3, 8, 10, 'final', 0)", "3.8.10"),
        ("(2, 7, 18, 'final', 0)", "2.7.18"),
    ],
)
def test_python_by_its_tuple(told, version):
    assert stack_of(report(check_python=None, python_version=told))["python"]["version"] == version


def test_cudnn_files_are_the_systems_only_in_its_folders():
    files = (
        "/usr/local/cuda-11.2/lib64/libcudnn.so.8.1.1\n/home/someone/venv/lib/python3.8/site-packages/libcudnn.so.9.0.0"
    )
    libraries = stack_of(report(cuda_libs=files))["libraries"]
    assert libraries["system_cudnn"] == ["8.1.1"]
    assert libraries["cudnn"] == NOT_RECORDED
    assert libraries["cuda_toolkit"] == NOT_RECORDED


@pytest.mark.parametrize(
    ("line", "value"),
    [("LD_LIBRARY_PATH is unset", None), ("LD_LIBRARY_PATH /usr/local/cuda/lib64", "/usr/local/cuda/lib64")],
)
def test_library_path(line, value):
    assert stack_of(report(env=f"{line}\nDYLD_LIBRARY_PATH is unset"))["variables"]["values"] == {
        "LD_LIBRARY_PATH": value
    }


@pytest.mark.parametrize(("told", "engine"), [("Yes", "docker"), ("No", NOT_RECORDED), ("", NOT_RECORDED)])
def test_no_docker_is_not_no_container(told, engine):
    assert stack_of(report(are_we_in_docker=told))["container"]["engine"] == engine


def test_banner_alone_is_no_report():
    with pytest.raises(UnknownFormat):
        importers.import_text("== compiler =====================\nc++ 9\n")


# The form

LIST = """**System information**
- Have I written custom code (as opposed to using a stock example script provided in TensorFlow): Yes
- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): {os}
- Mobile device (e.g. iPhone 8, Pixel 2, Samsung Galaxy) if the issue happens on mobile device:
- TensorFlow installed from (source or binary): {source}
- TensorFlow version (use command below): {version}
- Python version: {python}
- Bazel version (if compiling from source): N/A
- CUDA/cuDNN version: {cuda}
- GPU model and memory: {gpu}

It fails.
"""
HEADINGS = """### Source

{source}

### TensorFlow version

{version}

### Custom code

Yes

### OS platform and distribution

{os}

### Python version

{python}

### CUDA/cuDNN version

{cuda}

### GPU model and memory

{gpu}

### Current behavior?

It fails.
"""
DEFAULTS = {
    "os": "Linux Ubuntu 20.04",
    "source": "binary",
    "version": "2.5.0",
    "python": "3.8",
    "cuda": "11.2/8.1",
    "gpu": "RTX 3090, 24GB",
}
FORMS = pytest.mark.parametrize("form", [LIST, HEADINGS], ids=["list", "headings"])


def filled(form=LIST, **told):
    return form.format(**{**DEFAULTS, **told})


def read(text):
    return tensorflow_issue.read(Text(text, tuple(plain.lines(text))))


@FORMS
def test_answers_of_both_forms(form):
    stack = stack_of(filled(form))
    assert stack["frameworks"]["tensorflow"]["version"] == "2.5.0"
    assert stack["python"]["version"] == "3.8"
    assert (stack["system"]["os_family"], stack["system"]["os_name"]) == ("linux", "Linux Ubuntu 20.04")


@FORMS
def test_what_is_typed_of_cuda_and_gpu_stands_in_notes_only(form):
    text = filled(form)
    stack = stack_of(text)
    assert stack["accelerators"]["devices"] == NOT_RECORDED
    assert stack["driver"]["cuda_level"] == NOT_RECORDED
    assert stack["libraries"]["cuda_toolkit"] == NOT_RECORDED
    assert stack["libraries"]["system_cudnn"] == NOT_RECORDED
    assert stack["frameworks"]["tensorflow"]["cuda_build"] == NOT_RECORDED
    assert any("RTX 3090, 24GB" in note for note in notes_of(text))
    assert any("11.2/8.1" in note for note in notes_of(text))


@pytest.mark.parametrize(
    ("typed", "version"),
    [
        ("2.5.0", "2.5.0"),
        ("2.5", "2.5"),
        ("v2.5.0", "2.5.0"),
        ("tf 2.10", "2.10"),
        ("TF2.10", "2.10"),
        ("tensorflow-gpu 2.4.1", "2.4.1"),
        ("tensorflow==2.4.1", "2.4.1"),
        ("2.0.0-rc1", "2.0.0rc1"),
        ("v2.1.0-rc2-17-ge5bf8de410 2.1.0", "2.1.0"),
        ("('v1.14.0-rc1-22-gaf24dc91b5', '1.14.0')", None),
        ("unknown 2.6.0", "2.6.0"),
        ("2.4.1 and 2.5.0", None),
        ("tf-nightly", None),
        ("2.x", None),
        ("latest", None),
        ("all", None),
    ],
)
def test_versions_as_people_type_them(typed, version):
    found = read(filled(version=typed))
    stated = found.sections.get("frameworks", {}).get("tensorflow", {}).get("version") if found else None
    assert stated == version


@pytest.mark.parametrize(
    ("typed", "version"),
    [
        ("3.8", "3.8"),
        ("3.8.10", "3.8.10"),
        ("Python 3.8", "3.8"),
        ("3.6.9 64 bit", "3.6.9"),
        ("3.7 and 3.8", None),
        ("3", None),
    ],
)
def test_pythons_as_people_type_them(typed, version):
    assert read(filled(python=typed)).sections.get("python", {}).get("version") == version


@pytest.mark.parametrize(
    ("typed", "family", "name"),
    [
        ("Linux Ubuntu 18.04", "linux", "Linux Ubuntu 18.04"),
        ("CentOS 7.9", "linux", "CentOS 7.9"),
        ("Windows 10", "windows", "Windows 10"),
        ("macOS 13.4", "macos", "macOS 13.4"),
        ("Mac OS X Catalina", "macos", None),
        ("Linux", "linux", None),
        ("Ubuntu 18.04, Windows 10", None, None),
        ("Ubuntu 18.04 and 20.04", "linux", None),
        ("any", None, None),
    ],
)
def test_systems_as_people_type_them(typed, family, name):
    system = read(filled(os=typed)).sections.get("system", {})
    assert (system.get("os_family"), system.get("os_name")) == (family, name)


@pytest.mark.parametrize("typed", ["N/A", "n/a", "_No response_", "-", "", "None"])
@FORMS
def test_words_for_no_answer_are_none(form, typed):
    text = filled(form, python=typed, cuda=typed, gpu=typed)
    assert stack_of(text)["python"]["version"] == NOT_RECORDED
    assert not any("as typed" in note for note in notes_of(text))


@pytest.mark.parametrize(
    ("typed", "build"), [("source", "source"), ("binary", NOT_RECORDED), ("Source (r2.5)", "source")]
)
def test_build(typed, build):
    assert stack_of(filled(source=typed))["frameworks"]["tensorflow"]["build"] == build


@FORMS
def test_form_that_nobody_filled_in_is_no_report(form):
    assert read(form.format(**dict.fromkeys(DEFAULTS, ""))) is None


@pytest.mark.parametrize(
    "text", ["TensorFlow version: 2.5\n\nx\n", "Python version: 3.8\nGPU model and memory: x\nx\n"]
)
def test_one_or_two_answers_are_no_form(text):
    assert read(text) is None

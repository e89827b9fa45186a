"""Lists of conda and its twins in every form, and what ``conda info`` tells of the machine."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat

NOT_RECORDED = {"unread": "not-recorded"}
TITLE = "# packages in environment at /opt/conda/envs/x:"
HEADER = "# Name                    Version                   Build  Channel"


def listed(*rows, below="\n(x) $ \n"):
    return "\n".join([TITLE, "#", HEADER, *rows]) + "\n" + below


def installed(text):
    return {row["name"]: row for row in stack_of(text)["distributions"]["installed"]}


@pytest.mark.parametrize(
    ("row", "name", "version", "origin"),
    [
        ("numpy 1.26.2 py310h5f9d8c6_0  ", "numpy", "1.26.2", "conda:defaults"),
        ("numpy 1.26.2 py310h5f9d8c6_0 conda-forge", "numpy", "1.26.2", "conda:conda-forge"),
        (
            "numpy 1.26.2 py310h5f9d8c6_0 https://conda.example.org/own",
            "numpy",
            "1.26.2",
            "conda:https://conda.example.org/own",
        ),
        ("transformers 4.36.2 pypi_0 pypi", "transformers", "4.36.2", NOT_RECORDED),
        ("transformers 4.36.2 <pip>", "transformers", "4.36.2", NOT_RECORDED),
        ("transformers 4.36.2 pypi", "transformers", "4.36.2", NOT_RECORDED),
        ("pytorch 2.1.2 py3.10_cpu_0 pytorch", "torch", "2.1.2", "conda:pytorch"),
        ("_libgcc_mutex 0.1 main  ", "libgcc-mutex", "0.1", "conda:defaults"),
        ("jpeg 9e h166bdaf_1 conda-forge", "jpeg", "9e", "conda:conda-forge"),
        ("tzdata 2023c h04d1e81_0  ", "tzdata", "2023c", "conda:defaults"),
    ],
)
def test_every_row_of_the_table(row, name, version, origin):
    found = installed(listed(row, "zlib 1.2.13 h5eee18b_0  "))[name]
    assert (found["version"], found["origin"]) == (version, origin)


def test_table_that_something_follows_is_whole():
    stack = stack_of(listed("numpy 1.26.2 py310h5f9d8c6_0  ", "python 3.10.13 h955ad1f_0  "))
    assert stack["distributions"]["complete"] is True
    assert (stack["frameworks"]["torch"], stack["frameworks"]["jax"]) == (None, None)


def test_table_at_the_end_of_the_text_may_go_on():
    stack = stack_of(listed("numpy 1.26.2 py310h5f9d8c6_0  ", "python 3.10.13 h955ad1f_0  ", below=""))
    assert stack["distributions"]["complete"] == NOT_RECORDED
    assert stack["frameworks"]["torch"] == NOT_RECORDED
    assert stack["python"]["version"] == "3.10.13"


def test_path_of_the_environment_is_not_kept():
    text = listed("numpy 1.26.2 py310h5f9d8c6_0  ").replace("/opt/conda", "/home/someone/conda")
    assert "someone" not in json.dumps(importers.import_text(text))


def test_title_alone_is_no_list():
    with pytest.raises(UnknownFormat):
        importers.import_text(TITLE + "\n#\n" + HEADER + "\n")


def test_table_of_mamba():
    text = (
        'List of packages in environment: "/opt/mamba"\n\n  Name    Version  Build         Channel\n'
        + "\u2500" * 50
        + "\n  numpy   2.1.3    py312h58c1407_0  conda-forge"
        + "\n  python  3.12.7   hc5c86c4_0_cpython  conda-forge\n\n$\n"
    )
    assert installed(text)["numpy"]["origin"] == "conda:conda-forge"
    assert stack_of(text)["python"]["implementation"] == "cpython"


@pytest.mark.parametrize("line", ["numpy", "numpy 1.26.2 a b c d", "Collecting numpy", "zlib unknown h0_0"])
def test_line_that_is_no_row_ends_the_table(line):
    found = installed(listed("anyio 4.0 py310_0  ", "blas 1.0 mkl  ", line, "torch 2.0.0 pypi_0 pypi"))
    assert sorted(found) == ["anyio", "blas"]


# --export and --explicit

EXPORT = "# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n"


@pytest.mark.parametrize(
    ("platform", "system", "machine"),
    [("linux-64", "linux", "x86_64"), ("win-64", "windows", "x86_64"), ("osx-arm64", "macos", "arm64")],
)
def test_export_names_its_platform(platform, system, machine):
    text = f"{EXPORT}# platform: {platform}\nnumpy=1.21.5=py39h7a0a035_3\npython=3.9.12=h6244533_0\n"
    stack = stack_of(text)
    assert (stack["system"]["os_family"], stack["cpu"]["architecture"]) == (system, machine)
    assert stack["python"]["version"] == "3.9.12"


def test_export_names_no_channel():
    text = f"{EXPORT}# platform: linux-64\nnumpy=1.21.5=py39h7a0a035_3\ntimm=0.6.5=pypi_0\nzlib=1.2=h0_0\n"
    assert {row["origin"]["unread"] for row in installed(text).values()} == {"not-recorded"}


ADDRESSES = """@EXPLICIT
https://conda.example.org/conda-forge/linux-64/numpy-1.26.4-py311h64a7726_0.conda#a502d7aad449a1206efb366d6a12c52d
https://repo.example.com/pkgs/main/linux-64/mkl-2023.1.0-h213fc3f_46344.conda
https://conda.example.org/pytorch/linux-64/pytorch-2.1.2-py3.11_cuda12.1_cudnn8.9.2_0.tar.bz2
https://conda.example.org/conda-forge/noarch/typing_extensions-4.12.2-pyha770c72_0.conda
"""


def test_explicit_list():
    found = installed(ADDRESSES)
    assert {name: (row["version"], row["origin"]) for name, row in found.items()} == {
        "numpy": ("1.26.4", "conda:conda-forge"),
        "mkl": ("2023.1.0", "conda:defaults"),
        "torch": ("2.1.2", "conda:pytorch"),
        "typing-extensions": ("4.12.2", "conda:conda-forge"),
    }
    stack = stack_of(ADDRESSES)
    assert stack["frameworks"]["torch"]["cuda_build"] == "12.1"
    assert stack["cpu"]["architecture"] == "x86_64"


def test_explicit_list_knows_nothing_of_pip():
    stack = stack_of(ADDRESSES + "\nend\n")
    assert stack["distributions"]["complete"] is False
    assert stack["frameworks"]["jax"] == NOT_RECORDED
    assert any("pip" in note for note in notes_of(ADDRESSES))


# JSON

ITEMS = [
    {"name": "numpy", "version": "1.26.4", "build_string": "py310_0", "channel": "pkgs/main", "platform": "linux-64"},
    {"name": "torch", "version": "2.3.0", "build_string": "pypi_0", "channel": "pypi", "platform": "pypi"},
    {"name": "xz", "version": "5.4.5", "build_string": "h5eee18b_0", "channel": "conda-forge", "platform": "linux-64"},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_json(indent):
    text = json.dumps(ITEMS, indent=indent)
    stack = stack_of(text)
    assert stack["distributions"]["complete"] is True
    assert stack["system"]["os_family"] == "linux"
    assert stack["frameworks"]["torch"]["build"] == "wheel"
    assert [row["origin"] for row in stack["distributions"]["installed"]] == [
        "conda:defaults",
        NOT_RECORDED,
        "conda:conda-forge",
    ]


def test_json_of_conda_is_not_taken_for_pips():
    assert importers.detect(json.dumps(ITEMS)) == "conda-list"


def test_json_that_is_cut_leaves_out_the_broken_element():
    text = json.dumps(ITEMS, indent=1)
    cut = text[: text.index("5.4.5")]
    assert sorted(installed(cut)) == ["numpy", "torch"]
    assert stack_of(cut)["distributions"]["complete"] == NOT_RECORDED


# conda info

INFO = """
     active environment : base
    active env location : /opt/conda
            shell level : 1
          conda version : {conda}
    conda-build version : not installed
         python version : 3.9.12.final.0
       virtual packages : {virtual}
       base environment : /opt/conda  (writable)
               platform : {platform}
             user-agent : {agent}
           offline mode : False
{below}
"""
DEFAULTS = {
    "conda": "4.12.0",
    "virtual": "__linux=5.4.0=0\n                          __glibc=2.31=0\n                          __cuda=11.6=0",
    "platform": "linux-64",
    "agent": "conda/4.12.0 requests/2.27.1 CPython/3.9.12 Linux/5.4.0-100-generic ubuntu/20.04.4 glibc/2.31",
    "below": "",
}


def info(**told):
    return INFO.format(**{**DEFAULTS, **told})


def test_virtual_packages_are_driver_libc_and_system():
    stack = stack_of(info())
    assert stack["driver"]["cuda_level"] == "11.6"
    assert stack["system"]["libc"] == "glibc 2.31"
    assert (stack["system"]["os_family"], stack["system"]["kernel"]) == ("linux", "5.4.0-100-generic")
    assert stack["cpu"]["architecture"] == "x86_64"


def test_conda_tells_neither_toolkit_nor_build_nor_driver():
    stack = stack_of(info())
    assert stack["driver"]["kernel_module"] == NOT_RECORDED
    assert stack["libraries"]["cuda_toolkit"] == NOT_RECORDED
    assert stack["libraries"]["cuda_runtime"] == NOT_RECORDED
    assert stack["frameworks"]["torch"] == NOT_RECORDED


def test_python_of_conda_itself_is_not_the_environments():
    assert stack_of(info())["python"]["version"] == NOT_RECORDED
    assert any("python version" in note for note in notes_of(info()))


@pytest.mark.parametrize(
    "virtual",
    [
        "__linux=5.4.0=0",
        "__unix=0=0",
        "",
        "None",
        "__cuda=unknown=0",
        "__cuda=0",
        "__win=0=0\n      __archspec=1=x86_64",
    ],
)
def test_no_cuda_among_them_is_not_no_driver(virtual):
    assert stack_of(info(virtual=virtual))["driver"]["cuda_level"] == NOT_RECORDED


def test_level_set_by_a_variable_is_not_believed():
    text = info(below="CONDA_OVERRIDE_CUDA=12.0")
    assert stack_of(text)["driver"]["cuda_level"] == NOT_RECORDED
    assert any("__cuda is set by a variable" in note for note in notes_of(text))


def test_system_of_a_mac():
    text = info(
        platform="osx-arm64",
        virtual="__osx=13.4=0\n      __unix=0=0",
        agent="conda/23.5.0 requests/2.31.0 CPython/3.11.3 Darwin/22.5.0 OSX/13.4",
    )
    stack = stack_of(text)
    assert (stack["system"]["os_family"], stack["cpu"]["architecture"]) == ("macos", "arm64")
    assert stack["system"]["kernel"] == NOT_RECORDED


def test_places_and_users_are_not_kept():
    text = info().replace("/opt/conda", "/home/someone/conda")
    assert "someone" not in json.dumps(importers.import_text(text))


JSON_INFO = {
    "conda_version": "24.5.0",
    "platform": "linux-aarch64",
    "env_vars": {},
    "virtual_pkgs": [["__cuda", "12.2", "0"], ["__glibc", "2.35", "0"]],
}


def test_info_as_json():
    stack = stack_of(json.dumps(JSON_INFO, indent=2))
    assert stack["driver"]["cuda_level"] == "12.2"
    assert stack["system"]["libc"] == "glibc 2.35"
    assert stack["cpu"]["architecture"] == "aarch64"


@pytest.mark.parametrize("virtual", [None, 3, [], [3], [["__cuda"]], [[]], {"__cuda": "12.2"}])
def test_info_of_another_shape_raises_nothing(virtual):
    stack = stack_of(json.dumps({**JSON_INFO, "virtual_pkgs": virtual, "env_vars": virtual}))
    assert stack["driver"]["cuda_level"] == NOT_RECORDED


def test_info_and_list_in_one_paste_are_joined():
    text = info() + "\n" + listed("numpy 1.26.2 py310h5f9d8c6_0  ", "python 3.10.13 h955ad1f_0  ")
    stack = stack_of(text)
    assert stack["driver"]["cuda_level"] == "11.6"
    assert stack["python"]["version"] == "3.10.13"
    assert any("another report, conda-list" in note for note in notes_of(text))


PRIVATE = """\
# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
numpy                     1.26.4          py310h1234_0    https://conda.example.org/t/tk-planted-1a2b3c4d/main
scipy                     1.11.4          py310h1234_0    https://user:planted@conda.example.org/private
"""


def test_the_channel_of_a_package_is_told_without_password_and_token() -> None:
    installed = stack_of(PRIVATE)["distributions"]["installed"]

    assert {item["name"]: item["origin"] for item in installed} == {
        "numpy": "conda:https://conda.example.org/main", "scipy": "conda:https://conda.example.org/private"}

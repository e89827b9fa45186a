"""Lists of pip: freeze in all its lines, requirements that pin, the table, the lines of old pips, JSON."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat

NOT_RECORDED = {"unread": "not-recorded"}
COMMIT = "3f9d2c1b8a7e6f5d4c3b2a190817263544f3e2d1"


def installed(text):
    return {row["name"]: row for row in stack_of(text)["distributions"]["installed"]}


def versions(text):
    return {name: row["version"] for name, row in installed(text).items()}


def frozen(*lines):
    """A list of three rows and the given ones, so that it is a list whatever the given ones are."""
    return "\n".join(["anyio==4.4.0", "attrs==24.2.0", *lines, "zipp==3.20.0"]) + "\n"


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("numpy==1.26.4", "numpy", "1.26.4"),
        ("numpy == 1.26.4", "numpy", "1.26.4"),
        ("ruamel.yaml.clib==0.2.8", "ruamel-yaml-clib", "0.2.8"),
        ("Typing_Extensions==4.12.2", "typing-extensions", "4.12.2"),
        ("torch==2.5.0.dev20240901+cu124", "torch", "2.5.0.dev20240901+cu124"),
        ("odd===1.0-final", "odd", "1.0-final"),
        ("epoch==1!2.0", "epoch", "1!2.0"),
        ("uvicorn[standard]==0.30.6", "uvicorn", "0.30.6"),
        ("colorama==0.4.6 ; sys_platform == 'win32'", "colorama", "0.4.6"),
        ("colorama==0.4.6; sys_platform == 'win32'", "colorama", "0.4.6"),
        ("idna==3.8  # via requests", "idna", "3.8"),
        ("idna==3.8 --hash=sha256:00ff", "idna", "3.8"),
        ("idna==3.8 \\", "idna", "3.8"),
        (f"-e git+https://git.example.org/a/b.git@{COMMIT}#egg=b", "b", NOT_RECORDED),
        (f"-e git+ssh://git@git.example.org/a/b.git@{COMMIT}#egg=b&subdirectory=x", "b", NOT_RECORDED),
        ("b @ file:///home/someone/b", "b", NOT_RECORDED),
        ("b @ file:///opt/wheels/b-1.2-py3-none-any.whl#sha256=00", "b", "1.2"),
        ("b @ https://files.example.org/b-1.2%2Bcu121-cp310-cp310-linux_x86_64.whl", "b", "1.2+cu121"),
        ("b @ https://files.example.org/other-1.2-py3-none-any.whl", "b", NOT_RECORDED),
        ("# Editable install with no version control (lab-tools==0.3.1)", "lab-tools", "0.3.1"),
        ("# Editable Git install with no remote (lab-tools==0.3.1)", "lab-tools", "0.3.1"),
        ("## !! Could not detect repository location", "zipp", "3.20.0"),
    ],
)
def test_every_line_of_pip_freeze(line, name, version):
    assert versions(frozen(line))[name] == version


@pytest.mark.parametrize(
    "line",
    [
        "protobuf>=4.25,<6",
        "protobuf~=4.25",
        "protobuf!=4.0",
        "protobuf",
        "protobuf==4.*",
        "-r requirements-dev.txt",
        "-c constraints.txt",
        "-f https://files.example.org/wheels",
        "--no-binary protobuf",
        "--index-url https://index.example.org/simple",
        "-e /home/someone/protobuf",
        "# protobuf==4.25.0 was here",
    ],
)
def test_line_that_pins_nothing_is_no_distribution_and_does_not_end_the_list(line):
    assert versions(frozen(line)) == {"anyio": "4.4.0", "attrs": "24.2.0", "zipp": "3.20.0"}


def test_bounds_are_counted_in_a_note():
    assert any("2 of the lines pin no version" in note for note in notes_of(frozen("a>=1", "b")))


def test_repository_is_origin_and_revision():
    row = installed(frozen(f"b @ git+https://user:secret@git.example.org/a/b.git@{COMMIT}"))["b"]
    assert (row["origin"], row["revision"], row["editable"]) == ("git+https://git.example.org/a/b.git", COMMIT, False)


@pytest.mark.parametrize("reference", ["main", "v1.0"])
def test_branch_or_tag_is_no_revision(reference):
    row = installed(frozen(f"b @ git+https://git.example.org/a/b.git@{reference}"))["b"]
    assert (row["origin"], row["revision"]) == ("git+https://git.example.org/a/b.git", NOT_RECORDED)


def test_in_place_from_a_repository_is_editable():
    row = installed(frozen(f"-e git+https://git.example.org/a/b.git@{COMMIT}#egg=b"))["b"]
    assert (row["revision"], row["editable"]) == (COMMIT, True)


@pytest.mark.parametrize("line", ["b @ file:///home/someone/b", "b @ file:///croot/b_1654083177872/work"])
def test_folder_of_a_person_or_of_a_build_is_not_kept(line):
    assert installed(frozen(line))["b"]["origin"] == NOT_RECORDED
    assert "someone" not in json.dumps(importers.import_text(frozen(line)))


def test_list_of_this_form_is_never_the_whole_environment():
    stack = stack_of(frozen())
    assert stack["distributions"]["complete"] is False
    assert stack["frameworks"]["torch"] == NOT_RECORDED


def test_version_that_the_end_of_the_text_may_break_is_not_read():
    assert "zipp" in versions(frozen())
    assert "zipp" not in versions(frozen().rstrip("\n"))


def test_prose_ends_the_list():
    text = frozen() + "\nAnd on the other machine I had\nnumpy==1.0\n"
    assert "numpy" not in versions(text)


@pytest.mark.parametrize(
    "text",
    [
        "I use numpy==1.26.4 and it fails\n",
        "numpy==1.26.4\nfails with the message below when I call it twice in a row, see the trace\n",
        "x == 1\nprint(x)\nfoo(bar)\n",
    ],
)
def test_word_about_a_version_is_no_list(text):
    with pytest.raises(UnknownFormat):
        importers.import_text(text)


@pytest.mark.parametrize(
    "text", ["torch==2.4.1+cpu\n", "torch==2.4.1+cpu\nnumpy==1.26.4\n", "```\ntorch==2.4.1+cpu\n```\n"]
)
def test_short_list_that_is_all_of_the_text_is_one(text):
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cpu"


def test_same_name_twice_keeps_the_first_and_says_so():
    text = frozen("numpy==1.26.4", "numpy==2.0.0")
    assert versions(text)["numpy"] == "1.26.4"
    assert any("numpy is listed as 1.26.4" in note for note in notes_of(text))


# The table


TABLE = """Package            Version
------------------ -----------
{rows}
"""


def table(*rows, below="\n[notice] A new release of pip is available: 24.0 -> 24.2\n"):
    return TABLE.format(rows="\n".join(rows)) + below


def test_table_that_something_follows_is_whole():
    stack = stack_of(table("numpy              2.1.0", "pip                24.0"))
    assert stack["distributions"]["complete"] is True
    assert stack["frameworks"]["torch"] is None
    assert stack["frameworks"]["jax"] is None
    assert stack["frameworks"]["numpy"]["version"] == "2.1.0"


def test_table_at_the_end_of_the_text_may_go_on():
    stack = stack_of(table("numpy              2.1.0", "pip                24.0", below=""))
    assert stack["distributions"]["complete"] == NOT_RECORDED
    assert stack["frameworks"]["torch"] == NOT_RECORDED


@pytest.mark.parametrize("below", ["scip", "scipy\n```\n", "scipy              1.1", "\nscip"])
def test_fragment_of_a_row_does_not_show_the_end_of_the_table(below):
    stack = stack_of(table("numpy              2.1.0", "pip                24.0", below=below))
    assert stack["distributions"]["complete"] == NOT_RECORDED
    assert stack["frameworks"]["torch"] == NOT_RECORDED


@pytest.mark.parametrize(
    "header",
    [
        "Package Version",
        "Package    Version    Location",
        "Package    Version    Editable project location",
        "Package    Version    Location   Installer",
        "package    version",
        "Package    Version    Latest  Type",
    ],
)
def test_header_of_any_pip(header):
    text = f"{header}\n-------- -------\nnumpy 1.26.4\nscipy 1.13.0\n\ndone\n"
    assert versions(text) == {"numpy": "1.26.4", "scipy": "1.13.0"}


@pytest.mark.parametrize(
    ("location", "editable"),
    [("/home/someone/trainer", True), ("c:\\work\\trainer", True), ("pip", NOT_RECORDED)],
)
def test_folder_of_an_editable_install(location, editable):
    row = installed(table(f"trainer            1.0         {location}"))["trainer"]
    assert row["editable"] == editable
    assert row["origin"] == NOT_RECORDED


def test_lines_of_old_pips_are_a_selection():
    stack = stack_of("numpy (1.14.2)\nscipy (1.0.1)\ntensorflow-gpu (1.7.0)\n\nbye\n")
    assert stack["distributions"]["complete"] is False
    assert stack["frameworks"]["tensorflow"]["version"] == "1.7.0"
    assert stack["frameworks"]["torch"] == NOT_RECORDED


def test_two_words_in_brackets_are_no_list():
    with pytest.raises(UnknownFormat):
        importers.import_text("numpy (1.14.2)\nand then\n")


# JSON


ITEMS = [{"name": "numpy", "version": "2.1.0"}, {"name": "pip", "version": "24.0"}]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_whole_when_its_bracket_closes(indent):
    stack = stack_of(json.dumps(ITEMS, indent=indent))
    assert stack["distributions"]["complete"] is True
    assert stack["frameworks"]["torch"] is None


def test_json_that_is_cut_keeps_its_whole_elements():
    text = json.dumps(ITEMS)
    cut = stack_of(text[: text.index("24.0") + 2])
    assert cut["distributions"]["complete"] == NOT_RECORDED
    assert [row["name"] for row in cut["distributions"]["installed"]] == ["numpy"]


def test_json_of_other_things_is_no_list():
    with pytest.raises(UnknownFormat):
        importers.import_text('[{"name": "numpy"}, {"version": "1.0"}, 3, null]')


@pytest.mark.parametrize("dress", [lambda line: f"> {line}", lambda line: f"      {line}"], ids=["quoted", "indented"])
def test_json_in_a_quote(dress):
    text = json.dumps(ITEMS, indent=1)
    assert stack_of("\n".join(map(dress, text.split("\n")))) == stack_of(text)

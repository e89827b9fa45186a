"""Settings: which source wins, what a wrong value does, and that a token is never shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repro_env import flat_toml
from repro_env.errors import UsageError
from repro_env.settings import FILE_KEYS, label, load

OLD_PYTHON = "import sys; sys.path.insert(0, sys.argv[1]); "


def wrote(folder: Path, text: str, name: str = "reproenv.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_flag_wins_over_a_variable_over_a_file(tmp_path: Path) -> None:
    path = wrote(tmp_path, 'server = "http://file"\nproject = "file"\ngroup = "file"\n')
    environ = {"REPRO_ENV_PROJECT": "variable", "REPRO_ENV_GROUP": "variable"}
    settings = load({"group": "flag"}, environ, str(tmp_path))
    assert (settings.server, settings.project, settings.group) == ("http://file", "variable", "flag")
    assert settings.sources == {"server": str(path), "project": "variable", "group": "flag"}


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    settings = load({}, {}, str(tmp_path))
    assert (settings.server, settings.timeout_s, settings.labels, settings.sources) == (None, 2.0, {}, {})


def test_an_empty_flag_or_variable_counts_as_not_given(tmp_path: Path) -> None:
    settings = load({"project": ""}, {"REPRO_ENV_GROUP": ""}, str(tmp_path))
    assert (settings.project, settings.group, settings.warnings) == (None, None, [])


def test_labels_of_all_sources_add_up_and_the_stronger_wins(tmp_path: Path) -> None:
    wrote(tmp_path, '[labels]\nowner = "file"\nsite = "file"\n')
    settings = load({"labels": ["owner=flag"]}, {"REPRO_ENV_LABELS": "owner=variable, kind=b"}, str(tmp_path))
    assert settings.labels == {"owner": "flag", "site": "file", "kind": "b"}


def test_a_file_is_found_in_a_folder_above(tmp_path: Path) -> None:
    wrote(tmp_path, 'project = "above"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert load({}, {}, str(below)).project == "above"


def test_the_nearest_file_wins_alone(tmp_path: Path) -> None:
    wrote(tmp_path, 'project = "above"\ngroup = "above"\n')
    (tmp_path / "a").mkdir()
    wrote(tmp_path / "a", 'project = "near"\n')
    settings = load({}, {}, str(tmp_path / "a"))
    assert (settings.project, settings.group) == ("near", None)


def test_the_search_upwards_is_bounded(tmp_path: Path) -> None:
    wrote(tmp_path, 'project = "far"\n')
    deep = tmp_path.joinpath(*"abcdefghijklmnopq")
    deep.mkdir(parents=True)
    assert load({}, {}, str(deep)).project is None


def test_a_table_in_pyproject_counts(tmp_path: Path) -> None:
    wrote(tmp_path, '[project]\nname = "x"\n[tool.repro-env]\nproject = "mine"\n[tool.repro-env.labels]\na = "b"\n',
          "pyproject.toml")
    settings = load({}, {}, str(tmp_path))
    assert (settings.project, settings.labels) == ("mine", {"a": "b"})


def test_a_pyproject_of_somebody_else_is_passed_over(tmp_path: Path) -> None:
    wrote(tmp_path, 'project = "above"\n')
    (tmp_path / "a").mkdir()
    wrote(tmp_path / "a", '[project]\nname = "x"\n', "pyproject.toml")
    assert load({}, {}, str(tmp_path / "a")).project == "above"


def test_a_relative_spool_lies_beside_its_file(tmp_path: Path) -> None:
    wrote(tmp_path, 'spool = "waiting"\n')
    assert load({}, {}, str(tmp_path)).spool == str(tmp_path / "waiting")


def test_an_unknown_key_is_warned_of_with_a_suggestion(tmp_path: Path) -> None:
    path = wrote(tmp_path, 'sever = "http://x"\nqqqqq = 1\n')
    settings = load({}, {}, str(tmp_path))
    assert settings.warnings == [f"{path}: unknown setting 'sever'; did you mean server?",
                                 f"{path}: unknown setting 'qqqqq'; there are {', '.join(FILE_KEYS)}"]


@pytest.mark.parametrize(("line", "words"), [
    ("timeout_s = 0", "expected seconds above 0"), ("timeout_s = true", "expected seconds above 0"),
    ('timeout_s = "soon"', "expected seconds above 0"), ("server = 7", "expected text, got 7"),
    ('project = "a b"', "expected a name"), ('project = "-a"', "expected a name"),
    ("labels = 3", "labels"), ('run_id = "x"', "unknown setting 'run_id'")])
def test_a_wrong_value_in_a_file_is_said_and_not_used(tmp_path: Path, line: str, words: str) -> None:
    path = wrote(tmp_path, line + "\n")
    settings = load({}, {}, str(tmp_path))
    assert settings.sources == {}
    assert len(settings.warnings) == 1
    assert str(path) in settings.warnings[0]
    assert words in settings.warnings[0]


@pytest.mark.parametrize("text", ['server = "x', "[", "= 3", "\x00", 'a = "b"\na = "c"\n'])
def test_a_file_that_is_no_toml_is_said_and_not_used(tmp_path: Path, text: str) -> None:
    wrote(tmp_path, text)
    settings = load({}, {}, str(tmp_path))
    assert settings.sources == {}
    assert "the file is not used" in settings.warnings[0]


def test_a_file_in_another_encoding_is_said(tmp_path: Path) -> None:
    (tmp_path / "reproenv.toml").write_bytes(b'project = "\xff"')
    assert "expected UTF-8" in load({}, {}, str(tmp_path)).warnings[0]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    wrote(tmp_path, "# " + "x" * 300_000)
    assert "expected at most" in load({}, {}, str(tmp_path)).warnings[0]


def test_a_wrong_variable_is_said_and_the_file_counts(tmp_path: Path) -> None:
    wrote(tmp_path, "timeout_s = 5\n")
    settings = load({}, {"REPRO_ENV_TIMEOUT_S": "never"}, str(tmp_path))
    assert settings.timeout_s == 5
    assert settings.warnings == [
        "REPRO_ENV_TIMEOUT_S: expected seconds above 0 and at most 600, got 'never'; it is not used"]


def test_a_wrong_flag_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--timeout: expected seconds"):
        load({"timeout_s": "0"}, {}, str(tmp_path))


def test_a_wrong_flag_is_a_warning_where_a_job_must_go_on(tmp_path: Path) -> None:
    settings = load({"labels": ["nonsense"]}, {}, str(tmp_path), tolerant=True)
    assert settings.warnings == ["--label: expected k=v with an ASCII name, as in owner=team-a, got 'nonsense'; it is "
                                 "not used"]


def test_a_token_comes_from_variable_or_file_and_is_shown_nowhere(tmp_path: Path) -> None:
    wrote(tmp_path, 'token = "s3cret"\n')
    settings = load({}, {}, str(tmp_path))
    assert settings.token == "s3cret"
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in str(settings.variables())
    wrong = load({}, {"REPRO_ENV_TOKEN": "s3cret\nx"}, str(tmp_path / ".."))
    assert wrong.token is None
    assert "s3cret" not in str(wrong.warnings)


def test_settings_travel_to_a_child_as_variables(tmp_path: Path) -> None:
    flags = {"labels": ["a=b", "c=d"], "timeout_s": "3", "server": "http://h", "run_id": "run-a"}
    given = load(flags, {}, str(tmp_path))
    again = load({}, given.variables(), str(tmp_path))
    assert (again.labels, again.timeout_s) == ({"a": "b", "c": "d"}, 3.0)
    assert (again.server, again.run_id) == ("http://h", "run-a")


@pytest.mark.parametrize(("text", "pair"), [("a=b", ("a", "b")), ("a=", ("a", "")), ("a=b=c", ("a", "b=c"))])
def test_a_label_is_split_at_the_first_equals_sign(text: str, pair: tuple[str, str]) -> None:
    assert label(text) == pair


@pytest.mark.parametrize("text", ["a", "=b", "é=b", "", "a=\x1b[2J"])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        label(text)


@pytest.mark.parametrize("text", ["password=hunter2", "API_KEY=hunter2", "a=ghp_planted" + "0" * 30])
def test_a_label_that_is_a_credential_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="credential") as refused:
        label(text)
    assert text.partition("=")[2] not in str(refused.value)


@pytest.mark.parametrize("name", ["project", "group", "run_id"])
def test_a_name_that_is_a_token_is_refused_and_not_repeated(name: str, tmp_path: Path) -> None:
    secret = "hf_planted" + "0" * 30
    with pytest.raises(UsageError, match="credential") as refused:
        load({name: secret}, {}, str(tmp_path))
    assert secret not in str(refused.value)


@pytest.mark.parametrize("name", ["0192f3c16c1a7d7e9f5a3c1d2e4f5a6b", "sk-learn-baseline-v2", "npm_run",
                                  "3871f1c7-310a-5769-b648-734a8eb7f759"])
def test_ids_of_other_tools_are_names(name: str, tmp_path: Path) -> None:
    assert load({"run_id": name}, {}, str(tmp_path)).run_id == name


FLAT = """
# settings
server = "http://h:1"   # a comment
timeout_s = 1.5
"quoted" = 'literal \\ text'
escaped = "a \\"b\\" \\\\ \\n"
on = true
[labels]
owner = "team # a"
"""


def test_the_reader_for_old_pythons_agrees_with_the_new_one() -> None:
    import tomllib

    assert flat_toml.parse(FLAT, "", "f") == tomllib.loads(FLAT)


def test_the_reader_for_old_pythons_finds_our_table_in_pyproject() -> None:
    text = ('[build]\nrequires = ["a"]\n[tool.repro-env]\nproject = "p"\n[tool.repro-env.labels]\na = "b"\n'
            "[tool.x]\ny=[1]")
    assert flat_toml.parse(text, "tool.repro-env", "f") == {"project": "p", "labels": {"a": "b"}}


@pytest.mark.parametrize(("line", "words"), [
    ("a = [1]", "on one line"), ("a = {b = 1}", "on one line"), ('a = """x"""', "on one line"), ("a =", "on one line"),
    ('a = "x', 'expected a closing "'), ('a = "x" y', "expected the line to end"), ("a = b", "got b"),
    ("nonsense", 'expected key = "value"'), ('a = "\\u0041"', "escape"), ("[[a]]", "expected a table"),
    ("b = 1\nb = 2", "set twice")])
def test_the_reader_for_old_pythons_refuses_the_rest_with_the_line(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        flat_toml.parse("\n" + line, "", "f.toml")
    assert words in str(caught.value)
    assert "f.toml line " in str(caught.value)


def test_the_oldest_python_reads_a_settings_file(tmp_path: Path, oldest_python: str) -> None:
    wrote(tmp_path, 'project = "old"\n[labels]\na = "b"\n')
    code = OLD_PYTHON + "from repro_env.settings import load; s = load({}, {}); print(s.project, s.labels, s.warnings)"
    source = str(Path(flat_toml.__file__).parent.parent)
    done = subprocess.run([oldest_python, "-c", code, source], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.stdout == "old {'a': 'b'} []\n"


@pytest.fixture
def oldest_python() -> str:
    """An interpreter of the oldest version that the client supports."""
    asked = (["python3.9", "-c", "import sys; print(sys.executable)"], ["pyenv", "prefix", "3.9.18"])
    for command, rest in zip(asked, ("", "/bin/python"), strict=True):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        except OSError:
            continue
        found = done.stdout.strip() + rest
        if done.returncode == 0 and os.path.exists(found):
            return found
    pytest.skip(f"needs Python 3.9 beside {sys.version_info[0]}.{sys.version_info[1]}: none on PATH or in pyenv")


@pytest.mark.parametrize("value", ["loaders,draws", ["loaders", "draws"], ["loaders,draws"]],
                         ids=["text", "list", "both"])
def test_what_to_watch_may_be_told_at_once_or_one_by_one(value: object, tmp_path: Path) -> None:
    assert load({"watch": value}, {}, str(tmp_path)).watch == ("loaders", "draws")

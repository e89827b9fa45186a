"""The import hook calls back once and leaves everything about an import as it was."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repro_env.guard import guarded
from repro_env.import_hook import ImportHook


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(sys, "meta_path", [ImportHook({"watched_module": calls.append}), *sys.meta_path])
    return calls


def test_the_callback_gets_the_finished_module_once(modules: Path, called: list[Any]) -> None:
    (modules / "watched_module.py").write_text("value = 1\n")

    module = importlib.import_module("watched_module")

    assert called == [module]
    assert module.value == 1
    importlib.reload(module)
    assert called == [module]


def test_loader_and_spec_are_those_of_an_ordinary_import(modules: Path, called: list[Any]) -> None:
    for name in ("watched_module", "other_module"):
        (modules / f"{name}.py").write_text("")

    watched, other = importlib.import_module("watched_module"), importlib.import_module("other_module")

    assert type(watched.__loader__) is type(other.__loader__)
    assert vars(watched.__loader__).keys() == vars(other.__loader__).keys()
    assert watched.__spec__.loader is watched.__loader__


def test_the_hook_leaves_once_it_has_nothing_to_wait_for(modules: Path, called: list[Any]) -> None:
    (modules / "watched_module.py").write_text("")

    importlib.import_module("watched_module")

    assert not [finder for finder in sys.meta_path if isinstance(finder, ImportHook)]


def test_the_traceback_of_an_import_that_fails_is_the_programs_own(modules: Path, called: list[Any]) -> None:
    (modules / "watched_module.py").write_text("raise ValueError('mine')\n")
    with pytest.raises(ValueError, match="mine") as raised:
        exec("import watched_module", {})

    assert [Path(entry.path).name for entry in raised.traceback] == [Path(__file__).name, "<string>",
                                                                     "watched_module.py"]


def test_a_module_that_fails_to_import_fails_as_ever_and_is_waited_for(modules: Path, called: list[Any]) -> None:
    (modules / "watched_module.py").write_text("raise ValueError('mine')\n")
    with pytest.raises(ValueError, match="mine"):
        importlib.import_module("watched_module")
    assert called == []

    (modules / "watched_module.py").write_text("value = 22222\n")
    importlib.invalidate_caches()
    assert importlib.import_module("watched_module").value == 22222
    assert len(called) == 1


def test_a_module_that_is_not_there_is_not_there(modules: Path, called: list[Any]) -> None:
    with pytest.raises(ModuleNotFoundError, match="watched_module"):
        importlib.import_module("watched_module")


def test_other_modules_never_pass_through_the_hook(called: list[Any]) -> None:
    assert ImportHook({"watched_module": called.append}).find_spec("json") is None


def test_a_callback_that_fails_does_not_fail_the_import(modules: Path, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(sys, "meta_path", [ImportHook({"watched_module": fail}), *sys.meta_path])
    (modules / "watched_module.py").write_text("value = 1\n")

    assert importlib.import_module("watched_module").value == 1
    assert "planted" in capsys.readouterr().err


def test_a_keyboard_interrupt_is_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupt)()

"""The plain tables of keys agree with the definition, in names and in order."""

from __future__ import annotations

import dataclasses
import typing

import pytest

from repro_env import ids, jobs
from repro_env.fingerprint import document, hardware, record, software
from repro_env.probes import PROBES, keys


def fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def definition() -> dict[str, tuple[str, ...]]:
    stack = typing.get_type_hints(document.Stack)
    program = typing.get_type_hints(document.Program)
    return {**{name: fields(kind) for name, kind in stack.items()},
            **{f"program.{name}": fields(kind) for name, kind in program.items()}}


def test_every_section_has_the_keys_of_its_definition() -> None:
    assert definition() == keys.SECTIONS


@pytest.mark.parametrize(("table", "kind"), [
    (keys.ACCELERATOR, hardware.Accelerator), (jobs.JOB, record.Job), (ids.PROCESS, record.Process),
    (keys.STATE, record.DeviceState), (keys.LIBRARY, software.Library), (keys.FRAMEWORK, software.Framework)])
def test_every_part_has_the_keys_of_its_definition(table: tuple[str, ...], kind: type) -> None:
    assert table == fields(kind)


def test_libraries_and_frameworks_are_listed_in_full() -> None:
    hints = typing.get_type_hints(software.Libraries)
    assert tuple(name for name, hint in hints.items() if software.Library in typing.get_args(hint)) == keys.LIBRARIES
    hints = typing.get_type_hints(software.Frameworks)
    assert tuple(name for name, hint in hints.items() if software.Framework in typing.get_args(hint)) == keys.FRAMEWORKS


def test_every_section_has_one_probe() -> None:
    paths = [path for path, _ in PROBES]
    assert len(paths) == len(set(paths))
    assert set(paths) == set(keys.SECTIONS)

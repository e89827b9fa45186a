"""Verdicts read back from their JSON form, as ``/v1/comparisons`` answers them, on two sides or on several.

Fields not known here are left out.
"""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Any, Callable

from ..errors import InvalidDocument
from .levels import Answer, Level, Question, Scope
from .several import Class, Moving, Outside, Separation, Several
from .verdict import Assumption, Confound, Difference, Evidence, Ignored, Reason, Step, Varied, Verdict

_WORDS: dict[str, Callable[[Any], Any]] = {
    "question": Question, "scope": Scope, "answer": Answer, "level": Level.parse, "guaranteed": Level.parse,
    "expected": Level.parse, "possible": Level.parse, "expected_level": Level.parse, "to": Level.parse,
}


def verdict(value: dict[str, Any]) -> Verdict:
    """Return the verdict in ``value``; raise ``InvalidDocument`` naming the field that is missing or wrong."""
    nested = {"reasons": _rows(value, "reasons", Reason, ("guaranteed", "expected_level", "possible")),
              "assumes": _rows(value, "assumes", Assumption, ("guaranteed",)),
              "raises": _rows(value, "raises", Step, ("to",)), "ignored": _rows(value, "ignored", Ignored, ()),
              "waived": tuple(_waived(row, index) for index, row in enumerate(_list(value, "waived"))),
              "observed": tuple(map(str, _list(value, "observed"))),
              "varied": tuple(_varied(row, index) for index, row in enumerate(_list(value, "varied"))),
              "confounds": _later(value, "confounds", Confound), "sides": _later(value, "sides", Evidence)}
    words = ("question", "scope", "answer", "level", "guaranteed", "expected", "possible")
    made: Verdict = _build(Verdict, {**value, **nested}, words, "verdict")
    return made


def several(value: dict[str, Any]) -> Several:
    """Return the answer about several sides in ``value``; raise ``InvalidDocument`` for what is missing or wrong."""
    rows = {end: _matrix(value, end) for end in ("guaranteed", "expected", "possible")}
    separates = tuple(
        dataclasses.replace(item, values=tuple((str(text), tuple(names)) for text, names in item.values))
        for item in _rows(value, "separates", Separation, ("guaranteed", "expected", "possible"), "answer"))
    nested = {"groups": tuple(map(tuple, value.get("groups") or ())), "separates": separates, **rows,
              "classes": _rows(value, "classes", Class, ("level",), "answer"),
              "outside": _rows(value, "outside", Outside, ("level",), "answer"),
              "confounds": _rows(value, "confounds", Moving, (), "answer")}
    made: Several = _build(Several, {**value, **nested}, ("question", "scope", "answer", "level"), "answer")
    return made


def _matrix(value: dict[str, Any], end: str) -> tuple[tuple[Level, ...], ...]:
    """Return the rows of one end; none where the service left them out."""
    try:
        return tuple(tuple(map(Level.parse, row)) for row in value.get(end) or ())
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidDocument(f"answer.{end}", f"expected rows of levels ({error})") from error


def _list(value: dict[str, Any], name: str) -> list[Any]:
    rows = value.get(name) or []
    if not isinstance(rows, list):
        raise InvalidDocument(f"verdict.{name}", "expected a list")
    return rows


def _waived(row: Any, index: int) -> tuple[str, str]:
    if not (isinstance(row, list) and len(row) == 2 and all(isinstance(item, str) for item in row)):
        raise InvalidDocument(f"verdict.waived[{index}]", "expected a rule and a reason")
    return (row[0], row[1])


def _varied(row: Any, index: int) -> Any:
    name = f"verdict.varied[{index}]"
    if not isinstance(row, dict):
        raise InvalidDocument(name, "expected an object")
    return _build(Varied, {**row, "differences": _rows(row, "differences", Difference, ())}, (), name)


def _later(value: dict[str, Any], name: str, kind: type) -> tuple[Any, ...]:
    """Return the rows of a list that verdicts before it was added do not have."""
    return _rows(value, name, kind, ()) if name in value else ()


def _rows(value: dict[str, Any], name: str, kind: type, words: tuple[str, ...], of: str = "verdict"
          ) -> tuple[Any, ...]:
    rows = value.get(name)
    if not isinstance(rows, list):
        raise InvalidDocument(f"{of}.{name}", "expected a list")
    return tuple(_build(kind, row, words, f"{of}.{name}[{index}]") for index, row in enumerate(rows))


def _build(kind: type, value: Any, words: tuple[str, ...], field: str) -> Any:
    if not isinstance(value, dict):
        raise InvalidDocument(field, "expected an object")
    told: dict[str, Any] = {}
    for item in dataclasses.fields(kind):
        if item.name in value:
            read = _WORDS[item.name] if item.name in words else _TYPES.get(str(item.type), _frozen)
            try:
                told[item.name] = read(value[item.name])
            except (ValueError, AttributeError, TypeError) as error:
                raise InvalidDocument(f"{field}.{item.name}", f"got {reprlib.repr(value[item.name])}") from error
    try:
        return kind(**told)
    except TypeError as error:
        raise InvalidDocument(field, f"a field is missing ({error})") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value.__class__ is not kind:
            raise TypeError(f"expected {kind.__name__}")
        return value
    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise TypeError("expected a list of text")
    return tuple(value)


def _lacking(value: Any) -> dict[str, dict[str, str]]:
    rows = list(value.values())
    if any(not isinstance(text, str) for row in rows for text in row.values()):
        raise TypeError("expected codes by fact")
    return dict(value)


#: annotation of a field -> how its value is read.
_TYPES: dict[str, Callable[[Any], Any]] = {
    "str": _of(str), "bool": _of(bool), "int": _of(int), "tuple[str, ...]": _texts, "dict[str, Any]": _of(dict),
    "dict[str, dict[str, str]]": _lacking, "str | None": lambda value: None if value is None else _of(str)(value),
}

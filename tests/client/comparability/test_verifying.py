"""A verdict that somebody shows is believed only as far as the documents bear it out, and odd JSON is told in words."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from documents import complete_document

from repro_env.comparability.record import judge_documents, verify
from repro_env.comparability.verdict import Verdict
from repro_env.errors import InvalidDocument

LEFT = [complete_document(**{"capture.observation_id": "left"})]
RIGHT = [complete_document(**{"capture.observation_id": "right", "threads.torch_intraop": 4})]
CLEAN = {"reasons": [], "assumes": [], "guaranteed": "bitwise", "expected": "bitwise", "possible": "bitwise",
         "answer": "yes"}
ODD = (None, True, 3, 1.5, "x", [], {}, [[]], {"a": 1}, [1, None], [{}])


def told() -> dict[str, Any]:
    return json.loads(json.dumps(judge_documents(LEFT, RIGHT, names=("a.json", "b.json")).to_json()))


def holds(value: dict[str, Any]) -> Any:
    return verify(Verdict.from_json(value), LEFT, RIGHT).holds


def test_a_verdict_as_it_was_written_holds() -> None:
    assert holds(told()) is True


@pytest.mark.parametrize("emptied", [(0,), (1,), (0, 1)])
def test_a_verdict_that_names_no_observation_of_a_side_does_not_hold(emptied: tuple[int, ...]) -> None:
    value = {**told(), **CLEAN}
    for index in emptied:
        value["sides"][index].update(observations=[], stacks=[], programs=[])
    assert holds(value) is False


@pytest.mark.parametrize(("name", "value"), [("effect", "none at all"), ("remedy", "buy another machine"),
                                             ("cause", "seed"), ("source", [])])
def test_a_reason_that_explains_otherwise_does_not_hold(name: str, value: Any) -> None:
    tampered = told()
    tampered["reasons"][0][name] = value
    assert holds(tampered) is False


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    return [found for key, item in items for found in ((*path, key), *places(item, (*path, key)))]


@pytest.mark.parametrize("path", places(told()), ids=lambda path: ".".join(map(str, path)))
def test_odd_json_is_refused_or_does_not_hold_and_never_fails(path: tuple[Any, ...]) -> None:
    for odd in ODD:
        value = told()
        holder: Any = value
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = odd
        with contextlib.suppress(InvalidDocument):
            verify(Verdict.from_json(value), LEFT, RIGHT)

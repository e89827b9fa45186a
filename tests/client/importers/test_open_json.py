"""JSON in a pasted text: found among other lines, read as far as it goes."""

from __future__ import annotations

import json
import time

import pytest
from hanging import HANGING_S
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_env.importers import open_json


def anything(value):
    return value not in ({}, [])


def find(text, fits=anything):
    return open_json.find(text.split("\n"), fits)


def test_value_among_other_lines():
    found = find('Here it is:\n{\n "a": 1\n}\nThanks')
    assert (found.value, found.first_line, found.length, found.cut) == ({"a": 1}, 1, 3, False)


def test_first_value_that_fits():
    assert find('{"a": 1}\n[2]\n{"b": 3}', lambda value: isinstance(value, dict) and "b" in value).value == {"b": 3}


def test_words_in_brackets_are_no_value():
    assert find("[pip3] numpy==1.0\n[conda] x\n{not json}") is None


def test_fence_ends_a_value():
    found = find('```json\n[{"a": 1},\n{"b": 2\n```\nmore')
    assert (found.value, found.cut) == ([{"a": 1}, {}], True)


WHOLE = json.dumps({"a": [1, 2, {"b": 'x, y ] } " \\'}], "c": {"d": None, "e": True}, "f": "g"}, indent=1)


def is_part(part, whole):
    """Whether everything that ``part`` says stands in ``whole``."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) <= len(whole) and all(map(is_part, part, whole))
    return part == whole


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_cut_anywhere_says_nothing_else(end):
    found = open_json.find(WHOLE[:end].split("\n"), lambda value: True)
    assert found is None or (found.cut and is_part(found.value, json.loads(WHOLE)))


VALUES = st.recursive(
    st.one_of(st.integers(), st.text(max_size=8), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=50)
@given(VALUES, st.floats(0, 1))
def test_any_value_cut_anywhere_says_nothing_else(value, share):
    text = json.dumps([value])
    found = open_json.find(text[: int(len(text) * share)].split("\n"), lambda found: True)
    assert found is None or is_part(found.value, [value])


def test_broken_in_the_middle_keeps_what_stands_before():
    assert find('{"a": 1, "b": 2, oops "c": 3}').value == {"a": 1, "b": 2}


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "[" * 100_000], ids=["lists", "objects", "many"])
def test_depth_is_bounded(text):
    assert find(text) is None


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "9" * 5000], ids=["huge", "negative", "nan", "long"])
def test_odd_numbers_raise_nothing(number):
    open_json.find([f'{{"a": {number}}}'], lambda value: True)


@pytest.mark.parametrize(
    "text",
    ["{\n" * 300_000, '"' * 1_000_000, '{"a": "' + "\\" * 900_000, "[1," * 300_000, '{"a": "' + 'x"y' * 300_000],
    ids=["openings", "quotes", "backslashes", "lists", "broken text"],
)
def test_no_mebibyte_keeps_the_reader_busy(text):
    start = time.process_time()
    find(text)
    assert time.process_time() - start < HANGING_S

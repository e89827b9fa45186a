"""The reader of plain YAML: equal to a real one where it reads, and silent where it does not."""

from __future__ import annotations

import time

import pytest
import yaml
from hanging import HANGING_S
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_env.importers import yaml_subset
from repro_env.importers.yaml_subset import REFUSED


def read(text):
    return yaml_subset.parse(text.split("\n"), 0)


#: what environment and model files look like: all of it is read, and as PyYAML reads it.
PLAIN = {
    "scalars": "name: demo\nversion: 3.10\nempty:\nquoted: '3.10'\ndouble: \"a b\"\n",
    "list below its key": "dependencies:\n  - python=3.9\n  - pip\nname: x\n",
    "list at its key": "dependencies:\n- python=3.9\n- pip\nname: x\n",
    "list in a list": "dependencies:\n- python=3.9\n- pip:\n  - a==1\n  - b==2\n- c\nname: x\n",
    "deeper list in a list": "dependencies:\n  - pip:\n      - a==1\n      - b==2\n  - c\nname: x\n",
    "mappings": "flavors:\n  a:\n    version: 1.0\n    env:\n      conda: conda.yaml\n  b:\n    code: x\nend: 1\n",
    "comments": "# head\nname: x  # why\n\n# more\nchannels:\n  # inner\n  - a\n  - b # last\nend: 1\n",
    "hash within a word": "url: git+https://example.org/a#egg=b\nend: 1\n",
    "colon within a word": "url: https://example.org:443/a\ntime: 12:30:01\nend: 1\n",
    "quoted over lines": 'inputs: \'[{"a": 1,\n  "b": 2}]\'\nnext: x\n',
    "quote within quotes": "a: 'it''s'\nb: \"say \\\\ x\"\nend: 1\n",
    "empty brackets": "a: []\nb: {}\nend: 1\n",
    "list in brackets": "channels: [pytorch, defaults]\nend: 1\n",
    "plain over lines": "a: one\n  two\n  three\nb: x\n",
    "mapping in a list": "items:\n- name: a\n  version: 1\n- name: b\n  version: 2\nend: 1\n",
    "marks of documents": "name: x\nend: 1\n---\nname: y\n",
    "quoted keys": "'a b': 1\n\"c\": 2\nend: 1\n",
    "key with blanks": "a b c: 1\nend: 1\n",
}


def expected(text):
    return _without_null(yaml.load(text.partition("\n---\n")[0], Loader=yaml.BaseLoader))


def _without_null(value):
    """BaseLoader says '' where nothing stands; the reader says None there."""
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    return None if value == "" else value


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
def test_plain_files_are_read_as_a_yaml_library_reads_them(text):
    found = read(text)
    assert found.value == expected(text)
    assert found.refused == []
    assert not found.cut


#: what is not read -> the key that must stay, and what the refused key becomes.
REFUSALS = {
    "literal text": "note: |\n  line\n  line: x\nend: 1\n",
    "folded text": "note: >-\n  line\n  - line\nend: 1\n",
    "anchor": "note: &a\n  x: 1\nend: 1\n",
    "alias": "note: *a\nend: 1\n",
    "tag": "note: !!binary abc\nend: 1\n",
    "mapping in braces": "note: {a: 1}\nend: 1\n",
    "nested brackets": "note: [a, [b]]\nend: 1\n",
    "quote that never ends": "note: 'abc\nend: 1\n",
    "line without key": "x:\n  a: 1\n  just words\nend: 1\n",
}


@pytest.mark.parametrize("text", REFUSALS.values(), ids=REFUSALS.keys())
def test_what_is_not_read_is_left_out_and_told_and_the_rest_is_read(text):
    found = read(text)
    assert found.value["end"] == "1"
    assert found.refused
    assert found.value.get("note", REFUSED) is REFUSED


def test_keys_named_like_numbers_and_words_stay_text():
    assert read("python: 3.10\nyes: no\nend: 1\n").value == {"python": "3.10", "yes": "no", "end": "1"}


def test_null_is_nothing():
    assert read("a: null\nb: ~\nc:\nend: 1\n").value == {"a": None, "b": None, "c": None, "end": "1"}


def test_of_a_key_that_comes_twice_the_first_is_kept():
    assert read("a: 1\na: 2\nend: 1\n").value["a"] == "1"


def test_last_line_without_an_end_is_left_out():
    found = read("a: 1\nb: 2")
    assert (found.value, found.cut) == ({"a": "1"}, True)


def test_file_ends_where_a_line_stands_further_left_or_is_no_key():
    lines = ["  a: 1", "  b:", "  - x", "prose that goes on", "  c: 3", ""]
    found = yaml_subset.parse(lines, 0)
    assert (found.value, found.last_line) == ({"a": "1", "b": ["x"]}, 2)


def test_fence_ends_the_file():
    assert read("a: 1\n```\nb: 2\n").value == {"a": "1"}


def test_depth_is_bounded():
    text = "".join(f"{'  ' * depth}k{depth}:\n" for depth in range(200)) + "end: 1\n"
    assert read(text).refused


SCALARS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9=._+-]{0,12}", fullmatch=True)
KEYS = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4), st.dictionaries(KEYS, inner, min_size=1, max_size=4)
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.booleans())
def test_what_a_yaml_library_writes_is_read_back(value, indent):
    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow=False, indentless=False):
            return super().increase_indent(flow, indentless and not indent)

    text = yaml.dump(value, Dumper=Dumper, default_flow_style=False, width=1000, sort_keys=False)
    found = read(text)
    assert found.value == yaml.load(text, Loader=yaml.BaseLoader)
    assert found.refused == []


@given(st.text(alphabet="ab:-'\"[]{}#|>&* \n\t", max_size=200))
def test_any_text_is_read_without_an_error(text):
    read("a: 1\n" + text)


@pytest.mark.parametrize(
    "text",
    [
        "a:\n" + "- x\n" * 200_000,
        "a: '" + "x\n  " * 200_000,
        "a: " + "x" * 1_000_000,
        "- " * 500_000,
        "a:\n" + " - - - -\n" * 100_000,
        "".join(f"{' ' * (n % 400)}k: v\n" for n in range(5_000)),
    ],
    ids=["items", "quote", "scalar", "dashes", "nested", "steps"],
)
def test_no_mebibyte_keeps_the_reader_busy(text):
    start = time.process_time()
    yaml_subset.parse(text.split("\n"), 0)
    assert time.process_time() - start < HANGING_S

"""Canonical bytes after RFC 8785 in its restricted form, and the strict reading of JSON text."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hanging import HANGING_S
from hypothesis import given
from hypothesis import strategies as st
from strategies import ANY_JSON, CANONICAL

from repro_env.canonical import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INTEGER,
    canonical_bytes,
    check_canonical,
    digest,
    digest_bytes,
    parse,
)
from repro_env.errors import InvalidDocument

DIGEST_OF_EMPTY_OBJECT = "sha256:" + hashlib.sha256(b"{}").hexdigest()

#: value -> its bytes by RFC 8785 §3.2.
VECTORS: dict[str, tuple[Any, str]] = {
    "literals": ([None, True, False], "[null,true,false]"),
    # RFC 8785 §3.2.2, the string of its sample input.
    "sample string": ("€$\u000f\u000aA'\u0042\u0022\u005c\\\"/", '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
    "short escapes": ("\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
    "other control characters": ("\x01\x1f\x0b", '"\\u0001\\u001f\\u000b"'),
    "delete and C1 stand as they are": ("\x7f\x80\x9f", '"\x7f\x80\x9f"'),
    "line separators stand as they are": ("\u2028\u2029", '"\u2028\u2029"'),
    "solidus is not escaped": ("</script>", '"</script>"'),
    "beyond the BMP": ("😀𐍈", '"😀𐍈"'),
    "combining marks are not composed": ("e\u0301", '"e\u0301"'),
    "keys by code point": ({"b": 1, "a": 2, "A": 3, "10": 4, "1": 5, "": 6}, '{"":6,"1":5,"10":4,"A":3,"a":2,"b":1}'),
    "keys are escaped": ({'"\\\n': 1}, '{"\\"\\\\\\n":1}'),
    "integers": ([0, -1, MAX_INTEGER, -MAX_INTEGER], "[0,-1,9007199254740991,-9007199254740991]"),
    "empty containers": ([{}, [], ""], '[{},[],""]'),
    "tuples are lists": ((1, (2,)), "[1,[2]]"),
}


@pytest.mark.parametrize(("value", "expected"), VECTORS.values(), ids=VECTORS)
def test_bytes_are_those_of_rfc_8785(value: Any, expected: str) -> None:
    assert canonical_bytes(value) == expected.encode("utf-8")


def test_digest_is_over_the_canonical_bytes() -> None:
    assert digest({}) == DIGEST_OF_EMPTY_OBJECT
    assert digest_bytes(b"{}") == DIGEST_OF_EMPTY_OBJECT


@given(CANONICAL)
def test_a_value_survives_its_canonical_bytes(value: Any) -> None:
    assert parse(canonical_bytes(value)) == value


@given(CANONICAL)
def test_canonical_bytes_of_what_was_read_are_the_same_bytes(value: Any) -> None:
    data = canonical_bytes(value)
    assert canonical_bytes(parse(data)) == data


@given(CANONICAL, st.randoms(use_true_random=False), st.sampled_from((None, 1, "\t")), st.booleans())
def test_a_digest_survives_key_order_and_layout(value: Any, random: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(shuffled(value, random), indent=indent, ensure_ascii=ascii_only)
    assert digest(parse(text.encode("utf-8"))) == digest(value)


def shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, dict):
        rows = [(key, shuffled(item, random)) for key, item in value.items()]
        random.shuffle(rows)
        return dict(rows)
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


@given(ANY_JSON)
def test_a_value_has_canonical_bytes_or_a_fault_with_a_name(value: Any) -> None:
    refused = refusal_of(canonical_bytes, value, "stack")
    if refused is None:
        data = canonical_bytes(value, "stack")
        assert canonical_bytes(parse(data)) == data
    else:
        assert refused.field.startswith("stack")
        assert refused.problem
        assert str(refused).encode("utf-8")


def refusal_of(function: Callable[..., Any], *arguments: Any) -> InvalidDocument | None:
    try:
        function(*arguments)
    except InvalidDocument as error:
        return error
    return None


NO_FORM: dict[str, tuple[Any, str, str]] = {
    "fraction": ({"a": [0, 1.5]}, "$.a[1]", 'send it as the string "1.5"'),
    "whole float": ({"a": 1.0}, "$.a", 'send it as the string "1.0"'),
    "negative zero": ({"a": -0.0}, "$.a", 'send it as the string "-0.0"'),
    "NaN": ({"a": float("nan")}, "$.a", "expected no fraction"),
    "2^53": ({"a": {"b": 2**53}}, "$.a.b", "expected an integer within 2^53-1, got 9007199254740992; send it as a st"),
    "-2^53": (-(2**53), "$", "got -9007199254740992"),
    "enormous integer": ([10**5000], "$[0]", "send it as a string"),
    "high surrogate": ({"a": "x\ud800"}, "$.a", "lone surrogate '\\ud800' at character 1"),
    "low surrogate": ({"a": "\udc00x"}, "$.a", "lone surrogate '\\udc00' at character 0"),
    "NUL": ({"a": ["x\0y"]}, "$.a[0]", "expected text without NUL"),
    "NUL in a key": ({"a": {"\0": 1}}, "$.a", "expected ASCII keys, got '\\x00'"),
    "key beyond ASCII": ({"a": {"é": 1}}, "$.a", "expected ASCII keys, got '\\xe9'"),
    "key that is no text": ({"a": {1: 1}}, "$.a", "expected ASCII keys, got 1"),
    "set": ({"a": {1}}, "$.a", "expected a JSON value, got set"),
    "bytes": (b"x", "$", "expected a JSON value, got bytes"),
}


@pytest.mark.parametrize(("value", "field", "problem"), NO_FORM.values(), ids=NO_FORM)
def test_what_has_no_canonical_form_is_refused_by_its_place(value: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        canonical_bytes(value)
    assert refused.value.field == field
    assert problem in refused.value.problem


def test_booleans_are_not_integers() -> None:
    assert digest([True]) != digest([1])
    assert digest([False]) != digest([0])


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_nesting_is_bounded_in_values_and_in_text() -> None:
    allowed, too_deep = nested(MAX_DEPTH), nested(MAX_DEPTH + 1)
    assert parse(canonical_bytes(allowed)) == allowed
    with pytest.raises(InvalidDocument, match="at most 32 levels of nesting"):
        canonical_bytes(too_deep)
    with pytest.raises(InvalidDocument, match="at most 32 levels of nesting"):
        parse(json.dumps(too_deep).encode())


@pytest.mark.parametrize("text", ['"' + "[" * 500 + '"', '"\\"' + "{" * 500 + '"',
                                  '["\\\\",' + ",".join(["[]"] * 500) + "]", '{"' + "[" * 40 + '\\"{{{\\\\":0}'],
                         ids=["in a string", "after an escaped quote", "after an escaped backslash", "in a key"])
def test_brackets_that_do_not_nest_are_not_counted(text: str) -> None:
    assert parse(text.encode()) == json.loads(text)


@pytest.mark.parametrize("text", ['["\\\\",' + "[" * 40, '["\\"",' + "[" * 40, "[" * 100_000, '{"a":' * 100_000],
                         ids=["after an escaped backslash", "after an escaped quote", "lists", "objects"])
def test_brackets_that_nest_are_counted(text: str) -> None:
    with pytest.raises(InvalidDocument, match="at most 32 levels of nesting"):
        parse(text.encode())


BAD_TEXT: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "$", "line 1 column 1"),
    "only blanks": (b" \n", "$", "expected JSON, got a syntax error"),
    "cut off": (b'{"a": [1,', "$", "expected JSON, got a syntax error at line 1 column 10"),
    "trailing garbage": (b'{"a": 1} x', "$", "line 1 column 10: Extra data"),
    "two values": (b"{}{}", "$", "Extra data"),
    "trailing comma": (b'{"a": 1,}', "$", "expected JSON, got a syntax error"),
    "single quotes": (b"{'a': 1}", "$", "expected JSON, got a syntax error"),
    "comment": (b"{} // x", "$", "Extra data"),
    "control character in a string": (b'"a\nb"', "$", "Invalid control character"),
    "byte order mark": (b"\xef\xbb\xbf{}", "$", "BOM"),
    "UTF-16": ("{}".encode("utf-16"), "$", "expected UTF-8, got another encoding at byte 0"),
    "latin-1": (b'"\xe9"', "$", "expected UTF-8, got another encoding at byte 1"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "$", "expected UTF-8, got another encoding at byte 1"),
    "overlong encoding": (b'"\xc0\x80"', "$", "expected UTF-8, got another encoding at byte 1"),
    "leading zero": (b"[01]", "$", "expected JSON, got a syntax error"),
    "plus sign": (b"[+1]", "$", "expected JSON, got a syntax error"),
    "hexadecimal": (b"[0x10]", "$", "expected JSON, got a syntax error"),
    "duplicate key": (b'{"a": {"b": 1, "c": 2, "b": 1}}', "a.b", "expected each key once, got it twice"),
    "duplicate key by escape": (b'{"a": 1, "\\u0061": 2}', "a", "expected each key once"),
    "duplicate key in a list": (b'[{}, {"b": 1, "b": 2}]', "[1].b", "expected each key once"),
    "duplicate of a bad value": (b'{"a": NaN, "a": 1}', "a", "expected each key once"),
    "NaN": (b'{"a": {"b": [1, NaN]}}', "a.b[1]", "expected finite numbers, got NaN"),
    "Infinity": (b'{"a": Infinity}', "a", "expected finite numbers, got Infinity"),
    "-Infinity": (b"[-Infinity]", "[0]", "expected finite numbers, got -Infinity"),
    "top-level NaN": (b"NaN", "$", "expected finite numbers, got NaN"),
    "beyond a double": (b'{"a": 1e999}', "a", "expected a finite number, got 1e999; send it as a string"),
    "beyond a double, negative": (b'{"a": -1e999}', "a", "expected a finite number, got -1e999"),
    "endless fraction": (b'{"a": 0.' + b"1" * 5000 + b"}", "a", "expected a finite number, got 0.111"),
    "endless integer": (b'{"a": [' + b"7" * 5000 + b"]}", "a[0]", "expected an integer within 2^53-1, got 777"),
    "odd key in the path": (b'{"\\ud800\\n": NaN}', "\\ud800\\n", "got NaN"),
}


@pytest.mark.parametrize(("data", "field", "problem"), BAD_TEXT.values(), ids=BAD_TEXT)
def test_bad_text_is_refused_by_its_place(data: bytes, field: str, problem: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        parse(data)
    assert refused.value.field == field
    assert problem in refused.value.problem


NUMBERS: dict[str, tuple[str, Any]] = {
    "-0 is 0": ("-0", 0), "0": ("0", 0), "largest": ("9007199254740991", MAX_INTEGER),
    "smallest": ("-9007199254740991", -MAX_INTEGER), "1.0": ("1.0", 1.0), "1e3": ("1e3", 1000.0),
    "1E+2": ("1E+2", 100.0), "-0.0": ("-0.0", 0.0), "underflow": ("1e-999", 0.0),
}


@pytest.mark.parametrize(("text", "value"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_keep_their_kind(text: str, value: Any) -> None:
    read = parse(text.encode())
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["1.0", "1e3", "1E+2", "-0.0", "1e-999"])
def test_numbers_with_a_fraction_or_exponent_have_no_canonical_form(text: str) -> None:
    with pytest.raises(InvalidDocument, match="expected no fraction or exponent"):
        canonical_bytes(parse(text.encode()))


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740992", "99999999999999999"])
def test_integers_just_beyond_a_double_are_read_and_have_no_canonical_form(text: str) -> None:
    with pytest.raises(InvalidDocument, match="within 2"):
        canonical_bytes(parse(text.encode()))


@pytest.mark.parametrize("text", ["null", "true", "7", '"text"', "[]", "{}", " {} \n"])
def test_any_top_level_value_is_read(text: str) -> None:
    assert parse(text.encode()) == json.loads(text)


def test_size_is_bounded_to_the_byte() -> None:
    largest = b'"' + b"x" * (MAX_BYTES - 2) + b'"'
    assert len(parse(largest)) == MAX_BYTES - 2
    with pytest.raises(InvalidDocument, match=f"expected at most {MAX_BYTES} bytes, got {MAX_BYTES + 1}"):
        parse(largest + b" ")
    assert parse(b"[1, 2]", max_bytes=6) == [1, 2]
    with pytest.raises(InvalidDocument, match="at most 5 bytes, got 6"):
        parse(b"[1, 2]", max_bytes=5)


@given(st.binary(max_size=64) | st.text(st.characters(), max_size=64).map(lambda text: text.encode("utf-8", "replace")))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    refused = refusal_of(parse, data)
    assert refused is None or str(refused).encode("utf-8")


ROOM = MAX_BYTES - 20
ADVERSARIAL: dict[str, bytes] = {
    "many integers": b"[" + b"0," * (ROOM // 2) + b"0]",
    "many objects": b"[" + b"{}," * (ROOM // 3) + b"0]",
    "many lists": b"[" + b"[]," * (ROOM // 3) + b"0]",
    "deep": b"[" * ROOM,
    "deep objects": b'{"a":' * (ROOM // 5),
    "escaped quotes, unterminated": b'"' + b'\\"' * (ROOM // 2),
    "backslashes": b'"' + b"\\\\" * (ROOM // 2) + b'"',
    "one key again and again": b"{" + b'"a":0,' * (ROOM // 6) + b'"a":0}',
    "many keys": b"{" + b",".join(b'"%d":0' % number for number in range(80_000)) + b"}",
    "long integer": b"1" * ROOM,
    "long fraction": b"0." + b"1" * ROOM,
    "long exponent": b"1e" + b"9" * ROOM,
    "many bad numbers": b"[" + b"NaN," * (ROOM // 4) + b"0]",
    "many floats": b"[" + b"1e1," * (ROOM // 4) + b"0]",
    "one long string": b'"' + b"x" * ROOM + b'"',
    "one long wide string": ('"' + "é" * (ROOM // 2) + '"').encode(),
}


@pytest.mark.parametrize("data", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_no_input_keeps_the_reader_busy(data: bytes) -> None:
    assert len(data) <= MAX_BYTES
    started = time.process_time()
    refused = refusal_of(lambda: check_canonical(parse(data)))
    assert refused is None or len(str(refused)) < 300
    assert time.process_time() - started < HANGING_S

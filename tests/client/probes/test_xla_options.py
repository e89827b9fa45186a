"""Two switches in XLA's own wire format, and in the words of its variable."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_env.probes import xla_options


def varint(value: int) -> bytes:
    content = b""
    while value > 0x7F:
        content += bytes([value & 0x7F | 0x80])
        value >>= 7
    return content + bytes([value])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def switch(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def options(debug: bytes) -> bytes:
    """Compile options with other fields around the ones that are read, as a real library writes them."""
    fixed = varint(7 << 3 | 1) + b"12345678" + varint(8 << 3 | 5) + b"1234"
    build = switch(1, 0) + fixed + message(2, b"text") + message(3, debug)
    return switch(2, 1) + message(1, b"\x08\x01") + message(3, build)


@pytest.mark.parametrize(("debug", "demanded"), [
    (b"", False), (switch(148, 1), True), (switch(297, 1), True), (switch(148, 0) + switch(297, 0), False),
    (switch(123, 4) + message(62, b"folder") + switch(148, 1), True), (switch(149, 1), False)],
    ids=["defaults", "deterministic", "excluded", "both-off", "among-others", "another-switch"])
def test_either_switch_demands_deterministic_kernels(debug: bytes, demanded: bool) -> None:
    assert xla_options.deterministic(options(debug)) is demanded


@pytest.mark.parametrize("content", [
    b"", b"\x1a", b"\x1a\x7f", b"\x80", b"\x1b\x00", switch(3, 1), message(3, b"\xff")])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected (a message|the wire format|an integer)"):
        xla_options.deterministic(content)


@given(st.binary(max_size=64))
def test_whatever_the_bytes_are_reading_ends_with_an_answer_or_a_refusal(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert xla_options.deterministic(content) in (True, False)


@pytest.mark.parametrize(("flags", "demanded"), [
    ("", False), ("--xla_gpu_deterministic_ops", True), ("--xla_gpu_deterministic_ops=true", True),
    ("--xla_gpu_exclude_nondeterministic_ops=1", True), ("--xla_gpu_deterministic_ops=false", False),
    ("--xla_gpu_deterministic_ops=true --xla_gpu_deterministic_ops=false", False),
    ("--xla_gpu_deterministic_ops_too=true --xla_dump_to=/tmp", False)])
def test_of_one_flag_the_last_word_counts(flags: str, demanded: bool) -> None:
    assert xla_options.demanded(flags) is demanded

"""Wrong facts are refused in words: a slip gets a suggestion, a value says what was expected."""

from __future__ import annotations

import pytest

from repro_env.errors import InvalidDocument, UsageError
from repro_env.whatif import document, document_of_table
from repro_env.whatif.short import is_facts


@pytest.mark.parametrize(("text", "says"), [
    ("tourch=2.3", "unknown key 'tourch' (did you mean torch?)"), ("foo=bar", "unknown key 'foo'"),
    ("transformer=4.47", "(did you mean transformers?)"), ("gpu=A100,tf32", "expected key=value, got 'tf32'"),
    ("NVIDIA_TF32_OVERIDE=0", "(did you mean NVIDIA_TF32_OVERRIDE?)"),
    ("precision.allow_tf32_matmull=on", "(did you mean precision.allow_tf32_matmul?)"),
    ("gpu=A100 torch=2.3.1", "pairs are separated by commas"),
    ("gpu=", "gpu has no value"), (",", "got nothing"), ("gpu=A100,gpu=H100", "gpu is stated twice"),
    ("tf32=on,precision.allow_tf32_matmul=off", "tf32 and precision.allow_tf32_matmul state different values"),
    ("torch=2.3.1,pytorch=2.4.0", "state different values of distributions.installed.torch"),
    ("sm_count=114,sms=132", "sm_count and sms state different values"), ("x" * 20_000 + "=1", "at most")])
def test_wrong_usage_says_what_was_expected(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        document(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(("text", "field", "says"), [
    ("gpu=A1000000", "gpu", "did you mean"), ("gpu=RTX 4090 Ti", "gpu", "did you mean"),
    ("gpu=H200 Super", "gpu", "no device is known"), ("gpu=TPUv4", "gpu", "(a TPU is stated by backend=tpu); what"),
    ("gpu=RTX 6000", "gpu", "several architectures"),
    ("gpu=Titan X", "gpu", "several architectures"), ("gpu=H100,gpus=0", "gpus", "from 1 to 1024"),
    ("gpu=A100+H100,gpus=3", "gpus", "3 devices are counted, and 2 are named"),
    ("cudnn=9", "cudnn", "at least 3 numbers, as in cudnn=9.1.0"), ("torch=latest", "torch", "as in 2.3.1+cu121"),
    ("python=3", "python", "at least 2 numbers"), ("deterministic=maybe", "deterministic", "on, off or warn"),
    ("isa=avx3", "isa", "sse, avx, avx2"), ("os=beos", "os", "linux, windows, macos"), ("cpu=8", "cpu", "threads=8"),
    ("precision=fp8", "precision", "fp32, bf16"), ("backend=vulkan", "backend", "cuda, rocm"),
    ("tf32=perhaps", "tf32", "expected on or off"), ("threads=many", "threads", "expected a whole number"),
    ("threads.mkl=many", "threads.mkl", "expected a whole number"), ("image=sha256:12", "image", "64 hexadecimal"),
    ("LD_PRELOAD=ghp_0123456789abcdefghijklmnopqrstuvwxyz", "LD_PRELOAD", "shape of a secret")])
def test_wrong_value_names_its_key_and_what_was_expected(text: str, field: str, says: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        document(text)
    assert caught.value.field == field
    assert says in caught.value.problem


@pytest.mark.parametrize(("table", "says"), [
    ({"python": 3.10}, 'written in quotes, as in python = "3.10"'), ({"gpu": [1.5]}, "expected text in quotes"),
    ({}, "empty file"), ({"precision": {}}, "empty file")])
def test_wrong_table_names_file_and_key(table: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        document_of_table(table, "what.toml")
    assert str(caught.value).startswith("what.toml: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(("word", "facts"), [
    ("gpu=A100", True), ("precision.allow_tf32_matmul=on", True), ("flash-attn==2.6", True), ("run-a", False),
    ("./lr=0.1/env", False), ("runs/lr=0.1", False), ("=3", False), ("-", False)])
def test_facts_begin_with_a_key(word: str, facts: bool) -> None:
    assert is_facts(word) is facts

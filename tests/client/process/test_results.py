"""Digests of results: equal content has one digest, whatever holds it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import repro_env
from repro_env.results import is_digest, result_digest


def test_a_digest_is_taken_as_it_is() -> None:
    digest = "sha256:" + "ab" * 32
    assert result_digest(digest) == digest


def test_bytes_have_the_digest_everybody_computes() -> None:
    assert result_digest(b"abc") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert result_digest(bytearray(b"abc")) == result_digest(memoryview(b"abc")) == result_digest(b"abc")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "complex64", "float16"])
def test_an_array_and_a_tensor_of_equal_content_have_one_digest(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)

    assert result_digest(array) == result_digest(torch.from_numpy(array.copy()))


def test_memory_layout_and_byte_order_do_not_count() -> None:
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    tensor = torch.from_numpy(array.copy())

    assert result_digest(array) == result_digest(np.asfortranarray(array)) == result_digest(array.astype(">f4"))
    assert result_digest(tensor) == result_digest(tensor.t().contiguous().t())
    assert result_digest(tensor) == result_digest(tensor.clone().requires_grad_())


@pytest.mark.parametrize(("left", "right"), [
    (np.zeros(4, "f4"), np.zeros(4, "i4")),
    (np.zeros((2, 2), "f4"), np.zeros(4, "f4")),
    (np.zeros(2), -np.zeros(2)),
    ({"a": np.zeros(2)}, {"b": np.zeros(2)}),
    ([np.zeros(1), np.zeros(2)], [np.zeros(2), np.zeros(1)]),
    ({"ab": 1, "c": 2}, {"a": 1, "bc": 2}),
    ([1], [True]),
], ids=["dtype", "shape", "sign", "key", "order", "framing", "kind"])
def test_different_results_have_different_digests(left: Any, right: Any) -> None:
    assert result_digest(left) != result_digest(right)


def test_a_model_is_its_state_in_sorted_order() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    state = model.state_dict()

    assert result_digest(model) == result_digest(state)
    assert result_digest(dict(reversed(list(state.items())))) == result_digest(dict(state))


@pytest.mark.parametrize("tensor", [
    torch.zeros(0), torch.tensor(3.5), torch.ones(2, dtype=torch.bfloat16), torch.tensor([1 + 2j]).conj(),
], ids=["empty", "scalar", "bfloat16", "conjugate"])
def test_unusual_tensors_have_a_digest(tensor: torch.Tensor) -> None:
    assert is_digest(result_digest(tensor))
    assert result_digest(tensor) == result_digest(tensor.clone())


def test_taking_a_digest_draws_no_random_number() -> None:
    before = torch.get_rng_state().clone()
    result_digest({"w": torch.ones(3)})
    assert torch.equal(before, torch.get_rng_state())


@given(value=st.dictionaries(st.text(max_size=3), st.binary(max_size=8), max_size=4))
def test_key_order_does_not_count(value: dict[str, bytes]) -> None:
    assert result_digest(value) == result_digest(dict(sorted(value.items(), reverse=True)))


@pytest.mark.parametrize("value", ["weights.pt", object(), np.array([object()]), "sha256:" + "AB" * 32],
                         ids=["text", "object", "objects", "upper-case"])
def test_a_value_without_a_digest_is_said_and_nothing_is_raised(value: Any, capsys: pytest.CaptureFixture[str],
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    from repro_env import process
    monkeypatch.setattr(process, "STATE", process.State())

    assert repro_env.report_result("weights", value) is None

    message = capsys.readouterr().err
    assert "expected a digest" in message
    assert "nothing was recorded" in message


@pytest.mark.parametrize("name", ["", "a" * 201, "gewichte-\xe4", "a\nb", 7])
def test_a_result_needs_a_name(name: Any, capsys: pytest.CaptureFixture[str],
                               monkeypatch: pytest.MonkeyPatch) -> None:
    from repro_env import process
    monkeypatch.setattr(process, "STATE", process.State())

    assert repro_env.report_result(name, b"") is None
    assert "expected a name" in capsys.readouterr().err


def test_a_refused_text_is_not_repeated() -> None:
    """A mistaken value may be a secret, and the refusal lands in the log of a job."""
    with pytest.raises(TypeError, match="a text of 14 characters") as refused:
        result_digest("hunter2-secret")
    assert "hunter2" not in str(refused.value)

"""The remedy of a side of short facts is a key to state, not a program to run."""

from __future__ import annotations

from repro_env.comparability.record import judge_documents
from repro_env.whatif import document
from repro_env.whatif.lacking import keys_for


def lacking(one: str, other: str, side: str) -> list[str]:
    return keys_for(judge_documents([document(one)], [document(other)], names=("one", "other")), side)


def test_a_fact_that_a_side_leaves_open_names_its_key() -> None:
    named = lacking("gpu=3090,torch=2.3.1+cu121", "gpu=4090,torch=2.3.1+cu121", "expected")
    assert named[:4] == ["driver=550.54.15", "draw=49152", "cudnn=9.1.0", "cublas=12.4.5"]


def test_a_stated_fact_is_not_asked_for_again() -> None:
    named = lacking("gpu=3090,torch=2.3.1+cu121,draw=7,cudnn=8.9.2", "gpu=4090,torch=2.3.1+cu121", "expected")
    assert not {"draw=49152", "cudnn=9.1.0", "torch=2.3.1+cu121"} & set(named)
    assert "draw=49152" in lacking("gpu=3090,torch=2.3.1+cu121,draw=7", "gpu=4090,torch=2.3.1+cu121", "observed")

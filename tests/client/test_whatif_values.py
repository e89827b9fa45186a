"""Keys that take one of a few words: two words that act differently are a difference, or are ignored with a reason."""

from __future__ import annotations

from itertools import combinations

import pytest

from repro_env.comparability.levels import Question
from repro_env.comparability.record import judge_documents
from repro_env.comparability.verdict import Verdict
from repro_env.errors import InvalidDocument, UsageError
from repro_env.fingerprint.facts import is_unread
from repro_env.whatif import document
from repro_env.whatif.keys import KEYS

SWITCH = ("on", "off")
GPU, CPU = "gpu=A100,torch=2.3.1+cu121,driver=550.54.15", "gpu=none,torch=2.3.1,numpy=2.1.0"
#: key -> what is stated beside it, and all the words it takes that act in a way of their own.
CLOSED: dict[str, tuple[str, tuple[str, ...]]] = {
    "backend": ("torch=2.3.1", ("cuda", "rocm", "mps", "xpu", "tpu", "cpu")),
    "compat": (GPU, ()),  # which libcuda then stands in is another fact
    "tf32": (GPU, SWITCH),
    "precision": (GPU, ("fp32", "bf16", "fp16", "fp64", "tf32", "highest", "high", "medium")),
    "deterministic": (GPU, ("on", "off", "warn")),
    "cudnn_benchmark": (GPU, SWITCH),
    "cudnn_deterministic": (GPU, SWITCH),
    "cublas_workspace": (GPU, (":4096:8", ":16:8", "none")),
    "isa": (CPU, ("sse", "avx", "avx2", "avx512", "neon", "sve")),
    "os": (GPU, ("linux", "windows", "macos")),
    "container": (GPU, ("docker", "none")),
    "compile": (GPU, SWITCH),
    "drop_last": (GPU, SWITCH),
}
#: words of one key that act alike, with why.
ALIKE = {
    ("precision", "fp32", "highest"): "products in full float32",
    ("precision", "tf32", "high"): "products in TF32",
    ("precision", "tf32", "medium"): "products in TF32: CUDA has nothing lower behind that word",
    ("precision", "high", "medium"): "products in TF32: CUDA has nothing lower behind that word",
}
PAIRS = [(key, one, other) for key, (_, words) in CLOSED.items() for one, other in combinations(words, 2)]


def judged(one: str, other: str) -> Verdict:
    return judge_documents([document(one)], [document(other)], question=Question.REPEAT, names=("one", "other"))


@pytest.mark.parametrize(("key", "one", "other"), PAIRS)
def test_two_words_of_a_key_are_a_difference_or_ignored_with_a_reason(key: str, one: str, other: str) -> None:
    beside, _ = CLOSED[key]
    verdict = judged(f"{beside},{key}={one}", f"{beside},{key}={other}")
    told = [reason.rule for reason in verdict.reasons if "(both sides)" not in reason.why] + [
        row.path for row in verdict.ignored]
    assert bool(told) is ((key, one, other) not in ALIKE), told


def test_every_key_with_switches_or_few_words_is_held() -> None:
    taken = {key.names[0] for key in KEYS if any(_takes(key.names[0], word) for word in ("on", "warn", "avx2", "bf16"))}
    # These take any text: what a word of theirs means, no table can tell.
    assert taken - {"attention", "cpu", "libc", "sampler", "preprocessing", "commit", "image", "gfx", "mig",
                    "capability"} <= set(CLOSED)


def _takes(key: str, word: str) -> bool:
    try:
        document(f"{key}={word}")
    except (InvalidDocument, UsageError):
        return False
    return True


@pytest.mark.parametrize("word", ["fp32", "fp16", "bf16", "tf32", "highest", "high"])
def test_float64_against_any_lower_precision_is_another_precision(word: str) -> None:
    verdict = judged(f"{GPU},precision=fp64", f"{GPU},precision={word}")
    assert verdict.reasons[0].cause == "precision_mode"
    assert verdict.expected.word != "bitwise"


def test_what_is_stated_beside_a_precision_wins_over_what_follows_from_it() -> None:
    facts = document(f"{GPU},precision=fp32,tf32=on")["stack"]["precision"]
    assert (facts["allow_tf32_matmul"], facts["float32_matmul_precision"]) == (True, "high")
    mixed = document(f"{GPU},amp=bf16,precision.default_dtype=float64")["stack"]["precision"]
    assert (mixed["autocast"], mixed["default_dtype"]) == ("bfloat16", "float64")


@pytest.mark.parametrize("torch", ["1.11.0+cu113", "2.4.0a0+3bcc3cddb5.nv24.7"])
def test_float32_says_nothing_of_products_where_torch_lowers_them_by_default(torch: str) -> None:
    assert is_unread(document(f"gpu=A100,torch={torch},precision=fp32")["stack"]["precision"]["allow_tf32_matmul"])


def test_no_autocast_says_nothing_of_the_width_of_numbers() -> None:
    facts = document("gpu=A100,torch=2.3.1+cu121,amp=off")["stack"]["precision"]
    assert facts["autocast"] is None
    assert is_unread(facts["default_dtype"])


def test_the_variable_of_the_workspace_is_the_workspace() -> None:
    unset = "gpu=H100,torch=2.5.1+cu124,deterministic=on,CUBLAS_WORKSPACE_CONFIG=unset"
    assert "workspace-unset" in [reason.rule for reason in judged(unset, unset).reasons]

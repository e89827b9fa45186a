"""The allow-list and its screen: what leaves is listed, and nothing shaped like a secret leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_env import variables

SECRETS = [
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345", "ghp_0123456789abcdef0123456789abcdef0123", "sk-proj-abcdef0123456789",
    "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "https://user:pass@host.example/x",
    "https://token@host.example", "--xla_dump_to=x --token=abc", "Bearer abcdef", "0123456789abcdef0123456789abcdef",
    "path:/opt/x:https://a:b@c", "AIzaSyA-abcdefghijklmnopqrstuvwxyz012345", "-----BEGIN PRIVATE KEY-----",
    "https://bucket.example/x?X-Amz-Signature=00ff", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
]
SETTINGS = [
    "8", ":4096:8", "true", "SkylakeX", "AVX512_CORE_AMX", "glibc.cpu.hwcaps=-AVX512F", "granularity=fine,compact,1,0",
    "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0", "expandable_segments:True,max_split_size_mb:128",
    "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/local/cuda-12.4/compat:/usr/local/nvidia/lib64",
    "libscipy_openblas64_-8fb3d286.so", "/opt/software/easybuild/2023a/OpenBLAS-0.3.23-GCC-12.3.0/lib",
    "/home/researcher/.conda/envs/torch_2_4_1_cuda_12_1_python_3_11/lib", "explicit list", "COMPATIBLE,STRICT",
]


@pytest.mark.parametrize("value", SECRETS)
def test_what_looks_like_a_secret_is_withheld(value: str) -> None:
    values, withheld = variables.read({"XLA_FLAGS": value})
    assert values["XLA_FLAGS"] == {"unread": "denied"}
    assert withheld == ["XLA_FLAGS"]


@pytest.mark.parametrize("value", SETTINGS)
def test_what_people_set_is_not_taken_for_a_secret(value: str) -> None:
    assert variables.read({"LD_PRELOAD": value})[0]["LD_PRELOAD"] == value


@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_a_secret_is_found_wherever_it_stands(before: str, secret: str, after: str) -> None:
    assert variables.looks_secret(f"{before} {secret} {after}")


def test_every_allow_listed_variable_stands_there_null_when_unset() -> None:
    values, withheld = variables.read({"HOME": "/home/researcher", "AWS_SECRET_ACCESS_KEY": "x"})
    assert tuple(values) == variables.ALLOWED
    assert set(values.values()) == {None}
    assert withheld == []


def test_an_empty_variable_is_set() -> None:
    assert variables.read({"OMP_NUM_THREADS": ""})[0]["OMP_NUM_THREADS"] == ""


def test_an_overlong_value_is_withheld() -> None:
    assert variables.read({"XLA_FLAGS": "a " * 4000})[0]["XLA_FLAGS"] == {"unread": "denied"}


def test_what_differs_between_ranks_is_not_in_the_list_or_is_told_without_its_numbers() -> None:
    assert not {"CUDA_VISIBLE_DEVICES", "RANK", "GOMP_CPU_AFFINITY", "TRITON_CACHE_DIR"} & set(variables.ALLOWED)
    ranks = [variables.read({"OMP_PLACES": f"{{{rank * 8}:8}}", "KMP_AFFINITY": f"proclist=[{rank}]"})[0]
             for rank in range(8)]
    assert all(values == ranks[0] for values in ranks)
    assert variables.read({"OMP_PLACES": "cores"})[0]["OMP_PLACES"] == "cores"


def test_names_are_listed_once_and_in_order() -> None:
    names = [name for group in variables.GROUPS.values() for name in group]
    assert len(names) == len(set(names))
    assert list(variables.ALLOWED) == sorted(names)


@pytest.mark.parametrize("name", [
    "ONEDNN_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DYNAMIC",
    "OMP_DYNAMIC", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES", "ATEN_CPU_CAPABILITY",
    "LD_PRELOAD", "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "NCCL_ALGO", "NCCL_PROTO"])
def test_variables_that_were_measured_to_act_are_listed(name: str) -> None:
    assert name in variables.ALLOWED


@pytest.mark.parametrize(("url", "expected"), [
    ("https://user:secret@host.example/a/b.git", "https://host.example/a/b.git"),
    ("https://oauth2:glpat-x@host.example:8443/a.git", "https://host.example:8443/a.git"),
    ("ssh://git@host.example/a.git", "ssh://host.example/a.git"),
    ("git@host.example:team/a.git", "git@host.example:team/a.git"),
    ("someone@host.example:team/a.git", "host.example:team/a.git"),
    ("https://host.example/a.git?private_token=x#y", "https://host.example/a.git"),
    ("/srv/git/a@b.git", "/srv/git/a@b.git"),
    ("https://user:p@ss@host.example/a", "https://host.example/a"),
])
def test_addresses_lose_their_credentials(url: str, expected: str) -> None:
    assert variables.without_credentials(url) == expected

"""What short facts state, what surely follows from them, and that everything else stays unread."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import validate
from repro_env.whatif import document, document_of_table
from repro_env.whatif.keys import KEYS
from repro_env.whatif.paths import catalogue


def fact(made: dict[str, Any], path: str) -> Any:
    """Return the fact at a dotted path, below the first device where it goes on."""
    section, *steps = path.split(".")
    value = made["program"].get(section, made["stack"].get(section))
    for step in steps:
        value = value[0][step] if isinstance(value, list) else value[step]
    return value


@pytest.mark.parametrize(("text", "path", "value"), [
    ("gpu=A100", "accelerators.devices.compute_capability", "8.0"), ("gpu=A100", "accelerators.devices.sm_count", 108),
    ("gpu=A100", "accelerators.devices.threads_per_sm", 2048), ("gpu=A100", "accelerators.devices.mig_profile", None),
    ("gpu=MI300X", "accelerators.devices.gfx_target", "gfx942"), ("gpu=M3 Max", "accelerators.devices.vendor", "apple"),
    ("gpu=p4d.24xlarge", "accelerators.devices.name", "NVIDIA A100-SXM4-40GB"),
    ("gpu=H100,sm_count=114", "accelerators.devices.sm_count", 114),
    ("gpu=A100,capability=9.0", "accelerators.devices.compute_capability", "9.0"),
    ("gpu=H100,mig=3g.40gb", "accelerators.devices.mig_profile", "3g.40gb"),
    ("capability=9.0", "accelerators.devices.vendor", "nvidia"),
    ("gpu=none", "accelerators.devices", None), ("gpu=none", "driver.kernel_module", None),
    ("gpu=none", "frameworks.backend", "cpu"),
    ("torch=2.3.1+cu121", "frameworks.torch.version", "2.3.1+cu121"),
    ("torch=2.3.1+cu121", "frameworks.torch.cuda_build", "12.1"),
    ("torch=2.3.1+cu121", "frameworks.torch.rocm_build", None),
    ("torch==2.3.1+cpu", "frameworks.torch.cuda_build", None),
    ("torch=2.5.1+rocm6.2", "frameworks.torch.rocm_build", "6.2"), ("torch=none", "frameworks.torch", None),
    ("torch=2.3.1,cuda=cu121", "frameworks.torch.cuda_build", "12.1"),
    ("torch=2.3.1+cu121,cuda=12.4", "frameworks.torch.cuda_build", "12.4"),
    ("tf=2.17.0,cuda=12.3", "frameworks.tensorflow.cuda_build", "12.3"),
    ("jax=0.5.3,cuda=12.6", "libraries.cuda_runtime.installed", "12.6"),
    ("np=2.1.3", "frameworks.numpy.version", "2.1.3"),
    ("sklearn=1.5.2", "frameworks.scikit_learn.version", "1.5.2"), ("cudnn=8902", "libraries.cudnn.installed", "8.9.2"),
    ("cudnn=90100", "libraries.cudnn.loaded", "9.1.0"), ("nccl=2.21.5", "libraries.nccl.installed", "2.21.5"),
    ("mkl=2024.2", "libraries.mkl.loaded", "2024.2"), ("cudnn=none", "libraries.cudnn", None),
    ("driver=550.54.15", "driver.user_libcuda", "550.54.15"), ("driver=550.54.15", "driver.compat", False),
    ("tf32=on", "precision.allow_tf32_matmul", True), ("tf32=off", "precision.float32_matmul_precision", "highest"),
    ("precision=bf16", "precision.autocast", "bfloat16"), ("precision=fp32", "precision.autocast", None),
    ("precision=high", "precision.allow_tf32_matmul", True), ("amp=fp16", "precision.autocast", "float16"),
    ("precision=tf32", "precision.allow_tf32_cudnn", True), ("precision=fp64", "precision.default_dtype", "float64"),
    ("deterministic=on", "determinism.warn_only", False), ("deterministic=warn", "determinism.warn_only", True),
    ("benchmark=off", "determinism.cudnn_benchmark", False), ("threads=8", "threads.openmp", 8),
    ("isa=avx2", "cpu.torch_capability", "AVX2"), ("cpu=EPYC 7742", "cpu.vendor", "AuthenticAMD"),
    ("os=Ubuntu 22.04", "system.os_family", "linux"), ("glibc=2.35", "system.libc", "glibc 2.35"),
    ("image=example.org/train:1.2", "container.image_reference", "example.org/train:1.2"),
    ("image=sha256:" + "a" * 64, "container.image_digest", "sha256:" + "a" * 64),
    ("seed=7", "random.seeds", {"python": 7, "numpy": 7, "torch": 7}), ("batch=32", "layout.micro_batch", 32),
    ("workers=4", "data.loader_workers", 4), ("attention=sdpa", "model.attention", "sdpa"),
    ("ranks=8", "layout.world_size", 8),
    ("precision.allow_tf32_matmul=true", "precision.allow_tf32_matmul", True),
    ("stack.threads.mkl=4", "threads.mkl", 4), ("program.data.drop_last=off", "data.drop_last", False),
    ("draw=4096", "random.largest_cuda_draw", 4096), ("distributions.complete=on", "distributions.complete", True),
    ("random.seeds.cuda=3", "random.seeds", {"cuda": 3}), ("declared.values.lr=0.1", "declared.values", {"lr": "0.1"}),
    ("frameworks.torch.arch_list=sm_80+sm_90", "frameworks.torch.arch_list", ["sm_80", "sm_90"]),
    ("NVIDIA_TF32_OVERRIDE=0", "variables.values", {"NVIDIA_TF32_OVERRIDE": "0"}),
    ("KMP_AFFINITY='granularity=fine,compact'", "variables.values", {"KMP_AFFINITY": "granularity=fine,compact"}),
    ("variables.OMP_NUM_THREADS=unset", "variables.values", {"OMP_NUM_THREADS": None}),
])
def test_facts_state_what_they_say_and_what_surely_follows(text: str, path: str, value: Any) -> None:
    assert fact(document(text), path) == value


@pytest.mark.parametrize(("text", "names"), [
    ("gpu=8xH100", ["H100"] * 8), ("gpu=2x3090", ["3090"] * 2), ("gpu=RTX 3090 x2", ["RTX 3090"] * 2),
    ("gpu=A100+V100", ["A100", "V100"]), ("gpu=T4,gpus=4", ["T4"] * 4), ("gpus=H100", ["H100"]),
    ("gpu=Quadro RTX 8000", ["Quadro RTX 8000"]), ("gpu=GTX Titan X", ["GTX Titan X"])])
def test_devices_are_counted_as_people_count_them(text: str, names: list[str]) -> None:
    assert [device["name"] for device in fact(document(text), "accelerators.devices")] == names


def test_name_that_fits_several_sizes_leaves_the_size_unread() -> None:
    assert is_unread(fact(document("gpu=H100"), "accelerators.devices.sm_count"))


@pytest.mark.parametrize("text", ["transformers=4.47.1", "flash_attn==2.6.3", "distributions.transformers=4.47.1",
                                  "some-package=1.0"])
def test_any_distribution_with_a_version_is_listed(text: str) -> None:
    (row,) = fact(document(text), "distributions.installed")
    assert row["version"] in text
    assert fact(document(text), "distributions.complete") is False


def test_what_is_not_stated_is_unread_and_never_absent() -> None:
    made = document("gpu=A100,torch=2.3.1+cu121")
    assert is_unread(fact(made, "frameworks.numpy"))
    assert is_unread(fact(made, "libraries.cudnn"))
    assert is_unread(fact(made, "variables.values"))
    assert is_unread(fact(made, "precision.autocast"))
    assert is_unread(fact(made, "random.seeds"))


def test_a_fact_left_open_is_unread() -> None:
    assert is_unread(fact(document("gpu=A100,driver=?"), "driver.kernel_module"))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.names[0])
def test_example_of_each_key_makes_a_valid_document_from_outside(key: Any) -> None:
    made = document(key.example)
    assert validate(made) == made
    assert made["capture"]["vantage"] == "import"
    assert made["capture"]["imported"]["format"] == "what-if"


def test_no_two_keys_share_a_name() -> None:
    names = [name.replace("-", "_") for key in KEYS for name in key.names]
    assert len(names) == len(set(names))


def test_every_fact_of_the_document_can_be_stated_by_its_path() -> None:
    values = {bool: "on", int: "3", str: "text", tuple: "a+b"}
    for path, kind in catalogue().items():
        named = path.replace("*", "A_NAME")
        if not named.startswith("variables."):
            assert validate(document(f"{named}={values[kind]}"))


def test_the_same_facts_give_the_same_document() -> None:
    assert document("gpu=A100,torch=2.3.1+cu121") == document("gpu = A100, torch=2.3.1+cu121")
    assert document("gpu=A100") != document("gpu=H100")


def test_a_table_states_what_the_short_form_does() -> None:
    table = {"gpu": "A100", "gpus": 2, "tf32": True, "python": "3.10.4", "isa": "avx2",
             "variables": {"NVIDIA_TF32_OVERRIDE": "0"}, "distributions": {"transformers": "4.47.1"},
             "frameworks": {"torch": {"arch_list": ["sm_80", "sm_90"]}}}
    made = document_of_table(table, "what.toml")
    short = document("gpu=A100,gpus=2,tf32=on,python=3.10.4,isa=avx2,NVIDIA_TF32_OVERRIDE=0,transformers=4.47.1,"
                     "frameworks.torch.arch_list=sm_80+sm_90")
    assert made["stack"] == short["stack"]


def test_notes_say_what_a_name_was_taken_for() -> None:
    notes = document("gpu=3090")["capture"]["imported"]["notes"]
    assert notes == ["3090 was taken for the 3090, Ampere, 8.6, 82 SMs"]


@pytest.mark.parametrize(("text", "number_of"), [
    ("gpu=p4d.24xlarge", 8), ("gpu=p3.2xlarge", 1), ("gpu=g5.12xlarge", 4), ("gpu=a2-highgpu-2g", 2),
    ("gpu=g2-standard-96", 8), ("gpu=2xp4d.24xlarge", 16), ("gpu=p4d.24xlarge,gpus=4", 4), ("gpu=p4d.unheard", 1)])
def test_an_instance_of_a_cloud_has_the_devices_of_its_size(text: str, number_of: int) -> None:
    assert len(fact(document(text), "accelerators.devices")) == number_of


def test_a_word_that_nobody_knows_in_a_name_is_said_and_noted() -> None:
    said: list[str] = []
    notes = document("gpu=RTX 4090 turbo", said.append)["capture"]["imported"]["notes"]
    assert said == ["gpu: RTX 4090 turbo is taken for the 4090; nothing is known of 'turbo' in it"]
    assert said[0] in notes


@pytest.mark.parametrize("name", [
    "NVIDIA A100-SXM4-80GB MIG 3g.40gb", "GeForce RTX 3070 Laptop GPU", "Tesla V100-DGXS-32GB", "GRID A100-10C",
    "NVIDIA RTX 6000 Ada Generation", "Quadro RTX 5000 with Max-Q Design", "RTX PRO 6000 Blackwell Workstation Edition",
    "Radeon RX 7900 XTX", "NVIDIA H100 80GB HBM3", "TITAN X (Pascal)", "GB200 NVL72", "Apple M2 Max", "GTX 1060 6GB"])
def test_names_as_tools_write_them_leave_no_word_open(name: str) -> None:
    said: list[str] = []
    document(f"gpu={name}", said.append)
    assert said == []

"""JAX's report: versions, this process's devices, the platform without the name of the node."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat

NOT_RECORDED = {"unread": "not-recorded"}
REPORT = """jax:    {jax}
jaxlib: {jaxlib}
numpy:  1.26.4
python: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0]
{devices}
process_count: {processes}
platform: uname_result(system='{system}', node='host-17', release='{release}', version='#1', machine='{machine}')
{below}
"""
DEFAULTS = {
    "jax": "0.4.35",
    "jaxlib": "0.4.34",
    "devices": "jax.devices (1 total, 1 local): [CudaDevice(id=0)]",
    "processes": "1",
    "system": "Linux",
    "release": "6.1.0-18-amd64",
    "machine": "x86_64",
    "below": "",
}


def report(**told):
    return REPORT.format(**{**DEFAULTS, **told})


def test_versions_and_platform():
    stack = stack_of(report())
    assert stack["frameworks"]["jax"]["version"] == "0.4.35"
    assert {row["name"]: row["version"] for row in stack["distributions"]["installed"]} == {
        "jax": "0.4.35",
        "jaxlib": "0.4.34",
        "numpy": "1.26.4",
    }
    assert (stack["python"]["version"], stack["python"]["implementation"]) == ("3.11.9", "cpython")
    assert (stack["system"]["os_family"], stack["system"]["kernel"]) == ("linux", "6.1.0-18-amd64")
    assert stack["cpu"]["architecture"] == "x86_64"


def test_name_of_the_node_is_not_kept():
    assert "host-17" not in json.dumps(importers.import_text(report()))


@pytest.mark.parametrize(
    ("system", "machine", "family", "architecture", "kernel"),
    [
        ("Linux", "aarch64", "linux", "aarch64", "6.1.0-18-amd64"),
        ("Darwin", "arm64", "macos", "arm64", NOT_RECORDED),
        ("Windows", "AMD64", "windows", "x86_64", NOT_RECORDED),
        ("FreeBSD", "amd64", NOT_RECORDED, "x86_64", NOT_RECORDED),
    ],
)
def test_platforms(system, machine, family, architecture, kernel):
    stack = stack_of(report(system=system, machine=machine))
    assert stack["system"]["os_family"] == family
    assert stack["system"]["kernel"] == kernel
    assert stack["cpu"]["architecture"] == architecture


@pytest.mark.parametrize(
    ("devices", "backend"),
    [
        ("jax.devices (1 total, 1 local): [CudaDevice(id=0)]", "cuda"),
        ("jax.devices (8 total, 8 local): [CudaDevice(id=0) CudaDevice(id=1) ... CudaDevice(id=7)]", "cuda"),
        ("jax.devices (1 total, 1 local): [cuda(id=0)]", "cuda"),
        ("jax.devices (1 total, 1 local): [rocm(id=0)]", "rocm"),
        ("jax.devices (1 total, 1 local): [RocmDevice(id=0)]", "rocm"),
        ("jax.devices (4 total, 4 local): [TpuDevice(id=0, process_index=0, coords=(0,0,0)) ...]", "tpu"),
        ("jax.devices (1 total, 1 local): [CpuDevice(id=0)]", "cpu"),
        ("jax.devices (1 total, 1 local): [METAL(id=0)]", "mps"),
        ("jax.devices (1 total, 1 local): [gpu(id=0)]", NOT_RECORDED),
        ('device info: NVIDIA A100-SXM4-40GB-8, 8 local devices"', "cuda"),
        ('device info: AMD Instinct MI300X-8, 8 local devices"', "rocm"),
        ('device info: TPU v4-4, 4 local devices"', "tpu"),
        ('device info: cpu-1, 1 local devices"', "cpu"),
        ("device info: something else", NOT_RECORDED),
    ],
)
def test_what_jax_computes_on(devices, backend):
    assert stack_of(report(devices=devices))["frameworks"]["backend"] == backend


@pytest.mark.parametrize(
    ("devices", "name", "vendor", "count"),
    [
        ('device info: NVIDIA A100-SXM4-40GB-8, 8 local devices"', "NVIDIA A100-SXM4-40GB", "nvidia", 8),
        (
            "device info: NVIDIA GeForce RTX 4090 Laptop GPU-1, 1 local devices",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "nvidia",
            1,
        ),
        ('device info: TPU v5 lite-16, 4 local devices"', "TPU v5 lite", "google", 4),
        ('device info: AMD Instinct MI300X-2, 2 local devices"', "AMD Instinct MI300X", "amd", 2),
    ],
)
def test_devices_of_this_process(devices, name, vendor, count):
    found = stack_of(report(devices=devices))["accelerators"]["devices"]
    assert [(device["name"], device["vendor"]) for device in found] == [(name, vendor)] * count


def test_devices_of_other_processes_stand_in_a_note():
    text = report(devices='device info: TPU v5 lite-16, 4 local devices"', processes="4")
    assert any("16 devices in all, of which 4" in note for note in notes_of(text))


@pytest.mark.parametrize(
    "devices", ['device info: cpu-1, 1 local devices"', "jax.devices (1 total, 1 local): [CpuDevice(id=0)]"]
)
def test_jax_on_the_processor_does_not_tell_that_there_is_no_device(devices):
    assert stack_of(report(devices=devices))["accelerators"]["devices"] == NOT_RECORDED


def test_local_label_of_jaxlib_is_no_version_of_jax():
    stack = stack_of(report(jax="0.3.16", jaxlib="0.3.15+cuda11.cudnn805"))
    assert stack["frameworks"]["jax"]["version"] == "0.3.16"
    assert stack["frameworks"]["jax"]["cuda_build"] == NOT_RECORDED


def test_variables_of_the_allow_list():
    text = report(below="XLA_FLAGS=--xla_gpu_deterministic_ops=true\nXLA_SECRET_TOKEN=abc\nJAX_ENABLE_X64=1")
    assert stack_of(text)["variables"]["values"] == {
        "XLA_FLAGS": "--xla_gpu_deterministic_ops=true",
        "JAX_ENABLE_X64": "1",
    }


SMI = """

$ nvidia-smi
Thu Aug  8 12:00:00 2024
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    On  |   00000000:01:00.0 Off |                    0 |
| N/A   31C    P0             80W /  350W |     427MiB /  46068MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

"""


def test_driver_of_the_table_at_its_end():
    stack = stack_of(report(below=SMI))
    assert (stack["driver"]["kernel_module"], stack["driver"]["cuda_level"]) == ("550.90.07", "12.4")
    assert stack["accelerators"]["devices"][0]["name"] == "NVIDIA L40S"
    assert stack["frameworks"]["jax"]["cuda_build"] == NOT_RECORDED


def test_lines_that_a_terminal_wrapped():
    text = report().replace("17:59:24) [GCC", "17:59:24)\n[GCC").replace(", version=", ",\n version=")
    assert stack_of(text) == stack_of(report())


@pytest.mark.parametrize("text", ["jax: 0.4.35\n", "jaxlib: 0.4.34\nnumpy: 1.0\n", "jax: is great\njaxlib: too\n"])
def test_words_about_jax_are_no_report(text):
    with pytest.raises(UnknownFormat):
        importers.import_text(text)


def test_second_report_is_not_mixed_in():
    text = report() + report(jax="0.4.20", release="5.0.0")
    assert stack_of(text)["frameworks"]["jax"]["version"] == "0.4.35"
    assert stack_of(text)["system"]["kernel"] == "6.1.0-18-amd64"

"""Kinds of dumps beyond the shipped ones: every era's lines, and what each odd line becomes."""

from __future__ import annotations

import pytest
from importing import dump_text, notes_of, stack_of

from repro_env.fingerprint.facts import is_unread

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}


# GPUs and driver


def names(text):
    return [device["name"] for device in stack_of(text)["accelerators"]["devices"]]


def test_one_gpu_on_the_line_of_the_key():
    (device,) = stack_of(dump_text())["accelerators"]["devices"]
    assert device["name"] == "NVIDIA H100 80GB HBM3"
    assert device["vendor"] == "nvidia"
    assert device["mig_profile"] is None
    assert device["form_factor"] == "SXM"
    assert is_unread(device["compute_capability"])


def test_gpus_stand_in_canonical_order_and_their_index_order_in_a_note():
    text = dump_text(gpus="\nGPU 0: TITAN V\nGPU 1: GeForce RTX 2080 Ti\n")
    assert names(text) == ["GeForce RTX 2080 Ti", "TITAN V"]
    assert "GPUs in index order: TITAN V; GeForce RTX 2080 Ti" in notes_of(text)


def test_index_order_does_not_change_the_stack_digest():
    first, second = (dump_text(gpus=f"\nGPU 0: {a}\nGPU 1: {b}\n") for a, b in (("L4", "T4"), ("T4", "L4")))
    assert stack_of(first) == stack_of(second)


def test_uuid_is_not_part_of_a_name():
    assert names(dump_text(gpus="GPU 0: NVIDIA L4 (UUID: GPU-0a1b2c3d-0000-0000-0000-000000000000)")) == ["NVIDIA L4"]


@pytest.mark.parametrize(
    "name",
    [
        "Orin (nvgpu)",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "Tesla V100S-PCIE-32GB",
        "NVIDIA A100-SXM4-40GB",
        "Quadro RTX 6000",
        "GRID V100D-8Q",
        "Graphics Device",
    ],
)
def test_names_stay_as_printed(name):
    assert names(dump_text(gpus=f"\nGPU 0: {name}\nGPU 1: {name}\n")) == [name, name]


def test_mig_slices_are_the_devices_not_the_whole_gpu():
    text = dump_text(
        gpus="\nGPU 0: NVIDIA A100-SXM4-80GB\n  MIG 3g.40gb     Device  0:\n"
        "  MIG 2g.20gb     Device  1:\nGPU 1: NVIDIA A100-SXM4-80GB\n"
    )
    devices = stack_of(text)["accelerators"]["devices"]
    assert [device["mig_profile"] for device in devices] == ["2g.20gb", "3g.40gb", None]
    assert any("GPU 0 (NVIDIA A100-SXM4-80GB) has 3g.40gb, 2g.20gb" in note for note in notes_of(text))


@pytest.mark.parametrize("profile", ["1g.10gb+me", "1c.3g.20gb", "7g.80gb"])
def test_mig_profiles_of_every_form(profile):
    text = dump_text(gpus=f"\nGPU 0: NVIDIA A100-SXM4-80GB\n  MIG {profile}  Device  0:\n")
    assert stack_of(text)["accelerators"]["devices"][0]["mig_profile"] == profile


@pytest.mark.parametrize("word", ["Could not collect", "N/A", ""])
def test_unknown_gpus_are_not_no_gpus(word):
    assert stack_of(dump_text(gpus=word))["accelerators"]["devices"] == SILENT


def no_cuda(**lines):
    return dump_text(
        gpus="No CUDA",
        driver="No CUDA",
        nvcc="No CUDA",
        cudnn="No CUDA",
        cuda="None",
        available="False",
        torch="2.4.1+cpu",
        **lines,
    )


def test_no_cuda_on_linux_is_no_device_and_no_driver():
    stack = stack_of(no_cuda())
    assert stack["accelerators"]["devices"] is None
    assert set(stack["driver"].values()) == {None}
    assert stack["libraries"]["cuda_toolkit"] == SILENT
    assert stack["libraries"]["system_cudnn"] == SILENT
    assert stack["frameworks"]["torch"]["cuda_build"] is None
    assert stack["frameworks"]["torch"]["arch_list"] is None


def test_no_cuda_on_a_mac_says_nothing_of_its_gpu():
    stack = stack_of(
        no_cuda(os="macOS 14.5 (arm64)", platform="macOS-14.5-arm64-arm-64bit", libc="N/A", cpu="Apple M2 Pro")
    )
    assert stack["accelerators"]["devices"] == SILENT
    assert stack["system"]["os_family"] == "macos"
    assert (stack["cpu"]["architecture"], stack["cpu"]["model"]) == ("arm64", "Apple M2 Pro")


def test_intel_gpus_are_devices_though_there_is_no_cuda():
    xpu = (
        "Is XPU available: True\nXPU used to build PyTorch: 20250101\nIntel GPU driver version:\n* intel_opencl: 24.3\n"
        "Intel GPU models onboard:\n* Intel Arc A770\nIntel GPU models detected:\n"
        "* [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) A770 Graphics', platform_name='Level-Zero', type='gpu')\n"
    )
    (device,) = stack_of(no_cuda(more=xpu))["accelerators"]["devices"]
    assert (device["vendor"], device["name"]) == ("intel", "Intel(R) Arc(TM) A770 Graphics")
    assert stack_of(no_cuda(more="Is XPU available: True\n"))["accelerators"]["devices"] == SILENT
    assert stack_of(no_cuda(more="Is XPU available: False\n"))["accelerators"]["devices"] is None


def rocm(**lines):
    return dump_text(
        torch="2.4.1+rocm6.1",
        cuda="N/A",
        rocm="6.1.40091-a8dbc0c19",
        nvcc="Could not collect",
        driver="Could not collect",
        hip="6.1.40091",
        miopen="3.1.0",
        **lines,
    )


def test_rocm_build_lists_its_current_device_with_its_target():
    stack = stack_of(rocm(gpus="AMD Instinct MI250X/MI250 (gfx90a:sramecc+:xnack-)"))
    (device,) = stack["accelerators"]["devices"]
    assert device["name"] == "AMD Instinct MI250X/MI250 (gfx90a:sramecc+:xnack-)"
    assert (device["vendor"], device["gfx_target"], device["compute_capability"]) == ("amd", "gfx90a", None)
    torch = stack["frameworks"]["torch"]
    assert (torch["cuda_build"], torch["rocm_build"]) == (None, "6.1.40091-a8dbc0c19")
    assert stack["libraries"]["miopen"]["compiled_against"] == "3.1.0"
    assert stack["driver"]["kernel_module"] == SILENT
    assert "HIP runtime version: 6.1.40091" in notes_of(rocm(gpus="AMD Radeon RX 7900 XTX"))


@pytest.mark.parametrize(
    ("told", "fact"),
    [
        ("550.54.15", "550.54.15"),
        ("411.31", "411.31"),
        ("Could not collect", SILENT),
        ("N/A", SILENT),
        ("\n535.161.07\n535.161.07", "535.161.07"),
        ("\n535.161.07\n550.54.15", SILENT),
    ],
)
def test_driver_version(told, fact):
    assert stack_of(dump_text(driver=told))["driver"]["kernel_module"] == fact


def test_driver_under_wsl_is_the_one_of_windows():
    text = dump_text(platform="Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35", driver="551.88")
    assert stack_of(text)["system"]["virtualisation"] == "wsl2"
    assert "the driver is the one of Windows, seen through WSL2" in notes_of(text)


def test_a_gpu_that_the_end_of_the_text_may_break_has_no_name():
    text = (
        dump_text().partition("GPU models")[0]
        + "GPU models and configuration: \nGPU 0: NVIDIA A100\nGPU 1: NVIDIA A1"
    )
    devices = stack_of(text)["accelerators"]["devices"]
    assert [device["name"] for device in devices] == ["NVIDIA A100", NOT_RECORDED]
    assert "the text ends in the list of GPUs: there may be more than it shows" in notes_of(text)


# torch and libraries


@pytest.mark.parametrize(
    ("version", "revision", "build"),
    [
        ("1.3.0a0+de394b6", "de394b6", "source"),
        ("2.4.1+cu121", NOT_RECORDED, "wheel"),
        ("2.3.0a0+6ddf5cf85e.nv24.04", "6ddf5cf85e", "vendor"),
        ("2.1.0a0+41361538.nv23.06", "41361538", "vendor"),
        ("1.12.0a0+git3230a4d", "3230a4d", "source"),
        ("1.1.0a0+a3f600e_1_ge44ddff", "e44ddff", "source"),
        ("2.0.0.dev20230228+cpu-cxx11-abi", NOT_RECORDED, "wheel"),
        ("2.3.0+rocm6.0", NOT_RECORDED, "wheel"),
        ("1.9.1", NOT_RECORDED, NOT_RECORDED),
    ],
)
def test_build_and_revision_by_the_version(version, revision, build):
    torch = stack_of(dump_text(torch=version))["frameworks"]["torch"]
    assert (torch["version"], torch["revision"], torch["build"]) == (version, revision, build)


@pytest.mark.parametrize(
    ("cuda", "rocm_line", "built"),
    [
        ("12.1", "N/A", ("12.1", None)),
        ("10.0.130", "N/A", ("10.0.130", None)),
        ("None", "N/A", (None, None)),
        ("Could not collect", "N/A", (SILENT, SILENT)),
        ("N/A", "5.4.22801", (None, "5.4.22801")),
    ],
)
def test_what_torch_was_built_with(cuda, rocm_line, built):
    torch = stack_of(dump_text(cuda=cuda, rocm=rocm_line))["frameworks"]["torch"]
    assert (torch["cuda_build"], torch["rocm_build"]) == built


def test_header_wins_over_the_package_row():
    text = dump_text(torch="2.4.1+cu121", rows="[pip3] torch==2.3.0\n[conda] Could not collect")
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cu121"
    assert "torch says it is 2.4.1+cu121, its package row says 2.3.0: the first is believed" in notes_of(text)


@pytest.mark.parametrize("row", ["2.4.1+cu121", "2.4.1"])
def test_two_spellings_of_one_version_are_no_conflict(row):
    assert not any(
        "package row" in note for note in notes_of(dump_text(rows=f"[pip3] torch=={row}\n[conda] x 1.0 0"))
    )


def test_torch_that_cannot_be_imported_is_absent_only_when_the_whole_list_lacks_it():
    without = "[pip3] numpy==1.26.4\n[conda] Could not collect"
    assert stack_of(dump_text(torch="N/A", cuda="N/A", rows=without))["frameworks"]["torch"] is None
    broken = stack_of(dump_text(torch="N/A", cuda="N/A", rows="[pip3] torch==2.4.1\n[conda] Could not collect"))
    assert broken["frameworks"]["torch"]["version"] == "2.4.1"
    assert stack_of("PyTorch version: N/A\nIs debug build: N/A\n")["frameworks"]["torch"] == SILENT


def test_backend_and_import_are_not_told():
    frameworks = stack_of(dump_text())["frameworks"]
    assert frameworks["backend"] == NOT_RECORDED
    assert frameworks["torch"]["imported"] == NOT_RECORDED
    assert frameworks["scipy"] == NOT_RECORDED


def test_compiler_and_system_files_are_not_what_torch_loads():
    text = dump_text(nvcc="11.8.89", cudnn="/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7")
    libraries = stack_of(text)["libraries"]
    assert libraries["cuda_toolkit"] == "11.8.89"
    assert libraries["system_cudnn"] == ["8.9.7"]
    assert libraries["cudnn"] == libraries["cuda_runtime"] == NOT_RECORDED


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.0\\bin\\cudnn64_7.dll", ["7"]),
        ("C:\\CUDA\\bin\\cudnn_ops_infer64_8.dll", ["8"]),
        ("/usr/local/cuda/lib/libcudnn.7.dylib", ["7"]),
        (
            "Probably one of the following:\n/usr/lib/libcudnn.so.9.1.0\n/usr/lib/libcudnn_adv.so.9.1.0\n"
            "/opt/libcudnn.so.10.2.3",
            ["9.1.0", "10.2.3"],
        ),
        (
            "Probably one of the following:\n/a/libcudnn.so\n/a/libcudnn.so.7\n/a/libcudnn.so.7.1.2\n"
            "/a/libcudnn_static.a",
            ["7.1.2"],
        ),
        ("Probably one of the following:\n/a/libcudnn.so.7.6.5\n/b/libcudnn.so.7", ["7", "7.6.5"]),
        ("Could not collect", SILENT),
        ("N/A", SILENT),
        ("No CUDA", SILENT),
    ],
)
def test_cudnn_files(told, found):
    assert stack_of(dump_text(cudnn=told))["libraries"]["system_cudnn"] == found


WHEELS = """[pip3] numpy==1.26.4
[pip3] nvidia-cublas-cu12==12.1.3.1
[pip3] nvidia-cuda-nvrtc-cu12==12.1.105
[pip3] nvidia-cuda-runtime-cu12==12.1.105
[pip3] nvidia-cudnn-cu11==8.7.0.84
[pip3] nvidia-cudnn-cu12==9.1.0.70
[pip3] nvidia-cufft-cu12==11.0.2.54
[pip3] nvidia-cusolver-cu12==11.4.5.107
[pip3] nvidia-cusparse-cu12==12.1.0.106
[pip3] nvidia-nccl-cu12==2.20.5
[pip3] nvidia-nvjitlink-cu12==12.6.68
[pip3] torch==2.4.1
[pip3] triton==3.0.0
[conda] Could not collect"""


@pytest.mark.parametrize("torch", ["2.4.1+cu121", "2.4.1"])
def test_wheels_that_a_torch_wheel_brings_along(torch):
    libraries = stack_of(dump_text(torch=torch, rows=WHEELS))["libraries"]
    installed = {
        name: value["installed"]
        for name, value in libraries.items()
        if isinstance(value, dict) and "installed" in value
    }
    assert installed == {
        "cublas": "12.1.3.1",
        "cuda_runtime": "12.1.105",
        "cudnn": "9.1.0.70",
        "cufft": "11.0.2.54",
        "cusolver": "11.4.5.107",
        "cusparse": "12.1.0.106",
        "nccl": "2.20.5",
        "nvjitlink": "12.6.68",
        "nvrtc": "12.1.105",
        "triton": "3.0.0",
    }
    assert libraries["cudnn"]["found"] == "wheel"
    assert libraries["cudnn"]["loaded"] == NOT_RECORDED


def test_wheels_of_another_torch_build_are_not_its_libraries():
    assert stack_of(dump_text(torch="2.4.0a0+de394b6", rows=WHEELS))["libraries"]["cudnn"] == NOT_RECORDED


def test_cuda_13_wheels_have_no_suffix():
    rows = (
        "[pip3] nvidia-cublas==13.0.0.19\n[pip3] nvidia-cudnn-cu13==9.13.0.50\n"
        "[pip3] nvidia-nccl-cu13==2.27.7\n[conda] x 1 0"
    )
    libraries = stack_of(dump_text(torch="2.9.0+cu130", cuda="13.0", rows=rows))["libraries"]
    assert [libraries[name]["installed"] for name in ("cublas", "cudnn", "nccl")] == [
        "13.0.0.19",
        "9.13.0.50",
        "2.27.7",
    ]


CONDA = """[pip3] numpy==1.24.3
[pip3] torch==2.0.1
[conda] blas                      1.0                         mkl
[conda] mkl                       2023.1.0         h213fc3f_46343
[conda] numpy                     1.24.3          py310h5f9d8c6_1
[conda] pytorch                   2.0.1           py3.10_cuda11.7_cudnn8.5.0_0    pytorch
[conda] pytorch-cuda              11.7                 h778d358_5    pytorch"""


def test_conda_build_names_its_cudnn():
    stack = stack_of(dump_text(torch="2.0.1", cuda="11.7", rows=CONDA))
    assert stack["frameworks"]["torch"]["build"] == "conda"
    assert stack["libraries"]["cudnn"]["installed"] == stack["libraries"]["cudnn"]["compiled_against"] == "8.5.0"
    assert stack["libraries"]["mkl"] | {"found": "conda", "installed": "2023.1.0"} == stack["libraries"]["mkl"]


def test_conda_rows_of_another_python_are_not_believed():
    text = dump_text(torch="2.0.1", cuda="11.7", python="3.11.4 (main) [GCC 11.2.0] (64-bit runtime)", rows=CONDA)
    stack = stack_of(text)
    assert stack["libraries"]["mkl"] == NOT_RECORDED
    assert {item["name"] for item in stack["distributions"]["installed"]} == {"numpy", "torch"}
    assert any("another environment" in note for note in notes_of(text))


# packages


def installed(rows):
    return {item["name"]: item["version"] for item in stack_of(dump_text(rows=rows))["distributions"]["installed"]}


@pytest.mark.parametrize(
    "row",
    [
        "[pip3] numpy==1.14.0",
        "[pip] numpy==1.14.0",
        "[pip] numpy (1.14.0)",
        "[pip2] numpy 1.14.0",
        "[pip3]\tnumpy==1.14.0",
        "[pip3] numpy===1.14.0",
        "[pip3] NumPy==1.14.0",
    ],
)
def test_pip_rows_of_every_era(row):
    assert installed(f"{row}\n[conda] Could not collect") == {"numpy": "1.14.0"}


def test_names_are_normalised_and_the_list_is_a_selection():
    rows = "[pip3] pytorch_lightning==2.0\n[conda] Could not collect"
    distributions = stack_of(dump_text(rows=rows))["distributions"]
    assert distributions["installed"][0]["name"] == "pytorch-lightning"
    assert distributions["complete"] is False


def test_pip_row_wins_over_conda_row_and_the_other_is_noted():
    rows = "[pip3] torchvision==0.4.1\n[conda] torchvision 0.4.0 <pip>\n[conda] torchvision 0.4.1 <pip>"
    assert installed(rows) == {"torchvision": "0.4.1"}
    assert "torchvision is listed as 0.4.1 and, by conda, as 0.4.0: the first is kept" in notes_of(
        dump_text(rows=rows)
    )


def test_wrapped_conda_row_is_read_as_one():
    rows = (
        "[conda] mkl                       2023.1.0\n         h213fc3f_46343    conda-forge\n"
        "[conda] torchvision 0.13.0 py310_cu116 pytorch"
    )
    found = stack_of(dump_text(rows=rows))["distributions"]["installed"]
    assert (found[0]["version"], found[0]["origin"]) == ("2023.1.0", "conda:conda-forge")


@pytest.mark.parametrize("fragment", ["[pip3] num", "[pip3] torchvision==0.1", "[conda] mkl", "[conda] mkl   2023.1"])
def test_a_fragment_at_the_end_is_no_package(fragment):
    text = dump_text().partition("[pip3]")[0] + "[pip3] numpy==1.26.4\n" + fragment
    assert [item["name"] for item in stack_of(text)["distributions"]["installed"]] == ["numpy"]


# Python and system


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("3.10 (64-bit runtime)", "3.10"),
        ("2.7", "2.7"),
        ("3.6", "3.6"),
        ("3.13.0rc2 (main, Sep 6 2024) [GCC 13] (64-bit runtime)", "3.13.0rc2"),
        ("3.12.3 | packaged by Anaconda, Inc. | (main) [GCC 11.2.0] (64-bit runtime)", "3.12.3"),
        ("Could not collect", SILENT),
    ],
)
def test_python_version_stays_as_told(told, version):
    assert stack_of(dump_text(python=told))["python"]["version"] == version


def test_python_build():
    python = stack_of(dump_text())["python"]
    assert (python["implementation"], python["compiler"], python["free_threaded"]) == ("cpython", "GCC 11.4.0", False)
    free = dump_text(python="3.13.0 experimental free-threading build (main) [GCC 13.2.0] (64-bit runtime)")
    assert stack_of(free)["python"]["free_threaded"] is True
    assert stack_of(dump_text(python="3.10 (64-bit runtime)"))["python"]["compiler"] == NOT_RECORDED


@pytest.mark.parametrize(
    ("told", "platform", "family", "name"),
    [
        (
            "Ubuntu 22.04.4 LTS (x86_64)",
            "Linux-5.15.0-105-generic-x86_64-with-glibc2.35",
            "linux",
            "Ubuntu 22.04.4 LTS",
        ),
        (
            "\u041c\u0430\u0439\u043a\u0440\u043e\u0441\u043e\u0444\u0442 Windows 10 Pro",
            "Windows-10-10.0.19045-SP0",
            "windows",
            "\u041c\u0430\u0439\u043a\u0440\u043e\u0441\u043e\u0444\u0442 Windows 10 Pro",
        ),
        (
            "Microsoft Windows 11 Pro (10.0.22631 64-bit)",
            "Windows-11-10.0.22631-SP0",
            "windows",
            "Microsoft Windows 11 Pro (10.0.22631 64-bit)",
        ),
        ("Could not collect", "Windows-11-10.0.26100-SP0", "windows", SILENT),
        ("Mac OSX 10.14.6", "N/A", "macos", "Mac OSX 10.14.6"),
        ("Could not collect", "N/A", SILENT, SILENT),
        ("\u957f\u57ce Linux (aarch64)", "N/A", "linux", "\u957f\u57ce Linux"),
    ],
)
def test_operating_systems_in_any_language(told, platform, family, name):
    system = stack_of(dump_text(os=told, platform=platform))["system"]
    assert (system["os_family"], system["os_name"]) == (family, name)


@pytest.mark.parametrize(
    ("platform", "kernel"),
    [
        ("Linux-5.15.0-105-generic-x86_64-with-glibc2.35", "5.15.0-105-generic"),
        ("Linux-5.10.216-tegra-aarch64-with-glibc2.29", "5.10.216-tegra"),
        ("Linux-5.4.188+-x86_64-with-Ubuntu-18.04-bionic", "5.4.188+"),
        ("Linux-3.10.0-1160.25.1.el7.x86_64-x86_64-with-centos-7.9.2009-Core", "3.10.0-1160.25.1.el7.x86_64"),
        ("macOS-13.0-arm64-arm-64bit", NOT_RECORDED),
    ],
)
def test_kernel_by_pythons_platform(platform, kernel):
    assert stack_of(dump_text(platform=platform))["system"]["kernel"] == kernel


@pytest.mark.parametrize(
    ("python", "told", "libc"),
    [
        ("3.8.0 (default) [GCC 7.3.0]", "glibc-2.31", "glibc 2.31"),
        ("3.7.13 (default) [GCC 7.5.0]", "glibc-2.26", SILENT),
        ("3.6 (64-bit runtime)", "glibc-2.3.4", SILENT),
        ("3.10.1 (main) [GCC 10]", "N/A", SILENT),
        ("3.10.1 (main) [GCC 10]", "-", SILENT),
        ("3.10.1 (main) [GCC 10]", "musl-1.2.4", "musl 1.2.4"),
    ],
)
def test_c_library_is_believed_from_python_3_8_on(python, told, libc):
    assert stack_of(dump_text(python=python, libc=told))["system"]["libc"] == libc

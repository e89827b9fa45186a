"""detectron2's table, OpenMMLab's list, and torch's report on its own build that both carry."""

from __future__ import annotations

import json

import pytest
from importing import notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.importers import openmmlab, plain, torch_config
from repro_env.importers.format import Text

NOT_RECORDED = {"unread": "not-recorded"}
SILENT = {"unread": "not-reported"}
RULE = "----------------------  ------------------------------------"


def table(*more, config="", **told):
    """A table of detectron2 in which the named rows say something else; ``None`` leaves a row out."""
    rows = {
        "sys.platform": "linux",
        "Python": "3.8.12 (default, Oct 12 2021, 21:59:51) [GCC 9.4.0]",
        "numpy": "1.21.2",
        "PyTorch": "1.10.1+cu113 @/opt/venv/lib/python3.8/site-packages/torch",
        "PyTorch debug build": "False",
        "GPU available": "Yes",
        "GPU 0": "Tesla T4 (arch=7.5)",
        "Driver version": "470.57.02",
        "CUDA_HOME": "/usr/local/cuda",
        "Pillow": "8.4.0",
        **told,
    }
    lines = [f"{key:<23} {value}" for key, value in rows.items() if value is not None]
    return "\n".join([RULE, *lines, *more, RULE]) + f"\n{config}\nend\n"


def devices(text):
    return stack_of(text)["accelerators"]["devices"]


def versions(text):
    return {row["name"]: row["version"] for row in stack_of(text)["distributions"]["installed"]}


def test_rows_of_the_table():
    stack = stack_of(table())
    assert stack["system"]["os_family"] == "linux"
    assert (stack["python"]["version"], stack["python"]["compiler"]) == ("3.8.12", "GCC 9.4.0")
    torch = stack["frameworks"]["torch"]
    assert (torch["version"], torch["cuda_build"], torch["debug"]) == ("1.10.1+cu113", "11.3", False)
    assert stack["driver"]["kernel_module"] == "470.57.02"
    (device,) = stack["accelerators"]["devices"]
    assert (device["name"], device["compute_capability"], device["vendor"]) == ("Tesla T4", "7.5", "nvidia")
    assert versions(table()) == {"numpy": "1.21.2", "pillow": "8.4.0", "torch": "1.10.1+cu113"}


def test_folders_are_not_kept():
    text = table(PyTorch="1.10.1+cu113 @/home/someone/venv/lib/python3.8/site-packages/torch")
    assert "someone" not in json.dumps(importers.import_text(text))


@pytest.mark.parametrize(
    ("told", "family"), [("linux", "linux"), ("win32", "windows"), ("darwin", "macos"), ("freebsd13", NOT_RECORDED)]
)
def test_platform(told, family):
    assert stack_of(table(**{"sys.platform": told}))["system"]["os_family"] == family


@pytest.mark.parametrize(
    "told", ["failed to import", "imported a wrong installation", "not built correctly: No module named 'x'", "unknown"]
)
def test_word_for_a_failed_import_is_no_version(told):
    assert "detectron2" not in versions(table(detectron2=told))


@pytest.mark.parametrize(
    ("told", "toolkit"),
    [
        ("Cuda compilation tools, release 9.2, V9.2.148", "9.2.148"),
        ("Build cuda_11.1.TC455_06.29190527_0", "11.1"),
        ("Build cuda_12.1.r12.1/compiler.32415258_0", "12.1"),
        ("CUDA 11.1", NOT_RECORDED),
        ("Not found", NOT_RECORDED),
        ("HIP 4.2", NOT_RECORDED),
    ],
)
def test_compiler_is_a_toolkit_only_where_it_was_asked_itself(told, toolkit):
    stack = stack_of(table(**{"CUDA compiler": told}))
    assert stack["libraries"]["cuda_toolkit"] == toolkit
    assert stack["frameworks"]["torch"]["cuda_build"] == "11.3"


@pytest.mark.parametrize(("told", "abi"), [("True", "cxx11"), ("False", "pre-cxx11"), (None, NOT_RECORDED)])
def test_abi(told, abi):
    assert stack_of(table(**{"torch._C._GLIBCXX_USE_CXX11_ABI": told}))["frameworks"]["torch"]["abi"] == abi


def test_eight_gpus_in_two_rows_stand_in_index_order_in_a_note():
    gpus = {"GPU 0": None, "GPU 0,2": "Tesla T4 (arch=7.5)", "GPU 1": "Tesla V100-SXM2-16GB (arch=7.0)"}
    text = table(**gpus, iopath="0.1.9")
    assert [device["name"] for device in devices(text)] == ["Tesla T4", "Tesla T4", "Tesla V100-SXM2-16GB"]
    assert "GPUs in index order: Tesla T4; Tesla V100-SXM2-16GB; Tesla T4" in notes_of(text)


def test_gpus_at_the_end_of_the_text_may_be_more():
    text = table().partition("Driver version")[0]
    (first, second) = devices(text)
    assert first["name"] == "Tesla T4"
    assert set(map(json.dumps, second.values())) == {json.dumps(NOT_RECORDED)}


@pytest.mark.parametrize("told", ["No: torch.cuda.is_available() == False", "False"])
def test_torch_without_a_gpu_does_not_tell_that_there_is_none(told):
    text = table(**{"GPU available": told, "GPU 0": None})
    assert devices(text) == SILENT
    assert stack_of(text)["driver"]["kernel_module"] == "470.57.02"


def test_amd_has_no_compute_capability():
    text = table(**{"GPU 0": "AMD Instinct MI250X (arch=9.0)", "PyTorch": "1.13.0+rocm5.2 @/x"})
    (device,) = devices(text)
    assert (device["vendor"], device["compute_capability"]) == ("amd", None)
    assert stack_of(text)["frameworks"]["torch"]["rocm_build"] == "5.2"


@pytest.mark.parametrize("told", ["Could not collect", "N/A", ""])
def test_driver_that_was_not_found_is_unread(told):
    text = table(**{"Driver version": told or None})
    assert stack_of(text)["driver"]["kernel_module"] in (SILENT, NOT_RECORDED)


def test_rows_of_other_projects_do_not_end_the_table():
    text = table("densepose                0.6 @/x", "my own row              17", "cv2                     4.5.3")
    assert versions(text)["opencv"] == "4.5.3"


def test_table_of_markdown():
    rows = [
        ("sys.platform", "linux"),
        ("Python", "3.8.12 (default) [GCC 9.4.0]"),
        ("numpy", "1.21.2"),
        ("PyTorch", "1.9.0+cu111 @/x"),
        ("Pillow", "8.4.0"),
    ]
    text = "".join(f"| {key} | {value} |\n" for key, value in rows) + "\nend\n"
    assert stack_of(text)["frameworks"]["torch"]["version"] == "1.9.0+cu111"


@pytest.mark.parametrize("text", ["sys.platform            linux\n", "sys.platform linux\nPython 3.8\n\nx\n"])
def test_two_rows_are_no_table(text):
    with pytest.raises(UnknownFormat):
        importers.import_text(text)


# torch's report


def block(*bullets):
    return "PyTorch built with:\n" + "".join(f"  - {bullet}\n" for bullet in bullets) + "\n"


def told(*bullets):
    return torch_config.sections(list(bullets))


@pytest.mark.parametrize(
    ("bullet", "loaded", "built"),
    [("CUDA Runtime 11.3", "11.3", "11.3"), ("CUDA Runtime 12.1, built with CUDA Runtime 11.8", "12.1", "11.8")],
)
def test_runtime_that_is_loaded_and_the_one_torch_was_built_with(bullet, loaded, built):
    found = told(bullet)
    library = found["libraries"]["cuda_runtime"]
    assert (library["loaded"], library["compiled_against"]) == (loaded, built)
    assert found["frameworks"]["torch"]["cuda_build"] == built


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("8.0.5", "8.0.5"),
        ("7.6.5", "7.6.5"),
        ("8.5", "8.5.0"),
        ("8", "8.0.0"),
        ("90.1", "9.1.0"),
        ("91.0.2", "9.10.2"),
        ("90.8", "9.8.0"),
        ("8.9.1.2", NOT_RECORDED),
    ],
)
def test_cudnn_as_torch_prints_its_number(printed, version):
    assert torch_config.cudnn_version(printed) == version


def test_cudnn_torch_was_built_with():
    found = told("CuDNN 8.9.1  (built against CUDA 12.1)", "Built with CuDNN 8.5", "Magma 2.6.1")
    library = found["libraries"]["cudnn"]
    assert (library["loaded"], library["compiled_against"]) == ("8.9.1", "8.5.0")


def test_cudnn_at_the_end_of_the_text_does_not_tell_what_torch_was_built_with():
    assert told("CuDNN 8.9.1")["libraries"]["cudnn"]["compiled_against"] == NOT_RECORDED
    assert told("CuDNN 8.9.1", "Magma 2.6.1")["libraries"]["cudnn"]["compiled_against"] == "8.9.1"


@pytest.mark.parametrize(
    ("bullet", "library", "version"),
    [
        ("Intel(R) Math Kernel Library Version 2020.0.2 Product Build 20200624 for Intel(R) 64", "mkl", "2020.0.2"),
        ("Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64", "mkl", "2024.2"),
        ("Intel(R) MKL-DNN v3.4.2 (Git Hash 1137e04ec0b5251ca2b4400a4fd3c667ce843d67)", "onednn", "3.4.2"),
    ],
)
def test_libraries_within_torch(bullet, library, version):
    assert told(bullet)["libraries"][library]["loaded"] == version


def test_miopen_is_what_torch_was_built_with():
    found = told("HIP Runtime 5.2.21153", "MIOpen 2.17.0")
    assert found["libraries"]["miopen"]["compiled_against"] == "2.17.0"
    assert found["frameworks"]["torch"]["cuda_build"] is None


@pytest.mark.parametrize(
    ("usage", "capability"), [("AVX2", "AVX2"), ("AVX512", "AVX512"), ("NO AVX", "DEFAULT"), ("SVE256", "SVE256")]
)
def test_kernel_level_in_torchs_own_word(usage, capability):
    assert told(f"CPU capability usage: {usage}")["cpu"]["torch_capability"] == capability


def test_targets():
    found = told(
        "NVCC architecture flags: -gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_90a,code=sm_90a;"
        "-gencode;arch=compute_86,code=compute_86"
    )
    assert found["frameworks"]["torch"]["arch_list"] == ["compute_86", "sm_37", "sm_90a"]


SETTINGS = (
    "Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, CXX_FLAGS= -D_GLIBCXX_USE_CXX11_ABI={abi} -O2, "
    "TORCH_VERSION=2.1.0, USE_CUDA={cuda}, USE_MKLDNN=ON, USE_ROCM={rocm}, "
)


@pytest.mark.parametrize(
    ("cuda", "rocm", "built", "rocm_built"),
    [
        ("ON", "OFF", NOT_RECORDED, NOT_RECORDED),
        ("OFF", "OFF", None, None),
        ("0", "OFF", None, None),
        ("OFF", "ON", None, NOT_RECORDED),
    ],
)
def test_settings_say_what_the_build_is_without(cuda, rocm, built, rocm_built):
    torch = told(SETTINGS.format(abi=1, cuda=cuda, rocm=rocm))["frameworks"]["torch"]
    assert (torch["cuda_build"], torch["rocm_build"]) == (built, rocm_built)
    assert torch["abi"] == "cxx11"
    assert torch["build_flags"]["BLAS_INFO"] == "mkl"
    assert "BUILD_TYPE" not in torch["build_flags"]


def test_report_adds_to_the_table_and_the_table_names_the_version():
    config = block("CUDA Runtime 11.3", "CuDNN 8.2", "Magma 2.5.2", SETTINGS.format(abi=0, cuda="ON", rocm="OFF"))
    stack = stack_of(table(config=config))
    torch = stack["frameworks"]["torch"]
    assert (torch["version"], torch["cuda_build"], torch["abi"], torch["debug"]) == (
        "1.10.1+cu113",
        "11.3",
        "pre-cxx11",
        False,
    )
    assert stack["libraries"]["cudnn"]["loaded"] == "8.2.0"
    assert stack["libraries"]["cuda_toolkit"] == NOT_RECORDED


def test_last_bullet_of_a_text_is_not_read():
    text = table(config="").partition("\nend")[0] + block("CUDA Runtime 11.3", "CuDNN 8.2")[:-3]
    libraries = stack_of(text)["libraries"]
    assert libraries["cuda_runtime"]["loaded"] == "11.3"
    assert libraries["cudnn"] == NOT_RECORDED


# OpenMMLab


def rows(*more, **told):
    values = {
        "sys.platform": "linux",
        "Python": "3.8.16 (default, Mar  2 2023, 03:21:46) [GCC 11.2.0]",
        "CUDA available": "True",
        "GPU 0,1": "NVIDIA A100-SXM4-80GB",
        "CUDA_HOME": "/usr/local/cuda",
        "NVCC": "Cuda compilation tools, release 11.7, V11.7.99",
        "PyTorch": "1.13.1",
        "TorchVision": "0.14.1",
        "OpenCV": "4.7.0",
        "MMCV": "2.0.0",
        **told,
    }
    return "\n".join([f"{key}: {value}" for key, value in values.items() if value is not None] + list(more)) + "\n\nx\n"


def test_rows_of_the_list():
    stack = stack_of(rows())
    assert importers.detect(rows()) == "openmmlab-collect-env"
    assert [device["name"] for device in stack["accelerators"]["devices"]] == ["NVIDIA A100-SXM4-80GB"] * 2
    assert stack["libraries"]["cuda_toolkit"] == "11.7.99"
    assert stack["frameworks"]["torch"]["version"] == "1.13.1"
    assert stack["frameworks"]["torch"]["cuda_build"] == NOT_RECORDED
    assert versions(rows()) == {"mmcv": "2.0.0", "opencv": "4.7.0", "torch": "1.13.1", "torchvision": "0.14.1"}


@pytest.mark.parametrize(
    ("row", "name", "version"),
    [
        ("MMDetection: 3.0.0+ecac3a7", "mmdet", "3.0.0"),
        ("MMDetection: 2.25.0+unknown", "mmdet", "2.25.0"),
        ("MMSegmentation: 1.0.0", "mmsegmentation", "1.0.0"),
        ("MMEngine: 0.7.3", "mmengine", "0.7.3"),
        ("MMDetection3D: 1.1.0", "mmdet3d", "1.1.0"),
        ("MMYOLO: 0.5.0", "mmyolo", "0.5.0"),
        ("MMPretrain: 1.0.0rc7", "mmpretrain", "1.0.0rc7"),
        ("- MMPose: 0.29.0", "mmpose", "0.29.0"),
    ],
)
def test_libraries_of_openmmlab(row, name, version):
    assert versions(rows(row))[name] == version


@pytest.mark.parametrize("row", ["MMCV Compiler: GCC 9.3", "MMCV CUDA Compiler: 11.7", "numpy_random_seed: 2147483648"])
def test_other_rows_are_no_distributions(row):
    assert sorted(versions(rows(row))) == ["mmcv", "opencv", "torch", "torchvision"]


def test_nvcc_that_is_not_available_is_unread():
    assert stack_of(rows(NVCC="Not Available"))["libraries"]["cuda_toolkit"] == NOT_RECORDED


def test_cuda_that_is_not_available_does_not_tell_that_there_is_no_device():
    text = rows(**{"CUDA available": "False", "GPU 0,1": None, "NVCC": None})
    assert devices(text) == SILENT


RUNTIME = """Runtime environment:
    cudnn_benchmark: {benchmark}
    mp_cfg: {{'mp_start_method': 'fork', 'opencv_num_threads': 0}}
    dist_cfg: {{'backend': '{backend}'}}
    seed: None
    Distributed launcher: {launcher}
    Distributed training: {spread}
    GPU number: {number}
------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("benchmark", "spread", "backend", "found"),
    [("True", "True", "nccl", "nccl"), ("False", "True", "gloo", "gloo"), ("False", "False", "nccl", None)],
)
def test_settings_of_a_run(benchmark, spread, backend, found):
    text = rows().removesuffix("x\n") + RUNTIME.format(
        benchmark=benchmark, backend=backend, launcher="none", spread=spread, number=4
    )
    document = importers.import_text(text)
    assert document["stack"]["determinism"]["cudnn_benchmark"] is (benchmark == "True")
    assert document["stack"]["collectives"]["backend"] == found
    assert document["program"]["layout"]["world_size"] == 4


def test_settings_of_a_run_stand_below_its_list_only():
    assert stack_of(rows() + RUNTIME)["determinism"]["cudnn_benchmark"] == NOT_RECORDED


@pytest.mark.parametrize(
    "text", ["sys.platform: linux\nPython: 3.8\n", "Python: 3.8\nPyTorch: 1.8\nGCC: 9\nOpenCV: 4\n\nx\n"]
)
def test_two_rows_or_rows_without_the_first_are_no_list(text):
    assert openmmlab.read(Text(text, tuple(plain.lines(text)))) is None

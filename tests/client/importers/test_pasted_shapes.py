"""Shapes in which people paste reports: put into one line, under a logger's words, as an object, without their head."""

from __future__ import annotations

import contextlib
import time

import pytest
from hanging import HANGING_S
from importing import document_of, dump_text, notes_of, stack_of

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.importers import folded, openmmlab, plain, python_repr

NOT_RECORDED = {"unread": "not-recorded"}
SILENT = {"unread": "not-reported"}
#: what comes out the same from one line: the rows of the processor cannot be told apart in it.
TOLD_IN_ONE_LINE = ("accelerators", "driver", "frameworks", "python", "system")


def names(text):
    return [device["name"] for device in stack_of(text)["accelerators"]["devices"]]


def told(text, *path):
    value = stack_of(text)
    for name in path:
        value = value[name]
    return value


def installed(text):
    return {row["name"]: row["version"] for row in told(text, "distributions", "installed")}


# A report put into one line


def in_one_line(text):
    return "Your environment " + " ".join(text.split()) + "\n\nthanks\n"


@pytest.mark.parametrize("gpus", ["GPU 0: NVIDIA L4", "\nGPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\nGPU 2: Tesla T4\n"])
def test_report_in_one_line_says_what_it_says_in_many(gpus):
    text = dump_text(gpus=gpus)
    one = stack_of(in_one_line(text))
    assert {path: one[path] for path in TOLD_IN_ONE_LINE} == {path: stack_of(text)[path] for path in TOLD_IN_ONE_LINE}


def test_processor_in_one_line_is_not_guessed():
    text = dump_text(cpu="Architecture:   x86_64\nCPU(s):   64\nModel name:   Some Processor 9000")
    assert told(in_one_line(text), "cpu", "model") == NOT_RECORDED
    assert told(in_one_line(text), "cpu", "cores") == NOT_RECORDED


def test_first_lines_that_a_wide_terminal_put_into_one():
    lines = dump_text(torch="2.8.0.dev20250601+rocm6.4", cuda="N/A", rocm="6.4.43482-0f2d60242").split("\n")
    text = (" " * 160).join(lines[:2]) + "\n" + "\n".join(lines[2:])
    torch = told(text, "frameworks", "torch")
    assert (torch["version"], torch["rocm_build"]) == ("2.8.0.dev20250601+rocm6.4", "6.4.43482-0f2d60242")


def test_line_with_one_key_stays_whole():
    lines = ("PyTorch version: 2.4.1+cu121", "OS: Ubuntu 22.04, Python version: 3.10", "")
    assert folded.unfolded(lines)[0] == lines


def test_pieces_know_their_line():
    text = plain.lines("hello\n" + in_one_line(dump_text()))
    lines, places = folded.unfolded(text)
    assert len(lines) == len(places)
    assert places[lines.index("PyTorch version: 2.4.1+cu121")] == 1


def test_keys_out_of_order_are_words():
    line = "Collecting environment information... PyTorch version: 2.1.0 OS: Ubuntu 22.04 PyTorch version: 9.9.9"
    assert told(f"{line}\nGCC version: 1\nend\n", "frameworks", "torch", "version") != "9.9.9"


@pytest.mark.parametrize("piece", ["PyTorch version: 1.0 Is debug build: False OS: x ", "PyTorch version: ", "OS: "])
def test_no_line_of_a_mebibyte_keeps_the_reader_busy(piece):
    text = (piece * (1 << 20))[: (1 << 20) - 10]
    begun = time.process_time()
    with contextlib.suppress(UnknownFormat):
        importers.detect(text)
    assert time.process_time() - begun < HANGING_S


# Words of loggers before each line

OPENMMLAB = """sys.platform: linux
Python: 3.10.9 (main, Jan 11 2023, 15:21:40) [GCC 11.2.0]
CUDA available: True
GPU 0,1: NVIDIA RTX A6000
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 11.7, V11.7.99
GCC: gcc (GCC) 9.3.0
PyTorch: 1.13.1+cu117
TorchVision: 0.14.1+cu117
MMEngine: 0.7.0
end
"""


@pytest.mark.parametrize("before", [
    "05/19 08:01:02 - mmengine - INFO - ", "2023-05-19 08:01:02,345 - mmdet - INFO - ",
    "2023/05/19 08:01:02 - mmengine - WARNING - ", "[2023-05-19 08:01:02,345] [INFO] [env.py:30:show] ",
    "2023-05-19 08:01:02.345 | INFO     | tools.env:show:12 - ", "[05/19 08:01:02 detectron2]: ",
    "[05/19 08:01:02 d2.utils] WARNING: ",
])
@pytest.mark.parametrize("quote", ["", "> ", "> > "])
def test_words_of_a_logger_are_not_the_report(before, quote):
    text = "".join(f"{quote}{before}{line}\n" for line in OPENMMLAB.splitlines())
    assert stack_of(text) == stack_of(OPENMMLAB)
    assert names(text) == ["NVIDIA RTX A6000"] * 2


@pytest.mark.parametrize("line", [
    "[conda] numpy 1.26.4 py310h5f9d8c6_0", "2023-05-19 08:01:02 it began", "[pip3] torch==2.1.0",
    "0, NVIDIA L4, 550.54",
])
def test_other_lines_keep_their_beginning(line):
    assert plain.lines(line) == [line]


def test_indentation_behind_a_logger_is_the_messages_own():
    assert plain.indented("> 05/19 08:01:02 - mm - INFO -   name: x") == ["  name: x"]


# Reports as Python objects


@pytest.mark.parametrize("show", [
    lambda pairs: f"OrderedDict({pairs!r})", lambda pairs: repr(dict(pairs)),
    lambda pairs: "{" + ",\n ".join(f"{key!r}: {value!r}" for key, value in sorted(pairs)) + "}",
])
def test_report_that_nobody_formatted(show):
    pairs = [tuple(line.split(": ", 1)) for line in OPENMMLAB.splitlines()[:-1]]
    details = "PyTorch built with:\n  - GCC 9.3\n  - CUDA Runtime 11.7\n  - CuDNN 8.5\n"
    pairs.append(("PyTorch compiling details", details))
    text = f"I get\n{show(pairs)}\nhere\n"
    assert names(text) == ["NVIDIA RTX A6000"] * 2
    assert told(text, "frameworks", "torch", "cuda_build") == "11.7"
    assert told(text, "libraries", "cuda_toolkit") == "11.7.99"
    assert told(text, "libraries", "cudnn", "loaded") == "8.5.0"
    assert told(text, "python", "version") == "3.10.9"
    assert installed(text)["mmengine"] == "0.7.0"


def test_object_that_the_text_breaks_off_says_what_is_whole():
    text = repr(dict(tuple(line.split(": ", 1)) for line in OPENMMLAB.splitlines()[:-1]))
    cut = text[:text.index("cu117'")]
    assert told(cut, "frameworks", "torch") == NOT_RECORDED
    assert names(cut) == ["NVIDIA RTX A6000"] * 2


def test_strings_side_by_side_are_one():
    assert python_repr.lines("{'GCC': 'gcc (GCC) '\n        '9.3.0',\n 'CUDA available': True}") == [
        "GCC: gcc (GCC) 9.3.0", "CUDA available: True"]


def test_object_without_an_end_does_not_keep_the_reader_busy():
    begun = time.process_time()
    python_repr.lines("{'sys.platform': " + "'a': '" * 10_000)
    assert time.process_time() - begun < HANGING_S


def test_first_reports_of_lightning_mark_neither_titles_nor_rows():
    text = ("cuda:\n\tGPU:\n\t\tQuadro P4000\n\t\tTesla P4\n\tavailable:           True\n"
            "\tversion:             10.1\npackages:\n\tnumpy:               1.18.2\n"
            "\tpyTorch_debug:       False\n\tpyTorch_version:     1.5.0+cu101\n\tpytorch-lightning:   0.7.3\n"
            "system:\n\tOS:                  Linux\n\tarchitecture:\n\t\t64bit\n\t\tELF\n"
            "\tprocessor:           x86_64\n\tpython:              3.7.7\nthat is all\n")
    assert sorted(names(text)) == ["Quadro P4000", "Tesla P4"]
    torch = told(text, "frameworks", "torch")
    assert (torch["version"], torch["cuda_build"], torch["debug"]) == ("1.5.0+cu101", "10.1", False)
    assert told(text, "python", "version") == "3.7.7"
    assert told(text, "system", "os_family") == "linux"
    assert installed(text)["pytorch-lightning"] == "0.7.3"


def test_first_tables_of_detectron2_call_the_compiler_nvcc():
    text = ("------\nsys.platform        linux\nPython              3.7.5 (default, Oct 25 2019) [GCC 7.3.0]\n"
            "Numpy               1.17.4\nPyTorch             1.3.1\nPyTorch Debug Build False\n"
            "CUDA available      True\n"
            "GPU 0,1             TITAN Xp\nCUDA_HOME           /usr/local/cuda\n"
            "NVCC                Cuda compilation tools, release 10.0, V10.0.130\n"
            "Pillow              6.2.1\n------\nend\n")
    assert told(text, "libraries", "cuda_toolkit") == "10.0.130"
    assert told(text, "frameworks", "torch", "debug") is False
    assert installed(text)["numpy"] == "1.17.4"
    assert "Is CUDA available: True" in notes_of(text)


def test_openmmlab_list_whose_first_row_somebody_left_out():
    text = (
        "Python: 3.8.13 (default, Mar 28 2022, 11:38:47) [GCC 7.5.0]\nCUDA available: True\nGPU: NVIDIA A40\n"
        "PyTorch: 1.10.2\nPyTorch compiling details: PyTorch built with:\n  - GCC 7.3\n  - CUDA Runtime 11.3\n"
        "  - CuDNN 8.2\n\nTorchVision: 0.11.3\nOpenCV: 4.5.5\nMMCV: 1.5.0\n"
    )
    stack = stack_of(text)
    assert document_of(text)["capture"]["imported"]["format"] == openmmlab.NAME
    assert stack["frameworks"]["torch"]["cuda_build"] == "11.3"
    assert (stack["python"]["version"], installed(text)["mmcv"]) == ("3.8.13", "1.5.0")
    (device, other) = stack["accelerators"]["devices"]
    assert (device["name"], other["name"]) == ("NVIDIA A40", NOT_RECORDED)
    assert "how many NVIDIA A40 there are is not told" in notes_of(text)


@pytest.mark.parametrize("text", [
    "Python: 3.8.13\nCUDA available: True\nSomething: else\n",
    "Python: the language of this project\nPyTorch compiling details: see below\n",
])
def test_rows_that_others_print_too_are_no_list_of_openmmlab(text):
    with pytest.raises(UnknownFormat):
        document_of(text)


# nvidia-smi

HEAD = ("| NVIDIA-SMI 540.4.0     Driver Version: 540.4.0     CUDA Version: 12.6     |\n"
        "| GPU  Name      Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
        "|                              |                      |               MIG M. |\n|" + "=" * 77 + "|\n")
BORDER = "+------------------------------+----------------------+----------------------+\n"


def test_device_that_stands_on_no_bus():
    text = (HEAD + "|   0  Thor (nvgpu)       N/A  | N/A              N/A |                  N/A |\n"
            "| N/A   N/A  N/A    N/A /  N/A | Not Supported        |     N/A          N/A |\n"
            "|                              |                      |                  N/A |\n" + BORDER + "end\n")
    (device,) = told(text, "accelerators", "devices")
    assert (device["name"], device["vendor"], device["memory_bytes"]) == ("Thor (nvgpu)", "nvidia", NOT_RECORDED)
    assert told(text, "driver", "kernel_module") == "540.4.0"


def test_mig_gpu_of_which_the_text_ends_before_the_slices_keeps_its_name_and_tells_no_memory():
    text = (HEAD + "|   0  NVIDIA H100 PCIe   On   | 00000000:01:00.0 Off |                   On |\n"
            "| N/A   30C   P0    50W / 350W |      5MiB / 81559MiB |     N/A      Default |\n"
            "|                              |                      |              Enabled |\n" + BORDER)
    first = told(text, "accelerators", "devices")[0]
    assert (first["name"], first["memory_bytes"], first["mig_profile"]) == ("NVIDIA H100 PCIe", SILENT, SILENT)
    assert "the list of GPUs may not be whole" in notes_of(text)


XML = """<?xml version="1.0" ?>
<nvidia_smi_log>
	<timestamp>Mon Mar  4 10:00:00 2024</timestamp>
	<driver_version>550.54.14</driver_version>
	<cuda_version>12.4</cuda_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:17:00.0">
		<product_name>NVIDIA A100-PCIE-40GB</product_name>
		<mig_mode>
			<current_mig>Disabled</current_mig>
			<pending_mig>Disabled</pending_mig>
		</mig_mode>
		<fb_memory_usage>
			<total>40960 MiB</total>
			<used>4 MiB</used>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>65536 MiB</total>
		</bar1_memory_usage>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
		</ecc_mode>
	</gpu>
</nvidia_smi_log>
"""


def test_log_in_xml_is_the_log():
    (device,) = told(XML, "accelerators", "devices")
    assert (device["name"], device["memory_bytes"]) == ("NVIDIA A100-PCIE-40GB", 40960 << 20)
    assert (device["ecc"], device["mig_profile"]) == (True, None)
    assert (told(XML, "driver", "kernel_module"), told(XML, "driver", "cuda_level")) == ("550.54.14", "12.4")


@pytest.mark.parametrize("end", range(0, len(XML), 37))
def test_xml_that_the_text_breaks_off_says_nothing_else(end):
    try:
        found = stack_of(XML[:end])
    except UnknownFormat:
        return
    assert found["driver"]["kernel_module"] in ("550.54.14", NOT_RECORDED)
    devices = found["accelerators"]["devices"]
    assert devices == NOT_RECORDED or devices[0]["name"] in ("NVIDIA A100-PCIE-40GB", SILENT, NOT_RECORDED)


# Lists without their head

CONDA = ("numpy                     1.24.3          py310hd5efca6_0    conda-forge\n"
         "python                    3.10.11              h7a1cb2a_2\n"
         "pytorch                   2.0.1           py3.10_cuda11.8_cudnn8.7.0_0    pytorch\n"
         "pytorch-mutex             1.0                        cuda    pytorch\n"
         "nvidia-cublas-cu11        11.10.3.66               pypi_0    pypi\n")


def test_what_grep_takes_out_of_a_list_of_condas():
    text = f"$ conda list | grep -i torch\n{CONDA}$ \n"
    torch = told(text, "frameworks", "torch")
    assert (torch["version"], torch["cuda_build"], torch["build"]) == ("2.0.1", "11.8", "conda")
    assert told(text, "python", "version") == "3.10.11"
    assert told(text, "distributions", "complete") is False
    assert told(text, "frameworks", "jax") == NOT_RECORDED


@pytest.mark.parametrize("text", [
    "layer1    3.0   conv_1\nlayer2    4.0   conv_2\nlayer3    5.0   conv_3\nend\n",
    "alpha  1.0  2\nbeta   2.0  3\ngamma  3.0  4\nend\n",
    "The following NEW packages will be INSTALLED:\n  numpy   forge/linux-64::numpy-1.24.3-py310hd5efca6_0\nend\n",
    "  + numpy   1.24.3   py310hd5efca6_0   conda-forge   6MB\n  + scipy   1.10.1   py310h8deb116_0   conda-forge\n"
    "  + xz      5.2.6    h166bdaf_0        conda-forge\nend\n",
])
def test_other_tables_are_no_lists_of_condas(text):
    with pytest.raises(UnknownFormat):
        importers.detect(text)


PIP = ("numpy                1.26.4\npillow               10.2.0\npip                  24.0\n"
       "regex                2023.12.25\nsetuptools           69.1.0\ntorch                2.2.1+cu118\n"
       "torchvision          0.17.1+cu118\n")


def test_list_of_pips_of_which_only_the_end_is_left():
    text = f"```\n{PIP}```\n"
    torch = told(text, "frameworks", "torch")
    assert (torch["version"], torch["cuda_build"]) == ("2.2.1+cu118", "11.8")
    assert told(text, "distributions", "complete") is False
    assert told(text, "frameworks", "tensorflow") == NOT_RECORDED


@pytest.mark.parametrize("text", [
    "epoch      1\nloss       0.5\nacc        0.93\nprecision  0.9\nrecall     0.8\nf1         0.85\nend\n",
    "numpy 1.2\npip 20.1\nsix   1.16\nends here\n",
    "numpy 1.26.4\nsix 1.16.0\nsetuptools 69.1.0\ntorchvision 0.17.1\nregex 2023.12.25\npip 24.0\nend\n",
])
def test_other_columns_are_no_lists_of_pips(text):
    with pytest.raises(UnknownFormat):
        importers.detect(text)


# Ultralytics

def test_rows_of_ultralytics_whose_marks_a_copy_lost():
    text = (
        "OS                  Windows-10-10.0.22631-SP0\nEnvironment         Windows\nPython              3.10.4\n"
        "Install             pip\nRAM                 31.91 GB\nCUDA                None\n\n"
        "numpy                1.24.4>=1.22.2\ntorch                2.0.1>=1.8.0\npsutil               5.9.5\n\nThanks\n"
    )
    assert (installed(text)["numpy"], installed(text)["torch"]) == ("1.24.4", "2.0.1")
    assert "psutil" not in installed(text)  # any words of a label and a number look like that
    assert told(text, "frameworks", "torch", "version") == "2.0.1"


# Single words


@pytest.mark.parametrize(("typed", "count"), [
    ("NVIDIA L40S (2 of them)", 2), ("NVIDIA L40S x 4", 4), ("NVIDIA L40S (x8)", 8), ("3x NVIDIA L40S", 3),
    ("NVIDIA L40S (4 GPUs)", 4),
])
def test_number_that_a_person_added_is_not_the_name(typed, count):
    text = ("- `Accelerate` version: 0.30.0\n- Platform: Linux-6.5.0-18-generic-x86_64-with-glibc2.35\n"
            f"- Python version: 3.11.5\n- PyTorch version (GPU?): 2.3.0 (True)\n- GPU type: {typed}\nend\n")
    assert names(text) == ["NVIDIA L40S"] * count


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "Orin (nvgpu)", "NVIDIA GeForce MX450", "Radeon RX 580X"])
def test_names_with_numbers_stay(name):
    text = ("- `Accelerate` version: 0.30.0\n- Python version: 3.11.5\n- PyTorch version (GPU?): 2.3.0 (True)\n"
            f"- GPU type: {name}\nend\n")
    assert names(text)[0] == name


def test_stand_in_for_an_architecture_is_no_part_of_the_name():
    text = dump_text(cuda="N/A", rocm="6.0.32830-d62f6a171", torch="2.1.2+rocm6.0",
                     gpus="AMD Radeon VIINoGCNArchNameOnOldPyTorch")
    assert names(text)[0] == "AMD Radeon VII"


@pytest.mark.parametrize(("version", "commit"), [
    ("2.4.0+rocm6.3.4.git7cecbf6d", "7cecbf6d"), ("2.7.0a0+git295f2ed", "295f2ed"), ("2.5.1+cu124", NOT_RECORDED),
])
def test_commit_that_stands_behind_the_platform(version, commit):
    assert told(dump_text(torch=version), "frameworks", "torch", "revision") == commit


@pytest.mark.parametrize(("python", "libc"), [("3.8.10", SILENT), ("3.9.2", "glibc 2.31"), ("3.12.1", "glibc 2.31")])
def test_python_38_tells_in_its_platform_what_its_own_file_needs(python, libc):
    text = f'{{"os": "Linux-5.8.0-63-generic-x86_64-with-glibc2.31", "python": "{python}", "cpu_count": 4}}\n'
    assert told(text, "system", "libc") == libc


def test_tensorflows_script_tells_the_platform_in_one_line():
    text = ("== check python =====\npython version: 3.11.2\n\n== check os platform =====\nos: Linux\n"
            "os release version: 5.15.167.4-microsoft-standard-WSL2\n"
            "os platform: Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.35\n\n"
            "== are we in docker =====\nNo\n\nend\n")
    assert told(text, "system", "libc") == "glibc 2.35"
    assert told(text, "system", "virtualisation") == "wsl2"


@pytest.mark.parametrize(("typed", "version"), [
    ("tf-nightly-2.21.0.dev20250722", "2.21.0.dev20250722"), ("tf-nightly 2.14.0-dev20230706", "2.14.0.dev20230706"),
    ("2.15.0-rc1", "2.15.0rc1"),
])
def test_nightly_of_tensorflow(typed, version):
    text = f"### TensorFlow version\n\n{typed}\n\n### Custom code\n\nYes\n\n### Python version\n\n3.11\n\n### Current\n"
    assert told(text, "frameworks", "tensorflow", "version") == version


def test_form_without_a_version_tells_the_rest():
    text = ("- OS Platform and Distribution: Windows 11\n- TensorFlow version:\n- Python version: 3.10\n"
            "- CUDA/cuDNN version: 11.2\nend\n")
    assert told(text, "python", "version") == "3.10"
    assert told(text, "frameworks", "tensorflow") == NOT_RECORDED


INFO = """     active environment : ml
          conda version : 4.10.3
         python version : 3.9.5.final.0
       virtual packages : __cuda=11.4=0
       base environment : {base}
           channel URLs : https://conda.example.org/main/{platform}
                          https://conda.example.org/main/noarch
{more}
end
"""


def test_conda_tells_its_platform_in_the_channels_where_the_row_is_cut():
    assert told(INFO.format(base="C:\\conda", platform="win-64", more=""), "system", "os_family") == "windows"
    assert told(INFO.format(base="/c", platform="osx-arm64", more=""), "cpu", "architecture") == "arm64"


def test_c_library_of_condas_user_agent():
    more = "             user-agent : conda/4.10.3 CPython/3.9.5 Linux/5.4.0-80-generic ubuntu/20.04.2 glibc/2.31"
    assert told(INFO.format(base="/c", platform="linux-64", more=more), "system", "libc") == "glibc 2.31"


def test_a_word_of_the_form_before_it_does_not_hide_conda_info():
    text = "environment: my own words\n\n" + INFO.format(base="/c", platform="linux-64", more="")
    assert told(text, "driver", "cuda_level") == "11.4"


def test_people_begin_with_i_am_using():
    assert told("I am using Python 3.9.7, torch 1.11.0, driver 510.47\n", "frameworks", "torch", "version") == "1.11.0"


# Texts that begin or end in the middle of a report

INTEL = (
    "Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 13.2.0] (64-bit runtime)\n"
    "Python platform: Linux-6.8.0-40-generic-x86_64-with-glibc2.39\nIs CUDA available: False\n"
    "CUDA runtime version: No CUDA\nGPU models and configuration: No CUDA\nNvidia driver version: No CUDA\n"
    "cuDNN version: No CUDA\nIs XPU available: True\nIntel GPU models detected:\n"
    "* [0] _XpuDeviceProperties(name='Intel(R) Data Center GPU Max 1100', platform_name='Level-Zero', type='gpu')"
)


def test_list_of_intel_gpus_that_the_text_ends_in_may_go_on():
    (device, other) = told(INTEL, "accelerators", "devices")
    assert (device["name"], other["name"]) == ("Intel(R) Data Center GPU Max 1100", NOT_RECORDED)
    assert "the text ends in the list of GPUs: there may be more than it shows" in notes_of(INTEL)
    assert names(INTEL + "\nHIP runtime version: N/A\nMIOpen runtime version: N/A\n") == [device["name"]]


def test_excerpt_without_its_row_of_the_c_library_tells_it_in_the_platform_line():
    assert told(INTEL, "system", "libc") == "glibc 2.39"
    for python in ("3.8.10", "3.6.9", "3"):
        assert told(INTEL.replace("3.11.9", python), "system", "libc") == NOT_RECORDED
    assert told(INTEL.replace("-with-glibc2.39", ""), "system", "libc") == NOT_RECORDED


# The CUDA compiler, printed beside a report

NVCC = ("nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2023 NVIDIA Corporation\n"
        "Cuda compilation tools, release 12.1, V12.1.105\nBuild cuda_12.1.r12.1/compiler.32688072_0\n")
PACKAGES = "numpy==1.26.4\ntorch==2.1.2+cu121\ntorchvision==0.16.2+cu121\n"


@pytest.mark.parametrize("text", [NVCC + "\n" + PACKAGES, PACKAGES + "\n" + NVCC])
def test_compiler_beside_a_report_is_the_toolkit_of_the_machine(text):
    document = document_of(text)
    assert document["stack"]["libraries"]["cuda_toolkit"] == "12.1.105"
    assert document["capture"]["imported"]["format"] == "pip-freeze"
    assert document["capture"]["sources"]["libraries.cuda_toolkit"] == "imported:nvcc"
    assert any("nvcc" in note for note in notes_of(text))


@pytest.mark.parametrize("more", [
    NVCC.replace("12.1, V12.1.105", "11.8, V11.8.89"),
    "Cuda compilation tools, release 11.8, V11.8.89\n",
])
def test_two_compilers_are_not_chosen_from(more):
    assert told(PACKAGES + "\n" + NVCC + more, "libraries", "cuda_toolkit") == NOT_RECORDED


def test_compiler_that_a_report_contradicts_is_not_taken():
    text = dump_text() + "\n" + NVCC
    assert told(text, "libraries", "cuda_toolkit") == "12.4.131"
    assert any("says otherwise of libraries.cuda_toolkit" in note for note in notes_of(text))


def test_compiler_whose_version_the_end_of_the_text_breaks_off_is_not_taken():
    text = PACKAGES + "\n" + NVCC[:NVCC.index("05\nBuild")]
    assert told(text, "libraries", "cuda_toolkit") == NOT_RECORDED


# Texts that are no reports

NO_REPORTS = {
    "traceback": 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    import torch\n'
                 "ModuleNotFoundError: No module named 'torch'\n",
    "CUDA error": "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
                  "CUDA kernel errors might be asynchronously reported at some other API call\n",
    "README": "# Fast models\n\nRequires Python 3.8 and PyTorch 1.10 or later. Tested with CUDA 11.3.\n\n"
              "## Install\n\n```bash\npip install torch==1.10.0\n```\n",
    "prose with versions": "We trained with torch==1.10 because numpy==1.24 broke our code, see the release notes.\n",
    "Dockerfile": "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04\nRUN pip install torch==2.1.0 numpy==1.26.0\n"
                  'CMD ["python", "train.py"]\n',
    "compose": "services:\n  app:\n    image: pytorch/pytorch:2.1.0\n    environment:\n      - A=0\n",
    "workflow": "name: tests\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-22.04\n    steps:\n"
                "      - run: pip install torch\n",
    "configuration": "model:\n  name: resnet\n  depth: 50\ntraining:\n  lr: 0.1\n  precision: bf16\n",
    "package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"react": "18.2.0"}}\n',
    "config.json": '{"architectures": ["LlamaForCausalLM"], "transformers_version": "4.40.0"}\n',
    "lock file": '[[package]]\nname = "numpy"\nversion = "1.26.4"\n\n[[package]]\nname = "torch"\nversion = "2.2.0"\n',
    "pyproject": '[project]\nname = "x"\ndependencies = ["torch>=2.0", "numpy"]\n',
    "training log": "Epoch 1/10\n100/100 [====] - 5s 50ms/step - loss: 0.5 - accuracy: 0.9\nEpoch 2/10\n",
    "shell": "$ ls -la\ntotal 12\ndrwxr-xr-x 2 user user 4096 Jan  1 00:00 .\n$ cd project\n",
    "pip's work": "Collecting torch==2.1.0\n  Downloading torch-2.1.0-cp310-cp310-manylinux1_x86_64.whl (670.2 MB)\n"
                  "Installing collected packages: torch\nSuccessfully installed torch-2.1.0\n",
    "nvcc": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.1, V12.1.105\n",
    "CSV": "step,loss,lr\n1,0.5,0.001\n2,0.4,0.001\n3,0.3,0.001\n",
    "Python": "import torch\n\ndef main():\n    print('PyTorch version:', torch.__version__)\n",
    "changelog": "## 2.1.0\n\n- Python 3.8 is no longer supported\n- numpy 2 works\n\n## 2.0.1\n\n- fixes\n",
    "table of results": "| model | top-1 |\n|---|---|\n| ResNet-50 | 76.1 |\n| ViT-B | 81.8 |\n",
    "nothing": "\n\n\n",
}


@pytest.mark.parametrize("what", NO_REPORTS)
def test_text_that_is_no_report_is_refused_in_words(what):
    with pytest.raises(UnknownFormat, match="expected a report"):
        document_of(NO_REPORTS[what])

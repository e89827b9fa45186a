"""What a row proves: CUDA and ROCm of a build, where it came from, the libraries it brings."""

from __future__ import annotations

import pytest
from importing import notes_of, stack_of

from repro_env.importers import inventory, rows
from repro_env.probes.keys import FRAMEWORK, FRAMEWORKS, LIBRARIES, LIBRARY

NOT_RECORDED = {"unread": "not-recorded"}


def torch_of(row):
    return inventory.sections([row], [])["frameworks"]["torch"]


def pip(name, version):
    return inventory.pip_row(name, version)


def conda(name, version, build, channel="pytorch"):
    return rows.of_conda(name, version, build, channel)


@pytest.mark.parametrize(
    ("version", "cuda", "rocm", "build"),
    [
        ("2.4.1+cu121", "12.1", None, "wheel"),
        ("2.9.0+cu130", "13.0", None, "wheel"),
        ("1.4.0+cu92", "9.2", None, "wheel"),
        ("1.7.1+cu110", "11.0", None, "wheel"),
        ("2.0.1+cu117.with.pypi.cudnn", "11.7", None, "wheel"),
        ("2.6.0.dev20241112+cu121", "12.1", None, "wheel"),
        ("2.4.1+cpu", None, None, "wheel"),
        ("2.4.1+xpu", None, None, "wheel"),
        ("2.3.0+rocm6.0", None, "6.0", "wheel"),
        ("2.6.0+rocm6.2.4", None, "6.2.4", "wheel"),
        ("2.4.1", NOT_RECORDED, NOT_RECORDED, NOT_RECORDED),
        ("2.1.0a0+32f93b1", NOT_RECORDED, NOT_RECORDED, "source"),
        ("2.4.1+custom", NOT_RECORDED, NOT_RECORDED, NOT_RECORDED),
        ("2.1.0a0+41361538.nv23.06", NOT_RECORDED, NOT_RECORDED, "vendor"),
    ],
)
def test_local_label_of_torch(version, cuda, rocm, build):
    facts = torch_of(pip("torch", version))
    assert (facts["cuda_build"], facts["rocm_build"], facts["build"]) == (cuda, rocm, build)


@pytest.mark.parametrize(
    ("build", "cuda"),
    [
        ("py3.10_cuda11.8_cudnn8.7.0_0", "11.8"),
        ("py3.7_cuda10.0.130_cudnn7.6.2_0", "10.0.130"),
        ("py3.9_cuda11.3_cudnn8_0", "11.3"),
        ("cuda126_generic_py312h1dbf77a_204", "12.6"),
        ("cuda112py39h4e14dd4_0", "11.2"),
        ("cuda100py36h938c94c_0", "10.0"),
        ("gpu_cuda118py310h7799f5a_100", "11.8"),
        ("py3.10_cpu_0", None),
        ("cpu_mkl_py311hcb16b53_100", None),
        ("cpu_generic_py311h0bc9bf5_0", None),
        ("py39_0", NOT_RECORDED),
        ("py310hd8f1fbe_0", NOT_RECORDED),
    ],
)
def test_build_string_of_conda(build, cuda):
    facts = torch_of(conda("pytorch", "2.0.0", build))
    assert facts["cuda_build"] == cuda
    assert facts["build"] == "conda"
    if isinstance(cuda, str):
        assert facts["rocm_build"] is None


@pytest.mark.parametrize("build", ["py3.9_cuda11.3_cudnn8.2.0_0", "py3.7_cuda10.0.130_cudnn7.6.2_0"])
def test_cudnn_within_condas_torch(build):
    library = inventory.sections([conda("pytorch", "1.12.0", build)], [])["libraries"]["cudnn"]
    version = build.rpartition("cudnn")[2].rpartition("_")[0]
    assert (library["installed"], library["compiled_against"], library["found"]) == (version, version, "conda")


@pytest.mark.parametrize(
    ("name", "cuda"),
    [
        ("tensorflow", NOT_RECORDED),
        ("tensorflow-gpu", NOT_RECORDED),
        ("tensorflow-cpu", None),
        ("tensorflow-macos", None),
        ("intel-tensorflow", None),
        ("tensorflow-rocm", None),
    ],
)
def test_distributions_of_tensorflow(name, cuda):
    facts = inventory.sections([pip(name, "2.12.0")], [])["frameworks"]["tensorflow"]
    assert (facts["version"], facts["cuda_build"]) == ("2.12.0", cuda)


def test_arrays_on_the_processor_are_built_without_cuda():
    found = inventory.sections([pip("numpy", "1.26.4"), pip("scipy", "1.13.0"), pip("scikit_learn", "1.5.0")], [])
    for name in ("numpy", "scipy", "scikit_learn"):
        facts = found["frameworks"][name]
        assert (facts["cuda_build"], facts["rocm_build"], facts["arch_list"]) == (None, None, None)


def test_every_framework_and_library_has_all_its_keys():
    found = inventory.sections(
        [
            pip("torch", "2.4.1+cu121"),
            pip("jax", "0.4.30"),
            pip("tensorflow", "2.16.1"),
            pip("numpy", "1.26.4"),
            pip("nvidia-cudnn-cu12", "9.1.0.70"),
            conda("mkl", "2023.1.0", "h213fc3f_46344", "defaults"),
        ],
        [],
    )
    for name in FRAMEWORKS:
        facts = found["frameworks"][name]
        assert facts == NOT_RECORDED or tuple(sorted(facts)) == tuple(sorted(FRAMEWORK)), name
    for name, facts in found["libraries"].items():
        assert name in LIBRARIES
        assert sorted(facts) == sorted(LIBRARY)


# NVIDIA's wheels


WHEELS = [
    pip("nvidia-cudnn-cu12", "9.1.0.70"),
    pip("nvidia-cuda-runtime-cu12", "12.1.105"),
    pip("nvidia-nccl-cu12", "2.20.5"),
    pip("nvidia-cuda-cupti-cu12", "12.1.105"),
]


def test_wheels_beside_torch_are_what_it_loads():
    libraries = inventory.sections([pip("torch", "2.4.1+cu121"), *WHEELS], [])["libraries"]
    assert libraries["cudnn"]["installed"] == "9.1.0.70"
    assert libraries["cuda_runtime"]["installed"] == "12.1.105"
    assert libraries["nccl"]["found"] == "wheel"
    assert sorted(libraries) == ["cuda_runtime", "cudnn", "nccl"]


def test_wheels_beside_a_torch_without_label_are_installed_too():
    libraries = inventory.sections([pip("torch", "2.4.1"), *WHEELS], [])["libraries"]
    assert libraries["cudnn"]["installed"] == "9.1.0.70"


def test_wheels_of_another_cuda_than_torchs_are_somebody_elses():
    libraries = inventory.sections([pip("torch", "2.4.1+cu118"), *WHEELS], [])["libraries"]
    assert libraries == {}


def test_wheels_of_two_cudas_are_told_apart_by_torch():
    both = [*WHEELS, pip("nvidia-cudnn-cu11", "8.5.0.96")]
    assert inventory.sections([pip("torch", "2.0.1+cu118"), *both], [])["libraries"]["cudnn"]["installed"] == "8.5.0.96"
    notes = []
    assert inventory.sections([pip("torch", "2.0.1"), *both], notes)["libraries"] == {}
    assert any("more than one CUDA" in note for note in notes)


def test_wheels_beside_condas_torch_are_not_what_it_loads():
    torch = conda("pytorch", "2.1.0", "py3.10_cuda12.1_cudnn8.9.2_0")
    libraries = inventory.sections([torch, *WHEELS], [])["libraries"]
    assert libraries["cudnn"]["installed"] == "8.9.2"
    assert "nccl" not in libraries


def test_wheels_since_cuda_13_have_no_number_in_their_name():
    libraries = inventory.sections([pip("torch", "2.9.0+cu130"), pip("nvidia-cublas", "13.0.0.19")], [])["libraries"]
    assert libraries["cublas"]["installed"] == "13.0.0.19"


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("cudatoolkit", "cuda_runtime"),
        ("cuda-cudart", "cuda_runtime"),
        ("cudnn", "cudnn"),
        ("libcublas", "cublas"),
        ("nccl", "nccl"),
        ("mkl", "mkl"),
        ("libopenblas", "openblas"),
        ("intel-openmp", "openmp"),
        ("cuda-nvrtc", "nvrtc"),
        ("libcufft", "cufft"),
    ],
)
def test_libraries_of_conda(name, library):
    found = inventory.sections([conda(name, "1.2.3", "h0000000_0", "conda-forge")], [])["libraries"]
    assert (found[library]["installed"], found[library]["found"]) == ("1.2.3", "conda")


def test_five_cuda_facts_never_mix():
    text = (
        "# packages in environment at /opt/conda:\n#\n# Name Version Build Channel\n"
        "cuda-cudart 12.1.105 0 nvidia\ncuda-nvcc 12.4.131 0 nvidia\n"
        "pytorch 2.1.2 py3.10_cuda11.8_cudnn8.7.0_0 pytorch\n\nend\n"
    )
    stack = stack_of(text)
    assert stack["driver"]["cuda_level"] == NOT_RECORDED
    assert stack["driver"]["kernel_module"] == NOT_RECORDED
    assert stack["libraries"]["cuda_toolkit"] == NOT_RECORDED
    assert stack["libraries"]["cuda_runtime"]["installed"] == "12.1.105"
    assert stack["frameworks"]["torch"]["cuda_build"] == "11.8"


# Platform and Python


@pytest.mark.parametrize(
    ("name", "system", "machine"),
    [
        ("linux-64", "linux", "x86_64"),
        ("linux-aarch64", "linux", "aarch64"),
        ("linux-ppc64le", "linux", "ppc64le"),
        ("osx-64", "macos", "x86_64"),
        ("osx-arm64", "macos", "arm64"),
        ("win-64", "windows", "x86_64"),
        ("win-arm64", "windows", "arm64"),
    ],
)
def test_platform_names_of_conda(name, system, machine):
    assert inventory.platform(name) == (system, machine)


@pytest.mark.parametrize("name", ["noarch", "", "linux", "plan9-64", "-64"])
def test_other_platform_names_say_nothing(name):
    assert inventory.platform(name) is None


@pytest.mark.parametrize(
    ("package", "system"),
    [("_libgcc_mutex", "linux"), ("ld_impl_linux-64", "linux"), ("vs2015_runtime", "windows"), ("appnope", "macos")],
)
def test_packages_for_one_system_alone_show_it(package, system):
    found = inventory.sections([conda(package, "1.0", "h0_0", "conda-forge")], [])
    assert found["system"]["os_family"] == system


def test_packages_of_two_systems_show_none():
    found = [conda("ucrt", "1.0", "h0_0"), conda("appnope", "1.0", "h0_0")]
    assert "system" not in inventory.sections(found, [])


@pytest.mark.parametrize(
    ("build", "implementation"),
    [("hc5c86c4_0_cpython", "cpython"), ("h955ad1f_0", None), ("0_73_pypy", "pypy")],
)
def test_python_of_conda(build, implementation):
    python = inventory.sections([conda("python", "3.10.13", build)], [])["python"]
    assert (python["version"], python["environment"]) == ("3.10.13", "conda")
    assert python.get("implementation") == implementation


def test_distribution_named_python_of_pip_is_no_interpreter():
    assert "python" not in inventory.sections([pip("python", "0.0.1")], [])


def test_list_that_is_whole_proves_absence_and_one_that_is_not_does_not():
    found = [pip("numpy", "2.1.0")]
    assert inventory.sections(found, [], whole=True)["frameworks"]["torch"] is None
    for whole in (False, None):
        assert inventory.sections(found, [], whole=whole)["frameworks"]["torch"] == NOT_RECORDED
    assert inventory.sections(found, [], whole=None)["distributions"]["complete"] == NOT_RECORDED


@pytest.mark.parametrize(("name", "normal"), [("_libgcc_mutex", "libgcc-mutex"), ("Ruamel.Yaml__x", "ruamel-yaml-x")])
def test_names_follow_pep_503(name, normal):
    assert rows.normalised(name) == normal


def test_origin_of_conda_is_its_channel():
    found = [
        conda("a", "1", "h0_0", "conda-forge"),
        conda("b", "1", "h0_0", ""),
        conda("c", "1", "pypi_0", "pypi"),
        conda("d", "1", "h0_0", rows.BROKEN),
    ]
    origins = [row["origin"] for row in inventory.sections(found, [])["distributions"]["installed"]]
    assert origins == ["conda:conda-forge", "conda:defaults", NOT_RECORDED, NOT_RECORDED]


def test_torch_by_condas_name_and_by_pips_is_told_apart():
    text = (
        "# packages in environment at /opt/conda:\n#\n# Name Version Build Channel\n"
        "numpy 1.26.4 py310_0 \npytorch 2.1.2 py3.10_cpu_0 pytorch\ntorch 2.4.0 pypi_0 pypi\n\nend\n"
    )
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.1.2"
    assert any("torch is listed as 2.1.2 and" in note for note in notes_of(text))

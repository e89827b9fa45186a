"""Loaded libraries by the real loader: the version each says itself, its place and build; nothing loaded by asking."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import distribution, integer_function, shared_library

from repro_env.probes import elf, library_questions
from repro_env.probes.library_files import library_of, stem_of, version_in_name
from repro_env.system import System
from tests.client.process.vendors import FRONT, LOOK, look, opened, stand_in

NOT_LOADED = {"unread": "not-loaded"}


@pytest.mark.parametrize(("file", "name", "version"), [
    ("libcudart.so.12", "cuda_runtime", "12.4"), ("libcublas.so.12", "cublas", "12.1.3"),
    ("libcufft.so.11", "cufft", "11.0.2"), ("libcusolver.so.11", "cusolver", "11.4.5"),
    ("libcusparse.so.12", "cusparse", "12.1.0"), ("libnccl.so.2", "nccl", "2.20.5"),
    ("libnvJitLink.so.12", "nvjitlink", "12.4"), ("libnvrtc.so.12", "nvrtc", "12.1"),
    ("libMIOpen.so.1", "miopen", "3.1.0"), ("librocblas.so.4", "rocblas", "4.1.0"),
    ("librccl.so.1", "rccl", "2.20.5"), ("libdnnl.so.3", "onednn", "3.5.3"),
])
def test_each_library_is_asked_through_its_own_interface(file: str, name: str, version: str, tmp_path: Path) -> None:
    library = stand_in(tmp_path / file)
    with opened(library):
        assert System().ask_library(str(library), library_questions.QUESTIONS[name]) == version
    assert not any(str(library) in path for path in System().mapped_files())


def test_a_process_tells_version_place_and_build_of_what_it_loaded(tmp_path: Path) -> None:
    files = [stand_in(tmp_path / name) for name in (
        "libcublas.so.12", "libMIOpen.so.1", "librocblas.so.4.1.60100", "libhipblaslt.so.0.10.60200", "libdnnl.so.3")]
    facts = look(*files)

    assert facts["libraries.cublas.loaded"] == "12.1.3"
    assert facts["libraries.cublas.found"] == "user"
    assert facts["libraries.cublas.build_id"] == elf.build_id(System(), str(files[0]))
    assert facts["libraries.cublas.conflicts"] == []
    assert facts["libraries.miopen.loaded"] == "3.1.0"
    assert (facts["libraries.rocblas.loaded"], facts["libraries.rocblas.installed"]) == ("4.1.0", "4.1.60100")
    assert facts["libraries.hipblaslt.loaded"] == {"unread": "not-reported"}, "it answers with a device only"
    assert facts["libraries.hipblaslt.installed"] == "0.10.60200"
    assert facts["libraries.onednn.loaded"] == "3.5.3"
    assert facts["libraries.cudnn.loaded"] is None
    assert facts["libraries.unvetted_kernels"] == [], "each has facts of its own"


def test_no_path_enters_the_stack(tmp_path: Path) -> None:
    facts = look(*(stand_in(tmp_path / name) for name in ("libcublas.so.12", "libdnnl.so.3", "libcuda.so.550.54.15")))
    assert str(tmp_path) not in str(facts)


def test_a_front_without_its_parts_has_computed_nothing_and_is_not_asked(tmp_path: Path) -> None:
    graph = stand_in(tmp_path / "libcudnn_graph.so.9")
    front = shared_library(tmp_path / "libcudnn.so.9", FRONT % graph, "-ldl")

    assert look(front)["libraries.cudnn.loaded"] == NOT_LOADED
    assert look(front, graph)["libraries.cudnn.loaded"] == "9.1.0"


def test_the_fault_of_asking_the_front_is_real(tmp_path: Path) -> None:
    graph = stand_in(tmp_path / "libcudnn_graph.so.9")
    front = shared_library(tmp_path / "libcudnn.so.9", FRONT % graph, "-ldl")
    asks = LOOK.replace("inprocess_libraries.read(", "ctypes.CDLL(sys.argv[1]).cudnnGetVersion()\n"
                        "inprocess_libraries.read(")
    with pytest.raises(AssertionError, match="libcudnn_graph"):
        look(front, program=asks)


def test_mkl_is_asked_through_its_core_alone(tmp_path: Path) -> None:
    runtime = shared_library(tmp_path / "libmkl_rt.so.2", "int mkl_get_version_string(void) { __builtin_trap(); }\n")
    core = stand_in(tmp_path / "libmkl_core.so.2")

    assert look(runtime)["libraries.mkl.loaded"] == NOT_LOADED
    facts = look(runtime, core)
    assert facts["libraries.mkl.loaded"] == "2024.2"
    assert facts["libraries.mkl.conflicts"] == []


POOLS = """
import ctypes, json, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
from repro_env.probes import inprocess, inprocess_pools
from repro_env.system import System
readings = inprocess.Readings()
inprocess_pools.read(System(), inprocess.Seen(), readings)
print(json.dumps({"facts": readings.facts, "errors": readings.errors, "new": []}))
"""


def test_the_threads_of_mkl_are_asked_only_where_its_front_has_loaded_the_rest(tmp_path: Path) -> None:
    unused = shared_library(tmp_path / "a" / "libmkl_rt.so.2", "int MKL_Get_Max_Threads(void) { __builtin_trap(); }\n")
    assert look(unused, program=POOLS)["threads.mkl"] is None

    used = shared_library(tmp_path / "b" / "libmkl_rt.so.2", "int MKL_Get_Max_Threads(void) { return 7; }\n")
    parts = (stand_in(tmp_path / "b" / "libmkl_core.so.2"),
             shared_library(tmp_path / "b" / "libmkl_intel_thread.so.2", "int threads(void) { return 0; }\n"))
    assert look(used, *parts, program=POOLS)["threads.mkl"] == 7


FATAL = "int %s(int *out) { __builtin_trap(); }\n"


@pytest.mark.parametrize(("file", "function", "name"), [
    ("libcudart.so.11.0", "cudaRuntimeGetVersion", "cuda_runtime"),
    ("libamdhip64.so.6", "hipRuntimeGetVersion", "hip_runtime")])
def test_a_runtime_that_starts_its_driver_when_asked_is_left_alone(file: str, function: str, name: str,
                                                                   tmp_path: Path) -> None:
    library = shared_library(tmp_path / file, FATAL % function)
    assert look(library)[f"libraries.{name}.loaded"] == NOT_LOADED


@pytest.mark.parametrize(("file", "name", "version"), [
    ("libcudart.so.11.0", "cuda_runtime", "12.4"), ("libamdhip64.so.6", "hip_runtime", "6.1.40091")])
def test_it_is_asked_once_the_program_has_started_its_device(file: str, name: str, version: str,
                                                             tmp_path: Path) -> None:
    started = LOOK.replace("import ctypes", "import types, sys\nsys.modules['torch'] = types.SimpleNamespace("
                           "cuda=types.SimpleNamespace(is_initialized=lambda: True))\nimport ctypes")
    assert look(stand_in(tmp_path / file), program=started)[f"libraries.{name}.loaded"] == version


def test_what_torch_was_built_against_is_told_beside_what_is_loaded(tmp_path: Path) -> None:
    torch = LOOK.replace("import ctypes", "import types, sys\nsys.modules['torch'] = types.SimpleNamespace("
                         "version=types.SimpleNamespace(cuda='12.6', hip=None))\nimport ctypes")
    facts = look(stand_in(tmp_path / "libcudart.so.12"), program=torch)
    assert facts["libraries.cuda_runtime.loaded"] == "12.4"
    assert facts["libraries.cuda_runtime.compiled_against"] == "12.6"
    assert facts["libraries.cuda_runtime.conflicts"] == ["not-compiled-against"]


def test_a_library_of_a_distribution_is_installed_in_its_version(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    file = stand_in(site / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    distribution(site, "nvidia-nccl-cu12", "2.20.5", ["nvidia/nccl/lib/libnccl.so.2"])
    program = LOOK.replace("import ctypes", f"import sys; sys.path.append({str(site)!r})\nimport ctypes")
    facts = look(file, program=program)
    assert (facts["libraries.nccl.installed"], facts["libraries.nccl.found"]) == ("2.20.5", "wheel")
    assert facts["libraries.nccl.conflicts"] == []


def test_a_library_that_a_wheel_put_beside_the_site_folder_is_a_wheel_s(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    names = ("libmkl_core.so.2", "libmkl_vml_def.so.2")
    files = [stand_in(tmp_path / "lib" / names[0]),
             shared_library(tmp_path / "lib" / names[1], "int vml(void) { return 0; }\n")]
    distribution(site, "mkl", "2024.2.0", [f"../../{name}" for name in names])
    program = LOOK.replace("import ctypes", f"import sys; sys.path.append({str(site)!r})\nimport ctypes")
    facts = look(*files, program=program)
    assert (facts["libraries.mkl.found"], facts["libraries.mkl.installed"]) == ("wheel", "2024.2.0")
    assert facts["libraries.mkl.conflicts"] == []
    assert facts["libraries.unvetted_kernels"] == []


def test_a_replaced_file_is_not_asked_in_place_of_the_one_in_use(tmp_path: Path) -> None:
    library = stand_in(tmp_path / "libnccl.so.2")
    other = shared_library(tmp_path / "other.so", integer_function("ncclGetVersion", 21805))
    with opened(library):
        other.replace(library)
        mapped = [path for path in System().mapped_files() if path.startswith(str(library))]
        assert mapped == [f"{library} (deleted)"]
        with pytest.raises(OSError, match="libnccl"):
            System().ask_library(mapped[0], library_questions.QUESTIONS["nccl"])


@pytest.mark.parametrize("kept", ["", "kept = ctypes.CDLL(sys.argv[1])\n"], ids=["looked-at", "held-by-somebody"])
def test_asking_leaves_a_library_as_easy_to_unload_as_it_was(kept: str, tmp_path: Path) -> None:
    library = stand_in(tmp_path / "libnccl.so.2")
    unload = LOOK.replace("print(json", kept + (
        "import _ctypes\nhandle = ctypes.CDLL(sys.argv[1])._handle\n_ctypes.dlclose(handle)\n_ctypes.dlclose(handle)\n"
        f"assert any('libnccl' in path for path in System().mapped_files()) is {bool(kept)}\nprint(json"))
    look(library, program=unload)


@pytest.mark.parametrize(("path", "name"), [
    ("/x/libcudart-d0da41ae.so.11.0", "cuda_runtime"), ("/x/libnccl-net.so", None),
    ("/x/libnvrtc-builtins.so.12.1", None), ("/x/libnvrtc-672ee683.so.11.2", "nvrtc"),
    ("/x/numpy.libs/libscipy_openblas64_-32a4b2a6.so", "openblas"),
    ("/x/libopenblasp-r0.3.21.so", "openblas"), ("/x/libgomp-a34b3233.so.1.0.0", "openmp"), ("/x/libomp.so", "openmp"),
    ("/x/libompi.so", None), ("/x/libcublasLt.so.12", None), ("/x/triton/_C/libtriton.so", "triton"),
    ("/x/libtriton.so", None), ("/x/libcudnn.so.9 (deleted)", "cudnn"), ("/x/cudnn.so", None),
    ("/x/libcudnn.txt", None), ("/x/libnvrtc.alt.so.12", None), ("/x/libmkl_rt.so.2", "mkl"),
    ("/x/libopenblas.0.dylib", "openblas")])
def test_files_are_told_by_their_names(path: str, name: str | None) -> None:
    assert library_of(path) == name


@pytest.mark.parametrize(("path", "version"), [
    ("/x/libcudnn.so.9.1.0", "9.1.0"), ("/x/libcudart.so.12.4.127", "12.4.127"), ("/x/libnccl.so.2", None),
    ("/x/libcublas.so.12.4.5.8", "12.4.5.8"), ("/x/libcudart.so.11.0", "11.0"), ("/x/libx.so", None),
    ("/x/libx.so.1.0.git", None)])
def test_a_version_in_a_name_has_two_parts_at_least(path: str, version: str | None) -> None:
    assert version_in_name(path) == version


def test_the_name_behind_two_digests_is_found() -> None:
    assert stem_of("/x/libgfortran-040039e1-0352e75f.so.5.0.0") == "libgfortran"


@pytest.mark.parametrize(("number", "version"), [(22005, "2.20.5"), (21805, "2.18.5"), (2708, "2.7.8")])
def test_nccl_numbers_have_two_forms(number: int, version: str) -> None:
    assert library_questions.nccl(number) == version


def test_equal_environments_in_two_places_have_equal_facts(tmp_path: Path) -> None:
    names = ("libcublas.so.12", "libnccl.so.2", "libMIOpen.so.1")
    made = [stand_in(tmp_path / "made" / name) for name in names]
    answers = []
    for home in ("alice/env", "bob/other/venv"):
        site = tmp_path / home / "lib" / "python3.11" / "site-packages"
        files = [site / "nvidia" / "lib" / path.name for path in made]
        for file, source in zip(files, made, strict=True):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read_bytes())
        kernel = site / "ops.so"
        kernel.write_bytes(shared_library(tmp_path / "ops.so", "int ops(void) { return 0; }\n").read_bytes())
        distribution(site, "nvidia-nccl-cu12", "2.20.5", ["nvidia/lib/libnccl.so.2"])
        program = LOOK.replace("import ctypes", f"import sys; sys.path.append({str(site)!r})\nimport ctypes")
        answers.append(look(*files, kernel, program=program))
    assert answers[0]["libraries.nccl.installed"] == "2.20.5"
    assert answers[0]["libraries.unvetted_kernels"] != []
    assert answers[0] == answers[1]


REFUSING = {"libnccl": "int ncclGetVersion(int *out) { return 5; }\n", "libcublas": "int nothing(void) { return 0; }\n",
            "libnvrtc": "int nvrtcVersion(int *a, int *b) { return 1; }\n",
            "libMIOpen": "int miopenGetVersion(void *a, void *b, void *c) { return 1; }\n",
            "librocblas": "int rocblas_get_version_string(char *text, long size) { return 1; }\n",
            "libdnnl": "const void *dnnl_version(void) { return 0; }\n"}


@pytest.mark.parametrize("stem", REFUSING)
def test_a_library_that_refuses_or_lacks_the_function_reports_nothing(stem: str, tmp_path: Path) -> None:
    library = shared_library(tmp_path / f"{stem}.so.1", REFUSING[stem])
    name = library_of(str(library))
    assert name is not None
    with opened(library):
        assert System().ask_library(str(library), library_questions.QUESTIONS[name]) is None


def test_a_library_that_reports_nothing_is_unread_and_has_place_and_build_all_the_same(tmp_path: Path) -> None:
    library = shared_library(tmp_path / "libnccl.so.2", REFUSING["libnccl"])
    facts = look(library)
    assert facts["libraries.nccl.loaded"] == {"unread": "not-reported"}
    assert facts["libraries.nccl.found"] == "user"
    assert facts["libraries.nccl.build_id"] == elf.build_id(System(), str(library))


def test_one_library_that_cannot_be_read_costs_its_own_facts_only(tmp_path: Path) -> None:
    nccl, cublas = stand_in(tmp_path / "libnccl.so.2"), stand_in(tmp_path / "libcublas.so.12")
    gone = LOOK.replace("from repro_env.probes", "import os; os.unlink(sys.argv[1])\nfrom repro_env.probes", 1).replace(
        '"errors": readings.errors', '"errors": []')
    facts = look(nccl, cublas, program=gone)
    assert facts["libraries.nccl.loaded"] == {"unread": "failed"}
    assert facts["libraries.nccl.build_id"] == {"unread": "failed"}
    assert facts["libraries.cublas.loaded"] == "12.1.3"
    assert facts["libraries.cublas.conflicts"] == []


def test_the_readings_make_a_valid_document(tmp_path: Path) -> None:
    whole = LOOK[:LOOK.index("seen, readings")] + (
        "from repro_env.fingerprint.validate import validate\nfrom repro_env import looks\n"
        "document = looks.look('exit', 'exit')\nvalidate(document)\n"
        "print(json.dumps({'facts': document['stack'], 'errors': [], 'new': []}))\n")
    stack = look(stand_in(tmp_path / "libcublas.so.12"), stand_in(tmp_path / "libcuda.so.550.54.15"), program=whole)
    assert stack["libraries"]["cublas"]["loaded"] == "12.1.3"
    assert stack["libraries"]["cublas"]["found"] == "user"
    assert stack["driver"]["user_libcuda"] == "550.54.15"

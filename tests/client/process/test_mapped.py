"""Conflicts between mapped libraries, extensions nobody vetted, and what a process surely does not do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import inprocess, inprocess_mapped
from repro_env.probes.inprocess_libraries import build_id
from repro_env.system import System
from tests.client.process.test_readers import Host, settled

CUDNN = r"/libcudnn\.so[^/]*$"


def read(modules: dict[str, Any], files: list[str], **known: Any) -> dict[str, Any]:
    return inprocess.read(Host(modules=modules, files=files), settled(**known)).facts


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("the extension is compiled from C; install gcc")
    source = tmp_path / "kernel.c"
    source.write_text("int answer(void) { return 42; }\n")
    target = tmp_path / "kernel.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", str(target), str(source)], check=True)
    return target


def test_extension_built_on_the_spot_is_unvetted_with_its_build_id(extension: Path) -> None:
    (found,) = inprocess_mapped.unvetted(System(), [str(extension)])
    name, _, identity = found.partition("@")
    assert name == "kernel.so"
    assert len(bytes.fromhex(identity)) == 20


def test_extension_without_a_build_id_is_known_by_its_content(extension: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.so"
    shutil.copy(extension, bare)
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", str(bare)], check=True)
    other = tmp_path / "other.so"
    other.write_bytes(bare.read_bytes() + b"\0")
    system = System()
    assert build_id(system, str(bare)).startswith("sha256:")
    assert build_id(system, str(bare)) != build_id(system, str(other))


def test_blas_without_a_build_id_is_known_by_name_and_size(tmp_path: Path, extension: Path) -> None:
    library = tmp_path / "libopenblas-32a4b2a6.so"
    library.write_bytes(b"x" * 10)
    identity = inprocess_mapped.file_identities(System(), [str(library)])
    assert identity == "libopenblas-32a4b2a6.so 10"
    assert len(inprocess_mapped.file_identities(System(), [str(extension)])) == 40


def test_unreadable_extension_leaves_the_list_unread(tmp_path: Path) -> None:
    facts = read({}, [str(tmp_path / "gone.so")])
    assert is_unread(facts["libraries.unvetted_kernels"])


def test_extensions_of_distributions_interpreter_and_system_are_vetted_elsewhere() -> None:
    script = ("import numpy, ctypes, ssl\n"
              "from repro_env.probes.inprocess_mapped import unvetted\n"
              "from repro_env.system import System\n"
              "print(unvetted(System(), System().mapped_files()))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_compiled_products_are_no_unvetted_kernels() -> None:
    assert inprocess_mapped.unvetted(System(), ["/scratch/torchinductor_me/ab/cabc.so"]) == []


def test_two_folders_of_one_library_are_two_copies() -> None:
    paths = ["/a/lib/libcudnn.so.9", "/b/lib/libcudnn.so.9"]
    assert inprocess_mapped.conflicts(Host(variables={}), "cudnn", CUDNN, paths) == ["two-copies"]


def test_numpy_and_scipy_may_each_bring_an_openblas() -> None:
    paths = ["/a/numpy.libs/libopenblas.so", "/a/scipy.libs/libopenblas.so"]
    assert inprocess_mapped.conflicts(Host(variables={}), "openblas", "openblas", paths) == []


def test_preloaded_library_is_named() -> None:
    host = Host(variables={"LD_PRELOAD": "/opt/x/libcudnn.so.9 /opt/y.so"})
    assert inprocess_mapped.conflicts(host, "cudnn", CUDNN, ["/opt/x/libcudnn.so.9"]) == ["preloaded"]


def test_library_path_before_a_wheel_shadows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, foreign = tmp_path / "site-packages", tmp_path / "cuda"
    (site / "nvidia" / "cudnn" / "lib").mkdir(parents=True)
    foreign.mkdir()
    monkeypatch.setattr(sys, "path", [str(site)])
    host = Host(variables={"LD_LIBRARY_PATH": str(foreign)})
    assert inprocess_mapped.conflicts(host, "cudnn", CUDNN, [str(foreign / "libcudnn.so.8")]) == ["shadowed"]
    own = str(site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9")
    assert inprocess_mapped.conflicts(host, "cudnn", CUDNN, [own]) == []


def test_library_path_without_a_wheel_is_no_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    host = Host(variables={"LD_LIBRARY_PATH": str(tmp_path)})
    assert inprocess_mapped.conflicts(host, "cudnn", CUDNN, [str(tmp_path / "libcudnn.so.8")]) == []


def test_process_without_frameworks_exchanges_nothing_and_casts_nothing() -> None:
    facts = read({}, [])
    for path in ("collectives.backend", "collectives.topology", "collectives.nvls", "precision.autocast",
                 "determinism.nondeterministic_kernels"):
        assert facts[path] is None, path


@pytest.mark.parametrize("module", ["mpi4py.MPI", "horovod"])
def test_process_that_can_exchange_by_other_means_is_not_called_alone(module: str) -> None:
    assert "collectives.topology" not in read({module: object()}, [])


def test_process_group_that_was_seen_is_not_called_absent() -> None:
    assert "collectives.topology" not in read({}, [], group=("gloo", 2))


@pytest.mark.parametrize("module", inprocess_mapped._FRAMEWORKS)
def test_framework_with_such_kernels_leaves_them_unread(module: str) -> None:
    assert is_unread(read({module: object()}, [])["determinism.nondeterministic_kernels"])


@pytest.mark.parametrize(("strict", "warn_only", "beside", "none"), [
    (True, False, None, True), (True, True, None, False), (False, False, None, False),
    (True, False, "flash_attn", False)], ids=["strict", "warn-only", "off", "strict-with-flash-attn"])
def test_strict_mode_certifies_torch_alone(strict: bool, warn_only: bool, beside: str | None, none: bool) -> None:
    readings = inprocess.Readings()
    readings.facts = {"libraries.unvetted_kernels": [], "determinism.deterministic_algorithms": strict,
                      "determinism.warn_only": warn_only}
    modules = {"torch": object(), **({beside: object()} if beside else {})}
    found = inprocess_mapped.kernels(modules, readings)
    assert (found == []) is none
    assert none or is_unread(found)


@pytest.mark.parametrize(("threads", "backend", "beside", "none"), [
    (1, "cpu", None, True), (2, "cpu", None, False), (1, "cuda", None, False), (1, "cpu", "sklearn", False),
    (1, "cpu", "numba", False)])
def test_one_thread_certifies_torch_alone_on_the_processor(threads: int, backend: str, beside: str | None,
                                                           none: bool) -> None:
    readings = inprocess.Readings()
    readings.facts = {"libraries.unvetted_kernels": [], "threads.torch_intraop": threads,
                      "frameworks.backend": backend}
    modules = {"torch": object(), **({beside: object()} if beside else {})}
    assert (inprocess_mapped.kernels(modules, readings) == []) is none


def test_nothing_is_called_absent_before_the_program_has_computed() -> None:
    facts = inprocess.read(Host(modules={}, files=[]), inprocess.Seen()).facts
    assert "collectives.backend" not in facts
    assert "determinism.nondeterministic_kernels" not in facts

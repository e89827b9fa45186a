"""What a process surely does not do, from what it never imported, and which kernels may have run in it."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import inprocess, inprocess_mapped, inprocess_tensorflow
from tests.client.process.test_readers import Host, settled


def read(modules: dict[str, Any], files: list[str], **known: Any) -> dict[str, Any]:
    return inprocess.read(Host(modules=modules, files=files), settled(**known)).facts


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


@pytest.mark.parametrize("module", [name for name in inprocess_mapped._FRAMEWORKS if name != "sklearn"])
def test_framework_with_such_kernels_leaves_them_unread(module: str) -> None:
    assert is_unread(read({module: object()}, [])["determinism.nondeterministic_kernels"])


@pytest.mark.parametrize(("facts", "beside", "none"), [
    ({"determinism.tensorflow_op_determinism": True}, ("tensorflow",), True),
    ({"determinism.tensorflow_op_determinism": False}, ("tensorflow",), False),
    ({"determinism.tensorflow_op_determinism": True, "program.layout.jax_devices": None}, ("tensorflow", "jax"), True),
    ({"determinism.tensorflow_op_determinism": True, "program.layout.jax_devices": 1}, ("tensorflow", "jax"), False),
    ({"determinism.xla_deterministic": True, "frameworks.backend": "cuda"}, ("jax",), True),
    ({"determinism.xla_deterministic": True, "frameworks.backend": "cpu"}, ("jax",), False),
    ({"threads.scikit_learn": None}, ("sklearn",), True),
    ({"threads.scikit_learn": 1}, ("sklearn",), True),
    ({"threads.scikit_learn": 2}, ("sklearn",), False),
    ({"threads.scikit_learn": None}, ("sklearn", "torch"), False)],
    ids=["tf-strict", "tf-lax", "tf-strict-jax-idle", "tf-strict-jax-at-work", "xla-strict", "xla-flag-is-for-gpus",
         "sklearn-idle", "sklearn-one-thread", "sklearn-threads", "sklearn-idle-torch-lax"])
def test_each_framework_is_certified_by_its_own_switch(facts: dict[str, Any], beside: tuple[str, ...],
                                                       none: bool) -> None:
    readings = inprocess.Readings()
    readings.facts = {"libraries.unvetted_kernels": [], **facts}
    found = inprocess_mapped.kernels(dict.fromkeys((*beside, *inprocess_tensorflow._DETERMINISM), object()), readings)
    assert (found == []) is none
    assert none or is_unread(found)


def test_tensorflow_that_only_prefers_deterministic_kernels_certifies_nothing() -> None:
    readings = inprocess.Readings()
    readings.facts = {"libraries.unvetted_kernels": [], "determinism.tensorflow_op_determinism": True}
    assert is_unread(inprocess_mapped.kernels({"tensorflow": object()}, readings))


def test_exchange_that_a_framework_named_is_not_called_absent() -> None:
    readings = inprocess.Readings()
    readings.facts = {"collectives.backend": "nccl", "libraries.unvetted_kernels": []}
    seen = inprocess.Seen()
    seen.settled = True
    inprocess_mapped._absent({"jax": object()}, seen, readings)
    assert readings.facts["collectives.backend"] == "nccl"
    assert "collectives.topology" not in readings.facts


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


def test_unvetted_kernels_leave_open_whether_one_adds_in_any_order() -> None:
    readings = inprocess.Readings()
    readings.facts = {"libraries.unvetted_kernels": ["k.so@ab"], "determinism.deterministic_algorithms": True,
                      "determinism.warn_only": False}
    assert is_unread(inprocess_mapped.kernels({"torch": object()}, readings))
    assert is_unread(inprocess_mapped.kernels({}, readings))


def test_libraries_linked_into_torch_have_the_place_of_its_file() -> None:
    facts = inprocess.read(Host(), settled()).facts
    assert facts["libraries.onednn.found"] == "wheel"
    assert facts["libraries.onednn.conflicts"] == []
    assert len(facts["libraries.onednn.build_id"]) == 40

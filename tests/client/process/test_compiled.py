"""What the compiler tells: that it compiled, under which settings, and which configurations timing chose."""

from __future__ import annotations

import collections
import importlib
import shutil
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import inprocess, inprocess_compile
from tests.client.process.test_readers import Host, _old_torch, settled

from .conftest import Start

#: compiles with Inductor, for the processor, with an option of its own; then steps without the compiler.
COMPILING = """
import torch
torch.manual_seed(1)
scaled = torch.compile(lambda value: value.sin() + 1, options={"epilogue_fusion": False})
weight = torch.ones(8, requires_grad=True)
(weight * scaled(torch.ones(8))).sum().backward()
torch.optim.SGD([weight], lr=0.1).step()
"""


def counters(**groups: dict[str, int]) -> Any:
    return types.SimpleNamespace(counters=collections.defaultdict(collections.Counter, {
        name: collections.Counter(found) for name, found in groups.items()}))


def test_a_process_that_imported_no_compiler_compiled_nothing() -> None:
    assert inprocess_compile.compiled({}) is False


@pytest.mark.parametrize("told", [{}, {"stats": {}}, {"frames": {"total": 3, "ok": 0}}, {"inductor": {}}])
def test_an_imported_compiler_alone_compiled_nothing(told: dict[str, Any]) -> None:
    module = counters(**told)
    before = dict(module.counters)
    assert inprocess_compile.compiled({"torch._dynamo.utils": module}) is False
    assert dict(module.counters) == before, "asking leaves no entry behind"


@pytest.mark.parametrize("told", [{"stats": {"unique_graphs": 1}}, {"frames": {"total": 1, "ok": 1}}])
def test_a_graph_is_compilation_whatever_the_backend(told: dict[str, Any]) -> None:
    assert inprocess_compile.compiled({"torch._dynamo.utils": counters(**told)}) is True


def test_a_compiler_that_keeps_no_counts_says_nothing_was_compiled() -> None:
    assert inprocess_compile.compiled({"torch._dynamo.utils": types.SimpleNamespace()}) is False


class Config:
    """Inductor's settings as its module answers for them; what must not be read fails the test."""

    def __init__(self, forbidden: tuple[str, ...] = (), **entries: Any) -> None:
        self._forbidden = forbidden
        self._config = entries

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._config:
            raise AttributeError(name)
        assert name not in self._forbidden
        entry = self._config[name]
        return entry.default if isinstance(entry, types.SimpleNamespace) else entry


class Wrapper:
    """What ``torch.compile`` makes of its arguments for Inductor."""

    compiler_name = "inductor"

    def __init__(self, dynamic: bool | None = None, **config: Any) -> None:
        self.config, self.dynamic = config, dynamic


def entry(default: Any, **more: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(default=default, deprecated=False, alias=None, **more)


def compiled_process(config: Config, *backends: Any, kernels: list[Any] | None = None) -> dict[str, Any]:
    cache = types.SimpleNamespace(modules=kernels if kernels is not None else [types.ModuleType("generated")])
    return {"torch": torch, "torch._dynamo.utils": counters(stats={"unique_graphs": 1}),
            "torch._dynamo.eval_frame": types.SimpleNamespace(
                cached_backends={id(backend): backend for backend in backends}),
            "torch._inductor.codecache": types.SimpleNamespace(PyCodeCache=cache), "torch._inductor.config": config}


def test_settings_are_texts_of_what_is_in_force() -> None:
    config = Config(max_autotune=entry(False), fallback_random=entry(True), freezing=True, unrelated=entry(1))
    assert inprocess_compile.settings(compiled_process(config)) == {
        "max_autotune": "false", "fallback_random": "true", "freezing": "true"}


def test_older_settings_are_plain_values() -> None:
    config = Config(**{"max_autotune": False, "cpp.simdlen": None, "triton.cudagraphs": True})
    assert inprocess_compile.settings(compiled_process(config)) == {
        "max_autotune": "false", "cpp.simdlen": "null", "triton.cudagraphs": "true"}


@pytest.mark.parametrize("loud", [
    types.SimpleNamespace(default=True, deprecated=True, alias=None),
    types.SimpleNamespace(default=True, deprecated=False, alias="torch.compiler.config.x"), entry(["a"]), entry({})],
    ids=["deprecated", "alias", "list", "mapping"])
def test_a_setting_that_would_say_import_or_copy_something_is_left(loud: Any) -> None:
    config = Config(("freezing",), freezing=loud, max_autotune=entry(False))
    assert inprocess_compile.settings(compiled_process(config)) == {"max_autotune": "false"}


def test_reading_the_real_settings_changes_and_says_nothing() -> None:
    config = importlib.import_module("torch._inductor.config")
    before = {name: entry.user_override.get() for name, entry in config._config.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = {name: inprocess_compile.setting(config, name) for name in inprocess_compile.SETTINGS}

    assert {name: entry.user_override.get() for name, entry in config._config.items()} == before
    known = [name for name, value in told.items() if value is not inprocess_compile._NOTHING]
    assert len(known) > 50
    assert all(told[name] == getattr(config, name) for name in known)


def test_options_of_one_call_stand_above_the_common_settings() -> None:
    config = Config(max_autotune=entry(False), freezing=entry(False))
    told = inprocess_compile.settings(compiled_process(config, Wrapper(max_autotune=True, trace=1), None, object()))
    assert told == {"max_autotune": "true", "freezing": "false", "dynamic": "null"}


def test_calls_with_different_options_are_both_told() -> None:
    config = Config(max_autotune=entry(False))
    modules = compiled_process(config, Wrapper(max_autotune=True), Wrapper(dynamic=True))
    assert inprocess_compile.settings(modules) == {"max_autotune": "false|true", "dynamic": "null|true"}


def test_a_backend_other_than_inductor_generates_nothing() -> None:
    modules = compiled_process(Config(max_autotune=entry(False)), kernels=[])
    assert inprocess_compile.settings(modules) is None


def launcher(block: int, warps: int) -> Any:
    return types.SimpleNamespace(config=types.SimpleNamespace(kwargs={"XBLOCK": block}, num_warps=warps, num_stages=1))


def generated(*chosen: Any, name: str = "triton_poi_fused_add_0") -> Any:
    module = types.ModuleType("generated")
    setattr(module, name, types.SimpleNamespace(launchers=list(chosen)))
    return module


def chosen(*modules: Any, torch_module: Any = torch, **known: Any) -> Any:
    process = {**compiled_process(Config(), kernels=list(modules)), "torch": torch_module}
    return inprocess_compile.choices(Host(modules=process, variables={}), process, settled(**known))


def test_equal_choices_are_one_digest_and_others_another() -> None:
    one = chosen(generated(launcher(256, 4)))
    assert one.startswith("sha256:")
    assert one == chosen(generated(launcher(256, 4)))
    assert one != chosen(generated(launcher(512, 4)))
    assert one != chosen(generated(launcher(256, 8)))
    assert one != chosen(generated(launcher(256, 4), name="triton_red_fused_sum_1"))


def test_the_order_in_which_kernels_were_loaded_is_no_choice() -> None:
    first, second = generated(launcher(256, 4)), generated(launcher(64, 2), name="triton_red_fused_sum_1")
    assert chosen(first, second) == chosen(second, first)


def test_kernels_that_were_not_timed_yet_have_chosen_nothing() -> None:
    assert chosen(generated(launcher(256, 4), launcher(512, 4))) == chosen(generated())


def test_choices_of_one_rank_are_not_those_of_the_job() -> None:
    assert is_unread(chosen(generated(launcher(256, 4)), group=("nccl", 2)))
    assert chosen(generated(launcher(256, 4)), group=("nccl", 1)).startswith("sha256:")


def test_a_process_that_neither_compiled_nor_tuned_chose_nothing() -> None:
    assert inprocess_compile.choices(Host(), {"torch": torch}, settled()) is None


RESULTS = ("Validator,PT_VERSION,2.6.0\nGemmTunableOp_float_NN,nn_8_4_2,Gemm_Rocblas_21,{time}\n"
           "GemmTunableOp_float_TN,tn_8_4_2,{choice},0.0042\n")


@pytest.mark.parametrize(("variable", "file"), [(None, "tunableop_results0.csv"), ("mine%d.csv", "mine0.csv"),
                                                ("mine.csv", "mine0.csv"), ("mine", "mine0")])
def test_what_tunable_op_chose_is_read_from_its_results_without_times(
        variable: str | None, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    host = Host(variables={} if variable is None else {"PYTORCH_TUNABLEOP_FILENAME": variable})
    tuning = {"torch": _old_torch(_cuda_tunableop_is_enabled=True)}

    assert is_unread(inprocess_compile.choices(host, tuning, settled())), "no file was written yet"
    digests = []
    for time, choice in (("0.01", "Default"), ("0.02", "Default"), ("0.01", "Gemm_Rocblas_3")):
        Path(file).write_text(RESULTS.format(time=time, choice=choice))
        digests.append(inprocess_compile.choices(host, tuning, settled()))
    assert digests[0] == digests[1] != digests[2]


def test_nothing_of_the_compiler_is_said_before_the_program_has_computed() -> None:
    facts = inprocess.read(Host(), inprocess.Seen()).facts
    for path in ("program.model.compile", "determinism.inductor", "determinism.compile_cache"):
        assert facts[path] == {"unread": "too-early"}


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor compiles C++ for the processor; install g++")
def test_a_program_that_compiles_is_told_with_the_options_it_gave(started: Start, script: Callable[..., str],
                                                                 tmp_path: Path) -> None:
    ended = started(sys.executable, script(COMPILING), TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"),
                    TORCHINDUCTOR_COMPILE_THREADS="1")

    assert ended.returncode == 0, ended.stderr
    first, last = ended.of("process"), ended.of("exit")
    assert first["program"]["model"]["compile"] is True
    inductor = last["stack"]["determinism"]["inductor"]
    assert inductor["epilogue_fusion"] == "false"
    assert inductor["max_autotune"] == "false"
    assert inductor["fallback_random"] == "false"
    assert inductor == first["stack"]["determinism"]["inductor"]
    assert last["stack"]["determinism"]["compile_cache"].startswith("sha256:")
    assert last["stack"]["determinism"]["changed"] == []
    assert last["capture"]["errors"] == []

"""Versions and machines of JAX, TensorFlow, Keras and NumPy that no test environment holds, as stand-ins.

The shapes were taken from real versions: JAX 0.4.13 and 0.12, the CUDA plugin of JAX 0.10.2, TensorFlow 2.5.3.
"""

from __future__ import annotations

import types
from typing import Any

import pytest

from repro_env.probes import inprocess, inprocess_jax, inprocess_keras, inprocess_numpy, inprocess_tensorflow
from tests.client.process.test_readers import Host, settled

UNSAID = {"unread": "not-reported"}
shape = types.SimpleNamespace


class Client:
    """A started backend."""

    def __init__(self, platform: str = "gpu", version: str = "cuda 12090", processes: int = 1, local: int = 1) -> None:
        self.platform, self.platform_version = platform, version
        self._devices = [shape(process_index=rank) for rank in range(processes) for _ in range(local)]

    def device_count(self) -> int:
        return len(self._devices)

    def devices(self) -> list[Any]:
        return self._devices


def old_jax(client: Client | None = None, **extra: Any) -> dict[str, Any]:
    """JAX of the 0.3 series: no switch for sharded bits, no revision, plugins within jaxlib."""
    config = shape(jax_enable_x64=True, jax_default_matmul_precision=None, jax_default_prng_impl="threefry2x32",
                   jax_disable_jit=False)
    bridge = shape(_default_backend=client, _backends={"gpu": client} if client else None)
    return {"jax": shape(__version__="0.3.25", config=config, jit=len), "jaxlib": shape(__version__="0.3.25+cuda11"),
            "jax._src.lib": shape(), "jax._src.xla_bridge": bridge, **extra}


def read(modules: dict[str, Any], seen: inprocess.Seen | None = None, **host: Any) -> dict[str, Any]:
    readings = inprocess.read(Host(modules=modules, files=[], variables=host.pop("variables", {}), **host),
                              seen or settled())
    assert [error for error in readings.errors if error["path"].split(".")[0] != "cpu"] == []
    return readings.facts


def test_an_old_jax_is_read_through_what_it_has() -> None:
    facts = read(old_jax())
    assert facts["precision.jax_x64"] is True
    assert facts["determinism.jax_prng"] == "threefry2x32, not partitionable"
    assert facts["frameworks.jax.revision"] == UNSAID
    assert facts["frameworks.jax.cuda_build"] == "11"
    assert facts["frameworks.jax.arch_list"] == UNSAID
    assert facts["frameworks.jax.build_flags"] == {"jaxlib": "0.3.25+cuda11"}
    assert facts["program.layout.jax_devices"] is None


def test_a_jax_that_is_still_being_imported_is_left_alone() -> None:
    assert "precision.jax_x64" not in read({"jax": shape(__version__="0.10.2", config=shape(jax_enable_x64=False))})


@pytest.mark.parametrize(("client", "backend"), [
    (Client(), "cuda"), (Client(version="rocm 60300"), "rocm"), (Client("tpu", "TPU v4"), "tpu"),
    (Client("cpu"), "cpu")],
    ids=["cuda", "rocm", "tpu", "cpu"])
def test_the_backend_of_jax_is_named_by_its_maker(client: Client, backend: str) -> None:
    assert read(old_jax(client))["frameworks.backend"] == backend


def test_a_backend_that_was_taken_down_stays_in_the_document() -> None:
    seen, modules = settled(), old_jax(Client(local=4))
    inprocess_jax.note(Host(modules=modules, variables={}, start=b""), modules, seen)
    modules["jax._src.xla_bridge"] = shape(_default_backend=None, _backends={}, _at_fork_handler_installed=True)
    facts = read(modules, seen)
    assert (facts["frameworks.backend"], facts["program.layout.jax_devices"]) == ("cuda", 4)


def test_a_backend_that_was_gone_before_it_was_noted_is_not_called_absent() -> None:
    facts = read(old_jax() | {"jax._src.xla_bridge": shape(_default_backend=None, _at_fork_handler_installed=True)})
    assert facts["frameworks.backend"] == facts["program.layout.jax_devices"] == UNSAID
    assert facts["collectives.backend"] == UNSAID
    assert "program.layout.world_size" not in facts


@pytest.mark.parametrize(("start", "now", "told"), [
    (b"XLA_FLAGS=--xla_gpu_deterministic_ops=true\0", "--xla_gpu_deterministic_ops=true", True), (b"", None, False),
    (b"", "--xla_gpu_deterministic_ops=true", UNSAID)], ids=["kept", "unset", "changed-some-time"])
def test_where_xla_cannot_be_asked_an_unchanged_variable_counts(start: bytes, now: str | None, told: Any) -> None:
    variables = {} if now is None else {"XLA_FLAGS": now}
    assert read(old_jax(Client()), start=start, variables=variables)["determinism.xla_deterministic"] == told


def test_the_cuda_plugin_tells_what_it_was_compiled_against() -> None:
    numbers = {"cuda_runtime": 12090, "cublas": 120901, "cudnn": 90800, "cufft": 11401, "cusolver": 11705,
               "cusparse": 12510}
    versions = shape(**{f"{name}_build_version": lambda number=number: number for name, number in numbers.items()})
    facts = read(old_jax(**{"jax._src.lib": shape(cuda_versions=versions), "jax_cuda12_plugin": shape(),
                            "jax_cuda12_plugin.version": shape(__version__="0.10.2")}))
    against = {name: facts[f"libraries.{name}.compiled_against"] for name in numbers}
    assert against == {"cuda_runtime": "12.9", "cublas": "12.9.1", "cudnn": "9.8.0", "cufft": "11.4.1",
                       "cusolver": "11.7.5", "cusparse": "12.5.10"}
    assert facts["frameworks.jax.cuda_build"] == "12.9"
    assert facts["frameworks.jax.build_flags"]["jax_cuda12_plugin"] == "0.10.2"


def test_a_rocm_plugin_is_not_a_build_without_rocm() -> None:
    facts = read(old_jax(**{"jax_rocm60_plugin._solver": shape(), "jax._src.lib": shape(cuda_versions=None)}))
    assert facts["frameworks.jax.cuda_build"] is None
    assert facts["frameworks.jax.rocm_build"] == UNSAID


@pytest.mark.parametrize(("number", "version"), [(90800, "9.8.0"), (8907, "8.9.7")])
def test_cudnn_numbers_have_two_forms(number: int, version: str) -> None:
    assert inprocess_jax._dotted(number, (10000, 100, 1)) == version


@pytest.mark.parametrize(("client", "exchange", "size"), [
    (Client(), None, 1), (Client(local=8), "nccl", 1), (Client(processes=2, local=8), "nccl", 2),
    (Client(version="rocm", local=8), "rccl", 1), (Client("tpu", local=4), UNSAID, 1)],
    ids=["one-gpu", "node", "two-nodes", "amd-node", "tpu"])
def test_devices_of_jax_exchange_by_the_library_of_their_maker(client: Client, exchange: Any, size: int) -> None:
    facts = read(old_jax(client))
    assert (facts["collectives.backend"], facts["program.layout.world_size"]) == (exchange, size)
    assert ("program.layout.data_parallel" in facts) is (client.device_count() == 1)


@pytest.mark.parametrize("beside", [{"mpi4py": object()}, {"ray": object()}], ids=["mpi4py", "ray"])
def test_jax_beside_other_means_is_not_called_alone(beside: dict[str, Any]) -> None:
    assert "program.layout.world_size" not in read(old_jax(Client("cpu"), **beside))


def test_a_program_without_a_framework_is_one_rank_that_is_whole() -> None:
    facts = read({})
    assert {facts[f"program.layout.{name}"] for name in ("world_size", "data_parallel", "tensor_parallel")} == {1}
    assert [facts[f"program.layout.{name}"] for name in ("ddp_bucket_mb", "ddp_buckets", "static_graph")] == [None] * 3


@pytest.mark.parametrize(("beside", "variables"), [
    ({"mpi4py": object()}, {}), ({}, {"RANK": "0", "WORLD_SIZE": "2"})],
    ids=["mpi4py", "announced"])
def test_a_program_that_may_have_other_ranks_is_not_called_whole(beside: dict[str, Any],
                                                                 variables: dict[str, str]) -> None:
    assert "program.layout.data_parallel" not in read(beside, variables=variables)


def test_a_program_without_a_framework_is_not_called_whole_before_it_ends() -> None:
    assert "program.layout.world_size" not in read({}, inprocess.Seen())


def test_jax_that_left_its_job_still_tells_its_size() -> None:
    facts = read(old_jax(**{"jax._src.distributed": shape(global_state=shape(num_processes=4))}))
    assert facts["program.layout.world_size"] == 4


def context(**extra: Any) -> Any:
    return shape(**{"_initialized": True, "_config": None, "_optimizer_jit": None, "_server_def": None,
                    "_intra_op_parallelism_threads": None, "_inter_op_parallelism_threads": None,
                    "_logical_devices": [shape(device_type="CPU")], **extra})


def old_tensorflow(made: Any = None, info: dict[str, Any] | None = None, **extra: Any) -> dict[str, Any]:
    """TensorFlow 2.5: no switch for deterministic kernels, oneDNN compiled in or not."""
    return {"tensorflow": shape(__version__="2.5.3"),
            "tensorflow.python.framework.versions": shape(GIT_VERSION=b"v2.5.2-194-g959e9b2a0c0", CXX11_ABI_FLAG=0,
                                                          COMPILER_VERSION="7.3.1 20180303"),
            "tensorflow.python.framework.config": shape(tensor_float_32_execution_enabled=lambda: True),
            "tensorflow.python.platform.build_info": shape(build_info=info or {}),
            "tensorflow.python.util._pywrap_util_port": shape(IsMklEnabled=lambda: False),
            "tensorflow.python.eager.context": shape(_context=made), **extra}


def test_an_old_tensorflow_is_read_through_what_it_has() -> None:
    facts = read(old_tensorflow(context()), variables={"TF_DETERMINISTIC_OPS": "1"})
    assert facts["frameworks.tensorflow.revision"] == "v2.5.2-194-g959e9b2a0c0"
    assert facts["frameworks.tensorflow.abi"] == "pre-cxx11"
    assert facts["frameworks.tensorflow.build_flags"] == {"compiler": "7.3.1 20180303"}
    assert facts["precision.tensorflow_tf32"] is True
    assert facts["determinism.tensorflow_op_determinism"] is True
    assert facts["determinism.tensorflow_onednn"] == UNSAID, "this version answers for its build, not for its switch"
    assert facts["threads.tensorflow_intraop"] == 0


def test_a_tensorflow_before_tf32_has_no_such_switch() -> None:
    assert read(old_tensorflow(**{"tensorflow.python.framework.config": shape()}))["precision.tensorflow_tf32"] is None


def test_a_tensorflow_that_is_still_being_imported_is_left_alone() -> None:
    assert "precision.tensorflow_tf32" not in read({"tensorflow": shape(__version__="2.21.0")})


def test_a_build_for_gpus_tells_targets_and_libraries() -> None:
    info = {"is_cuda_build": True, "is_rocm_build": False, "cuda_version": "12.5.1", "cudnn_version": "9",
            "cuda_compute_capabilities": ["sm_80", "sm_60", "compute_90"]}
    gpus = context(_logical_devices=[shape(device_type="CPU"), shape(device_type="GPU")])
    facts = read(old_tensorflow(gpus, info))
    assert facts["frameworks.tensorflow.cuda_build"] == "12.5.1"
    assert facts["frameworks.tensorflow.rocm_build"] is None
    assert facts["frameworks.tensorflow.arch_list"] == ["compute_90", "sm_60", "sm_80"]
    assert facts["frameworks.backend"] == "cuda"
    assert facts["libraries.cudnn.compiled_against"] == "9"
    assert "cuda_compute_capabilities" not in facts["frameworks.tensorflow.build_flags"]


@pytest.mark.parametrize(("info", "kind", "backend"), [
    ({"is_rocm_build": True}, "GPU", "rocm"), ({}, "GPU", "mps"), ({}, "TPU", "tpu"), ({}, "CPU", "cpu")],
    ids=["rocm", "apple", "tpu", "cpu"])
def test_what_tensorflow_computed_on_follows_its_devices(info: dict[str, Any], kind: str, backend: str) -> None:
    made = context(_logical_devices=[shape(device_type=kind)])
    assert read(old_tensorflow(made, info))["frameworks.backend"] == backend


def test_tensorflow_that_started_nothing_computed_nowhere() -> None:
    assert inprocess_tensorflow.backend(old_tensorflow(context(_initialized=False))) is None
    assert inprocess_tensorflow.processes(old_tensorflow()) == 0


def test_workers_of_a_cluster_are_counted_and_parameter_servers_are_not() -> None:
    jobs = [shape(name="worker", tasks=[0, 1, 2]), shape(name="ps", tasks=[0]), shape(name="chief", tasks=[0])]
    cluster = context(_collective_ops_server_def=shape(cluster=shape(job=jobs)))
    facts = read(old_tensorflow(cluster))
    assert facts["program.layout.world_size"] == 4
    assert facts["collectives.backend"] == UNSAID


@pytest.mark.parametrize(("flags", "made", "told"), [
    ("--tf_xla_auto_jit=2", None, True), ("--tf_xla_auto_jit=0", None, False), ("", None, False),
    ("--tf_xla_auto_jit=2", context(_optimizer_jit=False), False),
    ("", context(_optimizer_jit="autoclustering"), True)],
    ids=["variable", "variable-off", "unset", "setting-wins", "setting"])
def test_xla_compiles_on_its_own_by_setting_or_variable(flags: str, made: Any, told: bool) -> None:
    facts = read(old_tensorflow(made), variables={"TF_XLA_FLAGS": flags}, start=f"TF_XLA_FLAGS={flags}\0".encode())
    assert facts["determinism.tensorflow_jit"] is told


def test_graphs_that_are_rewritten_to_half_precision_are_under_autocast() -> None:
    facts = read(old_tensorflow(context(_optimizer_experimental_options={"auto_mixed_precision": True})))
    assert facts["precision.autocast"] == "float16"


def test_what_may_still_be_set_is_too_early() -> None:
    facts = inprocess.read(Host(modules=old_tensorflow(), files=[], variables={}), inprocess.Seen()).facts
    for path in ("determinism.tensorflow_op_determinism", "threads.tensorflow_intraop", "collectives.backend"):
        assert facts[path] == {"unread": "too-early"}, path


def keras(generation: str, chosen: str | None) -> dict[str, Any]:
    policy, floats = (None if chosen is None else shape(name=chosen)), shape(floatx=lambda: "float32")
    if generation == "3":
        return {"keras": object(), inprocess_keras._FLOATS: floats,
                inprocess_keras._STATE: shape(GLOBAL_STATE_TRACKER=shape(dtype_policy=policy))}
    names = {"tf_keras": inprocess_keras._EARLIER[0], "2.13": inprocess_keras._EARLIER[1],
             "2.6": inprocess_keras._EARLIER[2], "within": inprocess_keras._WITHIN_TENSORFLOW}[generation]
    own = {"tf_keras": "tf_keras", "within": "tensorflow"}.get(generation, "keras")
    return {own: object(), names[0]: shape(_global_policy=policy), names[1]: floats}


@pytest.mark.parametrize("generation", ["3", "tf_keras", "2.13", "2.6", "within"])
@pytest.mark.parametrize(("chosen", "told"), [(None, "float32"), ("mixed_float16", "mixed_float16")])
def test_every_generation_of_keras_tells_its_policy(generation: str, chosen: str | None, told: str) -> None:
    assert inprocess_keras.policy(keras(generation, chosen)) == told


def test_two_generations_that_disagree_are_not_one_policy() -> None:
    both = {**keras("3", "mixed_float16"), **keras("tf_keras", None)}
    assert inprocess_keras.policy(both) == UNSAID
    assert inprocess_keras.policy({}) == UNSAID


def test_the_copy_within_tensorflow_has_no_say_beside_a_keras_of_its_own() -> None:
    assert inprocess_keras.policy({**keras("3", "mixed_float16"), **keras("within", None)}) == "mixed_float16"


def test_builds_of_numpy_before_2023_name_the_libraries_they_were_linked_to() -> None:
    config = shape(blas_ilp64_opt_info={"libraries": ["openblas64_", "openblas64_"]}, lapack_ilp64_opt_info={},
                   lapack_opt_info={"libraries": ["mkl_rt", "pthread"], "library_dirs": ["/opt/lib"]})
    assert inprocess_numpy.build_flags(config) == {"blas": "openblas64_", "lapack": "mkl_rt pthread"}
    assert inprocess_numpy.build_flags(shape()) == UNSAID


def test_numpy_before_1_20_does_not_list_what_it_dispatches_to() -> None:
    assert inprocess_numpy.simd_found(shape(__cpu_features__={"AVX2": True})) == UNSAID


@pytest.mark.parametrize(("counted", "variable", "threads"), [
    ({True: 2}, {}, 8), ({}, {}, None), ({}, {"OMP_NUM_THREADS": "8"}, 8), ({False: 4}, {}, UNSAID)],
    ids=["has-counted", "has-not", "told-by-variable", "counted-otherwise"])
def test_scikit_learn_is_asked_only_where_asking_starts_nothing(counted: dict[bool, int], variable: dict[str, str],
                                                                threads: Any) -> None:
    helpers = shape(_CPU_COUNTS=counted, _openmp_effective_n_threads=lambda: 8)
    modules = {"sklearn": object(), inprocess_numpy._OPENMP: helpers}
    assert inprocess_numpy.loop_threads(Host(variables=variable), modules, settled()) == threads


def test_a_scikit_learn_that_counts_cores_anew_is_not_asked() -> None:
    modules = {inprocess_numpy._OPENMP: shape(_openmp_effective_n_threads=lambda: 8)}
    assert inprocess_numpy.loop_threads(Host(variables={}), modules, settled()) == UNSAID

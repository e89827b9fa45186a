"""Facts of one document that cannot all be meant: two versions of one thing, a wish and what is in force.

Each check is one function that returns its finding or ``None``; what it needs and was not read leaves it silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

from ..comparability.compatible import served_cuda
from ..comparability.reading import Facts, Missing
from ..comparability.rules.libraries import KINDS
from ..comparability.versions import prefix, public, release
from ..fingerprint.facts import is_captured
from ..probes.keys import LIBRARIES
from .finding import CONTRADICTION, Finding

Check = Callable[[Facts], Optional[Finding]]
_RESTART = "start the process again after installing; look at PYTHONPATH, and set PYTHONNOUSERSITE=1"
#: framework -> distributions that bring it.
_BROUGHT_BY = {"torch": ("torch",), "jax": ("jax",), "numpy": ("numpy",), "scipy": ("scipy",),
               "scikit_learn": ("scikit-learn",),
               "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow")}
#: distributions of which one environment should hold one: they write the same modules.
_EXCLUSIVE = (("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
              ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow"),
              ("onnxruntime", "onnxruntime-gpu"), ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
              ("triton", "pytorch-triton", "pytorch-triton-rocm"), ("paddlepaddle", "paddlepaddle-gpu"),
              ("pillow", "pillow-simd"), ("faiss-cpu", "faiss-gpu"))
#: conflict code of a library -> what it means and what mends it.
_CONFLICTS = {
    "two-copies": ("two copies of it are loaded; which one answers depends on the order of loading",
                   "keep one: look at LD_LIBRARY_PATH and LD_PRELOAD, and at wheels beside system packages"),
    "shadowed": ("LD_LIBRARY_PATH puts another copy in front of the one that was installed with the framework",
                 "unset LD_LIBRARY_PATH, or take the folder of that library out of it"),
    "preloaded": ("LD_PRELOAD put it in front of every other copy", "unset LD_PRELOAD"),
    "not-installed": ("the loaded version is not the installed one",
                      "unset LD_LIBRARY_PATH; reinstall the distribution that brings it"),
    "not-compiled-against": ("the loaded version does not fit the one the framework was compiled against",
                             "install the version that the framework asks for, and unset LD_LIBRARY_PATH"),
}

_TITLES = {kind.name: kind.title for kind in KINDS}


def find(facts: Facts, capture: dict[str, Any]) -> Iterator[Finding]:
    """Yield every contradiction."""
    for check in CHECKS:
        try:
            found = check(facts)
        except Missing:
            continue
        if found is not None:
            yield found
    yield from library_conflicts(facts)
    yield from imported_versions(facts)
    yield from double_distributions(facts)
    yield from image_evidence(capture)


def _says(check: str, says: str, mend: str, *paths: str, effect: str = "") -> Finding:
    return Finding(CONTRADICTION, check, says, mend, paths, effect)


def driver_parts(facts: Facts) -> Finding | None:
    """Kernel module and user-space library of one driver have one version, unless the latter is a compat package."""
    module, library = facts.read_all("driver.kernel_module", "driver.user_libcuda")
    if module is None or library is None or module == library or facts.read("driver.compat") is not False:
        return None
    return _says("driver-parts", f"the kernel runs driver {module}, programs load libcuda {library}",
                 "reboot the node, or reload the module: modprobe -r nvidia_uvm nvidia && modprobe nvidia; "
                 "in a container, start it again", "driver.kernel_module", "driver.user_libcuda",
                 effect="CUDA refuses to start, or runs with the library of another driver")


def driver_too_old(facts: Facts) -> Finding | None:
    """A driver serves CUDA up to its own major version; a newer one needs the forward-compatibility package."""
    level, build = facts.get("driver.cuda_level"), facts.read("frameworks.torch.cuda_build")
    serves = (release(level) or served_cuda(facts.get("driver.kernel_module") or ""))[:1]
    if not build or not serves or release(build)[:1] <= serves or facts.get("driver.compat") is True:
        return None
    return _says("driver-too-old", f"torch was built for CUDA {build}, the driver serves CUDA up to "
                 f"{level or serves[0]}", f"install a torch build for CUDA {serves[0]}, or upgrade the driver",
                 "frameworks.torch.cuda_build", effect="CUDA does not start; programs fall back to the CPU or stop")


def wanted_threads(facts: Facts) -> Finding | None:
    """More OpenMP threads asked for than processors that the process may run on."""
    asked, count = facts.variable("OMP_NUM_THREADS"), facts.read("threads.affinity_count")
    first = (asked or "").split(",")[0].strip()
    if not first.isdigit() or not count or int(first) <= count:
        return None
    return _says("threads-asked", f"OMP_NUM_THREADS asks for {first} threads, the process may run on {count}",
                 f"export OMP_NUM_THREADS={count}, or ask the scheduler for more processors",
                 "variables.values.OMP_NUM_THREADS", "threads.affinity_count",
                 effect="runtimes cut the number in their own ways, and sums are split accordingly")


def quota(facts: Facts) -> Finding | None:
    """A quota below the processors that libraries count: they start more threads than can run."""
    limit, count = facts.read_all("threads.cgroup_limit_millicpu", "threads.affinity_count")
    if not limit or not count or -(-limit // 1000) >= count or facts.variable("OMP_NUM_THREADS"):
        return None
    threads = max(1, limit // 1000)
    return _says("threads-quota", f"the control group grants {limit / 1000:g} processors, libraries count {count}",
                 f"export OMP_NUM_THREADS={threads}", "threads.cgroup_limit_millicpu", "threads.affinity_count",
                 effect="slow, and the thread count depends on the node instead of the job")


def overridden_threads(facts: Facts) -> Finding | None:
    """The program works with another number of threads than the variable says."""
    asked, count = facts.variable("OMP_NUM_THREADS"), facts.read("threads.torch_intraop")
    if not (asked or "").isdigit() or count is None or int(asked or 0) == count:
        return None
    return _says("threads-overridden", f"OMP_NUM_THREADS says {asked}, torch works with {count} threads",
                 "set one of them only: drop torch.set_num_threads() or the variable",
                 "variables.values.OMP_NUM_THREADS", "threads.torch_intraop")


def timed_and_deterministic(facts: Facts) -> Finding | None:
    """Deterministic mode asks for repeatable kernels, benchmarking picks them by timing."""
    strict, timed = facts.read_all("determinism.deterministic_algorithms", "determinism.cudnn_benchmark")
    if not strict or not timed:
        return None
    return _says("benchmark-and-deterministic", "deterministic algorithms are on, and so is cuDNN benchmarking",
                 "torch.backends.cudnn.benchmark = False", "determinism.deterministic_algorithms",
                 "determinism.cudnn_benchmark", effect="another deterministic kernel may be picked in every process")


def tf32_forbidden(facts: Facts) -> Finding | None:
    """The switch allows TF32 and the variable forbids it, or the reverse; the variable wins, unseen by torch."""
    forced = facts.variable("NVIDIA_TF32_OVERRIDE")
    allowed = facts.read("precision.allow_tf32_matmul")
    if forced is None or allowed is None or (forced != "0") == allowed:
        return None
    words = "on" if allowed else "off"
    return _says("tf32-overridden", f"torch says TF32 is {words}, NVIDIA_TF32_OVERRIDE={forced} says the opposite",
                 "unset NVIDIA_TF32_OVERRIDE", "variables.values.NVIDIA_TF32_OVERRIDE",
                 "precision.allow_tf32_matmul",
                 effect="products differ by 1e-3 relative from what the program asks for")


def hash_seed_late(facts: Facts) -> Finding | None:
    """PYTHONHASHSEED counts at the start of the interpreter; set later it does nothing."""
    asked, acting = facts.variable("PYTHONHASHSEED"), facts.read("random.hash_seed")
    if not asked or acting is None or asked == acting or (asked.isdigit() and acting == str(int(asked))):
        return None
    return _says("hash-seed-late", f"PYTHONHASHSEED is {asked}, the interpreter works with {acting}",
                 f"export PYTHONHASHSEED={asked} before Python starts", "random.hash_seed")


def workspace_late(facts: Facts) -> Finding | None:
    """The cuBLAS workspace as the variable has it and as it was when the process started."""
    asked, acting = facts.variable("CUBLAS_WORKSPACE_CONFIG"), facts.read("determinism.cublas_workspace")
    if asked == acting:
        return None
    return _says("workspace-late", f"CUBLAS_WORKSPACE_CONFIG is {asked or 'unset'}, cuBLAS works with "
                 f"{acting or 'its default'}", "export CUBLAS_WORKSPACE_CONFIG=:4096:8 before the process starts",
                 "variables.values.CUBLAS_WORKSPACE_CONFIG", "determinism.cublas_workspace")


def unreachable_capability(facts: Facts) -> Finding | None:
    """ATEN_CPU_CAPABILITY names a level that this processor does not have."""
    asked = (facts.variable("ATEN_CPU_CAPABILITY") or "").lower()
    sets = facts.read("cpu.instruction_sets") or ()
    needs = {"avx2": "avx2", "avx512": "avx512f"}.get(asked)
    if needs is None or needs in sets:
        return None
    return _says("capability-unreachable", f"ATEN_CPU_CAPABILITY asks for {asked}, this processor has no {needs}",
                 "unset ATEN_CPU_CAPABILITY", "variables.values.ATEN_CPU_CAPABILITY", "cpu.instruction_sets",
                 effect="torch stops, or takes another level")


def announced_ranks(facts: Facts) -> Finding | None:
    """Accelerators computed on, and a back end for tensors on the host."""
    backend, device = facts.read_all("collectives.backend", "frameworks.backend")
    if backend != "gloo" or device not in ("cuda", "rocm"):
        return None
    return _says("gloo-on-gpu", f"the program computes on {device}, ranks exchange by gloo",
                 "torch.distributed.init_process_group('nccl')", "collectives.backend", "frameworks.backend",
                 effect="sums over ranks run on the host, in another order than with NCCL")


CHECKS: tuple[Check, ...] = (
    driver_parts, driver_too_old, wanted_threads, quota, overridden_threads, timed_and_deterministic, tf32_forbidden,
    hash_seed_late, workspace_late, unreachable_capability, announced_ranks)


def library_conflicts(facts: Facts) -> Iterator[Finding]:
    """Yield what the probes found about copies of one library."""
    for name in LIBRARIES:
        for code in facts.get(f"libraries.{name}.conflicts") or ():
            means, mend = _CONFLICTS.get(code, (code, "look at LD_LIBRARY_PATH and LD_PRELOAD"))
            versions = [f"{word.replace('_', ' ')} {value}" for word in ("loaded", "installed", "compiled_against")
                        for value in [facts.get(f"libraries.{name}.{word}")] if value]
            told = f" ({', '.join(versions)})" if versions else ""
            title = _TITLES.get(name, name)
            yield _says(f"library-{code}", f"{title}: {means}{told}", mend, f"libraries.{name}.conflicts")


def imported_versions(facts: Facts) -> Iterator[Finding]:
    """Yield frameworks whose module has another version than the distribution that brings it."""
    for name, brought_by in _BROUGHT_BY.items():
        if not facts.get(f"frameworks.{name}.imported"):
            continue
        version = facts.get(f"frameworks.{name}.version")
        installed = [item["version"] for item in facts.get("distributions.installed") or ()
                     if item["name"] in brought_by and is_captured(item.get("version"))]
        if version and installed and not any(_same(version, item) for item in installed):
            yield _says("imported-not-installed", f"{name} {version} is imported, {installed[0]} is installed",
                        _RESTART, f"frameworks.{name}.version", "distributions.installed")


def _same(left: str, right: str) -> bool:
    return public(left) == public(right) or prefix(left, 3) == prefix(right, 3)


def double_distributions(facts: Facts) -> Iterator[Finding]:
    """Yield distributions that are there twice, and those that write each other's modules."""
    found = facts.get("distributions.installed") or ()
    names = {item["name"] for item in found}
    for item in found:
        if item.get("shadowed") is True:
            first = next((other["version"] for other in found
                          if other["name"] == item["name"] and other.get("shadowed") is False), None)
            yield _says("installed-twice", f"{item['name']} is there twice: {first} comes first, {item['version']} "
                        "lies behind it", f"pip uninstall {item['name']} until none is left, then install it once; or "
                        "export PYTHONNOUSERSITE=1", "distributions.installed")
    for family in _EXCLUSIVE:
        together = [name for name in family if name in names]
        if len(together) > 1:
            yield _says("same-modules", f"{' and '.join(together)} write the same modules, the last one won",
                        f"pip uninstall {' '.join(together)}, then install the one that is meant",
                        "distributions.installed")


def image_evidence(capture: dict[str, Any]) -> Iterator[Finding]:
    """Yield kinds of evidence on the image that name two values."""
    evidence = capture.get("image_evidence")
    if not is_captured(evidence):
        return
    for what in sorted({item["what"] for item in evidence or () if item["what"] != "label"}):
        told = {item["value"]: item["source"] for item in evidence or () if item["what"] == what}
        if len(told) > 1 and what != "image_reference":
            parts = " against ".join(f"{value} ({source})" for value, source in sorted(told.items()))
            yield _says("image-identity", f"the {what.replace('_', ' ')} is told twice: {parts}",
                        "unset the variable that was left over from another container",
                        "container.image_digest")

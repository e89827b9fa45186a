"""Tests on one side that known combinations are made of. Each is true, false, or raises ``Missing``.

A test that facts show to be false decides for its combination, whatever else is unread. With a fact erased a test says
what it said before, or that it cannot tell.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ..acting import Acting, any_holds, devices, imported, in_process, inner
from ..processors import level_of_model
from ..reading import Facts, Missing
from ..versions import older, prefix, release
from .distributions import version as installed_version

Test = Callable[[Facts], bool]
_POOLS = "threads.blas_pools"
#: Xeons of the fourth and fifth generation, by their numbers (Intel ARK).
_FOURTH_XEON = re.compile(r"\b(platinum 8|gold [56]|silver 4|bronze 3)[45]\d\d")


def within(version: Any, since: str, until: str) -> bool:
    """Tell whether ``version`` is a release from ``since`` on, before ``until``; an empty ``since`` has no start."""
    return bool(release(version)) and older(version, until) and not (since and older(version, since))


def framework(name: str, since: str, until: str) -> Test:
    """A framework of these releases; in the process, one that it imported."""
    def test(facts: Facts) -> bool:
        if not within(facts.read(f"frameworks.{name}.version"), since, until):
            return False
        return not in_process(facts) or imported(facts, name)
    return test


def torch(since: str, until: str) -> Test:
    """A torch of these releases; in the process, one that it imported."""
    return framework("torch", since, until)


def uses(name: str) -> Test:
    """A process that imported this framework, or a side that was seen from outside."""
    return lambda facts: not in_process(facts) or imported(facts, name)


def distribution(name: str, since: str, until: str) -> Test:
    """An installed distribution of these releases."""
    return lambda facts: within(installed_version(facts, name), since, until)


def library(name: str, since: str, until: str) -> Test:
    """A numeric library of these releases: the loaded one in the process, any that is stated from outside."""
    def stated(kind: str) -> Test:
        path = f"libraries.{name}.{kind}"
        return lambda facts: (facts.look(path) != {"unread": "not-loaded"} and within(facts.read(path), since, until))

    tests = (stated("loaded"), stated("installed"))
    return lambda facts: any_holds(facts, tests[:1] if in_process(facts) else tests)


def openblas(since: str, until: str) -> Test:
    """An OpenBLAS of these releases: as a library, or as a pool of threads that reports its version."""
    of_library = library("openblas", since, until)

    def of_pools(facts: Facts) -> bool:
        pools = [pool for pool in facts.read(_POOLS) or () if pool.get("library") == "openblas"]
        versions = [inner(pool.get("version", {"unread": "not-recorded"}), _POOLS) for pool in pools]
        return any(within(version, since, until) for version in versions)
    return either(of_library, of_pools)


def wheel_of_numpy(since: str, until: str) -> Test:
    """A NumPy of these releases that was installed as a wheel, which brings an OpenBLAS of its own."""
    of_release = framework("numpy", since, until)
    return lambda facts: of_release(facts) and facts.read("frameworks.numpy.build") in ("wheel", "pip")


def either(*tests: Test) -> Test:
    """One of these tests, whatever the others lack; open where none holds and one cannot tell."""
    def test(facts: Facts) -> bool:
        return any_holds(facts, tests)
    return test


def toolkit(version: str) -> Test:
    """A torch built with this CUDA version."""
    return _build("cuda_build", version)


def rocm(version: str) -> Test:
    """A torch built with this ROCm version."""
    return _build("rocm_build", version)


def _build(fact: str, version: str) -> Test:
    parts = version.count(".") + 1

    def test(facts: Facts) -> bool:
        value = facts.read(f"frameworks.torch.{fact}")
        return value is not None and prefix(value, parts) == version
    return test


def build_of_torch(facts: Facts) -> str:
    """Return where torch's build came from: as stated, or a wheel where the version carries the label of an index."""
    if not facts.known("frameworks.torch.build") and "+cu" in str(facts.read("frameworks.torch.version")):
        return "wheel"
    return str(facts.read("frameworks.torch.build"))


def pip_wheel(facts: Facts) -> bool:
    """A torch that was installed as a wheel."""
    return build_of_torch(facts) in ("wheel", "pip")


def _used(facts: Facts) -> tuple[Acting, ...]:
    """Return the devices; none where the process computed on the CPU."""
    return () if in_process(facts) and facts.read("frameworks.backend") == "cpu" else devices(facts)


def _any_device(holds: Callable[[Acting], bool], known: Callable[[Acting], object]) -> Test:
    """A device that computed, and for which ``holds``; unread where none does and one does not say."""
    def test(facts: Facts) -> bool:
        found = _used(facts)
        if any(holds(device) for device in found):
            return True
        if any(not known(device) for device in found):
            raise Missing({"accelerators.devices": "not-reported"})
        return False
    return test


def architecture(*majors: int) -> Test:
    """A device of one of these major compute capabilities."""
    return _any_device(lambda device: bool(device.capability) and device.capability[0] in majors,
                       lambda device: device.target)


def capability(*targets: tuple[int, int]) -> Test:
    """A device of one of these compute capabilities."""
    return _any_device(lambda device: device.capability in targets, lambda device: device.target)


def gfx(*targets: str) -> Test:
    """An AMD device of one of these targets."""
    return _any_device(lambda device: device.gfx_target in targets, lambda device: device.target)


def model(start: str) -> Test:
    """A device whose model starts so."""
    return _any_device(lambda device: (device.model or "").startswith(start), lambda device: device.model)


def several_devices(facts: Facts) -> bool:
    """More than one device."""
    return len(facts.read("accelerators.devices") or ()) > 1


def on(*backends: str) -> Test:
    """A side that computed on one of these back ends."""
    return fact_is("frameworks.backend", *backends)


def os_is(*families: str) -> Test:
    """An operating system of one of these families."""
    return fact_is("system.os_family", *families)


def fact_is(path: str, *values: object) -> Test:
    """A fact with one of these values."""
    return lambda facts: facts.read(path) in values


def fact_starts(path: str, *starts: str) -> Test:
    """A text that starts with one of these."""
    return lambda facts: str(facts.read(path) or "").startswith(starts)


def mentions(path: str, word: str) -> Test:
    """A text with this word in it."""
    return lambda facts: word in str(facts.read(path) or "").lower()


def switched_on(path: str) -> Test:
    """A switch that is on."""
    return lambda facts: facts.read(path) is True


def more_than(path: str, count: int) -> Test:
    """A number above ``count``."""
    return lambda facts: (facts.read(path) or 0) > count


def not_off(path: str) -> Test:
    """A switch that is on, or that this version does not have."""
    return lambda facts: facts.read(path) is not False


def declared(*names: str, values: tuple[str, ...] = ("on",)) -> Test:
    """One of these declared settings with one of these values."""
    def test(facts: Facts) -> bool:
        found = facts.read("declared.values") or {}
        return any(str(found.get(name, "")).lower() in values for name in names)
    return test


def half_precision(facts: Facts) -> bool:
    """Products in float16: by autocast or by default dtype."""
    paths = ("precision.autocast", "precision.default_dtype")
    if "float16" in [facts.get(path) for path in paths]:
        return True
    facts.read_all("precision.autocast")
    return False


def may_vary(facts: Facts) -> bool:
    """Anything but the strict deterministic mode of torch, which leaves out kernels that do not repeat."""
    on, warns = (facts.look(f"determinism.{name}") for name in ("deterministic_algorithms", "warn_only"))
    if on in (False, None) or warns is True:
        return True
    facts.read_all("determinism.deterministic_algorithms", "determinism.warn_only")
    return False


def avx512(facts: Facts) -> bool:
    """A processor with AVX-512, by its instruction sets or, where they are unread, by its model."""
    if not facts.known("cpu.instruction_sets"):
        told = level_of_model(facts.get("cpu.model"))
        if told is not None:
            return told == "AVX-512"
    return "avx512f" in (facts.read("cpu.instruction_sets") or ())


def _has_bfloat16(facts: Facts) -> bool:
    return "avx512_bf16" in (facts.read("cpu.instruction_sets") or ())


def _told_bfloat16(facts: Facts) -> bool:
    return _FOURTH_XEON.search(str(facts.read("cpu.model") or "").lower()) is not None


def _bfloat16_kernels(facts: Facts) -> bool:
    cores = [inner(pool.get("architecture", {"unread": "not-recorded"}), _POOLS)
             for pool in facts.read(_POOLS) or () if pool.get("library") == "openblas"]
    return any(str(core).lower() in ("cooperlake", "sapphirerapids") for core in cores)


#: a processor of Cooper Lake or Sapphire Rapids, for which OpenBLAS has kernels of their own.
cooper_lake: Test = either(_has_bfloat16, _bfloat16_kernels, _told_bfloat16)

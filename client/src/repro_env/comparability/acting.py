"""What acts: which device a side computed on, which framework it used, and the devices with all that is known of them.

Two kinds of sides are read differently. In the process the facts say what was used, so a matter that was not used is
``UNUSED``, and a side that does not say it is unread. From outside (prologue, import, image) nobody can tell, so a
stack is judged as if everything in it were used. Each function gives the same answer or none when a fact is erased.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, wraps
from typing import Any, Callable, NamedTuple, Optional

from ..fingerprint.facts import is_unread
from .devices import resolve, threads_per_sm
from .levels import Scope
from .reading import Facts, Missing
from .rule import NOT_APPLICABLE, Fallback, Parts, Projection
from .versions import release

#: a matter that read facts show not to be used; it equals itself and is undecided against a side seen from outside.
UNUSED = Fallback("not used")
DEVICES = "accelerators.devices"
#: starts of AMD's RDNA targets, and the resident threads of one compute unit, as the device table counts them. HIP
#: counts pairs of units, with twice as many threads each.
RDNA, RDNA_THREADS = ("gfx10", "gfx11", "gfx12"), 1024


class Acting(NamedTuple):
    """One device: stated facts first, what its name tells second, ``None`` where neither says it."""

    vendor: Optional[str]
    model: Optional[str]
    compute_capability: Optional[str]
    gfx_target: Optional[str]
    sm_count: Optional[int]
    threads_per_sm: Optional[int]
    mig_profile: Any

    @property
    def target(self) -> str | None:
        """The instruction set target: compute capability, or gfx target of an AMD device."""
        return self.compute_capability or self.gfx_target

    @property
    def capability(self) -> tuple[int, ...]:
        """The compute capability as numbers; empty for other vendors and unknown devices."""
        return release(self.compute_capability) if self.compute_capability else ()


def devices(facts: Facts) -> tuple[Acting, ...]:
    """Return the distinct devices; empty when there are surely none; raise ``Missing`` when unread.

    Of several makers' devices (a processor with graphics beside a card) those count that the process computed on, or
    that torch was built for.
    """
    return facts.once(DEVICES, _devices)


def _devices(facts: Facts) -> tuple[Acting, ...]:
    found = facts.read(DEVICES) or ()
    distinct = [device for index, device in enumerate(found) if device not in found[:index]]
    acting = tuple(sorted({_acting(device) for device in distinct}, key=repr))
    makers = {device.vendor for device in acting}
    if len(makers) < 2:
        return acting
    used = _maker_in_use(facts)
    return tuple(device for device in acting if device.vendor in (used, None)) if used in makers else acting


#: back end -> maker of its devices.
MAKERS = {"cuda": "nvidia", "rocm": "amd", "mps": "apple", "xpu": "intel"}
#: back ends that are no processor.
ACCELERATED = frozenset((*MAKERS, "tpu"))


def _maker_in_use(facts: Facts) -> str | None:
    if in_process(facts):
        return MAKERS.get(facts.read("frameworks.backend") or "")
    cuda, rocm = facts.read_all("frameworks.torch.cuda_build", "frameworks.torch.rocm_build")
    return "nvidia" if cuda else "amd" if rocm else None


def _acting(device: dict[str, Any]) -> Acting:
    told = resolve(_stated(device, "name"))
    capability = _stated(device, "compute_capability") or told.compute_capability
    gfx_target = _stated(device, "gfx_target") or told.gfx_target
    vendor = _stated(device, "vendor") or told.vendor or (
        "amd" if gfx_target else "nvidia" if capability else None)
    threads = _stated(device, "threads_per_sm") or told.threads_per_sm
    if threads is None and capability:
        threads = threads_per_sm("nvidia", capability)
    sm_count = _stated(device, "sm_count")
    if sm_count is None and told.sm_count is not None:
        sm_count = told.sm_count
        threads = RDNA_THREADS if (gfx_target or "").startswith(RDNA) else threads
    mig = device.get("mig_profile", {"unread": "not-recorded"})
    return Acting(vendor, told.model or _stated(device, "name"), capability, gfx_target,
                  sm_count, threads, "unread" if is_unread(mig) else mig)


def _stated(device: dict[str, Any], name: str) -> Any:
    value = device.get(name)
    return None if is_unread(value) else value


def of_devices(facts: Facts, what: Callable[[Acting], Any]) -> list[Any] | Fallback:
    """Return the sorted distinct values of ``what``; ``UNUSED`` without devices; ``Missing`` where one is unknown."""
    found = devices(facts)
    if not found:
        return UNUSED
    values = [what(device) for device in found]
    if None in values:
        raise Missing({DEVICES: "not-reported"})
    return sorted(set(values))


def in_process(facts: Facts) -> bool:
    """Tell whether the side was observed in the process."""
    return facts.scope is Scope.PROCESS


def on_gpu(project: Projection) -> Projection:
    """Limit a projection to sides that computed on an accelerator, or that were seen from outside."""
    @wraps(project)
    def limited(facts: Facts) -> Any:
        if in_process(facts) and facts.read("frameworks.backend") == "cpu":
            return UNUSED
        return project(facts)
    return limited


def with_accelerator(project: Projection) -> Projection:
    """Limit a projection to sides that computed on an accelerator or, seen from outside, have one.

    Without it every framework computes on the processor; from outside it is unread where devices are.
    """
    @wraps(project)
    def limited(facts: Facts) -> Any:
        if in_process(facts):
            used = facts.read("frameworks.backend") != "cpu"
        else:
            used = facts.get("frameworks.backend") in ACCELERATED or bool(facts.read(DEVICES))
        return project(facts) if used else UNUSED
    return limited


def on_cpu(project: Projection) -> Projection:
    """Limit a projection to sides that surely computed on the CPU; where nobody can tell it is unread."""
    @wraps(project)
    def limited(facts: Facts) -> Any:
        found, backend = facts.look(DEVICES), facts.look("frameworks.backend")
        if found is None or found == [] or backend == "cpu":
            return project(facts)
        facts.read_all(DEVICES, "frameworks.backend")
        return UNUSED
    return limited


def using(framework: str) -> Callable[[Projection], Projection]:
    """Limit a projection to sides whose process imported ``framework``, or that were seen from outside."""
    def decorate(project: Projection) -> Projection:
        @wraps(project)
        def limited(facts: Facts) -> Any:
            if in_process(facts) and not imported(facts, framework):
                return UNUSED
            return project(facts)
        return limited
    return decorate


def imported(facts: Facts, framework: str) -> bool:
    """Tell whether the process imported ``framework``; raise ``Missing`` when unread."""
    return bool(facts.read(f"frameworks.{framework}.imported"))


def using_any(*frameworks: str) -> Callable[[Projection], Projection]:
    """Limit a projection to sides whose process imported one of ``frameworks``, or that were seen from outside."""
    def decorate(project: Projection) -> Projection:
        @wraps(project)
        def limited(facts: Facts) -> Any:
            return project(facts) if not in_process(facts) or any_imported(facts, frameworks) else UNUSED
        return limited
    return decorate


def any_imported(facts: Facts, frameworks: tuple[str, ...]) -> bool:
    """Tell whether the process imported one of ``frameworks``; one that surely was decides, whatever is unread."""
    return any_holds(facts, tuple(map(_imports, frameworks)))


@cache
def _imports(framework: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.read(f"frameworks.{framework}") is not None and imported(facts, framework)


HEAVY = ("torch", "jax", "tensorflow")


def by_heavy_framework(facts: Facts) -> bool:
    """Tell whether the process imported a framework with kernels of its own, or was seen from outside."""
    return not in_process(facts) or any_imported(facts, HEAVY)


def present(value: Any) -> Any:
    """Return ``value``, or ``UNUSED`` for surely absent."""
    return UNUSED if value is None else value


def read_present(path: str) -> Projection:
    """Return the projection to the fact at ``path`` as it stands, ``UNUSED`` for surely absent."""
    return lambda facts: present(facts.read(path))


def read_value(path: str) -> Projection:
    """Return the projection to the fact at ``path`` as it stands; surely absent is a value of its own."""
    return lambda facts: NOT_APPLICABLE if facts.read(path) is None else facts.read(path)


def variable(facts: Facts, name: str) -> str | None:
    """Return a variable that is set to something, ``None`` when unset or empty."""
    return facts.variable(name) or None


def settings(facts: Facts, names: Iterable[str], off: tuple[str, ...] = ()) -> Parts:
    """Return the variables of one effect, each as ``NAME=value`` where it is set to something that is not ``off``."""
    read: dict[str, Any] = {}
    lacking: dict[str, str] = {}
    for name in names:
        try:
            value = facts.variable(name)
        except Missing as missing:
            lacking.update(missing.facts)
        else:
            read[name] = f"{name}={value}" if value and value.lower() not in off else None
    return Parts(read, lacking)


def inner(value: Any, path: str) -> Any:
    """Return a fact that lies inside the list or map at ``path``; raise ``Missing`` for ``path`` when it is unread."""
    if is_unread(value):
        raise Missing({path: value["unread"]})
    return value


def any_holds(facts: Facts, tests: Iterable[Callable[[Facts], bool]]) -> bool:
    """Tell whether one of the tests holds. One that surely does decides, whatever could not be read for the others."""
    lacking: dict[str, str] = {}
    for test in tests:
        try:
            if test(facts):
                return True
        except Missing as missing:
            lacking.update(missing.facts)
    if lacking:
        raise Missing(lacking)
    return False


def all_hold(facts: Facts, tests: tuple[Callable[[Facts], bool], ...]) -> bool:
    """Tell whether all tests hold. One that surely does not decides, whatever could not be read for the others."""
    lacking: dict[str, str] = {}
    for test in tests:
        try:
            if not test(facts):
                return False
        except Missing as missing:
            lacking.update(missing.facts)
    if lacking:
        raise Missing(lacking)
    return True

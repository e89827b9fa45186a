"""NVIDIA's management library by ctypes: devices, their limits, driver and links in one bounded call.

Owns the calling convention and what is asked of one device; how devices are joined is left to ``nvml_links``, which
devices a process may use to ``masks``. Structures as in NVIDIA's nvml.h (NVML API reference).
"""

from __future__ import annotations

from ..errors import ProbeFailed
from .keys import ACCELERATOR, STATE, blank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..system import System
    from .look import Look

LIBRARY = "libnvidia-ml.so.1"
#: seconds that the whole session may take, and that it may have taken when it starts to ask for links.
LIMIT_S, LINKS_BY_S = 0.8, 0.4
#: nvmlReturn_t -> unread code and words (NVML API reference, "Return values").
_PROBLEMS = {
    2: ("not-reported", "does not know what it was asked for"), 3: ("not-reported", "is not supported by this device"),
    4: ("denied", "was refused"), 6: ("failed", "found no such device"),
    9: ("failed", "found the NVIDIA driver not loaded"), 10: ("timeout", "ran into NVML's own time limit"),
    12: ("failed", "found a part of its library missing"), 13: ("not-reported", "is not known to the driver"),
    15: ("failed", "found the GPU lost: it has fallen off the bus"), 16: ("failed", "found a GPU that needs a reset"),
    18: ("failed", "found driver and library of different versions"),
}
_TEXT_SIZE = 256
_SM_CLOCK, _MEMORY_CLOCK = 1, 2
#: compute capability -> CUDA cores of one SM, resident threads of one SM (CUDA programming guide, "Technical
#: specifications per compute capability").
PER_SM = {
    "3.5": (192, 2048), "3.7": (192, 2048), "5.0": (128, 2048), "5.2": (128, 2048), "6.0": (64, 2048),
    "6.1": (128, 2048), "6.2": (128, 2048), "7.0": (64, 2048), "7.2": (64, 2048), "7.5": (64, 1024), "8.0": (64, 2048),
    "8.6": (128, 1536), "8.7": (128, 1536), "8.9": (128, 1536), "9.0": (128, 2048), "10.0": (128, 2048),
    "10.3": (128, 2048), "11.0": (128, 1536), "12.0": (128, 1536), "12.1": (128, 1536)}


def read(look: Look) -> dict[str, Any]:
    """Return what NVML says, asked once a capture; raise ``ProbeFailed`` whenever it did not answer."""
    if "nvml" not in look.findings:
        try:
            look.findings["nvml"] = look.call(lambda: _session(look.system), "nvml", limit_s=LIMIT_S)
        except ProbeFailed as error:
            look.findings["nvml"] = error
    answer = look.findings["nvml"]
    if isinstance(answer, ProbeFailed):
        raise answer
    return answer  # type: ignore[no-any-return]  # findings hold values of any kind


def _session(system: System) -> dict[str, Any]:
    start = system.monotonic()
    try:
        library = system.load_library(LIBRARY)
    except OSError as error:
        raise ProbeFailed("failed", f"{LIBRARY} could not be loaded") from error
    nvml = Nvml(library)
    nvml.call("nvmlInit_v2")
    try:
        return nvml.everything(lambda: system.monotonic() - start < LINKS_BY_S)
    finally:
        library.nvmlShutdown()


class Nvml:
    """Typed calls into the library; each raises ``ProbeFailed`` in words when the library answers an error."""

    def __init__(self, library: Any) -> None:
        import ctypes

        self.library = library
        self.c = ctypes

    def call(self, name: str, *arguments: Any) -> None:
        """Call one function; raise ``ProbeFailed`` when it is missing or its return value is not 0."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise ProbeFailed("not-reported", f"NVML has no {name}") from None
        status = function(*arguments)
        if status != 0:
            code, words = _PROBLEMS.get(status, ("failed", f"answered error {status}"))
            raise ProbeFailed(code, f"NVML's {name} {words}")

    def fact(self, function: Any, *arguments: Any) -> Any:
        """Return the value of ``function``, or an unread fact where the library does not say."""
        try:
            return function(*arguments)
        except ProbeFailed as error:
            return {"unread": error.code}

    def text(self, name: str, *handle: Any) -> str:
        """Return the text that ``name`` writes."""
        buffer = self.c.create_string_buffer(_TEXT_SIZE)
        self.call(name, *handle, buffer, self.c.c_uint(_TEXT_SIZE))
        return str(buffer.value.decode("utf-8", "replace"))

    def number(self, name: str, *handle: Any) -> int:
        """Return the unsigned integer that ``name`` writes."""
        value = self.c.c_uint()
        self.call(name, *handle, self.c.byref(value))
        return int(value.value)

    def pair(self, name: str, handle: Any) -> tuple[int, int]:
        """Return the two integers that ``name`` writes (mode and pending mode, major and minor)."""
        first, second = self.c.c_int(), self.c.c_int()
        self.call(name, handle, self.c.byref(first), self.c.byref(second))
        return first.value, second.value

    def everything(self, in_time: Callable[[], bool]) -> dict[str, Any]:
        """Return driver facts, every device with what tells it apart, and how devices are joined.

        A device that this process is refused is left out and counted; one that does not answer stands in the list as
        a device of which nothing is known. Links are asked for last, and only ``in_time``.
        """
        from .nvml_links import matrix

        answer: dict[str, Any] = {"driver": self.fact(self.text, "nvmlSystemGetDriverVersion"),
                                  "cuda": self.fact(self.cuda_level), "devices": [], "refused": 0, "lost": []}
        handles = []
        count = self.number("nvmlDeviceGetCount_v2")
        for index in range(count):
            try:
                handle = self.handle("nvmlDeviceGetHandleByIndex_v2", self.c.c_uint(index))
                answer["devices"] += self.reachable(handle, index)
                handles.append((index, handle))
            except ProbeFailed as error:
                if error.code == "denied":
                    answer["refused"] += 1
                    continue
                answer["lost"].append(f"GPU {index}: {error.message}")
                answer["devices"].append(_nothing_known(index))
        if count and answer["refused"] == count:
            raise ProbeFailed("denied", "NVML refused every GPU to this user")
        answer["pairs"] = matrix(self, handles) if in_time() else {"unread": "timeout"}
        return answer

    def cuda_level(self) -> str:
        """Return the CUDA version the driver supports, ``12.4`` of 12040."""
        value = self.c.c_int()
        self.call("nvmlSystemGetCudaDriverVersion_v2", self.c.byref(value))
        return f"{value.value // 1000}.{value.value % 1000 // 10}"

    def reachable(self, handle: Any, index: int) -> list[dict[str, Any]]:
        """Return the device, or its MIG slices where MIG is on: a process can only reach those."""
        uuid = self.text("nvmlDeviceGetUUID", handle)
        whole = self.device(handle)
        found = {"facts": whole, "uuid": uuid, "gpu": index, "gpu_uuid": uuid, "state": self.state(handle, uuid)}
        try:
            enabled = self.pair("nvmlDeviceGetMigMode", handle)[0] == 1
        except ProbeFailed as error:
            enabled = False
            whole["mig_profile"] = None if error.code == "not-reported" else {"unread": error.code}
        if not enabled:
            return [found]
        slices = []
        for slot in range(self.number("nvmlDeviceGetMaxMigDeviceCount", handle)):
            try:
                part = self.handle("nvmlDeviceGetMigDeviceHandleByIndex", handle, self.c.c_uint(slot))
            except ProbeFailed:
                continue
            slices.append({**found, "facts": {**whole, **self.mig_slice(part)},
                           "uuid": self.fact(self.text, "nvmlDeviceGetUUID", part)})
        return slices

    def state(self, handle: Any, uuid: str) -> dict[str, Any]:
        """Return the limits set on the device: they make it slower, not other."""
        power = self.fact(self.number, "nvmlDeviceGetEnforcedPowerLimit", handle)
        return {"device_id": uuid, "power_limit_mw": power,
                "sm_clock_limit_mhz": self.fact(self.clock, handle, _SM_CLOCK),
                "memory_clock_limit_mhz": self.fact(self.clock, handle, _MEMORY_CLOCK)}

    def clock(self, handle: Any, kind: int) -> int:
        """Return the highest clock of one kind in MHz."""
        return self.number("nvmlDeviceGetMaxClockInfo", handle, self.c.c_int(kind))

    def device(self, handle: Any) -> dict[str, Any]:
        """Return every fact of one whole device."""
        name = self.fact(self.text, "nvmlDeviceGetName", handle)
        capability = self.fact(self.capability, handle)
        cores, threads = PER_SM.get(capability if isinstance(capability, str) else "", (0, 0))
        silent = {"unread": "not-reported"}
        total = self.fact(self.number, "nvmlDeviceGetNumGpuCores", handle)
        return {
            "vendor": "nvidia", "name": name, "compute_capability": capability, "gfx_target": None,
            "sm_count": total // cores if isinstance(total, int) and cores else silent,
            "threads_per_sm": threads or silent, "memory_bytes": self.fact(self.memory, handle), "mig_profile": None,
            "ecc": self.fact(self.ecc, handle),
            "form_factor": self.form_factor(handle, name),
        }

    def form_factor(self, handle: Any, name: Any) -> Any:
        """Return the form factor by the name where it states one, else ``SXM`` for a numbered module of a baseboard.

        Other products have module number 0 and so has a driver that does not tell: 0 says nothing. Superchips
        (GH200, GB200) are numbered modules too, and no SXM.
        """
        if not isinstance(name, str):
            return {"unread": "not-reported"}
        stated = form_factor(name)
        superchip = any(word.startswith(("GH", "GB")) for word in name.split())
        if isinstance(stated, str) or superchip:
            return stated
        module = self.fact(self.number, "nvmlDeviceGetModuleId", handle)
        return "SXM" if isinstance(module, int) and module > 0 else stated

    def ecc(self, handle: Any) -> bool | None:
        """Tell whether ECC is in force; ``None`` on a device without it."""
        try:
            return self.pair("nvmlDeviceGetEccMode", handle)[0] == 1
        except ProbeFailed as error:
            if error.code == "not-reported":
                return None
            raise

    def capability(self, handle: Any) -> str:
        """Return the compute capability as major.minor."""
        return "{}.{}".format(*self.pair("nvmlDeviceGetCudaComputeCapability", handle))

    def memory(self, handle: Any) -> int:
        """Return the device memory in bytes (nvmlMemory_t: total, free, used)."""
        values = (self.c.c_ulonglong * 3)()
        self.call("nvmlDeviceGetMemoryInfo", handle, self.c.byref(values))
        return int(values[0])

    def mig_slice(self, part: Any) -> dict[str, Any]:
        """Return what differs between a MIG slice and its device (nvmlDeviceAttributes_t: eight counts, then MiB)."""
        name = self.fact(self.text, "nvmlDeviceGetName", part)
        profile = name.partition(" MIG ")[2] if isinstance(name, str) else ""
        values = (self.c.c_uint * 10)()
        silent = {"unread": "not-reported"}
        try:
            self.call("nvmlDeviceGetAttributes_v2", part, self.c.byref(values))
            count: Any = int(values[0])
        except ProbeFailed as error:
            count = {"unread": error.code}
        return {"mig_profile": profile or silent, "sm_count": count, "memory_bytes": self.fact(self.memory, part)}

    def handle(self, name: str, *arguments: Any) -> Any:
        """Return the handle that ``name`` writes."""
        handle = self.c.c_void_p()
        self.call(name, *arguments, self.c.byref(handle))
        return handle


def _nothing_known(index: int) -> dict[str, Any]:
    """Return a device that is there and does not answer."""
    facts = {**blank_of(ACCELERATOR, "failed"), "vendor": "nvidia", "gfx_target": None}
    return {"facts": facts, "uuid": None, "gpu": index, "gpu_uuid": None, "state": blank_of(STATE, "failed")}


#: part of a device's name -> form factor; most names state none.
_FORMS = (("SXM", "SXM"), ("PCIe", "PCIe"), ("PCIE", "PCIe"), ("NVL", "PCIe"), ("H100 80GB HBM3", "SXM"),
          ("OAM", "OAM"))


def form_factor(name: str) -> Any:
    """Return the form factor a device's name states; most names state none."""
    return next((form for mark, form in _FORMS if mark in name), {"unread": "not-reported"})

"""NVIDIA's management library by ctypes: devices, driver and links in one bounded call."""

from __future__ import annotations

from ..errors import ProbeFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

LIBRARY = "libnvidia-ml.so.1"
#: nvmlReturn_t -> unread code and words (NVML API reference, "Return values").
_PROBLEMS = {
    3: ("not-reported", "is not supported by this device"), 4: ("denied", "was refused"),
    6: ("failed", "found no such device"), 9: ("failed", "found the NVIDIA driver not loaded"),
    12: ("failed", "found a part of its library missing"), 15: ("failed", "found the GPU lost"),
    18: ("failed", "found driver and library of different versions"),
}
_TEXT_SIZE = 256
_MAX_LINKS = 18
#: compute capability -> CUDA cores of one SM, resident threads of one SM (CUDA programming guide, "Technical
#: specifications per compute capability").
PER_SM = {"6.0": (64, 2048), "6.1": (128, 2048), "7.0": (64, 2048), "7.5": (64, 1024), "8.0": (64, 2048),
          "8.6": (128, 1536), "8.7": (128, 1536), "8.9": (128, 1536), "9.0": (128, 2048), "10.0": (128, 2048),
          "12.0": (128, 1536)}


def read(look: Look) -> dict[str, Any]:
    """Return what NVML says, asked once a capture; raise ``ProbeFailed`` whenever it did not answer."""
    if "nvml" not in look.findings:
        try:
            look.findings["nvml"] = look.call(lambda: _session(look.system), "nvml", limit_s=0.8)
        except ProbeFailed as error:
            look.findings["nvml"] = error
    answer = look.findings["nvml"]
    if isinstance(answer, ProbeFailed):
        raise answer
    return answer  # type: ignore[no-any-return]  # findings hold values of any kind


def _session(system: System) -> dict[str, Any]:
    try:
        library = system.load_library(LIBRARY)
    except OSError as error:
        raise ProbeFailed("failed", f"{LIBRARY} could not be loaded") from error
    nvml = Nvml(library)
    nvml.call("nvmlInit_v2")
    try:
        return nvml.everything()
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

    def everything(self) -> dict[str, Any]:
        """Return driver facts, devices with uuids, and the strongest link."""
        handles = [self._handle("nvmlDeviceGetHandleByIndex_v2", self.c.c_uint(index))
                   for index in range(self.number("nvmlDeviceGetCount_v2"))]
        devices: list[dict[str, Any]] = []
        uuids: list[str] = []
        for handle in handles:
            for facts, uuid in self.reachable(handle):
                devices.append(facts)
                uuids.append(uuid)
        return {"driver": self.fact(self.text, "nvmlSystemGetDriverVersion"), "cuda": self.fact(self.cuda_level),
                "devices": devices, "uuids": uuids, "interconnect": self.interconnect(handles)}

    def cuda_level(self) -> str:
        """Return the CUDA version the driver supports, ``12.4`` of 12040."""
        value = self.c.c_int()
        self.call("nvmlSystemGetCudaDriverVersion_v2", self.c.byref(value))
        return f"{value.value // 1000}.{value.value % 1000 // 10}"

    def reachable(self, handle: Any) -> list[tuple[dict[str, Any], str]]:
        """Return the device, or its MIG slices where MIG is on: a process can only reach those."""
        whole = self.device(handle)
        try:
            enabled = self.pair("nvmlDeviceGetMigMode", handle)[0] == 1
            whole["mig_profile"] = None
        except ProbeFailed as error:
            enabled = False
            whole["mig_profile"] = None if error.code == "not-reported" else {"unread": error.code}
        if not enabled:
            return [(whole, self.text("nvmlDeviceGetUUID", handle))]
        slices = []
        for index in range(self.number("nvmlDeviceGetMaxMigDeviceCount", handle)):
            try:
                part = self._handle("nvmlDeviceGetMigDeviceHandleByIndex", handle, self.c.c_uint(index))
            except ProbeFailed:
                continue
            slices.append(({**whole, **self.mig_slice(part)}, self.text("nvmlDeviceGetUUID", part)))
        return slices

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
            "form_factor": form_factor(name) if isinstance(name, str) else silent,
        }

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

    def interconnect(self, handles: list[Any]) -> Any:
        """Return ``nvlink`` when a link is up, ``pcie`` between several devices without, ``None`` for one device."""
        if len(handles) < 2:
            return None
        for link in range(_MAX_LINKS):
            try:
                if self.number("nvmlDeviceGetNvLinkState", handles[0], self.c.c_uint(link)) == 1:
                    return "nvlink"
            except ProbeFailed as error:
                if error.code == "denied":
                    return {"unread": "denied"}
                break
        return "pcie"

    def _handle(self, name: str, *arguments: Any) -> Any:
        handle = self.c.c_void_p()
        self.call(name, *arguments, self.c.byref(handle))
        return handle


def form_factor(name: str) -> Any:
    """Return the form factor a device's name states; most names state none."""
    for mark, form in (("SXM", "SXM"), ("PCIe", "PCIe"), ("PCIE", "PCIe"), ("NVL", "PCIe"), ("H100 80GB HBM3", "SXM")):
        if mark in name:
            return form
    return {"unread": "not-reported"}

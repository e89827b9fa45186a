"""Pairs that must raise no alarm: one difference of a kind that was measured to change nothing, on many bases.

Bases are complete documents of tests and the documents of recorded hosts; kinds are those of the measured pairs that
gave equal bits. A kind applies where the base read what it changes. Used by ``bench/verdicts.py``.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from repro_env.capture import capture
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from documents import complete_document, distribution  # noqa: E402 - found once the tests are on the path
from recorded import HOSTS, RecordedSystem  # noqa: E402

Document = dict[str, Any]
#: changes a copy of the base in place, and tells whether the kind applies to it.
Change = Callable[[Document], bool]


class Pair(NamedTuple):
    """One harmless pair, judged beside its base against itself."""

    base: str
    kind: str
    alone: Verdict
    verdict: Verdict

    @property
    def silent(self) -> bool:
        """Whether the ends are those of the base against itself, and no reason is new."""
        ends = [(side.guaranteed, side.expected, side.possible) for side in (self.alone, self.verdict)]
        reasons = [{reason.rule for reason in side.reasons} for side in (self.alone, self.verdict)]
        return ends[0] == ends[1] and reasons[0] == reasons[1]


def _read(value: Any) -> bool:
    return value is not None and not (isinstance(value, dict) and "unread" in value)


def put(path: str, value: Any, *, only: Any | None = None) -> Change:
    """Set a fact that the base read, or only where it has the value ``only``."""
    def change(document: Document) -> bool:
        *steps, last = path.split(".")
        holder: Any = document
        for step in steps:
            holder = holder.get(step) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or not _read(holder.get(last)) or holder[last] == value:
            return False
        if only is not None and holder[last] != only:
            return False
        holder[last] = value
        return True
    return change


def variables(**values: str | None) -> Change:
    """Set environment variables, where the base read its variables and these were unset."""
    def change(document: Document) -> bool:
        known = document["stack"].get("variables", {}).get("values")
        if not isinstance(known, dict) or any(known.get(name) is not None for name in values):
            return False
        known.update(values)
        return True
    return change


def add(*names: str) -> Change:
    """Install further distributions that no numbers pass through."""
    def change(document: Document) -> bool:
        installed = document["stack"].get("distributions", {}).get("installed")
        if not isinstance(installed, list) or {item["name"] for item in installed} & set(names):
            return False
        installed += [distribution(name, "1.2.3") for name in names]
        installed.sort(key=lambda item: str(item["name"]))
        return True
    return change


def each_device(**facts: Any) -> Change:
    """Change facts of every device."""
    def change(document: Document) -> bool:
        found = document["stack"]["accelerators"].get("devices")
        if not isinstance(found, list) or not found or not all(_read(item.get(name)) for item in found
                                                               for name in facts):
            return False
        for item in found:
            item.update(facts)
        return True
    return change


def next_patch(document: Document) -> bool:
    """Another patch release of Python."""
    python = document["stack"]["python"]
    if not _read(python.get("version")):
        return False
    major, minor, patch = str(python["version"]).split(".")[:3]
    python["version"] = f"{major}.{minor}.{int(''.join(filter(str.isdigit, patch)) or 0) + 1}"
    return True


def one_device(document: Document) -> bool:
    """A node with one device less, of a kind that it has more of."""
    found = document["stack"]["accelerators"].get("devices")
    if not isinstance(found, list) or len(found) < 2 or found[-1] != found[-2]:
        return False
    found.pop()
    return True


def in_effect(name: str, section: str, fact: str) -> Change:
    """Set a variable to what is in effect anyway, as only a process shows it."""
    def change(document: Document) -> bool:
        value = document["stack"][section].get(fact)
        if document["capture"]["vantage"] not in ("process", "exit"):
            return False
        return _read(value) and variables(**{name: str(value).lower()})(document)
    return change


def pools_in_another_order(document: Document) -> bool:
    """List the same BLAS pools the other way round."""
    pools = document["stack"]["threads"].get("blas_pools")
    if not isinstance(pools, list) or not pools:
        return False
    document["stack"]["threads"]["blas_pools"] = [*pools[::-1], pools[0]]
    return True


def on_linux(change: Change) -> Change:
    """Limit a change to Linux: under macOS the release of the system brings the kernels of its GPU."""
    return lambda document: document["stack"]["system"].get("os_family") == "linux" and change(document)


KINDS: dict[str, Change] = {
    "host": put("capture.process.node", "another-node"),
    "user": put("capture.process.user", "someone"),
    "kernel release": put("stack.system.kernel", "5.15.0-105-generic"),
    "name of the system": on_linux(put("stack.system.os_name", "Ubuntu 22.04.4 LTS")),
    "time zone": put("stack.system.utc_offset", "+02:00"),
    "UTF-8 by another name": put("stack.system.encoding", "utf8", only="UTF-8"),
    "hypervisor": put("stack.system.virtualisation", "xen"),
    "patch release of Python": next_patch,
    "compiler of Python": put("stack.python.compiler", "GCC 13.1.0"),
    "kind of environment": put("stack.python.environment", "conda"),
    "unrelated distributions": add("tabulate", "tqdm"),
    "helper distributions": add("joblib", "threadpoolctl"),
    "locale": variables(LANG="C.UTF-8", LC_ALL="en_US.UTF-8"),
    "UTF-8 mode": variables(PYTHONUTF8="1"),
    "asserts off": variables(PYTHONOPTIMIZE="1"),
    "wait policy": variables(OMP_WAIT_POLICY="passive"),
    "schedule": variables(OMP_SCHEDULE="dynamic,1"),
    "block time": variables(KMP_BLOCKTIME="0"),
    "arenas": variables(MALLOC_ARENA_MAX="2"),
    "allocator": variables(LD_PRELOAD="/usr/lib/libtcmalloc_minimal.so.4"),
    "OpenMP runtime preloaded": variables(LD_PRELOAD="/usr/lib/libiomp5.so"),
    "huge pages": variables(GLIBC_TUNABLES="glibc.malloc.hugetlb=1"),
    "CUDA allocator": variables(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"),
    "module loading": variables(CUDA_MODULE_LOADING="EAGER"),
    "oneDNN cap above what float32 uses": variables(ONEDNN_MAX_CPU_ISA="AVX512_CORE_BF16"),
    "threads as they are": in_effect("OMP_NUM_THREADS", "threads", "torch_intraop"),
    "kernel level as it is": in_effect("ATEN_CPU_CAPABILITY", "cpu", "torch_capability"),
    "inter-op threads": put("stack.threads.torch_interop", 3),
    "cores": put("stack.cpu.cores", 96),
    "order of pools": pools_in_another_order,
    "build of the OpenMP runtime": put("stack.libraries.openmp.build_id", "another"),
    "level that the driver supports": put("stack.driver.cuda_level", "12.9"),
    "flavour of the kernel module": put("stack.driver.kernel_flavour", "proprietary"),
    "toolkit": put("stack.libraries.cuda_toolkit", "12.8.93"),
    "memory": each_device(memory_bytes=1 << 36),
    "error correction": each_device(ecc=False),
    "fewer devices": one_device,
    "link between devices": put("stack.accelerators.interconnect", "pcie"),
    "container engine": put("stack.container.engine", "podman"),
}


def bases() -> dict[str, Document]:
    """Return the documents that pairs are made of, by name."""
    numpy = {"frameworks.torch.imported": False, "libraries.mkl": None}
    found = {"torch on a CPU": complete_document(), "torch on H100": complete_document(machine="h100"),
             "NumPy": complete_document("exit", **numpy), "prologue of a CPU node": complete_document("prologue"),
             "prologue of an H100 node": complete_document("prologue", machine="h100")}
    for folder in sorted(path for path in HOSTS.iterdir() if path.is_dir()):
        found[folder.name] = capture(RecordedSystem(folder.name))
    return found


def pairs() -> Iterator[Pair]:
    """Yield every base with every kind that applies to it, judged."""
    for name, base in bases().items():
        vantage = (base.get("capture") or {}).get("vantage")
        question = Question.REPEAT if vantage in ("process", "exit") else Question.COMPARE
        side = Facts.of(base)
        alone = judge(side, side, question=question)
        for kind, change in KINDS.items():
            other = copy.deepcopy(base)
            if change(other):
                yield Pair(name, kind, alone, judge(side, Facts.of(other), question=question))

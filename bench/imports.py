"""Fields that imports get right, wrong, or leave out, held against the sidecars of real dumps.

A sidecar ``NAME.yaml`` beside ``NAME.txt`` names the format and the right values under ``expected``. For each key:

* *right*: the document states the value; or the sidecar says ``null`` (the dump does not say) or ``[]`` (none) and
  the document states no value either. These are shown apart as *silent*: they prove restraint, not reading. Whether
  a silent fact is absent or unread is not compared, for the sidecars give ``[]`` and ``null`` for one and the same
  line ("Could not collect"); only a list of GPUs that the sidecar says is unknown must not be surely absent.
* *wrong*: the document states another value, or one where the dump has none.
* *missing*: the document leaves unread what the sidecar says.

A text that is refused states nothing. What a document has no fact for is read from its notes. Free words of a sidecar
(notes, platform, accelerator and the like) are not compared. Prints a table of the formats, each wrong or missing
field, then one line of totals. Exit status 1 when a value of any format is wrong, or more than 3 % of all fields are
missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_captured, is_unread

SHIPPED = Path(__file__).resolve().parent.parent / "tests" / "golden" / "importers" / "dumps"
MAX_MISSING = 0.03
UNREAD = {"unread": "not-recorded"}
FREE_WORDS = {"notes", "platform", "accelerator", "driver_platform", "args", "environments", "deepspeed_ops",
              "process_count"}
MACHINES = "x86_64|aarch64|arm64|ppc64le|s390x|riscv64|AMD64"
Document = dict[str, Any]


def main() -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumps", type=Path, default=SHIPPED, metavar="DIR", help="folder of dumps with sidecars")
    folder = parser.parse_args().dumps
    sidecars = sorted(folder.glob("*.yaml"))
    if not sidecars:
        print(f"{folder}: expected dumps NNN.txt with sidecars NNN.yaml, found none", file=sys.stderr)
        return 64
    counts, faults, words = collect(sidecars)
    print_report(counts, faults, words)
    sums = sum(counts.values(), Counter())
    return 1 if sums["wrong"] or sums["missing"] > MAX_MISSING * max(1, total(sums)) else 0


def collect(sidecars: list[Path]) -> tuple[dict[str, Counter[str]], list[tuple[str, ...]], Counter[str]]:
    """Return outcomes per format, every fault, and keys that were not compared."""
    counts: dict[str, Counter[str]] = {}
    faults: list[tuple[str, ...]] = []
    words: Counter[str] = Counter()
    for path in sidecars:
        sidecar = yaml.safe_load(path.read_text(encoding="utf-8"))
        form = sidecar["format"]
        count = counts.setdefault(form, Counter())
        count["dumps"] += 1
        for key, outcome, expected, got in compare(path.with_suffix(".txt"), sidecar["expected"], words):
            count["right" if outcome == "silent" else outcome] += 1
            count["silent"] += outcome == "silent"
            if outcome in ("wrong", "missing"):
                faults.append((form, path.stem, outcome, key, str(expected), str(got)))
    return counts, faults, words


def compare(path: Path, expected: dict[str, Any], words: Counter[str]) -> list[tuple[str, str, Any, Any]]:
    """Return key, outcome, expected and stated value for each key of one sidecar."""
    try:
        document = importers.import_text(path.read_text(encoding="utf-8"), name=path.name)
    except UnknownFormat:
        document = None
    results = []
    for key, value in expected.items():
        if key == "cpu_count" and "cpu_count_logical" in expected:
            words[key] += 1  # cores that threads share: the document counts threads
        elif key == "packages":
            for name, version in value.items():
                stated = UNREAD if document is None else package(document, name)
                results.append((f"packages.{name}", outcome_of(version, stated), version, stated))
        elif key in READERS:
            reader, told = in_document_form(key, value)
            stated = UNREAD if document is None else READERS[reader](document)
            if key == "cudnn_torch" and isinstance(told, str) and str(stated).startswith(f"{told}."):
                stated = told  # the wheel's version has one more part than the library's own
            results.append((key, outcome_of(told, stated, strict=key == "gpus"), told, stated))
        else:
            words[key if key in FREE_WORDS else f"{key} (unknown)"] += 1
    return results


def outcome_of(expected: Any, stated: Any, *, strict: bool = False) -> str:
    """Return right, silent, wrong or missing. ``strict``: what the dump does not say must not be surely absent."""
    if expected is None or expected == []:
        if strict and expected is None and stated is None:
            return "wrong"
        return "wrong" if is_captured(stated) and stated != [] else "silent"
    if is_unread(stated):
        return "missing"
    return "right" if stated == expected else "wrong"


def in_document_form(key: str, value: Any) -> tuple[str, Any]:
    """Return the reader for a sidecar's key, and its value as a document spells it."""
    if not value or not isinstance(value, (str, list)):
        return key, value
    if key in READERS_BY_VALUE and isinstance(value, str):
        return READERS_BY_VALUE[key](value)
    return key, SPELLINGS[key](value) if key in SPELLINGS else value


def system_form(value: str) -> tuple[str, Any]:
    """Return reader and value of a system: by its name, its kernel, or no more than its family."""
    platform = re.match(r"(?:Linux-|Linux )(\d\S*?)(?:-(?:" + MACHINES + r")(?:-.*)?)?(?: .*)?$", value)
    if platform:
        return "kernel", platform[1]
    mac = re.match(r"macOS-(\d[\d.]*)-", value)
    if mac:
        return "os", (f"macOS {mac[1]}", None)
    family = re.match(r"(linux|win32|windows|darwin)(?:[ -].*)?$", value, re.IGNORECASE)
    if family:
        return "os_family", {"win32": "windows", "darwin": "macos"}.get(family[1].lower(), family[1].lower())
    machine = re.search(r" \((x86_64|aarch64|arm64|ppc64le|s390x|riscv64)\)$", value)
    return "os", (value[:machine.start()], machine[1]) if machine else (value, None)


def processor_form(value: str) -> tuple[str, Any]:
    """Return reader and value of a processor: by name and number, or by a name that the tool shortened."""
    found = re.match(r"(.+?)(?: \(family [^()]*\))?,(?:.*,)? (\d+) logical$", value)
    return ("cpu", f"{found[1]}, {found[2]} logical") if found else ("cpu_shortened", value)


READERS_BY_VALUE: dict[str, Callable[[str], tuple[str, Any]]] = {
    "os": system_form, "cpu": processor_form, "mig": lambda value: ("mig_off", value == "Disabled"),
}
SPELLINGS: dict[str, Callable[[Any], Any]] = {
    "cudnn_system": sorted, "virtualisation": str.lower, "torch_vendor": lambda value: True,
    "cpu_isa": lambda value: sorted(value.lower().replace("-", "").replace(",", "").replace("/", " ").split()),
    "nccl": lambda value: value.partition(" ")[0],
}


# Readers: what the document states under a sidecar's key.

def fact(document: Document, *path: str) -> Any:
    """Return the fact at ``path`` in the stack; below something unread or absent the fact is so too."""
    value: Any = document["stack"]
    for name in path:
        if value is None or is_unread(value):
            return value
        value = value[name]
    return value


def torch(document: Document, name: str) -> Any:
    """Return a fact of torch."""
    return fact(document, "frameworks", "torch", name)


def nightly_date(document: Document) -> Any:
    """Return the date in the version of a nightly build."""
    version = torch(document, "version")
    found = re.search(r"\.dev(\d{4})(\d\d)(\d\d)", version) if isinstance(version, str) else None
    return "-".join(found.groups()) if found else UNREAD


def source_build(document: Document) -> Any:
    """Tell whether torch was built from source."""
    build = torch(document, "build")
    return build == "source" if isinstance(build, str) else UNREAD


def memory(document: Document) -> Any:
    """Return the memory of the devices in MiB: as the driver has it, else as torch has it."""
    usable = note(document, "memory that torch can use: ")
    if usable:
        sizes = [int(float(size.partition(" ")[0])) for size in usable.split(", ")]
        return sizes if len(sizes) > 1 else sizes[0]
    devices = fact(document, "accelerators", "devices")
    sizes = [device["memory_bytes"] >> 20 for device in devices if isinstance(device["memory_bytes"], int)] \
        if is_captured(devices) else []
    return sizes or UNREAD


def memory_bytes(document: Document) -> Any:
    """Return the memory of the devices in bytes."""
    devices = fact(document, "accelerators", "devices")
    sizes = [device["memory_bytes"] for device in devices] if is_captured(devices) else []
    return sizes if sizes and not any(map(is_unread, sizes)) else UNREAD


def mig_off(document: Document) -> Any:
    """Tell whether every device whose MIG mode is told is a whole one."""
    devices = fact(document, "accelerators", "devices")
    modes = [device["mig_profile"] for device in devices if not is_unread(device["mig_profile"])] \
        if is_captured(devices) else []
    return all(mode is None for mode in modes) if modes else UNREAD


def smi_version(document: Document) -> Any:
    """Return the version of nvidia-smi: a note has it where it is not the driver's."""
    told = note(document, "nvidia-smi is of ")
    return told.partition(",")[0] if told else fact(document, "driver", "kernel_module")


def configured(document: Document, name: str) -> Any:
    """Return a value of accelerate's default configuration, which a note keeps."""
    told = note(document, "accelerate's default configuration, which a run need not have used: ") or ""
    values = dict(item.partition(" ")[::2] for item in told.split(", "))
    value = values.get(name, UNREAD)
    return int(value) if isinstance(value, str) and value.isdigit() else value


def distributed(document: Document) -> Any:
    """Return what a person answered to whether the script is distributed."""
    told = note(document, "distributed or parallel set-up in the script: ")
    return {"no": False, "false": False, "yes": True, "true": True}.get(told.lower(), UNREAD) if told else UNREAD


def paddle(document: Document) -> Any:
    """Return the version of Paddle, whichever distribution it is."""
    found = package(document, "paddlepaddle-gpu")
    return package(document, "paddlepaddle") if is_unread(found) else found


def paddle_switches(document: Document) -> Any:
    """Return the switches that Paddle was compiled with, of those that sidecars name."""
    told = next((text for text in document["capture"]["imported"]["notes"] if " was compiled with " in text), None)
    if told is None:
        return UNREAD
    pairs = dict(item.split(" ") for item in told.partition(" was compiled with ")[2].split(", "))
    return {name: state == "ON" for name, state in pairs.items() if name in ("avx", "gpu", "mkl", "mkldnn", "double")}


def framework(document: Document, name: str) -> Any:
    """Return the version of a framework other than torch."""
    return fact(document, "frameworks", name, "version")


def commit(document: Document) -> Any:
    """Return the commit of the program."""
    return document["program"]["source"]["commit"]


def vendor(document: Document) -> Any:
    """Tell whether a vendor built torch, as far as its version says so."""
    return True if torch(document, "build") == "vendor" else UNREAD


def gpus(document: Document) -> Any:
    """Return the names of the whole GPUs in index order, which stands in a note where it is not the list's own."""
    devices = fact(document, "accelerators", "devices")
    if not is_captured(devices):
        return devices
    names = [device["name"] for device in devices if not is_unread(device["name"])]
    order = note(document, "GPUs in index order: ")
    sliced = note(document, "MIG is on: ")
    if order:
        names = [re.sub(r" \[[\w.+]+\]$", "", name) for name in order.split("; ")]
    if sliced:
        for piece in sliced.split("; "):
            name = piece.partition("(")[2].rpartition(") has ")[0]
            for _ in piece.split(", ")[1:]:
                names.remove(name)
    return names


def mig(document: Document) -> Any:
    """Return the MIG slices in index order, as a note has them."""
    sliced = note(document, "MIG is on: ")
    return [{"gpu": int(piece.split()[1]), "profile": profile, "device": index}
            for piece in (sliced.split("; ") if sliced else [])
            for index, profile in enumerate(piece.rpartition(") has ")[2].split(", "))]


def gpus_complete(document: Document) -> Any:
    """Tell whether the list of GPUs is whole: one that is cut ends with a device of which nothing is known."""
    devices = fact(document, "accelerators", "devices")
    return all(not is_unread(device["name"]) for device in devices) if is_captured(devices) else UNREAD


def cudnn_of_torch(document: Document) -> Any:
    """Return the cuDNN that torch uses: as it was installed, else as torch had loaded it."""
    installed = fact(document, "libraries", "cudnn", "installed")
    return fact(document, "libraries", "cudnn", "loaded") if is_unread(installed) else installed


def cudnn_of_system(document: Document) -> Any:
    """Return the cuDNN files found, sorted as the sidecar's are."""
    found = fact(document, "libraries", "system_cudnn")
    return sorted(found) if isinstance(found, list) else found


class _Os(tuple[Any, ...]):
    """A system's name and architecture; equal where the other side has no architecture."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[0] == other[0] and other[1] in (None, self[1])

    __hash__ = tuple.__hash__


def os_name(document: Document) -> Any:
    """Return the system's name and the architecture, which the dump appends to it and the document holds apart.

    Where the dump appends none, the architecture is known from elsewhere or not at all, and is not compared.
    """
    name, machine = fact(document, "system", "os_name"), fact(document, "cpu", "architecture")
    return _Os((name, machine)) if isinstance(name, str) else name


def processor(document: Document) -> Any:
    """Return the processor's name and the number of logical processors, as the sidecars have them."""
    model, cores = fact(document, "cpu", "model"), fact(document, "cpu", "cores")
    return f"{model}, {cores} logical" if isinstance(model, str) and isinstance(cores, int) else UNREAD


def libc(document: Document) -> Any:
    """Return the version of the C library."""
    value = fact(document, "system", "libc")
    return value.partition(" ")[2] if isinstance(value, str) else value


def instruction_sets(document: Document) -> Any:
    """Return the families of instruction sets in the words of the sidecars."""
    sets = fact(document, "cpu", "instruction_sets")
    if not isinstance(sets, list):
        return sets
    words = {"avx512" for name in sets if name.startswith("avx512")} | {"amx" for name in sets if name == "amx_tile"}
    return sorted(words | {name.partition("_")[2] for name in sets if name in ("amx_bf16", "amx_int8")})


def note(document: Document, beginning: str) -> str | None:
    """Return the rest of the note that begins so."""
    notes = document["capture"]["imported"]["notes"]
    return next((text[len(beginning):] for text in notes if text.startswith(beginning)), None)


def said(document: Document, beginning: str) -> Any:
    """Return what a note repeats from the text, for which the document has no field."""
    return note(document, f"{beginning}: ") or UNREAD


def available(document: Document) -> Any:
    """Return the text's "Is CUDA available"."""
    return {"True": True, "Yes": True, "False": False, "No": False}.get(said(document, "Is CUDA available"), UNREAD) \
        if isinstance(said(document, "Is CUDA available"), str) else UNREAD


def package(document: Document, name: str) -> Any:
    """Return the version of a package in the list of distributions."""
    installed = fact(document, "distributions", "installed")
    if not isinstance(installed, list):
        return installed
    plain = re.sub(r"[-_.]+", "-", name).lower()
    return next((item["version"] for item in installed if item["name"] == plain), UNREAD)


READERS: dict[str, Callable[[Document], Any]] = {
    "torch": lambda document: torch(document, "version"),
    "torch_installed": lambda document: True if is_captured(fact(document, "frameworks", "torch"))
    else False if fact(document, "frameworks", "torch") is None else UNREAD,
    "torch_source_build": source_build, "torch_nightly_date": nightly_date, "torch_vendor": vendor,
    "torch_git": lambda document: torch(document, "revision"),
    "cuda_built": lambda document: torch(document, "cuda_build"),
    "rocm_built": lambda document: torch(document, "rocm_build"),
    "cuda_nvcc": lambda document: fact(document, "libraries", "cuda_toolkit"),
    "cuda_available": available, "cudnn_torch": cudnn_of_torch, "cudnn_system": cudnn_of_system,
    "hip_runtime": lambda document: said(document, "HIP runtime version"),
    "miopen": lambda document: fact(document, "libraries", "miopen", "compiled_against"),
    "driver": lambda document: fact(document, "driver", "kernel_module"),
    "driver_cuda_max": lambda document: fact(document, "driver", "cuda_level"),
    "gpus": gpus, "gpus_complete": gpus_complete, "mig": mig,
    "python": lambda document: fact(document, "python", "version"), "os": os_name,
    "os_family": lambda document: fact(document, "system", "os_family"), "libc": libc,
    "virtualisation": lambda document: fact(document, "system", "virtualisation"),
    "cpu": processor, "cpu_isa": instruction_sets,
    "cpu_shortened": lambda document: note(document, "processor, its name shortened: ") or UNREAD,
    "kernel": lambda document: fact(document, "system", "kernel"), "mig_off": mig_off, "nvidia_smi": smi_version,
    "gpu_memory_mib": memory, "gpu_memory_bytes": memory_bytes, "git_commit": commit,
    "cpu_count": lambda document: fact(document, "cpu", "cores"),
    "cpu_count_logical": lambda document: fact(document, "cpu", "cores"),
    "world_size": lambda document: configured(document, "num_processes"),
    "distributed_type": lambda document: configured(document, "distributed_type"),
    "mixed_precision": lambda document: configured(document, "mixed_precision"),
    "distributed": distributed, "paddle": paddle, "build_flags": paddle_switches,
    "jax": lambda document: framework(document, "jax"), "jaxlib": lambda document: package(document, "jaxlib"),
    "tensorflow": lambda document: framework(document, "tensorflow"),
    "cuda_runtime_wheel": lambda document: fact(document, "libraries", "cuda_runtime", "installed"),
    "cudatoolkit": lambda document: fact(document, "libraries", "cuda_runtime", "installed"),
    "nccl": lambda document: fact(document, "libraries", "nccl", "installed"),
}


def total(count: Counter[str]) -> int:
    """Return the number of fields compared."""
    return count["right"] + count["wrong"] + count["missing"]


def print_report(counts: dict[str, Counter[str]], faults: list[tuple[str, ...]], words: Counter[str]) -> None:
    """Print the tables and the line of totals."""
    print(f"{'format':<28}{'dumps':>7}{'right':>8}{'(silent)':>10}{'wrong':>8}{'missing':>9}")
    for form, count in sorted(counts.items()):
        print(f"{form:<28}{count['dumps']:>7}{count['right']:>8}{count['silent']:>10}{count['wrong']:>8}"
              f"{count['missing']:>9}")
    for form, stem, outcome, key, expected, got in faults:
        print(f"  {outcome:<8} {form} {stem} {key}: expected {expected}, got {got}")
    if words:
        print("not compared (free words): " + ", ".join(f"{key} {number}" for key, number in sorted(words.items())))
    sums = sum(counts.values(), Counter())
    print(f"imports: {sums['dumps']} dumps of {len(counts)} formats, {sums['right']} right ({sums['silent']} silent), "
          f"{sums['wrong']} wrong, {sums['missing']} missing of {total(sums)}")


if __name__ == "__main__":
    sys.exit(main())

"""Fields that imports get right, wrong, or leave out, held against the sidecars of real dumps.

A sidecar ``NNN.yaml`` beside ``NNN.txt`` names the format and the right values under ``expected``. For each key:

* *right*: the document states the value; or the sidecar says ``null`` (the dump does not say) or ``[]`` (none) and
  the document states no value either. These are shown apart as *silent*: they prove restraint, not reading. Whether
  a silent fact is absent or unread is not compared, for the sidecars give ``[]`` and ``null`` for one and the same
  line ("Could not collect"); only a list of GPUs that the sidecar says is unknown must not be surely absent.
* *wrong*: the document states another value, or one where the dump has none.
* *missing*: the document leaves unread what the sidecar says.

Free words of a sidecar (notes, platform, accelerator, driver_platform) are not compared. Prints a table of the
formats, each wrong or missing field, then one line of totals. Exit status 1 when PyTorch's collect_env has a wrong
value or more than 3 % missing.
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
GATED = "pytorch_collect_env"
IMPORTABLE = {"pytorch_collect_env", "vllm_collect_env"}
MAX_MISSING = 0.03
UNREAD = {"unread": "not-recorded"}
FREE_WORDS = {"notes", "platform", "accelerator", "driver_platform"}
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
    counts, faults, others, words = collect(sidecars)
    print_report(counts, faults, others, words)
    gated = counts.get(GATED, Counter())
    return 1 if gated["wrong"] or gated["missing"] > MAX_MISSING * max(1, total(gated)) else 0


def collect(sidecars: list[Path]) -> tuple[dict[str, Counter[str]], list[tuple[str, ...]], Counter[str], Counter[str]]:
    """Return outcomes per format, every fault, dumps of formats not importable, and keys that were not compared."""
    counts: dict[str, Counter[str]] = {}
    faults: list[tuple[str, ...]] = []
    others: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for path in sidecars:
        sidecar = yaml.safe_load(path.read_text(encoding="utf-8"))
        form = sidecar["format"]
        if form not in IMPORTABLE:
            others[form] += 1
            continue
        count = counts.setdefault(form, Counter())
        count["dumps"] += 1
        for key, outcome, expected, got in compare(path.with_suffix(".txt"), sidecar["expected"], words):
            count["right" if outcome == "silent" else outcome] += 1
            count["silent"] += outcome == "silent"
            if outcome in ("wrong", "missing"):
                faults.append((form, path.stem, outcome, key, str(expected), str(got)))
    return counts, faults, others, words


def compare(path: Path, expected: dict[str, Any], words: Counter[str]) -> list[tuple[str, str, Any, Any]]:
    """Return key, outcome, expected and stated value for each key of one sidecar."""
    try:
        document = importers.import_text(path.read_text(encoding="utf-8"), name=path.name)
    except UnknownFormat:
        document = None
    results = []
    for key, value in expected.items():
        if key == "packages":
            for name, version in value.items():
                stated = UNREAD if document is None else package(document, name)
                results.append((f"packages.{name}", outcome_of(version, stated), version, stated))
        elif key in READERS:
            stated = UNREAD if document is None else READERS[key](document)
            told = in_document_form(key, value)
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


def in_document_form(key: str, value: Any) -> Any:
    """Return a sidecar's value as a document spells it: sorted versions, lower case, C library without its name."""
    if key == "cudnn_system" and value:
        return sorted(value)
    if key == "virtualisation" and value:
        return value.lower()
    if key == "os" and value:
        machine = re.search(r" \((x86_64|aarch64|arm64|ppc64le|s390x|riscv64)\)$", value)
        return (value[:machine.start()], machine[1]) if machine else (value, None)
    if key == "torch_vendor":
        return True if value else None
    if key == "cpu" and value:
        found = re.match(r"(.+?)(?: \(family [^()]*\))?,(?:.*,)? (\d+) logical$", value)
        return f"{found[1]}, {found[2]} logical" if found else value
    if key == "cpu_isa" and value:
        return sorted(value.lower().replace("-", "").replace(",", "").replace("/", " ").split())
    return value


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
        names = [re.sub(r" \[[\w.]+\]$", "", name) for name in order.split("; ")]
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
    """Return the cuDNN that torch uses."""
    return fact(document, "libraries", "cudnn", "installed")


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
}


def total(count: Counter[str]) -> int:
    """Return the number of fields compared."""
    return count["right"] + count["wrong"] + count["missing"]


def print_report(counts: dict[str, Counter[str]], faults: list[tuple[str, ...]], others: Counter[str],
                 words: Counter[str]) -> None:
    """Print the tables and the line of totals."""
    print(f"{'format':<24}{'dumps':>7}{'right':>8}{'(silent)':>10}{'wrong':>8}{'missing':>9}")
    for form, count in sorted(counts.items()):
        print(f"{form:<24}{count['dumps']:>7}{count['right']:>8}{count['silent']:>10}{count['wrong']:>8}"
              f"{count['missing']:>9}")
    for form, stem, outcome, key, expected, got in faults:
        print(f"  {outcome:<8} {form} {stem} {key}: expected {expected}, got {got}")
    if words:
        print("not compared (free words): " + ", ".join(f"{key} {number}" for key, number in sorted(words.items())))
    if others:
        print("not importable: " + ", ".join(f"{form} {number}" for form, number in sorted(others.items())))
    sums = sum(counts.values(), Counter())
    print(f"imports: {sums['right']} right, {sums['wrong']} wrong, {sums['missing']} missing")


if __name__ == "__main__":
    sys.exit(main())

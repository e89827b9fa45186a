"""The lines of a collect_env text, found among whatever stands around them: one value per printed key.

Owns which lines belong to the dump, where it ends and whether it was cut. What a value means is left to the modules
that read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .plain import FENCE

PYTORCH = "pytorch-collect-env"
VLLM = "vllm-collect-env"

#: keys of every era, in the order they are printed.
KEYS = (
    "PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch",
    "XPU used to build PyTorch", "OS", "GCC version", "Clang version", "CMake version", "Libc version",
    "Python version", "Python platform", "Is CUDA available", "CUDA runtime version", "CUDA_MODULE_LOADING set to",
    "GPU models and configuration", "Nvidia driver version", "cuDNN version", "Is XPU available",
    "HIP runtime version", "MIOpen runtime version", "Is XNNPACK available", "Caching allocator config", "CPU",
    "Intel GPU driver version", "Intel GPU models onboard", "Intel GPU models detected",
    "Versions of relevant libraries", "ROCM Version", "Neuron SDK Version", "vLLM Version", "vLLM Build Flags",
    "GPU Topology",
)
#: printed by every era; how many of them are missing before the last line tells an excerpt from a cut.
_ALWAYS = ("PyTorch version", "Is debug build", "CUDA used to build PyTorch", "OS", "GCC version", "CMake version",
           "Python version", "Is CUDA available", "CUDA runtime version", "GPU models and configuration",
           "Nvidia driver version", "cuDNN version", "Versions of relevant libraries")
#: keys that no other tool prints.
_OWN = frozenset(("PyTorch version", "CUDA used to build PyTorch", "ROCM used to build PyTorch", "CUDA runtime version",
                  "GPU models and configuration", "Nvidia driver version", "CUDA_MODULE_LOADING set to",
                  "HIP runtime version", "MIOpen runtime version", "Versions of relevant libraries", "cuDNN version"))
_VLLM_MARKS = frozenset(("ROCM Version", "Neuron SDK Version", "vLLM Version", "vLLM Build Flags", "GPU Topology"))
_VLLM_TITLES = ("system info", "pytorch info")
#: what stands in every text of each flavour, in lower case and without blanks.
_VLLM_WORDS = tuple(words.lower().replace(" ", "") for words in (*_VLLM_TITLES, *_VLLM_MARKS))
_OWN_WORDS = tuple(words.lower().replace(" ", "") for words in _OWN)
_BY_SPELLING = {key.replace(" ", "").lower(): key for key in KEYS}
_KEY_LINE = re.compile(
    r"(?:[-*\u2022] +)?[*`]{0,3}([A-Za-z][A-Za-z_ ]{1,40}?)[*`]{0,3} {0,40}[:\uff1a](?:[*`]{0,3})(.*)")
#: lines of one list that are read: far more than any machine has, far fewer than make an import slow.
MOST_LINES = 2000
#: beginnings of dumps that are looked at.
_MOST_SEGMENTS = 100
_START = "collecting environment information"
_BANNER = re.compile(r"={5,}$")
_LIBRARY_ROW = re.compile(r"\[(?:pip\d?|conda)\]")
_LIBRARIES = "Versions of relevant libraries"
#: titles of vLLM's banners that stand in place of a key; the others end what was before them.
_TITLES = {"cpu info": "CPU", "versions of relevant libraries": _LIBRARIES, "vllm info": None,
           "environment variables": None}


@dataclass
class Field:
    """What stands behind one key: the rest of its line and the lines below it."""

    key: str
    first_line: int
    lines: list[str] = field(default_factory=list)
    #: another key follows, so the lines are all there were.
    closed: bool = False
    #: nothing stands below the last of these lines, so the end of the text may have broken it.
    at_end: bool = False
    #: nothing stands below, and the tool would have printed more: the last line is a fragment for all one knows.
    cut: bool = False

    @property
    def value(self) -> str:
        """The rest of the key's own line."""
        return self.lines[0]


@dataclass
class Dump:
    """One collect_env text."""

    format: str
    fields: dict[str, Field]
    #: the text ends before the tool had printed everything.
    cut: bool
    notes: list[str]

    def value(self, key: str) -> str | None:
        """Return the value on the line of ``key``, ``None`` when no such line (or only its beginning) is there."""
        found = self.fields.get(key)
        return None if found is None or (found.cut and len(found.lines) == 1) else found.value


def find(lines: Sequence[str]) -> Dump | None:
    """Return the dump that the lines hold, or ``None``; of several the first whole one, and a note on the others."""
    segments = _segments(lines)
    candidates = [segment for segment in segments if _recognised(segment)]
    if not candidates:
        return None
    chosen = next((segment for segment in candidates if len(segment) >= 8),
                  max(candidates, key=len))
    notes = [f"the text holds another dump at line {next(iter(other.values())).first_line + 1}: not imported"
             for other in candidates if other is not chosen and len(other) >= 4]
    cut = _mark_cut(chosen, lines)
    form = VLLM if _VLLM_MARKS & chosen.keys() or _is_sectioned(lines) else PYTORCH
    return Dump(form, chosen, cut, notes)


def may_be(form: str, joined: str) -> bool:
    """Tell whether words that only this flavour has occur anywhere; much faster than ``find``."""
    letters = joined.lower().replace(" ", "")
    return any(word in letters for word in (_VLLM_WORDS if form == VLLM else _OWN_WORDS))


def _is_sectioned(lines: Sequence[str]) -> bool:
    return any(line.lower() in _VLLM_TITLES and _BANNER.match(after) for line, after in zip(lines, (*lines[1:], "")))


def key_of(line: str) -> tuple[str, str] | None:
    """Return the known key a line begins with and the rest of the line, or ``None``."""
    title = _TITLES.get(line.lower())
    if title is not None:
        return title, ""
    match = _KEY_LINE.match(line[:8192])
    if match is None:
        return None
    key = _BY_SPELLING.get(match[1].replace(" ", "").lower())
    return (key, match[2].strip()) if key else None


def _segments(lines: Sequence[str]) -> list[dict[str, Field]]:
    """Return runs of keys without repetition: a key that comes again begins another dump."""
    segments: list[dict[str, Field]] = [{}]
    current: Field | None = None
    for number, line in enumerate(lines):
        if _START in line[:80].lower():
            _begin(segments)
            current = None
            continue
        if line == FENCE or _TITLES.get(line.lower(), "") is None:
            current = None
            continue
        found = key_of(line) if line else None
        if found is None or (found[0] == "CPU" and current is not None and current.key == "CPU"):
            if current is not None:
                current.lines.append("" if _BANNER.match(line) else line)
            continue
        key, rest = found
        if key in segments[-1]:
            _begin(segments)
            current = None
            if len(segments) > _MOST_SEGMENTS:
                break
        if current is not None:
            current.closed = True
        current = segments[-1][key] = Field(key, number, [rest])
    return segments


def _begin(segments: list[dict[str, Field]]) -> None:
    if segments[-1]:
        segments.append({})


def _recognised(segment: dict[str, Field]) -> bool:
    """Tell whether the keys can only be collect_env's: one of its own, with a value or in company."""
    own = _OWN & segment.keys()
    if not own:
        return False
    version = segment.get("PyTorch version")
    return len(segment) >= 2 or (version is not None and re.fullmatch(r"\d+\.\d\S*|N/A", version.value) is not None)


def _mark_cut(segment: dict[str, Field], lines: Sequence[str]) -> bool:
    """Mark the field that the end of the text breaks off; tell whether the dump is incomplete."""
    last = list(segment.values())[-1]
    last.at_end = not any(lines[last.first_line + len(last.lines):])
    own = [line for line in last.lines if line]
    if last.key == _LIBRARIES:
        rows = [line for line in own if _LIBRARY_ROW.match(line)]
        complete = bool(rows) and rows[-1].startswith("[conda]")
    else:
        complete = last.key in _VLLM_MARKS or _is_excerpt(segment, last.key)
    if complete:
        return False
    last.lines = last.lines[:1] + [line for line in last.lines[1:] if line]
    last.cut = last.at_end
    return True


def _is_excerpt(segment: dict[str, Field], last: str) -> bool:
    """Tell whether most of what every era prints before ``last`` is missing: typed by hand, not cut."""
    before = [key for key in _ALWAYS if KEYS.index(key) < KEYS.index(last)]
    missing = [key for key in before if key not in segment]
    return len(missing) * 2 > len(before)

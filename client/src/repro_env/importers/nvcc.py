"""What ``nvcc --version`` printed beside a report: the CUDA compiler on the machine.

It is no format of its own: a compiler alone is no environment.
"""

from __future__ import annotations

import re

from . import listing
from .format import Reading, Text

NAME = "nvcc"

_RELEASE = re.compile(r"Cuda compilation tools, release (\d{1,2}\.\d{1,2}), V(\1\.\d{1,4})")


def beside(text: Text) -> Reading | None:
    """Return the version that the text shows; ``None`` where it shows none, or more than one."""
    if "Cuda compilation tools" not in text.joined:
        return None
    rows = ((number, _RELEASE.fullmatch(line[:200])) for number, line in enumerate(listing.whole_lines(text)))
    found = [(number, match[2]) for number, match in rows if match]
    if len({version for _, version in found}) != 1:
        return None
    number, version = found[0]
    return Reading(NAME, {"libraries": {"cuda_toolkit": version}}, first_line=number, keys=1, leads=False)

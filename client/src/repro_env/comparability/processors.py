"""Vector level of a CPU: by its instruction sets, or by its model name where those were not read.

Sources: Intel ARK and AMD product pages; families whose members differ are left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

#: vector level -> instruction set that marks it, widest first.
LEVELS = (("AVX-512", "avx512f"), ("AVX2", "avx2"), ("AVX", "avx"), ("SVE", "sve"), ("NEON", "asimd"),
          ("AltiVec", "altivec"))

#: pattern of the model name in lower case -> vector level, first match wins.
_MODELS = (
    (r"\((skylake|cascadelake|icelake|sapphirerapids|graniterapids|cooperlake)", "AVX-512"),
    (r"\((haswell|broadwell)|\bepyc-(rome|milan)\b|\bxeon 6\d{3}e\b", "AVX2"),
    (r"\b(platinum|gold|silver|bronze) \d{4}|\bxeon 6\d{3}p\b|\bepyc-(genoa|turin)\b", "AVX-512"),
    (r"\bxeon.* w-?[23]\d{3}|\bw[3579]-[23]\d{3}", "AVX-512"),
    (r"\be[357]-\d{4}l? ?v[34]", "AVX2"),
    (r"\be[357]-\d{4}l?( ?v2)?\b", "AVX"),
    (r"\bi[79]-(7[89]|98|99|109)\d\dx", "AVX-512"),
    (r"\bi[3579]-(11\d{3}|1[01]\d{2}g\d)", "AVX-512"),
    (r"\bi[3579]-([4-9]\d{3}|1[0234]\d{3})", "AVX2"),
    (r"\bi[357]-[23]\d{3}", "AVX"),
    (r"\bepyc 7\w{2}[123]", "AVX2"),
    (r"\bepyc [489]\w{2}[45]", "AVX-512"),
    (r"\bthreadripper (pro )?[79]\d{3}w?x|\bryzen ai \d (hx )?3\d\d", "AVX-512"),
    (r"^(?!.*(xeon|epyc|ryzen|amd)).*\b11th gen", "AVX-512"),
    (r"^(?!.*(xeon|epyc|ryzen|amd)).*\b([4-9]|1[234])th gen", "AVX2"),
    (r"\bcore ultra \d|\bxeon e-2[123]\d\d|\bxeon d-15\d\d", "AVX2"),
    (r"\bryzen (threadripper )?(pro )?\d? ?[1-5]\d{3}", "AVX2"),
    (r"\bryzen (pro )?\d? ?[79]\d{3}x", "AVX-512"),
    (r"\bapple m\d|\bneoverse-n1|\bcortex-a7[26]|graviton ?2|\baltra\b", "NEON"),
    (r"graviton ?[34]|\bneoverse-(v|n[23])|\ba64fx|\bgrace\b", "SVE"),
)

#: pattern of the model name in lower case -> maker as the CPU names it, first match wins.
_MAKERS = ((r"\bapple m\d", "Apple"), (r"\b(amd|epyc|ryzen|threadripper|opteron)\b", "AuthenticAMD"),
           (r"\b(intel|xeon)\b|\bi[3579]-\d|\bcore ultra\b", "GenuineIntel"),
           (r"\b(neoverse|graviton|cortex|ampere)\b", "ARM"))
#: maker -> machine architecture.
_ARCHITECTURES = {"Apple": "arm64", "ARM": "arm64", "AuthenticAMD": "x86_64", "GenuineIntel": "x86_64"}


def vector_level(instruction_sets: list[str]) -> str:
    """Return the widest vector level of a list of instruction sets."""
    known = {name.lower() for name in instruction_sets}
    return next((level for level, mark in LEVELS if mark in known), "baseline")


def maker_of_model(model: Any) -> str | None:
    """Return the maker that a CPU's model name tells, as ``cpu.vendor`` has it; ``None`` where it tells none."""
    text = model.lower() if isinstance(model, str) else ""
    return next((maker for pattern, maker in _MAKERS if re.search(pattern, text)), None)


def architecture_of_model(model: Any) -> str | None:
    """Return the machine architecture that a CPU's model name tells, ``None`` where it tells none."""
    return _ARCHITECTURES.get(maker_of_model(model) or "")


def level_of_model(model: Any) -> str | None:
    """Return the vector level that a CPU's model name tells, ``None`` where it tells none."""
    return _level_of_model(model) if isinstance(model, str) else None


@lru_cache(maxsize=256)
def _level_of_model(model: str) -> str | None:
    text = re.sub(r"\((r|tm)\)|\bcpu\b|-core processor", " ", model.lower())
    text = re.sub(r"\s+", " ", text)
    return next((level for pattern, level in _MODELS if re.search(pattern, text)), None)

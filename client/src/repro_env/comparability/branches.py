"""The kernels that each numeric library chooses on a CPU: its instruction sets, capped by the library's variables.

Pure functions on values that were read; rules say where they apply. Vector levels are those of ``processors``.
"""

from __future__ import annotations

from typing import Any

#: vector levels of x86 that libraries can be held below, widest first; what lies under AVX counts as one.
X86 = ("AVX-512", "AVX2", "AVX", "baseline")
#: branches of MKL from the narrowest; later names of the widest one mean the same.
_MKL = ("COMPATIBLE", "SSE2", "SSE3", "SSSE3", "SSE4_1", "SSE4_2", "AVX", "AVX2", "AVX512")
_MKL_OF = {"AVX-512": "AVX512", "AVX2": "AVX2", "AVX": "AVX", "baseline": "SSE4_2"}
#: instruction sets of oneDNN in which float32 is computed otherwise, from the narrowest; each covers the names that
#: start with it, so that VNNI, bfloat16 and AMX units, which float32 does not use, are no branches of their own.
_ONEDNN = ("SSE41", "AVX", "AVX2", "AVX512_CORE")
_ONEDNN_OF = {"AVX-512": "AVX512_CORE", "AVX2": "AVX2", "AVX": "AVX", "baseline": "SSE41"}
#: what a cap of oneDNN leaves of the units for half precision, from none to all.
_HALF_UNITS = (("AVX512_CORE_AMX", 3), ("AVX10_1_512_AMX", 3), ("AVX10_2", 3), ("AVX512_CORE_FP16", 2),
               ("AVX10_1_512", 2), ("AVX512_CORE_BF16", 1))
#: instruction set of the CPU -> unit for half precision, widest first.
_UNITS = (("amx_bf16", 3, "AMX"), ("avx512_fp16", 2, "AVX-512 float16"), ("avx512_bf16", 1, "AVX-512 bfloat16"))
#: kernel level of torch, core of OpenBLAS -> vector level.
_OF_TORCH = {"AVX512": "AVX-512", "AVX2": "AVX2", "DEFAULT": "baseline", "NO AVX": "baseline"}
_OF_OPENBLAS = {"skylakex": "AVX-512", "cooperlake": "AVX-512", "sapphirerapids": "AVX-512", "haswell": "AVX2",
                "zen": "AVX2", "excavator": "AVX", "sandybridge": "AVX", "bulldozer": "AVX", "piledriver": "AVX",
                "steamroller": "AVX", "nehalem": "baseline", "prescott": "baseline", "core2": "baseline",
                "penryn": "baseline", "dunnington": "baseline", "atom": "baseline", "barcelona": "baseline",
                "bobcat": "baseline", "katmai": "baseline", "coppermine": "baseline", "northwood": "baseline"}


def mkl(best: str, vendor: str | None, cbwr: str | None, enabled: str | None) -> str:
    """Return MKL's branch for a CPU of ``vendor`` and level ``best`` with ``MKL_CBWR`` and ``MKL_ENABLE_INSTRUCTIONS``.

    Measured with oneMKL 2024.2: words in small letters and unknown ones do nothing, a cap at or above the CPU's level
    does nothing, the lower of both caps holds, a branch that ``MKL_CBWR`` lowers to rounds otherwise than the same one
    of ``MKL_ENABLE_INSTRUCTIONS`` (eigh), and STRICT otherwise than both. Intel documents only AUTO and COMPATIBLE for
    CPUs of others.
    """
    asked, _, mode = (cbwr or "").partition(",")
    level = _lower(_MKL_OF.get(best, "SSE4_2"), enabled)
    if vendor != "GenuineIntel":
        return "COMPATIBLE" if asked == "COMPATIBLE" else level
    lowered = _lower(level, asked)
    strict = ", strict" if mode.strip() == "STRICT" and lowered in ("AVX2", "AVX512") else ""
    reproducible = asked in _MKL and lowered not in ("AVX512", "COMPATIBLE")
    return f"{lowered}{' for reproducibility' if reproducible else ''}{strict}"


def _lower(level: str, cap: str | None) -> str:
    """Return the lower of two branches of MKL; a word that names none is no cap."""
    cap = "AVX512" if cap and cap.startswith("AVX512") and "MIC" not in cap else cap
    return cap if cap in _MKL and _MKL.index(cap) < _MKL.index(level) else level


def onednn(best: str, cap: str | None) -> str:
    """Return the instruction set in which oneDNN computes float32 on a CPU of level ``best`` under ``cap``."""
    own, asked = _ONEDNN_OF.get(best, best), _onednn_cap(cap)
    if asked is None or own not in _ONEDNN:
        return own
    return min(own, asked, key=_ONEDNN.index)


def _onednn_cap(cap: str | None) -> str | None:
    """Return the branch that ``ONEDNN_MAX_CPU_ISA`` names, in whatever letters; a word that names none is no cap."""
    word = (cap or "").upper()
    if word.startswith("AVX10"):
        return "AVX512_CORE"
    return next((name for name in reversed(_ONEDNN) if word.startswith(name)), None)


def half_units(instruction_sets: list[str], cap: str | None) -> str:
    """Return the widest unit that oneDNN has for half precision on this CPU under ``cap``."""
    word = (cap or "").upper()
    named = next((rank for start, rank in _HALF_UNITS if word.startswith(start)), 0)
    allowed = 3 if _onednn_cap(cap) is None else named
    return next((name for mark, rank, name in _UNITS if mark in instruction_sets and rank <= allowed), "none")


def torch_level(capability: Any) -> str | None:
    """Return the vector level of torch's kernels, ``None`` for those of other machines."""
    return _OF_TORCH.get(str(capability).upper())


def numpy_level(features: list[str]) -> str:
    """Return the vector level of the SIMD features that NumPy may use; newer NumPys name x86-64 levels."""
    found = [name.upper() for name in features]
    if any(name.startswith("AVX512") or name == "X86_V4" for name in found):
        return "AVX-512"
    return "AVX2" if {"AVX2", "X86_V3"} & set(found) else "AVX" if "AVX" in found else "baseline"


def openblas_level(core: Any) -> str | None:
    """Return the vector level of the kernels of a core of OpenBLAS, ``None`` for one not known here."""
    return _OF_OPENBLAS.get(str(core).lower())

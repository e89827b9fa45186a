"""Sections that a program sets, as far as variables decide them before it starts; the rest is honestly unread."""

from __future__ import annotations

from .. import ids
from .. import variables as allow_list
from ..fingerprint.facts import unread
from .keys import SECTIONS, blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look


def variables_probe(system: System, look: Look) -> dict[str, Any]:
    """Return every allow-listed variable; a value shaped like a secret stays here and is said to be withheld."""
    values, withheld = allow_list.read(system.environ)
    look.sources["variables"] = "variable"
    for name in withheld:
        look.failed(f"variables.values.{name}", "denied", "the value has the shape of a secret and was withheld")
    return {"values": values}


def precision_probe(system: System, look: Look) -> dict[str, Any]:
    """Return the arithmetic modes: all of them are set inside the process."""
    return blank("precision", _code(look))


def determinism_probe(system: System, look: Look) -> dict[str, Any]:
    """Return what variables say of determinism: the cuBLAS workspace, and switches that only a variable sets."""
    environ = system.environ
    look.sources["determinism.cublas_workspace"] = "variable"
    facts = blank("determinism", _code(look))
    facts["cublas_workspace"] = _screened(environ.get("CUBLAS_WORKSPACE_CONFIG"))
    flags = environ.get("XLA_FLAGS", "").split()
    for flag in ("--xla_gpu_deterministic_ops", "--xla_gpu_exclude_nondeterministic_ops"):
        for word in flags:
            name, _, value = word.partition("=")
            if name == flag:
                facts["xla_deterministic"] = value.lower() in ("", "true", "1")
                look.sources["determinism.xla_deterministic"] = "variable"
    return facts


def collectives_probe(system: System, look: Look) -> dict[str, Any]:
    """Return what NCCL variables fix; an unset one leaves the choice to NCCL, which is not a value."""
    environ = system.environ
    facts = blank("collectives", _code(look))
    for fact, name in (("algorithm", "NCCL_ALGO"), ("protocol", "NCCL_PROTO")):
        facts[fact] = _screened(environ.get(name))
        look.sources[f"collectives.{fact}"] = "variable"
    nvls = environ.get("NCCL_NVLS_ENABLE")
    if nvls in ("0", "1"):
        facts["nvls"] = nvls == "1"
        look.sources["collectives.nvls"] = "variable"
    return facts


def numerics_probe(system: System, look: Look) -> dict[str, Any]:
    """Return no measured behaviour: measuring is asked for, never done by the way."""
    return blank("numerics", "not-recorded")


def random_probe(system: System, look: Look) -> dict[str, Any]:
    """Return the hash seed that the next interpreter will get; seeds are set inside the process."""
    facts = blank("program.random", _code(look))
    facts["hash_seed"] = hash_seed(system.environ.get("PYTHONHASHSEED"))
    look.sources["program.random.hash_seed"] = "variable"
    return facts


def hash_seed(value: str | None) -> Any:
    """Return PYTHONHASHSEED as it acts: a number, or ``random`` when unset, empty or ``random``."""
    if not value or value == "random":
        return "random"
    return str(int(value)) if value.isascii() and value.isdigit() and len(value) < 11 else unread("failed")


def data_probe(system: System, look: Look) -> dict[str, Any]:
    """Return what is known of data before the program runs: nothing."""
    return blank("program.data", _code(look))


def layout_probe(system: System, look: Look) -> dict[str, Any]:
    """Return the number of ranks a launcher announced; degrees of parallelism are the program's."""
    facts = blank("program.layout", _code(look))
    _, _, world_size = ids.ranks(system.environ)
    if world_size is not None:
        facts["world_size"] = world_size
        look.sources["program.layout.world_size"] = "variable"
    return facts


def model_probe(system: System, look: Look) -> dict[str, Any]:
    """Return what is known of the model before the program runs: nothing."""
    return blank("program.model", _code(look))


def declared_probe(system: System, look: Look) -> dict[str, Any]:
    """Return that nothing was declared; declarations come from the command line or the program."""
    return dict.fromkeys(SECTIONS["program.declared"])


def _code(look: Look) -> str:
    return "not-reported" if look.in_process else "too-early"


def _screened(value: str | None) -> Any:
    return value if value is None or not allow_list.looks_secret(value) else unread("denied")

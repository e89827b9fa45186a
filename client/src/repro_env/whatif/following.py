"""What follows from stated variables: facts that a capture reads off them, and a switch that one of them overrules."""

from __future__ import annotations

from .stated import Stated

_OVERRIDE = "variables.values.NVIDIA_TF32_OVERRIDE"
_SWITCHES = ("precision.allow_tf32_matmul", "precision.allow_tf32_cudnn")
#: variable -> the fact that holds it as it stands.
_HELD = {"CUBLAS_WORKSPACE_CONFIG": "determinism.cublas_workspace", "NCCL_ALGO": "collectives.algorithm",
         "NCCL_PROTO": "collectives.protocol"}


def follow(stated: Stated) -> None:
    """Add what surely follows from the variables that were stated."""
    for name, path in _HELD.items():
        if stated.has(f"variables.values.{name}"):
            stated.follows(path, stated.facts[f"variables.values.{name}"])
    told = stated.facts.get("variables.values.NCCL_NVLS_ENABLE")
    if told in ("0", "1"):
        stated.follows("collectives.nvls", told == "1")
    _overrule(stated)


def _overrule(stated: Stated) -> None:
    """Take TF32 for off where it is stated together with the variable that forbids it below torch's switches.

    The variable says no more then than the switches do, so it is left out: from outside it would count beside them.
    Where other frameworks are stated, whose switches are not, it stays.
    """
    others = any(stated.version(name) is not None for name in ("jax", "tensorflow"))
    if stated.facts.get(_OVERRIDE) != "0" or others or not all(map(stated.has, _SWITCHES)):
        return
    if any(stated.facts[path] for path in _SWITCHES):
        stated.note("NVIDIA_TF32_OVERRIDE=0 forbids TF32 whatever torch's switches say, so tf32 was taken for off")
    for path in _SWITCHES:
        stated.facts[path] = False
    stated.derived.pop("precision.float32_matmul_precision", None)
    stated.follows("precision.float32_matmul_precision", "highest")
    del stated.facts[_OVERRIDE]

"""Ids: which run, job and place an observation belongs to, from the environment alone.

The same circumstances give the same id, so a retry sends the same document. Owns its UUID arithmetic (RFC 9562):
importing ``uuid`` costs more than all of this.
"""

from __future__ import annotations

import os

from . import jobs
from .fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from hashlib import sha1
    from typing import Any
else:
    try:
        from _sha1 import sha1
    except ImportError:  # an interpreter built without its own hashes; OpenSSL's cost 3 ms more to load
        from hashlib import sha1

#: RFC 9562 name space of URLs, in which the two below were made from ``urn:repro-env:run`` and ``:observation``.
URL_NAMESPACE = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")

_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-")
#: the keys of ``capture.process``, held against its definition by ``tests/client/probes/test_keys.py``.
PROCESS = ("node", "rank", "local_rank", "world_size", "pid", "user", "device_masks", "device_ids")
#: rank, rank on the node, number of ranks. What stands lower starts what stands above it: torchrun below MPI or Slurm,
#: and an MPI launcher below Slurm, whose batch script has a task number of its own.
_RANKS = (
    (("RANK",), ("LOCAL_RANK",), ("WORLD_SIZE",)),
    (("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_LOCAL_RANK",), ("OMPI_COMM_WORLD_SIZE",)),
    (("MV2_COMM_WORLD_RANK",), ("MV2_COMM_WORLD_LOCAL_RANK",), ("MV2_COMM_WORLD_SIZE",)),
    (("PALS_RANKID",), ("PALS_LOCAL_RANKID",), ("PMI_SIZE",)),
    (("PMI_RANK",), ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"), ("PMI_SIZE",)),
    (("JSM_NAMESPACE_RANK",), ("JSM_NAMESPACE_LOCAL_RANK",), ("JSM_NAMESPACE_SIZE",)),
    (("FLUX_TASK_RANK",), ("FLUX_TASK_LOCAL_ID",), ("FLUX_JOB_SIZE",)),
)
_SLURM_RANKS = (("SLURM_PROCID",), ("SLURM_LOCALID",), ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"))
_MASKS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
          "GPU_DEVICE_ORDINAL", "CUDA_DEVICE_ORDER", "ZE_AFFINITY_MASK")


def uuid5(namespace: bytes, name: str) -> str:
    """Return the name-based UUID (version 5) of ``name`` in ``namespace``."""
    name_bytes = name.encode("utf-8", "backslashreplace")
    return _text(sha1(namespace + name_bytes).digest()[:16], 5)  # noqa: S324 - RFC 9562 fixes the hash of version 5


def uuid7(now_s: float) -> str:
    """Return a time-ordered UUID (version 7) for ``now_s`` seconds since the epoch."""
    return _text(int(now_s * 1000).to_bytes(6, "big") + os.urandom(10), 7)


def _text(raw: bytes, version: int) -> str:
    value = bytearray(raw)
    value[6] = value[6] & 0x0F | version << 4
    value[8] = value[8] & 0x3F | 0x80
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _namespace(name: str) -> bytes:
    return bytes.fromhex(uuid5(URL_NAMESPACE, f"urn:repro-env:{name}").replace("-", ""))


def is_id(text: str) -> bool:
    """Tell whether a service would take ``text`` for the id of a run: it stands in addresses."""
    return 0 < len(text) <= 128 and text[0].isalnum() and _ID_CHARACTERS.issuperset(text)


def run_identity(environ: Mapping[str, str], now_s: float, *, given: str | None = None,
                 subject: str = "environment") -> tuple[str | None, str | None]:
    """Return the run id and how it was learned: given, scheduler, made.

    A node has no run, only a job: both are ``None`` there unless an id was given. An id that no service would take
    counts as not given; ``settings`` says so to the person.
    """
    chosen = given or environ.get("REPRO_ENV_RUN_ID", "")
    if is_id(chosen):
        return chosen, "given"
    if subject == "node":
        return None, None
    execution = jobs.identity(jobs.job(environ), environ)
    if execution is not None:
        return uuid5(_namespace("run"), "\n".join(map(str, execution))), "scheduler"
    elastic = environ.get("TORCHELASTIC_RUN_ID", "none")
    if elastic != "none":
        # without the restart count, which agents on several nodes count each for themselves: a restart is a segment
        return uuid5(_namespace("run"), f"torchelastic\n{elastic}"), "scheduler"
    key = jobs.mpi_key(environ)
    if key is not None:
        return uuid5(_namespace("run"), f"mpi\n{key}"), "scheduler"
    return uuid7(now_s), "made"


def observation_id(*parts: object) -> str:
    """Return the id of one observation from all that tells it from others.

    Run or job, node, start, process, vantage, sequence and time: the id stands in the document, so a retry repeats
    it, and a second capture in the same place is another observation.
    """
    return uuid5(_namespace("observation"), "\n".join(map(str, parts)))


def ranks(environ: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    """Return rank, rank on the node and number of ranks as launchers announce them; ``None`` where none does."""
    for rank_names, local_names, size_names in (*_RANKS, _SLURM_RANKS) if jobs.slurm_step(environ) else _RANKS:
        rank, size = _first(environ, rank_names), _first(environ, size_names)
        if rank is not None and size is not None:
            return rank, _first(environ, local_names), size
    return None, None, None


def process(environ: Mapping[str, str], node: str, pid: int) -> dict[str, Any]:
    """Return the place of the process in its run; device ids are filled in by whoever reads the devices."""
    rank, local_rank, world_size = ranks(environ)
    return {
        "node": node, "rank": rank, "local_rank": local_rank, "world_size": world_size, "pid": pid,
        "user": environ.get("USER") or environ.get("LOGNAME") or unread("not-reported"),
        "device_masks": {name: environ[name] for name in _MASKS if name in environ} or None,
        "device_ids": unread("not-reported"),
    }


def is_node_prolog(environ: Mapping[str, str], *, root: bool) -> bool:
    """Tell whether this is a Prolog of Slurm's daemons, which sees a node and not the job's environment.

    The one of the controller sees no node of the job either: it belongs to no run.
    """
    context = environ.get("SLURM_SCRIPT_CONTEXT", "")
    if context.endswith(("_slurmd", "_slurmctld")):
        return True
    return root and bool(environ.get("SLURM_JOB_ID")) and not context and "SLURM_SUBMIT_DIR" not in environ


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = _integer(environ.get(name))
        if value is not None:
            return value
    return None


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None

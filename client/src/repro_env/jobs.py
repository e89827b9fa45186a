"""What a scheduler started: the section ``capture.job``, and which start of a run a process belongs to.

Read off the variables that Slurm, PBS, LSF, Kubernetes, torchrun and MPI launchers set, and the few files they name.
Ids are made from it in ``ids``; places of ranks are read there too.
"""

from __future__ import annotations

from .fingerprint.facts import is_captured, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Environ = Mapping[str, str]
    Read = Callable[[str], str]

#: the keys of the section, held against its definition by ``tests/client/probes/test_keys.py``.
JOB = ("scheduler", "cluster", "job_id", "array", "restart", "step", "task", "node_count", "node_list", "namespace",
       "pod", "container")
#: numbers that Slurm gives to steps which no ``srun`` started (slurm/slurm.h: batch script, extern, interactive).
_STEP_NAMES = {"4294967291": None, "4294967292": "extern", "4294967290": "interactive"}
_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
#: names under which pod templates hand the downward API on.
_POD_NAMES = ("POD_NAME", "MY_POD_NAME", "K8S_POD_NAME")
_NAMESPACE_NAMES = ("POD_NAMESPACE", "MY_POD_NAMESPACE", "K8S_NAMESPACE")
#: variables that only a launcher of MPI's own sets, never the scheduler that started it.
_MPI_MARKS = ("OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_RANK", "PALS_APID")
#: a list of nodes longer than this is left to the scheduler's own records.
_LONGEST_LIST = 4096


def job(environ: Environ, read: Read | None = None) -> dict[str, Any]:
    """Return every fact of the document's ``job``; ``read`` returns the text of a file or raises ``OSError``."""
    for scheduler, marks, facts in _SCHEDULERS:
        if _first(environ, marks):
            told = facts(environ, read or _unreadable)
            return {**dict.fromkeys(JOB), "scheduler": scheduler, **told}
    return dict.fromkeys(JOB)


def identity(facts: dict[str, Any], environ: Environ) -> tuple[Any, ...] | None:
    """Return what names one execution in a job: cluster, job, restart, step; ``None`` where no job is known.

    A Kubernetes job counts where its uid was told: a name is given again.
    """
    if not is_captured(facts["job_id"]):
        return None
    if facts["scheduler"] == "kubernetes" and not environ.get("JOB_UID"):
        return None
    return (_captured(facts["cluster"]) or "", facts["job_id"], _captured(facts["restart"]) or 0,
            step_of(facts, environ) or "batch")


def step_of(facts: dict[str, Any], environ: Environ) -> str | None:
    """Return the step that a process belongs to.

    An MPI launcher in a batch script starts ranks of the first node itself and the others through steps of its own;
    its ranks belong to the launcher, not to those.
    """
    if facts["scheduler"] != "kubernetes" and _first(environ, _MPI_MARKS):
        key = mpi_key(environ) or _first(environ, ("PMIX_NAMESPACE", "PALS_APID"))
        return f"mpi-{_mark(key)}" if key else "mpi"
    step = _captured(facts["step"])
    return None if step is None else str(step)


def mpi_key(environ: Environ) -> str | None:
    """Return the random key that Open MPI up to 4 gives to all ranks of one ``mpirun``."""
    if not environ.get("OMPI_COMM_WORLD_RANK"):
        return None
    return environ.get("OMPI_MCA_orte_precondition_transports") or None


def _mark(key: str) -> str:
    """Return what tells a key from others without telling the key, which launchers also use to admit processes."""
    from .ids import URL_NAMESPACE, uuid5

    return uuid5(URL_NAMESPACE, key)[:8]


def segment(facts: dict[str, Any], environ: Environ) -> Any:
    """Return which start of its run a process belongs to, as text; unread where a scheduler does not tell starts."""
    parts = []
    if is_captured(facts["job_id"]) and facts["scheduler"] != "kubernetes":
        parts.append(facts["job_id"])
        if is_captured(facts["restart"]):
            parts.append(f"r{facts['restart']}")
        step = step_of(facts, environ)
        if step is not None:
            parts.append(f"s{step}")
    restarts = _integer(environ.get("TORCHELASTIC_RESTART_COUNT"))
    if restarts is not None and environ.get("GROUP_WORLD_SIZE") == "1":
        parts.append(f"e{restarts}")  # on several nodes each agent counts for itself: no common number
    if parts:
        return ".".join(parts)
    return None if facts["scheduler"] is None else unread("not-reported")


def slurm_step(environ: Environ) -> str | None:
    """Return the step of a Slurm job, ``None`` in its batch script."""
    step = environ.get("SLURM_STEP_ID") or environ.get("SLURM_STEPID")
    return _STEP_NAMES.get(step, step) if step else None


def _slurm(environ: Environ, read: Read) -> dict[str, Any]:
    step = slurm_step(environ)
    # A Prolog is given less than the job: what it lacks is unknown there, and absent in the job itself.
    absent = None if environ.get("SLURM_SUBMIT_DIR") else unread("not-reported")
    array, index = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    restart = _integer(environ.get("SLURM_RESTART_COUNT"))
    return {
        "cluster": _told(environ, "SLURM_CLUSTER_NAME"), "job_id": _told(environ, "SLURM_JOB_ID", "SLURM_JOBID"),
        "array": f"{array}_{index}" if array and index else absent,
        "restart": restart if restart is not None else 0 if absent is None else absent,
        "step": step, "task": _integer(environ.get("SLURM_PROCID")) if step else None,
        "node_count": _number(environ, "SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
        "node_list": _told(environ, "SLURM_JOB_NODELIST", "SLURM_NODELIST"),
        "container": _slurm_container(environ),
    }


def _slurm_container(environ: Environ) -> Any:
    """Return the plugin that puts Slurm's tasks into containers, as far as variables show one."""
    if environ.get("SLURM_CONTAINER"):
        return "oci"
    if any(name.startswith("PYXIS_") or name.endswith("OPTION_pyxis_container_image") for name in environ):
        return "pyxis"
    if environ.get("SLURM_SPANK_SHIFTER_IMAGEREQUEST"):
        return "shifter"
    return unread("not-reported")


def _pbs(environ: Environ, read: Read) -> dict[str, Any]:
    job_id = environ["PBS_JOBID"]
    index = environ.get("PBS_ARRAY_INDEX") or environ.get("PBS_ARRAYID")
    number = job_id.partition(".")[0]
    count, listed = _nodes_in(environ.get("PBS_NODEFILE"), read)
    silent = unread("not-reported")
    return {
        "cluster": silent, "job_id": job_id, "restart": silent, "step": None,
        "array": (number if "[" in number else f"{number}[{index}]") if index else None,
        "task": _number(environ, "PBS_NODENUM"), "node_count": count, "node_list": listed, "container": silent,
    }


def _lsf(environ: Environ, read: Read) -> dict[str, Any]:
    index = environ.get("LSB_JOBINDEX", "0")
    element = f"{environ['LSB_JOBID']}[{index}]" if index != "0" else None
    words = environ.get("LSB_MCPU_HOSTS", "").split()[::2] or environ.get("LSB_HOSTS", "").split()
    count, listed = _nodes(words) if words else _nodes_in(environ.get("LSB_DJOB_RANKFILE"), read)
    silent = unread("not-reported")
    return {
        "cluster": _told(environ, "LSB_CLUSTER"), "job_id": element or environ["LSB_JOBID"], "array": element,
        # LSF tells that a job was started again, not how often
        "restart": silent if environ.get("LSB_RESTART") == "Y" else 0, "step": None,
        "task": _number(environ, "JSM_NAMESPACE_RANK", "LSF_PM_TASKID"), "node_count": count, "node_list": listed,
        "container": silent,
    }


def _kubernetes(environ: Environ, read: Read) -> dict[str, Any]:
    silent = unread("not-reported")
    return {
        "cluster": silent, "job_id": _told(environ, "JOB_UID", "JOB_NAME"), "restart": silent,
        "task": _number(environ, "JOB_COMPLETION_INDEX", "PET_NODE_RANK", "GROUP_RANK"),
        "node_count": _number(environ, "PET_NNODES", "GROUP_WORLD_SIZE"), "node_list": silent,
        "namespace": _namespace(environ, read), "pod": _told(environ, *_POD_NAMES), "container": "pod",
    }


def _namespace(environ: Environ, read: Read) -> Any:
    told = _first(environ, _NAMESPACE_NAMES)
    if told:
        return told
    try:
        return read(_NAMESPACE_FILE).strip() or unread("not-reported")
    except PermissionError:
        return unread("denied")
    except OSError:
        return unread("not-reported")


_SCHEDULERS = (("slurm", ("SLURM_JOB_ID", "SLURM_JOBID"), _slurm), ("pbs", ("PBS_JOBID",), _pbs),
               ("lsf", ("LSB_JOBID",), _lsf), ("kubernetes", ("KUBERNETES_SERVICE_HOST",), _kubernetes))


def _nodes_in(path: str | None, read: Read) -> tuple[Any, Any]:
    """Return count and list of the nodes in a file of one a line; a node stands there once a slot."""
    if not path:
        return unread("not-reported"), unread("not-reported")
    try:
        return _nodes(read(path).split())
    except OSError as error:
        code = unread("denied" if isinstance(error, PermissionError) else "failed")
        return code, code


def _nodes(words: list[str]) -> tuple[Any, Any]:
    names = list(dict.fromkeys(words))
    listed = ",".join(names)
    return len(names) or unread("failed"), listed if 0 < len(listed) <= _LONGEST_LIST else unread("not-reported")


def _unreadable(path: str) -> str:
    raise OSError(f"{path} is not looked at")


def _first(environ: Environ, names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _told(environ: Environ, *names: str) -> Any:
    return _first(environ, names) or unread("not-reported")


def _number(environ: Environ, *names: str) -> Any:
    numbers = (_integer(environ.get(name)) for name in names)
    return next((number for number in numbers if number is not None), unread("not-reported"))


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


def _captured(fact: Any) -> Any:
    return fact if is_captured(fact) else None

"""From sections to a document: runs every probe under one guard and one budget, and adds who, where and when.

Owns the guard of the host contract: whatever a probe raises becomes unread facts and an error in words. What a
section means is left to ``probes``; keeping and sending the document to ``spool`` and ``transport``.
"""

from __future__ import annotations

import time

from . import ids, jobs
from .canonical import check_canonical, digest
from .errors import InvalidDocument, ProbeFailed
from .fingerprint.facts import SCHEMA_VERSION, is_unread, unread
from .names import Mask, clear
from .probes import PROBES, container
from .probes.keys import FRAMEWORK, FRAMEWORKS, LIBRARIES, LIBRARY, blank, blank_of
from .probes.look import Look, Timed
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .memory import Memory
    from .system import System

#: seconds that a whole capture may take.
BUDGET_S = 2.0
#: sections that a node prologue on the host can see; the rest belongs to the job's environment.
NODE_SECTIONS = ("accelerators", "driver", "cpu", "system")
_NODE_BLIND = {"system": ("libc", "encoding"), "cpu": ("torch_capability", "numpy_simd")}
#: parts of ``overrides`` that are no section.
_NOT_SECTIONS = ("sources", "errors", "durations_us", "capture")


def capture(  # noqa: PLR0913 - one keyword for each thing that a caller may know of the look
        system: System, *, vantage: str = "prologue", subject: str | None = None, python: str | None = None,
        budget_s: float = BUDGET_S, run_id: str | None = None, project: str | None = None, group: str | None = None,
        labels: dict[str, str] | None = None, sequence: int = 0, moment: str | None = None,
        mask: Mask | None = None, overrides: dict[str, Any] | None = None,
        memory: Memory | None = None) -> dict[str, Any]:
    """Return one observation as a document that ``fingerprint.validate`` accepts. Never raises for the machine.

    ``subject`` is detected when not given: ``process`` at the vantages process and exit, ``node`` in a Slurm Prolog
    on the host, else ``environment``. ``python`` names the interpreter whose environment is looked at, from files;
    without it the first on PATH at the vantage prologue, the running one in a process.

    ``mask`` says which names of people and machines become pseudonyms.

    ``overrides`` holds what an observer inside the process read better, laid over the probes' facts::

        {"frameworks": {"torch": {"version": "2.4.1", "imported": True}},      # a section of the stack, any depth
         "program.random": {"seeds": {"torch": 42}},                           # a section of the program
         "sources": {"frameworks.torch": "torch"},                             # added to capture.sources
         "errors": [{"path": "cpu", "code": "failed", "message": "in words"}], # added to capture.errors
         "durations_us": {"torch": 120},                                       # added to capture.durations_us
         "capture": {"results": {}, "drift": [], "process": {"rank": 0}}}      # laid over capture itself

    A fact that is unread in ``overrides`` never replaces one that a probe read. ``memory`` holds what earlier looks at
    this process found and cannot have changed.
    """
    overrides = overrides or {}
    subject = subject or detect_subject(system, vantage)
    look = Look(system, vantage=vantage, subject=subject, python=python, budget_s=budget_s)
    if memory is None:
        sections = {path: _guarded(path, probe, look) for path, probe in PROBES}
    else:
        sections = _remembered(look, memory)
    for path, facts in overrides.items():
        if path not in _NOT_SECTIONS:
            sections[path] = overlay(sections[path], facts)
    clear(sections, system.environ)
    return _document(sections, overrides, _circumstances(
        look, run_id=run_id, project=project, group=group, labels=labels or {}, sequence=sequence, moment=moment,
        mask=mask or Mask()))


def _remembered(look: Look, memory: Memory, only: frozenset[str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the sections (``only`` some), those that last from an earlier look where it read them."""
    from .memory import Noting

    memory.open(look.system)
    look.findings["differences"] = memory.differences
    sections = {}
    for path, probe in PROBES if only is None else [item for item in PROBES if item[0] in only]:
        facts = memory.recall(path, look)
        if facts is None:
            before = Noting(look)
            facts = _guarded(path, probe, look)
            memory.keep(path, facts, before.done(look))
        sections[path] = facts
    return sections


def remember(system: System, memory: Memory, budget_s: float) -> None:
    """Read into ``memory`` what lasts, before the first look at this process: the look itself is then short."""
    from .memory import LASTING

    _remembered(Look(system, vantage="process", subject="process", python=None, budget_s=budget_s), memory, LASTING)


def detect_subject(system: System, vantage: str) -> str:
    """Return what a capture at ``vantage`` sees: process, node, or environment."""
    if vantage in ("process", "exit"):
        return "process"
    return "node" if ids.is_node_prolog(system.environ, root=system.is_root()) else "environment"


def overlay(below: Any, above: Any) -> Any:
    """Return ``above`` laid over ``below``: read facts replace, unread ones fill only what was unread, maps merge."""
    if is_unread(above):
        return above if is_unread(below) else below
    if below is None and isinstance(above, dict) and not any(map(_says_something, above.values())):
        return None
    if isinstance(above, dict) and isinstance(below, dict):
        below = {} if is_unread(below) else below
        return {**below, **{key: overlay(below[key], value) if key in below else value
                            for key, value in above.items()}}
    return above


def _says_something(value: Any) -> bool:
    """Tell whether a fact laid over a surely absent thing proves it there: "not imported" does not."""
    return value is not None and value is not False and not is_unread(value)


def _guarded(path: str, probe: Callable[[System, Look], dict[str, Any]], look: Look) -> dict[str, Any]:
    """Run one probe: its facts, or a section of unread facts and an error in words."""
    if look.subject == "node" and path not in NODE_SECTIONS:
        return blank(path, "other-subject")
    if look.left_s() <= 0:
        return blank(path, look.failed(path, "timeout", "the budget was spent before this look")["unread"])
    try:
        with Timed(look, path):
            facts = probe(look.system, look)
    except ProbeFailed as error:
        return blank(path, look.failed(path, error.code, error.message)["unread"])
    except PermissionError:
        return blank(path, look.failed(path, "denied", "the machine refused a file that this look needs")["unread"])
    except Exception as error:  # noqa: BLE001 - the one guard of the host contract
        return blank(path, look.failed(path, "failed", f"the look raised {type(error).__name__}")["unread"])
    if look.subject == "node":
        facts.update(dict.fromkeys(_NODE_BLIND.get(path, ()), unread("other-subject")))
    return facts


def _circumstances(look: Look, *, run_id: str | None, project: str | None, group: str | None, labels: dict[str, str],
                   sequence: int, moment: str | None, mask: Mask) -> dict[str, Any]:
    """Return the capture part: who, where, when and how; what probes noted for it in ``look`` stands above."""
    system, environ = look.system, look.system.environ
    now_s = system.now()
    captured_at = rfc3339(now_s)
    job = _job(look)
    process = ids.process(environ, system.uname().nodename, system.pid())
    if look.device_ids is not None:
        process["device_ids"] = list(look.device_ids)
    run, run_source = ids.run_identity(environ, now_s, given=run_id, subject=look.subject)
    segment = jobs.segment(job, environ)
    mask.apply(job, process, run or str(job["job_id"]))
    owner = run or f"{job['cluster']}/{job['job_id']}/{job['restart']}"
    unseen = unread("other-subject" if look.subject == "node" else "not-reported")
    return {
        "observation_id": ids.observation_id(owner, process["node"], segment, process["rank"], process["pid"],
                                             look.vantage, sequence, captured_at),
        "run_id": run, "run_id_source": run_source, "sequence": sequence, "vantage": look.vantage,
        "moment": moment or ("start" if look.vantage == "prologue" else None), "subject": look.subject,
        "project": project, "group": group, "labels": dict(labels), "captured_at": captured_at,
        "client_version": VERSION, "job": job, "process": process, "sources": look.sources, "errors": look.errors,
        "durations_us": look.durations_us, "drift": [], "results": {}, "imported": None,
        "segment": segment, "random_states": None,
        **dict.fromkeys(("container_id", "image_evidence"), unseen),
        **dict.fromkeys(("device_states", "device_links"), unread("not-reported")),
        **look.circumstances,
    }


def _job(look: Look) -> dict[str, Any]:
    """Return the scheduler's view; the container probe knows more of how tasks come into containers."""
    files = look.left_s() > 0
    job = jobs.job(look.system.environ, look.system.read_text if files else None)
    if job["scheduler"] is not None:
        look.sources["capture.job"] = "variable"
    plugin = look.circumstances.pop(container.PLUGIN, job["container"])
    if is_unread(job["container"]) and not is_unread(plugin):
        job["container"] = plugin
        look.sources["capture.job.container"] = "files"
    return job


def rfc3339(now_s: float) -> str:
    """Return ``now_s`` seconds since the epoch as RFC 3339 UTC with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
    return f"{whole}.{int(now_s * 1000) % 1000:03d}Z"


def _document(sections: dict[str, dict[str, Any]], overrides: dict[str, Any],
              circumstances: dict[str, Any]) -> dict[str, Any]:
    circumstances["sources"].update(overrides.get("sources", {}))
    circumstances["errors"].extend(overrides.get("errors", ()))
    circumstances["durations_us"].update(overrides.get("durations_us", {}))
    stack = {path: facts for path, facts in sections.items() if "." not in path}
    for kind, names, keys in (("libraries", LIBRARIES, LIBRARY), ("frameworks", FRAMEWORKS, FRAMEWORK)):
        _complete(stack[kind], names, keys)
    document = {
        "schema": SCHEMA_VERSION, "stack": stack,
        "program": {path.partition(".")[2]: facts for path, facts in sections.items() if "." in path},
        "capture": overlay(circumstances, overrides.get("capture", {})),
    }
    try:
        digests = _digests(document)
    except InvalidDocument:
        document = printable(document)
        digests = _digests(document)
    return {**document, "digests": digests}


def _digests(document: dict[str, Any]) -> dict[str, str]:
    """Return the digests of the judged parts; raise ``InvalidDocument`` where a text has no canonical form."""
    check_canonical(document["capture"], "capture")
    return {part: digest(document[part], part) for part in ("stack", "program")}


def _complete(section: dict[str, Any], names: tuple[str, ...], keys: tuple[str, ...]) -> None:
    """Give a library or framework that an override described in part the keys it left out."""
    for name in names:
        facts = section[name]
        if isinstance(facts, dict) and not is_unread(facts) and len(facts) < len(keys):
            section[name] = {**blank_of(keys, "not-reported"), **facts}


def printable(value: Any) -> Any:
    """Return ``value`` with every text made storable: no NUL, no lone surrogate (names of files may hold them)."""
    if isinstance(value, str):
        return value.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {printable(key).encode("ascii", "backslashreplace").decode("ascii"): printable(item)
                for key, item in value.items()}
    return [printable(item) for item in value] if isinstance(value, (list, tuple)) else value

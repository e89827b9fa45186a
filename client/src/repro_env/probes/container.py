"""Section ``container``: the engine by its marks, and what follows from the evidence about the image.

Ids of the container and names of its folders differ from host to host and rank to rank: they stand in ``capture``.
"""

from __future__ import annotations

from ..fingerprint.facts import is_captured, unread
from . import evidence
from .evidence import TRUST, is_digest, is_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_GROUP_MARKS = (("kubepods", "kubernetes"), ("nerdctl", "containerd"), ("/docker", "docker"), ("libpod", "podman"),
                ("containerd", "containerd"), ("enroot", "enroot"))
#: variables that an engine sets in the container -> engine.
_VARIABLES = (("KUBERNETES_SERVICE_HOST", "kubernetes"), ("APPTAINER_CONTAINER", "apptainer"),
              ("SINGULARITY_CONTAINER", "apptainer"), ("CH_RUNNING", "charliecloud"), ("ENROOT_ROOTFS", "enroot"))
#: what an engine leaves in the root of the container -> engine.
_FILES = (("/.singularity.d", "apptainer"), ("/etc/enroot/environ", "enroot"))
_LATER_FILES = (("/run/.containerenv", "podman"), ("/.dockerenv", "docker"))
#: how the digest of the image was learned, by the trust of the evidence.
_LEARNED = {"claimed": "claimed", "observed": "engine", "self-declared": "file"}
_FACTS = ("image_reference", "image_digest", "image_key")
_MOUNT_LIMIT = 65536
#: under this name ``circumstances`` holds what belongs into ``job.container``.
PLUGIN = "container_plugin"


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the engine and the identities of the image; note the container's id and all evidence for ``capture``."""
    look.sources["container"] = "files"
    if "REPRO_ENV_IMAGE_DIGEST" in system.environ and not is_digest(system.environ["REPRO_ENV_IMAGE_DIGEST"]):
        look.failed("container.image_digest", "failed", "REPRO_ENV_IMAGE_DIGEST holds no sha256:<64 hex digits>")
    pieces = evidence.collect(system, look)
    look.circumstances["image_evidence"] = pieces
    mounts = _quiet_text(system, "/proc/self/mountinfo", _MOUNT_LIMIT)
    engine = find_engine(system)
    look.circumstances["container_id"] = None if engine is None else container_id(system, look, engine, mounts)
    look.sources["capture.container_id"] = "proc"
    _note_plugin(look, engine, mounts)
    if engine is None:
        return dict.fromkeys(("engine", *_FACTS, "learned"))
    return {"engine": engine, **_identities(pieces, look)}


def _identities(pieces: list[dict[str, str]], look: Look) -> dict[str, Any]:
    """Return the facts that follow from the evidence, and how the digest was learned."""
    facts: dict[str, Any] = {}
    learned: Any = unread("not-reported")
    for what in _FACTS:
        best = _best([piece for piece in pieces if piece["what"] == what and _is_portable(piece)])
        facts[what] = _agreed(what, best, look)
        if best and is_captured(facts[what]):
            look.sources[f"container.{what}"] = "variable" if best[0]["trust"] == "claimed" else "files"
            if what == "image_digest":
                learned = _LEARNED[best[0]["trust"]]
    return {**facts, "learned": learned}


def _is_portable(piece: dict[str, str]) -> bool:
    """Tell whether a piece means the same on every host: a file of an image is where somebody put it."""
    return piece["what"] != "image_reference" or bool(evidence.plain_reference(piece["value"]))


def _best(pieces: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the pieces of the highest trust."""
    highest = max((TRUST.index(piece["trust"]) for piece in pieces), default=0)
    return [piece for piece in pieces if TRUST.index(piece["trust"]) == highest]


def _agreed(what: str, pieces: list[dict[str, str]], look: Look) -> Any:
    """Return what equally trusted pieces agree on; where they contradict each other nobody can choose."""
    if not pieces:
        return unread("not-reported")
    if len({piece["value"] for piece in pieces}) == 1:
        return pieces[0]["value"]
    sources = " and ".join(sorted({piece["source"] for piece in pieces}))
    return look.failed(f"container.{what}", "failed", f"{sources} contradict each other, and one is trusted no more "
                       "than the other; capture.image_evidence holds what they say")


def find_engine(system: System) -> Any:
    """Return the container engine; ``None`` when no marker, no control group and no root file system shows one."""
    environ = system.environ
    for name, engine in _VARIABLES:
        if environ.get(name):
            return engine
    if environ.get("SHIFTER_RUNTIME") and environ.get("SHIFTER_IMAGEREQUEST"):
        return "shifter"
    # An image that was made from a container may still carry that one's mark: the marks of Docker come last.
    marked = _left_by(system, _FILES) or ("enroot" if _is_enroot(system) else None) or _left_by(system, _LATER_FILES)
    return marked or _engine_of_process(system)


def _left_by(system: System, files: tuple[tuple[str, str], ...]) -> str | None:
    return next((engine for path, engine in files if system.exists(path)), None)


def _is_enroot(system: System) -> bool:
    try:
        return evidence.enroot_script(system) is not None
    except OSError:
        return False


def _engine_of_process(system: System) -> Any:
    """Return the engine by control group and root of the process; its presence may show without its name."""
    try:
        groups = system.read_text("/proc/1/cgroup")
        mounts = system.read_text("/proc/self/mountinfo", _MOUNT_LIMIT)
    except OSError:
        return unread("not-reported")
    for mark, engine in _GROUP_MARKS:
        if mark in groups:
            return engine
    if any("/nerdctl/" in root for _, root in _mounted(mounts)):
        return "containerd"
    named = system.environ.get("container")
    if named in ("podman", "docker"):
        return named
    return unread("not-reported") if named or root_is_overlay(mounts) else None


def root_is_overlay(mounts: str) -> bool:
    """Tell whether the root of /proc/self/mountinfo is an overlay, which an engine of unknown name may have made."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 6 and fields[4] == "/" and " - " in line:
            return line.split(" - ", 1)[1].startswith(("overlay", "fuse-overlayfs"))
    return False


def container_id(system: System, look: Look, engine: Any, mounts: str) -> Any:
    """Return the id of the container as its engine calls it; unread where nothing, or two things, tell it."""
    if engine == "enroot":
        name = root_of(mounts, "/").rpartition("/")[2]
        return name or unread("not-reported")
    told = {*_group_ids(_quiet_text(system, "/proc/self/cgroup")), *_mount_ids(mounts)}
    try:
        told.update(filter(is_hex, [evidence.containerenv(system).get("id", "")]))
    except OSError:
        look.failed("capture.container_id", "denied", "/run/.containerenv could not be read")
    if len(told) > 1:
        return look.failed("capture.container_id", "failed", "control group and mounts name different containers, as "
                           "they do in a container within a container")
    return told.pop() if told else unread("not-reported")


def _group_ids(groups: str) -> set[str]:
    """Return the ids at the end of control group paths: bare, or as ``docker-<id>.scope``."""
    found = set()
    for line in groups.splitlines():
        for step in reversed(line.split("/")[1:]):
            word = step.partition(".")[0].replace(":", "-").rpartition("-")[2]
            if is_hex(word):
                found.add(word)
                break
    return found


def _mount_ids(mounts: str) -> set[str]:
    """Return the id in the source of the container's own files.

    A container that shares another one's network has the other one's ``hosts`` and ``resolv.conf``, so these do not
    count; neither does the sandbox of a pod.
    """
    for point in ("/run/.containerenv", "/etc/hostname"):
        steps = root_of(mounts, point).split("/")
        found = {step for before, step in zip(steps, steps[1:]) if is_hex(step) and before != "sandboxes"}
        if found:
            return found
    return set()


def root_of(mounts: str, point: str) -> str:
    """Return the folder of its file system that is mounted at ``point``; empty where nothing is."""
    return next((root for place, root in _mounted(mounts) if place == point), "")


def _mounted(mounts: str) -> list[tuple[str, str]]:
    rows = (line.split() for line in mounts.splitlines())
    return [(fields[4], fields[3]) for fields in rows if len(fields) > 6]


def _note_plugin(look: Look, engine: Any, mounts: str) -> None:
    """Note how a scheduler came to put this process into a container, where that shows inside it."""
    if engine is None:
        look.circumstances[PLUGIN] = None
    elif engine == "enroot" and root_of(mounts, "/").rpartition("/")[2].startswith("pyxis_"):
        look.circumstances[PLUGIN] = "pyxis"


def _quiet_text(system: System, path: str, limit: int = 16384) -> str:
    try:
        return system.read_text(path, limit)
    except OSError:
        return ""

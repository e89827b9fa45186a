"""Section ``container``: the engine by its markers, and what the launcher claims of the image."""

from __future__ import annotations

from ..fingerprint.facts import unread
from ..variables import without_credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_GROUP_MARKS = (("kubepods", "kubernetes"), ("/docker", "docker"), ("libpod", "podman"), ("containerd", "containerd"),
                ("enroot", "enroot"))


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the engine, and image reference and digest as far as a launcher told them through variables."""
    engine = find_engine(system)
    look.sources["container"] = "files"
    if engine is None:
        return dict.fromkeys(("engine", "image_reference", "image_digest", "image_key", "learned"))
    silent = unread("not-reported")
    environ = system.environ
    reference = environ.get("REPRO_ENV_IMAGE") or environ.get("APPTAINER_CONTAINER") or environ.get(
        "SINGULARITY_CONTAINER")
    claimed = environ.get("REPRO_ENV_IMAGE_DIGEST", "")
    if claimed and not is_digest(claimed):
        look.failed("container.image_digest", "failed", "REPRO_ENV_IMAGE_DIGEST holds no sha256:<64 hex digits>")
        claimed = ""
    for fact, value in (("image_reference", reference), ("image_digest", claimed)):
        if value:
            look.sources[f"container.{fact}"] = "variable"
    return {
        "engine": engine, "image_reference": without_credentials(reference) if reference else silent,
        "image_digest": claimed or silent, "image_key": silent, "learned": "claimed" if claimed else silent,
    }


def find_engine(system: System) -> Any:
    """Return the container engine; ``None`` when no marker, no control group and no root file system shows one."""
    environ = system.environ
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if environ.get("APPTAINER_CONTAINER") or environ.get("SINGULARITY_CONTAINER") or system.exists("/.singularity.d"):
        return "apptainer"
    if environ.get("ENROOT_ROOTFS") or system.exists("/etc/enroot/environ"):
        return "enroot"
    for path, engine in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if system.exists(path):
            return engine
    try:
        groups = system.read_text("/proc/1/cgroup")
        mounts = system.read_text("/proc/self/mountinfo", 16384)
    except OSError:
        return unread("not-reported")
    for mark, engine in _GROUP_MARKS:
        if mark in groups:
            return engine
    return unread("not-reported") if root_is_overlay(mounts) else None


def root_is_overlay(mounts: str) -> bool:
    """Tell whether the root of /proc/self/mountinfo is an overlay, which an engine of unknown name may have made."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 6 and fields[4] == "/" and " - " in line:
            return line.split(" - ", 1)[1].startswith(("overlay", "fuse-overlayfs"))
    return False


def is_digest(text: str) -> bool:
    """Tell whether ``text`` is ``sha256:`` and 64 hexadecimal digits."""
    kind, _, digits = text.partition(":")
    return kind == "sha256" and len(digits) == 64 and all(digit in "0123456789abcdef" for digit in digits)

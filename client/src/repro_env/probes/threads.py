"""Section ``threads``, as far as it can be told from outside: affinity and the CPU quota of the control group.

Effective counts are fixed only after the first step of a program, so here they are unread ``too-early``.
"""

from __future__ import annotations

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the processors this process may use and its CPU quota; everything else is too early to know."""
    early = unread("too-early")
    look.sources["threads"] = "proc"
    return {
        "torch_intraop": early, "torch_interop": early, "openmp": early, "mkl": early, "blas_pools": early,
        "affinity_count": affinity_count(system), "cgroup_limit_millicpu": cgroup_limit(system),
        "openmp_pools": early, "tensorflow_intraop": early, "tensorflow_interop": early, "scikit_learn": early,
    }


def affinity_count(system: System) -> Any:
    """Return how many processors this process may run on."""
    try:
        return len(system.affinity())
    except OSError:
        return unread("not-reported")


def cgroup_limit(system: System) -> Any:
    """Return the tightest CPU quota of this process in thousandths of a processor; ``None`` when unlimited.

    Version 2 keeps ``cpu.max`` in every group up to the root, version 1 ``cpu.cfs_quota_us`` under the cpu
    controller. A group whose files cannot be found is unread: a container may hide the files that hold its limit.
    """
    try:
        groups = system.read_text("/proc/self/cgroup")
    except OSError:
        return unread("not-reported")
    folders = quota_folders(groups)
    if not folders:
        return unread("not-reported")
    limits: list[int] = []
    seen = False
    for folder in folders:
        for read in (_quota_v2, _quota_v1):
            found, limit = read(system, folder)
            seen = seen or found
            limits.extend([limit] if limit is not None else [])
    if limits:
        return min(limits)
    if seen or (set(folders) <= _ROOTS and any(system.is_dir(folder) for folder in folders)):
        return None
    return unread("not-reported")


_ROOTS = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"}


def quota_folders(groups: str) -> list[str]:
    """Return the folders that may hold a quota, from the process's own group up to the root, for /proc/self/cgroup."""
    folders: list[str] = []
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        names = controllers.split(",")
        if not controllers:
            roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        elif "cpu" in names:
            roots = ["/sys/fs/cgroup/" + controllers, "/sys/fs/cgroup/cpu"]
        else:
            continue
        for root in dict.fromkeys(roots):
            folders.extend(root + step for step in _upward(path))
    return list(dict.fromkeys(folders))


def _upward(path: str) -> list[str]:
    """Return ``path`` and its parents, the root of the tree as an empty text."""
    steps = [] if ".." in path.split("/") else [part for part in path.split("/") if part]
    return ["/" + "/".join(steps[:count]) for count in range(len(steps), 0, -1)] + [""]


def _quota_v2(system: System, folder: str) -> tuple[bool, int | None]:
    try:
        quota, _, period = system.read_text(folder + "/cpu.max", 64).strip().partition(" ")
    except OSError:
        return False, None
    return True, None if quota == "max" else _millicpu(quota, period)


def _quota_v1(system: System, folder: str) -> tuple[bool, int | None]:
    try:
        quota = system.read_text(folder + "/cpu.cfs_quota_us", 64).strip()
        period = system.read_text(folder + "/cpu.cfs_period_us", 64).strip()
    except OSError:
        return False, None
    return True, None if quota.startswith("-") else _millicpu(quota, period)


def _millicpu(quota: str, period: str) -> int:
    return int(quota) * 1000 // max(1, int(period or "100000"))

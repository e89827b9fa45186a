"""Where a file lies, in words that are equal on two machines: container, wheel, conda, system, user.

A path itself never enters a stack: it names a user, a node or a build folder.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..system import System

SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/", "/opt/rocm", "/opt/intel/", "/opt/nvidia/", "/opt/hpcx/", "/opt/amazon/",
                  "/opt/mellanox/", "/opt/aws/", "/nix/store/", "/gnu/store/", "/System/Library/")
#: folder of Apptainer for the host's libraries, and the one that Kubernetes mounts on its nodes.
_APPTAINER, _KUBERNETES = "/.singularity.d/libs/", "/usr/local/nvidia"
_SITE = ("/site-packages", "/dist-packages")


class Places:
    """The folders of one environment, told apart."""

    def __init__(self, system: System, prefixes: Iterable[str], path: Iterable[str]) -> None:
        self.system = system
        self.conda = [real for real in map(system.realpath, prefixes) if system.is_dir(f"{real}/conda-meta")]
        self.sites = [folder for folder in map(system.realpath, path) if folder.endswith(_SITE)]
        home, base = system.environ.get("HOME"), system.environ.get("PYTHONUSERBASE")
        base = base or os.path.join(home or "/nowhere", ".local")
        self.user = system.realpath(base) + "/lib/python"  #: start of the user's own site folder
        self._mounts: frozenset[str] | None = None

    def of(self, path: str) -> str:
        """Return the class of a file, given by its path with all links followed."""
        if path.startswith(self.user):
            return "user"
        if any(path.startswith(folder + "/") for folder in self.sites) and not path.startswith("/usr/lib/python3/"):
            return "wheel"
        if any(path.startswith(prefix + "/") for prefix in self.conda):
            return "conda"
        if path in self.mounts() or self._injected(path):
            return "container"
        return "system" if path.startswith(SYSTEM_FOLDERS) else "user"

    def mounts(self) -> frozenset[str]:
        """Return what something is mounted on in this process; a file among them came from outside the container."""
        if self._mounts is None:
            try:
                self._mounts = mount_points(self.system.read_text("/proc/self/mountinfo", 1 << 20))
            except OSError:
                self._mounts = frozenset()
        return self._mounts

    def _injected(self, path: str) -> bool:
        return path.startswith(_APPTAINER) or (path.startswith(_KUBERNETES + "/") and any(
            point.startswith(_KUBERNETES) for point in self.mounts()))


def mount_points(text: str) -> frozenset[str]:
    """Return the fifth field of each line of ``mountinfo``; blanks in it are written as octal numbers."""
    fields = (line.split(" ", 5) for line in text.splitlines())
    return frozenset(parts[4].replace("\\040", " ").replace("\\011", "\t") for parts in fields if len(parts) > 5)

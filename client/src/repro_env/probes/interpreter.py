"""Section ``python``, and which interpreter's environment a capture looks at.

A prologue finds the interpreter that the job will start and reads its environment from files, without starting it.
"""

from __future__ import annotations

import os

from ..errors import ProbeFailed
from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look


class Interpreter:
    """An interpreter and the folders its distributions lie in, in the order of its path."""

    __slots__ = ("base_prefix", "environment", "own", "path", "prefix", "short", "version")

    def __init__(self, *, prefix: str, base_prefix: str, short: str, version: str | None, environment: str,
                 path: list[str], own: dict[str, Any] | None) -> None:
        self.prefix = prefix
        self.base_prefix = base_prefix
        self.short = short
        self.version = version
        self.environment = environment
        self.path = path
        self.own = own


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return version, implementation, compiler and kind of environment of the interpreter looked at."""
    found = look.interpreter
    silent = unread("not-reported")
    own = found.own
    look.sources["python"] = "interpreter" if own else "files"
    return {
        "version": found.version or silent,
        "implementation": own["implementation"] if own else _implementation(found),
        "compiler": compiler(own["text"]) if own else silent,
        "free_threaded": own["free_threaded"] if own else found.short.endswith("t"),
        "environment": found.environment,
    }


def compiler(text: str) -> Any:
    """Return the compiler named in brackets in ``sys.version``."""
    _, _, rest = text.partition("[")
    return rest.partition("]")[0].strip() or unread("not-reported")


def _implementation(found: Interpreter) -> str:
    return "pypy" if found.short.startswith("pypy") else "cpython"


def locate(system: System, python: str | None, *, in_process: bool) -> Interpreter:
    """Return the interpreter to look at: the running one in a process, else ``python`` or the first on PATH.

    Raise ``ProbeFailed`` where the name leads to no interpreter whose environment can be found in files.
    """
    own = system.interpreter()
    if in_process:
        return running(system, own)
    executable = find_executable(system, python) or own["executable"]
    folder = os.path.dirname(os.path.abspath(executable))
    prefix = os.path.dirname(folder)
    try:
        settings = key_values(system.read_text(os.path.join(prefix, "pyvenv.cfg")))
    except OSError:
        return installed(system, executable, own)
    return virtual(system, prefix, settings, own)


def running(system: System, own: dict[str, Any]) -> Interpreter:
    """Return the interpreter of this process, with its path as it stands."""
    path = [folder for folder in own["search_path"] if folder and system.is_dir(folder)]
    return Interpreter(prefix=own["prefix"], base_prefix=own["base_prefix"], short=short_version(own["version"]),
                       version=own["version"], environment=_kind(system, own["prefix"], own["base_prefix"]),
                       path=path, own=own)


def find_executable(system: System, python: str | None) -> str | None:
    """Return the interpreter named, or the first ``python`` or ``python3`` on PATH, through pyenv's shims."""
    if python is not None:
        found = system.executable(python)
        if found is None:
            raise ProbeFailed("failed", "the interpreter named by --python was not found or cannot be started")
    else:
        found = system.executable("python") or system.executable("python3")
    return behind_shim(system, found) if found and "/shims/" in found else found


def behind_shim(system: System, shim: str) -> str:
    """Return the interpreter that pyenv would start for its shim: PYENV_VERSION, .python-version, then global."""
    root = shim.partition("/shims/")[0]
    chosen = system.environ.get("PYENV_VERSION", "")
    folders = []
    if not chosen:
        step = system.working_folder()
        while step not in folders:
            folders.append(step)
            step = os.path.dirname(step)
    for path in [*(os.path.join(folder, ".python-version") for folder in folders), os.path.join(root, "version")]:
        if chosen:
            break
        try:
            chosen = system.read_text(path, 4096)
        except OSError:
            continue
    for name in chosen.replace(":", " ").split():
        path = os.path.join(root, "versions", name, "bin", "python")
        if system.exists(path):
            return path
    raise ProbeFailed("not-reported", "pyenv's shim leads to no installed interpreter; name one with --python")


def virtual(system: System, prefix: str, settings: dict[str, str], own: dict[str, Any]) -> Interpreter:
    """Return the interpreter of a virtual environment as its ``pyvenv.cfg`` tells it."""
    version = settings.get("version_info") or settings.get("version") or ""
    version = ".".join(version.split(".")[:3])
    short = _library_version(system, prefix) or short_version(version)
    base = os.path.dirname(settings.get("home", "")) or own["base_prefix"]
    path = _site_folders(prefix, short)
    if settings.get("include-system-site-packages", "false").lower() == "true":
        path += [*_user_folders(system, short), *_site_folders(system.realpath(base), short)]
    same = _same(system, prefix, own)
    return Interpreter(prefix=prefix, base_prefix=base, short=short, version=own["version"] if same else version,
                       environment="venv", path=_existing(system, path), own=own if same else None)


def installed(system: System, executable: str, own: dict[str, Any]) -> Interpreter:
    """Return an interpreter that is no virtual environment: of a system, of conda, or built by hand."""
    real = system.realpath(executable)
    prefix = os.path.dirname(os.path.dirname(real))
    short = short_version(os.path.basename(real).lower().replace("python", "", 1)) or _library_version(system, prefix)
    if not short:
        raise ProbeFailed("failed", "the interpreter's library folder was not found beside it; name another "
                                    "interpreter with --python")
    same = own["prefix"] == own["base_prefix"] and _same(system, prefix, own)
    path = [*_user_folders(system, short), *_site_folders(prefix, short)]
    version = own["version"] if same else _header_version(system, prefix, short)
    return Interpreter(prefix=prefix, base_prefix=prefix, short=short, version=version,
                       environment=_kind(system, prefix, prefix), path=_existing(system, path),
                       own=own if same else None)


def key_values(text: str) -> dict[str, str]:
    """Return the lines ``key = value`` of a ``pyvenv.cfg``, keys in lower case."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def short_version(version: str) -> str:
    """Return ``3.11`` of ``3.11.7`` (``3.13t`` stays); empty where there is no minor version."""
    parts = version.split(".")
    return ".".join(parts[:2]) if len(parts) >= 2 and parts[0].isdigit() and parts[1][:1].isdigit() else ""


def _same(system: System, prefix: str, own: dict[str, Any]) -> bool:
    return system.realpath(prefix) == system.realpath(own["prefix"])


def _kind(system: System, prefix: str, base_prefix: str) -> str:
    if system.is_dir(os.path.join(prefix, "conda-meta")):
        return "conda"
    return "venv" if prefix != base_prefix else "system"


def _library_version(system: System, prefix: str) -> str:
    """Return the version in the name of the only ``lib/python*`` below ``prefix``, empty when it does not decide."""
    try:
        names = [name for name in system.list_dir(f"{prefix}/lib") if name.startswith(("python3.", "pypy3."))]
    except OSError:
        return ""
    return short_version(names[0].replace("python", "", 1)) if len(names) == 1 else ""


def _header_version(system: System, prefix: str, short: str) -> str | None:
    """Return the full version from the interpreter's own header, or its conda record."""
    try:
        text = system.read_text(f"{prefix}/include/python{short}/patchlevel.h")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("#define PY_VERSION "):
            return line.split('"')[1] if line.count('"') == 2 else None
    return None


def _site_folders(prefix: str, short: str) -> list[str]:
    folders = [f"{prefix}/lib/python{short}/site-packages", f"{prefix}/lib64/python{short}/site-packages"]
    if prefix == "/usr":
        major = short.partition(".")[0]
        folders = [f"/usr/local/lib/python{short}/dist-packages", f"/usr/lib/python{major}/dist-packages",
                   f"/usr/local/lib/python{short}/site-packages", *folders]
    return folders


def _user_folders(system: System, short: str) -> list[str]:
    environ = system.environ
    base = environ.get("PYTHONUSERBASE") or (os.path.join(environ["HOME"], ".local") if environ.get("HOME") else "")
    return [f"{base}/lib/python{short}/site-packages"] if base and not environ.get("PYTHONNOUSERSITE") else []


def _existing(system: System, folders: list[str]) -> list[str]:
    """Return PYTHONPATH and the site folders that exist, each once, with the folders their ``.pth`` files add."""
    given = [folder for folder in system.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    path: dict[str, None] = dict.fromkeys(folder for folder in given if system.is_dir(folder))
    real: set[str] = set()
    for folder in folders:
        resolved = system.realpath(folder)
        if resolved in real or not system.is_dir(folder):
            continue
        real.add(resolved)
        path[folder] = None
        path.update(dict.fromkeys(_added(system, folder)))
    return list(path)


def _added(system: System, folder: str) -> list[str]:
    """Return the folders that ``.pth`` files in ``folder`` put on the path; lines of code are not run."""
    added = []
    for name in system.list_dir(folder):
        if not name.endswith(".pth"):
            continue
        try:
            lines = system.read_text(os.path.join(folder, name)).splitlines()
        except OSError:
            continue
        for line in map(str.strip, lines):
            target = os.path.join(folder, line)
            if line and not line.startswith(("#", "import ", "import\t")) and system.is_dir(target):
                added.append(target)
    return added

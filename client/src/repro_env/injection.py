"""How an observed program's children come to be observed too, while the program itself sees nothing of it.

Two variables carry it: our folder in front of PYTHONPATH, and ``REPRO_ENV_INJECT`` with the settings of the run.
``os.environ`` never shows them; children get them from the C environment, or, where the program hands an environment
over (as launchers do), from the one place where processes are started.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

VARIABLE = "REPRO_ENV_INJECT"
RUN_ID = "REPRO_ENV_RUN_ID"
#: before the name of a setting that came from the environment: what the program's own environment says stands above.
INHERITED = "env:"
#: before the name of a value that the user declared, and before the path of a working tree.
DECLARED, DIFFERENCE = "declare:", "git:"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
_RANK_NAMES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def pack(values: Mapping[str, str]) -> str:
    """Return ``values`` as one text without line breaks in names or values."""
    return "\n".join(f"{name}={_escape(value)}" for name, value in sorted(values.items()))


def unpack(packed: str) -> dict[str, str]:
    """Return what ``pack`` was given."""
    pairs = (line.partition("=") for line in packed.split("\n"))
    return {name: value.replace("%0a", "\n").replace("%25", "%") for name, equals, value in pairs if equals}


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace("\n", "%0a")


def under(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the values whose names begin with ``prefix``, without it."""
    return {name[len(prefix):]: value for name, value in values.items() if name.startswith(prefix)}


def difference(facts: Mapping[str, Any]) -> str | None:
    """Return the state of a working tree as one text: a digest, empty when clean; ``None`` where it was not read."""
    dirty = facts.get("dirty")
    return str(facts["diff_digest"] or "") if isinstance(dirty, bool) else None


def differences(values: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the states of working trees that ``difference`` made texts of, by path."""
    return {top: {"dirty": bool(text), "diff_digest": text or None} for top, text in under(values, DIFFERENCE).items()}


def tell_children(run_id: str | None) -> None:
    """Tell processes that are started from now on which run they belong to; ``None``: none, from now on.

    The program's own ``os.environ`` does not show it.
    """
    if RUN_ID in os.environ:
        return
    if run_id is None:
        os.unsetenv(RUN_ID)
    else:
        os.putenv(RUN_ID, run_id)


def python_path(current: str | None, folder: str = FOLDER) -> str:
    """Return PYTHONPATH with our folder in front; an unset one differs from an empty one, and both can be restored."""
    return folder if current is None else folder + os.pathsep + current


def inject(environ: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a Python program is observed."""
    return {**environ, "PYTHONPATH": python_path(environ.get("PYTHONPATH")), VARIABLE: pack(values)}


class Children:
    """Gives every child process the injection, without the program's ``os.environ`` showing it."""

    def __init__(self, values: dict[str, str], folder: str) -> None:
        self.folder = folder
        self.packed = pack({**values, "parent": str(os.getpid()), "rank": rank_text(os.environ)})
        self.starts_ranks = False  #: this process launches the ranks of a job: it is no rank itself
        self._exported: str | None = None

    def begin(self) -> None:
        """Export to the C environment, and stand where processes are started with an environment of their own."""
        self._export()
        import _posixsubprocess

        original = _posixsubprocess.fork_exec

        def fork_exec(*arguments: Any) -> int:
            """Start a process; the sixth argument is its environment, or ``None`` to inherit."""
            return original(*self._fork_arguments(arguments))

        _posixsubprocess.fork_exec = fork_exec
        if "subprocess" in sys.modules and hasattr(sys.modules["subprocess"], "_fork_exec"):
            sys.modules["subprocess"]._fork_exec = fork_exec  # type: ignore[attr-defined]  # its own private name
        for name in ("execve", "posix_spawn", "posix_spawnp"):
            if hasattr(os, name):
                setattr(os, name, self._with_environment(getattr(os, name)))

    def _fork_arguments(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(arguments) < 6 or not (arguments[5] is None or isinstance(arguments[5], list)):
            return arguments
        return (*arguments[:5], self.entries(arguments[5]), *arguments[6:])

    def entries(self, environment: list[bytes] | None) -> list[bytes] | None:
        """Return a process environment (``NAME=value`` in bytes) with the injection; ``None`` inherits the export."""
        if environment is None:
            self._export()
            return None
        values = dict(item.split(b"=", 1) for item in environment if b"=" in item)
        self._notice({os.fsdecode(name) for name in values})
        current = values.get(b"PYTHONPATH")
        path = python_path(None if current is None else os.fsdecode(current), self.folder)
        kept = [item for item in environment if not item.startswith((b"PYTHONPATH=", VARIABLE.encode() + b"="))]
        return [*kept, b"PYTHONPATH=" + os.fsencode(path), os.fsencode(f"{VARIABLE}={self.packed}")]

    def _with_environment(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``original(path, argv, env, ...)`` with the injection added to a copy of the environment."""
        def start(path: Any, argv: Any, env: Any, **options: Any) -> Any:
            return original(path, argv, self._mapping(env), **options)

        start.__name__ = start.__qualname__ = original.__name__
        start.__doc__ = original.__doc__
        return start

    def _mapping(self, env: Any) -> Any:
        """Return a copy of ``env`` with the injection; what is no environment of texts is left to fail as it would."""
        try:
            texts = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
        except (AttributeError, TypeError):
            return env
        self._notice(set(texts))
        return {**texts, "PYTHONPATH": python_path(texts.get("PYTHONPATH"), self.folder), VARIABLE: self.packed}

    def _notice(self, names: set[str]) -> None:
        self.starts_ranks = self.starts_ranks or any(
            name in names and name not in os.environ for name in _RANK_NAMES)

    def _export(self) -> None:
        """Put the injection into the C environment where the program has changed PYTHONPATH since."""
        path = python_path(os.environ.get("PYTHONPATH"), self.folder)
        if path != self._exported:
            os.putenv("PYTHONPATH", path)
            os.putenv(VARIABLE, self.packed)
            self._exported = path


def rank_text(environ: Mapping[str, str]) -> str:
    """Return the rank a launcher announced, as text; empty where none did."""
    return next((environ[name] for name in _RANK_NAMES if name in environ), "")


def is_child(values: Mapping[str, str]) -> bool:
    """Tell whether this process is a mere child of an observed one: not the program itself, nor a rank of its own."""
    parent = values.get("parent")
    if parent is None or parent == str(os.getpid()):
        return False
    return rank_text(os.environ) == values.get("rank", "")

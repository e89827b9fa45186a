"""Settings: a flag, else a ``REPRO_ENV_*`` variable, else ``reproenv.toml`` or ``[tool.repro-env]`` of pyproject.toml.

Owns which settings there are, where they come from, and the words about one that is wrong. A wrong value never stops
a job's prologue: it is reported in ``warnings`` and the next source counts.
"""

from __future__ import annotations

import os
import sys

from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FILE, PYPROJECT, TABLE = "reproenv.toml", "pyproject.toml", "tool.repro-env"
#: seconds for a capture and its delivery in all.
TIMEOUT_S = 2.0
MAX_TIMEOUT_S = 600.0
#: a settings file is searched in this many folders upwards, and is at most this long.
SEARCH_DEPTH = 16
FILE_LIMIT = 1 << 18
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"expected text, got {value!r}")
    if not value.isprintable():
        raise UsageError("expected text without control characters")
    return value


def _name(value: Any) -> str:
    from .variables import is_token

    text = _text(value)
    if is_token(text):
        raise UsageError("expected a name, got a text that has the shape of a credential; names are stored for others "
                         "to read")
    if len(text) > 128 or not text[:1].isalnum() or not _NAME_CHARACTERS.issuperset(text):
        raise UsageError("expected a name of at most 128 letters, digits and . _ : @ + - that begins with a letter or "
                         f"digit, got {text!r}")
    return text


def _seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 < number <= MAX_TIMEOUT_S:
        raise UsageError(f"expected seconds above 0 and at most {MAX_TIMEOUT_S:.0f}, got {value!r}")
    return number


def _labels(value: Any) -> dict[str, str]:
    """Return labels from a table, or from ``k=v`` texts (a variable separates them by commas)."""
    if isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, dict):
        value = [f"{name}={_text(item)}" for name, item in value.items()]
    if not isinstance(value, list):
        raise UsageError(f'expected a table of texts, as in [labels] with owner = "team-a", got {value!r}')
    return dict(map(label, value))


def _watch(value: Any) -> tuple[str, ...]:
    """Return what to watch, from a list or from names separated by commas."""
    from .watchers import NAMES

    told = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    names = [item.strip() for text in told for item in str(text).split(",")]
    if not all(name in NAMES for name in names if name):
        raise UsageError(f"expected {' or '.join(NAMES)}, or several separated by commas, got {value!r}")
    return tuple(name for name in names if name)


def _masks(value: Any) -> tuple[str, ...]:
    """Return which names to mask, from a list or from words separated by commas."""
    from .names import KINDS

    kinds = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
    if not isinstance(kinds, (list, tuple)) or not all(kind in KINDS for kind in kinds):
        raise UsageError(f"expected {', '.join(KINDS)}, or one of them, got {value!r}")
    return tuple(kinds)


def label(text: str) -> tuple[str, str]:
    """Return name and value of ``k=v``; raise ``UsageError`` for anything else, and for what looks like a secret."""
    from .variables import looks_secret

    name, equals, value = text.partition("=")
    if looks_secret(text) or looks_secret(value):
        raise UsageError("expected no credentials, got a text that has the shape of one; labels and declarations are "
                         "stored for others to read")
    if not equals or not name or len(name) > 128 or not name.isascii() or not text.isprintable():
        raise UsageError(f"expected k=v with an ASCII name, as in owner=team-a, got {text!r}")
    return name, value


#: setting -> how its value is read.
READERS: dict[str, Callable[[Any], Any]] = {
    "server": _text, "token": _text, "project": _name, "group": _name, "run_id": _name, "labels": _labels,
    "timeout_s": _seconds, "spool": _text, "python": _text, "watch": _watch,
    "mask": _masks, "mask_key": _text,
}
#: settings that are never shown nor handed on.
SECRET = ("token", "mask_key")
#: what a settings file may hold; a run id belongs to one run.
FILE_KEYS = tuple(name for name in READERS if name != "run_id")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"REPRO_ENV_{name.upper()}"


class Settings:
    """The settings in force. ``sources`` says which source set each: flag, variable, or the path of a file."""

    __slots__ = ("group", "labels", "mask", "mask_key", "project", "python", "run_id", "server", "sources", "spool",
                 "timeout_s", "token", "warnings", "watch")

    def __init__(self) -> None:
        self.server: str | None = None
        self.token: str | None = None
        self.project: str | None = None
        self.group: str | None = None
        self.run_id: str | None = None
        self.labels: dict[str, str] = {}
        self.timeout_s: float = TIMEOUT_S
        self.spool: str | None = None
        self.python: str | None = None
        self.watch: tuple[str, ...] = ()
        self.mask: tuple[str, ...] = ()  #: names of people and machines that become pseudonyms
        self.mask_key: str = ""
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []

    def variables(self) -> dict[str, str]:
        """Return the settings as the variables that would set them, for a child process; secrets are left out."""
        values = {variable(name): getattr(self, name) for name in self.sources
                  if name not in (*SECRET, "labels", "watch", "mask")}
        if "labels" in self.sources:
            values["REPRO_ENV_LABELS"] = ",".join(f"{name}={value}" for name, value in self.labels.items())
        if "watch" in self.sources:
            values["REPRO_ENV_WATCH"] = ",".join(self.watch)
        if "mask" in self.sources:
            values["REPRO_ENV_MASK"] = ",".join(self.mask)
        return {name: str(value) for name, value in values.items()}

    def __repr__(self) -> str:
        shown = {name: "(set)" if name in SECRET else getattr(self, name) for name in self.sources}
        return f"Settings({shown})"


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, folder: str | None = None,
         *, tolerant: bool = False) -> Settings:
    """Return the settings in force for ``folder`` (default: the working folder).

    A variable or file that is wrong is reported in ``warnings``; a flag that is wrong raises ``UsageError``, unless
    ``tolerant``.
    """
    environ = os.environ if environ is None else environ
    settings = Settings()
    _apply_file(settings, folder)
    for name in READERS:
        value = environ.get(variable(name))
        if value:
            _apply(settings, name, value, "variable", variable(name))
    for name, value in (flags or {}).items():
        if name in READERS and value:
            _apply_flag(settings, name, value, tolerant=tolerant)
    return settings


def _apply_flag(settings: Settings, name: str, value: Any, *, tolerant: bool) -> None:
    try:
        _set(settings, name, value, "flag")
    except UsageError as error:
        if not tolerant:
            raise UsageError(f"--{flag_name(name)}: {error}") from error
        settings.warnings.append(f"--{flag_name(name)}: {error}; it is not used")


def flag_name(name: str) -> str:
    """Return the flag of a setting, without dashes."""
    return {"timeout_s": "timeout", "labels": "label"}.get(name, name.replace("_", "-"))


def _apply(settings: Settings, name: str, value: Any, source: str, where: str) -> None:
    try:
        _set(settings, name, value, source)
    except UsageError as error:
        told = "the value is wrong" if name in SECRET else str(error)
        outcome = "it is not used"
        if name == "mask":
            from .names import KINDS

            settings.mask = KINDS  # names that were meant to be hidden stay hidden
            outcome = "all names are masked"
        settings.warnings.append(f"{where}: {told}; {outcome}")


def _set(settings: Settings, name: str, value: Any, source: str) -> None:
    """Set one value; labels of a stronger source are added to those of a weaker one."""
    read = READERS[name](value)
    setattr(settings, name, {**settings.labels, **read} if name == "labels" else read)
    settings.sources[name] = source


def _apply_file(settings: Settings, folder: str | None) -> None:
    try:
        path = find(os.getcwd() if folder is None else folder)
        if path is None:
            return
        table = _read_table(path)
    except OSError as error:
        settings.warnings.append(f"the settings file could not be read ({error.strerror}); it is not used")
        return
    except UsageError as error:
        settings.warnings.append(f"{error}; the file is not used")
        return
    for name, value in table.items():
        if name in FILE_KEYS:
            place = name == "spool" and isinstance(value, str)
            meant = os.path.join(os.path.dirname(path), os.path.expanduser(value)) if place else value
            _apply(settings, name, meant, path, f"{path}: {name}")
        else:
            settings.warnings.append(f"{path}: unknown setting {name!r}; {_suggestion(name)}")


def _suggestion(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name.replace("-", "_"), FILE_KEYS, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(FILE_KEYS)}"


def find(folder: str) -> str | None:
    """Return the nearest settings file from ``folder`` upwards; a pyproject.toml counts if it has our table."""
    folder = os.path.abspath(folder)
    for _ in range(SEARCH_DEPTH):
        own = os.path.join(folder, FILE)
        if os.path.isfile(own):
            return own
        shared = os.path.join(folder, PYPROJECT)
        if os.path.isfile(shared) and _has_table(shared):
            return shared
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return None


def _has_table(path: str) -> bool:
    try:
        return f"[{TABLE}" in _read_text(path)
    except (OSError, UsageError):
        return False


def _read_text(path: str) -> str:
    with open(path, "rb") as file:
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise UsageError(f"{path}: expected at most {FILE_LIMIT} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected UTF-8, got another encoding at byte {error.start}") from error


def _read_table(path: str) -> dict[str, Any]:
    """Return our settings from a TOML file; raise ``UsageError`` naming the line that is wrong."""
    within = TABLE if os.path.basename(path) == PYPROJECT else ""
    return parse_toml(_read_text(path), within, path)


def parse_toml(text: str, within: str, path: str) -> dict[str, Any]:
    """Return the table ``within`` a TOML text (empty: the whole); raise ``UsageError`` naming file and place."""
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            table: Any = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}: expected TOML: {error}") from error
        for step in within.split(".") if within else ():
            table = table.get(step, {}) if isinstance(table, dict) else {}
        return table if isinstance(table, dict) else {}
    else:  # noqa: RET505 - type checkers follow the two branches of a version check
        from .flat_toml import parse

        return parse(text, within, path)

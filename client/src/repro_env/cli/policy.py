"""The policy that a person names: a file of JSON or TOML, whose faults are told with their line, and ``--vary``."""

from __future__ import annotations

import re
import sys

from ..errors import InvalidDocument
from . import reading
from .options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.policy import Policy

FILE = Option("--policy", "JSON or TOML file of what your project decides: waive, levels, vary, require", "FILE")
VARY = Option("--vary", "what differs on purpose, as in code,seed,precision.*: listed, not judged", "WORDS", many=True)


def load(values: dict[str, Any]) -> Policy:
    """Return the policy of ``--policy`` with the words of ``--vary``; raise ``InvalidDocument`` naming the line."""
    from ..comparability.policy import NO_POLICY

    path = values.get("policy")
    chosen = NO_POLICY if path is None else read(path)
    words = vary(values)
    try:
        return chosen.varying(words) if words else chosen
    except InvalidDocument as error:
        raise InvalidDocument("--vary", error.problem) from error


def vary(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the words of ``--vary``, each given by itself or with commas between."""
    return tuple(word for given in values.get("vary", ()) for word in re.split(r"[,\s]+", given) if word)


def read(path: str) -> Policy:
    """Return the policy in a file; raise ``InvalidDocument`` naming the line that is wrong."""
    from ..comparability.policy import Policy
    from ..comparability.rules import RULES_BY_ID

    text = reading.decoded(reading.read_bytes(path, "a policy"))
    try:
        return Policy.parse(_parsed(text), RULES_BY_ID)
    except InvalidDocument as error:
        line = line_of(text, error.field)
        raise InvalidDocument(f"{path}{f', line {line}' if line else ''}: {error.field}", error.problem) from error


def _parsed(text: str) -> Any:
    if text.lstrip().startswith("{") or _is_json_list(text):
        return parsed_json("policy", text)
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InvalidDocument("policy", f"expected JSON or TOML: {error}") from error
    else:
        raise InvalidDocument("policy", "expected JSON; TOML is read from Python 3.11 on")


def _is_json_list(text: str) -> bool:
    """Tell a list of JSON, which is no policy, from TOML that begins with the header of a table."""
    import json

    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def parsed_json(name: str, text: str) -> Any:
    """Return a value of JSON that may hold any numbers; raise ``InvalidDocument`` for ``name`` with the line."""
    import json

    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(name, f"expected JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of ``pairs``; a name that stands twice is refused, for one of the two would be lost unseen."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidDocument(f"$.{twice}", "stands twice in one object")
    return found


def line_of(text: str, field: str) -> int | None:
    """Return the first line that holds the last names of a dotted field in their order; ``None`` where none does."""
    at, found = 0, None
    for name in field.split(".")[1:]:
        match = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])").search(text, at)
        if match is None:
            break
        at, found = match.start(), match.start()
    return None if found is None else text.count("\n", 0, found) + 1

"""What a user states of a program: values of his own, and facts that nobody can read.

A name that is the path of a fact of the program (``layout.micro_batch``) fills that fact too, if its value has the
form of the fact and nothing read it.
"""

from __future__ import annotations

from .fingerprint.facts import is_unread
from .variables import looks_secret, names_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

VALUES = "program.declared.values"
MAX_VALUES = 256
MAX_TEXT = 1000
_DIGEST = "digest"
#: start of the names under which the seed of one generator is stated: ``random.seeds.numpy``.
SEEDS = "random.seeds."
#: facts of the program that may be declared, and their form.
FORMS: dict[str, Any] = {
    "random.seeded_before_use": bool, "random.largest_cuda_draw": int, "random.resume_state": str,
    "data.dataset_digest": _DIGEST, "data.file_order_digest": _DIGEST, "data.loader_workers": int,
    "data.worker_seeding": str, "data.persistent_workers": bool, "data.sampler": str, "data.drop_last": bool,
    "data.preprocessing": str, "data.loader_generator": str, "layout.data_parallel": int,
    "layout.tensor_parallel": int, "layout.pipeline_parallel": int, "layout.context_parallel": int,
    "layout.expert_parallel": int, "layout.micro_batch": int, "layout.accumulation": int,
    "layout.dynamic_batching": bool, "layout.sharding": str, "model.training": bool, "model.batch_norm": str,
    "model.attention": str, "model.compile": bool,
}


def checked(values: Mapping[Any, Any], say: Callable[[str], None]) -> dict[str, str]:
    """Return declared values as texts by name; what cannot be one is said and left out."""
    kept: dict[str, str] = {}
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        problem = _problem(name, value, text)
        if problem is None and len(kept) < MAX_VALUES:
            kept[name] = text
        else:
            say(f"declare: {problem or f'expected at most {MAX_VALUES} values'}; it is not used")
    return kept


def _problem(name: Any, value: Any, text: str) -> str | None:
    """Return why a value cannot be declared; its text is not repeated where it may be a secret."""
    if not isinstance(name, str) or not name or not name.isascii() or not name.isprintable() or len(name) > 128:
        return f"expected a name of 1 to 128 printable ASCII characters, got {ascii(name)[:60]}"
    if not isinstance(value, (str, int, float)) or not text.isprintable() or len(text) > MAX_TEXT:
        return f"{name}: expected a number or a line of at most {MAX_TEXT} characters"
    if looks_secret(name):
        return "the name has the shape of a secret"
    return f"{name}: the value has the shape of a secret" if looks_secret(text) or names_secret(name) else None


def facts(values: Mapping[str, str], say: Callable[[str], None]) -> dict[str, Any]:
    """Return the facts that ``values`` state, by dotted path; a value without the form of its fact is said."""
    stated: dict[str, Any] = {VALUES: dict(values)}
    seeds: dict[str, int] = {}
    for name, text in values.items():
        path = name.removeprefix("program.")
        form = int if path.startswith(SEEDS) else FORMS.get(path)
        if form is None:
            continue
        value = _formed(text, form)
        if value is None:
            say(f"declare: {name}: expected {_WORDS[form]}, got {text!r}; the fact stays unread")
        elif path.startswith(SEEDS):
            seeds[path[len(SEEDS):]] = value
        else:
            stated[f"program.{path}"] = value
    return {**stated, "program.random.seeds": seeds} if seeds else stated


_WORDS = {bool: "true or false", int: "a whole number", str: "text", _DIGEST: "sha256: and 64 hexadecimal digits"}


def _formed(text: str, form: Any) -> Any:
    from .results import is_digest

    if form is bool:
        return {"true": True, "false": False}.get(text.lower())
    if form is int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    if form is _DIGEST:
        return text if is_digest(text) else None
    return text or None


def add(overrides: dict[str, Any], stated: Mapping[str, Any], source: str) -> None:
    """Add facts by dotted path to the overrides of a look, where nothing read them; of seeds, those not read."""
    for path, value in stated.items():
        section, _, name = path.rpartition(".")
        place = overrides.setdefault(section, {})
        if name == "seeds" and isinstance(place.get(name), dict) and not is_unread(place[name]):
            place[name] = {**value, **place[name]}
        elif (name not in place or is_unread(place[name])) and not (is_unread(value) and name in place):
            place[name] = value
            overrides["sources"][path] = source

"""One look at this process: what the running program tells, laid over what its machine and files tell.

Owns the order of a look, what it hands on to the next, and the drift between two. When to look is decided in ``watch``
and by the program; keeping and sending is left to ``keeping``.
"""

from __future__ import annotations

from . import process
from .guard import TookTooLong, bounded
from .keeping import keep, send
from .system import System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .probes.inprocess import Readings

#: seconds that probes may take in one look.
PROBES_S = 1.0
#: seconds that the program waits for one look at most, until its document is kept.
LOOK_S = 3.0
#: the fact that sums up drift for the rules; it is none itself.
CHANGED = "determinism.changed"


class Instant(System):
    """The machine at one instant: what is long to read is read once."""

    def __init__(self) -> None:
        self._mapped: list[str] | None = None

    def mapped_files(self) -> list[str]:
        """Return the files mapped into this process, as they were at the first question."""
        if self._mapped is None:
            self._mapped = super().mapped_files()
        return self._mapped


def take(vantage: str, moment: str, *, deliver: bool) -> dict[str, Any] | None:
    """Look, keep the document, send it where ``deliver``; return it.

    What the program tells is read in the calling thread: some of it is the thread's own. The rest, and keeping, may
    hang with a file system, so it is bounded; ``None`` where an earlier look is still hanging.
    """
    state = process.STATE
    if state.looking:
        process.say("no further look: an earlier one has not come to its end")
        return None
    told = told_here(vantage)
    state.looking = True

    def rest() -> tuple[dict[str, Any], Any]:
        try:
            document = look(vantage, moment, told)
            return document, keep(document)
        finally:
            state.looking = False

    try:
        document, kept = bounded(rest, LOOK_S)
    except TookTooLong as error:
        process.say(f"the program does not wait for this look any longer: {error}")
        return None
    send(kept, now=deliver, last=vantage == "exit")
    return document  # type: ignore[no-any-return]  # what rest returned


def told_here(vantage: str) -> Readings:
    """Return what the program itself tells, in its calling thread."""
    from .probes import inprocess, inprocess_random

    state = process.STATE
    if vantage == "exit":
        state.seen.settled = True
    system = Instant()
    readings = inprocess.read(system, state.seen)
    inprocess_random.read(system, state.seen, readings)
    return readings


def look(vantage: str, moment: str, told: Readings | None = None) -> dict[str, Any]:
    """Return the document of one look at this process."""
    from .capture import capture
    from .names import Mask

    state = process.STATE
    system = System()
    chosen = process.settings_in_force()
    run_id, source = process.run_identity()
    overrides = sections(told_here(vantage) if told is None else told)
    process.add_stated(overrides, ended=vantage == "exit")
    overrides["capture"] = {**overrides.get("capture", {}), "results": dict(state.results), "run_id_source": source}
    given = state.overrides
    document = capture(
        system, vantage=vantage, subject="process", budget_s=PROBES_S, run_id=run_id,
        project=given.get("project", chosen.project), group=given.get("group", chosen.group),
        labels={**chosen.labels, **given.get("labels", {})}, sequence=state.sequence, moment=moment,
        mask=Mask(chosen.mask, chosen.mask_key), overrides=overrides, memory=state.memory)
    state.sequence += 1
    if state.first_stack is None:
        state.first_stack = document["stack"]
    elif vantage == "exit":
        document["capture"]["drift"] = drift(state.first_stack, document["stack"])
    return document


def sections(readings: Readings) -> dict[str, Any]:
    """Return readings by dotted path as the nested sections that ``capture`` takes as overrides."""
    nested: dict[str, Any] = {"sources": readings.sources, "errors": readings.errors}
    for path, value in readings.facts.items():
        steps = path.split(".")
        section, rest = (".".join(steps[:2]), steps[2:]) if steps[0] == "program" else (steps[0], steps[1:])
        place = nested.setdefault(section, {})
        for step in rest[:-1]:
            place = place.setdefault(step, {})
        place[rest[-1]] = value
    return nested


def drift(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, str]]:
    """Return the facts of the stack that differ between two looks, with both values as canonical JSON text.

    A fact that one of the looks did not read says nothing.
    """
    from .canonical import encode

    left, right = dict(_leaves(before, "")), dict(_leaves(after, ""))
    return [{"path": path, "before": encode(left[path]).decode("utf-8"), "after": encode(right[path]).decode("utf-8")}
            for path in sorted(left.keys() & right.keys()) if path != CHANGED and _drifted(left[path], right[path])]


def _drifted(before: Any, after: Any) -> bool:
    from .fingerprint.facts import is_unread

    return before != after and not is_unread(before) and not is_unread(after)


def _leaves(value: Any, path: str) -> Any:
    """Yield every fact below ``value`` with its dotted path; a list is one fact."""
    from .fingerprint.facts import is_unread

    if not isinstance(value, dict) or is_unread(value) or not value:
        yield path, value
        return
    for name, item in value.items():
        yield from _leaves(item, f"{path}.{name}" if path else name)

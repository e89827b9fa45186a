"""A run as the set of what was seen of it: which look stands for each process, what fills it, and the run's vector.

Owns ``overlay`` and the choice of looks. All of it is pure and does not depend on the order in which documents came.
Storing looks is left to the service, reading documents to ``reading``, projecting and merging to ``vector``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..fingerprint.facts import is_captured, is_unread
from .levels import Question, Scope
from .reading import PROCESS_VANTAGES, Facts
from .vector import OK, UNREAD, Entry, Vector, merge, project

#: sections whose unread facts the prologue of the same node may fill.
FILLED_SECTIONS = ("accelerators", "driver", "cpu", "system", "container")
#: the later look at one process has the results and the final counts.
_VANTAGE_ORDER = {"process": 0, "exit": 1}
_RANKS_RULE = "ranks-differ"


def overlay(prologue: dict[str, Any], process: dict[str, Any]) -> dict[str, Any]:
    """Return the stack of a process with facts it could not read filled from the prologue of its node.

    Facts of the process win, absent ones too; only unread facts of ``FILLED_SECTIONS`` are filled.
    """
    filled = {section: _fill(process[section], prologue[section]) for section in FILLED_SECTIONS
              if section in process and section in prologue}
    return {**process, **filled}


def _fill(value: Any, filler: Any) -> Any:
    if is_unread(value):
        return value if is_unread(filler) else filler
    if isinstance(value, dict) and isinstance(filler, dict):
        return {key: _fill(item, filler[key]) if key in filler else item for key, item in value.items()}
    return value


@dataclass(frozen=True)
class Look:
    """What choosing needs to know of one observation; the facts themselves stay with whoever keeps documents."""

    observation_id: str
    vantage: str
    subject: str
    sequence: int
    captured_at: str
    node: str | None
    rank: int | None
    pid: int | None
    world_size: int | None

    @classmethod
    def of(cls, document: dict[str, Any]) -> Look:
        """Return the look that a validated document is."""
        capture = document["capture"]
        place = capture["process"]
        announced = _captured(place["world_size"])
        if announced is None:
            announced = _captured(Facts.of(document).look("layout.world_size"))
        return cls(capture["observation_id"], capture["vantage"], capture["subject"], capture["sequence"],
                   capture["captured_at"], _captured(place["node"]), _captured(place["rank"]),
                   _captured(place["pid"]), announced)

    @property
    def in_process(self) -> bool:
        """Whether this look was taken inside the process."""
        return self.vantage in PROCESS_VANTAGES

    @property
    def age(self) -> tuple[int, int, str, str]:
        """Sort key: the best vantage, then the latest look, come last."""
        return (_VANTAGE_ORDER.get(self.vantage, 0), self.sequence, self.captured_at, self.observation_id)


def _captured(value: Any) -> Any:
    return value if is_captured(value) else None


@dataclass(frozen=True)
class Side:
    """One judged process (or node, or imported document) of a run: its look and the looks that fill it, best first."""

    look: Look
    fillers: tuple[Look, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run as far as it was seen. ``world_size`` is the largest announced one, ``None`` where nobody said."""

    sides: tuple[Side, ...]
    scope: Scope
    ranks_seen: int
    world_size: int | None

    @property
    def partial(self) -> bool:
        """Whether fewer ranks were observed than the run announced."""
        return self.scope is Scope.PROCESS and self.world_size is not None and self.ranks_seen < self.world_size


def gather(looks: Iterable[Look]) -> Run:
    """Return the run that a set of looks shows; raise ``ValueError`` for an empty one."""
    known = sorted(set(looks), key=lambda look: look.observation_id)
    if not known:
        raise ValueError("expected at least one look at the run")
    inside = [look for look in known if look.in_process]
    prologues = [look for look in known if look.vantage == "prologue"]
    ranked = [look for look in inside if look.rank is not None]
    sides = _process_sides(ranked or inside, prologues) if inside else _outside_sides(known)
    sizes = [look.world_size for look in known if look.world_size is not None]
    seen = len({look.rank for look in ranked}) or (1 if inside else 0)
    return Run(sides, Scope.PROCESS if inside else Scope.STACK, seen, max(sizes, default=None))


def _process_sides(inside: list[Look], prologues: list[Look]) -> tuple[Side, ...]:
    """Take the latest best look at each process. Once ranks are known, processes without one are their helpers."""
    best: dict[tuple[Any, ...], Look] = {}
    for look in sorted(inside, key=lambda look: look.age):
        best[look.node, look.rank, look.pid] = look
    return tuple(Side(look, _fillers(look, prologues)) for look in _by_id(best.values()))


def _outside_sides(known: list[Look]) -> tuple[Side, ...]:
    """Take one side a node from its prologues, and one a document from imports and images."""
    groups: dict[str, list[Look]] = {}
    for look in known:
        on_node = look.vantage == "prologue" and look.node is not None
        groups.setdefault(f"node {look.node}" if on_node else f"document {look.observation_id}", []).append(look)
    sides = []
    for group in groups.values():
        environments = [look for look in group if look.subject != "node"]
        base = max(environments or group, key=lambda look: look.age)
        sides.append(Side(base, _fillers(base, [look for look in group if look != base])))
    return tuple(sorted(sides, key=lambda side: side.look.observation_id))


def _fillers(look: Look, prologues: list[Look]) -> tuple[Look, ...]:
    """Return the prologues of the look's node: those of its environment first, then the later ones first."""
    same_node = [other for other in prologues if look.node is not None and other.node == look.node]
    return tuple(sorted(sorted(same_node, key=lambda other: other.age, reverse=True),
                        key=lambda other: other.subject == "node"))


def _by_id(looks: Iterable[Look]) -> list[Look]:
    return sorted(looks, key=lambda look: look.observation_id)


def judged_facts(document: dict[str, Any], fillers: Iterable[dict[str, Any]]) -> Facts:
    """Return the facts a side is judged by: its document, its stack filled from the stacks of ``fillers`` in order."""
    facts = Facts.of(document)
    stack = facts.stack
    for filler in fillers:
        stack = overlay(filler, stack)
    return Facts(stack, facts.program, facts.vantage)


def run_vector(vectors: Iterable[Vector], run: Run) -> Vector:
    """Return the vector of a run from those of its sides.

    Where ranks were not observed, nobody can say that they are alike: ``ranks-differ`` is unread.
    """
    merged = merge(vectors)
    state = merged.get(_RANKS_RULE, Entry(OK)).state
    if run.partial and state == OK:
        return {**merged, _RANKS_RULE: Entry(UNREAD, None, (("capture.process.rank", "not-recorded"),))}
    return merged


def vector_of_documents(documents: Iterable[dict[str, Any]], question: Question = Question.COMPARE
                        ) -> tuple[Vector, Run]:
    """Return the vector and the shape of the run that these documents are all of."""
    by_id = {document["capture"]["observation_id"]: document for document in documents}
    run = gather(Look.of(document) for document in by_id.values())
    vectors = []
    for side in run.sides:
        fillers = [by_id[look.observation_id]["stack"] for look in side.fillers]
        vectors.append(project(judged_facts(by_id[side.look.observation_id], fillers), question))
    return run_vector(vectors, run), run

"""Which look stands for each process of a run, and which looks fill it; a run that was started anew has segments.

Pure, and independent of the order in which documents came. What follows for a verdict is left to ``runs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..canonical import encode
from ..fingerprint.facts import is_captured
from .levels import Scope
from .reading import PROCESS_VANTAGES, Facts

#: the later look at one process has the results and the final counts.
_VANTAGE_ORDER = {"process": 0, "exit": 1}


@dataclass(frozen=True)
class Look:
    """What choosing needs to know of one observation; the facts themselves stay with whoever keeps documents.

    ``job`` is the identity of the scheduler's job, the same for its prologue and its processes.
    """

    observation_id: str
    vantage: str
    subject: str
    sequence: int
    captured_at: str
    node: str | None
    rank: int | None
    pid: int | None
    world_size: int | None
    segment: str | None = None
    job: str | None = None
    restart: int | None = None

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
                   _captured(place["pid"]), announced, _captured(capture["segment"]), job_key(capture["job"]),
                   _captured(capture["job"]["restart"]))

    @property
    def in_process(self) -> bool:
        """Whether this look was taken inside the process."""
        return self.vantage in PROCESS_VANTAGES

    @property
    def age(self) -> tuple[int, int, str, str]:
        """Sort key: the best vantage, then the latest look, come last."""
        return (_VANTAGE_ORDER.get(self.vantage, 0), self.sequence, self.captured_at, self.observation_id)


def job_key(job: dict[str, Any]) -> str | None:
    """Return the identity of a scheduler's job as text, or ``None``. A Kubernetes job has a name again: its pod counts.

    Restarts do not count: a Prolog is not told of them.
    """
    names = ["scheduler", "cluster", "job_id"]
    if job["scheduler"] == "kubernetes":
        names += ["namespace", "pod"]
    if not is_captured(job[names[-1]]):
        return None
    return encode([_captured(job[name]) for name in names]).decode("utf-8")


def _captured(value: Any) -> Any:
    return value if is_captured(value) else None


@dataclass(frozen=True)
class Side:
    """One judged process (or node, or imported document) of a run: its look and the looks that fill it, best first."""

    look: Look
    fillers: tuple[Look, ...] = ()


@dataclass(frozen=True)
class Segment:
    """One start of a run. ``name`` is ``None`` where starts are not told apart; ``world_size`` where nobody said."""

    name: str | None
    sides: tuple[Side, ...]
    ranks_seen: int
    world_size: int | None
    started_at: str

    @property
    def partial(self) -> bool:
        """Whether fewer ranks were observed than this start announced."""
        return self.world_size is not None and 0 < self.ranks_seen < self.world_size


@dataclass(frozen=True)
class Run:
    """A run as far as it was seen: its segments in the order of their beginning, and the sides of all of them."""

    sides: tuple[Side, ...]
    scope: Scope
    segments: tuple[Segment, ...]

    @property
    def partial(self) -> bool:
        """Whether fewer ranks of any segment were observed than it announced."""
        return any(segment.partial for segment in self.segments)

    @property
    def ranks_seen(self) -> int:
        """Ranks observed of the first partial segment, else of the last one."""
        return self._telling.ranks_seen

    @property
    def world_size(self) -> int | None:
        """Ranks announced for that segment, ``None`` where nobody said."""
        return self._telling.world_size

    @property
    def _telling(self) -> Segment:
        return next((segment for segment in self.segments if segment.partial), self.segments[-1])

    def of_segment(self, segment: Segment) -> Run:
        """Return one segment as a run of its own."""
        return Run(segment.sides, self.scope, (segment,))

    def named(self, name: str) -> Segment:
        """Return the segment called ``name``; raise ``KeyError`` with the names there are."""
        for segment in self.segments:
            if segment.name == name:
                return segment
        raise KeyError(f"the run has no segment {name}; it has {', '.join(str(known.name) for known in self.segments)}")


def gather(looks: Iterable[Look]) -> Run:
    """Return the run that a set of looks shows; raise ``ValueError`` for an empty one."""
    known = sorted(set(looks), key=lambda look: look.observation_id)
    if not known:
        raise ValueError("expected at least one look at the run")
    inside = [look for look in known if look.in_process]
    if not inside:
        sides = _outside_sides(known)
        size = _largest(known)
        return Run(sides, Scope.STACK, (Segment(None, sides, 0, size, min(look.captured_at for look in known)),))
    prologues = [look for look in known if look.vantage == "prologue"]
    groups: dict[str | None, list[Look]] = {}
    for look, name in _starts(inside):
        groups.setdefault(name, []).append(look)
    segments = [_segment(name, group, prologues) for name, group in groups.items()]
    segments.sort(key=lambda segment: (segment.started_at, segment.name or ""))
    return Run(tuple(sorted((side for segment in segments for side in segment.sides),
                            key=lambda side: side.look.observation_id)), Scope.PROCESS, tuple(segments))


def _starts(inside: list[Look]) -> list[tuple[Look, str | None]]:
    """Return each look with its segment; a process that swept its environment stays in the one it was seen in."""
    names: dict[tuple[Any, ...], set[str]] = {}
    for look in inside:
        if look.segment is not None:
            names.setdefault((look.node, look.pid), set()).add(look.segment)
    settled = {place: next(iter(found)) for place, found in names.items() if len(found) == 1}
    return [(look, look.segment or settled.get((look.node, look.pid))) for look in inside]


def _segment(name: str | None, inside: list[Look], prologues: list[Look]) -> Segment:
    ranked = [look for look in inside if look.rank is not None]
    announcing = [*inside, *(look for look in prologues if look.segment == name)]
    seen = len({look.rank for look in ranked}) or 1
    return Segment(name, _process_sides(ranked or _computing(inside), prologues), seen, _largest(announcing),
                   min(look.captured_at for look in inside))


def _computing(inside: list[Look]) -> list[Look]:
    """Return the looks at processes that were seen at work, all where none was: one that only ended started others."""
    working = {(look.node, look.pid) for look in inside if look.vantage == "process"}
    return [look for look in inside if (look.node, look.pid) in working] or inside


def _largest(looks: Iterable[Look]) -> int | None:
    return max((look.world_size for look in looks if look.world_size is not None), default=None)


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
    """Return the prologues that fill a look: those of its environment first, then the later ones first.

    They are those of its node at the start that the look belongs to. Where that start is not told, the last one before
    the look of each subject is: a node may be set up anew between two starts.
    """
    here = [other for other in prologues if look.node is not None and other.node == look.node]
    sure = [other for other in here if _same_start(other, look)]
    latest = {other.subject: other for other in sorted(here, key=lambda other: other.age)
              if _perhaps_same_start(other, look) and other.captured_at <= look.captured_at}
    return tuple(sorted(sorted([*sure, *latest.values()], key=lambda other: other.age, reverse=True),
                        key=lambda other: other.subject == "node"))


def _same_start(prologue: Look, look: Look) -> bool:
    """Tell whether both surely belong to one start; without a scheduler there is but one."""
    if prologue.job != look.job or prologue.restart != look.restart:
        return False
    return look.job is None or look.restart is not None


def _perhaps_same_start(prologue: Look, look: Look) -> bool:
    """Tell whether both may belong to one start, and nothing says that they do."""
    one_job = prologue.job is None or look.job is None or prologue.job == look.job
    one_restart = prologue.restart is None or look.restart is None or prologue.restart == look.restart
    return one_job and one_restart and not _same_start(prologue, look)


def _by_id(looks: Iterable[Look]) -> list[Look]:
    return sorted(looks, key=lambda look: look.observation_id)

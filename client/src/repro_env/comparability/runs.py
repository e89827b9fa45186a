"""A run as the set of what was seen of it: what fills its looks, the vector of the run, and those of its segments.

All of it is pure and does not depend on the order in which documents came. The choice of looks is left to ``segments``,
storing them to the service, reading documents to ``reading``, projecting and merging to ``vector``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..fingerprint.facts import is_unread
from .levels import Question
from .reading import Facts
from .segments import Look, Run, Side, gather
from .vector import FAILS, OK, UNREAD, Entry, Vector, merge, project, to_text

#: sections whose unread facts the prologue of the same node may fill.
FILLED_SECTIONS = ("accelerators", "driver", "cpu", "system", "container")
#: how the digest of an image is learned, the least trusted first.
_TRUST = ("file", "claimed", "engine")
_RANKS_RULE = "ranks-differ"
#: why a run cannot be held against itself.
ONE_SEGMENT = ("the run was seen to start once; resume compares two starts of one run, which show by the restart "
               "counts of scheduler and launcher, or by jobs that share a run id")


def overlay(prologue: dict[str, Any], process: dict[str, Any]) -> dict[str, Any]:
    """Return the stack of a process with facts it could not read filled from the prologue of its node.

    Facts of the process win, absent ones too; only unread facts of ``FILLED_SECTIONS`` are filled. The digest of an
    image is the exception: one that the engine told outranks one that somebody claimed, and that one a file's.
    """
    filled = {section: _fill(process[section], prologue[section]) for section in FILLED_SECTIONS
              if section in process and section in prologue}
    if "container" in filled:
        filled["container"] = _best_digest(filled["container"], prologue["container"])
    return {**process, **filled}


def _best_digest(container: Any, prologue: Any) -> Any:
    """Return the section with the digest that was learned in the more trusted way; a tie is the process's."""
    if not isinstance(container, dict) or not isinstance(prologue, dict):
        return container
    here, there = (str(section.get("learned")) for section in (container, prologue))
    if here not in _TRUST or there not in _TRUST[_TRUST.index(here) + 1:]:
        return container
    told = prologue.get("image_digest")
    return {**container, "image_digest": told, "learned": there} if isinstance(told, str) else container


def _fill(value: Any, filler: Any) -> Any:
    if is_unread(value):
        return value if is_unread(filler) else filler
    if isinstance(value, dict) and isinstance(filler, dict):
        return {key: _fill(item, filler[key]) if key in filler else item for key, item in value.items()}
    return value


def judged_facts(document: dict[str, Any], fillers: Iterable[dict[str, Any]]) -> Facts:
    """Return the facts a side is judged by: its document, its stack filled from the stacks of ``fillers`` in order."""
    facts = Facts.of(document)
    stack = facts.stack
    for filler in fillers:
        stack = overlay(filler, stack)
    return Facts(stack, facts.program, facts.vantage)


def run_vector(segments: Iterable[Iterable[Vector]], run: Run) -> Vector:
    """Return the vector of a run from those of its sides, segment by segment.

    A run whose segments had different stacks is not one environment: ``ranks-differ`` fails and says so. Where ranks
    were not observed, nobody can say that they are alike: it is unread.
    """
    parts = [list(vectors) for vectors in segments]
    merged = merge(vector for vectors in parts for vector in vectors)
    found = merged.get(_RANKS_RULE, Entry(OK))
    if found.state == FAILS and len({frozenset(map(to_text, vectors)) for vectors in parts}) > 1:
        return {**merged, _RANKS_RULE: Entry(FAILS, f"{found.value}, from one segment of the run to another")}
    if run.partial and found.state == OK:
        return {**merged, _RANKS_RULE: Entry(UNREAD, None, (("capture.process.rank", "not-recorded"),))}
    return merged


def vector_of_documents(documents: Iterable[dict[str, Any]], question: Question = Question.COMPARE
                        ) -> tuple[Vector, Run]:
    """Return the vector and the shape of the run that these documents are all of."""
    by_id = {document["capture"]["observation_id"]: document for document in documents}
    run = gather(Look.of(document) for document in by_id.values())
    return _vector(by_id, run, question), run


def ends_of_documents(documents: Iterable[dict[str, Any]], question: Question = Question.RESUME
                      ) -> tuple[tuple[Vector, Run], tuple[Vector, Run]]:
    """Return vectors and shapes of the first and the last segment of one run; raise ``ValueError`` where it has one."""
    by_id = {document["capture"]["observation_id"]: document for document in documents}
    run = gather(Look.of(document) for document in by_id.values())
    if len(run.segments) < 2:
        raise ValueError(ONE_SEGMENT)
    first, last = (run.of_segment(run.segments[index]) for index in (0, -1))
    return (_vector(by_id, first, question), first), (_vector(by_id, last, question), last)


def _vector(by_id: dict[str, dict[str, Any]], run: Run, question: Question) -> Vector:
    def project_side(side: Side) -> Vector:
        fillers = [by_id[look.observation_id]["stack"] for look in side.fillers]
        return project(judged_facts(by_id[side.look.observation_id], fillers), question)

    return run_vector(([project_side(side) for side in segment.sides] for segment in run.segments), run)

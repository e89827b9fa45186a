"""Judge what is stored: hold one side against another under a policy, and a run against its project's baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from repro_env.comparability.headline import of_one_run
from repro_env.comparability.ignored import ignored_differences
from repro_env.comparability.judge import judge_vectors, program_of
from repro_env.comparability.levels import Answer, Level, Question, Scope
from repro_env.comparability.policy import Policy
from repro_env.comparability.verdict import Verdict
from sqlalchemy.orm import Session

from . import vectors
from .baselines import Baseline, baseline_of
from .policies import NOTHING_IN_FORCE, InForce, PolicyWord, choose, in_force
from .sides import Judged, ends_of_run, find_run, load_side, run_side
from .tables import Run


@dataclass(frozen=True)
class Asked:
    """What is asked of two sides. ``level`` is ``None`` for the default, ``vary`` holds words for what differs."""

    question: Question = Question.COMPARE
    level: Level | None = None
    policy: PolicyWord | None = None
    vary: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A verdict with its two sides, the policy it was made under, and the evidence that stands beside it."""

    verdict: Verdict
    left: Judged
    right: Judged
    in_force: InForce
    same_run: bool
    equal_results: tuple[str, ...]
    different_results: tuple[str, ...]


def compare(session: Session, left: str, right: str, asked: Asked, *, left_segment: str | None = None,
            right_segment: str | None = None) -> Comparison:
    """Judge two names: run ids, or ``manifest:name/version``. Raise ``Refusal`` where one is not known.

    A segment narrows a run to one of its starts. A run held against itself with *resume* is its first start against
    its last, where none is named.
    """
    expected, observed = two_sides(session, (left, left_segment), (right, right_segment), asked.question)
    policy = choose(session, asked.policy, expected, observed).varying(asked.vary)
    return judge_sides(expected, observed, asked.question, asked.level, policy)


def two_sides(session: Session, left: tuple[str, str | None], right: tuple[str, str | None], question: Question
              ) -> tuple[Judged, Judged]:
    """Return both sides by name and segment; the two ends of a run for *resume* of that run alone."""
    if question is Question.RESUME and left == right and left[1] is None:
        return ends_of_run(session, find_run(session, left[0]), question)
    expected = load_side(session, left[0], question, left[1])
    return expected, expected if left == right else load_side(session, right[0], question, right[1])


def judge_sides(left: Judged, right: Judged, question: Question, level: Level | None,
                policy: InForce = NOTHING_IN_FORCE) -> Comparison:
    """Judge two loaded sides. A run against itself is the question whether it would repeat, and the answer says so."""
    scope = Scope.PROCESS if left.scope is right.scope is Scope.PROCESS else Scope.STACK
    verdict = judge_vectors(left.vector, right.vector, scope=scope, question=question,
                            level=policy.level(level, question), policy=policy.policy)
    same = left.name == right.name
    headline = of_one_run(verdict.headline) if same else verdict.headline
    equal, different = ((), ()) if same else compare_results(left.results, right.results)
    evidence = (*(f"result {name}: equal" for name in equal), *(f"result {name}: different" for name in different))
    unjudged = program_of(left.program, right.program) if question is Question.COMPARE else ()
    told = replace(verdict, headline=headline, ignored=ignored_differences(left.facts, right.facts),
                   observed=evidence, varied=(*verdict.varied, *unjudged), sides=(left.evidence, right.evidence))
    return Comparison(told, left, right, policy, same, equal, different)


def compare_results(left: dict[str, frozenset[str]], right: dict[str, frozenset[str]]
                    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of results that both sides reported: those with equal digests, and those with others."""
    both = sorted(left.keys() & right.keys())
    return (tuple(name for name in both if left[name] == right[name]),
            tuple(name for name in both if left[name] != right[name]))


def without_contradicted(session: Session, run: Run, others: tuple[Run, ...], level: Level, inside: Policy,
                         outside: Policy | None) -> tuple[Run, ...]:
    """Return the runs of one class that no fact both sides state keeps apart.

    Keys in scope ``stack`` cover machine-set facts only; where both sides happen to state program-set facts, those
    count too. In scope ``process`` the key alone decides. ``inside`` holds between runs of one project, ``outside``
    else.
    """
    def policy_with(other: Run) -> Policy:
        return inside if outside is None or (run.project is not None and other.project == run.project) else outside

    met = {other.id: (other.compare_vector, policy_with(other)) for other in others
           if Scope.STACK.value in (run.scope, other.scope)}
    known = vectors.load_all(session, {run.compare_vector, *(vector for vector, _ in met.values())})
    pairs = {(vector, policy.digest): policy for vector, policy in met.values()}
    apart = {pair for pair, policy in pairs.items() if judge_vectors(
        known[run.compare_vector], known[pair[0]], scope=Scope.STACK, policy=policy).guaranteed < level}
    return tuple(other for other in others if other.id not in met
                 or (met[other.id][0], met[other.id][1].digest) not in apart)


@dataclass(frozen=True)
class Heed:
    """What a sender is told of the run it just reported: warnings to act on, notes to know."""

    warnings: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def hold_against_baseline(session: Session, run_id: str) -> Heed:
    """Judge a run against the baseline of its project, under the policy of its project.

    ``no`` and ``likely`` rest on facts that were read: a warning. ``unknown`` rests on unread facts alone: a note,
    because a warning at every half-read prologue would soon be read by nobody.
    """
    run = find_run(session, run_id)
    held = baseline_of(session, run.project) if run.project is not None else None
    if held is None or held.run == run.id:
        return Heed()
    comparison = judge_sides(load_side(session, held.side, held.question), run_side(session, run, held.question),
                             held.question, held.level, in_force(session, run.project))
    verdict = comparison.verdict
    if verdict.answer is Answer.YES:
        return Heed()
    if verdict.answer is Answer.UNKNOWN:
        return Heed(notes=(unknown_note(held.side, verdict),))
    return Heed(warnings=(baseline_warning(held, run, comparison),))


def baseline_warning(held: Baseline, run: Run, comparison: Comparison) -> dict[str, Any]:
    """Return the warning that a job's log shows; ``comparison`` leads to the whole verdict."""
    verdict = comparison.verdict
    first = verdict.reasons[0] if verdict.reasons else None
    return {"kind": "baseline", "baseline": held.side, "level": verdict.level.word, "answer": verdict.answer.value,
            "headline": verdict.headline, "first_reason": first.why if first else None,
            "remedy": first.remedy if first else None, "policy_version": comparison.in_force.version,
            "comparison": comparison_address(held.side, run.id, comparison)}


def comparison_address(left: str, right: str, comparison: Comparison) -> str:
    """Return the relative address of a comparison. Names hold no character that an address must escape."""
    verdict = comparison.verdict
    policy = "&policy=project" if comparison.in_force.project is not None else ""
    return (f"/v1/comparisons?left={left.replace('+', '%2B')}&right={right.replace('+', '%2B')}"
            f"&level={verdict.level.word}&question={verdict.question.value}{policy}")


def unknown_note(baseline: str, verdict: Verdict) -> str:
    """Say which unread facts leave the comparison with the baseline open, and how to read the first of them."""
    lowering = [row for row in verdict.assumes if row.lowers]
    paths = sorted({path for row in lowering for side in row.lacking.values() for path in side})
    how = f"; to know, {lowering[0].capture_how}" if lowering else ""
    shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return f"whether this run compares with baseline {baseline} at {verdict.level.word} is open: {shown} not read{how}"

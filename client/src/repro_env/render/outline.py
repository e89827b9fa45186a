"""What a rendered verdict says and in which order; ``text`` and ``markdown`` only lay it out.

The JSON form holds everything; here long lists are cut to what a person reads, and what was cut is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..comparability.headline import root_of
from ..comparability.levels import Answer, Level, Question, Scope
from ..comparability.rule import SAME_IT
from ..comparability.verdict import Assumption, Confound, Reason, Step, Varied, Verdict
from ..comparability.wording import SIDES, brief
from ..comparability.wording import said as put
from .phrases import conjoined, count, grouped, listed, rest, said, sentence

MAX_REASONS, MAX_SHORT_REASONS, MAX_FOLDED, MAX_GROUPS, MAX_PATHS, MAX_IGNORED, MAX_STEPS = 5, 8, 4, 3, 3, 6, 6
#: layers named of what the program sets.
MAX_LAYERS = 3

#: level -> what it lets one expect of two results.
MEANING = {
    Level.BITWISE: "the same bits",
    Level.CURVE: "the same up to float noise; curves start together, then drift apart",
    Level.STATISTICAL: "the same within seed-to-seed variance; compare several seeds",
    Level.NONE: "any difference: one side may be wrong, or measures something else",
}
#: what an end says beside another one, so that no two say the same thing in the same words.
_NOTHING_GUARANTEED_YET = "nothing yet: too much that matters was not read"
_NOTHING_GUARANTEED = "nothing, for what stands between them"
_ALL_GUARANTEED = "all of that, whatever the program does"
_STACK_GUARANTEED = "all of that, as far as the stacks decide it"
_NOTHING_AGAINST = "the same bits: nothing that was read stands against it"
_AS_EXPECTED = "the same bits, as expected"
_UNTOUCHED = "the same bits, if what was found does not touch the program"
_NO_MORE = "no more than that, whatever the program does"
#: the word under which a comparison of stacks lists what differs in the program.
_UNJUDGED = "program"
_ANSWER = {
    Answer.YES: "yes, guaranteed",
    Answer.NO: "no",
    Answer.LIKELY: "likely: expected of ordinary programs, but not guaranteed",
}
_ASKED = {Question.COMPARE: "Comparable", Question.REPEAT: "Should they repeat",
          Question.RESUME: "Should the second continue the first"}


@dataclass(frozen=True)
class Point:
    """One thing said: a sentence, then labelled details."""

    text: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """A titled list; ``numbered`` where others refer to its points; ``rest`` says what was cut."""

    title: str
    points: tuple[Point, ...]
    numbered: bool = False
    rest: str = ""


@dataclass(frozen=True)
class Outline:
    """The whole: headline, the answer at the level asked, the three ends, the sides, then sections."""

    headline: str
    answer: str
    ends: tuple[tuple[str, str, str], ...]
    sides: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    foot: str


def outline(verdict: Verdict, expected: str = "", observed: str = "") -> Outline:
    """Return the outline of a verdict; ``expected`` and ``observed`` name the two sides where they have names."""
    by_rule = {reason.rule: reason for reason in verdict.reasons}
    roots = [reason for reason in verdict.reasons if root_of(reason, by_rule) is reason]
    lowering = [reason for reason in verdict.reasons if reason.guaranteed < Level.BITWISE]
    lead = root_of(lowering[0], by_rule) if lowering else None
    main = sorted((root for root in roots if root.guaranteed < Level.BITWISE), key=lambda root: root is not lead)
    notes = [reason for reason in roots if reason.guaranteed is Level.BITWISE]
    numbers = {reason.rule: number for number, reason in enumerate(main[:MAX_REASONS], 1)}
    sections = [_differences(main, verdict.reasons), _more_differences(main), _confounds(verdict.confounds, numbers),
                *_varied(verdict.varied), *_unread(verdict), _raises(verdict, numbers), _notes(notes),
                _evidence(verdict), _ignored(verdict), _waived(verdict)]
    ends = (("expected", verdict.expected.word, MEANING[verdict.expected] + _excepted(verdict)),
            ("guaranteed", verdict.guaranteed.word, _guaranteed(verdict)),
            ("possible", verdict.possible.word, _possible(verdict)))
    sides = (("left", expected), ("right", observed)) if expected or observed else ()
    return Outline(verdict.headline, answer_line(verdict), ends, sides,
                   tuple(section for section in sections if section.points),
                   f"rule set {verdict.ruleset}, scope {verdict.scope.value}; `repro-env explain RULE` explains a rule")


def _excepted(verdict: Verdict) -> str:
    """Return what an end leaves out: the effect of what was not counted."""
    declared = verdict.terms.get("vary", ())
    varies = any(row.differences for row in verdict.varied if row.word in declared)
    parts = ["what varies on purpose"] if varies else []
    parts += ["what the policy waives"] if verdict.waived else []
    return f", but for {' and '.join(parts)}" if parts else ""


def answer_line(verdict: Verdict) -> str:
    """Return the question that was asked and its answer, in one line."""
    if verdict.answer is Answer.UNKNOWN:
        lowering = sum(item.lowers for item in verdict.assumes)
        answer = (f"unknown: nothing that was read stands against it, but {count(lowering, 'check')} "
                  f"{'lacks' if lowering == 1 else 'lack'} facts")
    else:
        answer = _ANSWER[verdict.answer]
    scope = " (the stacks alone)" if verdict.scope is Scope.STACK else ""
    return f"{_ASKED[verdict.question]} at level {verdict.level.word}? {answer[0].upper()}{answer[1:]}{scope}."


def _guaranteed(verdict: Verdict) -> str:
    """Return what is guaranteed; where it is nothing, say whether more reading could change that."""
    if verdict.guaranteed is not Level.NONE:
        if verdict.guaranteed < verdict.expected:
            return f"at least {MEANING[verdict.guaranteed]}"
        return _ALL_GUARANTEED if verdict.scope is Scope.PROCESS else _STACK_GUARANTEED
    read = min((reason.guaranteed for reason in verdict.reasons), default=Level.BITWISE)
    return _NOTHING_GUARANTEED if read is Level.NONE else _NOTHING_GUARANTEED_YET


def _possible(verdict: Verdict) -> str:
    """Return the best that can be hoped for, against what is expected."""
    if verdict.possible is Level.BITWISE:
        if verdict.expected < Level.BITWISE:
            return _UNTOUCHED
        found = any(reason.guaranteed < Level.BITWISE for reason in verdict.reasons)
        return _AS_EXPECTED if found else _NOTHING_AGAINST
    return _NO_MORE if verdict.possible is verdict.expected else f"at best {MEANING[verdict.possible]}"


def visible(text: str) -> str:
    """Return ``text`` on one line without control characters: what documents say never steers a terminal or a page."""
    return "".join(item if item.isprintable() else " " if item in "\n\t" else "?" for item in text)


def _differences(main: list[Reason], reasons: tuple[Reason, ...]) -> Section:
    points = [Point(said(reason), (
        ("effect", reason.effect), ("remedy", reason.remedy), *_folded(reason, reasons),
        ("rule", f"{reason.rule}: {_remains(reason)}; {reason.confidence}"))) for reason in main[:MAX_REASONS]]
    return Section("What stands between them", tuple(points), numbered=True)


def _remains(reason: Reason) -> str:
    if reason.expected_level is reason.guaranteed:
        return f"leaves {reason.guaranteed.word}"
    least = "nothing" if reason.guaranteed is Level.NONE else f"only {reason.guaranteed.word}"
    return f"expected {reason.expected_level.word}, {least} guaranteed"


def _folded(reason: Reason, reasons: tuple[Reason, ...]) -> tuple[tuple[str, str], ...]:
    """Return the reasons that follow from ``reason``, through others too, in one detail."""
    implied = {reason.rule}
    found: list[str] = []
    pending = True
    while pending:
        fresh = [other for other in reasons if other.implied_by in implied and other.rule not in implied]
        implied.update(other.rule for other in fresh)
        found += [brief(other.why, other.expected, other.observed) for other in fresh
                  if not _spelled_out(reason, other)]
        pending = bool(fresh)
    same = brief(reason.why, reason.expected, reason.observed)
    others = [why for why in dict.fromkeys(found) if why != same]
    return (("so also", listed(others, MAX_FOLDED, "; ")),) if others else ()


#: causes of which a lesser reason may say the value of its root again, in full or of a part.
_TOLD_ONCE = frozenset(("torch_version", "framework_version"))


def _spelled_out(root: Reason, other: Reason) -> bool:
    """Tell whether ``other`` says again what ``root`` says: torch 2.3.1 against 2.5.1 under torch 2.3 against 2.5."""
    return (root.cause == other.cause and root.cause in _TOLD_ONCE and other.expected.startswith(root.expected)
            and other.observed.startswith(root.observed))


def _more_differences(main: list[Reason]) -> Section:
    further = main[MAX_REASONS:]
    points = tuple(Point(f"{said(reason)} ({reason.rule}; {_remains(reason)})")
                   for reason in further[:MAX_SHORT_REASONS])
    return Section("Also different", points, rest=rest(len(further) - MAX_SHORT_REASONS))


def _confounds(confounds: tuple[Confound, ...], numbers: dict[str, int]) -> Section:
    """Say what cannot be told apart from what differs on purpose, by the numbers of differences where they have one."""
    numbered = sorted(numbers[item.rule] for item in confounds if item.rule in numbers)
    told = [sentence(item.why) for item in confounds if item.rule not in numbers]
    points = [Point(text) for text in told[:MAX_SHORT_REASONS]]
    if numbered:
        words = conjoined(list(dict.fromkeys(word for item in confounds for word in item.moves_with)))
        points.insert(0, Point(
            f"a difference between the results may be due to {conjoined([str(number) for number in numbered])} as well "
            f"as to {words}; make equal what is not varied on purpose, or change one thing at a time"))
    return Section("Moves together with what differs on purpose", tuple(points),
                   rest=rest(len(told) - MAX_SHORT_REASONS))


def _varied(varied: tuple[Varied, ...]) -> list[Section]:
    """List what was declared to differ, and what a comparison of stacks leaves to the user."""
    declared = [Point(f"{row.word}: {_differing(row)}") for row in varied if row.word != _UNJUDGED]
    left = [sentence(brief(item.why, item.expected, item.observed)) for row in varied if row.word == _UNJUDGED
            for item in row.differences]
    return [Section("Differs on purpose, not judged", tuple(declared)),
            Section("Differs in the program, which this question does not judge",
                    tuple(Point(text) for text in left[:MAX_SHORT_REASONS]), rest=rest(len(left) - MAX_SHORT_REASONS))]


def _differing(row: Varied) -> str:
    found = [brief(item.why, item.expected, item.observed) for item in row.differences]
    if found:
        return listed(found, MAX_FOLDED, "; ")
    return "no difference was found" + (f", {count(len(row.unread), 'check')} lacking facts" if row.unread else "")


def _unread(verdict: Verdict) -> list[Section]:
    """Group what was not read by the way to read it, so that a hundred facts are a few lines."""
    lowering = [item for item in verdict.assumes if item.lowers and item.lacking]
    effects = [item.rule for item in verdict.assumes if item.lowers and not item.lacking]
    groups = grouped(lowering, lambda item: item.capture_how)
    points = [Point(how, (("for", _facts(items)),)) for how, items in groups[:MAX_GROUPS]]
    left_out = sum(len(items) for _, items in groups[MAX_GROUPS:])
    sections = [Section(f"Not read, so not guaranteed ({count(len(lowering), 'check')})", tuple(points),
                        rest=rest(left_out))]
    if effects:
        named = Point(SAME_IT, (("for", "rules " + listed(effects, MAX_SHORT_REASONS)),))
        sections.append(Section(f"Read, but with unknown effect ({count(len(effects), 'check')})", (named,)))
    return [*sections, _not_covered([item for item in verdict.assumes if not item.lowers])]


def _not_covered(items: list[Assumption]) -> Section:
    """Count by layer what nobody saw from outside and what lowers nothing there."""
    layers = sorted(grouped(items, lambda item: item.layer), key=lambda group: -len(group[1]))
    named = listed([f"{layer} {len(of_layer)}" for layer, of_layer in layers], MAX_LAYERS)
    ways = sorted(grouped(items, lambda item: item.capture_how), key=lambda way: -len(way[1]))
    how = [("to cover", how) for how, _ in ways[:1]]
    point = Point(f"what the program itself sets ({count(len(items), 'check')}: {named})", tuple(how))
    return Section("Not covered by this verdict", (point,) if items else ())


def _facts(items: list[Assumption]) -> str:
    """Return the unread facts of several rules and the sides that lack them."""
    lacking = {side: sorted({path for item in items for path in item.lacking.get(side, {})})
               for side in ("expected", "observed")}
    paths = list(dict.fromkeys(lacking["expected"] + lacking["observed"]))
    sides = [name for side, name in SIDES.items() if lacking[side]]
    return f"{listed(paths, MAX_PATHS)} ({f'{sides[0]} side' if len(sides) == 1 else 'both sides'})"


def _raises(verdict: Verdict, numbers: dict[str, int]) -> Section:
    """Say what lifts which end, referring to the numbered differences instead of repeating their remedies."""
    points: list[Point] = []
    for (lifts, to), steps in grouped(verdict.raises, lambda step: (step.lifts, step.to)):
        also = "also " if any(step.to is to and step.lifts.endswith(f" and {lifts}") for step in verdict.raises) else ""
        points.append(Point(f"{lifts} to {to.word}: {also}{_steps(steps, numbers)}"))
    return Section("What would raise it", tuple(points[:MAX_STEPS]), rest=rest(len(points) - MAX_STEPS))


def _steps(steps: list[Step], numbers: dict[str, int]) -> str:
    referred = sorted({numbers[rule] for step in steps for rule in step.rules if rule in numbers})
    told = list(dict.fromkeys(step.do for step in steps if not any(rule in numbers for rule in step.rules)))
    parts = [f"the {'remedy' if len(referred) == 1 else 'remedies'} of {conjoined([str(n) for n in referred])}"
             ] if referred else []
    return "; and ".join(parts + told[:MAX_GROUPS]) + (f"; and {len(told) - MAX_GROUPS} more"
                                                       if len(told) > MAX_GROUPS else "")


def _notes(notes: list[Reason]) -> Section:
    points = tuple(Point(f"{said(reason)} ({reason.rule}, {reason.confidence})")
                   for reason in notes[:MAX_SHORT_REASONS])
    return Section("Also seen, lowers nothing", points, rest=rest(len(notes) - MAX_SHORT_REASONS))


def _evidence(verdict: Verdict) -> Section:
    return Section("Observed results", tuple(Point(line) for line in verdict.observed))


def _ignored(verdict: Verdict) -> Section:
    points = tuple(Point(brief(put(f"{item.path}: {item.expected} against {item.observed} ({item.why})"), "", ""))
                   for item in verdict.ignored[:MAX_IGNORED])
    return Section("Differences that do not matter", points, rest=rest(len(verdict.ignored) - MAX_IGNORED))


def _waived(verdict: Verdict) -> Section:
    return Section("Waived by the policy", tuple(Point(f"{rule}: {reason}") for rule, reason in verdict.waived))

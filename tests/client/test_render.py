"""A verdict in words: everything a person needs, nothing twice, lines that fit."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from documents import complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Answer, Level, Question, Scope
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Assumption, Confound, Difference, Ignored, Reason, Step, Varied, Verdict
from repro_env.errors import InvalidDocument
from repro_env.render import render_markdown, render_text
from repro_env.render.outline import MAX_IGNORED, MAX_REASONS, MAX_SHORT_REASONS


def reason(rule: str, **changes: Any) -> Reason:
    made = Reason(rule=rule, layer="threads", cause="thread_count", why=f"{rule}: 4 against 8", expected="4",
                  observed="8", guaranteed=Level.CURVE, expected_level=Level.CURVE, possible=Level.BITWISE,
                  effect="about 1e-7 relative", remedy=f"fix {rule}", confidence="proven", source=("measured",))
    return dataclasses.replace(made, **changes)


def assumption(rule: str, how: str = "run the program under `repro-env run`", *, lowers: bool = True) -> Assumption:
    return Assumption(rule=rule, layer="libraries", cause="library_version", lowers=lowers, guaranteed=Level.CURVE,
                      lacking={"expected": {f"libraries.{rule}": "not-loaded"}}, capture_how=how)


def verdict(**changes: Any) -> Verdict:
    made = Verdict(question=Question.COMPARE, scope=Scope.PROCESS, level=Level.CURVE, answer=Answer.YES,
                   guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE, headline="The headline.",
                   reasons=(), assumes=(), raises=(), ignored=(), waived=(), ruleset="1", policy="sha256:0")
    return dataclasses.replace(made, **changes)


def test_the_headline_comes_first() -> None:
    assert render_text(verdict()).splitlines()[0] == "The headline."


@pytest.mark.parametrize(("answer", "words"), [
    (Answer.YES, "Comparable at level curve? Yes, guaranteed."), (Answer.NO, "Comparable at level curve? No."),
    (Answer.LIKELY, "Comparable at level curve? Likely: expected of ordinary programs, but not guaranteed."),
    (Answer.UNKNOWN, "Comparable at level curve? Unknown: nothing that was read stands against it, but 0 checks lack")])
def test_the_answer_repeats_the_level_asked(answer: Answer, words: str) -> None:
    assert words in render_text(verdict(answer=answer), columns=200)


def test_a_verdict_on_stacks_says_so() -> None:
    assert "(the stacks alone)" in render_text(verdict(scope=Scope.STACK), columns=100)


@pytest.mark.parametrize(("question", "words"), [(Question.REPEAT, "Should they repeat at level curve?"),
                                                 (Question.RESUME, "Should the second continue the first at level")])
def test_the_question_is_in_the_answer(question: Question, words: str) -> None:
    assert words in render_text(verdict(question=question))


def test_the_three_ends_stand_with_their_meaning() -> None:
    text = render_text(verdict(guaranteed=Level.NONE), columns=100)
    assert "  expected    curve       the same up to float noise" in text
    assert "  guaranteed  none        nothing yet: too much that matters was not read" in text
    assert "  possible    bitwise     the same bits, if what was found does not touch the program" in text


def test_nothing_guaranteed_for_what_was_read_is_not_put_down_to_what_was_not() -> None:
    wrong = reason("a", guaranteed=Level.NONE, expected_level=Level.NONE)
    text = render_text(verdict(guaranteed=Level.NONE, reasons=(wrong,)), columns=100)
    assert "  guaranteed  none        nothing, for what stands between them" in text


@pytest.mark.parametrize(("ends", "words"), [
    ((Level.BITWISE, Level.BITWISE, Level.BITWISE), "the same bits: nothing that was read stands against it"),
    ((Level.CURVE, Level.CURVE, Level.CURVE), "no more than that, whatever the program does"),
    ((Level.NONE, Level.STATISTICAL, Level.CURVE), "at best the same up to float noise")],
    ids=["nothing found", "as expected", "between"])
def test_what_is_possible_is_said_against_what_is_expected(ends: tuple[Level, Level, Level], words: str) -> None:
    guaranteed, expected, possible = ends
    assert words in render_text(verdict(guaranteed=guaranteed, expected=expected, possible=possible), columns=200)


def test_a_guarantee_as_high_as_what_is_expected_is_no_second_sentence() -> None:
    assert "  guaranteed  curve       all of that, whatever the program does" in render_text(verdict())
    stack = render_text(verdict(scope=Scope.STACK), columns=100)
    assert "  guaranteed  curve       all of that, as far as the stacks decide it" in stack


def test_a_root_leads_and_its_consequence_is_folded_even_where_the_consequence_is_stronger() -> None:
    rows = (reason("follows", implied_by="root", expected_level=Level.NONE, guaranteed=Level.NONE), reason("root"))
    text = render_text(verdict(reasons=rows))
    assert "1. Root: 4 against 8" in text
    assert "so also: follows: 4 against 8" in text


def test_the_first_difference_is_the_one_that_the_headline_names() -> None:
    rows = (reason("follows", implied_by="root", expected_level=Level.NONE, guaranteed=Level.NONE),
            reason("other", expected_level=Level.STATISTICAL, guaranteed=Level.STATISTICAL), reason("root"))
    text = render_text(verdict(reasons=rows))
    assert "1. Root: 4 against 8" in text
    assert "2. Other: 4 against 8" in text


def test_what_follows_from_a_suspicion_stands_by_itself() -> None:
    note = reason("n", guaranteed=Level.BITWISE, expected_level=Level.BITWISE, confidence="suspected")
    text = render_text(verdict(reasons=(reason("real", implied_by="n"), note)))
    assert "1. Real: 4 against 8" in text


VARIED = Varied("precision", (Difference("tf32", "TF32 on against off", "on", "off"),))


def test_what_differs_on_purpose_is_listed_by_its_word() -> None:
    text = render_text(verdict(varied=(VARIED, Varied("seed", (), ("seed",)))))
    assert "Differs on purpose, not judged\n  - precision: TF32 on against off" in text
    assert "  - seed: no difference was found, 1 check lacking facts" in text


def test_what_a_comparison_of_stacks_does_not_judge_is_listed_apart() -> None:
    row = Varied("program", (Difference("seed", "seeds 1 against 2", "1", "2"),))
    text = render_text(verdict(varied=(row,)))
    assert "Differs in the program, which this question does not judge\n  - Seeds 1 against 2" in text
    assert "Differs on purpose" not in text


def test_what_moves_together_with_the_declared_is_named_by_its_number() -> None:
    rows = (reason("a"), reason("b"), *(reason(f"r{number}") for number in range(5)))
    mixed = tuple(Confound(rule, f"{rule}: 4 against 8", ("seed", "code")) for rule in ("a", "b", "r4"))
    text = render_text(verdict(reasons=rows, varied=(VARIED,), confounds=mixed), columns=300)
    assert "- a difference between the results may be due to 1 and 2 as well as to seed and code;" in text
    assert "  - r4: 4 against 8" in text


def test_where_no_fact_is_lacking_the_rules_are_named_and_nothing_is_asked_for() -> None:
    rows = tuple(dataclasses.replace(assumption(f"r{number}"), lacking={}) for number in range(3))
    text = render_text(verdict(assumes=rows))
    assert "Read, but with unknown effect (3 checks)" in text
    assert "for: rules r0, r1, r2" in text
    assert "Not read" not in text
    assert "repro-env run" not in text


def test_a_reason_has_effect_remedy_and_rule() -> None:
    text = render_text(verdict(reasons=(reason("a"),)))
    for words in ("1. A: 4 against 8", "effect: about 1e-7", "remedy: fix a", "rule: a: leaves curve; proven"):
        assert words in text


def test_what_follows_from_a_reason_is_folded_into_it() -> None:
    folded = (*(reason(f"b{number}", implied_by="a") for number in range(6)), reason("c", implied_by="b0"))
    text = render_text(verdict(reasons=(reason("a"), *folded)), columns=200)
    assert "so also: b0: 4 against 8; b1: 4 against 8; b2: 4 against 8; b3: 4 against 8 and 3 more" in text
    assert "2. " not in text


def test_a_folded_reason_in_the_same_words_is_not_repeated() -> None:
    same = reason("b", why="a: 4 against 8", implied_by="a")
    assert "so also" not in render_text(verdict(reasons=(reason("a"), same)))


def test_many_reasons_are_cut_and_counted() -> None:
    many = tuple(reason(f"r{number}") for number in range(MAX_REASONS + MAX_SHORT_REASONS + 4))
    text = render_text(verdict(reasons=many))
    assert text.count("remedy:") == MAX_REASONS
    assert "and 4 more, listed in the JSON form (--json)" in text


def test_a_suspicion_stands_apart_from_what_counts() -> None:
    note = reason("n", guaranteed=Level.BITWISE, expected_level=Level.BITWISE, confidence="suspected")
    text = render_text(verdict(reasons=(note,)))
    assert "Also seen, lowers nothing" in text
    assert "What stands between them" not in text


def test_a_hundred_unread_facts_are_a_few_lines() -> None:
    rows = tuple(assumption(f"r{number:03}", f"way {number % 5}") for number in range(100))
    text = render_text(verdict(assumes=rows), columns=100)
    block = text.split("Not read, so not guaranteed (100 checks)")[1].split("\n\n")[0]
    assert len(block.strip().splitlines()) <= 7
    assert "and 17 more (left side)" in block
    assert "and 40 more, listed in the JSON form (--json)" in block


def test_what_the_program_sets_is_counted_by_layer() -> None:
    rows = tuple(assumption(f"r{number}", lowers=False) for number in range(9))
    assert "what the program itself sets (9 checks: libraries 9)" in render_text(verdict(assumes=rows))


def test_what_would_raise_it_refers_to_the_numbered_remedies() -> None:
    steps = (Step("fix a", "expected", Level.BITWISE, ("a",)), Step("fix b", "expected", Level.BITWISE, ("b",)),
             Step("look there", "guaranteed", Level.BITWISE, ("z",)))
    text = render_text(verdict(reasons=(reason("a"), reason("b")), raises=steps))
    assert "- expected to bitwise: the remedies of 1 and 2" in text
    assert "- guaranteed to bitwise: look there" in text
    assert text.count("fix a") == 1


@pytest.mark.parametrize(("why", "shown"), [
    ("cuBLAS 1 against 2", "1. cuBLAS 1 against 2"), ("flash-attn 1 against 2", "1. flash-attn 1 against 2"),
    ("uncommitted changes", "1. Uncommitted changes"), ("defaults: a against b", "1. Defaults: a against b")])
def test_a_sentence_begins_with_a_capital_but_for_names(why: str, shown: str) -> None:
    assert shown in render_text(verdict(reasons=(reason("a", why=why),)))


def test_ignored_differences_are_one_line_each_and_counted() -> None:
    rows = tuple(Ignored(f"system.f{number}", "a", "b", "it does not act") for number in range(MAX_IGNORED + 2))
    text = render_text(verdict(ignored=rows))
    assert "- system.f0: a against b (it does not act)" in text
    assert "and 2 more, listed in the JSON form (--json)" in text


def test_waivers_and_evidence_are_shown() -> None:
    text = render_text(verdict(waived=(("torch-threads", "one core only"),), observed=("result loss: different",)))
    assert "- torch-threads: one core only" in text
    assert "- result loss: different" in text


def test_both_sides_are_named() -> None:
    text = render_text(verdict(), "run-a", "b.json")
    assert "  left        run-a\n  right       b.json" in text


@pytest.mark.parametrize("columns", [40, 60, 88, 100])
def test_lines_fit(columns: int) -> None:
    told = judge(Facts.of(complete_document("process", machine="cpu")),
                 Facts.of(complete_document("process", machine="h100")))
    assert max(map(len, render_text(told, "left.json", "right.json", columns=columns).splitlines())) <= columns


def test_empty_sections_are_left_out() -> None:
    text = render_text(verdict())
    assert text.count("\n\n") == 2
    assert render_markdown(verdict()).count("###") == 0


def test_markdown_says_the_same_as_text() -> None:
    told = verdict(reasons=(reason("a"),), assumes=(assumption("b"),), ignored=(Ignored("x.y", "1", "2", "why"),))
    text, markdown = render_text(told, columns=500), render_markdown(told).replace("\\", "").replace("*", "")
    for line in text.splitlines():
        words = line.strip().lstrip("-1. ").removeprefix("expected ").strip()
        assert words[:20].strip() in markdown or words.split("  ")[0] in markdown


def test_markdown_shows_markup_of_others_as_text() -> None:
    told = verdict(headline="<b>x</b> [click](http://evil) `code` | pipe")
    assert "\\<b\\>x\\</b\\> \\[click\\](http://evil) \\`code\\` \\| pipe" in render_markdown(told)


@pytest.mark.parametrize("question", list(Question))
def test_a_verdict_survives_its_json_form(question: Question) -> None:
    left = complete_document("process", machine="cpu", **{"threads.torch_intraop": 2})
    right = complete_document("process", machine="cpu", **{"cpu.instruction_sets": {"unread": "denied"}})
    told = judge(Facts.of(left), Facts.of(right), question=question)
    assert Verdict.from_json(told.to_json()) == told


@pytest.mark.parametrize(("change", "words"), [
    ({"level": "exact"}, "verdict.level"), ({"reasons": None}, "verdict.reasons: expected a list"),
    ({"reasons": [{"rule": "a"}]}, r"verdict.reasons\[0\]: a field is missing"),
    ({"answer": "maybe"}, "verdict.answer")])
def test_what_is_no_verdict_is_refused_with_its_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        Verdict.from_json({**verdict().to_json(), **change})

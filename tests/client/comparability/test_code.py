"""Which code ran: told by a repository, or stated."""

from __future__ import annotations

from typing import Any

from documents import complete_document, distribution

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

OUTSIDE: dict[str, Any] = {"source.commit": None, "source.dirty": None, "threads.torch_intraop": 1}
STATED = {**OUTSIDE, "declared.values": {"code-digest": "sha256:" + "1" * 64}}


def verdict(left: dict[str, Any], right: dict[str, Any], question: Question = Question.REPEAT) -> Verdict:
    sides = [Facts.of(complete_document("exit", "cpu", **facts)) for facts in (left, right)]
    return judge(*sides, question=question)


def test_a_program_outside_a_repository_may_have_been_edited_in_between() -> None:
    found = verdict(OUTSIDE, OUTSIDE)

    assert (found.guaranteed, found.expected) == (Level.NONE, Level.BITWISE)
    assert [reason.rule for reason in found.reasons] == ["code-untold"]


def test_stated_code_stands_for_a_repository_and_is_compared() -> None:
    other = {**STATED, "declared.values": {"code-digest": "sha256:" + "2" * 64}}

    assert verdict(STATED, STATED).guaranteed is Level.BITWISE
    assert verdict(STATED, other).expected < Level.BITWISE


def test_stacks_are_compared_whatever_code_ran() -> None:
    assert verdict(OUTSIDE, OUTSIDE, Question.COMPARE).guaranteed is Level.BITWISE


IN_PLACE = {"distributions.installed": [distribution("mymodels", "0.1.0", origin="file:///home/team/project/models",
                                                     editable=True)]}


def rules(told: Verdict) -> set[str]:
    return {reason.rule for reason in told.reasons}


def test_changes_without_a_digest_do_not_tell_which_code_ran() -> None:
    told = verdict({"source.dirty": True}, {"source.dirty": True})
    assert (told.guaranteed, told.expected, rules(told)) == (Level.NONE, Level.BITWISE, {"code-untold"})
    assert verdict({"source.dirty": True, "source.diff_digest": "sha256:" + "4" * 64},
                   {"source.dirty": True, "source.diff_digest": "sha256:" + "4" * 64}).guaranteed is Level.BITWISE


def test_a_package_installed_in_place_is_not_told_by_its_version() -> None:
    told = verdict(IN_PLACE, IN_PLACE)
    assert (told.guaranteed, told.expected, rules(told)) == (Level.NONE, Level.BITWISE, {"package-code-untold"})
    assert "package-code-untold" not in rules(verdict(IN_PLACE, IN_PLACE, Question.COMPARE))


def test_what_the_repository_of_the_program_holds_is_told_by_its_commit() -> None:
    for remote in ("https://example.org/team/project.git", "git@example.org:team/Project", "ssh://example.org/project/"):
        facts = {**IN_PLACE, "source.remote": remote}
        assert verdict(facts, facts).guaranteed is Level.BITWISE
    other = {**IN_PLACE, "source.remote": "https://example.org/team/pro.git"}
    assert verdict(other, other).guaranteed is Level.NONE


def test_a_package_from_a_commit_a_tool_and_stated_code_are_told() -> None:
    for item in (distribution("mymodels", "0.1.0", editable=True, revision="9f1c2d3"),
                 distribution("pytest", "8.0", editable=True), distribution("mymodels", "0.1.0")):
        facts = {"distributions.installed": [item]}
        assert verdict(facts, facts).guaranteed is Level.BITWISE
    facts = {**IN_PLACE, "declared.values": {"code": "sha256:" + "1" * 64}}
    assert verdict(facts, facts).guaranteed is Level.BITWISE

"""Each rule by itself: with a fact erased it says what it said before, or that it cannot tell."""

from __future__ import annotations

import pytest
from documents import Document, change, complete_document
from strategies import RAW, build, erase, fact_paths

from repro_env.comparability.levels import Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.vector import FALLBACK, UNREAD, Entry, Vector, project
from repro_env.fingerprint.facts import unread

ORDINARY = {name: values[0] for name, values in RAW.items()}
OTHER = {name: values[1] for name, values in RAW.items()}
SIDES: dict[str, Document] = {
    "cpu": complete_document(), "h100": complete_document(machine="h100"),
    "cpu from outside": complete_document("prologue"), "h100 from outside": complete_document("import", machine="h100"),
    "everything odd on cpu": build({**OTHER, "machine": "cpu"}),
    "everything odd on a GPU": build(OTHER),
    "old torch with TF32": build({**ORDINARY, "machine": "h100", "gpu": "a100", "torch": "2.4.1", "matmul_tf32": True}),
    "no framework": change(complete_document(), **{"frameworks.torch": None, "frameworks.backend": None}),
    "sparse": Document(stack={}, program={}, capture={"vantage": "import"}),
}



@pytest.mark.parametrize("name", [name for name in SIDES if name != "sparse"])
def test_an_erased_fact_gives_the_same_answer_or_none(name: str) -> None:
    whole = SIDES[name]
    before = project(Facts.of(whole), Question.REPEAT)
    broken = [f"{rule} without {path}: {tuple(before[rule])} became {tuple(item)}"
              for path in fact_paths(whole)
              for rule, item in project(Facts.of(erase(whole, {path: "denied"})), Question.REPEAT).items()
              if not weaker(before[rule], item)]
    assert not broken, "\n".join(broken)


def weaker(before: Entry, after: Entry) -> bool:
    """Tell whether ``after`` says the same or less than ``before``."""
    return after.same(before) or after.state == UNREAD or (after.state == FALLBACK and before.state != UNREAD)


@pytest.mark.parametrize("name", SIDES)
def test_what_is_unread_names_the_fact_and_its_code(name: str) -> None:
    unnamed = [rule for rule, item in project(Facts.of(SIDES[name]), Question.REPEAT).items()
               if item.state == UNREAD and not item.lacking]
    assert not unnamed


def test_a_document_that_says_nothing_leaves_every_rule_open() -> None:
    vector: Vector = project(Facts.of(SIDES["sparse"]), Question.REPEAT)
    decided = {rule for rule, item in vector.items() if item.state != UNREAD}
    assert decided <= {"ranks-differ"}


def test_a_fallback_names_the_code_of_the_fact_it_stands_for() -> None:
    document = change(complete_document(), **{"threads.torch_intraop": unread("too-early")})
    codes = {code for item in project(Facts.of(document), Question.REPEAT).values()
             for path, code in item.lacking if path == "threads.torch_intraop"}
    assert codes <= {"too-early"}

"""The reference pages are what the code says, and the pages that people write hold true."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("client/*.md"), *ROOT.glob("service/*.md"),
                *ROOT.glob("images/*.md")])
RULE_PAGES = sorted(ROOT.glob("docs/rules/*.md"))


@pytest.fixture(scope="module")
def knowledge() -> Any:
    """The module that reads the tables of ``docs/knowledge``; it stands beside the page it makes."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import knowledge_page
    finally:
        sys.path.pop(0)
    return knowledge_page


def test_reference_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "build.py"), "--check"], capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr


@functools.cache
def anchors(page: Path) -> frozenset[str]:
    """What a link into a page may name: its headings, as a reader of Markdown makes anchors of them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    broken = []
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        if not other.exists() or (anchor and other.suffix == ".md" and anchor not in anchors(other)):
            broken.append(f"{target}#{anchor}")
    assert not broken, f"{page.name} links to {broken}"


@pytest.mark.parametrize("page", RULE_PAGES, ids=lambda page: page.stem)
def test_pages_on_rules_show_values_and_no_templates(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\{(?:expected|observed|detail|side)\}", text)
    for section in text.split("\n## ")[1:]:
        assert "\n> " in section, section.splitlines()[0]
        for name in ("cause", "remains", "how large", "to mend", "known"):
            assert f"\n- {name}: " in section, section.splitlines()[0]


def test_every_rule_stands_on_the_page_of_its_layer() -> None:
    from repro_env.comparability.rules import RULES

    for page in RULE_PAGES:
        listed = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert listed == [rule.id for rule in RULES if rule.layer == page.stem]
    assert {page.stem for page in RULE_PAGES} == {rule.layer for rule in RULES}


def test_make_help_names_every_target_of_the_readme() -> None:
    named = set(re.findall(r"`?make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets, f"the README names {named - targets}, the Makefile does not"


def test_the_policy_that_the_page_on_levels_shows_is_accepted() -> None:
    from repro_env.comparability.policy import Policy
    from repro_env.comparability.rules import RULES_BY_ID

    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/levels.md").read_text(encoding="utf-8"), re.DOTALL)
    policy = Policy.parse(tomllib.loads(shown), RULES_BY_ID)
    assert set(policy.waive) == {"text-encoding"}
    assert policy.levels["torch-threads"].levels.expected.word == "bitwise"


def test_words_that_the_page_on_levels_declares_to_vary_are_known() -> None:
    from repro_env.comparability.varying import rules_of_word

    text = (ROOT / "docs/levels.md").read_text(encoding="utf-8")
    words = [word for given in re.findall(r"--vary ([\w.*,]+)", text) for word in given.split(",")]
    assert words
    assert all(map(rules_of_word, words))


SOUND = {"layer": "driver", "becomes": "rule", "rules": ["torch-threads"], "ignored": [],
         "reason": "Sums are split at other places.", "checked": "measured: two threads"}


class TestKnowledge:
    """Every piece of research has one answer, with a reason, and what it names exists."""

    def test_every_entry_is_answered_soundly(self, knowledge: Any) -> None:
        assert knowledge.problems(knowledge.entries()) == []

    def test_no_entry_is_left_out(self, knowledge: Any) -> None:
        assert len(knowledge.entries()) == knowledge.ENTRIES

    def test_the_page_counts_every_entry(self, knowledge: Any) -> None:
        counted = re.findall(r"^\| (\w+) \| (\d+) \|", knowledge.page(), re.MULTILINE)
        assert [name for name, _ in counted] == list(knowledge.DISPOSITIONS)
        assert sum(int(number) for _, number in counted) == knowledge.ENTRIES

    @pytest.mark.parametrize(("change", "words"), [
        ({}, ""), ({"becomes": "kept"}, "becomes 'kept'"), ({"reason": "so"}, "no reason"),
        ({"checked": ""}, "layer and checked"), ({"rules": ["no-such"]}, "there is no rule no-such"),
        ({"rules": []}, "rules are named where"), ({"becomes": "declined"}, "rules are named where"),
        ({"becomes": "suspected"}, "rule torch-threads is not suspected"),
        ({"becomes": "ignored", "rules": []}, "names nothing that lists"),
        ({"becomes": "ignored", "rules": [], "ignored": ["cpu.colour"]}, "cpu.colour is not listed"),
        ({"becomes": "ignored", "rules": [], "ignored": ["driver.cuda_level", "variables.values"]}, ""),
        ({"note": "x"}, "unknown fields note")])
    def test_what_is_wrong_with_an_entry_is_said(self, change: dict[str, Any], words: str, knowledge: Any) -> None:
        found = knowledge.problems([knowledge.Entry("e", "part", {**SOUND, **change})])
        assert bool(found) == bool(words)
        assert not words or words in found[0]

    def test_an_entry_in_two_tables_is_found(self, knowledge: Any) -> None:
        twice = [knowledge.Entry("e", part, SOUND) for part in ("devices", "host")]
        assert knowledge.problems(twice) == ["e: stands in 2 tables"]

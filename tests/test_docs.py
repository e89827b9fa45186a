"""The reference pages are what the code says, and the pages that people write hold true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("client/*.md"), *ROOT.glob("service/*.md"),
                *ROOT.glob("images/*.md")])


def test_reference_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "build.py"), "--check"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [target for target in targets if not (page.parent / target).exists()]
    assert not broken, f"{page.name} links to {broken}"


def test_make_help_names_every_target_of_the_readme() -> None:
    named = set(re.findall(r"`?make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets, f"the README names {named - targets}, the Makefile does not"

"""The shipped dumps, and the one switch that writes their golden documents anew."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "importers"
DUMPS = sorted((GOLDEN / "dumps").glob("*.txt"))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("golden files")
    known = {name for option in group.options for name in option.names()}
    if "--regenerate" not in known:
        group.addoption("--regenerate", action="store_true", help="write golden files anew instead of comparing")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dump" in metafunc.fixturenames:
        metafunc.parametrize("dump", DUMPS, ids=[path.stem for path in DUMPS])


@pytest.fixture
def regenerate(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--regenerate", default=False))

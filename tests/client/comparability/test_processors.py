"""What the model name of a CPU tells: its vector level, its maker, the architecture of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.comparability.processors import architecture_of_model, level_of_model, maker_of_model
from repro_env.comparability.rules.cpu import architecture, cpu_vendor
from tests.client.comparability.sparse import side

NAMES = [
    ("AMD EPYC 7742 64-Core Processor", "AVX2", "AuthenticAMD", "x86_64"),
    ("AMD Ryzen 9 5950X", "AVX2", "AuthenticAMD", "x86_64"),
    ("Intel(R) Core(TM) i9-12900K", "AVX2", "GenuineIntel", "x86_64"),
    ("i7-5820K", "AVX2", "GenuineIntel", "x86_64"),
    ("Xeon Platinum 8124M", "AVX-512", "GenuineIntel", "x86_64"),
    ("Apple M1 Pro", "NEON", "Apple", "arm64"),
    ("Neoverse-N1", "NEON", "ARM", "arm64"),
    ("a processor of no known name", None, None, None),
    (None, None, None, None),
]


@pytest.mark.parametrize(("name", "level", "maker", "machine"), NAMES, ids=[str(row[0]) for row in NAMES])
def test_a_name_tells_level_maker_and_architecture(name: Any, level: Any, maker: Any, machine: Any) -> None:
    assert (level_of_model(name), maker_of_model(name), architecture_of_model(name)) == (level, maker, machine)


def test_what_was_read_wins_over_the_name() -> None:
    facts = side(**{"cpu.model": "Apple M1", "cpu.architecture": "x86_64", "cpu.vendor": "GenuineIntel",
                    "frameworks.backend": "cpu"})
    assert architecture(facts) == "x86_64"
    assert cpu_vendor(facts) == "GenuineIntel"


def test_a_name_stands_in_where_maker_and_architecture_were_not_read() -> None:
    facts = side(**{"cpu.model": "AMD EPYC 7742", "frameworks.backend": "cpu"})
    assert (architecture(facts), cpu_vendor(facts)) == ("x86_64", "AuthenticAMD")

"""A section of the document is no fact: what is meant is a fact within it."""

from __future__ import annotations

import pytest

from repro_env.errors import UsageError
from repro_env.whatif import document


@pytest.mark.parametrize("name", ["stack", "program", "schema", "frameworks", "libraries", "accelerators", "data"])
def test_a_section_is_not_taken_for_a_distribution(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} holds facts"):
        document(f"gpu=A100,{name}=1")

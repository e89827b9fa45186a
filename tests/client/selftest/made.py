"""Made launches: documents of one process each, with facts changed, and the digest that the program printed."""

from __future__ import annotations

import json
import uuid
import zlib
from typing import Any

from documents import complete_document

from repro_env.selftest.bases import BASES_BY_NAME
from repro_env.selftest.factors import FACTORS_BY_NAME
from repro_env.selftest.launches import Launch, Outcome

ONE, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def outcome(factor: str = "", digest: str | None = ONE, *, base: str = "python", workload: str = "arithmetic",
            number: int = 0, error: str | None = None, **facts: Any) -> Outcome:
    """Return one launch: a torch program on the CPU as far as its document goes, with ``facts`` changed."""
    document = complete_document("exit", "cpu", **facts)
    document["capture"]["observation_id"] = str(uuid.uuid4())
    launch = Launch(BASES_BY_NAME[base], workload, FACTORS_BY_NAME[factor] if factor else None, number)
    return Outcome(launch, digest, zlib.compress(json.dumps([document]).encode()), error)


def plain(count: int = 2, **options: Any) -> list[Outcome]:
    """Return launches of a base that repeats."""
    return [outcome(number=number, **options) for number in range(count)]


#: a settled document: two threads of torch, one of which races, are left to another test.
STILL: dict[str, Any] = {"threads.torch_intraop": 1, "libraries.mkl": None}

"""What is asked of several sides, and what the API answers, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from repro_env.comparability.levels import Answer, Question, Scope

from .answers import LevelWord, PolicyInForce, SideSummary, Strict
from .ingest import NAME_PATTERN

SIDE_PATTERN = r"^(manifest:[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}/)?" + NAME_PATTERN[1:]


class SeveralRequest(Strict):
    """Runs or manifests to be judged together: 2 to 1000, each once. ``policy`` states one, or says whose."""

    runs: list[Annotated[str, Field(pattern=SIDE_PATTERN)]] = Field(
        description="run ids, or manifest:name/version; 2 to 1000, each once")
    question: Literal["compare", "repeat"] = Field(default="compare", description="compare or repeat")
    level: LevelWord | None = Field(default=None, description="level asked for; policy and question have a default")
    policy: Literal["project", "none"] | dict[str, Any] | None = Field(default=None, description=(
        "`project`, `none`, or a policy for this request; without it that of the project of all runs, where it has "
        "one"))
    vary: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list, max_length=50, description="what differs on purpose, beside what the policy says")
    matrix: bool | None = Field(default=None, description=(
        "whether the ends of each pair are told; without it where there are at most 200 environments"))


class SeveralSide(SideSummary):
    """One of several sides. ``vector`` is the digest of what was judged of it, ``observations`` how many it has."""

    name: str
    observations: int
    vector: str


class ClassOfSides(BaseModel):
    """Sides of which each pair is guaranteed ``level``."""

    level: LevelWord
    members: list[str]


class OutsideOfClasses(BaseModel):
    """Sides in no class of ``level``: facts they lack, most needed first, and rules that fail on them."""

    level: LevelWord
    members: list[str]
    lacking: list[str]
    failing: list[str]


class SeveralAnswer(BaseModel):
    """What holds among several sides (``repro_env.comparability.several.Several.to_json``).

    ``groups`` hold the names of sides with equal environments; ``guaranteed``, ``expected`` and ``possible`` are rows
    over groups, the diagonal being two executions of one environment, and null where they were left out.
    """

    question: Question
    scope: Scope
    level: LevelWord
    answer: Answer
    groups: list[list[str]]
    guaranteed: list[list[LevelWord]] | None
    expected: list[list[LevelWord]] | None
    possible: list[list[LevelWord]] | None
    classes: list[ClassOfSides]
    outside: list[OutsideOfClasses]
    separates: list[dict[str, Any]]
    confounds: list[dict[str, Any]]
    ruleset: str
    policy: str
    terms: dict[str, Any]
    in_force: PolicyInForce
    runs: list[SeveralSide]

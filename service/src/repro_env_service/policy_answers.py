"""What the API takes and answers of policies, as pydantic models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .answers import LevelWord


class ChangedLevels(BaseModel):
    """Other levels of a rule, with the reason; an end that is not stated stays what the rule set says."""

    model_config = ConfigDict(extra="forbid")

    guaranteed: LevelWord | None = None
    expected: LevelWord | None = None
    possible: LevelWord | None = None
    reason: str


class PolicyTerms(BaseModel):
    """What a project decides about rules; without entries it changes nothing."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="unnamed", description="for people; part of no digest")
    waive: dict[str, str] = Field(default_factory=dict, description="rule id to the reason why it does not count")
    levels: dict[str, ChangedLevels] = Field(default_factory=dict, description="rule id to its levels here")
    vary: list[str] = Field(default_factory=list, description="what differs on purpose, as in seed or precision.*")
    require: LevelWord | None = Field(default=None, description="the level that is asked for where none is named")
    baseline: str | None = Field(default=None, description="run id, or manifest:name/version")


class PolicySummary(BaseModel):
    """One version of a policy; ``digest`` covers what acts."""

    version: int
    name: str
    digest: str
    received_at: str


class PolicyAnswer(PolicySummary):
    """One version with what was sent. ``notes`` name entries that mean nothing under ``ruleset``, the one in force."""

    project: str
    ruleset: str
    policy: dict[str, Any]
    notes: list[str]


class PolicyVersions(BaseModel):
    """A page of versions, newest first: the first one of all is in force."""

    project: str
    versions: list[PolicySummary]
    next: str | None

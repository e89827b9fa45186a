"""What the API answers, as pydantic models; ``/openapi.json`` is made from them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from repro_env.comparability.levels import Answer, Question, Scope
from repro_env.fingerprint.validate import VANTAGES

LevelWord = Literal["bitwise", "curve", "statistical", "none"]


class Strict(BaseModel):
    """A body the API takes: unknown fields are refused, types are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """RFC 9457 problem; ``type`` is stable, ``field`` names the place in the request, ``remedy`` what to do."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    remedy: str
    field: str | None = None


class Digests(BaseModel):
    """Digests the service computed: of both parts, and of the whole document without its claims."""

    stack: str
    program: str
    document: str


class BaselineWarning(BaseModel):
    """The run does not compare with the baseline of its project; ``comparison`` leads to the whole verdict.

    ``policy_version`` is the version of the project's policy that it was judged under, null where there is none.
    """

    kind: Literal["baseline"]
    baseline: str
    level: LevelWord
    answer: Answer
    headline: str
    first_reason: str | None
    remedy: str | None
    policy_version: int | None
    comparison: str


class ObservationReceipt(BaseModel):
    """The document is stored and synced. ``created`` is false where the same document was there before."""

    observation_id: str
    run_id: str
    project: str | None
    digests: Digests
    created: bool
    warnings: list[BaselineWarning]
    notes: list[str]


class Ranks(BaseModel):
    """Ranks observed against ranks announced; ``partial`` runs are never guaranteed bitwise."""

    seen: int
    world_size: int | None
    partial: bool


class RunSummary(BaseModel):
    """One run in a list. ``stacks`` counts its distinct stacks, ``stack_digest`` is the first of them."""

    run_id: str
    project: str | None
    group: str | None
    scope: Scope
    vantage: str = Field(description=f"best vantage: {', '.join(VANTAGES)}")
    observations: int
    ranks: Ranks
    stacks: int
    stack_digest: str
    first_received_at: str
    last_received_at: str


class SegmentSummary(BaseModel):
    """One start of a run. ``segment`` is null where starts are not told apart; ``stacks`` counts distinct stacks."""

    segment: str | None
    started_at: str
    ranks: Ranks
    stacks: int


class RunPage(BaseModel):
    """A page of runs, newest first; ``next`` is the relative address of the next page."""

    runs: list[RunSummary]
    next: str | None


class ObservationEntry(BaseModel):
    """One observation of a run."""

    observation_id: str
    vantage: str
    moment: Any
    subject: str
    sequence: int
    captured_at: str
    received_at: str
    node: str | None
    rank: int | None
    segment: str | None
    digests: Digests
    labels: dict[str, Any]
    results: dict[str, Any]
    document: dict[str, Any] | None = None


class RunDetail(RunSummary):
    """A run with its starts, and its observations in the order of rank and time.

    ``ranks`` are those of the first start that was seen in part, else of the last. ``fillers`` are prologues of its
    jobs that came without its id; a verdict rests on them too.
    """

    segments: list[SegmentSummary]
    entries: list[ObservationEntry]
    fillers: list[ObservationEntry]


class StackDetail(BaseModel):
    """A stack and who ran on it."""

    digest: str
    stack: dict[str, Any]
    first_received_at: str
    run_count: int
    newest_runs: list[str]


class SideSummary(BaseModel):
    """One side of a verdict: a run or one start of it (``segment``), or a manifest."""

    run_id: str | None
    manifest: str | None
    project: str | None
    group: str | None
    vantage: str
    scope: Scope
    stack_digest: str
    stacks: int
    ranks_seen: int
    world_size: int | None
    partial: bool
    segment: str | None = None


class Evidence(BaseModel):
    """Result digests that both runs reported. Evidence stands beside the verdict and never changes it."""

    equal: list[str]
    different: list[str]


class SideEvidence(BaseModel):
    """What one side was judged from: every observation of its run and the prologues that may fill them."""

    name: str
    observations: list[str]
    stacks: list[str]
    programs: list[str]


class PolicyInForce(BaseModel):
    """The policy of a verdict; ``project`` and ``version`` are null for one that no project has.

    ``digest`` covers what acts, with the words of the request for what varies. ``notes`` name entries that mean nothing
    under the rule set in force.
    """

    project: str | None
    version: int | None
    name: str
    digest: str
    require: LevelWord | None
    vary: list[str]
    notes: list[str]


class ComparisonAnswer(BaseModel):
    """The verdict (``repro_env.comparability.verdict.Verdict.to_json``) with its two sides.

    ``terms`` is the policy itself, ``sides`` the observations that the verdict rests on, expected first: with the rule
    set these say all that is needed to judge again.
    """

    model_config = ConfigDict(extra="allow")

    question: Question
    scope: Scope
    level: LevelWord
    answer: Answer
    guaranteed: LevelWord
    expected: LevelWord
    possible: LevelWord
    headline: str
    reasons: list[dict[str, Any]]
    assumes: list[dict[str, Any]]
    raises: list[dict[str, Any]]
    ignored: list[dict[str, Any]]
    waived: list[list[str]]
    ruleset: str
    policy: str
    terms: dict[str, Any]
    in_force: PolicyInForce
    observed: list[str]
    varied: list[dict[str, Any]]
    confounds: list[dict[str, Any]]
    sides: list[SideEvidence]
    left: SideSummary
    right: SideSummary
    same_run: bool
    results: Evidence


class LackCount(BaseModel):
    """An unread fact, and how many runs lack it."""

    path: str
    runs: int


class Open(BaseModel):
    """Runs that unread facts leave open, and what they lack most."""

    count: int
    lacking: list[LackCount]


class ComparableAnswer(BaseModel):
    """Runs guaranteed comparable. ``key`` is null where this run has no class: ``lacking`` or ``failing`` say why.

    ``in_force`` is the policy of the run's project; it holds between runs of that project.
    """

    run_id: str
    level: LevelWord
    scope: Scope
    key: str | None
    failing: bool
    lacking: list[str]
    in_force: PolicyInForce
    runs: list[RunSummary]
    next: str | None
    undetermined: Open


class BaselineRequest(Strict):
    """A run id or a manifest as ``name/version``; exactly one of them."""

    run: str | None = Field(default=None, min_length=1, max_length=128, description="run id")
    manifest: str | None = Field(default=None, min_length=3, max_length=257, description="name/version")
    level: LevelWord | None = Field(default=None, description=(
        "what runs are held to; without it what the policy requires, else the default of the question"))
    question: Literal["compare", "repeat"] = Field(default="compare", description="compare or repeat")

    @model_validator(mode="after")
    def one_of_them(self) -> BaselineRequest:
        """Refuse none and both."""
        if (self.run is None) == (self.manifest is None):
            raise ValueError('expected exactly one of run and manifest, like {"run": "<run id>"}')
        return self


class BaselineAnswer(BaseModel):
    """The baseline of a project: ``run`` or ``manifest``, what runs are held to, and who stated it."""

    project: str
    run: str | None
    manifest: str | None
    level: LevelWord
    question: Question
    source: Literal["policy", "baseline"]
    updated_at: str


class ManifestReceipt(BaseModel):
    """The manifest is stored and synced."""

    name: str
    version: str
    digests: Digests
    created: bool
    notes: list[str]


class DriftEntry(BaseModel):
    """A fact that the manifest states and the run contradicts."""

    path: str
    expected: str | None
    observed: str | None


class ConformanceAnswer(BaseModel):
    """Whether a run has what its image promises. ``found`` tells how the manifest was chosen."""

    run_id: str
    manifest: str
    found: Literal["named", "image", "baseline"]
    conforms: bool
    drift: list[DriftEntry]
    verdict: ComparisonAnswer


class Health(BaseModel):
    """State of the service."""

    status: Literal["ok"]
    version: str

"""``repro-env compare``: the verdict on two sides, from files or from the service."""

from __future__ import annotations

import sys

from ..errors import InvalidDocument, UsageError
from . import reading, sending, sides
from .console import BOLD, DIM, answer, paint, width
from .options import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.levels import Level, Question
    from ..comparability.policy import Policy
    from ..comparability.verdict import Verdict
    from ..settings import Settings

EXIT_CODES = {"yes": 0, "no": 1, "unknown": 2, "likely": 3}

COMMAND = Command(
    "compare", "Says whether two environments are comparable at a level, and what stands between them. A side is a "
    "document, an environment dump, or a run id that the service knows. Left is what was expected, right what was "
    "observed.",
    usage="compare LEFT RIGHT [options]",
    examples=(("repro-env compare run-a run-b", "two runs that the service knows"),
              ("repro-env compare a.json b.json --level bitwise", "two documents; needs no server"),
              ("repro-env compare run-a run-a --question resume", "the first start of one run against its last"),
              ("repro-env compare theirs.txt mine.json --format markdown", "a dump from a bug report, for an issue"),
              ("repro-env compare run-a run-b --accept likely && sbatch job.sh", "as a gate")),
    arguments=(("LEFT", "file or run id (run:ID where a file has that name)"), ("RIGHT", "file or run id")),
    options=(Option("--level", "level asked for (default: curve for compare, else bitwise)",
                    choices=("bitwise", "curve", "statistical", "none")),
             Option("--question", "compare: stacks; repeat: programs too; resume: parts of one run",
                    choices=("compare", "repeat", "resume")),
             Option("--format", "how to print it (default: text)", choices=("text", "json", "markdown")),
             Option("--json", "the same as --format json"),
             Option("--policy", 'JSON file of what your project waives: {"waive": {RULE: REASON}}', "FILE"),
             Option("--accept", "exit with 0 for this answer too", choices=("likely",)),
             sending.SERVER, sending.TIMEOUT),
    notes="Exit codes: 0 yes, 1 no, 2 unknown (facts were not read), 3 likely, 64 wrong usage, 65 invalid input or "
    "a run that is not known, 69 the service was not reached.")


def main(values: dict[str, Any]) -> int:
    """Print the verdict and return the exit code of its answer."""
    from ..comparability.levels import Answer, Level, Question
    from ..comparability.verdict import Verdict

    left, right = values["arguments"]
    settings = sending.load(values)
    question = Question(values.get("question", "compare"))
    level = Level.parse(values["level"]) if "level" in values else None
    if left == right == "-":
        raise UsageError("compare: only one side can come from standard input")
    both_runs = sides.is_run(left) and sides.is_run(right)
    if both_runs and not values.get("policy"):
        told = _ask_service(sides.run_id(left), sides.run_id(right), question, level, settings)
        verdict = Verdict.from_json(told)
    else:
        one, other = (sides.documents(word, settings, "compare") for word in (left, right))
        verdict = _judge(one, other, question, level, _policy(values.get("policy")))
        told = verdict.to_json()
    _print(verdict, told, (left, right), "json" if values.get("json") else values.get("format", "text"))
    if verdict.answer is Answer.LIKELY and values.get("accept") == "likely":
        return 0
    return EXIT_CODES[verdict.answer.value]


def _ask_service(left: str, right: str, question: Question, level: Level | None, settings: Settings
                 ) -> dict[str, Any]:
    from ..transport import get

    query = {"left": left, "right": right, "question": question.value}
    if level is not None:
        query["level"] = level.word
    return get(sides.server(settings, left, "compare"), "/v1/comparisons", query,
               timeout_s=sending.patience_s(settings), token=settings.token)


def _judge(left: list[dict[str, Any]], right: list[dict[str, Any]], question: Question, level: Level | None,
           policy: Policy) -> Verdict:
    """Judge two sides, each of one document or of all documents of a run."""
    from dataclasses import replace

    from ..comparability.ignored import ignored_differences
    from ..comparability.judge import judge_vectors
    from ..comparability.levels import Question, Scope
    from ..comparability.reading import Facts
    from ..comparability.runs import vector_of_documents

    if question is Question.RESUME and left == right:
        (one, run), (other, other_run) = _ends(left)
    else:
        (one, run), (other, other_run) = (vector_of_documents(side, question) for side in (left, right))
    scope = Scope.PROCESS if run.scope is other_run.scope is Scope.PROCESS else Scope.STACK
    verdict = judge_vectors(one, other, scope=scope, question=question, level=level, policy=policy)
    if len(left) == len(right) == 1:
        verdict = replace(verdict, ignored=ignored_differences(Facts.of(left[0]), Facts.of(right[0])))
    return verdict


def _ends(documents: list[dict[str, Any]]) -> Any:
    """Return vector and shape of the first and of the last start of one run; raise ``InvalidDocument``."""
    from ..comparability.runs import ends_of_documents

    try:
        return ends_of_documents(documents)
    except ValueError as error:
        raise InvalidDocument("capture.segment", str(error)) from error


def _policy(path: str | None) -> Policy:
    from ..comparability.policy import NO_POLICY, Policy

    if path is None:
        return NO_POLICY
    from ..canonical import parse
    from ..comparability.rules import RULES_BY_ID

    try:
        return Policy.parse(parse(reading.read_bytes(path)), RULES_BY_ID)
    except InvalidDocument as error:
        raise InvalidDocument(f"{path}: {error.field}", error.problem) from error


def _print(verdict: Verdict, told: dict[str, Any], names: tuple[str, str], form: str) -> None:
    if form == "json":
        import json

        answer(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        return
    from ..render import render_markdown, render_text

    if form == "markdown":
        answer(render_markdown(verdict, *names))
    else:
        text = render_text(verdict, *names, columns=width(),
                           bold=lambda line: paint(line, BOLD, sys.stdout),
                           dim=lambda line: paint(line, DIM, sys.stdout))
        answer(text)

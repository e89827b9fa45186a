"""``repro-env compare``: the verdict on two sides or on several, from files, facts, or the service."""

from __future__ import annotations

import sys

from ..errors import InvalidDocument, UsageError
from . import policy, reading, sending, sides
from .console import BOLD, DIM, answer, paint, width
from .options import Command, Option, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..comparability.levels import Answer, Level, Question
    from ..comparability.policy import Policy
    from ..comparability.several import Several
    from ..comparability.verdict import Verdict
    from ..settings import Settings

EXIT_CODES = {"yes": 0, "no": 1, "unknown": 2, "likely": 3}

COMMAND = Command(
    "compare", "Says whether environments are comparable at a level, and what stands between them. A side is a "
    "document, an environment dump, short facts, or a run id that the service knows. Of two sides left is what was "
    "expected, right what was observed; of more, every pair is judged and classes are formed.",
    usage="compare LEFT RIGHT [MORE...] [options]",
    examples=(("repro-env compare run-a run-b", "two runs that the service knows"),
              ("repro-env compare a.json b.json --level bitwise", "two documents; needs no server"),
              ("repro-env compare gpu=A100,torch=2.3.1+cu121 gpu=H100,torch=2.3.1+cu121",
               "what if: before GPU hours are spent"),
              ("repro-env compare a.json b.json c.json d.json", "several: matrix, classes, what separates them"),
              ("repro-env compare a.json b.json --question repeat --vary seed",
               "the seed differs on purpose: what else moved with it?"),
              ("repro-env compare run-a run-a --question resume", "the first start of one run against its last"),
              ("repro-env compare theirs.txt mine.json --format markdown", "a dump from a bug report, for an issue"),
              ("repro-env compare run-a run-b --accept likely && sbatch job.sh", "as a gate")),
    arguments=(("LEFT", "file, facts as in gpu=A100,torch=2.3.1, or run id (run:ID where a file has that name)"),
               ("RIGHT", "the same"), ("[MORE...]", "further sides")),
    options=(Option("--level", "level asked for (default: curve for compare, else bitwise)",
                    choices=("bitwise", "curve", "statistical", "none")),
             Option("--question", "compare: stacks; repeat: programs too; resume: parts of one run",
                    choices=("compare", "repeat", "resume")),
             policy.VARY, policy.FILE,
             Option("--format", "how to print it (default: text)", choices=("text", "json", "markdown")),
             Option("--json", "the same as --format json"),
             Option("--accept", "exit with 0 for this answer too", choices=("likely",)),
             sending.SERVER, sending.TIMEOUT),
    notes="Exit codes: 0 yes, 1 no, 2 unknown (facts were not read), 3 likely, 64 wrong usage, 65 invalid input or "
    "a run that is not known, 69 the service was not reached. Of several sides the worst answer counts.\n"
    "The JSON form can be kept and recomputed: repro-env verify VERDICT.json.")


def main(values: dict[str, Any]) -> int:
    """Print the verdict and return the exit code of its answer."""
    from ..comparability.levels import Answer, Question

    words = values["arguments"]
    if words.count("-") > 1:
        raise UsageError("compare: only one side can come from standard input")
    question = Question(values.get("question", "compare"))
    if len(words) > 2:
        if question is Question.RESUME:
            raise UsageError("compare: resume is asked of two sides, or of one run against itself")
        found = _several(values, question)
    else:
        found = _pair(values, question)
    if found is Answer.LIKELY and values.get("accept") == "likely":
        return 0
    return EXIT_CODES[found.value]


def asked_level(values: dict[str, Any], chosen: Policy) -> Level | None:
    """Return the level asked for: the option, else what the policy requires, else ``None`` for the question's own."""
    from ..comparability.levels import Level

    return Level.parse(values["level"]) if "level" in values else chosen.require


def _pair(values: dict[str, Any], question: Question) -> Answer:
    from ..comparability.record import judge_documents
    from ..comparability.verdict import Verdict

    left, right = values["arguments"]
    settings = sending.load(values)
    chosen = policy.load(values)
    level = asked_level(values, chosen)
    if settings.server and sides.is_run(left) and sides.is_run(right) and not values.get("policy"):
        query = {"left": sides.run_id(left), "right": sides.run_id(right), **_asked(question, level, values)}
        told = _get(settings, left, query)
        verdict = Verdict.from_json(told)
    else:
        one, other = (sides.documents(word, settings, "compare") for word in (left, right))
        verdict = judge_documents(one, other, question=question, level=level, policy=chosen, names=(left, right))
        told = verdict.to_json()
    _print_verdict(verdict, told, (left, right), form_of(values))
    return verdict.answer


def _asked(question: Question, level: Level | None, values: dict[str, Any]) -> dict[str, str]:
    asked = {"question": question.value, "vary": ",".join(policy.vary(values)), "level": level.word if level else ""}
    return {name: value for name, value in asked.items() if value}


def _get(settings: Settings, word: str, query: dict[str, str]) -> dict[str, Any]:
    from ..transport import get

    return get(sides.server(settings, word, "compare"), "/v1/comparisons", query,
               timeout_s=sending.patience_s(settings), token=settings.token)


def form_of(values: dict[str, Any]) -> str:
    """Return how to print: text, json or markdown."""
    return "json" if values.get("json") else values.get("format", "text")


def _several(values: dict[str, Any], question: Question) -> Answer:
    """Judge more than two sides: the service where all are runs, else here, so that files and runs can be mixed."""
    from ..comparability.several import Several

    settings = sending.load(values)
    chosen = policy.load(values)
    words = values["arguments"]
    level = asked_level(values, chosen)
    if settings.server and all(map(sides.is_run, words)) and not values.get("policy"):
        told = _ask_of_several(settings, words, {**_asked(question, level, {}), "vary": list(policy.vary(values))})
        found = Several.from_json(told)
    else:
        found = _judge_several(words, settings, question, level, chosen)
        told = found.to_json()
    _print_several(found, told, form_of(values))
    return found.answer


def _ask_of_several(settings: Settings, words: list[str], asked: dict[str, Any]) -> dict[str, Any]:
    from ..transport import post

    return post(sides.server(settings, words[0], "compare"), "/v1/comparisons",
                {"runs": [sides.run_id(word) for word in words], **asked}, timeout_s=sending.patience_s(settings),
                token=settings.token)


def _judge_several(words: list[str], settings: Settings, question: Question, level: Level | None, chosen: Policy
                   ) -> Several:
    from ..comparability.runs import vector_of_documents
    from ..comparability.several import Member, several

    members = []
    for word in words:
        vector, run = vector_of_documents(sides.documents(word, settings, "compare"), question)
        members.append(Member(word, vector, run.scope))
    try:
        return several(members, question=question, level=level, policy=chosen)
    except ValueError as error:
        raise InvalidDocument("compare", f"{error}; one stands twice among {', '.join(words)}") from error


def _print_verdict(verdict: Verdict, told: dict[str, Any], names: tuple[str, str], form: str) -> None:
    if form == "json":
        _print_json(told)
        return
    from ..render import render_markdown, render_text

    if form == "markdown":
        answer(render_markdown(verdict, *names))
    else:
        answer(render_text(verdict, *names, columns=width(), bold=_bold, dim=_dim))
    _print_keys(verdict, names, form)


def _print_keys(verdict: Verdict, names: tuple[str, str], form: str) -> None:
    """Say which keys would state what a side of short facts lacks: no program runs there that could be captured."""
    if not any(map(reading.is_facts, names)):
        return
    from ..whatif.lacking import MOST, keys_for

    sides_of_facts = [side for side, word in zip(("expected", "observed"), names) if reading.is_facts(word)]
    lacking = list(dict.fromkeys(key for side in sides_of_facts for key in keys_for(verdict, side)))
    if lacking:
        quote = "`" if form == "markdown" else ""
        told = ", ".join(f"{quote}{key}{quote}" for key in lacking[:MOST])
        more = f" and {len(lacking) - MOST} more" if len(lacking) > MOST else ""
        line = f"What short facts leave open is stated by keys such as {told}{more} (docs/whatif.md)."
        answer("\n" + "\n".join([line] if form == "markdown" else wrap(line, width(), "")) + "\n")


def _print_several(found: Several, told: dict[str, Any], form: str) -> None:
    if form == "json":
        _print_json(told)
        return
    from ..render.several import several_markdown, several_text

    if form == "markdown":
        answer(several_markdown(found))
    else:
        answer(several_text(found, columns=width(), bold=_bold, dim=_dim))


def _print_json(told: dict[str, Any]) -> None:
    import json

    answer(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _bold(line: str) -> str:
    return paint(line, BOLD, sys.stdout)


def _dim(line: str) -> str:
    return paint(line, DIM, sys.stdout)

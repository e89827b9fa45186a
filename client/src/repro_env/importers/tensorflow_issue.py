"""The form on top of TensorFlow's issues, filled in by hand: few of its answers are facts.

A name of a GPU, a CUDA or cuDNN version typed from memory does not tell what was loaded; they stand in notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..probes.keys import FRAMEWORK, blank_of
from .format import Reading, Text
from .words import is_silent

NAME = "tensorflow-issue-form"
MADE_BY = "the form of an issue of TensorFlow"

#: question in lower case -> what it asks; a question may go on with examples in brackets.
_QUESTIONS = {
    "os platform and distribution": "os", "tensorflow installed from": "source", "source": "source",
    "tensorflow version": "version", "python version": "python", "cuda/cudnn version": "cuda",
    "gpu model and memory": "gpu", "custom code": "custom", "mobile device": "mobile", "bazel version": "bazel",
    "gcc/compiler version": "gcc", "have i written custom code": "custom", "installed using virtualenv": "environment",
    "exact command to reproduce": "command",
}
_INLINE = re.compile(r"(?:[-*\u2022+] ?)*([A-Za-z][A-Za-z/ ]{5,45}?)(?: ?\([^()]{0,160}\)?\)?)?[*_]{0,3} ?[:?]"
                     r"[*_]{0,3} ?(.*)")
_HEADING = re.compile(r"#{2,4} ([A-Za-z][A-Za-z/ ]{5,45})\??")
_NO_ANSWER = frozenset(("_no response_", "no response", "n/a", "na", "none", "-", "no", "latest", "not relevant"))
_TENSORFLOW = re.compile(r"(?:(?:tf|tensorflow)(?:[-_]nightly)?(?:-gpu|-cpu)?[ =:-]{0,3})?"
                         r"v?(\d+\.\d+(?:\.\d+)?(?:-?rc\d+|[.-]?dev\d{8})?)",
                         re.IGNORECASE)
_DESCRIBED = re.compile(r"b?'?(?:v\d[\w.]*(?:-rc\d+)?-\d+-g([0-9a-f]{7,40})|unknown)'?,? "
                        r"'?(\d+\.\d+\.\d+[\w.+-]{0,20})'?")
_PYTHON = re.compile(r"(?:c?python)? ?v?(\d\.\d{1,2}(?:\.\d{1,2})?)(?: ?\(?\d{2}[- ]bit\)?)?", re.IGNORECASE)
_LINUXES = ("linux", "ubuntu", "debian", "centos", "fedora", "red hat", "rhel", "arch", "manjaro", "suse", "mint")
_FEWEST = 3
_MOST_ANSWER = 160
_NEAR = 120

Answers = dict[str, str]


def read(text: Text) -> Reading | None:
    """Return what the answers of the first form state."""
    if "tensorflow version" not in text.joined.lower():
        return None
    answers, start, end, keys = _answers(text.lines)
    if keys < _FEWEST or not {"os", "python", "cuda", "gpu", "custom"} & answers.keys():
        return None
    notes = ["the answers were typed by hand"]
    sections: dict[str, dict[str, Any]] = {}
    tensorflow = _tensorflow(answers, notes)
    if tensorflow:
        sections["frameworks"] = {"tensorflow": {**blank_of(FRAMEWORK, "not-recorded"), **tensorflow}}
    python = _PYTHON.fullmatch(answers.get("python", ""))
    if python:
        sections["python"] = {"version": python[1]}
    system = _system(answers.get("os", ""))
    if system:
        sections["system"] = system
    if not sections and "version" not in answers:
        return None
    if answers.get("gpu"):
        notes.append(f"GPU as typed: {answers['gpu']}: the name a driver gives it is not told")
    if answers.get("cuda"):
        notes.append(f"CUDA and cuDNN as typed: {answers['cuda']}: of which part of the system is not told")
    return Reading(NAME, sections, tuple(notes), start, not any(text.lines[end:]), keys)


def _answers(lines: Sequence[str]) -> tuple[Answers, int, int, int]:
    """Return the answers that are none of the words for nothing, first line, end, and how many questions there are."""
    answers: Answers = {}
    asked: list[int] = []
    seen: set[str] = set()
    for number, line in enumerate(lines):
        if asked and number - asked[-1] > _NEAR:
            break
        found = _question(lines, number) if line else None
        if found is None:
            continue
        subject, answer = found
        if subject in seen:
            if subject == "version":
                break
            continue
        seen.add(subject)
        asked.append(number)
        if answer and answer.lower() not in _NO_ANSWER and not is_silent(answer):
            answers[subject] = answer[:_MOST_ANSWER]
    return answers, asked[0] if asked else 0, asked[-1] + 1 if asked else 0, len(asked)


def _question(lines: Sequence[str], number: int) -> tuple[str, str] | None:
    """Return what a line asks, and the answer behind it or below; not an answer that the end of the text may break."""
    heading = _HEADING.fullmatch(lines[number][:200])
    if heading:
        subject = _QUESTIONS.get(heading[1].strip().lower())
        below = next((other for other in range(number + 1, min(number + 4, len(lines))) if lines[other]), None)
        if subject is None:
            return None
        told = below is not None and below < len(lines) - 1 and not lines[below].startswith("#")
        return subject, lines[below].strip("* ") if told and below is not None else ""
    match = _INLINE.fullmatch(lines[number][:600])
    subject = _QUESTIONS.get(match[1].strip().lower()) if match else None
    if match is None or subject is None or (subject == "source" and match[1].lower() == "source"):
        return None
    return subject, match[2].strip(" *`") if number < len(lines) - 1 else ""


def _tensorflow(answers: Answers, notes: list[str]) -> dict[str, Any]:
    told = answers.get("version", "").strip(" `'\"")
    described, plain = _DESCRIBED.fullmatch(told), _TENSORFLOW.fullmatch(told)
    if described is None and plain is None:
        if not told:
            return {}
        notes.append(f"TensorFlow's version as typed: {told}: no one version")
        return {}
    facts: dict[str, Any] = {"version": described[2] if described else _spelt(plain[1]) if plain else ""}
    if described and described[1]:
        facts["revision"] = described[1]
    if answers.get("source", "").lower().startswith("source"):
        facts["build"] = "source"
    return facts


def _spelt(version: str) -> str:
    """Return a version as the package has it."""
    return re.sub(r"[.-]?dev", ".dev", version.replace("-rc", "rc"))


def _system(told: str) -> dict[str, Any]:
    lower = told.lower()
    families = {"windows": "windows" in lower, "macos": re.search(r"\bmac ?os|os ?x\b|darwin", lower) is not None,
                "linux": any(word in lower for word in _LINUXES)}
    found = [family for family, named in families.items() if named]
    if len(found) != 1:
        return {}
    numbered = re.search(r"\d", told) and len(told) <= 60 and not re.search(r"[,;/]| and | or ", told)
    return {"os_family": found[0], **({"os_name": told} if numbered else {})}

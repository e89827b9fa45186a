"""What a user states: texts by name, and facts that nobody else can read."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from documents import complete_document

from repro_env import declared
from repro_env.errors import InvalidDocument
from repro_env.fingerprint.validate import validate


@pytest.fixture
def said() -> list[str]:
    return []


def test_values_become_texts(said: list[str]) -> None:
    given = {"epochs": 4, "rate": 0.5, "pretrained": True, "task": "seg"}

    assert declared.checked(given, said.append) == {"epochs": "4", "rate": "0.5", "pretrained": "true", "task": "seg"}
    assert said == []


@pytest.mark.parametrize(("name", "value"), [
    ("", "x"), (5, "x"), ("\u00e4", "x"), ("a\nb", "x"), ("a" * 129, "x"), ("a", None), ("a", [1]), ("a", "b\nc"),
    ("a", "x" * 1001),
], ids=["empty", "number", "not-ascii", "line-break", "long-name", "none", "list", "two-lines", "long"])
def test_what_cannot_be_declared_is_said_and_left_out(said: list[str], name: Any, value: Any) -> None:
    assert declared.checked({name: value, "b": "kept"}, said.append) == {"b": "kept"}
    assert len(said) == 1
    assert said[0].endswith("it is not used")


def test_a_secret_is_not_taken_and_not_repeated(said: list[str]) -> None:
    secret = "ghp_planted" + "0" * 30

    assert declared.checked({"token": secret}, said.append) == {}
    assert secret not in said[0]


@pytest.mark.parametrize("name", ["password", "api_key", "aws.secret_access_key", "WANDB-API-KEY", "token"])
def test_what_is_called_a_secret_is_one(said: list[str], name: str) -> None:
    assert declared.checked({name: "hunter2"}, said.append) == {}
    assert "hunter2" not in said[0]


@pytest.mark.parametrize("name", ["eos_token", "tokenizer", "key", "password_length"])
def test_what_only_sounds_like_a_secret_is_taken(said: list[str], name: str) -> None:
    assert declared.checked({name: "x"}, said.append) == {name: "x"}


def test_a_secret_in_the_place_of_a_name_is_not_taken_and_not_repeated(said: list[str]) -> None:
    secret = "ghp_planted" + "0" * 30

    assert declared.checked({secret: "x"}, said.append) == {}
    assert secret not in said[0]


def test_too_many_values_are_said(said: list[str]) -> None:
    kept = declared.checked({f"n{number}": "x" for number in range(300)}, said.append)

    assert len(kept) == declared.MAX_VALUES
    assert len(said) == 300 - declared.MAX_VALUES


@pytest.mark.parametrize(("name", "text", "value"), [
    ("layout.micro_batch", "16", 16), ("program.layout.micro_batch", "16", 16), ("data.drop_last", "True", True),
    ("model.attention", "sdpa", "sdpa"), ("random.largest_cuda_draw", "0", 0),
    ("data.dataset_digest", "sha256:" + "a" * 64, "sha256:" + "a" * 64),
])
def test_the_path_of_a_fact_fills_the_fact(said: list[str], name: str, text: str, value: object) -> None:
    found = declared.facts({name: text}, said.append)

    path = "program." + name.replace("program.", "")
    assert found == {declared.VALUES: {name: text}, path: value}
    assert said == []


@pytest.mark.parametrize(("name", "text"), [
    ("layout.micro_batch", "-1"), ("layout.micro_batch", "many"), ("data.drop_last", "yes"), ("model.attention", ""),
    ("data.dataset_digest", "md5:1"), ("layout.micro_batch", "9" * 20),
])
def test_a_value_of_another_form_leaves_the_fact_unread(said: list[str], name: str, text: str) -> None:
    assert declared.facts({name: text}, said.append) == {declared.VALUES: {name: text}}
    assert "the fact stays unread" in said[0]


def test_a_name_that_is_no_fact_is_a_value_only(said: list[str]) -> None:
    assert declared.facts({"layout.colour": "red", "precision.autocast": "x"}, said.append) == {
        declared.VALUES: {"layout.colour": "red", "precision.autocast": "x"}}


def test_what_was_read_stands_above_what_was_declared() -> None:
    overrides: dict[str, Any] = {"sources": {}, "program.data": {"loader_workers": 4, "sampler": {"unread": "failed"}}}

    declared.add(overrides, {"program.data.loader_workers": 8, "program.data.sampler": "mine",
                             "program.layout.micro_batch": 2}, "declared")

    assert overrides["program.data"] == {"loader_workers": 4, "sampler": "mine"}
    assert overrides["program.layout"] == {"micro_batch": 2}
    assert overrides["sources"] == {"program.data.sampler": "declared", "program.layout.micro_batch": "declared"}


EXAMPLES = {bool: "true", int: "3", str: "word", "digest": "sha256:" + "0" * 64}


@pytest.mark.parametrize("path", declared.FORMS)
def test_every_form_is_that_of_the_definition(path: str) -> None:
    value = declared.facts({path: EXAMPLES[declared.FORMS[path]]}, print)[f"program.{path}"]
    section, name = path.split(".")

    assert validate(complete_document(**{path: value}))["program"][section][name] == value
    with pytest.raises(InvalidDocument, match=path):
        validate(complete_document(**{path: ["another form"]}))


def test_a_real_digest_is_declared_and_a_bare_key_of_its_letters_is_not(said: list[str]) -> None:
    digest = "sha256:" + hashlib.sha256(b"data").hexdigest()

    assert declared.checked({"data.dataset_digest": digest}, said.append) == {"data.dataset_digest": digest}
    assert said == []
    assert declared.checked({"key": digest.removeprefix("sha256:")}, said.append) == {}
    assert declared.checked({"key": digest + "0f3a" * 8}, said.append) == {}


def test_seeds_are_stated_one_by_one(said: list[str]) -> None:
    stated = declared.facts({"random.seeds.numpy": "7", "program.random.seeds.python": "8", "seed": "9"}, said.append)

    assert stated["program.random.seeds"] == {"numpy": 7, "python": 8}
    assert said == []


def test_a_seed_that_is_no_number_is_said(said: list[str]) -> None:
    assert "program.random.seeds" not in declared.facts({"random.seeds.numpy": "x"}, said.append)
    assert "whole number" in said[0]


def test_stated_seeds_stand_beside_those_that_were_read() -> None:
    overrides: dict[str, Any] = {"sources": {}, "program.random": {"seeds": {"torch": 1}}}
    declared.add(overrides, {"program.random.seeds": {"numpy": 7, "torch": 2}}, "declared")

    assert overrides["program.random"]["seeds"] == {"torch": 1, "numpy": 7}

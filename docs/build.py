"""Make the reference pages from the code: fields, rules, research, command line, REST.

python docs/build.py           write the pages
python docs/build.py --check   exit 1 and name the pages that are not up to date
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import examples
import knowledge_page
import rule_pages

from repro_env.cli.main import COMMANDS
from repro_env.fingerprint.document import Fingerprint
from repro_env.fingerprint.facts import SCHEMA_VERSION, UNREAD_CODES
from repro_env.fingerprint.field import Unread
from repro_env_service.app import create_app
from repro_env_service.cli import parser as service_parser
from repro_env_service.settings import Settings

HERE = Path(__file__).parent
GENERATED = "<!-- Made by `make docs` from the code; change the code, not this page. -->\n\n"


def fields_page() -> str:
    """Every field of the document, a table a section."""
    lines = ["# Fields of the document\n", f"Schema {SCHEMA_VERSION}. A fact is a value of the type shown, `null` for "
             'surely absent, or `{"unread": code}`:\n', "| code | meaning |", "|---|---|"]
    lines += [f"| `{code}` | {meaning} |" for code, meaning in UNREAD_CODES.items()]
    for path, kind in _sections(Fingerprint, ""):
        lines += ["", f"## {path or 'document'}\n", (kind.__doc__ or "").strip(), "",
                  "| field | type | meaning | source | example |", "|---|---|---|---|---|"]
        hints = typing.get_type_hints(kind)
        for item in dataclasses.fields(kind):
            data = item.metadata
            example = json.dumps(data["example"]).replace("|", "\\|")
            example = example if len(example) <= 60 else example[:57] + "…"
            lines.append(f"| `{item.name}` | {_type(hints[item.name])} | {data['meaning']} | {data['source']} | "
                         f"`{example}` |")
    return "\n".join(lines) + "\n"


def _sections(kind: type, path: str) -> Iterator[tuple[str, type]]:
    yield path, kind
    hints = typing.get_type_hints(kind)
    seen: set[type] = set()
    for item in dataclasses.fields(kind):
        for inner in _dataclasses_in(hints[item.name]):
            if inner not in seen:
                seen.add(inner)
                step = f"{path}.{item.name}" if path else item.name
                yield from _sections(inner, "libraries.*" if inner.__name__ == "Library" else
                                     "frameworks.*" if inner.__name__ == "Framework" else step)


def _dataclasses_in(hint: Any) -> Iterator[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint is not Unread:
            yield hint
        return
    for argument in typing.get_args(hint):
        yield from _dataclasses_in(argument)


def _type(hint: Any) -> str:
    arguments = [item for item in typing.get_args(hint) if item not in (type(None), Unread, Ellipsis)]
    origin = typing.get_origin(hint)
    if origin is typing.Union:
        return f"fact of {_type(arguments[0])}"
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"object of {_type(arguments[1])}"
    return {str: "text", int: "integer", bool: "boolean"}.get(hint, "object")


def cli_page() -> str:
    """The help of every command, as a terminal shows it."""
    lines = ["# Command line\n"]
    for program, commands in (("repro_env", _commands("repro_env")), ("repro_env_service",
                                                                    _commands("repro_env_service"))):
        name = program.replace("_", "-")
        for command in ["", *commands]:
            lines += [f"## {name} {command}".rstrip() + "\n", "```text", _help(program, command).rstrip(), "```\n"]
    return "\n".join(lines)


def _commands(program: str) -> list[str]:
    if program == "repro_env":
        return list(COMMANDS)
    (choices,) = [action.choices for action in service_parser()._actions if isinstance(action.choices, dict)]
    return list(choices)


def _help(program: str, command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    argv = [sys.executable, "-m", program, *([command] if command else []), "--help"]
    return subprocess.run(argv, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


def rest_page() -> str:
    """Every route, from the OpenAPI description of the running code."""
    with tempfile.TemporaryDirectory() as folder:
        description = create_app(Settings(data=Path(folder))).openapi()
    lines = ["# REST\n", f"{description['info']['title']} {description['info']['version']}. The full description is at "
             "`/openapi.json`; every error is `application/problem+json` (RFC 9457).\n"]
    for path, methods in sorted(description["paths"].items()):
        for method, route in methods.items():
            lines += [f"## {method.upper()} {path}\n", route.get("summary", ""), "", route.get("description", ""), ""]
            if route.get("parameters"):
                lines += ["| parameter | in | required | meaning |", "|---|---|---|---|"]
                lines += [f"| `{item['name']}` | {item['in']} | {'yes' if item.get('required') else 'no'} | "
                          f"{item.get('description', '')} |" for item in route["parameters"]]
                lines.append("")
            lines += _body_table(route)
            lines += ["| status | meaning |", "|---|---|"]
            lines += [f"| {status} | {answer['description']} |" for status, answer in route["responses"].items()]
            lines.append("")
    return "\n".join(lines)


def _body_table(route: dict[str, Any]) -> list[str]:
    """A table of the fields of a JSON body; nothing for a route without one, and for a document, which has its page."""
    schema = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    rows = [f"| `{name}` | {'yes' if name in schema.get('required', ()) else 'no'} | {item.get('description', '')} |"
            for name, item in schema.get("properties", {}).items()]
    return ["| field of the body | required | meaning |", "|---|---|---|", *rows, ""] if rows else []


def pages() -> dict[Path, str]:
    """Return every generated page with its text; rules are explained by the examples, which are written first."""
    made = {"fields.md": fields_page(), "rules.md": rule_pages.index_page(), **rule_pages.layer_pages(),
            "knowledge.md": knowledge_page.page(), "cli.md": cli_page(), "rest.md": rest_page()}
    return {HERE / name: GENERATED + text for name, text in made.items()}


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` name those that differ; pages of layers that are gone are removed."""
    check = "--check" in arguments
    stale = [name for name in (_keep(examples.TARGET, examples.text(), check=check),) if name]
    made = pages()
    stale += [name for name in (_keep(target, text, check=check) for target, text in made.items()) if name]
    for target in sorted(set((HERE / "rules").glob("*.md")) - set(made)):
        stale.append(target.name)
        if not check:
            target.unlink()
    if check and stale:
        print(f"not up to date: {', '.join(stale)}; run `make docs` and commit the result", file=sys.stderr)
    return 1 if check and stale else 0


def _keep(target: Path, text: str, *, check: bool) -> str:
    """Return the name of a file that is not what it should be; write it unless this is a check."""
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return ""
    if not check:
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return target.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Arguments and help of a command, from one table.

Not argparse: a capture in a job's prologue pays for every import, and argparse costs as much as the interpreter.
"""

from __future__ import annotations

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SWITCH, VALUE, MANY = "switch", "value", "many"
HELP_COLUMN = 24


class Option:
    """One flag. ``kind``: a switch, a value, or a value that may be given many times."""

    __slots__ = ("choices", "flags", "kind", "metavar", "name", "text")

    def __init__(self, flags: str, text: str, metavar: str = "", *, name: str = "", many: bool = False,
                 choices: tuple[str, ...] = ()) -> None:
        self.flags = flags.split()
        self.text = text
        self.metavar = metavar or "|".join(choices)
        self.name = name or self.flags[-1].lstrip("-").replace("-", "_")
        self.kind = MANY if many else VALUE if self.metavar else SWITCH
        self.choices = choices


class Command:
    """One command: what it does, what it takes, examples.

    An argument in brackets is optional, one with dots may be repeated; ``rest`` takes everything from the first
    argument on. A line of ``notes`` is a paragraph, or with a tab the row of a table.
    """

    def __init__(self, name: str, summary: str, *, usage: str, options: tuple[Option, ...],
                 arguments: tuple[tuple[str, str], ...] = (), examples: tuple[tuple[str, str], ...] = (),
                 notes: str = "", rest: bool = False) -> None:
        self.name = name
        self.summary = summary
        self.usage = usage
        self.options = options
        self.arguments = arguments
        self.examples = examples
        self.notes = notes
        self.rest = rest

    def parse(self, words: list[str]) -> dict[str, Any] | None:
        """Return values by option name and ``arguments``; ``None`` when help was asked for; raise ``UsageError``."""
        flags = {flag: option for option in self.options for flag in option.flags}
        values: dict[str, Any] = {}
        arguments: list[str] = []
        queue = list(reversed(words))
        while queue:
            word = queue.pop()
            if word in ("-h", "--help"):
                return None
            if word == "--":
                arguments.extend(reversed(queue))
                break
            if word.startswith("-") and word != "-":
                self._take(word, queue, flags, values)
            else:
                arguments.append(word)
                if self.rest:
                    arguments.extend(reversed(queue))
                    break
        self._count(arguments)
        values["arguments"] = arguments
        return values

    def _take(self, word: str, queue: list[str], flags: dict[str, Option], values: dict[str, Any]) -> None:
        """Read one option, with its value where it takes one."""
        flag, equals, given = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        option = flags.get(flag)
        if option is None:
            raise UsageError(f"{self.name}: unknown option {flag}{_near(flag, list(flags))}; "
                             f"see repro-env {self.name} --help")
        if option.kind == SWITCH:
            if equals:
                raise UsageError(f"{self.name}: {flag} takes no value, got {given!r}")
            values[option.name] = True
            return
        if not equals:
            if not queue or queue[-1].partition("=")[0] in flags or queue[-1] == "--":
                raise UsageError(f"{self.name}: {flag} expects a value: {flag} {option.metavar}")
            given = queue.pop()
        if option.choices and given not in option.choices:
            raise UsageError(f"{self.name}: {flag} expects one of {', '.join(option.choices)}, got {given!r}")
        if option.kind == MANY:
            values.setdefault(option.name, []).append(given)
        else:
            values[option.name] = given

    def _count(self, arguments: list[str]) -> None:
        if self.rest:
            return
        least = sum(not name.startswith("[") for name, _ in self.arguments)
        most = float("inf") if any("..." in name for name, _ in self.arguments) else len(self.arguments)
        if not least <= len(arguments) <= most:
            names = " ".join(name for name, _ in self.arguments) or "no arguments"
            got = " ".join(arguments) or "none"
            raise UsageError(f"{self.name}: expected {names}, got {got}; see repro-env {self.name} --help")

    def help(self, columns: int) -> str:
        """Return the help as a terminal of ``columns`` shows it."""
        lines = [f"usage: repro-env {self.usage}", "", *wrap(self.summary, columns), ""]
        if self.examples:
            lines.append("examples:")
            for command, meaning in self.examples:
                lines += [f"  {command}", *wrap(meaning, columns, "      ")]
            lines.append("")
        if self.arguments:
            lines += ["arguments:", *(line for row in self.arguments for line in _row(*row, columns)), ""]
        lines.append("options:")
        for option in (*self.options, Option("-h --help", "show this help")):
            lines += _row(", ".join(option.flags) + (f" {option.metavar}" if option.metavar else ""), option.text,
                          columns)
        for paragraph in self.notes.split("\n") if self.notes else ():
            left, tab, text = paragraph.partition("\t")
            lines += _row(left, text, columns) if tab else ["", *wrap(paragraph, columns)]
        return "\n".join(lines) + "\n"


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Return ``text`` in lines of at most ``columns``."""
    lines, line = [], indent
    for word in text.split():
        if len(line) + len(word) + 1 > columns and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    return [*lines, line.rstrip()]


def _row(left: str, text: str, columns: int) -> list[str]:
    head = f"  {left}"
    rows = wrap(text, columns, " " * HELP_COLUMN)
    if len(head) <= HELP_COLUMN - 2:
        return [head.ljust(HELP_COLUMN) + rows[0].lstrip(), *rows[1:]]
    return [head, *rows]


def _near(flag: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(flag, known, 1, 0.6)
    return f" (did you mean {near[0]}?)" if near else ""

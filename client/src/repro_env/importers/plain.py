"""Pasted text made plain: what terminals, mail, Markdown, HTML and log collectors add around lines is taken off.

Owns nothing of any format: a line comes out as the tool printed it, without indentation.
"""

from __future__ import annotations

import html
import re

#: colours and cursor moves of terminals; titles of windows.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
#: colours whose escape character a copy lost.
_BARE_COLOURS = re.compile(r"\[(?:\d{1,2};){0,3}\d{1,2}m")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
#: tags people and pages put around a dump; ``<pip>`` is a word of conda and stays.
_TAGS = re.compile(r"</?(?:pre|code|details|summary|p|div|span|b|strong|blockquote|br)(?:\s[^<>\n]{0,200})?/?>",
                   re.IGNORECASE)
_BREAKS = re.compile(r"(?:<br\s?/?>|</p>|</div>)\n?", re.IGNORECASE)
#: time that continuous integration writes before each line.
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z(?:\s|$)")
#: what loggers write before each message: time, name and level in the order of Python's, DeepSpeed's and loguru's.
_LOGGED = re.compile(
    r"\[?(?:\d{4}[-/])?\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?"
    r"(?: - [\w.-]{1,60} - [A-Z]{4,8} - | \[[A-Z]{4,8}\] (?:\[[^\[\]\s]{1,120}\] )?"
    r"| \| [A-Z]{4,8} {0,5}\| \S{1,120} - )"
    r"|\[\d\d/\d\d \d\d:\d\d:\d\d [\w.]{1,40}\](?: [A-Z]{4,8})?: ")
_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w+-]*$")
#: stands for every line that opens or closes a block of code.
FENCE = "```"
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\u200e\u200f\u00ad"))
_SPACES = dict.fromkeys(map(ord, "\u2007\u202f\u3000\u2009\u2002\u2003\t\f\v"), " ")
_CONTROLS = dict.fromkeys([*range(9), *range(14, 32), 127])
_NO_BREAK = "\u00a0"
_TRANSLATION = {**_CONTROLS, **_SPACES, **_INVISIBLE}


def lines(text: str) -> list[str]:
    """Return the lines of a pasted text, each stripped of quoting, markup, escapes and surrounding blanks."""
    return [_bare(line) for line in _unmarked(text)]


def indented(text: str) -> list[str]:
    """Return the same lines as ``lines``, each behind the blanks that stood before its own first character.

    For formats in which indentation speaks. What quoting leaves of it is the same on every line.
    """
    return [_margin(line) + _bare(line) for line in _unmarked(text)]


def _margin(line: str) -> str:
    """Return the blanks between the quote marks, time stamp or logger's words of a line and what it says."""
    stamp = _STAMP.match(line)
    rest = line[stamp.end():] if stamp else line
    words = rest.lstrip("> \u00a0")
    marks = rest[:len(rest) - len(words)]
    message = _message(words)
    if len(message) < len(words):
        return " " * (len(message) - len(message.lstrip()))
    return " " * (len(marks) - 1 - marks.rfind(">"))


def _unmarked(text: str) -> list[str]:
    """Return the lines of a text without escapes, markup and characters that nobody sees."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    if "[0m" in text:
        text = _BARE_COLOURS.sub("", text)
    if "<" in text:
        text = _TAGS.sub("", _BREAKS.sub("\n", text))
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity.group()), text)
    return text.translate(_TRANSLATION).split("\n")


def _bare(line: str) -> str:
    """Return one line without quote marks, time stamps and blanks around it; a fence of Markdown is ``FENCE``."""
    if not line or line.isspace():
        return ""
    stamp = _STAMP.match(line)
    line = (line[stamp.end():] if stamp else line).strip().lstrip("> \u00a0")
    line = _broken_at_blanks(_message(line).lstrip())
    return FENCE if _FENCE.match(line) else line


def _message(line: str) -> str:
    """Return a line without what loggers write before it."""
    logged = _LOGGED.match(line.replace(_NO_BREAK, " ")) if line[:1] == "[" or line[:1].isdigit() else None
    return line[logged.end():] if logged else line


def _broken_at_blanks(line: str) -> str:
    """Return a line with blanks for the no-break spaces that pages put in their place.

    In the name of an operating system one among ordinary blanks is what is left of a letter in another code page.
    """
    if _NO_BREAK not in line:
        return line
    head, colon, tail = line.partition(":")
    if colon and head.strip() == "OS" and " " in tail.strip():
        return f"{head.replace(_NO_BREAK, ' ')}:{tail}"
    return line.replace(_NO_BREAK, " ")

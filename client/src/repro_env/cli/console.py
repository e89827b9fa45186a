"""What a person sees: lines on stderr and stdout, safe for a terminal, coloured only on one."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

PREFIX = "repro-env: "
DEFAULT_WIDTH, MIN_WIDTH, MAX_WIDTH = 88, 40, 100
BOLD, DIM, YELLOW = "1", "2", "33"


def clean(text: str) -> str:
    """Return ``text`` without control characters: what documents and servers say never steers a terminal."""
    if text.isprintable():
        return text
    return "".join(item if item.isprintable() or item == "\n" else "?" for item in text)


def say(message: str) -> None:
    """Print one message on stderr; a closed stderr is nobody's problem."""
    _write(sys.stderr, PREFIX + clean(message) + "\n")


def continue_saying(message: str) -> None:
    """Print a further line of a message, indented below its first."""
    _write(sys.stderr, " " * len(PREFIX) + clean(message) + "\n")


def warn(message: str) -> None:
    """Print a warning of the service on stderr, where it stands out in a job's log."""
    word = paint("WARNING", YELLOW, sys.stderr)
    _write(sys.stderr, f"{PREFIX}{word} {clean(message)}\n")


def answer(text: str) -> None:
    """Print the result of a command on stdout, as UTF-8 whatever the locale is."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(text)
    else:
        binary.write(text.encode("utf-8", "backslashreplace"))
        binary.flush()


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person's terminal is at the other end."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def paint(text: str, code: str, stream: TextIO | None) -> str:
    """Return ``text`` in a colour where ``stream`` is a terminal that wants it (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(stream):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def width() -> int:
    """Return the columns to wrap at: the terminal's, within bounds that read well."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = DEFAULT_WIDTH
    return max(MIN_WIDTH, min(columns, MAX_WIDTH))


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
    except (OSError, ValueError):
        return

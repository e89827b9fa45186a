"""What a check says: one finding, with the facts it rests on and the one thing that mends it."""

from __future__ import annotations

from dataclasses import dataclass

CONTRADICTION, WRONG, MOVES, UNREAD = "contradiction", "wrong", "moves", "unread"
#: gravest first. Contradiction: facts that cannot all be meant. Wrong: a combination known to compute wrongly, or that
#: may. Moves: sound, but two runs of it may differ. Unread: could not be looked at.
KINDS = (CONTRADICTION, WRONG, MOVES, UNREAD)


@dataclass(frozen=True)
class Finding:
    """One finding. ``facts`` are the dotted paths it rests on; ``mend`` is a command, a setting, or one thing to do."""

    kind: str
    check: str
    says: str
    mend: str
    facts: tuple[str, ...] = ()
    effect: str = ""

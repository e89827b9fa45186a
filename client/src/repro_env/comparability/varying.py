"""Words for what differs on purpose (``--vary code,seed,precision.*``), and the rules that each of them covers.

A word is one of ``WORDS``, a cause, a layer, a rule id, or a pattern over ``layer.rule`` and rule ids with ``*``. Only
Distinctions vary: what a Condition says of one execution stays said.
"""

from __future__ import annotations

import fnmatch
from functools import lru_cache

from .rule import Distinction

#: word -> causes and layers that people mean by it.
WORDS: dict[str, tuple[str, ...]] = {
    "code": ("code_differs",),
    "arguments": ("args_differ",),
    "configuration": ("args_differ",),
    "seed": ("seed",),
    "data": ("data_order", "preprocessing_library", "dataloader_seed"),
    "batch": ("batch_split",),
    "workers": ("dataloader_workers",),
    "ranks": ("world_size",),
    "attention": ("attention_implementation",),
    "program": ("program",),
    "gpu": ("accelerators",),
    "precision": ("precision_mode",),
    "determinism": ("determinism_flags",),
    "compile": ("compile_mode",),
    "threads": ("thread_count",),
    "cpu": ("cpu_isa",),
    "torch": ("torch_version", "framework_default_change"),
    "frameworks": ("torch_version", "framework_version", "framework_default_change", "build_variant"),
    "libraries": ("library_version",),
    "packages": ("package_version",),
    "collectives": ("collective_algorithm", "collective_topology"),
}


class UnknownWord(ValueError):
    """A word covers no rule; the message suggests some that do."""


@lru_cache(maxsize=256)
def rules_of_word(word: str) -> frozenset[str]:
    """Return the ids of the Distinctions that ``word`` covers; raise ``UnknownWord`` where there is none."""
    from .rules import RULES

    meant = {word, *WORDS.get(word, ())}
    found = frozenset(rule.id for rule in RULES if isinstance(rule, Distinction) and (
        meant & {rule.id, rule.cause, rule.layer} or fnmatch.fnmatchcase(rule.id, word)
        or fnmatch.fnmatchcase(f"{rule.layer}.{rule.id}", word)))
    if not found:
        raise UnknownWord(_advice(word))
    return found


def _advice(word: str) -> str:
    import difflib

    from .rules import RULES

    if any(rule.id == word for rule in RULES):
        return (f"{word!r} holds or fails on one side alone, so it cannot vary between two; waive it with a reason if "
                "it is not to count")
    known = dict.fromkeys((*WORDS, *(rule.layer for rule in RULES), *(rule.id for rule in RULES)))
    near = difflib.get_close_matches(word.rstrip(".*"), known, 3, 0.5)
    suggested = f"; near: {', '.join(near)}" if near else ""
    return (f"nothing is known to vary under {word!r}; expected one of {', '.join(WORDS)}, a layer, a cause, a rule "
            f"id, or a pattern such as precision.*{suggested}")

"""The rule set: one module a layer, here the ordered tuple of all, root causes first."""

from __future__ import annotations

from ..rule import AnyRule, by_id
from . import (
    accelerators,
    amd,
    apple,
    builds,
    collectives,
    compiled,
    contradictory,
    cpu,
    determinism,
    distributions,
    driver,
    frameworks,
    interpreter,
    jax_tensorflow,
    known,
    libraries,
    precision,
    program,
    stated,
    targets,
    threads,
    unseen,
    vendor_choices,
)

RULES: tuple[AnyRule, ...] = (
    *known.WRONG,
    *libraries.WRONG,
    *driver.BUILD,
    *targets.RULES,
    *contradictory.RULES,
    *known.MEANINGS,
    *program.RULES,
    *accelerators.BACKENDS,
    *precision.RULES,
    *jax_tensorflow.RULES,
    *frameworks.BUILDS,
    *accelerators.RULES,
    *stated.RULES,
    *amd.RULES,
    *apple.RULES,
    *vendor_choices.RULES,
    *frameworks.RULES,
    *determinism.RULES,
    *compiled.RULES,
    *collectives.RULES,
    *threads.RULES,
    *unseen.RULES,
    *cpu.RULES,
    *libraries.RULES,
    *builds.RULES,
    *distributions.RULES,
    *driver.RULES,
    *interpreter.RULES,
)
RULES_BY_ID: dict[str, AnyRule] = by_id(RULES)

#: Name of this rule set; recorded in every verdict and key, raised whenever a rule or level changes.
RULESET = "2026.11.30"

"""What can be seen from outside a process: one module a section or family, pure parsing on top of ``System``.

A probe is ``probe(system, look) -> dict`` and returns every key of its section: a value, ``None`` for surely absent,
or an unread fact. It may raise; the guard in ``capture`` turns that into unread facts.
"""

from __future__ import annotations

from . import (
    accelerators,
    container,
    cpu,
    distributions,
    driver,
    frameworks,
    host,
    interpreter,
    libraries,
    source,
    switches,
    threads,
)

#: (section path, probe) in the order of looking: cheap and always-there first, outside calls last.
PROBES = (
    ("python", interpreter.probe),
    ("system", host.probe),
    ("cpu", cpu.probe),
    ("threads", threads.probe),
    ("variables", switches.variables_probe),
    ("container", container.probe),
    ("distributions", distributions.probe),
    ("accelerators", accelerators.probe),
    ("driver", driver.probe),
    ("frameworks", frameworks.probe),
    ("libraries", libraries.probe),
    ("precision", switches.precision_probe),
    ("determinism", switches.determinism_probe),
    ("collectives", switches.collectives_probe),
    ("numerics", switches.numerics_probe),
    ("program.random", switches.random_probe),
    ("program.data", switches.data_probe),
    ("program.layout", switches.layout_probe),
    ("program.model", switches.model_probe),
    ("program.declared", switches.declared_probe),
    ("program.source", source.probe),
)

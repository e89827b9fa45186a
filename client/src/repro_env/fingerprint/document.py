"""The whole document: ``stack``, ``program``, ``capture``, and the digests its sender claims."""

from __future__ import annotations

from dataclasses import dataclass

from . import hardware, modes, program, record, software
from .field import Fact, fact


@dataclass(frozen=True)
class Stack:
    """Everything judged by *compare*."""

    accelerators: hardware.Accelerators = fact("devices", source="see section", example=None)
    driver: hardware.Driver = fact("accelerator driver", source="see section", example=None)
    libraries: software.Libraries = fact("numeric libraries", source="see section", example=None)
    frameworks: software.Frameworks = fact("frameworks", source="see section", example=None)
    precision: modes.Precision = fact("arithmetic modes", source="see section", example=None)
    determinism: modes.Determinism = fact("determinism switches", source="see section", example=None)
    threads: modes.Threads = fact("effective thread counts", source="see section", example=None)
    cpu: hardware.Cpu = fact("processor", source="see section", example=None)
    variables: software.Variables = fact("environment variables", source="see section", example=None)
    python: software.Python = fact("interpreter", source="see section", example=None)
    distributions: software.Distributions = fact("installed distributions", source="see section", example=None)
    system: hardware.System = fact("operating system", source="see section", example=None)
    container: hardware.Container = fact("container", source="see section", example=None)
    collectives: modes.Collectives = fact("collectives", source="see section", example=None)
    numerics: modes.Numerics = fact("measured behaviour", source="see section", example=None)


@dataclass(frozen=True)
class Program:
    """Everything the user varies on purpose; judged by *repeat* and *resume*."""

    source: program.Source = fact("code", source="see section", example=None)
    random: program.Random = fact("random numbers", source="see section", example=None)
    data: program.Data = fact("data", source="see section", example=None)
    layout: program.Layout = fact("parallel layout", source="see section", example=None)
    model: program.Model = fact("model modes", source="see section", example=None)
    declared: program.Declared = fact("declared values", source="see section", example=None)


@dataclass(frozen=True)
class Digests:
    """Digests of the parts, as the sender computed them."""

    stack: Fact[str] = fact("digest of the canonical bytes of stack", source="canonical",
                            example="sha256:" + "0" * 64)
    program: Fact[str] = fact("digest of the canonical bytes of program", source="canonical",
                              example="sha256:" + "0" * 64)


@dataclass(frozen=True)
class Fingerprint:
    """One observation."""

    schema: str = fact("version of this definition, major.minor", source="client", example="1.1")
    stack: Stack = fact("environment", source="see part", example=None)
    program: Program = fact("program", source="see part", example=None)
    capture: record.Capture = fact("circumstances", source="see part", example=None)
    digests: Digests = fact("claimed digests", source="canonical", example=None)

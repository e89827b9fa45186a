"""The capture part: who, where, when and how. Never judged; nothing here may enter a stack digest."""

from __future__ import annotations

from dataclasses import dataclass

from .field import Fact, fact


@dataclass(frozen=True)
class Job:
    """What a scheduler started."""

    scheduler: Fact[str] = fact("slurm, kubernetes, pbs, lsf; null without one", source="variable", example="slurm")
    cluster: Fact[str] = fact("cluster name", source="variable", example="alpha")
    job_id: Fact[str] = fact("job id within the cluster", source="variable", example="123456")
    array: Fact[str] = fact("array job and index, as the scheduler's commands show them; null outside an array",
                            source="variable", example="900_4")
    restart: Fact[int] = fact("restart count of a requeued job", source="variable", example=0)
    step: Fact[str] = fact("job step", source="variable", example="0")
    task: Fact[int] = fact("index of the task within the step or job", source="variable", example=3)
    node_count: Fact[int] = fact("number of nodes of the job", source="variable", example=2)
    node_list: Fact[str] = fact("nodes of the job, as the scheduler writes them", source="variable",
                                example="node-[17-18]")
    namespace: Fact[str] = fact("Kubernetes namespace", source="variable, files", example="training")
    pod: Fact[str] = fact("Kubernetes pod", source="variable", example="train-0")
    container: Fact[str] = fact("how the scheduler puts its tasks into containers; null where it does not",
                                source="variable", example="pyxis")


@dataclass(frozen=True)
class Process:
    """Place of the process in its run."""

    node: Fact[str] = fact("host name", source="uname", example="node-17")
    rank: Fact[int] = fact("global rank; null when not distributed", source="variable", example=3)
    local_rank: Fact[int] = fact("rank on the node", source="variable", example=3)
    world_size: Fact[int] = fact("number of ranks announced", source="variable", example=8)
    pid: Fact[int] = fact("process id", source="os", example=4711)
    user: Fact[str] = fact("user name", source="variable", example="researcher")
    device_masks: Fact[dict[str, str]] = fact("CUDA_VISIBLE_DEVICES and relatives", source="variable",
                                              example={"CUDA_VISIBLE_DEVICES": "3"})
    device_ids: Fact[tuple[str, ...]] = fact("device uuids in index order", source="nvml", example=["GPU-0a1b"])


@dataclass(frozen=True)
class DeviceState:
    """What was set on one device at the time of the look: limits that make it slower, not other."""

    device_id: Fact[str] = fact("uuid of the device", source="nvml", example="GPU-0a1b")
    power_limit_mw: Fact[int] = fact("power limit in force in milliwatt", source="nvml, sysfs", example=700000)
    sm_clock_limit_mhz: Fact[int] = fact("highest clock of the multiprocessors", source="nvml", example=1980)
    memory_clock_limit_mhz: Fact[int] = fact("highest clock of the memory", source="nvml", example=2619)


@dataclass(frozen=True)
class Evidence:
    """One thing that tells which image a process runs in. All of it is kept; the stack holds what follows from it."""

    what: str = fact("image_reference, image_digest, config_digest, image_key, label", source="container",
                     example="image_digest")
    value: str = fact("what it says, without credentials", source="container", example="sha256:" + "0" * 64)
    source: str = fact("where it stands: a variable's name or a file", source="container",
                       example="REPRO_ENV_IMAGE_DIGEST")
    trust: str = fact("hinted, self-declared, claimed, verified, observed", source="container", example="claimed")


@dataclass(frozen=True)
class Drift:
    """A fact that changed between two looks at one process."""

    path: str = fact("dotted path of the fact", source="capture", example="precision.allow_tf32_matmul")
    before: Fact[str] = fact("value at the first look, as canonical JSON", source="capture", example="false")
    after: Fact[str] = fact("value at the later look, as canonical JSON", source="capture", example="true")


@dataclass(frozen=True)
class LookError:
    """A look that failed, in words."""

    path: str = fact("section or fact that was looked for", source="capture", example="driver")
    code: str = fact("unread code that stands in the document", source="capture", example="timeout")
    message: str = fact("what failed, in words, without values", source="capture",
                        example="nvidia-smi did not answer within 0.5 s")


@dataclass(frozen=True)
class Imported:
    """Where an imported document came from."""

    format: str = fact("format that was recognised", source="importer", example="pytorch-collect-env")
    notes: tuple[str, ...] = fact("what the text says that was not believed, and oddities", source="importer",
                                  example=["CUDA runtime version is the compiler on the machine"])


@dataclass(frozen=True)
class Capture:
    """How this observation came about."""

    observation_id: str = fact("UUIDv5 of run or job, node, start, process, vantage, sequence, time", source="capture",
                               example="0b0f3c1e-6c1a-5d7e-9f5a-3c1d2e4f5a6b")
    run_id: Fact[str] = fact("run this belongs to", source="REPRO_ENV_RUN_ID, scheduler, made",
                             example="0192f3c1-6c1a-7d7e-9f5a-3c1d2e4f5a6b")
    run_id_source: Fact[str] = fact("given, scheduler, made", source="capture", example="scheduler")
    sequence: int = fact("number of the look within the process, from 0", source="capture", example=0)
    vantage: str = fact("prologue, process, exit, import, image", source="capture", example="process")
    moment: Fact[str] = fact("first-step, first-forward, call, exit, start", source="capture", example="first-step")
    subject: str = fact("node, environment, process, document", source="capture", example="environment")
    project: Fact[str] = fact("project the run belongs to", source="setting", example="vision")
    group: Fact[str] = fact("experiment or table the run belongs to", source="setting", example="table-2")
    labels: dict[str, str] = fact("labels given by the user", source="setting", example={"owner": "team-a"})
    captured_at: str = fact("RFC 3339 UTC time of the look", source="clock", example="2026-01-31T12:00:00Z")
    client_version: Fact[str] = fact("version of repro-env that looked", source="repro_env", example="0.1.0")
    job: Job = fact("scheduler's view", source="see Job", example=None)
    process: Process = fact("place in the run", source="see Process", example=None)
    sources: dict[str, str] = fact("source of each fact by dotted path; a section's path stands for all below it",
                                   source="probes", example={"driver": "nvml"})
    errors: tuple[LookError, ...] = fact("looks that failed", source="probes", example=[])
    durations_us: dict[str, int] = fact("duration of each probe and outside call in microseconds", source="clock",
                                        example={"cpu": 900})
    drift: tuple[Drift, ...] = fact("facts that changed between looks", source="capture", example=[])
    results: dict[str, str] = fact("result digests the program reported, by name", source="report",
                                   example={"weights": "sha256:" + "0" * 64})
    imported: Fact[Imported] = fact("where an imported document came from; null otherwise", source="importer",
                                    example=None)
    segment: Fact[str] = fact("which start of the run this belongs to: job, restart, step and the launcher's restart, "
                              "as far as they are told; null without scheduler and launcher", source="variable",
                              example="123456.r1.s0")
    random_states: Fact[dict[str, str]] = fact("digest of the state of each generator at the look, by generator",
                                               source="interpreter, numpy, torch",
                                               example={"torch": "sha256:" + "0" * 64})
    container_id: Fact[str] = fact("id of the container as its engine calls it", source="proc",
                                   example="4f1d2c3b4a59")
    image_evidence: Fact[tuple[Evidence, ...]] = fact("everything that tells which image the process runs in",
                                                      source="container", example=[])
    device_states: Fact[tuple[DeviceState, ...]] = fact("limits set on each device, in index order", source="nvml",
                                                        example=[])
    device_links: Fact[tuple[str, ...]] = fact("how each pair of devices is joined, by index", source="nvml",
                                               example=["0-1 nvlink-18"])

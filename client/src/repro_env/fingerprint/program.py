"""The program part: source, random, data, layout, model, declared. Judged by *repeat* and *resume*."""

from __future__ import annotations

from dataclasses import dataclass

from .field import Fact, fact


@dataclass(frozen=True)
class Source:
    """The code and how it was started."""

    commit: Fact[str] = fact("full commit id; null outside a repository", source="git files", example="9f1c2d3")
    dirty: Fact[bool] = fact("tracked files differ from the commit", source="git", example=False)
    diff_digest: Fact[str] = fact("digest of the difference from the commit; null when clean", source="git",
                                  example=None)
    remote: Fact[str] = fact("address of the origin without credentials", source="git configuration",
                             example="https://example.org/team/project.git")
    entry_point: Fact[str] = fact("script relative to the repository, or module", source="command line",
                                  example="train.py")
    arguments_digest: Fact[str] = fact("digest of the argument list", source="command line",
                                       example="sha256:" + "0" * 64)
    submodules: Fact[dict[str, str]] = fact("commit of each submodule by path; null without submodules", source="git",
                                            example=None)


@dataclass(frozen=True)
class Random:
    """Seeds and generators."""

    seeds: Fact[dict[str, Fact[int]]] = fact("seed by source: python, numpy, torch, cuda, ...",
                                             source="torch, declared", example={"torch": 42})
    seeded_before_use: Fact[bool] = fact("all generators were seeded before their first use", source="trace, declared",
                                         example=True)
    hash_seed: Fact[str] = fact("PYTHONHASHSEED in force: a number, or random", source="interpreter", example="0")
    generators: Fact[tuple[str, ...]] = fact("kinds of generators in use, sorted", source="declared",
                                             example=["numpy-legacy", "torch-philox"])
    largest_cuda_draw: Fact[int] = fact("elements of the largest single draw from the CUDA generator",
                                        source="trace, declared", example=49152)
    resume_state: Fact[str] = fact("random state at resume: restored, partial, not-restored; null when not a resume",
                                   source="declared", example="restored")


@dataclass(frozen=True)
class Data:
    """What the program read and in which order."""

    dataset_digest: Fact[str] = fact("digest of the data set", source="declared", example="sha256:" + "0" * 64)
    file_order_digest: Fact[str] = fact("digest of the order of files", source="declared",
                                        example="sha256:" + "0" * 64)
    loader_workers: Fact[int] = fact("worker processes of the training loader", source="hook, declared", example=4)
    worker_seeding: Fact[str] = fact("how workers seed: default, worker-init, per-sample, none",
                                     source="hook, declared", example="default")
    persistent_workers: Fact[bool] = fact("workers survive epochs", source="hook, declared", example=False)
    sampler: Fact[str] = fact("kind of sampler", source="hook, declared", example="RandomSampler")
    drop_last: Fact[bool] = fact("incomplete last batch dropped", source="hook, declared", example=True)
    preprocessing: Fact[str] = fact("preprocessing as declared: library, function, option", source="declared",
                                    example="torchvision resize, antialias")
    loader_generator: Fact[str] = fact("where the loader draws its order from: own, default", source="hook, declared",
                                       example="own")


@dataclass(frozen=True)
class Layout:
    """How work is split."""

    world_size: Fact[int] = fact("number of ranks", source="torch, variable", example=8)
    data_parallel: Fact[int] = fact("data parallel degree", source="torch, megatron, deepspeed, declared", example=8)
    tensor_parallel: Fact[int] = fact("tensor parallel degree", source="torch, megatron, deepspeed, declared",
                                      example=1)
    pipeline_parallel: Fact[int] = fact("pipeline parallel degree", source="torch, megatron, deepspeed, declared",
                                        example=1)
    micro_batch: Fact[int] = fact("samples per rank and forward pass", source="megatron, deepspeed, declared",
                                  example=16)
    accumulation: Fact[int] = fact("forward passes per optimizer step", source="megatron, deepspeed, declared",
                                   example=4)
    dynamic_batching: Fact[bool] = fact("batches formed by load (serving)", source="declared", example=False)
    ddp_bucket_mb: Fact[str] = fact("DDP bucket size in MiB, as a decimal string", source="torch", example="25")
    static_graph: Fact[bool] = fact("DDP static graph", source="torch", example=False)
    context_parallel: Fact[int] = fact("context or sequence parallel degree", source="megatron, torch, declared",
                                       example=1)
    expert_parallel: Fact[int] = fact("expert parallel degree", source="megatron, deepspeed, declared", example=1)
    sharding: Fact[str] = fact("how parameters are split among data parallel ranks: none, fsdp full_shard, zero-3, ...",
                               source="hook, declared", example="fsdp full_shard")
    ddp_buckets: Fact[str] = fact("digest of DDP's gradient buckets as rebuilt, and of its hook", source="torch",
                                  example="sha256:" + "0" * 64)
    jax_devices: Fact[int] = fact("devices of all ranks that JAX may spread arrays over; null when it started none",
                                  source="jax", example=8)


@dataclass(frozen=True)
class Model:
    """Modes of the model that change what is computed."""

    training: Fact[bool] = fact("train mode (true) or evaluation mode", source="hook, declared", example=True)
    batch_norm: Fact[str] = fact("train, eval, sync; null without batch norm", source="hook, declared", example="train")
    attention: Fact[str] = fact("attention implementation: eager, sdpa, flash_attention_2, ...",
                                source="hook, declared", example="sdpa")
    compile: Fact[bool] = fact("torch.compile or XLA jit in use", source="torch, declared", example=False)


@dataclass(frozen=True)
class Declared:
    """Anything the user states by ``--declare key=value``."""

    values: Fact[dict[str, str]] = fact("declared values by name; null when nothing was declared", source="declared",
                                        example={"epochs": "4"})

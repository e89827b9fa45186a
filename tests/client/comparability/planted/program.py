"""What the user varies."""

from __future__ import annotations

from repro_env.comparability.rules.declared import WORDS
from tests.client.comparability.planted.planting import Planted, cpu

UNREAD = {"unread": "not-reported"}

PLANTED: dict[str, Planted] = {
    "commit": cpu("source.commit", "a" * 40, "b" * 40),
    "diff": cpu("source.diff_digest", "sha256:" + "4" * 64, "sha256:" + "5" * 64, **{"source.dirty": True}),
    "dirty": cpu("source.dirty", False, True),
    "submodules": cpu("source.submodules", {"lib": "a" * 40}, {"lib": "b" * 40}),
    "entry-point": cpu("source.entry_point", "train.py", "train_v2.py"),
    "arguments": cpu("source.arguments_digest", "sha256:" + "1" * 64, "sha256:" + "6" * 64),
    "declared": cpu("declared.values", {"epochs": "1"}, {"epochs": "4"}),
    "preprocessing": cpu("data.preprocessing", "PIL resize", "tensor resize"),
    "dataset": cpu("data.dataset_digest", "sha256:" + "2" * 64, "sha256:" + "7" * 64),
    "file-order": cpu("data.file_order_digest", "sha256:" + "3" * 64, "sha256:" + "8" * 64),
    "workers-unseeded": cpu("data.worker_seeding", "default", "none"),
    "worker-seeding": cpu("data.worker_seeding", "default", "per-sample"),
    "seed": cpu("random.seeds", {"torch": 42}, {"torch": 43}),
    "generators": cpu("random.generators", ["numpy", "python", "torch-cpu"], ["numpy", "python", "torch-cuda"]),
    "seed-numpy": cpu("random.seeds.numpy", 42, 43),
    "seed-python": cpu("random.seeds.python", 42, 43),
    "code-untold": cpu("source.commit", "9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c", None),
    "unseeded": cpu("random.seeded_before_use", True, False),
    "dynamic-batching": cpu("layout.dynamic_batching", False, True),
    "global-batch": cpu("layout.micro_batch", 16, 32),
    "data-parallel": Planted("cpu", {"layout.data_parallel": 1, "layout.accumulation": 2},
                             {"layout.data_parallel": 2, "layout.accumulation": 1}),
    "batch-shape": Planted("cpu", {"layout.micro_batch": 64, "layout.accumulation": 1},
                           {"layout.micro_batch": 16, "layout.accumulation": 4}),
    "micro-batch": cpu("layout.micro_batch", 16, 32, **{"layout.accumulation": UNREAD}),
    "accumulation": cpu("layout.accumulation", 1, 4, **{"layout.micro_batch": UNREAD}),
    "tensor-parallel": cpu("layout.tensor_parallel", 1, 2),
    "pipeline-parallel": cpu("layout.pipeline_parallel", 1, 2),
    "world-size": cpu("layout.world_size", 1, 2),
    "attention-implementation": cpu("model.attention", "sdpa", "eager"),
    "loader-workers": cpu("data.loader_workers", 2, 4),
    "persistent-workers": cpu("data.persistent_workers", False, True),
    "sampler": cpu("data.sampler", "RandomSampler", "SequentialSampler"),
    "drop-last": cpu("data.drop_last", True, False),
    "model-mode": cpu("model.training", True, False),
    "batch-norm": cpu("model.batch_norm", "train", "sync"),
    "compile": cpu("model.compile", False, True),
    "ddp-buckets": cpu("layout.ddp_bucket_mb", "20", "21"),
    "ddp-bucket-order": cpu("layout.ddp_buckets", "sha256:" + "1" * 64, "sha256:" + "2" * 64),
    "context-parallel": cpu("layout.context_parallel", 1, 2),
    "expert-parallel": cpu("layout.expert_parallel", 1, 2),
    "sharding": cpu("layout.sharding", "none", "fsdp full_shard"),
    "loader-generator": cpu("data.loader_generator", "default", "own"),
    "static-graph": cpu("layout.static_graph", False, True),
    "resume-state": cpu("random.resume_state", "restored", "not-restored"),
    "determinism-set-late": cpu("declared.values", {"determinism-set": "before model construction"},
                                {"determinism-set": "after model construction"}),
    "attention-backward": Planted("cpu", {"model.attention": "flash_attention_3"},
                                  {"model.attention": "flash_attention_3"}),
    "jax-devices": cpu("layout.jax_devices", 1, 8),
    "program-failed": cpu("declared.values", {"exit-status": "0"}, {"exit-status": "1"}),
    "completion-order": Planted("cpu", {"declared.values": {"in_order": "false"}},
                                {"declared.values": {"in_order": "false"}}),
    "parallel-jobs-vary": Planted("cpu", {"declared.values": {"n_jobs": "2"}}, {"declared.values": {"n_jobs": "2"}}),
    "training-state-lost": cpu("declared.values", {"lr_scheduler_state": "restored"},
                               {"lr_scheduler_state": "not-restored"}),
    "loader-state-lost": cpu("declared.values", {"loader-state": "restored"}, {"loader-state": "lost"}),
    "resumed-inside-epoch": Planted("cpu", {"declared.values": {"resumed_inside_epoch": "true"}},
                                    {"declared.values": {"resumed_inside_epoch": "true"}}),
    "stopped-by-clock": Planted("cpu", {"declared.values": {"max_time": "3600"}},
                                {"declared.values": {"max_time": "3600"}}),
}
#: two things that people state under a name.
_STATED = {
    "starting-checkpoint": ("bert-base-uncased", "bert-large-uncased"),
    "initial-weights": ("norm 14.2107", "norm 14.2109"),
    "tokenizer": ("cl100k_base", "o200k_base"), "image-decoder": ("pillow", "turbojpeg"),
    "resizing": ("bilinear with antialias", "bilinear without antialias"), "sampler-seed": ("7", "8"),
    "sample-order": ("order-51e0", "order-9a3c"), "first-batch": ("batch-07f2", "batch-b41d"),
    "shuffle-buffer": ("a buffer of 1000", "a buffer of 10000"), "epoch-shuffling": ("yes", "no"),
    "initial-device": ("cpu", "cuda"), "memory-format": ("contiguous", "channels-last"),
    "optimizer-implementation": ("fused", "foreach"), "parallel-jobs": ("4", "8"), "evaluation-batch": ("32", "64"),
    "evaluation-protocol": ("harness 0.4.2", "harness 0.4.3")}
for _word in WORDS:
    _one, _other = _STATED.get(_word.id, ("one", "another"))
    PLANTED[_word.id] = cpu("declared.values", {_word.names[0]: _one}, {_word.names[0]: _other})

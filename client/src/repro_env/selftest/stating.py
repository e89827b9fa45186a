"""What is declared of a workload: facts of its program that no observation can see, stated as its author would."""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: settings that observation sees by itself, or that are declared under the name of a fact.
SEEN = frozenset((
    "warm", "threads", "interop", "deterministic", "matmul", "fp32", "onednn", "onednn_deterministic", "flush", "dtype",
    "fast_path", "autocast", "compile", "workers", "worker_init", "generator", "persistent_workers", "prefetch_factor",
    "multiprocessing_context", "batch", "data_seed", "seed"))
_ONE = dict.fromkeys(("layout.accumulation", "layout.data_parallel", "layout.tensor_parallel",
                      "layout.pipeline_parallel", "layout.context_parallel", "layout.expert_parallel"), "1")
_PLAIN = {
    **_ONE, "layout.dynamic_batching": "false", "layout.sharding": "none", "random.seeded_before_use": "true",
    "random.resume_state": "no resume", "model.attention": "none", "model.training": "true", "model.batch_norm": "none",
    "model.compile": "false",
}
#: of programs without a loader; those with one are watched.
_NO_LOADER = {"data.loader_workers": "0", "data.worker_seeding": "default", "data.persistent_workers": "false",
              "data.sampler": "none", "data.drop_last": "false", "data.loader_generator": "default"}
_WARMED = {"warm-up": "all"}


def declared(workload: str, settings: dict[str, Any]) -> dict[str, str]:
    """Return what ``repro-env run --declare`` is told of one launch."""
    loads = workload.startswith("loader")
    stated = {**_PLAIN, **({} if loads else _NO_LOADER), **(_WARMED if settings.get("warm") else {})}
    for generator in ("python", "numpy"):
        stated[f"random.seeds.{generator}"] = str(settings.get("seed", 0))
    stated["data.dataset_digest"] = _digest(f"{workload} {settings.get('data_seed', 0)}")
    stated["data.file_order_digest"] = _digest("no files")
    stated["data.preprocessing"] = "noise added" if loads else "none"
    stated["layout.micro_batch"] = str(settings.get("batch", 24 if loads else 64))
    stated["model.attention"] = "sdpa" if workload == "transformer" else "none"
    stated.update({name: str(value) for name, value in settings.items() if name not in SEEN})
    return stated


def _digest(words: str) -> str:
    return f"sha256:{hashlib.sha256(words.encode('utf-8')).hexdigest()}"

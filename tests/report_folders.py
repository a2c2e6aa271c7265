"""Results folders written by hand, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from driftwise import drift, environments, storage
from driftwise.results import Result

NASTY = "</script><img src=x onerror=alert(1)> & ε-greedy $5_%"
LABELS = ("plain", NASTY, "third")


def make_folder(
    folder: Path,
    labels: tuple[str, ...] = LABELS,
    *,
    episodes: int = 60,
    runs: int = 6,
    record_every: int = 1,
    parameters: Any = None,
    **changed: Any,
) -> Path:
    """A results folder with made-up curves: the later an agent is listed, the larger its regret."""
    environment = environments.combination_lock(drift=drift.Abrupt(at=(episodes // 2,)))
    described = {"name": environment.name, **environment.config}
    generator = np.random.default_rng(0)
    lengths = np.diff([*range(0, episodes, record_every), episodes])
    results = {}
    for number, label in enumerate(labels):
        after = np.arange(len(lengths)) % max(len(lengths) // 2, 1)
        regret = (1 + number) * np.exp(-after / 5) * generator.uniform(0.5, 1.5, (runs, 1))
        own = {"agent": {"type": "Own", "rate": 0.5}, "environment": described}
        results[label] = Result(regret, -regret, np.zeros_like(regret), lengths, None, own)
    agents = [
        {"label": label, "parameters": parameters(label) if parameters else {"rate": 0.5}, "seconds": 1.5}
        for label in labels
    ]
    manifest = {
        "format": 1,
        "experiment": "by-hand",
        "config": {"name": "by-hand", "summary": "Doors <b>& locks</b>", "episodes": episodes, "runs": runs},
        "num_episodes": episodes,
        "num_runs": runs,
        "seed": 7,
        "environment": described,
        "agents": agents,
        "versions": {"driftwise": "0.1.0"},
        **changed,
    }
    folder.mkdir(exist_ok=True)
    writers = {
        "results.parquet": storage.parquet_writer(storage.results_table(results)),
        "manifest.json": storage.json_writer(manifest),
    }
    storage.write_files(folder, writers)
    return folder


def damage(folder: Path, how: str) -> Path:
    """Break a folder; the path that the error must name."""
    manifest, results = folder / "manifest.json", folder / "results.parquet"
    if how in ("no manifest", "no results"):
        path = {"no manifest": manifest, "no results": results}[how]
        path.unlink()
        return path
    if how == "cut results":
        results.write_bytes(results.read_bytes()[:-100])
        return results
    if how == "no column":
        pq.write_table(pq.read_table(results).drop_columns(["regret"]), results)
        return results
    if how == "lost rows":
        pq.write_table(pq.read_table(results)[:-5], results)
        return results
    if how == "other agents":
        facts = json.loads(manifest.read_text())
        facts["agents"][0]["label"] = "somebody else"
        manifest.write_text(json.dumps(facts))
        return results
    texts = {
        "cut manifest": '{"format": 1,',
        "newer": '{"format": 99}',
        "bare": "[]",
        "empty": '{"format": 1}',
    }
    manifest.write_text(texts[how])
    return manifest

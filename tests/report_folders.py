"""Results folders written by hand, whole and broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from driftwise import drift, storage
from driftwise.environments import combination_lock
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
    environments: Mapping[str, Mapping[str, Any]] | None = None,
    **changed: Any,
) -> Path:
    """A results folder with made-up curves: the later an agent is listed, the larger its regret.

    In every second environment it is the other way round.
    """
    environments = environments or {"lock": described_lock(episodes // 2)}
    generator = np.random.default_rng(0)
    lengths = np.diff([*range(0, episodes, record_every), episodes])
    after = np.arange(len(lengths)) % max(len(lengths) // 2, 1)
    results, agents = {}, []
    for place, (environment, described) in enumerate(environments.items()):
        for number, label in enumerate(labels[:: -1 if place % 2 else 1]):
            level = (1 + number / len(labels)) * generator.uniform(0.9, 1.1, (runs, 1))
            regret = level * np.exp(-after / (4 + number))
            own = {"agent": {"type": "Own", "rate": 0.5}, "environment": described}
            results[environment, label] = Result(regret, -regret, np.zeros_like(regret), lengths, None, own)
        agents += [
            {
                "environment": environment,
                "label": label,
                "parameters": parameters(label) if parameters else {"rate": 0.5},
                "seconds": 1.5,
            }
            for label in labels
        ]
    manifest = {
        "format": 1,
        "experiment": "by-hand",
        "config": {"name": "by-hand", "summary": "Doors <b>& locks</b>", "episodes": episodes, "runs": runs},
        "num_episodes": episodes,
        "num_runs": runs,
        "seed": 7,
        "environments": environments,
        "agents": agents,
        "host": {"name": "a machine", "cpu_count": 2},
        "commit": None,
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


def make_grid_folder(folder: Path, *, rows: int, columns: int, **options: Any) -> Path:
    """A folder of many cells: an agent at all points of a grid of two parameters, four runs of 200 points."""
    points = {
        f"OPT-WLSVI (rate={0.75 + row / 100:g}, radius={0.05 * (1 + column):g})": (row, column)
        for row in range(rows)
        for column in range(columns)
    }

    def parameters(label: str) -> dict[str, Any]:
        row, column = points[label]
        forgetting = {"type": "ExponentialWeights", "rate": 0.75 + row / 100}
        exploration = {"type": "Ucb", "radius": 0.05 * (1 + column), "norm": "sandwich"}
        return {
            "type": "LeastSquaresAgent",
            "ridge": 1.0,
            "forgetting": forgetting,
            "exploration": exploration,
        }

    return make_folder(folder, tuple(points), episodes=200, runs=4, parameters=parameters, **options)


def described_lock(change: int) -> dict[str, Any]:
    """An environment as manifests have it."""
    lock = combination_lock(drift=drift.Abrupt(at=(change,)))
    return {"name": lock.name, **lock.config}


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
    facts = json.loads(manifest.read_text())
    first = facts["agents"][0]
    facts_of = {
        "other agents": {"agents": [{**first, "label": "somebody else"}, *facts["agents"][1:]]},
        "named twice": {"agents": [first, *facts["agents"]]},
        "other environment": {
            "environments": {"elsewhere": facts["environments"]["lock"]},
            "agents": [{**agent, "environment": "elsewhere"} for agent in facts["agents"]],
        },
        "homeless": {"agents": [{**first, "environment": "nowhere"}, *facts["agents"][1:]]},
    }
    if how in facts_of:
        manifest.write_text(json.dumps({**facts, **facts_of[how]}))
        return manifest if how == "homeless" else results
    texts = {
        "cut manifest": '{"format": 1,',
        "newer": '{"format": 99}',
        "bare": "[]",
        "empty": '{"format": 1}',
    }
    manifest.write_text(texts[how])
    return manifest

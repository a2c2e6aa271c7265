"""Results folders written by hand, whole and broken."""

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import driftwise as dw
from driftwise.base.files import write_files
from driftwise.environments import ENVIRONMENTS, build_environment, combination_lock, drift
from driftwise.experiments.results_folder import folder_files, results_table
from driftwise.experiments.saved_results import random_regret

NASTY = "</script><img src=x onerror=alert(1)> & ε-greedy $5_%"
LABELS = ("plain", NASTY, "third")


def make_folder(
    folder: Path,
    labels: tuple[str, ...] = LABELS,
    *,
    episodes: int = 60,
    runs: int = 6,
    record_every: int = 1,
    described: Callable[[str], Mapping[str, Any]] = lambda label: {"parameters": {"rate": 0.5}},
    told: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    environments: Mapping[str, Mapping[str, Any]] | None = None,
    **changed: Any,
) -> Path:
    """A results folder with made-up curves: the later an agent is listed, the larger its regret.

    In every second environment it is the other way round. `described`: what the manifest says of an agent.
    `told`: the diagnostics of agents that have any.
    """
    environments = environments or {"lock": described_lock(episodes // 2)}
    generator = np.random.default_rng(0)
    lengths = np.diff([*range(0, episodes, record_every), episodes])
    after = np.arange(len(lengths)) % max(len(lengths) // 2, 1)
    results, agents = {place: {} for place in environments}, []
    for place, (environment, config) in enumerate(environments.items()):
        for number, label in enumerate(labels[:: -1 if place % 2 else 1]):
            level = (1 + number / len(labels)) * generator.uniform(0.9, 1.1, (runs, 1))
            regret = level * np.exp(-after / (4 + number))
            own = {"agent": {"type": "Own", "rate": 0.5}, "environment": config}
            best, diagnostics = np.zeros_like(regret), (told or {}).get(label, {})
            results[environment][label] = dw.Result(regret, -regret, best, lengths, None, own, diagnostics)
        own = {"environment": environment, "seconds": 1.5}
        agents += [{**own, "label": label, **described(label)} for label in labels]
    registered = {label: own for label, own in environments.items() if own["name"] in ENVIRONMENTS}
    chance = {label: build_environment(**config) for label, config in registered.items()}
    manifest = {
        "experiment": "by-hand",
        "config": {"name": "by-hand", "summary": "Doors <b>& locks</b>", "episodes": episodes, "runs": runs},
        "num_episodes": episodes,
        "num_runs": runs,
        "seed": 7,
        "environments": environments,
        "random_regret": {label: random_regret(world, episodes) for label, world in chance.items()},
        "agents": agents,
        "host": {"name": "a machine", "cpu_count": 2},
        "commit": None,
        "versions": {"driftwise": "0.1.0"},
        **changed,
    }
    folder.mkdir(exist_ok=True)
    write(folder, manifest, results_table(results))
    return folder


def write(folder: Path, manifest: Mapping[str, Any], table: pa.Table) -> None:
    """The files of a finished run, whatever is in them."""
    write_files(folder, folder_files(table, manifest))


def make_grid_folder(
    folder: Path, *, rows: int, columns: int, more: tuple[str, ...] = (), **options: Any
) -> Path:
    """A large folder: an agent at all points of a grid of two parameters, and `more`; four runs."""
    grid = itertools.product(range(rows), range(columns))
    grid = [{"rate": 0.75 + row / 100, "radius": 0.05 * (1 + column)} for row, column in grid]
    points = {f"OPT-WLSVI (rate={own['rate']:g}, radius={own['radius']:g})": own for own in grid}

    def described(label: str) -> dict[str, Any]:
        if label in more:
            return {"name": label, "point": {}}
        point = points[label]
        forgetting = {"type": "ExponentialWeights", "rate": point["rate"]}
        exploration = {"type": "Ucb", "radius": point["radius"], "norm": "sandwich"}
        parameters = {"type": "LeastSquaresAgent", "forgetting": forgetting, "exploration": exploration}
        return {"name": "OPT-WLSVI", "point": point, "parameters": parameters}

    return make_folder(folder, (*points, *more), episodes=200, runs=4, described=described, **options)


def described_lock(change: int) -> dict[str, Any]:
    """An environment as manifests have it."""
    lock = combination_lock(drift=drift.Abrupt(at=(change,)))
    return {"name": lock.name, **lock.config}


def damage(folder: Path, how: str) -> Path:
    """Break a folder; the path that the error must name."""
    manifest, results = folder / "manifest.json", folder / "results.parquet"
    facts, table = json.loads(manifest.read_text()), pq.read_table(results)
    agents, lock = facts["agents"], facts["environments"]["lock"]
    elsewhere = [{**agent, "environment": "elsewhere"} for agent in agents]
    environments = {"lock": lock, "elsewhere": lock}
    changed: dict[str, dict[str, Any]] = {  # in manifests that are sealed again
        "other agents": {"agents": [{**agents[0], "label": "somebody else"}, *agents[1:]]},
        "named twice": {"agents": [agents[0], *agents]},
        "other environment": {"environments": {"elsewhere": lock}, "agents": elsewhere},
        "absent": {"environments": environments, "agents": [*agents, elsewhere[0]]},
        "homeless": {"agents": [{**agents[0], "environment": "nowhere"}, *agents[1:]]},
    }
    holes = pa.array([None] * len(table), pa.float64())
    tables: dict[str, pa.Table] = {  # to which the seal belongs
        "no column": table.drop_columns(["regret"]),
        "holes": table.set_column(table.column_names.index("regret"), "regret", holes),
        "lost rows": table[:-5],
    }
    texts = {"cut manifest": '{"format": 1,', "newer": '{"format": 99}', "bare": "[]"}
    texts["empty"] = '{"format": 1}'
    if how in changed or how in tables:
        write(folder, facts | changed.get(how, {}), tables.get(how, table))
    elif how in texts:
        manifest.write_text(texts[how])
    elif how == "cut results":
        results.write_bytes(results.read_bytes()[:-100])
    else:
        {"no manifest": manifest, "no results": results}[how].unlink()
    return manifest if how in (*texts, "no manifest", "absent", "homeless") else results

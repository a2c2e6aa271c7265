"""Curves as rows of a table: those of results folders, and those that other programs have written."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from driftwise.base.files import require_regular
from driftwise.experiments.storage import blamed
from driftwise.simulation.results import Result

COLUMNS = ("environment", "agent", "run", "episode", "reward", "regret")
MEASURES = ("regret", "reward")
FORMATS: dict[str, Callable[[Path], pa.Table]] = {
    ".csv": pyarrow.csv.read_csv,
    ".parquet": lambda path: pq.ParquetFile(path).read(),
}


def load_curves(path: str | os.PathLike[str]) -> dict[str, dict[str, Result]]:
    """Results by environment and agent, from a CSV or Parquet file that any program may have written.

    It has a row for each run and episode, with the columns `run`, `episode`, and `regret` or `reward` or
    both; `agent` and `environment`, if it has them, are names. In an environment every agent has the same
    episodes, and as many runs, which belong together in the order of their names. Episodes count from 1, or
    from 0; where some are left out, a row stands for the mean over the episodes since the one before.

    Without a regret, its place has a shortfall, the highest reward in the environment less the reward:
    differences between agents are right, whatever the unknown optimum is. Without a reward, `returns` are
    NaN. Other columns are left alone. `manifest["measured"]` says which of the two the file has.
    """
    path = Path(path)
    table = _read_table(path)
    measured = [name for name in MEASURES if name in table.column_names]
    with blamed(path):  # columns of kinds that have no order, or are no words
        environments, environment = _words(table, "environment")
        labels, agent = _words(table, "agent")
        run = _within(environment * len(labels) + agent, _numpy(table, "run"))
    rows = {
        "agent": agent,
        "run": run,
        "episode": _episodes(path, table),
        **{name: _numbers(path, table, name) for name in measured},
    }
    results = {}
    for place, name in enumerate(environments):
        own = {key: column[environment == place] for key, column in rows.items()}
        own.setdefault("reward", np.full(len(own["run"]), math.nan))
        if "regret" not in own:
            own["regret"] = own["reward"].max() - own["reward"]
        facts = {"environment": {"name": name}, "measured": measured}
        curves = curves_of_rows(path, own, labels)
        results[name] = {
            label: replace(result, manifest={"agent": {"type": label}, **facts})
            for label, result in curves.items()
        }
    return results


def curves_of_rows(path: Path, rows: Mapping[str, np.ndarray], labels: Sequence[str]) -> dict[str, Result]:
    """The rows of one environment as curves `[runs, points]`; `labels` are its agents, `path` is to blame."""
    order = np.lexsort((rows["episode"], rows["run"], rows["agent"]))
    num_runs, num_points = (len(np.unique(rows[name])) for name in ("run", "episode"))
    shape = (len(labels), num_runs, num_points)
    differ = f"{path} is incomplete: agents differ in their runs or episodes, or rows come twice"
    if len(order) != (whole := math.prod(shape)):
        sizes = f"{len(labels)} agents × {num_runs} runs × {num_points} episodes"
        raise ValueError(f"{differ}; {sizes} are {whole} rows, got {len(order)}")
    cubes = {name: column[order].reshape(shape) for name, column in rows.items()}
    runs, episodes = cubes["run"][:1, :, :1], cubes["episode"][:1, :1]
    expected = {"agent": np.arange(len(labels))[:, None, None], "run": runs, "episode": episodes}
    if any((cubes[name] != each).any() for name, each in expected.items()):
        raise ValueError(differ)
    if not np.isfinite(cubes["regret"]).all():
        raise ValueError(f"{path} is damaged: some regret is not a finite number")
    lengths = np.diff(episodes[0, 0], prepend=0)
    diagnostics = {name: cube for name, cube in cubes.items() if name not in COLUMNS}
    return {
        label: Result(
            returns=cubes["reward"][place],
            values=-cubes["regret"][place],  # V* − V^π is the regret
            signed=True,  # as it was written
            optimal_values=np.zeros(shape[1:]),
            lengths=lengths,
            state=None,
            manifest={},
            diagnostics={
                name: cube[place] for name, cube in diagnostics.items() if not np.isnan(cube[place]).all()
            },
        )
        for place, label in enumerate(labels)
    }


def _read_table(path: Path) -> pa.Table:
    """The table of a file, with all columns that are needed and no holes in them."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path} must be a file of curves: {' or '.join(f'*{each}' for each in FORMATS)}")
    if not path.exists():
        raise ValueError(f"{path} must be a file of curves, but there is no such file")
    with blamed(path):
        require_regular(path)
        table = FORMATS[path.suffix.lower()](path)
    there = table.column_names
    if not {"run", "episode"} <= {*there} or not {*MEASURES} & {*there}:
        expected = "run, episode, and regret or reward"
        raise ValueError(f"{path} must have the columns {expected}, got {', '.join(there) or 'none'}")
    if twice := [name for name in COLUMNS if there.count(name) > 1]:
        raise ValueError(f"{path} must have the column {twice[0]!r} once")
    if table.num_rows == 0:
        raise ValueError(f"{path} must have rows, got none")
    for name in COLUMNS:
        if name in there and table[name].null_count:
            raise ValueError(f"{path} must have a value in each row of the column {name!r}")
    return table


def _words(table: pa.Table, name: str) -> tuple[list[str], np.ndarray]:
    """The different words of a column in the order they come in, and the place of each row's among them."""
    if name not in table.column_names:
        return [name], np.zeros(table.num_rows, dtype=int)
    encoded = table[name].combine_chunks().cast(pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _within(owners: np.ndarray, names: np.ndarray) -> np.ndarray:
    """The place of each row's name among those of its owner, in their order."""
    places = np.empty(len(names), dtype=int)
    for owner in np.unique(owners):
        own = owners == owner
        places[own] = np.unique(names[own], return_inverse=True)[1]
    return places


def _numpy(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy()


def _numbers(path: Path, table: pa.Table, name: str) -> np.ndarray:
    values = _numpy(table, name)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{path} must have numbers in the column {name!r}, got {str(values[0])!r}")
    if not np.isfinite(values).all():
        raise ValueError(f"{path} must have finite numbers in the column {name!r}")
    return values.astype(float)


def _episodes(path: Path, table: pa.Table) -> np.ndarray:
    values = _numbers(path, table, "episode")
    wrong = values[(values < 0) | (values % 1 != 0) | (values >= 1 << 32)]
    if len(wrong):
        raise ValueError(f"{path} must have counts below 2^32 in the column 'episode', got {wrong[0]:g}")
    return values.astype(np.int64) + int(values.min() == 0)

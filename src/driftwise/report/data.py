"""What a report is about: a results folder in memory, checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftwise.environments import ENVIRONMENTS
from driftwise.environments.environment import Environment
from driftwise.experiments.saving import FORMAT
from driftwise.parts import from_config
from driftwise.report.random_actions import random_regret
from driftwise.results import Result

MANIFEST, RESULTS = "manifest.json", "results.parquet"
COLUMNS = ("environment", "agent", "run", "episode", "reward", "regret")
MAX_DRAWN = 28  # agents in a figure: as many as colours and dashes tell apart
FEW_DRAWN = 12  # where there are more agents than that


@dataclass(frozen=True, eq=False)
class ReportData:
    """A manifest and the curves of one of its environments."""

    manifest: Mapping[str, Any]
    environment_label: str
    results: Mapping[str, Result]  # by the agent's label, in the manifest's order; all of one shape

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.results)

    @property
    def config(self) -> Mapping[str, Any]:
        """What the experiment's file said; empty where the manifest does not keep it."""
        return self.manifest.get("config") or {}

    @property
    def environment_config(self) -> Mapping[str, Any]:
        """The environment's name and what it was made of."""
        return self.manifest["environments"][self.environment_label]

    @cached_property
    def agents(self) -> list[Mapping[str, Any]]:
        """The manifest's entries, in the order of `results`."""
        return [agent for agent in self.manifest["agents"] if agent["environment"] == self.environment_label]

    @property
    def num_runs(self) -> int:
        return self.scores.shape[0]

    @property
    def num_episodes(self) -> int:
        return int(self.episodes[-1])

    @property
    def lengths(self) -> np.ndarray:
        return next(iter(self.results.values())).lengths

    @property
    def episodes(self) -> np.ndarray:
        return next(iter(self.results.values())).episodes

    @cached_property
    def scores(self) -> np.ndarray:
        """Final cumulative regret, `[runs, agents]`."""
        return np.stack([result.cumulative_regret[:, -1] for result in self.results.values()], axis=1)

    @cached_property
    def order(self) -> np.ndarray:
        """Agents from the lowest mean regret to the highest."""
        return np.argsort(self.scores.mean(axis=0), kind="stable")

    @cached_property
    def drawn(self) -> tuple[str, ...]:
        """The agents that figures show, in the manifest's order: all, or the best few of many."""
        count = MAX_DRAWN if len(self.labels) <= MAX_DRAWN else FEW_DRAWN
        return tuple(self.labels[index] for index in sorted(self.order[:count]))

    @cached_property
    def environment(self) -> Environment | str:
        """The environment made anew, or why it cannot be."""
        config = dict(self.environment_config)
        try:
            make = ENVIRONMENTS[config.pop("name")]
            return make(**{key: from_config(value) for key, value in config.items()})
        except Exception as error:  # whatever a maker of another version says
            return f"{type(error).__name__}: {error}"

    @cached_property
    def changes(self) -> tuple[int, ...]:
        """Episodes, from 0, at which the environment jumps; none where it cannot be made."""
        environment = self.environment
        return () if isinstance(environment, str) else tuple(environment.changes(self.num_episodes))

    @cached_property
    def random_regret(self) -> float:
        """Mean regret of an episode with random actions; NaN where the environment cannot be made."""
        environment = self.environment
        return math.nan if isinstance(environment, str) else random_regret(environment, self.num_episodes)


Report = Mapping[str, ReportData]  # by the environment's label, in the manifest's order


def load_report_data(folder: Path) -> dict[str, ReportData]:
    """Read a results folder; whatever is wrong with it is a `ValueError` that names the path."""
    if not folder.is_dir():
        raise ValueError(f"{folder} must be a results folder, but there is no such folder")
    manifest = _read_manifest(folder / MANIFEST)
    results = _read_results(folder / RESULTS, manifest)
    return {label: ReportData(manifest, label, curves) for label, curves in results.items()}


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: the folder holds no finished run") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ValueError(f"{path} is damaged: it is not JSON") from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(found, int):
        raise ValueError(f"{path} is damaged: it has no format number")
    if found > FORMAT:
        raise ValueError(
            f"{path} has format {found}, written by a newer driftwise; this one reads up to format {FORMAT}"
        )
    if not _names_all(manifest.get("agents"), manifest.get("environments")):
        raise ValueError(f"{path} is damaged: it does not name the agents and the environments")
    return manifest


def _names_all(agents: Any, environments: Any) -> bool:
    """Whether every environment is described, and every agent says where it was run."""
    if not isinstance(agents, list) or not isinstance(environments, dict):
        return False
    if not all(isinstance(each, dict) for each in (*agents, *environments.values())):
        return False
    return bool(agents) and {each.get("environment") for each in agents if "label" in each} == {*environments}


def _read_results(path: Path, manifest: Mapping[str, Any]) -> dict[str, dict[str, Result]]:
    """The curves by environment and agent."""
    table = _read_table(path)
    cells = [(str(each["environment"]), str(each["label"])) for each in manifest["agents"]]
    environments, agents = list(manifest["environments"]), list(dict.fromkeys(label for _, label in cells))
    environment, agent = _places(table["environment"], environments), _places(table["agent"], agents)
    numbered = np.full((len(environments) + 1, len(agents) + 1), -1)  # the last are those of other names
    for number, (one, other) in enumerate(cells):
        numbered[environments.index(one), agents.index(other)] = number
    cell = numbered[environment, agent]
    if not np.array_equal(np.unique(cell), np.arange(len(cells))):
        raise ValueError(f"{path} does not belong to its manifest: they do not name the same agents")
    rows = {"cell": cell, **{name: table[name].to_numpy() for name in COLUMNS[2:]}}
    results = {}
    for place, label in enumerate(environments):
        own = {name: column[environment == place] for name, column in rows.items()}
        results[label] = _curves(path, own, [name for each, name in cells if each == label])
    return results


def _read_table(path: Path) -> pa.Table:
    try:
        columns = [name for name in COLUMNS if name in pq.read_schema(path).names]
        table = pq.read_table(path, columns=columns)
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: the folder holds no finished run") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} is damaged or cannot be read: {reason}") from None
    for name in COLUMNS:
        if name not in table.column_names or table[name].null_count:
            raise ValueError(f"{path} is damaged: its column {name!r} is missing or has holes")
    return table


def _places(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """Where each word of the column stands among the names; −1 for one that does not."""
    words = column.combine_chunks().cast(pa.string()).dictionary_encode()
    known = {name: place for place, name in enumerate(names)}
    places = np.array([known.get(word, -1) for word in words.dictionary.to_pylist()], dtype=int)
    return places[words.indices.to_numpy()]


def _curves(path: Path, rows: Mapping[str, np.ndarray], labels: Sequence[str]) -> dict[str, Result]:
    """The rows of one environment as curves `[runs, points]`; `labels` are its agents, as cells ascend."""
    order = np.lexsort((rows["episode"], rows["run"], rows["cell"]))
    num_runs, num_points = (len(np.unique(rows[name])) for name in ("run", "episode"))
    shape = (len(labels), num_runs, num_points)
    if len(order) != np.prod(shape):
        raise ValueError(f"{path} is incomplete: agents differ in their runs or episodes")
    cubes = {name: column[order].reshape(shape) for name, column in rows.items()}
    runs, episodes = cubes["run"][:1, :, :1], cubes["episode"][:1, :1]
    if (cubes["run"] != runs).any() or (cubes["episode"] != episodes).any():
        raise ValueError(f"{path} is incomplete: agents differ in their runs or episodes")
    if not np.isfinite(cubes["regret"]).all():
        raise ValueError(f"{path} is damaged: some regret is not a finite number")
    lengths = np.diff(episodes[0, 0], prepend=0)
    return {
        label: Result(rewards, -regret, np.zeros_like(regret), lengths, None, {})  # V* − V^π is the regret
        for label, rewards, regret in zip(labels, cubes["reward"], cubes["regret"], strict=True)
    }

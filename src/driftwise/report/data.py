"""What a report is about: a results folder in memory, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftwise.environments import ENVIRONMENTS
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.experiments.saving import FORMAT
from driftwise.parts import from_config
from driftwise.results import Result

MANIFEST, RESULTS = "manifest.json", "results.parquet"
COLUMNS = ("environment", "agent", "run", "episode", "reward", "regret")
MAX_DRAWN = 28  # agents in a figure: as many as colours and dashes tell apart


@dataclass(frozen=True, eq=False)
class ReportData:
    """A manifest and the curves it belongs to."""

    manifest: Mapping[str, Any]
    results: Mapping[str, Result]  # by label, in the manifest's order; all of one shape

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.results)

    @property
    def config(self) -> Mapping[str, Any]:
        """What the experiment's file said; empty where the manifest does not keep it."""
        return self.manifest.get("config") or {}

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
        """The agents that figures show: the best ones, in the manifest's order."""
        return tuple(self.labels[index] for index in sorted(self.order[:MAX_DRAWN]))

    @cached_property
    def environment(self) -> LinearMdp | str:
        """The environment made anew, or why it cannot be."""
        config = dict(self.manifest["environment"])
        try:
            make = ENVIRONMENTS[config.pop("name")]
            return make(**{key: from_config(value) for key, value in config.items()})
        except Exception as error:  # whatever a maker of another version says
            return f"{type(error).__name__}: {error}"

    @cached_property
    def changes(self) -> tuple[int, ...]:
        """Episodes, from 0, at which the environment jumps; none where its drift is unknown."""
        try:
            return tuple(from_config(self.manifest["environment"]["drift"]).changes(self.num_episodes))
        except Exception:  # as above
            return ()


def load_report_data(folder: Path) -> ReportData:
    """Read a results folder; whatever is wrong with it is a `ValueError` that names the path."""
    if not folder.is_dir():
        raise ValueError(f"{folder} must be a results folder, but there is no such folder")
    manifest = _read_manifest(folder / MANIFEST)
    return ReportData(manifest, _read_results(folder / RESULTS, manifest))


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
    agents, environment = manifest.get("agents"), manifest.get("environment")
    named = isinstance(agents, list) and all(isinstance(each, dict) and "label" in each for each in agents)
    if not named or not agents or not isinstance(environment, dict):
        raise ValueError(f"{path} is damaged: it does not name the agents and the environment")
    return manifest


def _read_results(path: Path, manifest: Mapping[str, Any]) -> dict[str, Result]:
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
    if len(table["environment"].unique()) > 1:
        raise ValueError(f"{path} holds several environments; a report is on one")
    labels = [str(agent["label"]) for agent in manifest["agents"]]
    names = table["agent"].combine_chunks().cast(pa.string()).dictionary_encode()
    dictionary = names.dictionary.to_pylist()
    if sorted(dictionary) != sorted(labels):
        raise ValueError(f"{path} does not belong to its manifest: they name different agents")
    agent = np.array([labels.index(name) for name in dictionary])[names.indices.to_numpy()]
    numbers = {name: table[name].to_numpy() for name in COLUMNS[2:]}
    order = np.lexsort((numbers["episode"], numbers["run"], agent))
    num_runs, num_points = (len(np.unique(numbers[name])) for name in ("run", "episode"))
    shape = (len(labels), num_runs, num_points)
    if len(order) != np.prod(shape):
        raise ValueError(f"{path} is incomplete: agents differ in their runs or episodes")
    cubes = {name: column[order].reshape(shape) for name, column in numbers.items()}
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

"""The data of a report: a results folder in memory, checked."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from driftwise.analysis.audit.findings import Finding, read_findings
from driftwise.analysis.numbers import Numbers, numbers_of
from driftwise.analysis.statistics import Recovery, average_ranks, recovery_summary, recovery_times
from driftwise.analysis.statistics.wording import counted
from driftwise.analysis.yardsticks import moved, random_regret
from driftwise.environments.environment import Environment
from driftwise.environments.registry import ENVIRONMENTS, build
from driftwise.experiments.curves import COLUMNS, FORMATS, MEASURES, curves_of_rows, load_curves
from driftwise.experiments.selection import MARK, Selection, Shown, one_per_agent
from driftwise.experiments.storage import MANIFEST, RESULTS, read_manifest, read_table
from driftwise.simulation.results import EVENTS, Result

RECOVERED = 0.25  # share of the regret of random actions, under which an agent has recovered


@dataclass(frozen=True, eq=False)
class ReportData:
    """A manifest and the curves of one of its environments."""

    manifest: Mapping[str, Any]
    environment_label: str
    points: Mapping[str, Result]  # by the labels of the manifest and in its order; all of one shape
    findings: Sequence[Finding] = ()  # of an audit beside the results
    made: Environment | None = None  # the environment itself, where it is at hand
    leaders: Collection[str] | None = None  # agents in colour, the same in all environments; `None`: all

    @cached_property
    def selection(self) -> Selection:
        """The agents, each by its best point, and the runs that they are shown in; see `one_per_agent`."""
        return one_per_agent(self.points, {label: str(self.entries[label]["name"]) for label in self.points})

    @property
    def shown(self) -> Mapping[str, Shown]:
        """The agents by their labels, each with its best point and the others."""
        return self.selection.agents

    @cached_property
    def results(self) -> Mapping[str, Result]:
        """The curves of every agent, those of its best point if it is a grid, in the runs that are shown."""
        return {label: shown.result for label, shown in self.shown.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.shown)

    @property
    def foreign(self) -> bool:
        """Whether the curves are those of another program, of which nothing else is known."""
        return "measured" in self.manifest

    @property
    def measured(self) -> Sequence[str]:
        """Which of regret and reward there are; a regret that is not measured is made of the reward."""
        return self.manifest.get("measured", MEASURES)

    @property
    def quantity(self) -> str:
        """The word for what the curves are: regret, or shortfall where it is made of the reward."""
        return "regret" if "regret" in self.measured else "shortfall"

    @property
    def config(self) -> Mapping[str, Any]:
        """The experiment's file; empty where the manifest does not keep it."""
        return self.manifest.get("config") or {}

    @property
    def words(self) -> str:
        """The experiment's own finding, which holds at its own sizes only; else what it is about."""
        own, name = self.config, str(self.manifest.get("experiment", ""))
        full = self.num_episodes >= own.get("episodes", 0) and self.num_played >= own.get("runs", 0)
        return str((full and own.get("finding")) or own.get("summary") or name)

    @property
    def environment_config(self) -> Mapping[str, Any]:
        """The environment's name and what it was made of."""
        return self.manifest["environments"][self.environment_label]

    @cached_property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """The manifest's entries of all points, by their labels; those of earlier versions have no names."""
        agents = (each for each in self.manifest["agents"] if each["environment"] == self.environment_label)
        return {str(agent["label"]): {"name": agent["label"], **agent} for agent in agents}

    @property
    def agents(self) -> list[Mapping[str, Any]]:
        """The manifest's entries of the agents, in the order of `labels`: those of their best points."""
        return [self.entries[shown.best] for shown in self.shown.values()]

    @cached_property
    def numbers(self) -> list[list[Numbers]]:
        """The numbers that the agents have, or their candidates, in the order of `labels`."""
        return [numbers_of(each.get("parameters", {}), each.get("variation")) for each in self.agents]

    @property
    def grid_notes(self) -> list[str]:
        """How the points of grids were chosen, in a sentence; none where no agent is a grid."""
        grids = {label: shown for label, shown in self.shown.items() if shown.others}
        if not grids:
            return []
        chosen = (f"{label} is {each.best}, of {len(each.points):,}" for label, each in grids.items())
        by = f"{counted(self.num_played - self.num_runs, 'run')} held back from all that is shown"
        if self.num_runs == self.num_played:
            by = "the runs shown, too few to hold one back, which flatters it"
        reading = f"{MARK}: the point of a grid with the lowest final regret, chosen by {by}."
        return [f"{reading} {'; '.join(chosen)}."]

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The `EVENTS` that some agent records."""
        return tuple(name for name in EVENTS if any(name in each.counts for each in self.results.values()))

    @property
    def num_runs(self) -> int:
        """Runs that are shown."""
        return self.scores.shape[0]

    @property
    def num_played(self) -> int:
        """Runs that there are, with those held back to choose the points of grids."""
        return len(next(iter(self.points.values())).returns)

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
        """Agents from the lowest mean regret to the highest; equal ones stay as they are listed."""
        return np.argsort(self.ranks, kind="stable")

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks by mean regret, from 1, `[agents]`; equal ones share their places."""
        return average_ranks(self.scores.mean(axis=0))

    @cached_property
    def styles(self) -> dict[str, int | None]:
        """All agents, with the number of their colour and dashes; without one they are faint."""
        leaders = [label for label in self.labels if self.leaders is None or label in self.leaders]
        numbers = {label: number for number, label in enumerate(leaders)}
        return {**numbers, **{label: None for label in self.labels if label not in numbers}}

    @property
    def leader(self) -> str:
        """The agent of lowest mean regret; the first of several."""
        return self.labels[self.order[0]]

    @cached_property
    def environment(self) -> Environment | str:
        """The environment, made anew where it is not at hand, or why it cannot be."""
        if self.made is not None:
            return self.made
        if self.foreign:
            return "it is another program's"
        try:
            return build(**self.environment_config)
        except Exception as error:  # whatever a maker of another version says
            name, plugins = self.environment_config.get("name"), self.manifest.get("plugins", {})
            known = name in ENVIRONMENTS
            why = f"{type(error).__name__}: {error}" if known else f"no environment {name!r} is known here"
            return f"{why}; the run had plugins: --import {' --import '.join(plugins)}" if plugins else why

    @cached_property
    def changes(self) -> tuple[int, ...]:
        """Episodes, from 0, at which the environment jumps; none where it cannot be made."""
        environment = self.environment
        return () if isinstance(environment, str) else tuple(environment.changes(self.num_episodes))

    @cached_property
    def drift(self) -> np.ndarray | None:
        """How far the model is from the first at every point, 0 to 1; `None` where it stays, or unknown."""
        environment = self.environment
        return None if isinstance(environment, str) else moved(environment, self.episodes - 1)

    @cached_property
    def random_regret(self) -> float:
        """Mean regret of an episode with random actions; NaN without an environment, or where it is none."""
        environment = self.environment
        level = math.nan if isinstance(environment, str) else random_regret(environment, self.num_episodes)
        return level if level > 0 else math.nan

    @property
    def recovery_threshold(self) -> float:
        """A share of the regret of random actions, whichever agents were run."""
        return RECOVERED * self.random_regret

    @property
    def smoothing(self) -> int:
        """Points that regret is averaged over before it is held against the threshold, and stays under it."""
        return max(1, len(self.lengths) // 100)

    @cached_property
    def recovery(self) -> Recovery:
        """Recovery of regret under the threshold after a change, over runs; arrays `[agents, changes]`."""
        threshold, width = self.recovery_threshold, self.smoothing
        if not self.changes or math.isnan(threshold):
            return Recovery(*np.full((2, len(self.labels), len(self.changes)), math.nan))
        limits: dict[str, Any] = dict(lengths=self.lengths, threshold=threshold, smooth=width, hold=width)
        times = (recovery_times(each.regret, self.changes, **limits) for each in self.results.values())
        return Recovery(*np.stack([recovery_summary(each) for each in times], axis=1))


Report = Mapping[str, ReportData]  # by the environment's label, in the manifest's order


def longest(report: Report) -> ReportData:
    """The environment that was met for all episodes of the experiment."""
    return max(report.values(), key=lambda data: data.num_episodes)


def warn_of_lost_drift(report: Report) -> None:
    """Warn of every environment that cannot be made anew, of which only curves can be shown."""
    for label, data in report.items():
        if isinstance(data.environment, str) and not data.foreign:
            lost = f"{label} cannot be made anew, so that its drift and recovery from it are not shown"
            warnings.warn(f"{lost} ({data.environment})", stacklevel=3)


def load_report_data(folder: Path) -> dict[str, ReportData]:
    """Read a results folder, or a file as of `load_curves`; any mistake is a `ValueError` that names it."""
    if folder.suffix.lower() in FORMATS and not folder.is_dir():
        return _foreign(folder)
    if not folder.is_dir():
        found = "it is no folder, nor .csv or .parquet" if folder.exists() else "there is no such folder"
        raise ValueError(f"{folder} must be a results folder, but {found}")
    manifest = read_manifest(folder)
    if not _names_all(manifest.get("agents"), manifest.get("environments")):
        raise ValueError(f"{folder / MANIFEST} is damaged: it does not name the agents and the environments")
    table = read_table(folder, manifest, COLUMNS, diagnostics=True)
    results = _read_results(folder / RESULTS, manifest, table)
    findings = read_findings(folder)
    return {label: ReportData(manifest, label, curves, findings) for label, curves in results.items()}


def _foreign(path: Path) -> dict[str, ReportData]:
    """The data of a file of another program, with a manifest that has its name and what it measures."""
    curves = load_curves(path)
    pairs = [(name, label) for name, agents in curves.items() for label in agents]
    measured = next(iter(next(iter(curves.values())).values())).manifest["measured"]
    manifest = {
        "experiment": path.stem,
        "measured": measured,
        "environments": {name: {} for name in curves},
        "agents": [{"environment": name, "label": label, "name": label} for name, label in pairs],
    }
    return {name: ReportData(manifest, name, agents) for name, agents in curves.items()}


def _names_all(agents: Any, environments: Any) -> bool:
    """Whether every environment is described, and every agent was run in each."""
    if not isinstance(agents, list) or not isinstance(environments, dict):
        return False
    if not all(isinstance(each, dict) for each in (*agents, *environments.values())):
        return False
    named = {(each.get("environment"), each.get("label")) for each in agents}
    labels = {label for _, label in named}
    return bool(agents) and None not in labels and named == {*itertools.product(environments, labels)}


def _read_results(path: Path, manifest: Mapping[str, Any], table: pa.Table) -> dict[str, dict[str, Result]]:
    """The curves by environment and agent; `path` is what to blame."""
    for name in COLUMNS:
        if table[name].null_count:
            raise ValueError(f"{path} is damaged: its column {name!r} has holes")
    environments, pairs = list(manifest["environments"]), len(manifest["agents"])
    labels = list(dict.fromkeys(str(agent["label"]) for agent in manifest["agents"]))
    environment, agent = _places(table["environment"], environments), _places(table["agent"], labels)
    pair = np.where((environment < 0) | (agent < 0), -1, environment * len(labels) + agent)
    if not np.array_equal(np.unique(pair), np.arange(pairs)):
        raise ValueError(f"{path} does not belong to its manifest: they do not name the same agents")
    columns = {"agent": agent, **{name: table[name].to_numpy() for name in table.column_names[2:]}}
    return {
        label: curves_of_rows(
            path, {name: each[environment == place] for name, each in columns.items()}, labels
        )
        for place, label in enumerate(environments)
    }


def _places(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """Place of each word of the column among the names; −1 for one that is not there."""
    words = column.combine_chunks().cast(pa.string()).dictionary_encode()
    known = {name: place for place, name in enumerate(names)}
    places = np.array([known.get(word, -1) for word in words.dictionary.to_pylist()], dtype=int)
    return places[words.indices.to_numpy()]

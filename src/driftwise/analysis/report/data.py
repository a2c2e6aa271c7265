"""The data of a report: a results folder in memory, checked."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from driftwise.analysis.agent_numbers import AgentNumbers, extract_numbers
from driftwise.analysis.audit.findings import AuditFinding, read_findings
from driftwise.analysis.formatting import format_count
from driftwise.analysis.regret_curves import RegretCurves, relative_distances
from driftwise.analysis.statistics import (
    RecoverySummary,
    average_ranks,
    holm_adjust,
    recovery_summary,
    recovery_times,
    rounded_difference,
    t_test,
)
from driftwise.environments.environment import ENVIRONMENTS, Environment, build_environment
from driftwise.experiments.outcomes import MARK, choose_best_points
from driftwise.experiments.results_folder import (
    CURVE_COLUMNS,
    CURVE_FORMATS,
    CURVE_MEASURES,
    MANIFEST,
    RESULTS,
    curves_of_rows,
    load_curves,
    read_manifest,
    read_table,
)
from driftwise.simulation.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ReportData:
    """A manifest and the curves of one of its environments.

    Args:
      points: by the labels of the manifest and in its order; all of one shape.
      findings: those of an audit beside the results.
      original: the environment itself, if it is in memory.
      coloured: agents in colour, the same in all environments; by default all.
    """

    def __init__(
        self,
        manifest: Mapping[str, Any],
        environment_label: str,
        points: Mapping[str, Result],
        findings: Sequence[AuditFinding] = (),
        original: Environment | None = None,
        coloured: Collection[str] | None = None,
    ) -> None:
        self.manifest, self.environment_label, self.points = manifest, environment_label, points
        self.findings, self.original, self.coloured = findings, original, coloured
        agents = (agent for agent in manifest["agents"] if agent["environment"] == environment_label)
        # the manifest's entries of all points, also of versions without names, and of the best ones
        self.entries = {str(agent["label"]): {"name": agent["label"], **agent} for agent in agents}
        names = {label: str(self.entries[label]["name"]) for label in points}
        self.selection = choose_best_points(points, names)  # the agents, and the runs that are shown
        best = self.selection.agents.items()
        self.agents = {label: self.entries[agent.best] for label, agent in best}
        self.results = {label: agent.result for label, agent in best}  # of a grid, that of its best point
        self.labels = tuple(self.results)
        finals = [result.cumulative_regret[:, -1] for result in self.results.values()]
        self.scores = np.stack(finals, axis=1)  # [runs, agents] final cumulative regret
        # [agents] by mean regret, from 1, where ties share their places; agents from the lowest rank up
        self.ranks = average_ranks(self.scores.mean(axis=0))
        self.order = np.argsort(self.ranks, kind="stable")
        first = next(iter(points.values()))
        self.num_runs, self.total_runs = len(self.scores), len(first.returns)  # shown; with those held back
        self.lengths, self.episodes = first.lengths, first.episodes
        self.num_episodes = int(self.episodes[-1])
        self.metrics: Sequence[str] = manifest.get("measured", CURVE_MEASURES)  # of the curves
        self.quantity = "regret" if "regret" in self.metrics else "shortfall"  # the word for the curves
        level = (manifest.get("random_regret") or {}).get(environment_label, math.nan)
        self.random_regret = level if level > 0 else math.nan  # mean of an episode with random actions
        self.environment_config: Mapping[str, Any] = manifest["environments"][environment_label]
        config = manifest.get("config") or {}
        full = self.num_episodes >= config.get("episodes", 0) and self.total_runs >= config.get("runs", 0)
        about = config.get("summary") or manifest.get("experiment", "")
        self.description = str((full and config.get("finding")) or about)

    def with_colours(self, coloured: Collection[str]) -> "ReportData":
        """Return the same data with colours for these agents alone."""
        given = self.manifest, self.environment_label, self.points, self.findings, self.original
        return ReportData(*given, coloured)

    @property
    def curves(self) -> RegretCurves:
        """Regret over time, and what it is compared with."""
        others = {label: [*agent.others.values()] for label, agent in self.selection.agents.items()}
        references = self.changes, self.drift, self.random_regret
        return RegretCurves(self.environment_label, self.results, *references, others, self.quantity)

    @property
    def is_external(self) -> bool:
        """Whether another program wrote the curves, so that nothing else is known."""
        return "measured" in self.manifest

    @cached_property
    def numbers(self) -> list[list[AgentNumbers]]:
        """The numbers of the agents, or of their candidates, in the order of `labels`."""
        entries = self.agents.values()
        return [extract_numbers(agent.get("parameters", {}), agent.get("variation")) for agent in entries]

    @property
    def grid_notes(self) -> list[str]:
        """A sentence on how the points of grids were chosen; none where no agent is a grid."""
        grids = {label: agent for label, agent in self.selection.agents.items() if agent.others}
        if not grids:
            return []
        chosen = (f"{label} is {agent.best}, of {len(agent.points):,}" for label, agent in grids.items())
        by = f"{format_count(self.total_runs - self.num_runs, 'run')} held back from all that is shown"
        if self.num_runs == self.total_runs:
            by = "the runs shown, too few to hold one back, which flatters it"
        reading = f"{MARK}: the point of a grid with the lowest final regret, chosen by {by}."
        return [f"{reading} {'; '.join(chosen)}."]

    @property
    def leader(self) -> str:
        """The agent of lowest mean regret; the first of several."""
        return self.labels[self.order[0]]

    @cached_property
    def styles(self) -> dict[str, int | None]:
        """The agents with the numbers of their colours and dashes; agents without one are faint."""
        coloured = [label for label in self.labels if self.coloured is None or label in self.coloured]
        numbers = {label: number for number, label in enumerate(coloured)}
        return {**numbers, **{label: None for label in self.labels if label not in numbers}}

    @cached_property
    def environment(self) -> Environment | str:
        """The environment, rebuilt unless it is in memory, or the reason why it cannot be rebuilt."""
        if self.original is not None:
            return self.original
        if self.is_external:
            return "it is another program's"
        try:
            return build_environment(**self.environment_config)
        except Exception as error:  # a maker of another version may raise anything
            name, plugins = self.environment_config.get("name"), self.manifest.get("plugins", {})
            known = name in ENVIRONMENTS
            why = f"{type(error).__name__}: {error}" if known else f"no environment {name!r} is known here"
            return f"{why}; the run had plugins: --import {' --import '.join(plugins)}" if plugins else why

    @cached_property
    def changes(self) -> tuple[int, ...]:
        """Episodes, from 0, at which the environment jumps; none where it cannot be rebuilt."""
        environment = self.environment
        return () if isinstance(environment, str) else tuple(environment.changes(self.num_episodes))

    @cached_property
    def variation(self) -> float:
        """The environment's variation over all episodes; NaN where it cannot be rebuilt."""
        environment = self.environment
        return math.nan if isinstance(environment, str) else environment.variation(self.num_episodes).total

    @cached_property
    def drift(self) -> np.ndarray | None:
        """Distance of the model from the first at every point, 0 to 1; `None` if constant or unknown."""
        environment = self.environment
        return None if isinstance(environment, str) else relative_distances(environment, self.episodes - 1)

    @property
    def recovery_threshold(self) -> float:
        """A quarter of the regret of random actions: an agent below it has recovered."""
        return 0.25 * self.random_regret

    @property
    def smoothing(self) -> int:
        """Points over which regret is averaged before it is compared with the threshold."""
        return max(1, len(self.lengths) // 100)

    @cached_property
    def recovery(self) -> RecoverySummary:
        """Recovery of regret under the threshold after a change, over runs; arrays `[agents, changes]`."""
        threshold, width = self.recovery_threshold, self.smoothing
        if not self.changes or math.isnan(threshold):
            return RecoverySummary(*np.full((2, len(self.labels), len(self.changes)), math.nan))
        limits: dict[str, Any] = dict(lengths=self.lengths, threshold=threshold, smooth=width, hold=width)
        times = (recovery_times(result.regret, self.changes, **limits) for result in self.results.values())
        return RecoverySummary(*np.stack([recovery_summary(episodes) for episodes in times], axis=1))


class Differences(NamedTuple):
    """Differences of the other agents to the best, from the next one to the worst."""

    scores: tuple[np.ndarray, np.ndarray]  # [runs, agents − 1] of the others, and of the best
    identical: np.ndarray  # equal in every run up to rounding: nothing to test
    p: np.ndarray  # of the t-test; NaN where nothing is tested
    adjusted: np.ndarray  # by Holm's correction for the number of tests


def differences_to_best(data: ReportData) -> Differences:
    """Return tests of differences in final cumulative regret; at least two agents and two runs are needed."""
    first = data.scores[:, data.order[1:]]
    second = np.broadcast_to(data.scores[:, data.order[:1]], first.shape)
    differences = rounded_difference(first, second)
    identical = (differences == 0).all(axis=0)
    p = np.where(identical, math.nan, t_test(differences))
    return Differences((first, second), identical, p, holm_adjust(p))


Report = Mapping[str, ReportData]  # by the environment's label, in the manifest's order


def longest(report: Report) -> ReportData:
    """Return the data of the environment that lasts for all episodes of the experiment."""
    return max(report.values(), key=lambda data: data.num_episodes)


def manifest_text(value: Any) -> str:
    """Return an entry of a manifest as text; it has several values where parts of a run differ."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {manifest_text(entry)}" for name, entry in value.items())
    return " or ".join(map(manifest_text, value)) if isinstance(value, list) else str(value)


def load_report_data(folder: Path) -> dict[str, ReportData]:
    """Read a results folder, or a file as of `load_curves`; any mistake is a `ValueError` that names it."""
    if folder.suffix.lower() in CURVE_FORMATS and not folder.is_dir():
        results = load_curves(folder)
        agents = [{"environment": name, "label": label} for name, rows in results.items() for label in rows]
        measured = next(iter(next(iter(results.values())).values())).manifest["measured"]
        manifest = {"experiment": folder.stem, "measured": measured, "agents": agents}
        manifest["environments"] = {name: {} for name in results}
        return {name: ReportData(manifest, name, by_label) for name, by_label in results.items()}
    if not folder.is_dir():
        state = "it is no folder, nor .csv or .parquet" if folder.exists() else "there is no such folder"
        raise ValueError(f"{folder} must be a results folder, but {state}")
    manifest = read_manifest(folder)
    run = {(agent.get("environment"), agent.get("label")) for agent in manifest.get("agents", ())}
    labels = [*dict.fromkeys(agent.get("label") for agent in manifest.get("agents", ()))]
    if not run or None in labels or run != {*itertools.product(manifest.get("environments", ()), labels)}:
        raise ValueError(f"{folder / MANIFEST} is damaged: it does not name the agents and the environments")
    path, table = folder / RESULTS, read_table(folder, manifest, CURVE_COLUMNS, diagnostics=True)
    for name in CURVE_COLUMNS:
        if table[name].null_count:
            raise ValueError(f"{path} is damaged: its column {name!r} has holes")
    names = {"environment": [*manifest["environments"]], "agent": labels}
    environment, agent = (pd.Index(keys).get_indexer(table[name].to_pandas()) for name, keys in names.items())
    pair = np.where((environment < 0) | (agent < 0), -1, environment * len(labels) + agent)
    if not np.array_equal(np.unique(pair), np.arange(len(manifest["agents"]))):
        raise ValueError(f"{path} does not belong to its manifest: they do not name the same agents")
    columns = {"agent": agent, **{name: table[name].to_numpy() for name in table.column_names[2:]}}
    findings, report = read_findings(folder), {}
    for place, label in enumerate(manifest["environments"]):
        rows = {name: column[environment == place] for name, column in columns.items()}
        report[label] = ReportData(manifest, label, curves_of_rows(path, rows, labels), findings)
    return report


def report_figure(report: Report, *, title: str | None = None, **look: Any) -> "Figure":
    """Return the regret of every agent over time as a figure, with the `look` of `regret_plot`.

    The `title` is the experiment's description by default; without one, `""`, there is no note either.
    """
    from driftwise.analysis.matplotlib_figures import regret_plot

    data = longest(report)
    runs = f"{data.num_runs} runs, mean and 95 % interval (Student's t)" if data.num_runs > 1 else "one run"
    title = data.description if title is None else title
    chosen = f" · {MARK}: the best point of a grid, chosen by other runs" if data.grid_notes else ""
    note = f"{data.manifest.get('experiment', '')} · {runs}{chosen}" if title else ""
    return regret_plot([entry.curves for entry in report.values()], title=title, note=note, **look)

"""A finished study, of `compare`, `driftwise run` or a folder: curves, tables, figures and pages."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftwise.analysis.formatting import format_count
from driftwise.analysis.report.data import Report, ReportData, load_report_data, longest, report_figure
from driftwise.analysis.report.final_table import ON_A_TERMINAL, final_table
from driftwise.analysis.report.writing import FORMATS, warn_of_lost_drift, write_content
from driftwise.analysis.table import Table
from driftwise.base.agent import Agent
from driftwise.base.files import lock_folder, output_folder, replace_file, write_files
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.environments import Environment
from driftwise.experiments import AgentOutcome, Experiment, Study, prepare, results_folder, run_study
from driftwise.experiments.outcomes import ProgressListener, show_progress
from driftwise.experiments.saved_results import CLAIM, manifest_of
from driftwise.simulation.results import Result
from driftwise.simulation.tasks import Device, OnChunk

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIGURE = "regret.png"
RESULT_FILES = (results_folder.RESULTS, FIGURE, results_folder.MANIFEST)  # of a folder


def compare(
    agents: Mapping[str, Agent | Mapping[str, Any] | Callable[[Environment], Agent]],
    environments: Environment | Sequence[Environment] | Mapping[str, Environment | Mapping[str, Any]],
    *,
    num_episodes: int,
    num_runs: int,
    seed: int = 0,
    record_every: int = 1,
    device: Device | None = None,
    progress: bool | ProgressListener = False,
    on_chunk: OnChunk | None = None,
    name: str = "comparison",
    summary: str = "",
) -> FinishedStudy:
    """Run agents in the same environments, with the same random draws in every run.

    Args:
      agents: by their labels: an agent, or a function from an environment to an agent where environments
        differ in their sizes, or a table as in an experiment file, such as
        `{"algorithm": "opt_wlsvi", "tuned": True}`. An agent with a grid in its numbers is one agent, shown
        by its best point.
      environments: one, several, or several by their labels; these may be tables, too.
      progress: True shows a bar for each agent; a function is called as by `run_study`.
      on_chunk: called with the curves of every finished chunk, as by `run_study`.
      name: name of the study, in its folder and on its page.
      summary: one line about it.
    """
    if isinstance(environments, Mapping):
        listed: dict[str, Any] = dict(environments)
    else:
        unlabelled = [environments] if isinstance(environments, Environment) else list(environments)
        labels = [environment.name for environment in unlabelled]
        if len({*labels}) < len(labels):
            raise ArgumentError("environments", "differ in name, or be given by other names", labels)
        listed = dict(zip(labels, unlabelled, strict=True))
    summary = summary or f"{format_count(len(agents), 'agent')} in {', '.join(listed)}"
    sizes: dict[str, Any] = dict(episodes=num_episodes, runs=num_runs, seed=seed, record_every=record_every)
    tables: dict[str, Any] = dict(environments=listed, agents={**agents})
    study = prepare(Experiment(name=name, summary=summary, **tables, **sizes))
    display = nullcontext(progress) if callable(progress) else show_progress(quiet=not progress)
    with display as listener:
        return FinishedStudy.of(study, run_study(study, device=device, progress=listener, on_chunk=on_chunk))


def load_study(folder: str | os.PathLike[str]) -> FinishedStudy:
    """Return the study in a folder of `driftwise run` or `FinishedStudy.save`, or in a file of curves."""
    return FinishedStudy(load_report_data(Path(folder)))


@dataclass(frozen=True, eq=False, repr=False)
class FinishedStudy:
    """Agents in environments, after all their runs. Notebooks display it with table and figure."""

    data: Report  # by the environment's label

    @classmethod
    def of(cls, study: Study, outcomes: Sequence[AgentOutcome]) -> FinishedStudy:
        """Return the study with its outcomes."""
        entries = manifest_of(study, outcomes)
        curves: dict[str, dict[str, Result]] = {label: {} for label in study.environments}
        for outcome in outcomes:
            curves[outcome.environment_label][outcome.label] = outcome.result
        envs = study.environments.items()
        return cls({label: ReportData(entries, label, curves[label], original=env) for label, env in envs})

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The experiment, its environments and agents, versions and times."""
        return longest(self.data).manifest

    @property
    def results(self) -> dict[str, dict[str, Result]]:
        """The result of every agent, and of every point of a grid, by environment and label."""
        results: dict[str, dict[str, Result]] = {label: {} for label in self.data}
        for place, data in self.data.items():
            facts = {"environment": data.environment_config, "changes": list(data.changes)}
            for label, result in data.points.items():  # from a folder they know neither agent nor environment
                config = data.entries[label].get("parameters", {})
                manifest = {"agent": config, **facts, **result.manifest}
                results[place][label] = replace(result, configs=[config], manifest=manifest)
        return results

    def table(self) -> Table:
        """Return final regrets with 95 % intervals, the lowest first; the title says how grids are shown."""
        columns = ("environment",) * (len(self.data) > 1) + ON_A_TERMINAL
        notes = dict.fromkeys(note for data in self.data.values() for note in data.grid_notes)
        return replace(final_table(self.data, columns), title=" ".join(notes))

    def plot(self, **look: Any) -> Figure:
        """Return a figure of regret, a row an environment; `look`: title, width (inches), font, font_size."""
        from driftwise.analysis.matplotlib_figures import show_in_notebook

        warn_of_lost_drift(self.data)
        return show_in_notebook(report_figure(self.data, **look))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each environment, agent, run and point, and a column for each parameter."""
        return results_folder.results_frame(results_folder.results_table(self.results))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a report in the format of the suffix of the path, as `driftwise report` does."""
        path = Path(path)
        suffixes = dict(FORMATS.values())
        chosen = require_choice("the suffix of path", path.suffix.removeprefix("."), list(suffixes))
        warn_of_lost_drift(self.data)
        return write_content(path, suffixes[chosen](self.data))

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the same folder as `driftwise run`; `driftwise report` and `compare` read it.

        A saved study there is replaced; a folder of `driftwise run`, which can be resumed, is refused.
        """
        folder = Path(folder)
        if (folder / CLAIM).exists():
            raise ArgumentError("folder", "not be one that driftwise run writes to", str(folder))
        with output_folder(folder, RESULT_FILES), lock_folder(folder):
            results, manifest = self.write(folder)
            return [results, self.write_figure(folder), manifest]

    def write(self, folder: Path) -> list[Path]:
        """Write results and manifest into an existing folder, without a figure; see `save`."""
        table = results_folder.results_table(self.results)
        return write_files(folder, results_folder.folder_files(table, self.manifest), stale=FIGURE)

    def write_figure(self, folder: Path) -> Path:
        """Write the figure of the results into an existing folder."""
        from driftwise.analysis.matplotlib_figures import figure_bytes

        replace_file(folder / FIGURE, figure_bytes(report_figure(self.data), format="png", dpi=150))
        return folder / FIGURE

    def __repr__(self) -> str:
        data = longest(self.data)
        agents = f"{format_count(len(data.labels), 'agent')} in {', '.join(self.data)}"
        sizes = f"{format_count(data.num_episodes, 'episode')}, {format_count(data.total_runs, 'run')}"
        lowest = f"; lowest final {data.quantity}: {data.leader}" if len(self.data) == 1 else ""
        return f"<study {self.manifest['experiment']}: {agents}: {sizes}{lowest}>"

    def _repr_html_(self) -> str:
        from driftwise.analysis.matplotlib_figures import image_tag

        image = image_tag(report_figure(self.data), "regret over episodes", dpi=70)
        return f"<div>{html.escape(repr(self)[1:-1])}{self.table()._repr_html_()}{image}</div>"

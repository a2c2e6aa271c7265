"""A finished study: agents that met the same environments, with their curves, tables, figures and pages.

`compare` runs one from Python, `driftwise run` from a file, and `load_study` reads either from its folder.
"""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftwise.analysis.figures import figure_bytes, png_bytes, showable
from driftwise.analysis.report.data import Report, ReportData, load_report_data, longest, warn_of_lost_drift
from driftwise.analysis.report.panels.final_table import ON_A_TERMINAL, final_table
from driftwise.analysis.report.writing import FORMATS, report_figure, write_content
from driftwise.analysis.statistics.wording import counted
from driftwise.analysis.table import Table, html_text
from driftwise.base.agent import Agent
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.environments import Environment
from driftwise.experiments import Experiment, Outcome, Study, prepare, run_study
from driftwise.experiments.frames import results_frame
from driftwise.experiments.progress import shown_progress
from driftwise.experiments.running import Listener
from driftwise.experiments.saving import CLAIM, FILES, manifest, write_results
from driftwise.experiments.storage import results_table
from driftwise.simulation.chunks import OnChunk
from driftwise.simulation.files import locked, output_folder
from driftwise.simulation.results import Result
from driftwise.simulation.tasks import Device

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

AnyAgent = Agent | Mapping[str, Any] | Callable[[Environment], Agent]
AnyEnvironment = Environment | Mapping[str, Any]


def compare(
    agents: Mapping[str, AnyAgent],
    environments: Environment | Sequence[Environment] | Mapping[str, AnyEnvironment],
    *,
    num_episodes: int,
    num_runs: int,
    seed: int = 0,
    record_every: int = 1,
    device: Device | None = None,
    progress: bool | Listener = False,
    on_chunk: OnChunk | None = None,
    name: str = "comparison",
    summary: str = "",
) -> FinishedStudy:
    """Let agents meet the same environments, and the same draws in them, run by run.

    Args:
      agents: by what tables and figures call them: an agent, or a function from an environment to an agent
        where the environments differ in their sizes, or a table as in an experiment file, such as
        `{"algorithm": "opt_wlsvi", "tuned": True}`. An agent with a grid in its numbers is one agent, which
        its best point stands for.
      environments: one, several, or several by what to call them; those may be tables, too.
      progress: True shows a bar for each agent; a function is called as by `run_study`.
      on_chunk: called with the curves of every finished chunk, as by `run_study`.
      name: of the study, in its folder and on its page.
      summary: a line about it.
    """
    listed = _by_label(environments)
    known: dict[str, Any] = {
        "name": name,
        "summary": summary or f"{counted(len(agents), 'agent')} in {', '.join(listed)}",
        "seed": seed,
        "record_every": record_every,
        "environments": listed,
        "agents": dict(agents),
    }
    study = prepare(Experiment(episodes=num_episodes, runs=num_runs, **known))
    shown = nullcontext(progress) if callable(progress) else shown_progress(quiet=not progress)
    with shown as listener:
        return FinishedStudy.of(study, run_study(study, device=device, progress=listener, on_chunk=on_chunk))


def _by_label(environments: Any) -> dict[str, AnyEnvironment]:
    if isinstance(environments, Mapping):
        return dict(environments)
    listed = [environments] if isinstance(environments, Environment) else list(environments)
    labels = [each.name for each in listed]
    if len({*labels}) < len(labels):
        raise ArgumentError("environments", "differ in name, or be given by other names", labels)
    return dict(zip(labels, listed, strict=True))


def load_study(folder: str | os.PathLike[str]) -> FinishedStudy:
    """The study in a folder that `driftwise run` or `FinishedStudy.save` wrote, or in a file of curves.

    Such a file is one that `load_curves` reads.
    """
    return FinishedStudy(load_report_data(Path(folder)))


@dataclass(frozen=True, eq=False, repr=False)
class FinishedStudy:
    """Agents in environments, after all their runs. In a notebook it shows itself, with table and figure."""

    data: Report  # by the environment's label

    @classmethod
    def of(cls, study: Study, outcomes: Sequence[Outcome]) -> FinishedStudy:
        """The study with what came out of it."""
        entries = manifest(study, outcomes)
        curves: dict[str, dict[str, Result]] = {label: {} for label in study.environments}
        for each in outcomes:
            curves[each.environment_label][each.label] = each.result
        made = study.environments
        return cls({label: ReportData(entries, label, curves[label], made=made[label]) for label in curves})

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What was run, with what, and how long it took."""
        return longest(self.data).manifest

    @property
    def results(self) -> dict[str, dict[str, Result]]:
        """The result of every agent, and of every point of a grid, by environment and label."""
        return {
            place: {label: _named(data, label, result) for label, result in data.points.items()}
            for place, data in self.data.items()
        }

    def table(self) -> Table:
        """Final regret of every agent with its 95 % interval, from the lowest to the highest.

        Its title says how the best points of grids were chosen.
        """
        columns = ("environment",) * (len(self.data) > 1) + ON_A_TERMINAL
        notes = dict.fromkeys(note for data in self.data.values() for note in data.grid_notes)
        return replace(final_table(self.data, columns), title=" ".join(notes))

    def plot(self, **look: Any) -> Figure:
        """Regret of an episode and cumulative regret of every agent, a row for each environment.

        `look` is that of `report_figure`: `title`, `width` in inches, `font` and `font_size`.
        """
        warn_of_lost_drift(self.data)
        return showable(report_figure(self.data, **look))

    def to_frame(self) -> pd.DataFrame:
        """A row for each environment, agent, run and point, and a column for each parameter of agents."""
        return results_frame(results_table(self._flat()))

    def _flat(self) -> dict[tuple[str, str], Result]:
        return {(place, label): each for place, own in self.results.items() for label, each in own.items()}

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a page about it, or what else the suffix of the path asks for, as `driftwise report` does."""
        path = Path(path)
        suffixes = dict(FORMATS.values())
        chosen = require_choice("the suffix of path", path.suffix.removeprefix("."), list(suffixes))
        warn_of_lost_drift(self.data)
        return write_content(path, suffixes[chosen](self.data))

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the folder that `driftwise run` would write; `driftwise report` and `compare` read it.

        Another saved study there is replaced; a folder of `driftwise run`, which can go on, is refused.
        """
        folder = Path(folder)
        if (folder / CLAIM).exists():
            raise ArgumentError("folder", "not be one that driftwise run writes to", str(folder))
        with output_folder(folder, FILES), locked(folder):
            return self.write(folder)

    def write(self, folder: Path) -> list[Path]:
        """Write results, figure and manifest into a folder that is ready for them; see `save`."""
        return write_results(folder, self.manifest, self._flat(), png_bytes(report_figure(self.data)))

    def __repr__(self) -> str:
        data = longest(self.data)
        agents = counted(len(data.labels), "agent")
        sizes = f"{counted(data.num_episodes, 'episode')}, {counted(data.num_played, 'run')}"
        best = data.labels[data.order[0]]
        lowest = f"lowest final {data.quantity}: {best}" if len(self.data) == 1 else ""
        title = f"<study {self.manifest['experiment']}: {agents} in {', '.join(self.data)}: {sizes}"
        return f"{title}; {lowest}>" if lowest else f"{title}>"

    def _repr_html_(self) -> str:
        picture = base64.b64encode(figure_bytes(report_figure(self.data), format="png", dpi=70)).decode()
        shown = f'<img alt="regret over episodes" src="data:image/png;base64,{picture}">'
        return f"<div>{html.escape(repr(self)[1:-1])}{html_text(self.table())}{shown}</div>"


def _named(data: ReportData, label: str, result: Result) -> Result:
    """A result that knows its agent and its environment, also where it was read from a folder."""
    config = data.entries[label].get("parameters", {})
    facts = {"agent": config, "environment": data.environment_config, "changes": list(data.changes)}
    return replace(result, configs=[config], manifest={**facts, **result.manifest})

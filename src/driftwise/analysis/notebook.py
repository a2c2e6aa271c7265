"""A result as text, as a table, as a figure, as a data frame, and as a cell of a notebook."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure, mean_curve
from driftwise.analysis.formatting import format_count, format_half_width, format_number
from driftwise.analysis.regret_curves import RegretCurves
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.table import Table, TableColumn, cells
from driftwise.base.extras import require_extra
from driftwise.base.part import describe_structure
from driftwise.simulation.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from driftwise.online import Training

_MAX_CURVES = 60  # of a grid, in the figure of a cell
_MAX_ROWS = 12  # of the table in a cell
_SMOOTH = 10  # episodes of a mean in the figure of a training


def result_text(result: Result) -> str:
    """Return a result in one line: agent, environment, sizes, and final regret with its interval."""
    return f"{_agent(result)} in {_environment(result)}: {_sizes(result)}; {_regret(result)}"


def _agent(result: Result) -> str:
    return describe_structure(result.manifest.get("agent", {})) or "an agent"


def _environment(result: Result) -> str:
    return str(result.manifest.get("environment", {}).get("name", "an environment"))


def _sizes(result: Result) -> str:
    parts = [format_count(int(result.lengths.sum()), "episode"), format_count(result.num_runs, "run")]
    if grid := [f"{axis} ({size})" for axis, size in zip(result.axes, result.grid, strict=False)]:
        parts.append(f"grid of {' × '.join(grid)}")
    if chosen := result.manifest.get("chosen"):
        runs = format_count(chosen["runs"], "other run")
        parts.append(f"{format_values(chosen['values'])}, best of {chosen['agents']} agents in {runs}")
    return ", ".join(parts)


def format_values(values: Mapping[str, float]) -> str:
    """Return parameters as text: `rate=0.99, radius=0.3`."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


def _regret(result: Result) -> str:
    means, half_widths = final_regret(result)
    if not result.grid:
        return f"final regret {format_half_width(float(means), float(half_widths))}"
    return f"final regret from {format_number(float(means.min()))} to {format_number(float(means.max()))}"


def final_regret(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean final regret and the half-width of its 95 % interval, `[*grid]`."""
    return mean_interval(np.moveaxis(result.cumulative_regret[..., -1], -1, 0))


def summary_table(result: Result) -> Table:
    """Return final regret and other numbers of every agent of a grid, with its parameters."""
    means, half_widths = (np.ravel(part) for part in final_regret(result))
    best = (means == means.min()) & bool(result.grid)  # one alone is not the best of anything
    reward = np.average(result.returns, axis=-1, weights=result.lengths).mean(axis=-1)
    varied = result.varied.items()
    columns = {TableColumn(name, (name,)): cells("{:g}".format, array.ravel()) for name, array in varied}
    regrets = cells(format_half_width, means, half_widths, best=best)
    columns[TableColumn("final regret", ("final_regret", "half_width"))] = regrets
    columns[TableColumn("reward of an episode", ("reward",))] = cells(format_number, np.ravel(reward))
    for name, counts in result.counts.items():
        columns[TableColumn(name, (name,))] = cells(format_number, np.ravel(counts.mean(axis=-1)))
    title = f"{_agent(result)} in {_environment(result)}: {_sizes(result)}"
    return Table.of("summary", columns, zip(*columns.values(), strict=True), title)


def result_frame(result: Result) -> pd.DataFrame:
    """Return a row for each agent of the grid, run and point, with the columns of a results folder."""
    with require_extra("to_frame", "cli"):
        from driftwise.experiments.results_folder import results_frame, results_table
    agents = {label or _agent(result): point for label, point in _agents(result)}
    return results_frame(results_table({_environment(result): agents}))


def result_figure(result: Result, **look: Any) -> Drawing:
    """Plot regret over time of every agent of a grid, in the style of reports."""
    with require_extra("plot", "cli"):
        from driftwise.analysis.matplotlib_figures import regret_plot, show_in_notebook
    results = {label or "regret": point for label, point in _agents(result)}
    curves = RegretCurves(_environment(result), results, result.manifest.get("changes", ()))
    return show_in_notebook(regret_plot([curves], title=_agent(result), note=_sizes(result), **look))


def training_figure(training: Training, inches: tuple[float, float]) -> Drawing:
    """Plot the returns of episodes, and their mean over the last ten."""
    with require_extra("plot", "cli"):
        from driftwise.analysis.matplotlib_figures import show_in_notebook, small_plot
    returns, num = training.returns, min(_SMOOTH, len(training.returns))
    means = np.convolve(returns, np.full(num, 1 / num), mode="valid")
    episodes = np.arange(1.0, len(returns) + 1)
    curves = [
        Curve("return", returns, None, kind="dots"),
        Curve(f"mean of {num}", means, 0, x=episodes[num - 1 :]),
    ]
    text = f"Returns of {format_count(len(returns), 'episode')}"
    axes = Axis("episode", integer=True), Axis("return")
    figure = Figure("training", curves, *axes, text, x=episodes, legend=True)
    return show_in_notebook(small_plot(figure, inches))


def _agents(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield the agents of a grid by the parameters that differ."""
    if not result.grid:
        yield "", result
        return
    for index in np.ndindex(result.grid):
        values = {name: array[index].item() for name, array in result.varied.items()}
        yield format_values(values) or str(index), result.point(*index)


def result_html(result: Result) -> str:
    """Return words, a small figure if there is matplotlib, and the table of a small grid, as HTML."""
    heading = f"<b>{html.escape(_agent(result))}</b> in {html.escape(_environment(result))}"
    lines = [heading, html.escape(_sizes(result)), html.escape(_regret(result))]
    num_agents = int(np.prod(result.grid))
    table = replace(summary_table(result), title="")._repr_html_() if 1 < num_agents <= _MAX_ROWS else ""
    with contextlib.suppress(ModuleNotFoundError):  # without matplotlib the numbers are there all the same
        from driftwise.analysis.matplotlib_figures import image_tag, small_plot

        points = result.cumulative_regret.reshape(-1, *result.cumulative_regret.shape[-2:])
        lowest = points[int(np.argmin(points[..., -1].mean(axis=-1)))]  # in colour; some others are faint
        curves = [Curve("", mean) for mean in points[:_MAX_CURVES].mean(axis=1)]
        curves.append(mean_curve("", 0, *mean_interval(lowest)))
        axes = Axis("episode"), Axis("cumulative regret", from_zero=not result.signed)
        drawing = small_plot(Figure("regret", curves, *axes, "", x=result.episodes), (4.6, 2.3))
        lines.append(image_tag(drawing, "cumulative regret over episodes", dpi=80))
    return f"<div>{'<br>'.join(lines)}{table}</div>"

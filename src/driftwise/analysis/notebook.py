"""A result as it shows itself: a line of text, a table, a figure, a data frame, and a cell of a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.statistics.wording import counted, rounded, with_half_width
from driftwise.analysis.table import Cell, Column, Table, html_text
from driftwise.base.extras import needed_by
from driftwise.base.parameters import kinds
from driftwise.simulation.results import EVENTS, Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SMALL = (4.6, 2.3)  # inches of the figure in a cell
MAX_CURVES = 60  # of a grid, in it
MAX_ROWS = 12  # of the table in a cell


def result_text(result: Result) -> str:
    """A result in one line: agent, environment, sizes, and final regret with its interval."""
    return f"{_agent(result)} in {_environment(result)}: {_sizes(result)}; {_regret(result)}"


def _agent(result: Result) -> str:
    return kinds(result.manifest.get("agent", {})) or "an agent"


def _environment(result: Result) -> str:
    return str(result.manifest.get("environment", {}).get("name", "an environment"))


def _sizes(result: Result) -> str:
    episodes, runs = int(result.lengths.sum()), counted(result.num_runs, "run")
    grid = [f"{axis} ({size})" for axis, size in zip(result.axes, result.grid, strict=False)]
    found = [f"grid of {' × '.join(grid)}"] if grid else []
    if chosen := result.manifest.get("chosen"):
        where = counted(chosen["runs"], "other run")
        found.append(f"{named(chosen['values'])}, best of {chosen['agents']} agents in {where}")
    return ", ".join([counted(episodes, "episode"), runs, *found])


def named(values: Mapping[str, float]) -> str:
    """Parameters as text: `rate=0.99, radius=0.3`."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


def _regret(result: Result) -> str:
    means, half_widths = final_regret(result)
    if not result.grid:
        return f"final regret {with_half_width(float(means), float(half_widths))}"
    return f"final regret from {rounded(float(means.min()))} to {rounded(float(means.max()))}"


def final_regret(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Mean cumulative regret after the last episode, and the half-width of its 95 % interval, `[*grid]`."""
    return mean_interval(np.moveaxis(result.cumulative_regret[..., -1], -1, 0))


def summary_table(result: Result) -> Table:
    """Final regret and other numbers of every agent of a grid, below its parameters."""
    means, half_widths = (each.reshape(-1) for each in map(np.asarray, final_regret(result)))
    lowest = float(means.min()) if result.grid else None  # one alone is not the best of anything
    regrets = [
        Cell.of(with_half_width, *pair, best=pair[0] == lowest)
        for pair in zip(means.tolist(), half_widths.tolist(), strict=True)
    ]
    reward = np.average(result.returns, axis=-1, weights=result.lengths).mean(axis=-1)
    columns: dict[Column, list[Cell]] = {
        **{Column(name, (name,)): _numbers(each, "{:g}".format) for name, each in result.varied.items()},
        Column("final regret", ("final_regret", "half_width")): regrets,
        Column("reward of an episode", ("reward",)): _numbers(reward),
    }
    for name in EVENTS:
        if name in result.counts:
            columns[Column(name, (name,))] = _numbers(result.counts[name].mean(axis=-1))
    title = f"{_agent(result)} in {_environment(result)}: {_sizes(result)}"
    return Table.of("summary", columns, zip(*columns.values(), strict=True), title)


def _numbers(values: np.ndarray, write: Callable[[float], str] = rounded) -> list[Cell]:
    return [Cell.of(write, value) for value in np.ravel(values).tolist()]


def result_frame(result: Result) -> pd.DataFrame:
    """A row for each agent of the grid, run and point, with the columns of a results folder."""
    with needed_by("to_frame", "cli"):
        from driftwise.experiments.frames import results_frame
        from driftwise.experiments.storage import results_table
    name = _environment(result)
    agents = ((label or _agent(result), each) for label, each in _agents(result))
    return results_frame(results_table({(name, label): each for label, each in agents}))


def result_figure(result: Result, **look: Any) -> Figure:
    """Regret over time of every agent of a grid, in the style of reports."""
    with needed_by("plot", "cli"):
        from driftwise.analysis.figures import Curves, regret_figure, showable
    curves = Curves(
        _environment(result),
        {label or "regret": each for label, each in _agents(result)},
        result.manifest.get("changes", ()),
    )
    return showable(regret_figure([curves], title=_agent(result), note=_sizes(result), **look))


def _agents(result: Result) -> Iterator[tuple[str, Result]]:
    """The agents of a grid by what tells them apart."""
    if not result.grid:
        yield "", result
        return
    for index in np.ndindex(result.grid):
        values = {name: each[index].item() for name, each in result.varied.items()}
        yield named(values) or str(index), result.point(*index)


def result_html(result: Result) -> str:
    """A cell of a notebook: words, a small figure if there is matplotlib, and the table of a small grid."""
    heading = f"<b>{html.escape(_agent(result))}</b> in {html.escape(_environment(result))}"
    words = f"{html.escape(_sizes(result))}<br>{html.escape(_regret(result))}"
    agents = int(np.prod(result.grid))
    table = html_text(replace(summary_table(result), title="")) if 1 < agents <= MAX_ROWS else ""
    try:
        figure = base64.b64encode(_small_png(result)).decode()
    except ModuleNotFoundError:  # without matplotlib the numbers are there all the same
        return f"<div>{heading}<br>{words}{table}</div>"
    shown = f'<img alt="cumulative regret over episodes" src="data:image/png;base64,{figure}">'
    return f"<div>{heading}<br>{words}<br>{shown}{table}</div>"


def _small_png(result: Result) -> bytes:
    """Cumulative regret over episodes: of a grid, the mean of lowest end in colour and some others faint."""
    from matplotlib.figure import Figure

    from driftwise.analysis.figures import COLOURS, figure_bytes

    curves = result.cumulative_regret.reshape(-1, *result.cumulative_regret.shape[-2:])
    lowest = int(np.argmin(curves[..., -1].mean(axis=-1)))
    figure = Figure(figsize=SMALL, layout="constrained")
    axes = figure.subplots()
    axes.plot(result.episodes, curves[:MAX_CURVES].mean(axis=1).T, color="#cccccc", linewidth=0.8)
    mean, half_width = mean_interval(curves[lowest])
    band = mean - half_width, mean + half_width
    axes.fill_between(result.episodes, *band, color=COLOURS[0], alpha=0.18, linewidth=0)
    axes.plot(result.episodes, mean, color=COLOURS[0])
    axes.set(xlabel="episode", ylabel="cumulative regret", ylim=(None if result.signed else 0, None))
    return figure_bytes(figure, format="png", dpi=80)

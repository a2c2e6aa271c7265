"""The table and the page of agents in control problems."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftwise.analysis.figures import Axis, Figure, mean_curve
from driftwise.analysis.formatting import format_count, format_half_width, format_number
from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, words

Results = Mapping[str, Mapping[str, Sequence[Any]]]  # runs of agents, by problems and names
_SMOOTH = 10  # episodes of the mean that figures show
_READING = (
    "Mean return of an episode over the seeds, with 95 % intervals. Figures show means of ten episodes; "
    "vertical lines are jumps. Each agent plays all problems with the same numbers."
)


def control_table(results: Results) -> Table:
    """Return mean returns of the quarters of a run, and the seconds of an episode."""
    rows = []
    for problem, agents in results.items():
        for agent, runs in agents.items():
            returns = np.array([run.returns for run in runs])
            parts = [part.mean(axis=1) for part in np.array_split(returns, 4, axis=1)]
            means = [Cell.of(format_half_width, *map(float, mean_interval(part))) for part in parts]
            seconds = sum(run.seconds for run in runs) / returns.size
            rows.append([problem, agent, *means, Cell.of(format_number, seconds)])
    headings = "first quarter", "second", "third", "last"
    quarters = tuple(TableColumn(heading, (heading, f"{heading}: half-width")) for heading in headings)
    columns = words("problem", "agent") + quarters + numbers("s an episode")
    return Table.of("returns", columns, rows)


def control_page(results: Results, jumps: Mapping[str, Sequence[int]]) -> str:
    """Return the page: the table, and a figure for each problem; `jumps` are episodes, by problems."""
    figures = [_figure(problem, agents, jumps[problem]) for problem, agents in results.items()]
    sections = [Section("Returns", [control_table(results)])]
    sections += [Section(problem, [figure]) for problem, figure in zip(results, figures, strict=True)]
    seeds = max(len(runs) for agents in results.values() for runs in agents.values())
    kicker = f"{format_count(len(results), 'problem')} · {format_count(seeds, 'seed')}"
    names = [*dict.fromkeys(agent for agents in results.values() for agent in agents)]
    legend = {agent: number for number, agent in enumerate(names)}
    article = Article("Control", sections)
    return write_html(Page("control", kicker, "Control problems", _READING, [article], legend))


def _figure(problem: str, agents: Mapping[str, Sequence[Any]], jumps: Sequence[int]) -> Figure:
    curves, num = [], 1
    for number, (agent, runs) in enumerate(agents.items()):
        returns = np.array([run.returns for run in runs])
        num = min(_SMOOTH, returns.shape[1])
        smooth = np.array([np.convolve(row, np.full(num, 1 / num), mode="valid") for row in returns])
        mean, half_width = mean_interval(smooth)
        x = np.arange(num, returns.shape[1] + 1.0)
        curves.append(mean_curve(agent, number, mean, half_width, x=x))
    text = f"Mean return of {', '.join(agents)} in {problem}, by episodes"
    axes = Axis("episode", integer=True), Axis(f"return, mean of {format_count(num, 'episode')}")
    return Figure(problem, curves, *axes, text, marks=[float(jump) for jump in jumps])

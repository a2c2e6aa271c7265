"""Figures of regret over time, by matplotlib."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from driftwise.analysis.statistics import average_ranks, mean_interval
from driftwise.experiments.selection import Selection
from driftwise.simulation.results import Result

# Okabe & Ito's palette, told apart with any kind of colour vision; yellow is left out as too light for lines.
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
LINES = ("-", (0, (2.2, 1.4)))  # alternating, so that of two curves in one place both are seen
MAX_AGENTS = len(COLOURS) * len(LINES)
FEW_CHANGES, ROOM = 12, 0.15  # changes that have lines of full width; the share of the axis that a name takes
INK, FAINT, GREY = "#222222", "#767676", "#b5b5b5"
UNCHOSEN: dict[str, Any] = dict(linewidth=0.8, alpha=0.25, zorder=1)  # points of a grid but for the best
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "pdf.fonttype": 42,  # TrueType, as journals ask for
}
TOP, HEIGHT, GAP, BOTTOM = 1.45, 3.2, 1.35, 0.55  # inches above, of, between and below rows
LABEL = 0.2  # inches between the names of two curves


class Curves(NamedTuple):
    """Results of all agents in an environment: a row of a figure."""

    environment: str
    results: Mapping[str, Result]  # by the agent's label
    changes: Sequence[int] = ()  # the episodes, from 0, at which the environment jumps
    faint: Mapping[str, Sequence[Result]] = {}  # the other points of agents that are grids


def curves_of(environment: str, selection: Selection, changes: Sequence[int]) -> Curves:
    """The agents of an environment by their best points, and the other points of grids."""
    faint = {label: [*shown.others.values()] for label, shown in selection.agents.items()}
    results = {label: shown.result for label, shown in selection.agents.items()}
    return Curves(environment, results, changes, faint)


def regret_figure(rows: Sequence[Curves], *, title: str = "", note: str = "") -> Figure:
    """Per-episode and cumulative regret of every agent: mean over runs, and its 95 % interval.

    A row for each environment; an agent looks the same in all of them. Smoothing does not cross changes. Of
    more agents than colours tell apart, those of lowest average rank have one, and the others are grey. The
    points of a grid that do not stand for their agent are faint.
    """
    ranked, labels = _ranked(rows), list(dict.fromkeys(label for row in rows for label in row.results))
    if len(labels) > MAX_AGENTS:
        coloured = f"in colour the {MAX_AGENTS} of lowest average rank of {len(labels):,} agents"
        note = f"{note} · {coloured}" if note else coloured
    looks = zip(cycle(COLOURS), cycle(LINES), strict=False)
    styles = {label: next(looks) if label in ranked[:MAX_AGENTS] else (GREY, "-") for label in labels}
    tall = max(HEIGHT, LABEL * max((len(row.results) for row in rows), default=0))
    height = TOP + len(rows) * tall + (len(rows) - 1) * GAP + BOTTOM
    with _style():
        figure = Figure(figsize=(11, height))
        pairs = figure.subplots(len(rows), 2, squeeze=False)
        figure.subplots_adjust(left=0.065, right=0.85, top=1 - TOP / height, bottom=BOTTOM / height)
        figure.subplots_adjust(wspace=0.2, hspace=GAP / tall)
        for row, (left, right) in zip(rows, pairs, strict=True):
            _draw_row(row, left, right, styles, gap=LABEL / tall)
        _make_room(figure, pairs[:, 1])
        written: dict[str, Any] = dict(va="center", parse_math=False)
        size = min(14.0, 1250 / max(len(title), 1))  # a long one fits into the width
        figure.text(0.012, 1 - 0.22 / height, title, fontsize=size, fontweight="bold", **written)
        figure.text(0.012, 1 - 0.48 / height, note, fontsize=9.5, color=FAINT, **written)
    return figure


def figure_bytes(figure: Figure, **options: Any) -> bytes:
    """A figure as the content of a file, with the options of `savefig`, in the style of its drawing."""
    file = io.BytesIO()
    with _style():  # some of it is asked for when things are written
        figure.savefig(file, **options)
    return file.getvalue()


def png_bytes(figure: Figure) -> bytes:
    """A figure as PNG."""
    return figure_bytes(figure, format="png", dpi=150)


@contextlib.contextmanager
def _style() -> Iterator[None]:
    """The style above whatever the user's settings are, which come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def moving_average(curves: np.ndarray, width: int) -> np.ndarray:
    """Means over `width` points (one more if even) around each, fewer where the curve begins and ends."""
    size = curves.shape[-1]
    sums = np.concatenate([np.zeros((*curves.shape[:-1], 1)), np.cumsum(curves, axis=-1)], axis=-1)
    low = np.maximum(np.arange(size) - width // 2, 0)
    high = np.minimum(np.arange(size) + width // 2 + 1, size)
    return (sums[..., high] - sums[..., low]) / (high - low)


def _ranked(rows: Sequence[Curves]) -> list[str]:
    """Labels from the lowest to the highest rank within runs, averaged over the runs and rows of an agent."""
    ranks: dict[str, list[float]] = {}
    for row in rows:
        finals = np.stack([result.cumulative_regret[:, -1] for result in row.results.values()], axis=-1)
        for label, rank in zip(row.results, average_ranks(finals).mean(axis=0), strict=True):
            ranks.setdefault(label, []).append(float(rank))
    return sorted(ranks, key=lambda label: float(np.mean(ranks[label])))


def _draw_row(
    row: Curves, left: Axes, right: Axes, styles: Mapping[str, tuple[str, Any]], gap: float
) -> None:
    curves = {}
    for label, result in row.results.items():
        points = np.arange(len(result.episodes))
        for part in np.split(points, np.searchsorted(result.episodes, row.changes, side="right")):
            smoothed = moving_average(result.regret[:, part], width=len(points) // 50)
            _draw(left, result.episodes[part], smoothed, *styles[label])
        curves[label] = _draw(right, result.episodes, result.cumulative_regret, *styles[label])
    for axes, heading in ((left, "Regret of an episode, smoothed"), (right, "Cumulative regret")):
        _finish(axes, heading, row.changes)
    right.autoscale(False)  # a bad point does not press the others together
    for label, others in row.faint.items():
        for other in others:
            mean = other.cumulative_regret.mean(axis=0)
            right.plot(other.episodes, mean, color=styles[label][0], **UNCHOSEN)
    _label_ends(right, curves, gap)
    look = dict(fontsize=11.5, fontweight="bold", parse_math=False)
    _write_above(left, row.environment, 0.012, "figure fraction", 37, **look)


def _draw(axes: Axes, episodes: np.ndarray, curves: np.ndarray, colour: str, line: Any) -> Line2D:
    mean, half_width = mean_interval(curves)
    axes.fill_between(episodes, mean - half_width, mean + half_width, color=colour, alpha=0.18, linewidth=0)
    return axes.plot(episodes, mean, color=colour, linestyle=line)[0]


def _finish(axes: Axes, heading: str, changes: Sequence[int]) -> None:
    axes.set_title(heading, loc="left", fontsize=10.5, color=INK, pad=14)
    axes.set_xlabel("episode")
    axes.margins(x=0)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    axes.set_ylim(bottom=-0.012 * axes.get_ylim()[1])  # a line along zero keeps its width
    axes.tick_params(length=0)
    room = ROOM * axes.get_xlim()[1]
    named = -room
    for place in (change + 0.5 for change in changes):  # after as many episodes, counted from 1
        width = 1 if len(changes) <= FEW_CHANGES else 0.4
        axes.axvline(place, color=FAINT, linewidth=width, linestyle=(0, (4, 3)), zorder=1)
        if place >= named + room:  # those that follow closely have its name
            _write_above(axes, "change", place, "data", 2, ha="center", fontsize=8.5, color=FAINT)
            named = place


def _write_above(axes: Axes, text: str, x: float, unit: str, points: float, **look: Any) -> None:
    """Write a text so many points above the axes."""
    at = dict(xycoords=(unit, "axes fraction"), xytext=(0, points), textcoords="offset points")
    axes.annotate(text, (x, 1), **at, **look)


def _label_ends(axes: Axes, curves: Mapping[str, Line2D], gap: float) -> None:
    """Names to the right of the curves they belong to, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    ends = {
        label: (np.asarray(curve.get_ydata())[-1] - low) / (high - low) for label, curve in curves.items()
    }
    labels = sorted(ends, key=ends.__getitem__)
    places = spread(np.array([ends[label] for label in labels]), gap)
    for label, place in zip(labels, places, strict=True):
        colour = curves[label].get_color()
        look: dict[str, Any] = dict(va="center", fontsize=10, fontweight="bold", parse_math=False)
        arrow = dict(arrowstyle="-", color=colour, linewidth=0.8, relpos=(0, 0.5), shrinkA=1, shrinkB=2)
        at = dict(xytext=(1.035, place), xycoords="axes fraction", textcoords="axes fraction")
        axes.annotate(label, (1, ends[label]), color=colour, arrowprops=arrow, **at, **look)


def _make_room(figure: Figure, named: Iterable[Axes]) -> None:
    """Widen the figure where names would be cut off at its right; what is there keeps its size."""
    width, height = figure.get_size_inches()
    ends = [text.get_window_extent().x1 / figure.dpi for axes in named for text in axes.texts]
    wider = max([width, *(end + 0.1 for end in ends)])
    pars = figure.subplotpars
    left, right = pars.left * width / wider, pars.right * width / wider
    figure.set_size_inches(wider, height)
    figure.subplots_adjust(left=left, right=right)


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Places at least `gap` apart, in the same order and near the given ones (which ascend)."""
    index = np.arange(len(places)) * gap
    up = np.maximum.accumulate(places - index) + index
    down = np.minimum.accumulate((places - index)[::-1])[::-1] + index
    return (up + down) / 2

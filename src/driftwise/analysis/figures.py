"""Figures of regret over time, by matplotlib."""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.leaders import leading, ranked, spans
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.views import View, views
from driftwise.analysis.yardsticks import moved, random_regret
from driftwise.base.extras import needed_by
from driftwise.base.validation import ArgumentError, require_number
from driftwise.environments.environment import Environment
from driftwise.experiments.selection import Selection
from driftwise.simulation.results import Result

with needed_by("a figure", "cli"):
    import matplotlib as mpl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.font_manager import findfont
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator, PercentFormatter

# Okabe & Ito's palette, told apart with any kind of colour vision; yellow is left out as too light for lines.
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
LINES = ("-", (0, (2.2, 1.4)))  # alternating, so that of two curves in one place both are seen
MAX_AGENTS = len(COLOURS) * len(LINES)
RANDOM: dict[str, Any] = dict(color="#767676", linewidth=1, linestyle=(0, (1, 2)))
FEW_CHANGES = 12  # that have lines of full width
INK, FAINT, GREY = "#222222", "#767676", "#c8c8c8"
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
    "svg.hashsalt": "driftwise",  # same figure, same bytes
}
WIDTH, ONE_COLUMN = (
    11.0,
    6.0,
)  # inches: unless told otherwise; and below which panels stand one below the other
FAR = 2.0  # times the highest curve, beyond which the level of random actions is out of sight


class Curves(NamedTuple):
    """Results of all agents in an environment: a row of a figure."""

    environment: str
    results: Mapping[str, Result]  # by the agent's label
    changes: Sequence[int] = ()  # the episodes, from 0, at which the environment jumps
    drift: np.ndarray | None = None  # [points] how far the model is from the first, 0 to 1; None: it stays
    random: float = np.nan  # mean regret of an episode with random actions
    faint: Mapping[str, Sequence[Result]] = {}  # the other points of agents that are grids
    quantity: str = "regret"  # the word for what the curves are


def curves_of(label: str, selection: Selection, environment: Environment | None) -> Curves:
    """The agents of an environment by their best points, the other points of grids, and all that it tells."""
    faint = {name: [*shown.others.values()] for name, shown in selection.agents.items()}
    results = {name: shown.result for name, shown in selection.agents.items()}
    if environment is None:
        return Curves(label, results, faint=faint)
    episodes = next(iter(results.values())).episodes
    count = int(episodes[-1])
    drift, random = moved(environment, episodes - 1), random_regret(environment, count)
    return Curves(label, results, environment.changes(count), drift, random, faint)


def regret_figure(
    rows: Sequence[Curves],
    *,
    title: str = "",
    note: str = "",
    width: float = WIDTH,
    font: str = "DejaVu Sans",
    font_size: float | None = None,
) -> Figure:
    """Per-episode and cumulative regret of every agent: mean over runs, and its 95 % interval.

    A row for each environment; an agent looks the same in all of them. Below each axis is a strip of how far
    the environment has moved; the axis to the right is in shares of the regret of random actions. Curves are
    shaded where that of the agent of lowest final regret is significantly below all others. Smoothing looks
    back alone, and no further than the last change. Of more agents than colours tell apart, those of lowest
    average rank have one, and the others are grey. The points of a
    grid that do not stand for their agent are faint.

    `width` is in inches, and exact; below 6 the panels stand one below the other.
    """
    width = require_number("width", width, at_least=2, at_most=100)
    usual = 10.5 if width > ONE_COLUMN else 8.0
    size = require_number("font_size", usual if font_size is None else font_size, at_least=3, at_most=72)
    labels = list(dict.fromkeys(label for row in rows for label in row.results))
    order = ranked(row.results for row in rows)
    looks = zip(cycle(COLOURS), cycle(LINES), strict=False)
    styles = {label: next(looks) if label in order[:MAX_AGENTS] else (GREY, "-") for label in labels}
    if len(labels) > MAX_AGENTS:
        shown = f"in colour the {MAX_AGENTS} of lowest average rank of {len(labels):,} agents"
        note = f"{note} · {shown}" if note else shown
    across = 2 if width > ONE_COLUMN else 1
    high = float(np.clip(0.3 * width / across * 2, 1.7, 3.2))  # inches of a panel
    with _style(font, size):
        lines = textwrap.wrap(title, int(100 * width / size))
        note = textwrap.fill(note, int(140 * width / size))
        figure = Figure(layout="constrained")
        parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
        for row, part in zip(rows, parts, strict=True):
            _draw_row(row, part, styles, across)
        legend = _legend(figure, styles, width, size)
        rows_of_names = -(-len(legend["handles"]) // legend["ncols"])
        rest = 0.3 + size / 72 * (1.6 * len(lines) + 2.2 + 1.7 * rows_of_names)
        figure.set_size_inches(width, len(rows) * (2 // across) * (high + 0.9) + rest)
        written: dict[str, Any] = dict(x=0.012, ha="left", parse_math=False)
        figure.suptitle("\n".join(lines), fontsize=1.25 * size, fontweight="bold", **written)
        below = figure.legend(loc="outside lower left", frameon=False, title=note, alignment="left", **legend)
        below.get_title().set(fontsize=0.9 * size, color=FAINT, parse_math=False)
        for _ in range(2):  # ticks are chosen by the size of axes, which depends on how wide ticks are
            figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def showable(figure: Figure) -> Figure:
    """The figure, once notebooks can show it."""
    from matplotlib import pyplot

    pyplot.draw_if_interactive()  # loads the back end, by which IPython learns to show figures
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
def _style(font: str = "DejaVu Sans", size: float = 10.5) -> Iterator[None]:
    """The style above whatever the user's settings are, which come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        try:
            findfont(font, fallback_to_default=False)
        except ValueError:
            raise ArgumentError("font", "be a font that is installed here, or serif", font) from None
        mpl.rcParams.update(
            {"font.family": [font, "DejaVu Sans"], "font.size": size, "lines.linewidth": size / 5.25}
        )
        yield


def _legend(
    figure: Figure, styles: Mapping[str, tuple[str, Any]], width: float, size: float
) -> dict[str, Any]:
    """Lines of all agents in colour, one for the others, random actions and shades if they are drawn.

    There are as many columns as the width has room for.
    """
    named = {_shown(label): style for label, style in styles.items() if style[0] != GREY}
    if len(named) < len(styles):
        named[f"{len(styles) - len(named):,} others"] = (GREY, "-")
    handles: list[Artist] = [
        Line2D([], [], color=colour, linestyle=line, label=name) for name, (colour, line) in named.items()
    ]
    if any(axes.child_axes for axes in figure.axes):
        handles.append(Line2D([], [], **RANDOM, label="random actions"))
    if any(axes.patches for axes in figure.axes):
        handles.append(Patch(color=FAINT, alpha=0.2, label="significantly below all others"))
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), int(72 * width / size / (0.62 * longest + 5))))
    return {"handles": handles, "ncols": columns}


def _shown(label: str) -> str:
    """A label as it stands: matplotlib reads mathematics, and hides what begins with an underscore."""
    return ("\u200b" if label.startswith("_") else "") + label.replace("$", r"\$")


def _draw_row(row: Curves, part: SubFigure, styles: Mapping[str, tuple[str, Any]], across: int) -> None:
    part.suptitle(row.environment, x=0.012, ha="left", fontweight="bold", parse_math=False)
    first = next(iter(row.results.values()))
    panels = views(first, row.changes, row.quantity)
    down = len(panels) // across
    grid = part.add_gridspec(2 * down, across, height_ratios=[8, 1] * down)
    for place, view in enumerate(panels):
        top, column = 2 * (place // across), place % across
        lowest = axes = part.add_subplot(grid[top : top + 1 + (row.drift is None), column])
        _draw_curves(axes, view, row, styles)
        if np.isfinite(row.random) and row.random > 0:
            _draw_random(axes, first.episodes, view, row.random)
        if row.drift is not None:
            lowest = part.add_subplot(grid[top + 1, column], sharex=axes)
            _draw_strip(lowest, first.episodes, row.drift)
            axes.tick_params(labelbottom=False)
        lowest.set_xlabel("episode")
        for each in {axes, lowest}:
            for change in row.changes:  # after as many episodes, counted from 1
                thick = 1 if len(row.changes) <= FEW_CHANGES else 0.4
                each.axvline(change + 0.5, color=FAINT, linewidth=thick, linestyle=(0, (4, 3)), zorder=1)


def _draw_curves(axes: Axes, view: View, row: Curves, styles: Mapping[str, tuple[str, Any]]) -> None:
    curves = {label: view.curves(result) for label, result in row.results.items()}
    episodes = next(iter(row.results.values())).episodes
    for label, curve in curves.items():
        mean, half_width = mean_interval(curve)
        for piece in view.pieces:
            x, y, half = episodes[piece], mean[piece], half_width[piece]
            colour, line = styles[label]
            if colour == GREY:
                axes.plot(x, y, color=GREY, linewidth=0.8, zorder=1.5)
                continue
            axes.plot(x, y, color=colour, linestyle=line)
            axes.fill_between(x, y - half, y + half, color=colour, alpha=0.18, linewidth=0)
    axes.autoscale_view()
    axes.autoscale(False)  # a bad point of a grid does not press the others together
    for label, others in row.faint.items():
        for mean in (view.curves(other).mean(axis=0) for other in others):
            for piece in view.pieces:
                axes.plot(episodes[piece], mean[piece], color=styles[label][0], **UNCHOSEN)
    leader = ranked([row.results])[0]
    kept = np.concatenate(view.thinned())
    ahead = leading({label: curve[:, kept] for label, curve in curves.items()}, leader)
    for start, end in spans(ahead):
        first, last = float(episodes[kept[start]]), float(episodes[kept[end]])
        axes.axvspan(first, last, color=styles[leader][0], alpha=0.08, linewidth=0)
    axes.set_title(view.heading, loc="left", fontsize="medium", color=INK)
    axes.set_xlim(0, episodes[-1])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    lowest = min(0.0, *(float(curve.mean(axis=0).min()) for curve in curves.values()))
    axes.set_ylim(bottom=lowest - 0.012 * axes.get_ylim()[1])  # a line along zero keeps its width
    _set_ticks(axes)


def _draw_random(axes: Axes, episodes: np.ndarray, view: View, random: float) -> None:
    """The level of random actions, as far as it is near, and an axis in shares of where it ends."""
    ends = np.array([0, episodes[-1]])
    level = view.random(random, ends)
    low, high = axes.get_ylim()
    axes.plot(ends, level, **RANDOM)
    axes.set_ylim(low, max(high, 1.04 * level.min()) if level.min() <= FAR * high else high)
    unit = level[-1]
    shares = axes.secondary_yaxis("right", functions=(lambda y: y / unit, lambda share: share * unit))
    shares.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    _set_ticks(shares, 0.85)
    shares.set_ylabel("of random actions", fontsize="small", color=FAINT)


def _draw_strip(axes: Axes, episodes: np.ndarray, drift: np.ndarray) -> None:
    axes.fill_between(episodes, 0, drift, step="pre", color=FAINT, alpha=0.45, linewidth=0)
    axes.set_ylim(0, 1.05)
    axes.set_yticks([])
    axes.grid(False)
    _set_ticks(axes)
    axes.set_ylabel("drift", fontsize="small", color=FAINT, rotation=0, ha="right", va="center")


def _set_ticks(axes: Any, scale: float = 1.0) -> None:
    """Ticks in the style of now: those made later would ask for the style of then."""
    size, family = scale * mpl.rcParams["font.size"], mpl.rcParams["font.family"]
    axes.tick_params(length=0, labelsize=size, labelfontfamily=family)

"""Figures by matplotlib: for papers, for notebooks, and for pages without scripts."""

import base64
import contextlib
import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from driftwise.analysis.figures import COLOURS, Figure, curve_style
from driftwise.analysis.regret_curves import RegretCurves, rank_agents, regret_figures
from driftwise.base.extras import require_extra
from driftwise.base.validation import ArgumentError, require_number

with require_extra("a figure", "cli"):
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import SubFigure
    from matplotlib.font_manager import findfont
    from matplotlib.gridspec import GridSpec
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FixedLocator, MaxNLocator, PercentFormatter

_LINES = ("-", (0, (2.2, 1.4)), (0, (1, 1)), (0, (3, 1, 1, 1)))  # by the number of a curve's dashes
_MAX_AGENTS = 2 * len(COLOURS)  # told apart in print
_INK, _FAINT, _GREY = "#222222", "#767676", "#c8c8c8"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 10.5,
    **dict.fromkeys(("text.color", "axes.labelcolor"), _INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), "#555555"),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    "axes.grid.axis": "y",
    "axes.edgecolor": "#999999",
    "grid.color": "#e6e6e6",
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "pdf.fonttype": 42,  # TrueType, as journals ask for
    "svg.hashsalt": "driftwise",  # same figure, same bytes
}
# These and the colours of curves stand for variables of a page, which differ between light and dark.
_PAGE_INK, _PAGE_SOFT, _PAGE_LINE = "#111213", "#141516", "#171819"
_PAGE_COLOURS = {_PAGE_INK: "--ink", _PAGE_SOFT: "--soft", _PAGE_LINE: "--line"}
_PAGE_COLOURS |= {colour: f"--c-{number}" for number, colour in enumerate(COLOURS)}
_PAGE_STYLE: dict[Any, Any] = {
    **STYLE,
    "font.size": 10,
    "svg.fonttype": "none",  # words stay words
    "lines.linewidth": 1.6,
    "text.color": _PAGE_INK,
    **dict.fromkeys(("axes.labelcolor", "xtick.color", "ytick.color"), _PAGE_SOFT),
    **dict.fromkeys(("axes.edgecolor", "grid.color"), _PAGE_LINE),
}
_ONE_COLUMN = 6.0  # inches, below which panels stand one below the other
_REFERENCE: dict[str, Any] = dict(color=_FAINT, linewidth=1, linestyle=(0, (1, 2)))


def regret_plot(
    rows: Sequence[RegretCurves],
    *,
    title: str = "",
    note: str = "",
    width: float = 11.0,
    font: str = "DejaVu Sans",
    font_size: float | None = None,
) -> Drawing:
    """Plot per-episode and cumulative regret of every agent: mean over runs, and its 95 % interval.

    A row for each environment; an agent looks the same in all of them. Below each axis is a strip of how far
    the environment has moved; the axis to the right is in shares of the regret of random actions. Curves are
    shaded where that of the agent of lowest final regret is significantly below all others. Of more agents
    than colours tell apart, those of lowest average rank have one, and the others are grey. `width` is in
    inches, and exact; below 6 the panels stand one below the other.
    """
    width = require_number("width", width, at_least=2, at_most=100)
    usual = 10.5 if width > _ONE_COLUMN else 8.0
    size = require_number("font_size", usual if font_size is None else font_size, at_least=3, at_most=72)
    labels = list(dict.fromkeys(label for row in rows for label in row.results))
    best = rank_agents(row.results for row in rows)[:_MAX_AGENTS]
    coloured = [label for label in labels if label in best]
    numbers = dict.fromkeys(labels) | {label: number for number, label in enumerate(coloured)}
    if len(labels) > _MAX_AGENTS:
        shown = f"in colour the {_MAX_AGENTS} of lowest average rank of {len(labels):,} agents"
        note = f"{note} · {shown}" if note else shown
    across = 2 if width > _ONE_COLUMN else 1
    high = float(np.clip(0.3 * width / across * 2, 1.7, 3.2))  # inches of a panel
    heading: dict[str, Any] = dict(x=0.012, ha="left", fontweight="bold", parse_math=False)
    with _style(font, size):
        lines = textwrap.wrap(title, int(100 * width / size))
        drawing = Drawing(layout="constrained")
        parts = drawing.subfigures(len(rows), 1, squeeze=False)[:, 0]
        for row, part in zip(rows, parts, strict=True):
            part.suptitle(row.environment, **heading)
            figures = regret_figures(row, numbers)
            grid = part.add_gridspec(4 // across, across, height_ratios=[8, 1] * (2 // across))
            for place, figure in enumerate(figures):
                _draw_above_strip(part, grid, 2 * (place // across), place % across, figure)
        legend = _legend(drawing, numbers, width, size)
        rows_of_names = -(-len(legend["handles"]) // legend["ncols"])
        rest = 0.3 + size / 72 * (1.6 * len(lines) + 2.2 + 1.7 * rows_of_names)
        drawing.set_size_inches(width, len(rows) * (2 // across) * (high + 0.9) + rest)
        drawing.suptitle("\n".join(lines), fontsize=1.25 * size, **heading)
        legend |= dict(title=textwrap.fill(note, int(140 * width / size)), alignment="left", frameon=False)
        below = drawing.legend(loc="outside lower left", **legend)
        below.get_title().set(fontsize=0.9 * size, color=_FAINT, parse_math=False)
        for _ in range(2):  # ticks are chosen by the size of axes, which depends on how wide ticks are
            drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
    return drawing


def small_plot(figure: Figure, inches: tuple[float, float]) -> Drawing:
    """Plot one figure without its caption."""
    with _style():
        drawing = Drawing(figsize=inches, layout="constrained")
        _draw_curves(drawing.subplots(), figure)
    return drawing


def page_svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element of a page, in its font and colours: light, dark and printed."""
    file = io.StringIO()
    with mpl.rc_context({**_PAGE_STYLE, "svg.hashsalt": figure.name}):  # one salt each: ids differ on a page
        drawing = Drawing(figsize=(5.4, 3.3), layout="constrained")
        _draw_curves(drawing.add_subplot(), figure)
        if figure.legend:
            widest = 7 + max(len(curve.name) for curve in figure.curves)  # with a sample of the curve
            drawing.legend(loc="outside upper left", ncols=max(1, 66 // widest), frameon=False)
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    dropped = r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style[^>]*>.*?</style>"
    svg = re.sub(dropped, "", file.getvalue(), flags=re.S)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)
    for colour, variable in _PAGE_COLOURS.items():
        svg = re.sub(colour, f"var({variable})", svg, flags=re.I)
    return Markup(svg)


def show_in_notebook(drawing: Drawing) -> Drawing:
    """Return the figure, once notebooks can show it."""
    from matplotlib import pyplot

    pyplot.draw_if_interactive()  # loads the back end, by which IPython learns to show figures
    return drawing


def figure_bytes(drawing: Drawing, **options: Any) -> bytes:
    """Return a figure as the content of a file, with the options of `savefig`."""
    file = io.BytesIO()
    with _style():  # some of it is asked for when things are written
        drawing.savefig(file, **options)
    content = file.getvalue()
    # ids of clips are hashes of places, whose last bits depend on the order in which a layout is solved
    for number, clip in enumerate(re.findall(rb'<clipPath id="(\w+)"', content)):
        content = content.replace(clip, b"clip-%d" % number)
    return content


def png_bytes(drawing: Drawing) -> bytes:
    """Return a figure as PNG."""
    return figure_bytes(drawing, format="png", dpi=150)


def image_tag(drawing: Drawing, text: str, dpi: int) -> str:
    """Return a figure as an HTML element, with a text for readers who do not see it."""
    picture = base64.b64encode(figure_bytes(drawing, format="png", dpi=dpi)).decode()
    return f'<img alt="{text}" src="data:image/png;base64,{picture}">'


@contextlib.contextmanager
def _style(font: str = "DejaVu Sans", size: float = 10.5) -> Iterator[None]:
    """Apply `STYLE` whatever the user's settings are, which come back afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        try:
            findfont(font, fallback_to_default=False)
        except ValueError:
            raise ArgumentError("font", "be a font that is installed here, or serif", font) from None
        mpl.rc("font", family=[font, "DejaVu Sans"], size=size)
        mpl.rc("lines", linewidth=size / 5.25)
        yield


def _draw_above_strip(part: SubFigure, grid: GridSpec, top: int, column: int, figure: Figure) -> None:
    """Draw a figure above the strip of its drift, if there is one."""
    axes = part.add_subplot(grid[top : top + 1 + (figure.strip is None), column])
    _draw_curves(axes, figure)
    axes.set_title(figure.caption, loc="left", fontsize="medium", color=_INK)
    if figure.strip is not None:
        below = part.add_subplot(grid[top + 1, column], sharex=axes)
        x, drift = figure.strip
        below.fill_between(x, 0, drift, step="pre", color=_FAINT, alpha=0.45, linewidth=0)
        below.set(ylim=(0, 1.05), yticks=[], xlabel=figure.x_axis.label)
        below.grid(False)
        _set_ticks(below)
        below.set_ylabel("drift", fontsize="small", color=_FAINT, rotation=0, ha="right", va="center")
        _draw_marks(below, figure.marks)
        axes.tick_params(labelbottom=False)
        axes.set_xlabel("")


def _draw_curves(axes: Axes, figure: Figure) -> None:
    order = {"background": 2, "reference": 1}  # the range of the axis follows the others
    for curve in sorted(figure.curves, key=lambda curve: order.get(curve.kind, 0)):
        if curve.kind == "background":
            axes.autoscale_view()
            axes.autoscale(False)
        x = curve.x if curve.x is not None else figure.x
        assert x is not None, "a curve needs x, or its figure"
        colour = _colour(curve.number)
        look: dict[str, Any] = {"color": colour, "linewidth": 0.8, "zorder": 1.5}
        if curve.kind == "reference":
            look = _REFERENCE
        elif curve.kind == "background":
            look |= {"alpha": 0.25, "zorder": 1}
        elif curve.number is not None:
            look = _describe_line(curve.name, curve.number)
        steps = "steps-post" if curve.kind == "steps" else None
        axes.plot(x, curve.y, marker="o" * (curve.kind in ("marked", "dots")), drawstyle=steps, **look)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    for shade in figure.shades:
        axes.axvspan(shade.start, shade.stop, color=_colour(shade.number), alpha=0.08, linewidth=0)
    _draw_marks(axes, figure.marks)
    for name, drawn, axis in (("x", axes.xaxis, figure.x_axis), ("y", axes.yaxis, figure.y_axis)):
        settings = {"label": axis.label, "scale": "log" if axis.log else None, "lim": axis.limits}
        axes.set(**{f"{name}{key}": value for key, value in settings.items() if value is not None})
        if axis.ticks is not None:
            drawn.set_major_locator(FixedLocator([*axis.ticks]))
            drawn.set_ticklabels([*axis.ticks.values()])
        elif axis.integer:
            drawn.set_major_formatter("{x:,.0f}")
            drawn.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if figure.y_axis.from_zero:  # a line along zero keeps its width
        axes.set_ylim(bottom=figure.extent[0] - 0.012 * axes.get_ylim()[1])
    _set_ticks(axes)
    if np.isfinite(unit := figure.unit):  # an axis to the right, in shares of the unit
        scales = (lambda y: np.divide(y, unit), lambda share: np.multiply(share, unit))
        shares = axes.secondary_yaxis("right", functions=scales)
        shares.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        _set_ticks(shares, 0.85)
        shares.set_ylabel(figure.unit_label, fontsize="small", color=_FAINT)


def _colour(number: int | None) -> str:
    return _GREY if number is None else COLOURS[curve_style(number)[0]]


def _draw_marks(axes: Axes, marks: Sequence[float]) -> None:
    thick = 1 if len(marks) <= 12 else 0.4
    for mark in marks:
        axes.axvline(mark, color=_FAINT, linewidth=thick, linestyle=(0, (4, 3)), zorder=1)


def _set_ticks(axes: Any, scale: float = 1.0) -> None:
    """Fix the ticks' style now: ticks made later would ask for the style of then."""
    size, family = scale * mpl.rcParams["font.size"], mpl.rcParams["font.family"]
    axes.tick_params(length=0, labelsize=size, labelfontfamily=family)


def _legend(drawing: Drawing, numbers: Mapping[str, int | None], width: float, size: float) -> dict[str, Any]:
    """Return lines of the agents in colour, of the others, random actions and shades, and how many fit."""
    coloured = ((label, number) for label, number in numbers.items() if number is not None)
    handles: list[Artist] = [Line2D([], [], **_describe_line(*agent)) for agent in coloured]
    if grey := sum(number is None for number in numbers.values()):
        handles.append(Line2D([], [], color=_GREY, label=f"{grey:,} others"))
    if any(axes.child_axes for axes in drawing.axes):
        handles.append(Line2D([], [], **_REFERENCE, label="random actions"))
    if any(axes.patches for axes in drawing.axes):
        handles.append(Patch(color=_FAINT, alpha=0.2, label="significantly below all others"))
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), int(72 * width / size / (0.62 * longest + 5))))
    return {"handles": handles, "ncols": columns}


def _describe_line(name: str, number: int) -> dict[str, Any]:
    """Return colour, dashes and label: the name as it stands, no mathematics and not hidden by `_`."""
    label = ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")
    return {"color": _colour(number), "linestyle": _LINES[curve_style(number)[1]], "label": label}

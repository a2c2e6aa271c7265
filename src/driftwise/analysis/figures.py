"""Figures as data, without a plotting library; `figures.js` of pages or `matplotlib_figures` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

# Okabe & Ito's palette, told apart with any kind of colour vision; yellow is left out as too light for lines.
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
MANY_ROWS = 12  # of a heat map, beyond which a figure is higher than others

# line: with its band; marked: with a dot at every point; dots: these alone; steps: the value holds until the
# next point; stacked: on top of the curve before; reference: thin and dotted; background: thin and faint,
# and of no weight for the range of an axis.
CurveKind = Literal["line", "marked", "dots", "steps", "stacked", "reference", "background"]


@dataclass(frozen=True)
class Axis:
    """A direction of a figure."""

    label: str = ""
    log: bool = False
    from_zero: bool = False  # or from the lowest curve, if that goes below
    limits: tuple[float, float] | None = None
    ticks: Mapping[float, str] | None = None  # texts by their places
    integer: bool = False  # counts, which have no fractions


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and the band around it; NaN is a gap."""

    name: str
    y: np.ndarray
    number: int | None = None  # of its colour and dashes; grey without one
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    x: np.ndarray | None = None  # that of the figure unless given
    kind: CurveKind = "line"
    agent: str = ""  # whose button hides the curve
    end: str = ""  # written at its last point
    hover: Sequence[str] = ()  # what is said of each point; its value unless given


@dataclass(frozen=True)
class Shade:
    """A stretch of the x axis in the colour of a curve."""

    start: float
    stop: float
    number: int | None


@dataclass(frozen=True, eq=False)
class Figure:
    """Curves over axes; `text` says what they show to readers who do not see them."""

    name: str  # tells the figures of a page apart
    curves: Sequence[Curve]
    x_axis: Axis
    y_axis: Axis
    text: str
    caption: str = ""
    x: np.ndarray | None = None
    marks: Sequence[float] = ()  # vertical lines
    shades: Sequence[Shade] = ()
    strip: tuple[np.ndarray, np.ndarray] | None = None  # x, and how far the model moved: an area below
    unit: float = np.nan  # of a second axis, to the right
    unit_label: str = ""
    legend: bool = False
    rows: int = 0  # number of entries; many make the figure taller

    @property
    def extent(self) -> tuple[float, float]:
        """The lowest value, or zero if that is lower, and the highest of the curves that shape the axis."""
        shaping = [curve.y for curve in self.curves if curve.kind not in ("background", "reference")]
        values = np.concatenate([[0.0], *shaping])
        return float(np.nanmin(values)), float(np.nanmax(values))


@dataclass(frozen=True, eq=False)
class Bars:
    """Horizontal bars of shares, one below the other."""

    name: str
    labels: Sequence[str]
    shares: Sequence[float]
    x_label: str
    text: str
    caption: str = ""
    agent: str = ""  # whose button hides them
    rows: int = 0


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Values over the names of rows and columns; a value without a colour is NaN."""

    name: str
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    values: np.ndarray  # [rows, columns]
    texts: Sequence[Sequence[str]]  # what is said of each value
    text: str
    caption: str = ""
    x_label: str = ""
    y_label: str = ""
    value_label: str = ""
    scale: str = ""  # beside the colours
    downwards: bool = False  # the first row on top
    texts_shown: bool = False  # in the cells
    rows: int = 0


AnyFigure = Figure | Bars | HeatMap


def curve_style(number: int) -> tuple[int, int]:
    """Return the places of a curve's colour and dashes; neighbours differ in both."""
    block = 2 * len(COLOURS)
    return number % len(COLOURS), number % 2 + 2 * (number // block % 2)


def mean_curve(
    name: str, number: int | None, mean: np.ndarray, half_width: np.ndarray | None = None, **more: Any
) -> Curve:
    """Return the curve of an agent, whose button hides it, with its interval as the band."""
    low, high = (None, None) if half_width is None else (mean - half_width, mean + half_width)
    return Curve(name, mean, number, low, high, **{"agent": name, **more})


def distinct_texts(values: Sequence[Any]) -> list[str]:
    """Return values as texts, short where that tells them apart."""
    short = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return short if len({*short}) == len({*map(str, values)}) else [str(value) for value in values]

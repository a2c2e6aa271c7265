"""Figures that are drawn before a page is read: SVG by matplotlib, in the colours of the page.

A page with these alone needs no plotly.js, whose five megabytes are many times the rest of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.analysis.figures import COLOURS, LINES
from driftwise.base.extras import needed_by

with needed_by("a figure", "cli"):
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

INK, SOFT, LINE = "#111213", "#141516", "#171819"  # stand for colours of the page
OF_THE_PAGE = {
    INK: "--ink",
    SOFT: "--soft",
    LINE: "--line",
    **{colour.lower(): f"--c-{number}" for number, colour in enumerate(COLOURS)},
}
SIZE = 5.4, 3.3  # inches
LINE_OF_WORDS, HANDLE = 66, 7  # letters across a figure, and as many as a sample of a curve takes
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",  # widths are those of it, whatever font the reader has
    "svg.fonttype": "none",  # words stay words
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": LINE,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
}


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve, and the area between two others; NaN is a gap."""

    name: str
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Drawing:
    """Curves over the same `x`; `text` says what they show to those who do not see it."""

    name: str
    x: np.ndarray
    curves: Sequence[Curve]
    x_label: str
    y_label: str
    caption: str
    text: str

    @property
    def svg(self) -> Markup:
        """The drawing as a part of a page."""
        file = io.StringIO()
        with mpl.rc_context({**STYLE, "svg.hashsalt": self.name}):  # one salt each: ids differ on a page
            figure = Figure(figsize=SIZE, layout="constrained")
            axes = figure.add_subplot()
            for number, curve in enumerate(self.curves):
                colour, dash = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
                axes.plot(self.x, curve.y, color=colour, linestyle=dash, label=curve.name)
                axes.fill_between(self.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
            axes.set(xlabel=self.x_label, ylabel=self.y_label)
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            widest = max(len(curve.name) for curve in self.curves)
            figure.legend(loc="outside upper left", ncols=max(1, LINE_OF_WORDS // (widest + HANDLE)))
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        return Markup(_for_a_page(file.getvalue()))


def _for_a_page(svg: str) -> str:
    """The element alone, in the page's font and colours, which change with light and dark."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)
    return re.sub(
        "|".join(OF_THE_PAGE), lambda found: f"var({OF_THE_PAGE[found[0]]})", svg, flags=re.IGNORECASE
    )

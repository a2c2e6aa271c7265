"""What panels are made of: escaped text, tables, numbers, figures for plotly.js and the legend they share."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from driftwise.analysis.figures import COLOURS
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics.wording import counted, probability, shown, with_half_width, with_interval

__all__ = [
    "MANY",
    "MAX_POINTS",
    "Cell",
    "Section",
    "axis",
    "bootstrap_caution",
    "change_marks",
    "counted",
    "figure",
    "legend",
    "line",
    "packed",
    "paragraph",
    "plotly_text",
    "probability",
    "shown",
    "sortable_table",
    "thinned",
    "told_apart",
    "with_half_width",
    "with_interval",
    "worded",
]

MAX_POINTS = 400  # of a curve: about as many as a screen shows
MAX_ROWS = 30  # of a table that shows them all; `page.css` says how many of a longer one are seen at first
FEW_RUNS = 10  # fewer of them are too few to resample
MANY = 12  # rows or columns of a heat map, beyond which they are narrow
DASHES = ("solid", "dash", "dot", "dashdot")
STROKES = ("", "7 4", "2 3", "8 3 2 3")  # the same in the legend


@dataclass(frozen=True)
class Section:
    """A panel's part of the page; `body` is HTML."""

    title: str
    body: str


@dataclass(frozen=True)
class Cell:
    """What a table shows, and the number that its column is sorted by; words are sorted as they stand."""

    text: str
    key: float | None = None
    best: bool = False  # stands out

    @property
    def html(self) -> str:
        if self.key is None:
            return f"<td>{escape(self.text, quote=False)}</td>"
        # NaN has no order: it goes where the largest numbers are.
        key = f"{self.key:.10g}" if math.isfinite(self.key) else "-Infinity" if self.key < 0 else "Infinity"
        css = "number best" if self.best else "number"
        return f'<td class="{css}" data-key="{key}">{escape(self.text, quote=False)}</td>'


def paragraph(text: str, css: str = "note") -> str:
    return f'<p class="{css}">{escape(text)}</p>'


def worded(value: Any) -> str:
    """A fact of a manifest, or several of them where parts of a run were computed differently."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {worded(each)}" for name, each in value.items())
    return " or ".join(map(worded, value)) if isinstance(value, list) else str(value)


def bootstrap_caution(data: ReportData) -> str:
    """What to say after a word on bootstrap intervals."""
    few = 1 < data.num_runs < FEW_RUNS
    return (
        f" With {data.num_runs} runs, which are few to resample, such intervals are too narrow."
        if few
        else ""
    )


def sortable_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, name: str) -> str:
    """A table whose headings are buttons that sort; of a long one, the first rows are shown until asked."""
    rows = list(rows)
    kinds = ["word" if cell.key is None else "number" for cell in rows[0]]
    head = "".join(
        f'<th class="{kind}" data-kind="{kind}"><button type="button">{escape(heading)}</button></th>'
        for heading, kind in zip(headings, kinds, strict=True)
    )
    body = "\n".join(f"<tr>{''.join(cell.html for cell in row)}</tr>" for row in rows)
    long = len(rows) > MAX_ROWS
    more = f'<button type="button" class="more">Show all {len(rows):,} rows</button>' if long else ""
    return (
        f'<div class="scroll"><table class="sortable{" long" if long else ""}" data-name="{escape(name)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


def figure(
    name: str,
    traces: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    *,
    text: str,
    caption: str = "",
    x: np.ndarray | None = None,
    rows: int = 0,
) -> str:
    """A figure; `text` says what it shows to those who do not see it.

    Traces without an `x` of their own share the given one; many `rows` of a heat map make it higher.
    """
    # No "<" in it, so that no label ends the script.
    content = {"data": list(traces), "layout": layout, "x": None if x is None else packed(x)}
    script = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    heading = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    height = f' style="height:{90 + 20 * rows}px"' if rows > MANY else ""
    return (
        f'<figure>{heading}<div class="figure" data-name="{escape(name)}" role="img"'
        f' aria-label="{escape(text)}"{height}>'
        f'<script type="application/json">{script}</script></div></figure>'
    )


def legend(data: ReportData) -> str:
    """A button for each agent drawn, which hides and shows it in all figures of the page."""
    chips = []
    for index, label in enumerate(data.drawn):
        colour, dash = curve_style(index)
        line = (
            '<svg width="22" height="8" aria-hidden="true"><line x1="1" y1="4" x2="21" y2="4"'
            f' stroke-width="2.5" stroke="var(--c{colour})" stroke-dasharray="{STROKES[dash]}"/></svg>'
        )
        chips.append(
            f'<button type="button" class="chip" data-agent="{escape(label)}" aria-pressed="true">'
            f"{line}{escape(label)}</button>"
        )
    hidden = len(data.labels) - len(data.drawn)
    note = (
        paragraph(f"Figures show the {len(data.drawn)} agents of lowest regret; the final table has all.")
        if hidden
        else ""
    )
    return f'<div class="legend" role="group" aria-label="Agents shown">{"".join(chips)}</div>{note}'


def curve_style(index: int) -> tuple[int, int]:
    """Numbers of the colour and of the dashes; neighbours differ in both, as in `figures`."""
    block = 2 * len(COLOURS)
    return index % len(COLOURS), index % 2 + 2 * (index // block % 2)


def line(
    index: int, name: str, y: np.ndarray, half_width: np.ndarray | None = None, **more: Any
) -> dict[str, Any]:
    """A curve of the agent with this number, and the band around it that the page makes of its half-width.

    The page also gives it its colour in light and in dark.
    """
    colour, dash = curve_style(index)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plotly_text(name),
        "y": packed(y),
        **({} if half_width is None else {"half_width": packed(half_width)}),
        "line": {"width": 2, "dash": DASHES[dash]},
        "hovertemplate": "%{y:.4~r}",
        "meta": {"agent": name, "colour": colour},
        **more,
    }


def change_marks(data: ReportData) -> list[dict[str, Any]]:
    """A vertical line at each change; the page colours it."""
    return [
        {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "layer": "below"}
        for at in (change + 0.5 for change in data.changes)  # after as many episodes, counted from 1
    ]


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, **more}


def packed(values: np.ndarray) -> dict[str, str]:
    """Numbers as plotly.js reads them fastest and smallest; NaN is a gap."""
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(content).decode()}


def plotly_text(text: str) -> str:
    """Text that plotly.js, which reads some HTML, shows as it stands."""
    return escape(text, quote=False)


def told_apart(values: Sequence[Any]) -> list[str]:
    """Values as words, short where that tells them apart."""
    short = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return short if len({*short}) == len({*map(str, values)}) else [str(value) for value in values]


def thinned(size: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most `limit` places from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, max(limit, 2))).round().astype(int))

"""What panels are made of: escaped text, tables, figures for plotly.js and the legend they share."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from driftwise.figures import COLOURS
from driftwise.report.data import ReportData

MAX_POINTS = 500  # of a curve: more than a screen shows
DASHES = ("solid", "dash", "dot", "dashdot")
STROKES = ("", "7 4", "2 3", "8 3 2 3")  # the same in the legend


@dataclass(frozen=True)
class Section:
    """A panel's part of the page; `body` is HTML."""

    title: str
    body: str


@dataclass(frozen=True)
class Cell:
    """What a table shows, and the number or word that its column is sorted by."""

    text: str
    key: float | str

    @property
    def html(self) -> str:
        numeric = not isinstance(self.key, str)
        # NaN has no order: it goes where the largest numbers are.
        key = str(self.key) if not isinstance(self.key, float) or not math.isnan(self.key) else "Infinity"
        key = "Infinity" if key == "inf" else "-Infinity" if key == "-inf" else key
        css = ' class="number"' if numeric else ""
        return f'<td{css} data-key="{escape(key)}">{escape(self.text)}</td>'


def paragraph(text: str, css: str = "note") -> str:
    return f'<p class="{css}">{escape(text)}</p>'


def sortable_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, name: str) -> str:
    """A table whose headings are buttons that sort."""
    rows = list(rows)
    kinds = ["word" if rows and isinstance(cell.key, str) else "number" for cell in (rows[0] if rows else ())]
    head = "".join(
        f'<th class="{kind}" data-kind="{kind}"><button type="button">{escape(heading)}</button></th>'
        for heading, kind in zip(headings, kinds, strict=True)
    )
    body = "\n".join(f"<tr>{''.join(cell.html for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{escape(name)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(name: str, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], *, text: str) -> str:
    """A figure; `text` says what it shows to those who do not see it."""
    # No "<" in it, so that no label ends the script.
    content = json.dumps({"data": list(traces), "layout": layout}, ensure_ascii=False, allow_nan=False)
    content = content.replace("<", "\\u003c")
    return (
        f'<div class="figure" id="{escape(name)}" role="img" aria-label="{escape(text)}">'
        f'<script type="application/json">{content}</script></div>'
    )


def legend(data: ReportData) -> str:
    """A button for each agent drawn, which hides and shows it in all figures."""
    chips = []
    for index, label in enumerate(data.drawn):
        colour, dash = curve_style(index)
        line = (
            '<svg width="22" height="8" aria-hidden="true"><line x1="1" y1="4" x2="21" y2="4"'
            f' stroke-width="2.5" stroke="var(--c{colour})" stroke-dasharray="{STROKES[dash]}"/></svg>'
        )
        chips.append(
            f'<button type="button" class="chip" data-agent="{index}" aria-pressed="true">'
            f"{line}{escape(label)}</button>"
        )
    hidden = len(data.labels) - len(data.drawn)
    note = (
        paragraph(f"Figures show the {len(data.drawn)} agents of lowest regret; the table has all.")
        if hidden
        else ""
    )
    return f'<div class="legend" role="group" aria-label="Agents shown">{"".join(chips)}</div>{note}'


def curve_style(index: int) -> tuple[int, int]:
    """Numbers of the colour and of the dashes; neighbours differ in both, as in `figures`."""
    block = 2 * len(COLOURS)
    return index % len(COLOURS), index % 2 + 2 * (index // block % 2)


def line(index: int, name: str, x: np.ndarray, y: np.ndarray, **more: Any) -> dict[str, Any]:
    """A curve of the agent with this number; the page gives it its colour in light and in dark."""
    colour, dash = curve_style(index)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plotly_text(name),
        "x": packed(x),
        "y": packed(y),
        "line": {"width": 2, "dash": DASHES[dash]},
        "hovertemplate": "%{y:.4~r}",
        "meta": {"agent": index, "colour": colour},
        **more,
    }


def band(index: int, pieces: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """The area between low and high ends, `(x, low, high)` for each piece."""
    gap = np.array([np.nan])
    x = [part for x, _, _ in pieces for part in (x, x[::-1], gap)]
    y = [part for _, low, high in pieces for part in (high, low[::-1], gap)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": packed(np.concatenate(x)),
        "y": packed(np.concatenate(y)),
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": {"agent": index, "colour": curve_style(index)[0], "band": True},
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


def thinned(size: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most `limit` places from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, max(limit, 2))).round().astype(int))


def shown(value: float, digits: int = 4, *, like: float | None = None) -> str:
    """A number as one reads it, to as many decimals as `digits` of it (or of `like`) take."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value if like is None else like)
    if size and not 1e-4 <= size < 1e7:
        return f"{value:.2e}".replace("-", "−")
    decimals = min(max(0, digits - 1 - math.floor(math.log10(size))), 6) if size else 0
    return f"{value:,.{decimals}f}".replace("-", "−")


def with_interval(value: float, low: float, high: float) -> str:
    if math.isnan(low):
        return shown(value)
    like = max(abs(value), abs(low), abs(high))
    return f"{shown(value, like=like)} [{shown(low, like=like)}, {shown(high, like=like)}]"


def with_half_width(value: float, half_width: float) -> str:
    return shown(value) if math.isnan(half_width) else f"{shown(value)} ± {shown(half_width, like=value)}"

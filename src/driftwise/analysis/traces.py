"""Curves as plotly.js draws them; the page gives them their colours in light and in dark."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from driftwise.analysis.figures import COLOURS

MAX_POINTS = 400  # of a curve: about as many as a screen shows
DASHES = ("solid", "dash", "dot", "dashdot")


def curve_style(index: int) -> tuple[int, int]:
    """Numbers of the colour and of the dashes; neighbours differ in both, as in `figures`."""
    block = 2 * len(COLOURS)
    return index % len(COLOURS), index % 2 + 2 * (index // block % 2)


def line(
    index: int, name: str, y: np.ndarray, half_width: np.ndarray | None = None, **more: Any
) -> dict[str, Any]:
    """The curve of the agent with this number, and the half-width of the band around it."""
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


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis of a layout."""
    return {"title": {"text": title}, **more}


def packed(values: np.ndarray) -> dict[str, str]:
    """Numbers as plotly.js reads them fastest and smallest; NaN is a gap."""
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(content).decode()}


def plotly_text(text: str) -> str:
    """Text that plotly.js, which reads some HTML, shows as it stands."""
    return escape(text, quote=False)


def distinct_texts(values: Sequence[Any]) -> list[str]:
    """Values as texts, short where that tells them apart."""
    short = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return short if len({*short}) == len({*map(str, values)}) else [str(value) for value in values]


def thinned(size: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most `limit` places from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, max(limit, 2))).round().astype(int))

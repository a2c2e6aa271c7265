"""Elements of several panels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.analysis.page import axis, line, packed
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.views import thinned

FEW_RUNS = 10  # fewer of them are too few to resample
STRIP = 0.1  # share of a figure's height that the drift has


def change_marks(data: ReportData) -> list[dict[str, Any]]:
    """A vertical line at each change; the page colours it."""
    return [
        {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "layer": "below"}
        for at in (change + 0.5 for change in data.changes)  # after as many episodes, counted from 1
    ]


def over_episodes(data: ReportData, lowest: float = 0.0, **more: Any) -> dict[str, Any]:
    """A layout for curves over episodes that go down to `lowest`, with marks at the changes."""
    axes = {"xaxis": axis("episode"), "yaxis": axis("", rangemode="tozero", minallowed=lowest)}
    return {"shapes": change_marks(data), **axes, **more}


def with_strip(data: ReportData, layout: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The drift as a trace in a strip of its own below the axis, and the layout with room for it."""
    if data.drift is None:
        return [], dict(layout)
    kept = thinned(len(data.drift))
    strip = plain("soft", "drift", data.episodes[kept], data.drift[kept])
    strip |= {"yaxis": "y3", "fill": "tozeroy", "hovertemplate": "%{y:.0%}"}
    strip["line"] = {"width": 1, "shape": "vh"}
    room = {"showticklabels": False, "showgrid": False, "fixedrange": True, "range": [0, 1.05]}
    return [strip], {
        **layout,
        "xaxis": {**layout["xaxis"], "anchor": "y3"},
        "yaxis": {**layout["yaxis"], "domain": [STRIP + 0.06, 1]},
        "yaxis3": axis("drift", domain=[0, STRIP], **room),
    }


def plain(colour: int | str, label: str, x: np.ndarray, y: np.ndarray, **more: Any) -> dict[str, Any]:
    """A curve in one of the page's colours that belongs to no agent."""
    return line(0, label, y, x=packed(x), **{"meta": {"colour": colour}, **more})


def bootstrap_caution(data: ReportData) -> str:
    """A warning to follow a word on bootstrap intervals; empty where there are enough runs."""
    if not 1 < data.num_runs < FEW_RUNS:
        return ""
    return f" With {data.num_runs} runs, which are few to resample, such intervals are too narrow."


def manifest_text(value: Any) -> str:
    """An entry of a manifest, or several of them where parts of a run were computed differently."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {manifest_text(each)}" for name, each in value.items())
    return " or ".join(map(manifest_text, value)) if isinstance(value, list) else str(value)

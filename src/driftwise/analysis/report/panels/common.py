"""Elements of several panels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwise.analysis.page import Legend, axis
from driftwise.analysis.report.data import ReportData

FEW_RUNS = 10  # fewer of them are too few to resample


def legend(data: ReportData) -> list[Legend | str]:
    """The legend of the agents, and a note on those that are grids."""
    return [Legend(data.labels), *data.grid_notes]


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

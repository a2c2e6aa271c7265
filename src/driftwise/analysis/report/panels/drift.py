"""The drift of the environment."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.page import Figure, Section, axis
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import plain
from driftwise.analysis.statistics.wording import rounded
from driftwise.analysis.views import thinned
from driftwise.analysis.yardsticks import distances, paths

TITLE = "How the environment drifts"


def drift(data: ReportData) -> Section | None:
    """Variation spent, distance from the first model, and the path of the parameter."""
    environment = data.environment
    if data.foreign:
        return None
    if isinstance(environment, str):
        return Section(TITLE, [f"The environment cannot be made from the manifest ({environment})."])
    variation = environment.variation(data.num_episodes)
    if variation.total == 0:
        return Section(TITLE, ["It does not: all episodes have the same model."])
    kept = thinned(data.num_episodes, 1000)
    found = paths(environment, kept)
    budgets = {
        name: np.concatenate([[0.0], np.cumsum(moves)])[kept]
        for name, moves in zip(found, (variation.reward, variation.transition), strict=False)
    }
    figures = (
        _panel("Variation spent", "variation", kept, budgets),
        _panel("Distance from the first model", "distance", kept, distances(environment, kept)),
        *_plane(next(iter(found.values())), kept),
    )
    note = (
        f"The variation budgets are Δ_r = {rounded(variation.reward_budget)} and Δ_P = "
        f"{rounded(variation.transition_budget)}, together Δ = {rounded(variation.total)}; computed from "
        "the environment, made anew from the manifest. Distances are Euclidean, over all steps."
    )
    return Section(TITLE, [figures, note])


def _panel(title: str, name: str, episodes: np.ndarray, curves: dict[str, np.ndarray]) -> Figure:
    traces = [
        plain(number, label, episodes + 1, curve, showlegend=True)
        for number, (label, curve) in enumerate(curves.items())
    ]
    axes = {"xaxis": axis("episode"), "yaxis": axis("", rangemode="tozero", minallowed=0)}
    return Figure(name, traces, {**axes, "showlegend": True}, title, caption=title)


def _plane(path: np.ndarray, episodes: np.ndarray) -> list[Figure]:
    """A path in the plane in which it extends furthest; nothing where it stays on a line."""
    left, sizes, _ = np.linalg.svd(path - path.mean(axis=0), full_matrices=False)
    if len(sizes) < 2 or sizes[1] <= 1e-9 * np.linalg.norm(path):  # but for rounding
        return []
    x, y = (left[:, :2] * sizes[:2]).T
    hover = {"text": [str(each + 1) for each in episodes], "hovertemplate": "episode %{text}<extra></extra>"}
    curve = plain(0, "θ", x, y, **hover)
    start = plain(2, "start", x[:1], y[:1], mode="markers", marker={"size": 9})
    title = "Path of θ, from the dot"
    axes = {"xaxis": axis("first principal direction"), "yaxis": axis("second")}
    return [Figure("path", [curve, start], {**axes, "hovermode": "closest"}, title, caption=title)]

"""The drift of the environment."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure
from driftwise.analysis.model_paths import distances_from_first, model_paths
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics.formatting import format_number

_MAX_PLACES = 1000  # episodes of a path that are drawn


def drift(data: ReportData) -> Section | None:
    """Return the variation so far, the distance from the first model, and the path of the parameter."""
    title, environment = "How the environment drifts", data.environment
    if data.is_external:
        return None
    if isinstance(environment, str):
        return Section(title, [f"The environment cannot be rebuilt from the manifest ({environment})."])
    variation = environment.variation(data.num_episodes)
    if variation.total == 0:
        return Section(title, ["It does not: all episodes have the same model."])
    kept = thinned(data.num_episodes, _MAX_PLACES)
    paths = model_paths(environment, kept)
    budgets = {
        name: np.concatenate([[0.0], np.cumsum(moves)])[kept]
        for name, moves in zip(paths, (variation.reward, variation.transition), strict=False)
    }
    distances = distances_from_first(environment, kept)
    figures = (
        _over_episodes("Variation spent", "variation", kept, budgets),
        _over_episodes("Distance from the first model", "distance", kept, distances),
        *_plane(next(iter(paths.values())), kept),
    )
    note = (
        f"The variation budgets are Δ_r = {format_number(variation.reward_budget)} and Δ_P = "
        f"{format_number(variation.transition_budget)}, together Δ = {format_number(variation.total)}; "
        "computed from the environment, rebuilt from the manifest. Distances are Euclidean, over all steps."
    )
    return Section(title, [figures, note])


def _over_episodes(title: str, name: str, episodes: np.ndarray, curves: dict[str, np.ndarray]) -> Figure:
    drawn = [Curve(label, curve, number) for number, (label, curve) in enumerate(curves.items())]
    axes = Axis("episode", integer=True), Axis(from_zero=True)
    return Figure(name, drawn, *axes, title, caption=title, x=episodes + 1, legend=True)


def _plane(path: np.ndarray, episodes: np.ndarray) -> list[Figure]:
    """The path in the plane of its first two principal directions; nothing where it stays on a line."""
    left, sizes, _ = np.linalg.svd(path - path.mean(axis=0), full_matrices=False)
    if len(sizes) < 2 or sizes[1] <= 1e-9 * np.linalg.norm(path):  # up to rounding
        return []
    x, y = (left[:, :2] * sizes[:2]).T
    hover = [f"episode {episode + 1}" for episode in episodes]
    curve = Curve("θ", y, 0, x=x, hover=hover)
    start = Curve("start", y[:1], 2, x=x[:1], kind="dots")
    title = "Path of θ, from the dot"
    axes = Axis("first principal direction"), Axis("second")
    return [Figure("path", [curve, start], *axes, title, caption=title)]

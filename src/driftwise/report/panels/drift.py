"""How the environment moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.environments.linear_mdp import LinearMdp
from driftwise.report.data import ReportData
from driftwise.report.elements import Section, axis, figure, line, paragraph, shown, thinned

TITLE = "How the environment drifts"


def drift(data: ReportData) -> Section:
    environment = data.environment
    if isinstance(environment, str):
        return Section(TITLE, paragraph(f"The environment cannot be made from the manifest ({environment})."))
    variation = environment.variation(data.num_episodes)
    kept = thinned(data.num_episodes, 1000)
    mixture = environment.mixture(kept)
    budgets = [
        np.concatenate([[0.0], np.cumsum(each)])[kept] for each in (variation.reward, variation.transition)
    ]
    distances = [_distances(mixture, anchors) for anchors in (environment.theta, environment.mu)]
    names = ("rewards θ", "transitions μ")
    figures = [
        _panel("Variation spent", "variation", kept, dict(zip(names, budgets, strict=True))),
        _panel("Distance from the first model", "distance", kept, dict(zip(names, distances, strict=True))),
        *_theta_path(environment, mixture, kept),
    ]
    note = (
        f"The variation budgets are Δ_r = {shown(variation.reward_budget)} and Δ_P = "
        f"{shown(variation.transition_budget)}, together Δ = {shown(variation.total)}; computed from "
        "the environment, made anew from the manifest. Distances are Euclidean, over all steps."
    )
    return Section(TITLE, f'<div class="pair">{"".join(figures)}</div>{paragraph(note)}')


def _distances(mixture: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """`‖Σ_j (c_j(t) − c_j(0)) anchor_j‖`, through the anchors' Gram matrix."""
    flat = anchors.reshape(len(anchors), -1)
    moved = mixture - mixture[0]
    return np.sqrt(np.maximum(np.einsum("tj,jk,tk->t", moved, flat @ flat.T, moved), 0.0))


def _panel(title: str, name: str, episodes: np.ndarray, curves: dict[str, np.ndarray]) -> str:
    traces = [
        _plain(number, label, episodes + 1, curve, showlegend=True)
        for number, (label, curve) in enumerate(curves.items())
    ]
    layout = {
        "xaxis": axis("episode"),
        "yaxis": axis("", rangemode="tozero", minallowed=0),
        "showlegend": True,
    }
    return f"<div><h3>{title}</h3>{figure(name, traces, layout, text=title)}</div>"


def _theta_path(environment: LinearMdp, mixture: np.ndarray, episodes: np.ndarray) -> list[str]:
    """θ in the plane in which its anchors lie furthest apart; nothing where they lie on a line."""
    flat = environment.theta.reshape(len(environment.theta), -1)
    left, sizes, _ = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    if len(sizes) < 2 or sizes[1] <= 1e-9 * max(sizes[0], 1e-300):
        return []
    plane = left[:, :2] * sizes[:2]
    path = mixture @ plane
    curve = _plain(0, "θ", path[:, 0], path[:, 1], text=[str(each + 1) for each in episodes])
    curve["hovertemplate"] = "episode %{text}<extra></extra>"
    start = _plain(2, "start", path[:1, 0], path[:1, 1], mode="markers", marker={"size": 9})
    title = "Path of θ, from the dot"
    layout: dict[str, Any] = {
        "xaxis": axis("first principal direction"),
        "yaxis": axis("second"),
        "hovermode": "closest",
    }
    return [f"<div><h3>{title}</h3>{figure('theta', [curve, start], layout, text=title)}</div>"]


def _plain(number: int, label: str, x: np.ndarray, y: np.ndarray, **more: Any) -> dict[str, Any]:
    """A curve in one of the page's colours that belongs to no agent."""
    curve = line(number, label, x, y, **more)
    return {**curve, "meta": {"colour": number}}

"""Replay of a log by plain loops, with LinUCB as the agent: every sum is taken anew over the rows before.

Li, Chu, Langford & Wang 2011 for the replay, Dudík, Langford & Li 2011 for the doubly robust estimate.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """One logged decision."""

    context: np.ndarray  # [p]
    action: int
    reward: float
    propensity: float


class Found(NamedTuple):
    """Means of the rows that are estimated on, each with its standard error, and two counts."""

    means: dict[str, tuple[float, float]]
    accepted: int
    learnt: int


def replayed(
    rows: Sequence[Row],
    uniforms: Sequence[float],
    *,
    num_actions: int,
    radius: float,
    frozen_after: int | None = None,
) -> Found:
    """The estimates of `driftwise.online.replay.replay`, with all ridges 1."""
    contexts = np.array([row.context for row in rows])
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    least = min(row.propensity for row in rows)
    history: list[tuple[np.ndarray, float]] = []  # features and rewards that the agent learnt from
    before: list[tuple[np.ndarray, int, float]] = []  # scaled contexts, actions and rewards of all rows
    logged, kept, ips, dr = [], [], [], []
    for t, (row, uniform) in enumerate(zip(rows, uniforms, strict=True)):
        scaled = np.array([1.0, *(2 * (row.context - low) / (high - low) - 1)]) / np.sqrt(len(low) + 1)
        arms = [np.kron(each, scaled) for each in np.eye(num_actions)]
        chances = lin_ucb(arms, history, radius)
        predicted = [ridge([(c, r) for c, a, r in before if a == b], scaled) for b in range(num_actions)]
        ratio = chances[row.action] / row.propensity
        taken = uniform < ratio * least
        if frozen_after is None or t >= frozen_after:
            logged.append(row.reward)
            ips.append(ratio * row.reward)
            dr.append(chances @ predicted + ratio * (row.reward - predicted[row.action]))
            kept += [row.reward] if taken else []
        if taken and (frozen_after is None or t < frozen_after):
            history.append((arms[row.action], row.reward))
        before.append((scaled, row.action, row.reward))
    samples = {"logged": logged, "replay": kept, "IPS": ips, "DR": dr}
    means = {
        name: (float(np.mean(x)), float(np.std(x, ddof=1)) / np.sqrt(len(x))) for name, x in samples.items()
    }
    return Found(means, len(kept), len(history))


def ridge(samples: Sequence[tuple[np.ndarray, float]], at: np.ndarray) -> float:
    """The prediction of ridge regression."""
    gram, cross = np.eye(len(at)), np.zeros(len(at))
    for phi, reward in samples:
        gram, cross = gram + np.outer(phi, phi), cross + phi * reward
    return float(at @ np.linalg.solve(gram, cross))


def lin_ucb(
    arms: Sequence[np.ndarray], history: Sequence[tuple[np.ndarray, float]], radius: float
) -> np.ndarray:
    """Chances of the arms: all of the highest index alike."""
    gram = np.eye(len(arms[0])) + sum(np.outer(phi, phi) for phi, _ in history)
    index = np.array([ridge(history, x) + radius * np.sqrt(x @ np.linalg.solve(gram, x)) for x in arms])
    best = index >= index.max() - 1e-9
    return best / best.sum()

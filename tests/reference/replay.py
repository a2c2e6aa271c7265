"""Replay of a log by plain loops, with LinUCB as the agent: every sum is taken anew over the rows before.

Li, Chu, Langford & Wang 2011 for the replay, Dudík, Langford & Li 2011 for the doubly robust estimate.
"""

from collections.abc import Iterable

import numpy as np

from tests.reference.plain import sums_of


def replayed(
    contexts: np.ndarray,  # [n, p]
    rows: Iterable[tuple[int, float, float, float]],  # actions, rewards, propensities and uniform numbers
    *,
    num_actions: int,
    radius: float,
    frozen_after: int | None = None,
) -> tuple[dict[str, list[float]], int]:
    """The terms whose means are the estimates, with ridges of 1, and how many rows are learnt from."""
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    rows = list(rows)
    least = min(propensity for _, _, propensity, _ in rows)
    history: list[tuple[float, np.ndarray, float]] = []  # weights of 1, features and rewards, of the agent
    before: list[list[tuple[float, np.ndarray, float]]] = [[] for _ in range(num_actions)]  # of all rows
    terms: dict[str, list[float]] = {name: [] for name in ("logged", "replay", "IPS", "DR")}
    for t, (context, (action, reward, propensity, uniform)) in enumerate(zip(contexts, rows, strict=True)):
        scaled = np.array([1.0, *(2 * (context - low) / (high - low) - 1)]) / np.sqrt(len(low) + 1)
        arms = [np.kron(each, scaled) for each in np.eye(num_actions)]
        sums = sums_of(history, 1.0, len(arms[0]))
        index = np.array([x @ sums.estimate + radius * sums.length(x) for x in arms])
        best = index >= index.max() - 1e-9  # which share
        predicted = [scaled @ sums_of(samples, 1.0, len(scaled)).estimate for samples in before]
        ratio = best[action] / best.sum() / propensity
        taken = uniform < ratio * least
        if frozen_after is None or t >= frozen_after:
            terms["logged"].append(reward)
            terms["IPS"].append(ratio * reward)
            terms["DR"].append(best @ predicted / best.sum() + ratio * (reward - predicted[action]))
            terms["replay"] += [reward] * bool(taken)
        if taken and (frozen_after is None or t < frozen_after):
            history.append((1.0, arms[action], reward))
        before[action].append((1.0, scaled, reward))
    return terms, len(history)

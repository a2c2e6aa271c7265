"""Leaders: who has the least regret, and when that is more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from driftwise.analysis.statistics import average_ranks, difference, simultaneous_test
from driftwise.simulation.results import Result

LEVEL = 0.05


def ranked(environments: Iterable[Mapping[str, Result]]) -> list[str]:
    """Agents from the lowest to the highest rank by mean final regret, averaged over the environments."""
    ranks: dict[str, list[float]] = {}
    for results in environments:
        finals = [result.cumulative_regret[:, -1].mean() for result in results.values()]
        for label, rank in zip(results, average_ranks(np.array(finals)), strict=True):
            ranks.setdefault(label, []).append(float(rank))
    return sorted(ranks, key=lambda label: float(np.mean(ranks[label])))


def leading(curves: Mapping[str, np.ndarray], leader: str) -> np.ndarray:
    """Whether the curve of the leader is significantly below all others, `[points]`; curves `[runs, points]`.

    Each other agent is held against it by a `simultaneous_test` over all points. All of them have to differ,
    so that no correction for their number is due. Those that are the leader's equal are left out.
    """
    best = curves[leader]
    differences = [difference(curve, best) for label, curve in curves.items() if label != leader]
    rivals = [each for each in differences if each.any()]
    ahead = [(simultaneous_test(each) <= LEVEL) & (each.mean(axis=0) > 0) for each in rivals]
    return np.all(ahead, axis=0) if ahead else np.zeros(best.shape[-1], dtype=bool)


def spans(holds: np.ndarray) -> list[tuple[int, int]]:
    """The first and the last place of each unbroken row of places at which it holds."""
    borders = np.flatnonzero(np.diff([False, *holds, False]))
    return [(int(first), int(last) - 1) for first, last in borders.reshape(-1, 2)]

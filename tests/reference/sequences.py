"""Confidence sequences by their definitions: every sum is taken anew over all outcomes.

Waudby-Smith & Ramdas 2024 for the plug-in empirical Bernstein bound; the others share its supermartingale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def psi(bet: float) -> float:
    return -math.log(1 - bet) - bet


def drift_bound(outcomes: Sequence[float], cap: float, rate: float, alpha: float, num_bets: int = 8) -> float:
    """The lower bound of the mean with the weights `rate^(t−i)`."""
    last = len(outcomes) - 1
    weights = [rate ** (last - i) for i in range(len(outcomes))]
    spread = 0.0
    for i, outcome in enumerate(outcomes):
        ages = [rate ** (i - 1 - j) for j in range(i)]
        centre = min(np.average(outcomes[:i], weights=ages), cap) if i else cap / 2
        spread += weights[i] ** 2 * (outcome - centre) ** 2
    mean, total = np.average(outcomes, weights=weights), sum(weights)
    bets = [2.0**-j for j in range(1, num_bets + 1)]
    return max(mean - (math.log(num_bets / alpha) + psi(bet) * spread) / (bet * total) for bet in bets)


def plug_in_bound(outcomes: Sequence[float], cap: float, alpha: float) -> float:
    """The lower bound of a mean that favours early outcomes."""
    bets, cost = [], 0.0
    for i, outcome in enumerate(outcomes):
        before, t = outcomes[:i], i + 1
        spread = sum((before[j] - np.mean(before[: j + 1])) ** 2 for j in range(i))
        variance = (0.25 + spread) / t
        bets.append(min(math.sqrt(2 * math.log(1 / alpha) / (variance * t * math.log(1 + t))), 0.5))
        centre = min(float(np.mean(before)), cap) if i else cap / 2
        cost += psi(bets[-1]) * (outcome - centre) ** 2
    return float((np.dot(bets, outcomes) - math.log(1 / alpha) - cost) / sum(bets))

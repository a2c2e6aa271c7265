"""SquareCB as the paper prints it, on a weighted ridge regression with all sums written out.

Foster & Rakhlin, "Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles", ICML 2020,
Algorithm 1.
"""

from __future__ import annotations

import numpy as np

from tests.reference.plain import sums_of


def predictions(
    past: list[tuple[np.ndarray, float]], arms: np.ndarray, rate: float, ridge: float
) -> list[float]:
    """Line 4: the oracle's predicted rewards of the arms."""
    samples = ((rate**age, *sample) for age, sample in enumerate(reversed(past)))
    return [float(each) for each in arms @ sums_of(samples, ridge, arms.shape[1]).estimate]


def probabilities(predicted: list[float], gamma: float) -> list[float]:
    """Lines 5 to 7: inverse-gap weighting; of tied arms the first is the best."""
    best = max(range(len(predicted)), key=lambda arm: predicted[arm])
    chances = [0.0] * len(predicted)
    for arm in range(len(predicted)):
        if arm != best:
            chances[arm] = 1 / (len(predicted) + gamma * (predicted[best] - predicted[arm]))
    chances[best] = 1 - sum(chances)
    return chances

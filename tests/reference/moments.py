"""The weighted sums of the regression, from their definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.base import Sample


def weighted_moments(
    samples: Sequence[Sample], weights: Sequence[float], ridge: float, num_states: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Σ ω φφᵀ + λI`, `Σ ω² φφᵀ + λI` and `Σ ω φ yᵀ` for every step; a count of n is n equal samples.

    Each of them has its share in the sums.
    """
    num_steps, dim = samples[0].features.shape
    gram = np.zeros((num_steps, dim, dim)) + ridge * np.eye(dim)
    gram_sq = gram.copy()
    cross = np.zeros((num_steps, dim, 1 + num_states))
    for sample, weight in zip(samples, weights, strict=True):
        for h in range(num_steps):
            phi, share = sample.features[h], 1.0 if sample.share is None else sample.share[h]
            target = np.zeros(1 + num_states)
            target[0] = sample.reward[h]
            target[1 + sample.successor[h]] = 1.0
            for _ in range(int(sample.count[h])):
                gram[h] += weight * share * np.outer(phi, phi)
                gram_sq[h] += weight**2 * share**2 * np.outer(phi, phi)
                cross[h] += weight * share * np.outer(phi, target)
    return gram, gram_sq, cross


def weighted_counts(samples: Sequence[Sample], weights: Sequence[float]) -> tuple[float, float]:
    """`Σ ω` and `Σ ω²`; a sample whose steps count differently often counts as often as the most of them."""
    total = total_sq = 0.0
    for sample, weight in zip(samples, weights, strict=True):
        for _ in range(int(max(sample.count))):
            total += weight
            total_sq += weight**2
    return total, total_sq

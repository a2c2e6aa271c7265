"""The weighted sums of the regression, from their definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.base.types import Sample


def weighted_moments(
    samples: Sequence[Sample], weights: Sequence[float], ridge: float, num_states: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Σ ω φφᵀ + λI`, `Σ ω² φφᵀ + λI` and `Σ ω φ yᵀ` for every step; a count of n is n equal samples."""
    num_steps, dim = samples[0].features.shape
    gram = np.zeros((num_steps, dim, dim)) + ridge * np.eye(dim)
    gram_sq = gram.copy()
    cross = np.zeros((num_steps, dim, 1 + num_states))
    for sample, weight in zip(samples, weights, strict=True):
        for h in range(num_steps):
            phi = sample.features[h]
            target = np.zeros(1 + num_states)
            target[0] = sample.reward[h]
            target[1 + sample.successor[h]] = 1.0
            for _ in range(int(sample.count[h])):
                gram[h] += weight * np.outer(phi, phi)
                gram_sq[h] += weight**2 * np.outer(phi, phi)
                cross[h] += weight * np.outer(phi, target)
    return gram, gram_sq, cross

"""Weighted sums of the regression from their definition: every reward is added for itself."""

import math
from collections.abc import Sequence
from typing import NamedTuple

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


class Together(NamedTuple):
    """Rewards of the same features at the same time."""

    features: np.ndarray  # [d]
    rewards: list[float]


class Sums(NamedTuple):
    """Sums over all samples, or rewards."""

    gram: np.ndarray  # [d, d]
    gram_sq: np.ndarray  # [d, d]
    cross: np.ndarray  # [d]
    weight: float
    weight_sq: float

    @property
    def estimate(self) -> np.ndarray:
        return np.linalg.solve(self.gram, self.cross)

    def width(self, features: np.ndarray) -> float:
        return float(np.sqrt(features @ np.linalg.solve(self.gram, features)))


def sums_of(
    groups: Sequence[Together], weights: Sequence[float], ridge: float, alpha: float = math.inf
) -> Sums:
    """Sums with the weight ω of each group; with caution α each reward has the same share of it.

    The shares are those of the Λ before the group, whose weights must be 0 or 1 then.
    """
    dim = len(groups[0].features)
    gram, gram_sq, cross = ridge * np.eye(dim), ridge * np.eye(dim), np.zeros(dim)
    total = total_sq = 0.0
    for group, weight in zip(groups, weights, strict=True):
        phi = group.features
        share = min(1.0, alpha / math.sqrt(phi @ np.linalg.solve(gram, phi)))
        for reward in group.rewards:
            gram = gram + weight * share * np.outer(phi, phi)
            gram_sq = gram_sq + weight**2 * share**2 * np.outer(phi, phi)
            cross = cross + weight * share * reward * phi
            total, total_sq = total + weight, total_sq + weight**2
    return Sums(gram, gram_sq, cross, total, total_sq)


def directional_sums(
    groups: Sequence[Together], rate: float, ridge: float, *, squares: bool, fading: float = 1.0
) -> Sums:
    """Each group takes from what is known in its direction once, and every reward is then added for itself.

    Before that, all fades once. In the place of counts are the traces, less that of the ridge. Without
    `squares`, Λ stands for Λ̃.
    """
    dim = len(groups[0].features)
    gram, gram_sq, cross = ridge * np.eye(dim), ridge * np.eye(dim), np.zeros(dim)
    back = (1 - fading) * ridge * np.eye(dim)
    for phi, rewards in groups:
        gram, gram_sq, cross = fading * gram + back, fading * gram_sq + back, fading * cross
        keeps = np.eye(dim) - (1 - rate) * np.outer(gram @ phi, phi) / (phi @ gram @ phi)
        gram, gram_sq, cross = keeps @ gram, keeps @ gram_sq @ keeps.T, keeps @ cross
        for reward in rewards:
            gram = gram + np.outer(phi, phi)
            gram_sq = gram_sq + np.outer(phi, phi)
            cross = cross + reward * phi
    gram_sq = gram_sq if squares else gram
    counts = (max(float(np.trace(each)) - dim * ridge, 0.0) for each in (gram, gram_sq))
    return Sums(gram, gram_sq, cross, *counts)


def index(sums: Sums, arms: np.ndarray, *, noise_scale: float, delta: float, sandwich: bool) -> np.ndarray:
    """`xᵀθ + (√λ + σ√(2 log(1/δ) + d log(1 + Σω²/(λd))))‖x‖` with λ = 1, by Λ⁻¹ or by Λ⁻¹Λ̃Λ⁻¹."""
    dim = arms.shape[-1]
    information = dim * math.log(1 + sums.weight_sq / dim)
    radius = 1 + noise_scale * math.sqrt(2 * math.log(1 / delta) + information)
    inverse = np.linalg.inv(sums.gram)
    matrix = inverse @ sums.gram_sq @ inverse if sandwich else inverse
    return np.array([x @ inverse @ sums.cross + radius * math.sqrt(x @ matrix @ x) for x in arms])

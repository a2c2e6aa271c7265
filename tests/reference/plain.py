"""What plain loops share: what they plan, the weights of the past, and the sums of a regression."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import Episode

Weight = Callable[[int, int], float]  # ω(t, τ), what forgetting leaves of episode τ < t


def remember(t: int, tau: int) -> float:
    """The weight of an episode where nothing is forgotten."""
    return 1.0


class Planned(NamedTuple):
    """The plan of an episode; what is None is not compared."""

    q: np.ndarray  # [H, S, A]
    values: np.ndarray | None = None  # [H, S]
    bonus: np.ndarray | None = None  # [H, S, A]
    weights: np.ndarray | None = None  # [H, d]
    policy: np.ndarray | None = None  # [H, S, A]


class Sums(NamedTuple):
    """Sums of a ridge regression."""

    gram: np.ndarray  # Σ ωφφᵀ + λI
    gram_sq: np.ndarray  # Σ ω²φφᵀ + λI
    cross: np.ndarray  # Σ ωφy

    @property
    def estimate(self) -> np.ndarray:
        return np.linalg.solve(self.gram, self.cross)

    def length(self, phi: np.ndarray) -> float:
        """`‖φ‖` in the norm of the inverse."""
        return float(np.sqrt(phi @ np.linalg.solve(self.gram, phi)))


def sums_of(samples: Iterable[tuple[float, np.ndarray, float]], ridge: float, dim: int) -> Sums:
    """Sums of samples (ω, φ, y)."""
    sums = Sums(ridge * np.eye(dim), ridge * np.eye(dim), np.zeros(dim))
    for weight, phi, target in samples:
        sums = Sums(
            sums.gram + weight * np.outer(phi, phi),
            sums.gram_sq + weight**2 * np.outer(phi, phi),
            sums.cross + weight * phi * target,
        )
    return sums


def steps(episode: Episode, values: np.ndarray) -> Iterator[tuple[tuple[int, int, int], float, int, float]]:
    """Step, state and action, the reward, the next state and its value, for values `[H, S]` as they are then.

    Nothing follows the last step.
    """
    horizon = len(episode.rewards)
    for h in range(horizon):
        s, a, s_next = int(episode.states[h]), int(episode.actions[h]), int(episode.successors[h])
        yield (h, s, a), episode.rewards[h], s_next, values[h + 1, s_next] if h + 1 < horizon else 0.0


def cut(value: Any, low: float, high: float) -> float:
    return min(max(value, low), high)

"""Tests of a change from their definitions: all samples are kept, and every regression is made anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tests.reference.glm import Family, ball_projection


def means_alarm(plays: Sequence[float], *, noise_scale: float, delta: float, splits: int) -> bool:
    """Whether the forced plays of an arm are an alarm: any of the newest splits, by a union bound."""
    n = len(plays)
    looked_at = range(max(1, n - splits), n)
    if not looked_at:
        return False
    threshold = math.log(math.pi**2 * len(looked_at) * n**2 / (3 * delta))
    return any(
        s * (n - s) / (2 * noise_scale**2 * n) * (np.mean(plays[:s]) - np.mean(plays[s:])) ** 2 >= threshold
        for s in looked_at
    )


class Seen(NamedTuple):
    """One episode since the restart: features and targets of every step."""

    features: np.ndarray  # [H, d]
    targets: np.ndarray  # [H, m]


class Ellipsoids:
    """Windows of lengths 1, 2, 4, … against what was before them, and the order in which all were begun."""

    def __init__(
        self, num_levels: int, *, noises: Sequence[float], norm_bound: float, delta: float, ridge: float
    ) -> None:
        self.num_levels, self.noises, self.ridge = num_levels, noises, ridge
        self.norm_bound, self.delta = norm_bound, delta
        self.begun = 0
        self.restart()

    def restart(self) -> None:
        self.past: list[Seen] = []
        self.orders = [self._next() for _ in range(self.num_levels + 1)]
        self.starts = [0] * self.num_levels

    def _next(self) -> int:
        self.begun += 1
        return self.begun

    def observe(self, seen: Seen, rows: np.ndarray) -> bool:
        self.past.append(seen)
        self.raised = [  # where the windows began in which a change shows, from the shortest on
            start
            for start, order in zip(self.starts, self.orders, strict=False)
            if any(
                self._exclude(h, k, start, order, rows)
                for h in range(len(seen.features))
                for k in range(seen.targets.shape[1])
            )
        ]
        for level in range(self.num_levels):
            if len(self.past) % 2**level == 0:
                self.starts[level], self.orders[level] = len(self.past), self._next()
        return bool(self.raised)

    def gram(self, samples: Sequence[Seen], h: int) -> np.ndarray:
        dim = self.past[0].features.shape[1]
        return self.ridge * np.eye(dim) + sum(
            (np.outer(each.features[h], each.features[h]) for each in samples), np.zeros((dim, dim))
        )

    def _ball(
        self, samples: Sequence[Seen], h: int, k: int, order: int
    ) -> tuple[np.ndarray, Callable[[np.ndarray], float]]:
        """The estimate, and the width of the ellipsoid around it in a direction."""
        gram, dim = self.gram(samples, h), self.past[0].features.shape[1]
        cross = sum((each.features[h] * each.targets[h, k] for each in samples), np.zeros(dim))
        inverse = np.linalg.inv(gram)
        horizon, num_targets = self.past[0].targets.shape
        share = 6 * self.delta / (math.pi**2 * order**2) / (horizon * num_targets)
        information = math.log(np.linalg.det(gram) / self.ridge**dim)
        noise = self.noises[k] * math.sqrt(2 * math.log(1 / share) + information)
        beta = math.sqrt(self.ridge) * self.norm_bound + noise
        return inverse @ cross, lambda a: beta * math.sqrt(a @ inverse @ a)

    def _exclude(self, h: int, k: int, start: int, order: int, rows: np.ndarray) -> bool:
        before, width_before = self._ball(self.past[:start], h, k, self.orders[-1])
        since, width_since = self._ball(self.past[start:], h, k, order)
        return any(abs(a @ (before - since)) > width_before(a) + width_since(a) for a in rows)


class LinkSets(Ellipsoids):
    """The same with the sets of GLB-OMD: every mirror descent is made anew, step by step."""

    family: Family

    def _descent(self, samples: Sequence[Seen]) -> tuple[np.ndarray, np.ndarray]:
        """`H` and `θ` after these rounds."""
        mean, slope, _, concordance = self.family
        zeta, dim = 1 + concordance * self.norm_bound, self.past[0].features.shape[1]
        h, theta = self.ridge * np.eye(dim), np.zeros(dim)
        for (x,), ((reward,),) in samples:
            z = x @ theta
            metric = h + zeta * slope(z) * np.outer(x, x)
            moved = theta - zeta * np.linalg.inv(metric) @ x * (mean(z) - reward)
            theta = ball_projection(metric, moved, self.norm_bound)
            h = h + slope(x @ theta) * np.outer(x, x)
        return h, theta

    def gram(self, samples: Sequence[Seen], h: int) -> np.ndarray:
        return self._descent(samples)[0]

    def _ball(
        self, samples: Sequence[Seen], h: int, k: int, order: int
    ) -> tuple[np.ndarray, Callable[[np.ndarray], float]]:
        gram, theta = self._descent(samples)
        zeta = 1 + self.family.concordance * self.norm_bound
        information = math.log(np.linalg.det(gram) / self.ridge ** len(theta))
        failure = math.log(math.pi**2 * order**2 / (6 * self.delta))
        squared = self.ridge * self.norm_bound**2 + 2 * zeta * failure + (6 * zeta**2 + zeta) * information
        inverse = np.linalg.inv(gram)
        return theta, lambda a: math.sqrt(squared * (a @ inverse @ a))

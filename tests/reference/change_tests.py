"""Tests of a change and detectors from their definitions, and what restarts on them: all samples are kept."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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


Ball = tuple[np.ndarray, Callable[[np.ndarray], float]]  # its centre, and its width in a direction


@dataclass(kw_only=True)
class Windows(ABC):
    """Windows of lengths 1, 2, 4, … against what was before them, and the order in which all were begun."""

    num_levels: int
    norm_bound: float
    delta: float
    ridge: float
    begun: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.restart()

    @abstractmethod
    def gram(self, rounds: range, h: int) -> np.ndarray:
        """The matrix of the regression on these rounds of the past."""

    @abstractmethod
    def ball(self, rounds: range, h: int, k: int, order: int) -> Ball:
        """The confidence set of the regression on these rounds, the how-manieth it is."""

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

    def _exclude(self, h: int, k: int, start: int, order: int, rows: np.ndarray) -> bool:
        before, width_before = self.ball(range(start), h, k, self.orders[-1])
        since, width_since = self.ball(range(start, len(self.past)), h, k, order)
        return any(abs(a @ (before - since)) > width_before(a) + width_since(a) for a in rows)


@dataclass(kw_only=True)
class Ellipsoids(Windows):
    """Windows with the ellipsoids of ridge regressions, for targets of any noise."""

    noises: Sequence[float]

    def gram(self, rounds: range, h: int) -> np.ndarray:
        dim = self.past[0].features.shape[1]
        features = [self.past[t].features[h] for t in rounds]
        return self.ridge * np.eye(dim) + sum((np.outer(x, x) for x in features), np.zeros((dim, dim)))

    def ball(self, rounds: range, h: int, k: int, order: int) -> Ball:
        gram, dim = self.gram(rounds, h), self.past[0].features.shape[1]
        samples = [self.past[t] for t in rounds]
        cross = sum((each.features[h] * each.targets[h, k] for each in samples), np.zeros(dim))
        inverse = np.linalg.inv(gram)
        horizon, num_targets = self.past[0].targets.shape
        share = 6 * self.delta / (math.pi**2 * order**2) / (horizon * num_targets)
        information = math.log(np.linalg.det(gram) / self.ridge**dim)
        noise = self.noises[k] * math.sqrt(2 * math.log(1 / share) + information)
        beta = math.sqrt(self.ridge) * self.norm_bound + noise
        return inverse @ cross, lambda a: beta * math.sqrt(a @ inverse @ a)


@dataclass(kw_only=True)
class LinkSets(Windows):
    """Windows with the confidence sets of GLB-OMD: a mirror descent through the link of a family for each."""

    family: Family
    made: dict[tuple[int, range], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False)

    def _descent(self, rounds: range) -> tuple[np.ndarray, np.ndarray]:
        """`H` and `θ` after these rounds, from those before the last of them."""
        if not rounds:
            dim = self.past[0].features.shape[1]
            return self.ridge * np.eye(dim), np.zeros(dim)
        here = self.orders[-1], rounds  # of this epoch
        if here not in self.made:
            mean, slope, _, concordance = self.family
            zeta, (h, theta) = 1 + concordance * self.norm_bound, self._descent(rounds[:-1])
            (x,), ((reward,),) = self.past[rounds[-1]]
            z = x @ theta
            metric = h + zeta * slope(z) * np.outer(x, x)
            moved = theta - zeta * np.linalg.inv(metric) @ x * (mean(z) - reward)
            theta = ball_projection(metric, moved, self.norm_bound)
            self.made[here] = h + slope(x @ theta) * np.outer(x, x), theta
        return self.made[here]

    def gram(self, rounds: range, h: int) -> np.ndarray:
        return self._descent(rounds)[0]

    def ball(self, rounds: range, h: int, k: int, order: int) -> Ball:
        gram, theta = self._descent(rounds)
        zeta = 1 + self.family.concordance * self.norm_bound
        information = math.log(np.linalg.det(gram) / self.ridge ** len(theta))
        failure = math.log(math.pi**2 * order**2 / (6 * self.delta))
        squared = self.ridge * self.norm_bound**2 + 2 * zeta * failure + (6 * zeta**2 + zeta) * information
        inverse = np.linalg.inv(gram)
        return theta, lambda a: math.sqrt(squared * (a @ inverse @ a))


def glr(seen: Sequence[float], *, noise_scale: float, delta: float, scale: float, window: int) -> bool:
    """Whether all that was `seen` is an alarm: any split that leaves less than `window` observations."""
    n = len(seen)
    threshold = scale * math.log(3 * n * math.sqrt(n) / delta)
    for s in range(max(1, n - window + 1), n):
        gap = np.mean(seen[:s]) - np.mean(seen[s:])
        if s * (n - s) / (2 * noise_scale**2 * n) * gap**2 >= threshold:
            return True
    return False


def cusum(seen: Sequence[float], *, warmup: int, slack: float, threshold: float) -> bool:
    """Whether all that was `seen` is an alarm, the sums begun again after the warm-up."""
    if len(seen) <= warmup:
        return False
    mean = sum(seen[:warmup]) / warmup
    up = down = 0.0
    for x in seen[warmup:]:
        up = max(0.0, up + (x - mean) - slack)
        down = max(0.0, down - (x - mean) - slack)
    return max(up, down) >= threshold


def greedy(index: np.ndarray) -> np.ndarray:
    """Even chances of the best, up to rounding."""
    best = index >= index.max() - 1e-9
    return best / best.sum()


class DetectAndRestart:
    """LinUCB with one radius and λ = 1, the test of ellipsoids, and plays by force."""

    def __init__(
        self, arms: np.ndarray, test: Ellipsoids, *, radius: float, forcing: float, keep: bool
    ) -> None:
        self.arms, self.test, self.radius, self.forcing, self.keep = arms, test, radius, forcing, keep
        self.epoch = 1
        self.learnt: list[tuple[np.ndarray, float]] = []  # what the base knows

    def policy(self, luck: float) -> np.ndarray:
        """The chances of all arms, given a number in [0, 1) that says whether the round is forced."""
        if luck < min(1.0, self.forcing * math.sqrt(self.epoch)):
            since = sum((np.outer(*2 * [each.features[0]]) for each in self.test.past), np.zeros((2, 2)))
            inverse = np.linalg.inv(since + self.test.ridge * np.eye(2))
            return greedy(np.array([a @ inverse @ a for a in self.arms]))
        gram = np.eye(2) + sum((np.outer(x, x) for x, _ in self.learnt), np.zeros((2, 2)))
        inverse = np.linalg.inv(gram)
        theta = inverse @ sum((x * r for x, r in self.learnt), np.zeros(2))
        return greedy(np.array([a @ theta + self.radius * math.sqrt(a @ inverse @ a) for a in self.arms]))

    def learn(self, arm: int, reward: float) -> bool:
        """Whether the reward raises an alarm, after which all begins anew."""
        x = self.arms[arm]
        self.learnt.append((x, reward))
        alarm = self.test.observe(Seen(x[None], np.array([[reward]])), self.arms)
        if alarm:
            kept = self.test.past[self.test.raised[0] :] if self.keep else []
            self.learnt = [(each.features[0], float(each.targets[0, 0])) for each in kept]
            self.epoch += 1
            self.test.restart()
        return alarm

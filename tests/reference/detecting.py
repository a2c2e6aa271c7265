"""Detect and restart around LinUCB, in plain loops: all samples are kept, and everything is made anew."""

from __future__ import annotations

import math

import numpy as np

from tests.reference.change_tests import Ellipsoids, Seen


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

"""How rewards come back to a policy: at once, late, not at all, or changed on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.types import Key
from driftwise.environments.corruption import Corruption, Mirrored

PURPOSE = 3  # after those of `driftwise.base.random`: what happens to rewards is drawn apart


class Feedback(NamedTuple):
    """The way of rewards back; those of an episode of an MDP go together."""

    summary: str
    delay: int = 0  # rounds
    lost: float = 0.0  # share
    corruption: Corruption | None = None

    def seen(self, rewards: np.ndarray, best: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """The rewards that come back, of arms that are or are not the best of their round."""
        if self.corruption is None:
            return rewards
        return self.corruption.corrupt(rewards, best, np.zeros(()), luck)  # none has a budget


FEEDBACKS = {
    "at_once": Feedback("every reward comes at once"),
    "delayed": Feedback("every reward comes 50 rounds later", delay=50),
    "lost": Feedback("half of the rewards never come", lost=0.5),
    "poisoned": Feedback(
        "three in ten rewards of best arms or actions come as 1 − reward", corruption=Mirrored(share=0.3)
    ),
}


class Fate(NamedTuple):
    """Uniform numbers that decide what happens to the rewards of each round."""

    loss: np.ndarray  # [T]
    poison: np.ndarray  # [T, H]

    @classmethod
    def of(cls, run_key: Key, num_rounds: int, horizon: int) -> Fate:
        keys = random.fold(random.fold(run_key, PURPOSE), np.arange(num_rounds))
        luck = random.uniform(keys, 1 + horizon, np.float64)
        return cls(luck[:, 0], luck[:, 1:])


class Mail:
    """Rewards on their way."""

    def __init__(self, feedback: Feedback, fate: Fate) -> None:
        self._lost, self._delay = fate.loss < feedback.lost, feedback.delay
        self._waiting: deque[tuple[int, Any]] = deque()

    def post(self, number: int, told: Any) -> None:
        """Send the rewards of a round, at its end; they may get lost."""
        if not self._lost[number]:
            self._waiting.append((number, told))

    def arriving(self, number: int) -> Iterator[Any]:
        """What comes at the end of a round, in order."""
        while self._waiting and self._waiting[0][0] + self._delay <= number:
            yield self._waiting.popleft()[1]

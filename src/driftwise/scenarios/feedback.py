"""How rewards come back to an agent: at once, late, not at all, or changed on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.types import Key
from driftwise.environments.corruption import Corruption, Mirrored

PURPOSE = 3  # after those of `driftwise.base.random`: what happens to rewards is drawn apart


class Reward(NamedTuple):
    """A reward, and the decision that earned it."""

    number: int  # of the round
    arms: np.ndarray  # [A, d], as they were offered
    arm: int
    value: float


class Feedback(NamedTuple):
    """The way of rewards back."""

    summary: str
    delay: int = 0  # rounds
    lost: float = 0.0  # share
    corruption: Corruption | None = None  # by the environment


FEEDBACKS = {
    "at_once": Feedback("every reward comes at once"),
    "delayed": Feedback("every reward comes 50 rounds later", delay=50),
    "lost": Feedback("half of the rewards never come", lost=0.5),
    "poisoned": Feedback(
        "three in ten rewards of the best arm come as 1 − reward", corruption=Mirrored(share=0.3)
    ),
}


class Mail:
    """Rewards on their way, in a run of so many rounds."""

    def __init__(self, feedback: Feedback, run_key: Key, num_rounds: int) -> None:
        keys = random.fold(random.fold(run_key, PURPOSE), np.arange(num_rounds))
        self._lost = random.uniform(keys, 1, np.float64)[:, 0] < feedback.lost
        self._delay = feedback.delay
        self._waiting: deque[Reward] = deque()

    def post(self, reward: Reward) -> None:
        """Send a reward, in the round that earned it; it may get lost."""
        if not self._lost[reward.number]:
            self._waiting.append(reward)

    def arriving(self, number: int) -> Iterator[Reward]:
        """The rewards that come at the end of a round."""
        while self._waiting and self._waiting[0].number + self._delay <= number:
            yield self._waiting.popleft()

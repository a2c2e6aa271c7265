"""A registered algorithm as a policy that is asked for probabilities and told of single events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.random import ACTING, PLANNING
from driftwise.base.types import Episode, FeatureTable, Key, Plan
from driftwise.online import Bandit
from driftwise.online.engines import NOTHING, not_finite


class Policy:
    """`π_t(· | x)` of an agent that has learnt from the events it was told of, and from nothing else."""

    def __init__(self, algorithm: str, dim: int, seed: int, parameters: Mapping[str, Any]) -> None:
        self.agent = Bandit(algorithm, dim=dim, seed=seed, **parameters).agent
        self._key = random.fold(random.key(seed), 0)
        self._state = self.agent.init(FeatureTable(np.zeros((1, dim))))

    def luck(self, events: np.ndarray) -> tuple[Key, np.ndarray]:
        """For the events of these numbers `[n]`: keys to plan with, and uniform numbers to accept with."""
        planning, acting = (random.fold(random.fold(self._key, use), events) for use in (PLANNING, ACTING))
        return planning, random.uniform(acting, 1, np.float64)[:, 0]

    def plan(self, actions: np.ndarray, key: Key) -> Plan:
        """For actions with features `[num_actions, dim]`; its policy has their probabilities."""
        try:
            with np.errstate(all="ignore"):  # what comes of it is looked at
                plan = self.agent.plan(self._state, FeatureTable(actions), key)
        except np.linalg.LinAlgError:
            plan = None
        if plan is None or not np.isfinite(plan.policy).all():
            raise ValueError(str(not_finite(self.agent)))
        return plan

    def learn(self, plan: Plan, actions: np.ndarray, action: int, reward: float) -> None:
        """Take in an event that was planned for, with the features of all actions."""
        taken = np.array([action], dtype=np.int32)
        episode = Episode(NOTHING, taken, actions[action][None], np.array([reward]), NOTHING)
        with np.errstate(all="ignore"):
            self._state = self.agent.update(self._state, FeatureTable(actions), plan, episode)

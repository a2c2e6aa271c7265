"""A small bandit of every kind, and a run in one of them, round by round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.base.types import Episode, Exploration, FeatureTable, Key, Plan
from driftwise.environments import (
    LinearBandit,
    cheung_two_armed,
    dynamic_pricing,
    hard_bandit,
    linear_bandit,
    news,
    russac_abrupt,
    russac_smooth,
)
from driftwise.environments.arms import FreshArms
from driftwise.environments.drift import Abrupt, Gradual
from driftwise.environments.paths import Rotation
from driftwise.environments.world import Record
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from tests.reference.plain_loop import Watched, episodes

EXAMPLES: dict[str, LinearBandit] = {
    "russac_abrupt": russac_abrupt(num_rounds=60),
    "russac_smooth": russac_smooth(num_rounds=60),
    "cheung_two_armed": cheung_two_armed(num_rounds=60),
    "dynamic_pricing": dynamic_pricing(drift=Gradual((5, 30))),
    "hard_bandit": hard_bandit(dim=3, num_rounds=60),
    "news": news(drift=Abrupt((20, 40))),
    "linear_bandit": linear_bandit(
        arms=FreshArms(6, 2, "ball", fewest=1), path=Rotation(0.0, 3.0, 50), noise_scale=0.3
    ),
}


class Round(NamedTuple):
    """What was offered, planned and paid, and the parameter behind it."""

    arms: FeatureTable
    plan: Plan
    record: Record
    episode: Episode
    theta: np.ndarray


class Looking(Watched):
    """An agent that remembers all arms it was shown."""

    def __init__(self, agent: LeastSquares) -> None:
        super().__init__(agent)
        self.shown: list[FeatureTable] = []

    def plan(self, state: Any, features: FeatureTable, key: Key) -> Plan:
        self.shown.append(features)
        return super().plan(state, features, key)


def play(environment: LinearBandit, exploration: Exploration, num: int, *, run: int = 0) -> list[Round]:
    """The rounds of one run."""
    agent = Looking(LeastSquares(environment.spec, ExponentialWeights(0.95), exploration))
    played = list(episodes(agent, environment, num, run=run))
    path = environment.at(np.arange(num))
    return [
        Round(arms, one.plan, one.record, one.episode, theta)
        for arms, one, theta in zip(agent.shown, played, path, strict=True)
    ]


def noise(one: Round) -> float:
    return float(one.record.reward - one.episode.features[0] @ one.theta)


def there(arms: FeatureTable) -> np.ndarray:
    """Which arms can be played."""
    return np.ones(len(arms.values), dtype=bool) if arms.present is None else arms.present

"""A small environment of every kind of bandit, and the rounds of a run in it."""

from typing import NamedTuple

import numpy as np

import driftwise as dw
from driftwise.base import Episode, FeatureTable, Plan
from driftwise.environments import (
    LinearBandit,
    cheung_two_armed,
    dynamic_pricing,
    hard_bandit,
    linear_bandit,
    news,
    russac_abrupt,
    russac_logistic,
    russac_smooth,
    wang_logistic,
)
from driftwise.environments.environment import Record
from driftwise.parts import Exploration, ExponentialWeights, LeastSquares

EXAMPLES: dict[str, LinearBandit] = {
    "russac_abrupt": russac_abrupt(num_rounds=60),
    "russac_smooth": russac_smooth(num_rounds=60),
    "russac_logistic": russac_logistic(num_rounds=60),
    "wang_logistic": wang_logistic(num_rounds=60, num_arms=8),
    "cheung_two_armed": cheung_two_armed(num_rounds=60),
    "dynamic_pricing": dynamic_pricing(drift=dw.drift.Gradual((5, 30))),
    "hard_bandit": hard_bandit(dim=3, num_rounds=60),
    "news": news(drift=dw.drift.Abrupt((20, 40))),
    "linear_bandit": linear_bandit(
        arms=dw.arms.FreshArms(6, 2, "ball", fewest=1), path=dw.paths.Rotation(0.0, 3.0, 50), noise_scale=0.3
    ),
}


class Round(NamedTuple):
    """The arms that were offered, the plan, the outcome, and the parameter θ behind it."""

    arms: FeatureTable
    plan: Plan
    record: Record
    episode: Episode
    theta: np.ndarray


def play_rounds(
    environment: LinearBandit, exploration: Exploration, num: int, *, run: int = 0
) -> list[Round]:
    """The rounds of one run."""
    agent = LeastSquares(environment.spec, ExponentialWeights(0.95), exploration)
    return [
        Round(one.features, one.plan, one.record, one.episode, theta)
        for one, theta in zip(
            dw.play(agent, environment, num, run=run), environment.at(np.arange(num)), strict=True
        )
    ]


def noise(one: Round) -> float:
    """Difference between the reward and its mean."""
    return float(one.record.reward - one.episode.features[0] @ one.theta)


def present_arms(arms: FeatureTable) -> np.ndarray:
    """Whether each of the arms can be played."""
    return np.ones(len(arms.values), dtype=bool) if arms.present is None else arms.present

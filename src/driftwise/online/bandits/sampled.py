"""A decider for Thompson sampling by many draws at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import inverse_or_nan
from driftwise.base.random import normal
from driftwise.base.types import FeatureTable, Moments
from driftwise.online.bandits.deciders import Choice, Draws, Offer, episode_of
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Thompson, greedy_policy, radius_at
from driftwise.parts.least_squares import LeastSquares


def fits(agent: Agent) -> bool:
    """Whether `Sampled` leads this agent."""
    return isinstance(agent, LeastSquares) and isinstance(agent.exploration, Thompson) and agent.noise is None


class Sampled:
    """Least squares with Thompson sampling, by shares of n draws that the arms win.

    Draws have the distribution of those of `Planned`, from one inverse and one root for all of them. No plan
    has to wait for the reward.
    """

    def __init__(self, agent: LeastSquares, draws: Draws, num_draws: int) -> None:
        assert isinstance(agent.exploration, Thompson)
        self.agent, self.draws, self._num_draws = agent, draws, num_draws
        self._scale = agent.exploration.scale
        self.state: Moments = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        moments, dim = self.state, self.agent.spec.dim
        gram = moments.gram if moments.gram_sq is None else moments.gram_sq
        try:
            size, root = radius_at(self._scale, moments), np.linalg.cholesky(gram[0])
        except (ArithmeticError, ValueError) as error:
            raise not_finite(self.agent) from error
        drawn = normal(self.draws.key(number), self._num_draws * dim, np.float64).reshape(-1, dim)
        mapped = arms @ inverse_or_nan(moments.gram[0])
        bonus = (size * drawn) @ (mapped @ root).T  # a zᵀ Λ̃^(1/2)ᵀ Λ⁻¹ φ: [n, N]
        index = mapped @ moments.cross[0, :, 0] + bonus
        if not np.isfinite(index).all():
            raise not_finite(self.agent)
        shares = greedy_policy(index).mean(axis=0)
        return Offer(arms, index.mean(axis=0), bonus.mean(axis=0), shares, shares, None)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return offer.taken(arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        plan: Any = None  # what has no noise to learn looks at no plan
        episode = episode_of(choice, reward, weight)
        self.state = self.agent.update(self.state, FeatureTable(episode.features), plan, episode)

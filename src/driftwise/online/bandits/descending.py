"""Deciders for mirror descent through a link: of one memory, and of a mixture of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.arrays import inverse_or_nan, map_tree
from driftwise.base.part import at
from driftwise.base.types import FeatureTable, Forecast, Moments
from driftwise.online.bandits.deciders import Choice, Draws, Offer, best_arms
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Ucb, radius_at
from driftwise.parts.mirror_descent import MirrorDescent, in_ball


def fits(agent: Agent) -> TypeGuard[MirrorDescent]:
    """Whether `Descending` leads this agent."""
    return isinstance(agent, MirrorDescent) and isinstance(agent.exploration, Ucb)


def fits_mixture(agent: Agent) -> TypeGuard[MixtureOfMemories]:
    """Whether `DescendingMixture` leads this agent."""
    return (
        isinstance(agent, MixtureOfMemories)
        and (agent.decision, agent.weighing, agent.origin) == ("heaviest", "together", "zero")
        and fits(agent.base)
    )


class Descents:
    """`MirrorDescent` of J memories at once, whose moments are stacked: `[J, ...]`.

    It has the same formulas without the axes of steps and states.
    """

    def __init__(self, memories: Sequence[MirrorDescent]) -> None:
        self.memories, self.link = memories, memories[0].link
        numbers = [
            (each.rate, each.ridge, each.norm_bound, each.step_size, each.dispersion) for each in memories
        ]
        self._rate, ridge, self._bound, self._step_size, self._dispersion = np.array(numbers).T
        self._refill = ((1 - self._rate) * ridge)[:, None, None] * np.eye(memories[0].spec.dim)

    def index(self, moments: Moments, j: int, arms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`xᵀθ` of memory j and the index, both before the link: `[num_arms]` each."""
        exploration: Any = self.memories[j].exploration
        mapped = arms.dot(inverse_or_nan(moments.gram[j, 0]))
        z, squared = mapped.dot(moments.cross[j, 0, :, 0]), np.vecdot(mapped, arms)
        radius = radius_at(exploration.radius, map_tree(lambda leaf: leaf[j], moments))
        return z, z + radius[..., 0] * np.sqrt(np.abs(squared))  # it may round to a little less than 0

    def forecast(self, moments: Moments, x: np.ndarray, reward: float, weight: float) -> Forecast:
        """The forecasts for the mean of so many rewards, before it is learnt from: `[J, 1]` each."""
        inverse = inverse_or_nan(moments.gram[:, 0])
        along = inverse.dot(x)
        z, width = np.vecdot(along, moments.cross[:, 0, :, 0]), along.dot(x)
        doubt = self.link.slope(z) * width / self._dispersion
        found = Forecast((reward - self.link.mean(z))[:, None], doubt[:, None])
        return found if weight == 1 else found.of_means(np.array(weight))

    def learnt(self, moments: Moments, x: np.ndarray, reward: float, weight: float) -> Moments:
        """The moments after the mean of so many rewards."""
        rate, outer, dispersion = self._rate, x[:, None] * x, self._dispersion / weight
        gram = rate[:, None, None] * moments.gram[:, 0] + self._refill  # A
        inverse = inverse_or_nan(gram)
        along = inverse.dot(x)
        centre = np.vecdot(inverse, (rate[:, None] * moments.cross[:, 0, :, 0])[:, None])  # A⁻¹ηHθ
        z, width = centre.dot(x), along.dot(x)
        curvature = self._step_size * self.link.slope(z) / dispersion
        pull = self._step_size * (self.link.mean(z) - reward) / dispersion
        theta = centre - (pull / (1 + curvature * width))[:, None] * along
        outside = np.vecdot(theta, theta) > self._bound**2
        if outside.any():  # an eigendecomposition
            metric = gram[outside] + curvature[outside, None, None] * outer
            theta[outside] = in_ball(metric, theta[outside], self._bound[outside, None])
        slope = self.link.slope(theta.dot(x)) / dispersion
        gram += slope[:, None, None] * outer
        return moments._replace(
            gram=gram[:, None],
            cross=np.vecdot(gram, theta[:, None])[:, None, :, None],
            tick=moments.tick + 1,
            weight=rate * moments.weight + weight,
            weight_sq=rate * rate * moments.weight_sq + weight,
            memory=rate[:, None] * moments.memory + np.log1p(slope * width)[:, None],
        )

    def offer(self, agent: Agent, moments: Moments, j: int, arms: np.ndarray, *, linked: bool) -> Offer:
        """The arms by memory j, whose policy acts on the index or, `linked`, on its mean reward."""
        try:
            z, index = self.index(moments, j, arms)
        except (ArithmeticError, ValueError) as error:
            raise not_finite(agent) from error
        scores = self.link.mean(index)
        policy, sure = best_arms(scores if linked else index, agent)
        return Offer(arms, scores, scores - self.link.mean(z), policy, policy, None, sure)


class Descending:
    """`MirrorDescent` with upper confidence bounds. Tests hold it equal to `Planned`."""

    def __init__(self, agent: MirrorDescent, draws: Draws) -> None:
        self.agent, self.draws, self._descents = agent, draws, Descents([agent])
        self.state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))

    @property
    def state(self) -> Moments:
        return map_tree(lambda leaf: leaf[0], self._moments)

    @state.setter
    def state(self, state: Moments) -> None:
        self._moments = map_tree(lambda leaf: np.asarray(leaf)[None], state)

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        return self._descents.offer(self.agent, self._moments, 0, arms, linked=False)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return offer.taken(arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        self._moments = self._descents.learnt(self._moments, choice.features, reward, weight)


class DescendingMixture:
    """A mixture of memories of mirror descent, the heaviest of which decides.

    Tests hold it equal to `Planned`.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws) -> None:
        self.agent, self.draws = agent, draws
        self.state: MixtureState = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))
        self._descents = Descents([at(agent.base, j) for j in range(len(self.state.log_weights))])

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        heaviest = int(self.state.log_weights.argmax())
        return self._descents.offer(self.agent, self.state.base, heaviest, arms, linked=True)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return offer.taken(arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        sample = choice.features, reward, weight
        forecast = self._descents.forecast(self.state.base, *sample)
        learnt = self._descents.learnt(self.state.base, *sample)
        self.state = self.agent.weighed(self.state, forecast, learnt, learnt.weight)

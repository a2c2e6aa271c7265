"""A decider for mixtures of memories: all of them learn at once, and the heaviest decides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState, constant_weights
from driftwise.base.agent import Agent
from driftwise.base.arrays import inverse_or_nan, map_tree, solution_or_nan
from driftwise.base.part import at
from driftwise.base.types import FeatureTable, Forecast, Moments, Radius
from driftwise.online.bandits.deciders import Choice, Draws, Offer, best_arms
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import NoiseSums


def fits(agent: Agent) -> bool:
    """Whether `Mixed` leads this agent."""
    return (
        isinstance(agent, MixtureOfMemories)
        and (agent.decision, agent.weighing) == ("heaviest", "together")
        and isinstance(agent.base, LeastSquares)
        and isinstance(agent.base.forgetting, ExponentialWeights)
        and isinstance(agent.base.exploration, Ucb)
        and agent.base.noise is not None
        and agent.base.caution is None
        and len({at(agent.base.noise, j) for j in range(len(agent.base.forgetting.rate))}) == 1
    )


class Mixed:
    """Exponential weights of many lengths with upper confidence bounds: `MixtureOfMemories` for one step.

    It has the same formulas in place, over all memories at once, and computes the index of the heaviest one
    only. Tests hold it equal to `Planned`.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws) -> None:
        self.agent, self.draws = agent, draws
        state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))
        base: Any = agent.base
        self._memories = [at(base, j) for j in range(len(base.forgetting.rate))]
        self._own_noise, rate_of_noise = self._memories[0].noise, agent.noise_forgetting.rate
        rate = np.array(base.forgetting.rate)
        self._rate, square = rate[:, None], rate * rate
        self._rates = np.stack([rate, square])[:, :, None, None, None]  # of Λ and Λ̃
        self._refills = (1 - self._rates) * np.array(base.ridge)[:, None, None, None] * np.eye(agent.spec.dim)
        self._factors = np.stack([rate, square, rate, square, rate, rate])
        self._new = np.ones_like(self._factors)
        self._noise_factors = rate_of_noise ** np.array([1, 2, 1, 1])
        self._noise_new = np.ones(4)
        self.state = state

    @property
    def state(self) -> MixtureState:
        return self._state

    @state.setter
    def state(self, state: MixtureState) -> None:
        """The state in arrays of its own: what shrinks alike lies together, and the state has views of it."""
        own = map_tree(np.array, state)
        base, (moments, total) = own.base, own.base.noise
        self._grams = np.stack([each for each in (base.gram, base.gram_sq) if each is not None])
        sums = [base.weight, base.weight_sq, moments.weight, moments.weight_sq]
        self._sums = np.stack([*sums, moments.gram.ravel(), moments.cross.ravel()])
        self._ticks = np.stack([base.tick, moments.tick])
        count, squares = (each[:, None, None, None] for each in self._sums[4:])
        moments = moments._replace(
            gram=count, cross=squares, weight=self._sums[2], weight_sq=self._sums[3], tick=self._ticks[1]
        )
        base = base._replace(
            gram=self._grams[0],
            gram_sq=None if base.gram_sq is None else self._grams[1],
            tick=self._ticks[0],
            weight=self._sums[0],
            weight_sq=self._sums[1],
            noise=NoiseSums(moments, total),
        )
        common, total_of_all = own.noise
        self._noise_sums = np.array(
            [common.weight, common.weight_sq, common.gram.item(), common.cross.item()]
        )
        views = self._noise_sums[:, None, None, None]
        common = common._replace(
            weight=self._noise_sums[0, ...], weight_sq=self._noise_sums[1, ...], gram=views[2], cross=views[3]
        )
        self._state = own._replace(base=base, noise=NoiseSums(common, total_of_all))
        self._gram, self._cross, self._total = base.gram[:, 0], base.cross[:, 0, :, 0], total[:, 0]
        flat = moments._replace(gram=count[:, 0], cross=squares[:, 0])
        self._errors = NoiseSums(flat, self._total)

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        heaviest = int(self._state.log_weights.argmax())
        try:
            radius = self._radius(heaviest)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        mapped = arms.dot(inverse_or_nan(self._gram[heaviest]))
        if len(self._grams) == 2:
            bonus = np.vecdot(mapped.dot(self._grams[1, heaviest, 0]), mapped)
        else:
            bonus = np.vecdot(mapped, arms)
        bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)
        bonus *= radius
        index = mapped.dot(self._cross[heaviest])
        index += arms.dot(self._state.origin)
        index += bonus
        policy = best_arms(index, self.agent)
        return Offer(arms, index, bonus, policy, policy, None)

    def choice(self, offer: Offer, arm: int) -> Choice:
        table = FeatureTable(offer.arms.copy())
        index, bonus = offer.scores.item(arm), offer.bonus.item(arm)
        return Choice(arm, index, bonus, table.values[arm], (table, None))

    def learn(self, choice: Choice, reward: float, time: float = 0.0) -> None:
        state, features, tick = self._state, choice.features, self._state.tick
        if self.agent.origin == "first" and not tick:
            assert choice.planned is not None
            state.origin[:] = constant_weights(choice.planned[0], reward)
        reward -= features.dot(state.origin).item()
        direction = solution_or_nan(self._gram, features)
        forecast = Forecast(reward - np.vecdot(direction, self._cross), direction.dot(features))
        scores, squares = self.agent.noise.relative_score(state.noise, forecast), forecast.squares
        self._hear(np.exp(state.log_weights).dot(squares))
        tick += 1
        state.log_weights[:] = self.agent.sharing.update(state.log_weights, scores, tick)
        self._absorb(features, reward, squares)
        heaviest = int(state.log_weights.argmax())
        may_renew = self.agent.fresh == "at_alarm" and heaviest + 1 < len(self._memories)
        if may_renew and self.agent.alarm(np.exp(state.log_weights), self._sums[0], tick):
            map_tree(lambda leaf: leaf.__setitem__(-1, leaf[heaviest]), state.base)

    def _hear(self, square: float) -> None:
        """Learn the noise of the scores."""
        self._noise_new[3] = square
        self._noise_sums *= self._noise_factors
        self._noise_sums += self._noise_new
        moments, total = self._state.noise
        moments.tick[...] += 1
        total += square

    def _absorb(self, features: np.ndarray, reward: float, squares: np.ndarray) -> None:
        num = len(self._grams)
        self._grams *= self._rates[:num]  # Λ ← ηΛ + φφᵀ + (1−η)λI, and Λ̃ with η²
        self._grams += self._refills[:num]
        self._grams += features[:, None] * features
        self._cross *= self._rate
        self._cross += reward * features
        self._new[5] = squares
        self._sums *= self._factors
        self._sums += self._new
        self._total += squares
        self._ticks += 1

    def _radius(self, j: int) -> float:
        """The radius of a memory, in units of the noise that it has learnt."""
        base, radius = self._state.base, self._memories[j].exploration.radius
        if isinstance(radius, Radius):
            gram, sums = self._grams[0, j], self._sums
            counts = base.ridge.item(j), base.tick.item(j), sums.item(0, j), sums.item(1, j)
            radius = float(radius.at(Moments(gram, None, gram, *counts, base.epoch.item(j), ())))
        return radius * math.sqrt(self._own_noise.variance(self._errors)[j])

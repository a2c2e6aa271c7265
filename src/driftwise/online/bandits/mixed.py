"""A decider for mixtures of memories: all of them learn at once, and the heaviest decides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import at
from driftwise.base.types import FeatureTable, Moments, Radius
from driftwise.online.bandits.anchored import LARGE
from driftwise.online.bandits.apart import Apart
from driftwise.online.bandits.deciders import Choice, Draws, Offer, best_arms
from driftwise.online.bandits.memories import Memories, Sums, Together
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import WORST, Errors, NoiseSums
from driftwise.parts.radii import ConfidenceRadius


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
    only. What there is once, and not for every memory, is in Python's numbers. Tests hold it equal to
    `Planned`.

    A decision that waits keeps the features of its arm and, for `origin="first"`, behind them which features
    were 1 for all arms; that matters until the first reward.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws) -> None:
        self.agent, self.draws = agent, draws
        state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))
        base: Any = agent.base
        self._bases = [at(base, j) for j in range(len(base.forgetting.rate))]
        self._rates, self._ridges = np.array(base.forgetting.rate), np.array(base.ridge)
        self._prior, self._ones = agent.sharing.prior(state.log_weights), np.ones(len(self._bases))
        rate, square = self._rates, self._rates**2
        self._factors = np.stack([rate, square, rate, square, rate, rate, np.ones_like(rate)])
        self._new = np.ones_like(self._factors)
        self._dim, self._first = agent.spec.dim, agent.origin == "first"
        self._unread = np.broadcast_to(np.nan, (1, self._dim, self._dim))
        self.state = state

    @property
    def state(self) -> MixtureState:
        own, sums = self._state, self._memories.sums
        gram_sq = None if sums.gram_sq is None else sums.gram_sq[:, None]
        base = own.base._replace(gram=sums.gram[:, None], gram_sq=gram_sq, cross=sums.cross[:, None, :, None])
        weight, weight_sq, (held, squares, total, seen) = *self._noise_weights, self._noise
        moments = own.noise.moments._replace(
            gram=np.full((1, 1, 1), held),
            cross=np.full((1, 1, 1), squares),
            weight=np.array(weight),
            weight_sq=np.array(weight_sq),
            tick=np.array(seen),
        )
        noise = NoiseSums(moments, np.full(1, total))
        return own._replace(base=base, tick=np.array(self._tick), noise=noise)

    @state.setter
    def state(self, state: MixtureState) -> None:
        """The state in arrays of its own: what shrinks alike lies together, and the state has views of it."""
        own = map_tree(np.array, state)
        base, (moments, total) = own.base, own.base.noise
        gram_sq = None if base.gram_sq is None else base.gram_sq[:, 0]
        make = Apart if self.agent.spec.dim >= LARGE else Together
        self._memories: Memories = make(
            self._rates, self._ridges, Sums(base.gram[:, 0], gram_sq, base.cross[:, 0, :, 0])
        )
        sums = [base.weight, base.weight_sq, moments.weight, moments.weight_sq]
        self._sums = np.stack([*sums, *(each.ravel() for each in (moments.gram, moments.cross, total))])
        self._ticks = np.stack([base.tick, moments.tick])
        count, squares, total = (each[:, None] for each in self._sums[4:])
        moments = moments._replace(
            gram=count[..., None, None],
            cross=squares[..., None, None],
            weight=self._sums[2],
            weight_sq=self._sums[3],
            tick=self._ticks[1],
        )
        base = base._replace(
            gram=None,  # the memories have them
            gram_sq=None,
            cross=None,
            tick=self._ticks[0],
            weight=self._sums[0],
            weight_sq=self._sums[1],
            noise=NoiseSums(moments, total),
        )
        self._state, self._tick = own._replace(base=base), int(own.tick)
        self._shifted = bool(own.origin.any())
        self._weights = np.exp(own.log_weights)
        common, total = own.noise
        self._noise = Errors(common.gram.item(), common.cross.item(), total.item(), common.tick.item())
        self._noise_weights = common.weight.item(), common.weight_sq.item()

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        heaviest = int(self._weights.argmax())
        try:
            radius = self._radius(heaviest)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        index, bonus = self._memories.estimate(heaviest, arms)
        bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)
        bonus *= radius
        if self._shifted:
            index += arms.dot(self._state.origin)
        index += bonus
        policy, sure = best_arms(index, self.agent)
        return Offer(arms, index, bonus, policy, policy, None, sure)

    def choice(self, offer: Offer, arm: int) -> Choice:
        kept = np.zeros((1 + self._first) * self._dim)
        kept[: self._dim] = offer.arms[arm]
        if self._first and not self._tick:
            kept[self._dim :] = (offer.arms == 1).all(axis=0)
        return Choice(arm, offer.scores.item(arm), offer.bonus.item(arm), kept, None)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        state, features = self._state, choice.features[: self._dim]
        if self._first and not self._tick:
            constant = choice.features[self._dim :]
            state.origin[:] = constant * reward / max(constant.sum(), 1.0)
            self._shifted = bool(state.origin.any())
        if self._shifted:
            reward -= features.dot(state.origin).item()
        if weight != 1:  # √n times the mean of n rewards has the noise of one
            root = math.sqrt(weight)
            features, reward = root * features, root * reward
        error, variance = self._memories.forecast(features, reward)
        doubt = 1 + variance
        squares = error * error
        squares /= doubt
        scores = self._scores(squares, doubt)
        self._hear(self._weights.dot(squares).item())
        self._tick += 1
        self._weigh(scores)
        self._absorb(features, reward, squares, weight)
        heaviest = int(self._weights.argmax())
        may_renew = self.agent.fresh == "at_alarm" and heaviest + 1 < len(self._bases)
        if may_renew and self.agent.alarm(self._weights, self._sums[0], self._tick):
            self._memories.renew(heaviest)
            map_tree(lambda leaf: leaf.__setitem__(-1, leaf[heaviest]), state.base)

    def _scores(self, squares: np.ndarray, doubt: np.ndarray) -> np.ndarray:
        """`LearntNoise.relative_score`, which takes twice the time."""
        noise, errors = self.agent.noise, self._noise
        variance = noise.variance_of(errors)
        if not variance > 0:
            return np.zeros_like(squares)
        degrees = min(noise.count + errors.held, noise.max_degrees)
        scores = squares / (degrees * variance)
        np.minimum(scores, WORST, out=scores)
        np.log1p(scores, out=scores)
        scores *= degrees + 1
        scores += np.log(doubt)
        scores *= -0.5
        return scores

    def _weigh(self, scores: np.ndarray) -> None:
        """`FixedShare.update`, which takes twice the time."""
        log_weights, share = self._state.log_weights, self.agent.sharing.share_at(self._tick)
        scores += log_weights
        scores -= scores.item(scores.argmax())
        posterior = np.exp(scores, out=scores)
        posterior *= (1 - share) / posterior.dot(self._ones).item()
        posterior += share * self._prior
        np.log(posterior, out=log_weights)
        self._weights = np.exp(log_weights)

    def _hear(self, square: float) -> None:
        """Learn the noise of the scores."""
        rate, (weight, weight_sq) = self.agent.noise_forgetting.rate, self._noise_weights
        held, squares, total, seen = self._noise
        self._noise_weights = rate * weight + 1, rate * rate * weight_sq + 1
        self._noise = Errors(rate * held + 1, rate * squares + square, total + square, seen + 1)

    def _absorb(self, features: np.ndarray, reward: float, squares: np.ndarray, weight: float) -> None:
        self._memories.absorb(features, reward)
        self._new[:2] = weight
        self._new[5:] = squares
        self._sums *= self._factors
        self._sums += self._new
        self._ticks += 1

    def _radius(self, j: int) -> float:
        """The radius of a memory, in units of the noise that it has learnt."""
        base, radius, sums = self._state.base, self._bases[j].exploration.radius, self._sums
        if isinstance(radius, Radius):
            counted = isinstance(radius, ConfidenceRadius) and radius.information == "count"
            gram = self._unread if counted else self._memories.gram(j)[None]
            counts = base.ridge.item(j), base.tick.item(j), sums.item(0, j), sums.item(1, j)
            moments = Moments(gram, None, gram, *counts, base.epoch.item(j), ())
            radius = np.asarray(radius.at(moments)).item()
        errors = Errors(sums.item(4, j), sums.item(5, j), sums.item(6, j), self._ticks.item(1, j))
        return radius * math.sqrt(self._bases[j].noise.variance_of(errors))

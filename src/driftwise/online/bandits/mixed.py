"""A decider for mixtures of memories: all of them learn at once, and one of them decides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import at
from driftwise.base.random import fold, normal
from driftwise.base.types import FeatureTable, Key, Moments, Radius
from driftwise.online.bandits.compiled import Compiled, serves
from driftwise.online.bandits.deciders import Choice, Draws, Offer, best_arms
from driftwise.online.bandits.memories import Pair, Sums
from driftwise.online.bandits.weighing import Mixture, Numbers, Weighed
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Thompson, Ucb, greedy_policy
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import Errors, NoiseSums
from driftwise.parts.radii import ConfidenceRadius


def fits(agent: Agent) -> bool:
    """Whether `Mixed` leads this agent."""
    return (
        isinstance(agent, MixtureOfMemories)
        and agent.decision in ("heaviest", "draw")
        and agent.weighing == "together"
        and isinstance(agent.base, LeastSquares)
        and isinstance(agent.base.forgetting, ExponentialWeights)
        and isinstance(agent.base.exploration, Ucb | Thompson)
        and agent.base.noise is not None
        and agent.base.caution is None
        and len({at(agent.base.noise, j) for j in range(len(agent.base.forgetting.rate))}) == 1
    )


class Mixed:
    """Exponential weights of many lengths: `MixtureOfMemories` for one step.

    It computes the index of the heaviest one only, or of the one that is drawn. What each memory has is in a
    `Mixture`; what there is once is here, in Python's numbers. Tests hold it equal to `Planned`.

    A decision that waits keeps the features of its arm and, for `origin="first"`, behind them which features
    were 1 for all arms; that matters until the first reward.

    Agents that draw do so `num_draws` times, as in `Planned`.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws, num_draws: int = 1) -> None:
        self.agent, self.draws = agent, draws
        state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))
        base: Any = agent.base
        self._bases = [at(base, j) for j in range(len(base.forgetting.rate))]
        self._rates, self._ridges = np.array(base.forgetting.rate), np.array(base.ridge)
        self._radii = [_radius_of(each.exploration) for each in self._bases]
        self._samples, self._leads = isinstance(base.exploration, Thompson), agent.decision == "heaviest"
        self._num_draws = num_draws if self._samples or not self._leads else 1
        radius = self._radii[0]
        self._follows = isinstance(radius, Radius)
        self._counts = isinstance(radius, ConfidenceRadius) and radius.information == "count"
        self._prior = np.array(agent.sharing.prior(state.log_weights))
        self._dim, self._first = agent.spec.dim, agent.origin == "first"
        self.state = state

    @property
    def state(self) -> MixtureState:
        own, numbers, ticks = self._state, self._mixture.numbers, np.full(len(self._bases), self._tick)
        sums, (weight, weight_sq, held, held_sq, squares, total), log_weights = numbers
        moments = own.base.noise.moments._replace(
            gram=held[:, None, None, None],
            cross=squares[:, None, None, None],
            weight=held,
            weight_sq=held_sq,
            tick=ticks,
        )
        base = own.base._replace(
            gram=sums.gram[:, None],
            gram_sq=None if sums.gram_sq is None else sums.gram_sq[:, None],
            cross=sums.cross[:, None, :, None],
            tick=ticks,
            weight=weight,
            weight_sq=weight_sq,
            noise=NoiseSums(moments, total[:, None]),
        )
        held, squares, total, seen = self._noise
        moments = own.noise.moments._replace(
            gram=np.full((1, 1, 1), held),
            cross=np.full((1, 1, 1), squares),
            weight=np.array(held),
            weight_sq=np.array(self._held_sq),
            tick=np.array(seen),
        )
        return own._replace(
            base=base,
            log_weights=log_weights,
            tick=np.array(self._tick),
            noise=NoiseSums(moments, np.full(1, total)),
        )

    @state.setter
    def state(self, state: MixtureState) -> None:
        """The state in arrays of its own and Python's numbers."""
        self._state = own = map_tree(np.array, state)
        base, (moments, total) = own.base, own.base.noise
        gram_sq = None if base.gram_sq is None else base.gram_sq[:, 0]
        held = base.weight, base.weight_sq, moments.weight, moments.weight_sq, moments.cross, total
        numbers = Numbers(
            Sums(base.gram[:, 0], gram_sq, base.cross[:, 0, :, 0]),
            np.stack([each.ravel() for each in held]),
            own.log_weights,
        )
        make = Compiled if serves(self._dim) else Weighed
        self._mixture: Mixture = make(self._rates, self._ridges, self._prior, numbers)
        self._tick, self._shifted = int(own.tick), bool(own.origin.any())
        common, total = own.noise
        self._noise = Errors(common.gram.item(), common.cross.item(), total.item(), common.tick.item())
        self._held_sq = common.weight_sq.item()

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        key, mixture = self.draws.key(number), self._mixture
        if self._num_draws > 1:
            return self._offer_by_shares(arms, key)
        j = mixture.heaviest if self._leads else int(self.agent.chosen(mixture.log_weights, key))
        index, bonus = self._indices(j, arms, key)
        policy, sure = best_arms(index, self.agent)
        return Offer(arms, index, bonus, policy, policy, None, sure)

    def _offer_by_shares(self, arms: np.ndarray, key: Key) -> Offer:
        """The offer by shares of draws that the arms win."""
        keys = fold(key, np.arange(self._num_draws))
        deciding = np.full(len(keys), self.agent.chosen(self._mixture.log_weights, keys))
        index, bonus = np.empty((2, len(keys), len(arms)))
        for j in np.unique(deciding).tolist():
            its = deciding == j
            index[its], bonus[its] = self._indices(j, arms, keys[its])
        if not np.isfinite(index).all():
            raise not_finite(self.agent)
        index, bonus, policy = (each.mean(axis=0) for each in (index, bonus, greedy_policy(index)))
        return Offer(arms, index, bonus, policy, policy, None)

    def _indices(self, j: int, arms: np.ndarray, keys: Key) -> Pair:
        """Indices of the arms in a memory, and the part that is exploration: `[N]`, or `[n, N]` of n keys."""
        try:
            radius = self._radius(j)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        if self._samples:
            mean, spread = self._mixture.spread(j, arms)
            bonus = normal(keys, self._dim, np.float64).dot(spread.T)
            bonus *= radius
            index = mean + bonus
        else:
            index, bonus = self._mixture.bounds(j, arms, radius)
        if self._shifted:
            index += arms.dot(self._state.origin)
        return index, bonus

    def choice(self, offer: Offer, arm: int) -> Choice:
        kept = np.zeros((1 + self._first) * self._dim)
        kept[: self._dim] = offer.arms[arm]
        if self._first and not self._tick:
            kept[self._dim :] = (offer.arms == 1).all(axis=0)
        return Choice(arm, offer.scores.item(arm), offer.bonus.item(arm), kept, None)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        origin, features = self._state.origin, choice.features[: self._dim]
        if self._first and not self._tick:
            constant = choice.features[self._dim :]
            origin[:] = constant * reward / max(constant.sum(), 1.0)
            self._shifted = bool(origin.any())
        if self._shifted:
            reward -= float(features.dot(origin))
        if weight != 1:  # √n times the mean of n rewards has the noise of one
            root = math.sqrt(weight)
            features, reward = root * features, root * reward
        noise = self.agent.noise
        degrees, variance = noise.capped_degrees(self._noise), noise.variance_of(self._noise)
        share = self.agent.sharing.share_at(self._tick + 1)
        self._hear(self._mixture.learn(features, reward, weight, degrees, degrees * variance, share))
        self._tick += 1
        self._renew()

    def _hear(self, square: float) -> None:
        """Learn the noise of the scores."""
        rate, (held, squares, total, seen) = self.agent.noise_forgetting.rate, self._noise
        self._held_sq = rate * rate * self._held_sq + 1
        self._noise = Errors(rate * held + 1, rate * squares + square, total + square, seen + 1)

    def _renew(self) -> None:
        """Let the last memory go on from a copy of the heaviest at an alarm."""
        mixture, last = self._mixture, len(self._bases) - 1
        heaviest = mixture.heaviest
        if self.agent.fresh == "never" or heaviest == last:
            return
        weight, prior, held = mixture.weights.item(last), self._prior.item(last), mixture.held[0].item
        if self.agent.alarm(weight, prior, held(last), held(heaviest), self._tick):
            mixture.renew(heaviest)

    def _radius(self, j: int) -> float:
        """The radius of a memory, in units of the noise that it has learnt."""
        base, radius, tick = self._state.base, self._radii[j], self._tick
        weight, weight_sq, held, _, squares, total = self._mixture.held[:, j].tolist()
        if self._counts:
            radius = radius.counted(self._dim, weight_sq, tick, base.epoch.item(j), base.ridge.item(j))
        elif self._follows:
            gram, ridge, epoch = self._mixture.gram(j)[None], base.ridge.item(j), base.epoch.item(j)
            moments = Moments(gram, None, gram, ridge, tick, weight, weight_sq, epoch, ())
            radius = np.asarray(radius.at(moments)).item()
        return radius * math.sqrt(self._bases[j].noise.variance_of(Errors(held, squares, total, tick)))


def _radius_of(exploration: Ucb | Thompson) -> Any:
    """What an arm's deviation is multiplied by."""
    return exploration.scale if isinstance(exploration, Thompson) else exploration.radius

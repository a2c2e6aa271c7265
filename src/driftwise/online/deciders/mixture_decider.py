"""The fast form of mixtures of memories: all of them learn at once, and one of them decides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.base.random import draw_normal, fold
from driftwise.base.types import Key, Moments, Radius
from driftwise.online.deciders.definition import (
    Choice,
    Offer,
    Pair,
    RoundDraws,
    best_arms,
    empty_state,
    offer_by_shares,
)
from driftwise.online.deciders.memories import Sums
from driftwise.online.deciders.mixtures import MemoryStats, MixtureNumbers, make_mixture
from driftwise.online.limits import not_finite
from driftwise.parts import ConfidenceRadius, Thompson
from driftwise.parts.noise import ErrorSums, NoiseSums


class MixtureDecider:
    """`MixtureOfMemories` of least squares with exponential weights, for one step.

    It computes the index of the heaviest memory only, or of the one that is drawn. The numbers of each memory
    are in the mixture; those of all together are here, in Python's numbers.

    Agents that draw do so `num_draws` times, as in `PlannedDecider`.
    """

    def __init__(self, agent: MixtureOfMemories, draws: RoundDraws, num_draws: int = 1) -> None:
        self.agent, self.draws = agent, draws
        base: Any = agent.base
        state = empty_state(agent)
        self._bases: list[Any] = [index_part(base, j) for j in range(agent.num_memories)]
        self._rates, self._ridges = np.array(base.forgetting.rate), np.array(base.ridge)
        self._samples, self._leads = isinstance(base.exploration, Thompson), agent.decision == "heaviest"
        radius_name = "scale" if self._samples else "radius"
        self._radii: list[Any] = [getattr(memory.exploration, radius_name) for memory in self._bases]
        self._num_draws = num_draws if self._samples or not self._leads else 1
        radius = self._radii[0]
        self._follows = isinstance(radius, Radius)
        self._counts = isinstance(radius, ConfidenceRadius) and radius.information == "count"
        self._prior = np.array(agent.sharing.prior(state.log_weights))
        self._dim, self._first = agent.spec.dim, agent.origin == "first"
        self.state = state

    @property
    def state(self) -> MixtureState:
        own, tick = self._state, self._tick
        sums, numbers, log_weights = self._mixture.numbers
        stats, ticks = MemoryStats(*numbers), np.full(len(self._bases), tick)
        moments = own.base.noise.moments._replace(
            gram=stats.error_weight[:, None, None, None],
            cross=stats.squares[:, None, None, None],
            weight=stats.error_weight,
            weight_sq=stats.error_weight_sq,
            tick=ticks,
        )
        base = own.base._replace(
            gram=sums.gram[:, None],
            gram_sq=None if sums.gram_sq is None else sums.gram_sq[:, None],
            cross=sums.cross[:, None, :, None],
            tick=ticks,
            weight=stats.weight,
            weight_sq=stats.weight_sq,
            noise=NoiseSums(moments, stats.total[:, None]),
        )
        error_weight, squares, total, seen = self._errors
        common = own.noise.moments._replace(
            gram=np.full((1, 1, 1), error_weight),
            cross=np.full((1, 1, 1), squares),
            weight=np.array(error_weight),
            weight_sq=np.array(self._error_weight_sq),
            tick=np.array(seen),
        )
        noise = NoiseSums(common, np.full(1, total))
        return own._replace(base=base, log_weights=log_weights, tick=np.array(tick), noise=noise)

    @state.setter
    def state(self, state: MixtureState) -> None:
        """Copy the state into arrays of its own and Python's numbers."""
        self._state = own = map_tree(np.array, state)
        base, (moments, total) = own.base, own.base.noise
        gram_sq = None if base.gram_sq is None else base.gram_sq[:, 0]
        squares = moments.cross.ravel(), total.ravel()
        stats = MemoryStats(base.weight, base.weight_sq, moments.weight, moments.weight_sq, *squares)
        numbers = MixtureNumbers(
            Sums(base.gram[:, 0], gram_sq, base.cross[:, 0, :, 0]), np.stack(stats), own.log_weights
        )
        self._mixture = make_mixture(self._rates, self._ridges, self._prior, numbers)
        self._tick, self._shifted = int(own.tick), bool(own.origin.any())
        common, total = own.noise
        self._errors = ErrorSums(common.gram.item(), common.cross.item(), total.item(), common.tick.item())
        self._error_weight_sq = common.weight_sq.item()

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        key, mixture = self.draws.key(number), self._mixture
        constant = (arms == 1).all(axis=0) if self._first and not self._tick else None
        if self._num_draws > 1:
            return self._offer_by_draws(arms, key)._replace(padded=self._first, constant=constant)
        j = mixture.heaviest if self._leads else int(self.agent.choose_memory(mixture.log_weights, key))
        index, bonus = self._indices(j, arms, key)
        policy, sure = best_arms(index, self.agent)
        return Offer(arms, index, bonus, policy, policy, None, sure, self._first, constant)

    def _offer_by_draws(self, arms: np.ndarray, key: Key) -> Offer:
        """Return the offer whose probabilities are the shares of draws that arms win."""
        keys = fold(key, np.arange(self._num_draws))
        deciding = np.full(len(keys), self.agent.choose_memory(self._mixture.log_weights, keys))
        index, bonus = np.empty((2, len(keys), len(arms)))
        for j in np.unique(deciding).tolist():
            rows = deciding == j
            index[rows], bonus[rows] = self._indices(j, arms, keys[rows])
        return offer_by_shares(arms, index, bonus, self.agent)

    def _indices(self, j: int, arms: np.ndarray, keys: Key) -> Pair:
        """Return indices of arms in a memory and their exploration part: `[N]`, or `[n, N]` for n keys."""
        try:
            radius = self._radius(j)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        if self._samples:
            mean, spread = self._mixture.memory(j).spread(arms)
            bonus = draw_normal(keys, self._dim, np.float64).dot(spread.T)
            bonus *= radius
            index = mean + bonus
        else:
            index, bonus = self._mixture.bounds(j, arms, radius)
        if self._shifted:
            index += arms.dot(self._state.origin)
        return index, bonus

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
        degrees, variance = noise.capped_degrees(self._errors), noise.variance(self._errors)
        share = self.agent.sharing.share_at(self._tick + 1)
        mixture, last = self._mixture, len(self._bases) - 1
        square = mixture.learn(features, reward, weight, degrees, degrees * variance, share)
        rate, (error_weight, squares, total, seen) = self.agent.noise_forgetting.rate, self._errors
        self._error_weight_sq = rate * rate * self._error_weight_sq + 1
        self._errors = ErrorSums(rate * error_weight + 1, rate * squares + square, total + square, seen + 1)
        self._tick += 1
        heaviest = mixture.heaviest
        if self.agent.fresh == "never" or heaviest == last:
            return
        weight, prior, samples = mixture.weights.item(last), self._prior.item(last), mixture.stats[0].item
        if self.agent.alarm(weight, prior, samples(last), samples(heaviest), self._tick):
            mixture.renew(heaviest)  # the last memory goes on from a copy

    def _radius(self, j: int) -> float:
        """Return the radius of a memory, in units of the noise that it has learnt."""
        base, radius, tick = self._state.base, self._radii[j], self._tick
        weight, weight_sq, error_weight, _, squares, total = self._mixture.stats[:, j].tolist()
        if self._counts:
            radius = radius.counted(self._dim, weight_sq, tick, base.epoch.item(j), base.ridge.item(j))
        elif self._follows:
            gram, ridge, epoch = self._mixture.memory(j).gram[None], base.ridge.item(j), base.epoch.item(j)
            moments = Moments(gram, None, gram, ridge, tick, weight, weight_sq, epoch, ())
            radius = np.asarray(radius.at(moments)).item()
        errors = ErrorSums(error_weight, squares, total, tick)
        return radius * math.sqrt(self._bases[j].noise.variance(errors))

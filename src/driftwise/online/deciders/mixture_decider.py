"""The fast form of mixtures of memories: all of them learn at once, and one of them decides."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import (
    CONSTANT,
    MixtureOfMemories,
    MixtureState,
    feature_unit,
)
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.base.random import draw_normal, fold
from driftwise.base.types import Key, Moments, Radius
from driftwise.online.deciders.anchors import MIN_ANCHORED_DIM, anchor_life
from driftwise.online.deciders.batches import learn_part
from driftwise.online.deciders.common_noise import CommonNoise, noise_sums
from driftwise.online.deciders.compiled_mixture import make_mixture
from driftwise.online.deciders.definition import Choice, Decider, Offer, Pair, RoundDraws
from driftwise.online.deciders.memories import MixtureNumbers, Sums, WaitingGram, Width
from driftwise.online.limits import first_state, not_finite
from driftwise.parts import ConfidenceRadius, Thompson
from driftwise.parts.noise import MAX_SQUARE, ErrorSums
from driftwise.parts.radii import GrowingRadius

LARGEST_PART = 256  # rewards that are forecast together


class MixtureDecider(Decider):
    """`MixtureOfMemories` of least squares with exponential weights, for one step.

    It computes the index of the memory that decides only. The numbers of each memory are in the mixture;
    those of all together are here, in Python's numbers. Agents that draw do so `num_draws` times.
    """

    def __init__(self, agent: MixtureOfMemories, draws: RoundDraws, num_draws: int = 1) -> None:
        self.agent, self.draws = agent, draws
        base: Any = agent.base
        state = first_state(agent)
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
        self._dim, self._extends = base.spec.dim, agent.origin == "learnt"
        is_large = self._dim >= MIN_ANCHORED_DIM
        self.least_batch = anchor_life(self._dim) if is_large else 2  # with fewer, anchors go on
        self._learns_prior = base.prior == "learnt"
        self._rows, self._sample = _extended_rows(0, self._dim), _extended_rows(1, self._dim)
        self.state = state

    @property
    def state(self) -> MixtureState:
        own, ticks = self._state, np.full(len(self._bases), self._tick)
        (gram, gram_sq, cross), stats, log_weights = self._mixture.numbers
        weight, weight_sq, error_weight, error_weight_sq, squares, total = stats
        errors = ErrorSums(error_weight, squares, total, ticks)
        sums = gram[:, None], None if gram_sq is None else gram_sq[:, None], cross[:, None, :, None]
        counts = ticks, weight, weight_sq, own.base.epoch, own.base.memory
        base = Moments(*sums, own.base.ridge, *counts, noise_sums(own.base.noise, errors, error_weight_sq))
        tick, origin, unit = map(np.array, (self._tick, self._origin, self._unit))
        return MixtureState(base, log_weights, tick, origin, unit, self._noise.sums)

    @state.setter
    def state(self, state: MixtureState) -> None:
        """Copy the state into arrays of its own and Python's numbers."""
        own = map_tree(lambda leaf: np.array(leaf, order="C"), state)
        base, (moments, total) = own.base, own.base.noise
        self._state = own._replace(base=base._replace(gram=None, gram_sq=None, cross=None))  # may be large
        errors = moments.weight, moments.weight_sq, moments.cross.ravel(), total.ravel()
        gram_sq = None if base.gram_sq is None else base.gram_sq[:, 0]
        sums = Sums(base.gram[:, 0], gram_sq, base.cross[:, 0, :, 0])
        numbers = MixtureNumbers(sums, np.stack([base.weight, base.weight_sq, *errors]), own.log_weights)
        given = self._rates, self._ridges, self._prior, numbers
        self._mixture = make_mixture(*given, in_order=self._samples)
        self._tick, self._origin, self._unit = int(own.tick), own.origin.item(), own.unit.item()
        self._noise = CommonNoise(self.agent, own.noise)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        unit, rows, scaled = 1.0, arms, None
        if self._extends:
            unit, (rows, given) = math.sqrt(self._noise.variance) or 1.0, self._rows
            if len(rows) != len(arms):
                self._rows = rows, given = _extended_rows(len(arms), self._dim)
            length = self._unit
            if not self._tick:  # as `planning_unit` has it
                length = feature_unit(np.sqrt(np.vecdot(arms, arms).max(keepdims=True))).item()
            np.divide(arms, length, given)
            if waiting is not None:
                scaled = WaitingGram(waiting, np.full(self._dim, 1 / length))
                scaled.scale[-1] = CONSTANT
        elif waiting is not None:
            scaled = WaitingGram(np.ascontiguousarray(waiting[:-1, :-1]), np.ones(self._dim))
        blocks = self._mixture.blocks
        if scaled is not None and blocks is not None and not blocks.covers_all(scaled.gram):
            self._mixture = self._mixture.arranged(blocks.extended(scaled.gram))
        key = None if self._leads and not self._samples else self.draws.key(number)
        mixture = self._mixture
        if self._num_draws == 1:
            j = mixture.heaviest if self._leads else int(self.agent.choose_memory(mixture.log_weights, key))
            index, bonus = self._indices(j, rows, key, scaled)
            offer = Offer.of_best(arms, index, bonus, self.agent, unit)
            index += self._origin  # also in the offer
            return offer
        keys = fold(key, np.arange(self._num_draws))  # probabilities are the shares of draws that arms win
        deciding = np.full(len(keys), self.agent.choose_memory(mixture.log_weights, keys))
        index, bonus = np.empty((2, len(keys), len(arms)))
        for j in np.unique(deciding).tolist():
            of_j = deciding == j
            index[of_j], bonus[of_j] = self._indices(j, rows, keys[of_j], scaled)
        return Offer.of_shares(arms, index, bonus, self.agent, unit, self._origin)

    def _indices(self, j: int, arms: np.ndarray, keys: Key | None, waiting: WaitingGram | None) -> Pair:
        """Return indices of arms in a memory and their exploration part: `[N]`, or `[n, N]` for n keys."""
        base, tick, radius, mixture = self._state.base, self._tick, self._radii[j], self._mixture
        weight, weight_sq, error_weight, _, squares, total = mixture.stats[:, j].tolist()
        try:
            if self._counts:
                current = tick if radius.spread == "rounds" else base.epoch.item(j)
                radius = radius.value(self._dim, weight_sq, current + 1, base.ridge.item(j))
            elif isinstance(radius, GrowingRadius):
                radius = radius.value(self._dim, weight)
            elif self._follows:
                gram, ridge, epoch = mixture.memory(j).gram[None], base.ridge.item(j), base.epoch.item(j)
                gram = gram if waiting is None else gram + waiting.matrix
                moments = Moments(gram, None, gram, ridge, tick, weight, weight_sq, epoch, ())
                radius = np.asarray(radius.at(moments)).item()
            variance = self._bases[j].noise.variance(ErrorSums(error_weight, squares, total, tick))
            radius *= math.sqrt(variance)  # it is in units of the learnt noise
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        width = Width(radius, base.ridge.item(j), variance if self._learns_prior else 0.0, waiting)
        if not self._samples:
            return mixture.bounds(j, arms, width)
        mean, spread = mixture.spread(j, arms, width)
        bonus = draw_normal(keys, self._dim, np.float64).dot(spread.T)
        bonus *= radius
        return mean + bonus, bonus

    def score(self, choice: Choice, reward: float, weight: float = 1.0) -> float:
        """Return the score of a sample, as `score_episode` does, where widths are by the inverse gram."""
        variance, degrees = self._noise.variance, self._noise.degrees
        if not (self._tick and variance > 0):
            return 0.0  # the unit of rewards is not known
        row = self._extend(choice.features, self._unit)[None]
        bound, spread = self._mixture.bounds(self._mixture.heaviest, row, Width(1.0))
        error, doubt = reward - self._origin - (bound - spread).item(), weight * spread.item() ** 2
        square = min(weight * error * error / (1 + doubt) / (degrees * variance), MAX_SQUARE)
        top = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
        top -= 0.5 * math.log(math.pi * degrees * variance)
        return top - 0.5 * (math.log1p(doubt) + (degrees + 1) * math.log1p(square))

    def expect(self, choice: Choice) -> None:
        if self._mixture.blocks is not None:
            self._cover(self._extend(choice.features, 1.0))

    def _extend(self, features: np.ndarray, unit: float) -> np.ndarray:
        """Return features as bases see them, valid until the next call."""
        if not self._extends:
            return features
        (row,), (given,) = self._sample
        np.divide(features, unit, given)
        return row

    def _cover(self, features: np.ndarray) -> None:
        """Let a mixture with blocks have entries for all pairs of a sample."""
        blocks = self._mixture.blocks
        if blocks is not None and not blocks.covers(features):
            self._mixture = self._mixture.arranged(blocks.extended())

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        noise, tick = self._noise, self._tick + 1
        if tick == 1:
            self._set_origin(choice.features, reward)
        features, reward = self._extend(choice.features, self._unit), reward - self._origin
        if weight != 1:  # √n times the mean of n rewards has the noise of one
            root = math.sqrt(weight)
            features, reward = root * features, root * reward
        self._cover(features)
        scale, share = noise.degrees * noise.variance, self.agent.sharing.share_at(tick)
        limit = noise.outlier_limit(noise.variance, noise.errors.count)
        square = self._mixture.learn(features, reward, weight, noise.degrees, scale, share, limit)
        noise.absorb(square, 1)
        self._tick = tick
        self._renew_if_due()

    def learn_many(self, choices: Sequence[Choice], rewards: Sequence[float], times: Sequence[float]) -> None:
        """Learn rewards that came together, the oldest first, in one update unless they are few."""
        if len(choices) < self.least_batch:
            super().learn_many(choices, rewards, times)
        else:
            self.learn_batch(np.array([choice.features for choice in choices]), np.array(rewards))

    def learn_batch(self, rows: np.ndarray, rewards: np.ndarray) -> float:
        """Learn rewards in one update (`learn_part`), and return the logarithm of their forecast density.

        Very many are learnt in parts: forecasts of a part do not tell apart memories shorter than it.
        """
        if not self._tick:
            self._set_origin(rows[0], float(np.median(rewards)))
        if self._extends:
            rows, rewards = self.agent.extend(rows, self._unit), rewards - self._origin
        for row in rows:
            self._cover(row)
        numbers, total, num_parts = self._mixture.numbers, 0.0, -(-len(rows) // LARGEST_PART)
        for part in zip(*(np.array_split(array, num_parts) for array in (rows, rewards)), strict=True):
            self._tick += len(part[0])
            numbers, score = learn_part(self._noise, numbers, *part, self._tick)
            total += score
        self._mixture = self._mixture.with_numbers(numbers)
        self._renew_if_due()
        return total

    def _set_origin(self, features: np.ndarray, reward: float) -> None:
        if self._extends:
            state = self.agent.set_origin(self._state, features, reward)
            self._origin, self._unit = state.origin.item(), state.unit.item()

    def _renew_if_due(self) -> None:
        """Restart the last memory if there is an alarm."""
        agent, mixture, last = self.agent, self._mixture, len(self._bases) - 1
        heaviest = mixture.heaviest
        if agent.fresh == "never" or heaviest == last:
            return
        weight, prior, samples = mixture.weights.item(last), self._prior.item(last), mixture.stats[0].item
        if agent.alarm(weight, prior, samples(last), samples(heaviest), self._tick):
            mixture.renew(heaviest)  # the last memory goes on from a copy


def _extended_rows(num: int, dim: int) -> Pair:
    """Return rows as `MixtureOfMemories.extend` makes them, and the view of what is not constant."""
    rows = np.full((num, dim), CONSTANT)
    return rows, rows[:, :-1]

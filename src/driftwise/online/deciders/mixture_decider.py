"""The fast form of mixtures of memories: all of them learn at once, and one of them decides."""

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import (
    CONSTANT,
    EARLY,
    FIRST_CLIPPED,
    MixtureOfMemories,
    MixtureState,
    feature_unit,
)
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.base.random import draw_normal, fold
from driftwise.base.types import Key, Moments, Radius
from driftwise.online.deciders.compiled_mixture import make_mixture
from driftwise.online.deciders.definition import Choice, Offer, Pair, RoundDraws
from driftwise.online.deciders.memories import (
    MixtureNumbers,
    Sums,
    WaitingGram,
    Width,
)
from driftwise.online.limits import first_state, not_finite
from driftwise.parts import ConfidenceRadius, Thompson
from driftwise.parts.noise import ErrorSums, NoiseSums
from driftwise.parts.radii import GrowingRadius


class MixtureDecider:
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
        self._dim, self._extends, self._outlier = base.spec.dim, agent.origin == "learnt", agent.outlier
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
        base = Moments(*sums, own.base.ridge, *counts, _noise_sums(own.base.noise, errors, error_weight_sq))
        noise = _noise_sums(own.noise, self._errors, self._error_weight_sq)
        own = own._replace(base=base, log_weights=log_weights, tick=np.array(self._tick), noise=noise)
        return own._replace(origin=np.array(self._origin), unit=np.array(self._unit))

    @state.setter
    def state(self, state: MixtureState) -> None:
        """Copy the state into arrays of its own and Python's numbers."""
        own = map_tree(lambda leaf: np.array(leaf, order="C"), state)
        base, (moments, total) = own.base, own.base.noise
        self._state = own._replace(
            base=base._replace(gram=None, gram_sq=None, cross=None)
        )  # these may be large
        errors = moments.weight, moments.weight_sq, moments.cross.ravel(), total.ravel()
        gram_sq = None if base.gram_sq is None else base.gram_sq[:, 0]
        sums = Sums(base.gram[:, 0], gram_sq, base.cross[:, 0, :, 0])
        numbers = MixtureNumbers(sums, np.stack([base.weight, base.weight_sq, *errors]), own.log_weights)
        given = self._rates, self._ridges, self._prior, numbers
        self._mixture = make_mixture(*given, in_order=self._samples)
        self._tick, self._origin, self._unit = int(own.tick), own.origin.item(), own.unit.item()
        common, total = own.noise
        self._errors = ErrorSums(common.gram.item(), common.cross.item(), total.item(), common.tick.item())
        self._error_weight_sq = common.weight_sq.item()
        self._variance = self.agent.noise.variance(self._errors)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        unit, rows, scaled = 1.0, arms, None
        if self._extends:
            unit, (rows, given) = math.sqrt(self._variance) or 1.0, self._rows
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

    def expect(self, choice: Choice) -> None:
        if self._mixture.blocks is not None:
            features = choice.features
            if self._extends:
                (features,), (given,) = self._sample
                given[:] = choice.features  # in any unit
            self._cover(features)

    def _cover(self, features: np.ndarray) -> None:
        """Let the mixture have entries for all pairs of a sample."""
        if not self._mixture.blocks.covers(features):
            self._mixture = self._mixture.arranged(self._mixture.blocks.extended())

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        features, agent = choice.features, self.agent
        if self._extends:
            if not self._tick:
                state = agent.set_origin(self._state, features, reward)
                self._origin, self._unit = state.origin.item(), state.unit.item()
            reward -= self._origin
            (features,), (given,) = self._sample
            np.divide(choice.features, self._unit, given)
        if weight != 1:  # √n times the mean of n rewards has the noise of one
            root = math.sqrt(weight)
            features, reward = root * features, root * reward
        noise = agent.noise
        degrees, variance = noise.capped_degrees(self._errors), self._variance
        share, limit = agent.sharing.share_at(self._tick + 1), math.inf
        if self._outlier and variance > 0 and self._errors.count >= FIRST_CLIPPED:
            limit = self._outlier * (1 + EARLY / self._errors.count) * math.sqrt(variance)
        if self._mixture.blocks is not None:
            self._cover(features)
        mixture, last = self._mixture, len(self._bases) - 1
        square = mixture.learn(features, reward, weight, degrees, degrees * variance, share, limit)
        rate, (error_weight, squares, total, seen) = agent.noise_forgetting.rate, self._errors
        self._error_weight_sq = rate * rate * self._error_weight_sq + 1
        self._errors = ErrorSums(rate * error_weight + 1, rate * squares + square, total + square, seen + 1)
        self._variance = noise.variance(self._errors)
        self._tick += 1
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


def _noise_sums(like: NoiseSums, errors: ErrorSums, weight_sq: Any) -> NoiseSums:
    """Return sums of errors as parts have them, from numbers or from arrays `[J]`."""
    weight, squares, total, tick, weight_sq = map(np.asarray, (*errors, weight_sq))
    gram, cross = weight[..., None, None, None], squares[..., None, None, None]
    moments = like.moments._replace(gram=gram, cross=cross, weight=weight, weight_sq=weight_sq, tick=tick)
    return NoiseSums(moments, total[..., None])

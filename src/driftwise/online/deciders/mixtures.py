"""Memories of a mixture together with their weights: by NumPy, and for few dimensions by `_mixture.c`.

The compiled module comes with the wheel for Linux, or is built where driftwise is installed from its source
and a compiler is present. Without it NumPy computes the same numbers to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.online.deciders.anchored_inverse import MIN_ANCHORED_DIM
from driftwise.online.deciders.definition import Pair
from driftwise.online.deciders.memories import AnchoredMemories, AnchoredMemory, BatchedMemories, Sums
from driftwise.parts.noise import MAX_SQUARE

MANY_NUMBERS = 10_000  # of all arms, from which on BLAS is faster
_INTERFACE = 1  # as in `_mixture.c`


def load_kernel() -> Any:
    """Return the compiled class `Mixture`; None where there is none, or one of another interface."""
    try:
        from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    return _mixture.Mixture if vars(_mixture).get("INTERFACE") == _INTERFACE else None


KERNEL = load_kernel()


class MixtureNumbers(NamedTuple):
    """All that a mixture has learnt."""

    sums: Sums
    stats: np.ndarray  # [6, J] the fields of `MemoryStats` of all memories
    log_weights: np.ndarray  # [J]


class MemoryStats(NamedTuple):
    """Numbers of one memory, or arrays `[J]` of all: of its samples, and of the errors of its forecasts."""

    weight: np.ndarray  # Σω of samples
    weight_sq: np.ndarray  # Σω² of samples
    error_weight: np.ndarray  # Σω of errors
    error_weight_sq: np.ndarray  # Σω² of errors
    squares: np.ndarray  # q, the weighted sum of squared errors
    total: np.ndarray  # the sum of squared errors with nothing forgotten


def upper_bounds(estimate: Pair, radius: float) -> Pair:
    """Return upper bounds from means and squared norms, and the part that is exploration."""
    mean, bonus = estimate
    bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)
    bonus *= radius
    return mean + bonus, bonus


class NumpyMixture:
    """Memories that learn from the same samples and are weighed by their forecasts.

    It is called where NumPy warns of nothing, as deciders are. `CompiledMixture` has the same methods, with
    the same numbers to rounding.
    """

    def __init__(
        self, rates: np.ndarray, ridges: np.ndarray, prior: np.ndarray, numbers: MixtureNumbers
    ) -> None:
        dim, num = numbers.sums.cross.shape[-1], len(rates)
        kind = AnchoredMemories if dim >= MIN_ANCHORED_DIM else BatchedMemories
        self._memories: AnchoredMemories | BatchedMemories = kind(rates, ridges, numbers.sums)
        square, ones = rates**2, np.ones(num)
        self._ones, self._worst = ones, MAX_SQUARE * ones
        self._factors = np.stack([rates, square, rates, square, rates, ones])
        self._new = np.ones_like(self._factors)
        self._parts = np.stack([ones, prior])  # u and π of `FixedShare`
        self._posterior = self._parts[0]
        self.stats = numbers.stats.copy()
        self._logs = np.stack([ones, ones, numbers.log_weights, ones])  # the terms of scores
        self._log_errors, self._log_doubts, self.log_weights, _ = self._logs
        self.weights = np.exp(self.log_weights)
        self.heaviest = int(self.weights.argmax())  # the memory of the largest weight

    @property
    def numbers(self) -> MixtureNumbers:
        """The sums, statistics and weights as they are now."""
        return MixtureNumbers(self._memories.sums, self.stats, self.log_weights)

    def memory(self, j: int) -> Sums | AnchoredMemory:
        """Return the regression of memory `j`."""
        return self._memories.memories[j]

    def bounds(self, j: int, arms: np.ndarray, radius: float) -> Pair:
        """Return upper confidence bounds of arms `[N, d]` in memory `j`, and the part that is exploration."""
        return upper_bounds(self.memory(j).estimate(arms), radius)

    def learn(
        self, features: np.ndarray, reward: float, weight: float, degrees: float, scale: float, share: float
    ) -> float:
        """Learn a sample that counts `weight` times, and return its squared error under the weights so far.

        Errors are scored by Student's t of that many degrees of freedom, with a `scale` of as many times the
        noise's variance; at 0 nothing is scored. A `share` of the weights is given back to the prior.
        """
        error, variance = self._memories.forecast(features, reward)
        doubt = variance + self._ones
        squares = error * error
        squares /= doubt
        squared_error = float(self.weights.dot(squares))
        # This is `LearntNoise.relative_score` and `FixedShare.update`, which take three times as long.
        factors, errors = (0.0, 0.0, 1.0, 0.0), self._log_errors
        if scale > 0:
            np.minimum(squares / scale, self._worst, out=errors)
            np.log1p(errors, out=errors)
            np.log(doubt, out=self._log_doubts)
            power = -0.5 * (degrees + 1)
            factors = power, -0.5, 1.0, -power * errors.item(errors.argmin())  # some score is near 0
        posterior = np.exp(np.array(factors).dot(self._logs), out=self._posterior)
        shares = np.array(((1 - share) / float(posterior.dot(self._ones)), share))
        np.log(shares.dot(self._parts), out=self.log_weights)
        np.exp(self.log_weights, out=self.weights)
        self.heaviest = int(self.weights.argmax())
        self._memories.absorb(self.heaviest)
        self._new[4:] = squares
        self.stats *= self._factors
        self.stats += self._new
        if weight != 1:
            self.stats[:2] += weight - 1
        return squared_error

    def renew(self, source: int) -> None:
        """Replace the last memory by a copy of another."""
        self._memories.renew(source)
        self.stats[:, -1] = self.stats[:, source]


class CompiledMixture:
    """The fast form of `NumpyMixture`, whose arrays C owns; `stats` and the weights are read-only views."""

    def __init__(
        self, rates: np.ndarray, ridges: np.ndarray, prior: np.ndarray, numbers: MixtureNumbers
    ) -> None:
        sums, stats, log_weights = numbers
        arrays = rates, ridges, prior, *sums, stats, log_weights
        self._kernel = KERNEL(*(in_c_order(array) for array in arrays), MAX_SQUARE)
        view = np.frombuffer(self._kernel).reshape(-1, len(rates))
        self.stats, self.log_weights, self.weights = view[:-2], view[-2], view[-1]
        self._dim, self._squared = sums.cross.shape[1], sums.gram_sq is not None
        self.heaviest: int = self._kernel.heaviest

    @property
    def numbers(self) -> MixtureNumbers:
        memories = [self.memory(j) for j in range(len(self.weights))]
        gram, gram_sq, cross = zip(*memories, strict=True)
        sums = Sums(np.stack(gram), np.stack(gram_sq) if self._squared else None, np.stack(cross))
        return MixtureNumbers(sums, self.stats, self.log_weights)

    def bounds(self, j: int, arms: np.ndarray, radius: float) -> Pair:
        if arms.size < MANY_NUMBERS:
            index, bonus = np.empty(len(arms)), np.empty(len(arms))
            if self._kernel.bounds(j, radius, in_c_order(arms), index, bonus):
                return index, bonus
        return upper_bounds(self.memory(j).estimate(arms), radius)

    def learn(
        self, features: np.ndarray, reward: float, weight: float, degrees: float, scale: float, share: float
    ) -> float:
        sample = features, reward, weight, degrees, scale, share
        squared_error = self._kernel.learn(*sample)
        if squared_error is None:
            error, variance = self.numbers.sums.forecast(features, reward)
            squared_error = self._kernel.learn_forecast(*sample, error, variance)
        self.heaviest = self._kernel.heaviest
        return squared_error

    def renew(self, source: int) -> None:
        self._kernel.renew(source)

    def memory(self, j: int) -> Sums:
        """Return the sums of one memory, with whole matrices."""
        gram, gram_sq = np.empty((2, self._dim, self._dim))
        sums = Sums(gram, gram_sq if self._squared else None, np.empty(self._dim))
        self._kernel.read(j, *sums)
        return sums


def make_mixture(
    rates: np.ndarray, ridges: np.ndarray, prior: np.ndarray, numbers: MixtureNumbers
) -> NumpyMixture | CompiledMixture:
    """Return the fastest mixture in this many dimensions."""
    compiled = KERNEL is not None and numbers.sums.cross.shape[-1] < MIN_ANCHORED_DIM
    return (CompiledMixture if compiled else NumpyMixture)(rates, ridges, prior, numbers)


def in_c_order(array: np.ndarray | None) -> np.ndarray | None:
    """Return the array as the kernel takes it: itself if it is aligned and in C order, otherwise a copy."""
    if array is None or (array.flags.c_contiguous and array.flags.aligned):
        return array
    return np.array(array, order="C")

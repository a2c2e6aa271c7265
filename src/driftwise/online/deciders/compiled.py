"""The Python side of `_mixture.c`, which is there where a compiler was when driftwise was installed."""

from typing import Any

import numpy as np

from driftwise.base.types import Array
from driftwise.online.deciders.definition import Pair
from driftwise.online.deciders.memories import MixtureNumbers, Sums, Width, upper_bounds
from driftwise.parts.noise import MAX_SQUARE

MANY_NUMBERS = 10_000  # of all arms, from which on BLAS is faster
_INTERFACE = 2  # as in `_mixture.c`


def load_kernel() -> Any:
    """Return the compiled class `Mixture`; None where there is none, or one of another interface."""
    try:
        from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    return _mixture.Mixture if vars(_mixture).get("INTERFACE") == _INTERFACE else None


KERNEL = load_kernel()


class CompiledMixture:
    """The fast form of `NumpyMixture`, whose arrays C owns; `stats` and the weights are read-only views."""

    def __init__(self, rates: Array, ridges: Array, prior: Array, numbers: MixtureNumbers) -> None:
        self._kernel = KERNEL(rates, ridges, prior, *numbers.sums, *numbers[1:], MAX_SQUARE)
        view = np.frombuffer(self._kernel).reshape(-1, len(rates))
        self.stats, self.log_weights, self.weights = view[:-2], view[-2], view[-1]
        self._dim, self._squared = numbers.sums.cross.shape[1], numbers.sums.gram_sq is not None
        self.heaviest: int = self._kernel.heaviest
        self.renew = self._kernel.renew

    @property
    def numbers(self) -> MixtureNumbers:
        memories = [self.memory(j) for j in range(len(self.weights))]
        gram, gram_sq, cross = zip(*memories, strict=True)
        sums = Sums(np.stack(gram), np.stack(gram_sq) if self._squared else None, np.stack(cross))
        return MixtureNumbers(sums, self.stats, self.log_weights)

    def bounds(self, j: int, arms: np.ndarray, width: Width) -> Pair:
        if arms.size < MANY_NUMBERS:
            index, bonus = np.empty(len(arms)), np.empty(len(arms))
            radius, _, variance, waiting = width
            if self._kernel.bounds(j, radius, variance, waiting, np.ascontiguousarray(arms), index, bonus):
                return index, bonus
        return upper_bounds(*self.memory(j).estimate(arms, width), width.radius)

    def learn(self, features: np.ndarray, *numbers: float) -> float:
        sample = features, *numbers
        squared_error = self._kernel.learn(*sample)
        if squared_error is None:
            error, variance = self.numbers.sums.forecast(features, numbers[0])
            squared_error = self._kernel.learn_forecast(*sample, error, variance)
        self.heaviest = self._kernel.heaviest
        return squared_error

    def memory(self, j: int) -> Sums:
        """Return the sums of one memory, with whole matrices."""
        gram, gram_sq = np.empty((2, self._dim, self._dim))
        sums = Sums(gram, gram_sq if self._squared else None, np.empty(self._dim))
        self._kernel.read(j, *sums)
        return sums

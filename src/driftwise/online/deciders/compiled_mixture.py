"""The compiled form of mixtures, and which form of a mixture is the fastest.

`_mixture.c` comes with the wheel for Linux, or is compiled where a compiler is present when driftwise is
installed. NumPy computes the same numbers to rounding.
"""

from typing import Any

import numpy as np

from driftwise.base.types import Array
from driftwise.online.deciders.anchored_memories import AnchoredMemories
from driftwise.online.deciders.anchors import MIN_ANCHORED_DIM
from driftwise.online.deciders.blocks import FeatureBlocks
from driftwise.online.deciders.definition import Pair
from driftwise.online.deciders.memories import MixtureNumbers, NumpyMixture, Sums, Width, upper_bounds
from driftwise.parts.noise import MAX_SQUARE

MIN_BLOCKS_DIM = 64  # dimensions from which on blocks save more than it takes to look for them
MANY_NUMBERS = 10_000  # of all arms, from which on BLAS is faster
_INTERFACE = 3  # as in `_mixture.c`


def load_kernel() -> Any:
    """Return the compiled class `Mixture`; None where there is none, or one of another interface."""
    try:
        from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    return _mixture.Mixture if vars(_mixture).get("INTERFACE") == _INTERFACE else None


KERNEL = load_kernel()


def make_mixture(
    rates: Array,
    ridges: Array,
    prior: Array,
    numbers: MixtureNumbers,
    blocks: FeatureBlocks | None = None,
    *,
    in_order: bool = False,
) -> Any:
    """Return the fastest form of a mixture for its dimensions and for the blocks that its grams have.

    Draws depend on the order of the coordinates, which blocks then keep.
    """
    given, dim = (rates, ridges, prior, numbers), numbers.sums.cross.shape[1]
    if KERNEL is not None and dim >= MIN_BLOCKS_DIM:
        blocks = blocks or FeatureBlocks((numbers.sums.gram != 0).any(axis=0), in_order=in_order)
        if blocks.cost <= largest_cost(dim):
            return CompiledMixture(*given, blocks)
    if dim >= MIN_ANCHORED_DIM:
        return NumpyMixture(*given, AnchoredMemories)
    return NumpyMixture(*given) if KERNEL is None else CompiledMixture(*given)


def largest_cost(dim: int) -> float:
    """Return the cost of blocks up to which they are faster than full matrices."""
    return min(dim**3 / 12, 12.0 * dim**2)  # half of a full matrix, or as long as with anchors


class CompiledMixture:
    """The fast form of `NumpyMixture`, whose arrays C owns; `stats` and the weights are read-only views.

    With `blocks`, matrices have entries for these alone, which must cover all that is learnt and that waits.
    """

    def __init__(
        self,
        rates: Array,
        ridges: Array,
        prior: Array,
        numbers: MixtureNumbers,
        blocks: FeatureBlocks | None = None,
    ) -> None:
        self.blocks, layout = blocks, None if blocks is None else blocks.layout
        self._given = rates, ridges, prior
        self._kernel = KERNEL(rates, ridges, prior, *numbers.sums, *numbers[1:], layout, MAX_SQUARE)
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
        if arms.size < MANY_NUMBERS or self.blocks is not None:
            index, bonus = np.empty(len(arms)), np.empty(len(arms))
            if self._kernel.bounds(j, *_arguments(arms, width), index, bonus):
                return index, bonus
        return upper_bounds(*self.memory(j).estimate(arms, width), width.radius)

    def spread(self, j: int, arms: np.ndarray, width: Width) -> Pair:
        if self.blocks is not None and not self._squared:
            mean, rows = np.empty(len(arms)), np.empty(arms.shape)
            if self._kernel.spread(j, *_arguments(arms, width), mean, rows):
                return mean, rows
        return self.memory(j).spread(arms, width)

    def learn(self, features: np.ndarray, *numbers: float) -> float:
        sample = features, *numbers
        squared_error = self._kernel.learn(*sample)
        if squared_error is None:
            error, variance = self.numbers.sums.forecast(features, numbers[0])
            squared_error = self._kernel.learn_forecast(*sample, error, variance)
        self.heaviest = self._kernel.heaviest
        return squared_error

    def with_numbers(self, numbers: MixtureNumbers) -> Any:
        """Return a mixture of the same form with other numbers."""
        return CompiledMixture(*self._given, numbers, self.blocks)

    def arranged(self, blocks: FeatureBlocks) -> Any:
        """Return the mixture with entries for blocks that cover more, or another where they are too large."""
        if blocks.cost > largest_cost(self._dim):
            return make_mixture(*self._given, self.numbers, blocks)
        self._kernel.arrange(blocks.layout)
        self.blocks = blocks
        return self

    def memory(self, j: int) -> Sums:
        """Return the sums of one memory, with whole matrices."""
        gram, gram_sq = np.empty((2, self._dim, self._dim))
        sums = Sums(gram, gram_sq if self._squared else None, np.empty(self._dim))
        self._kernel.read(j, *sums)
        return sums


def _arguments(arms: np.ndarray, width: Width) -> tuple[Any, ...]:
    gram, scale = width.waiting or (None, None)
    return width.radius, width.variance, gram, scale, np.ascontiguousarray(arms)

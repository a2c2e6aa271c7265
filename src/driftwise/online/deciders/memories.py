"""Memories of a mixture, which learn the same samples and are weighed by their forecasts, by NumPy."""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, map_tree, solve_or_nan, solve_rows_or_nan
from driftwise.base.types import Array
from driftwise.online.deciders.definition import Pair
from driftwise.parts.noise import MAX_SQUARE

_ROOT = 2.0**498
_LARGEST_SQUARE = _ROOT * _ROOT  # on the last two diagonals: a factor exists whatever lies beside them


class WaitingGram(NamedTuple):
    """Sums of decisions that wait: of their features times a scale."""

    gram: np.ndarray  # [d, d]
    scale: np.ndarray  # [d]

    @property
    def matrix(self) -> np.ndarray:
        """The sums `[d, d]`."""
        return self.scale[:, None] * self.scale * self.gram


class Width(NamedTuple):
    """Numbers that, with the sums of a memory, determine the width of a confidence interval."""

    radius: float
    ridge: float = 0.0
    variance: float = 0.0  # of the noise, where the prior is learnt; else 0
    waiting: WaitingGram | None = None

    def excess(self, weights: np.ndarray, trace: Callable[[], float]) -> float:
        """Return `ρ` of `prior="learnt"` from `Λ⁻¹b` and the trace of `Λ⁻¹`, which is seldom needed."""
        most = self.ridge * weights.dot(weights).item() / self.variance
        if not most > 1:
            return 0.0
        rank = len(weights) - self.ridge * trace()
        return self.ridge * max(most / math.sqrt(max(rank, 1.0)) - 1, 0.0)


class Sums(NamedTuple):
    """Sums of the regression of one memory, or of all memories of a mixture: `[J, ...]`."""

    gram: np.ndarray  # [d, d] Λ
    gram_sq: np.ndarray | None  # [d, d] Λ̃; None where it is not used
    cross: np.ndarray  # [d] b

    def estimate(self, arms: np.ndarray, width: Width) -> Pair:
        """Return means `xᵀΛ⁻¹b` of arms in one memory, and squared norms by `Λ⁻¹` or by `Λ⁻¹Λ̃Λ⁻¹`."""
        mean, mapped, _, gram_sq, excess = self._solve(arms, width)
        squares = np.vecdot(mapped, arms if gram_sq is None else mapped.dot(gram_sq))
        if excess:
            squares += excess * np.vecdot(mapped, mapped)
        return mean, squares

    def spread(self, arms: np.ndarray, width: Width) -> Pair:
        """Return means of arms in one memory, and rows `LᵀΛ⁻¹x` with `Λ̃ = LLᵀ`: Thompson's draws."""
        mean, mapped, gram, gram_sq, excess = self._solve(arms, width)
        inner = gram if gram_sq is None else gram_sq
        return mean, mapped.dot(cholesky_or_nan(inner + excess * np.eye(len(inner)) if excess else inner))

    def _solve(self, arms: np.ndarray, width: Width) -> tuple[np.ndarray, np.ndarray, Any, Any, float]:
        """Return means, `Λ⁻¹x` for the width, the matrices that it is taken by, and the excess."""
        gram, gram_sq, cross = self
        mapped = solve_rows_or_nan(gram, arms)
        mean, excess = mapped.dot(cross), 0.0
        if width.variance > 0:
            weights = solve_or_nan(gram, cross)
            excess = width.excess(weights, lambda: float(np.trace(np.linalg.inv(gram))))
        if width.waiting is not None:
            waiting = width.waiting.matrix
            gram = gram + waiting
            gram_sq = None if gram_sq is None else gram_sq + waiting
            mapped = solve_rows_or_nan(gram, arms)
        return mean, mapped, gram, gram_sq, excess

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        """Return the errors and variances of all memories, also where a matrix has no factor."""
        direction = solve_or_nan(self.gram, features)
        return reward - np.vecdot(direction, self.cross), direction.dot(features)


class MixtureNumbers(NamedTuple):
    """All that a mixture has learnt."""

    sums: Sums
    stats: np.ndarray  # [6, J] Σω and Σω² of samples; Σω, Σω² and Σωe²/(1+v) of errors, and Σe²/(1+v)
    log_weights: np.ndarray  # [J]


class BatchedMemories:
    r"""Ridge regressions with exponential weights, whose matrices are updated and factored at once.

    A memory's $\Lambda$ has two rows more: below it lie $b$ and the sample that is forecast, its features
    $\phi$ and its reward $r$,

    $$\begin{pmatrix} \Lambda & & \\ b^\top & \rho & \\ \phi^\top & r & \cdot\end{pmatrix}
      = L L^\top \quad\Rightarrow\quad
      L = \begin{pmatrix} L_\Lambda & & \\ b^\top L_\Lambda^{-\top} & \sqrt\rho & \\
      \phi^\top L_\Lambda^{-\top} & e/\sqrt\rho & \cdot\end{pmatrix}$$

    for a $\rho$ so large that the rest is lost in rounding: the last row of one factorisation has the error
    $e = r - \phi^\top\Lambda^{-1}b$, and $\phi^\top\Lambda^{-1}\phi$ as the square of a length.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        num, dim = sums.cross.shape
        powers = rates[None] if sums.gram_sq is None else np.stack([rates, rates * rates])
        self._dim, self._ones, self._roots, size = dim, np.ones(num), np.full(num, _ROOT), dim + 2
        self._all = np.zeros((*powers.shape, size, size))
        self._all[:, :, :dim, :dim] = [grams for grams in sums[:2] if grams is not None]
        self._all[0, :, dim, :dim] = sums.cross
        self._all[:, :, [dim, dim + 1], [dim, dim + 1]] = _LARGEST_SQUARE
        self._grams, self._sample_rows = self._all[0], self._all[0, :, dim + 1, : dim + 1]
        gram_sq = None if sums.gram_sq is None else self._all[1, :, :dim, :dim]
        self.sums = Sums(self._all[0, :, :dim, :dim], gram_sq, self._all[0, :, dim, :dim])
        self.memories: list[Sums] = [map_tree(operator.itemgetter(j), self.sums) for j in range(num)]
        self._sample = sample = np.zeros(size)
        self._column, self._row = sample[:, None], sample[None]
        self._rates = np.ones_like(self._all)  # whole matrices are faster than numbers
        self._rates[:, :, : dim + 1, : dim + 1] = powers[:, :, None, None]
        self._rates[:, :, dim, dim] = 1
        self._outer, identity = new = np.zeros((2, size, size))  # φφᵀ and I
        identity[:dim, :dim] = np.eye(dim)
        self._new = new.reshape(2, -1)
        shares = np.stack([np.ones_like(powers), (1 - powers) * ridges], axis=-1)  # of both, in every sum
        self._shares, self._gained = shares.reshape(-1, 2), np.empty_like(self._all)
        self._gained_rows = self._gained.reshape(-1, size * size)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        """Return errors and variances `[J]` of a sample."""
        dim, sample = self._dim, self._sample
        sample[:dim], sample[dim] = features, reward
        self._sample_rows[:] = sample[:-1]
        last = cholesky_or_nan(self._grams)[:, -1]
        turned = last[:, :dim]
        variance = np.vecdot(turned, turned)
        if self._ones.dot(variance) < np.inf:
            return self._roots * last[:, dim], variance
        return self.sums.forecast(features, reward)

    def absorb(self, leader: int, excess: float) -> None:
        """Learn the sample forecast last, its reward raised by `excess`; the leader is the heaviest now."""
        self._sample[self._dim] += excess
        np.dot(self._column, self._row, self._outer)
        np.dot(self._shares, self._new, self._gained_rows)
        self._all *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
        self._all += self._gained

    def renew(self, source: int) -> None:
        """Replace the last memory by a copy of another."""
        self._all[:, -1] = self._all[:, source]


def upper_bounds(mean: np.ndarray, squares: np.ndarray, radius: float) -> Pair:
    """Return upper bounds from means and squared norms, in place, and the part that is exploration."""
    bonus = np.sqrt(np.abs(squares, out=squares), out=squares)  # a square may round to a little less than 0
    bonus *= radius
    mean += bonus
    return mean, bonus


class NumpyMixture:
    """Memories that learn from the same samples and are weighed by their forecasts."""

    blocks = None  # all matrices are full

    def __init__(
        self, rates: Array, ridges: Array, prior: Array, numbers: MixtureNumbers, kind: Any = BatchedMemories
    ) -> None:
        self._given, self._kind = (rates, ridges, prior), kind
        self._memories, square, ones = kind(rates, ridges, numbers.sums), rates**2, np.ones(len(rates))
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

    def with_numbers(self, numbers: MixtureNumbers) -> Any:
        """Return a mixture of the same form with other numbers."""
        return NumpyMixture(*self._given, numbers, self._kind)

    def memory(self, j: int) -> Any:
        """Return the regression of memory `j`."""
        return self._memories.memories[j]

    def bounds(self, j: int, arms: np.ndarray, width: Width) -> Pair:
        """Return upper confidence bounds of arms `[N, d]` in memory `j`, and the part that is exploration."""
        return upper_bounds(*self.memory(j).estimate(arms, width), radius=width.radius)

    def spread(self, j: int, arms: np.ndarray, width: Width) -> Pair:
        """Return means of arms in memory `j`, and the rows that Thompson's draws are multiplied by."""
        return self.memory(j).spread(arms, width)

    def learn(
        self,
        features: np.ndarray,
        reward: float,
        weight: float,
        degrees: float,
        scale: float,
        share: float,
        limit: float,
    ) -> float:
        """Learn a sample that counts `weight` times, and return its squared error under the weights so far.

        Errors are scored by Student's t of that many degrees of freedom, with a `scale` of as many times the
        noise's variance; at 0 nothing is scored. A `share` of the weights is given back to the prior. The
        reward is moved to where the error of the heaviest memory is at most `limit` times `√(1+v)`.
        """
        error, variance = self._memories.forecast(features, reward)
        doubt = variance + self._ones
        excess = 0.0
        if limit < math.inf:
            far, most = error.item(self.heaviest), limit * math.sqrt(doubt.item(self.heaviest))
            if abs(far) > most:
                excess = math.copysign(most, far) - far
                error = error + excess
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
        self._memories.absorb(self.heaviest, excess)
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

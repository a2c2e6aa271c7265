"""Forgetting: a weight function ω(t, τ) ∈ [0, 1], and the recursion on the moments that implements it."""

from __future__ import annotations

from operator import add
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import identity_like, map_tree, namespace, vecdot, write_at
from driftwise.base.part import MAX_BITS, count, number, part
from driftwise.base.types import Array, Forgetting, Moments, Numeric, Sample, WeightFunction
from driftwise.base.validation import ArgumentError, require_count
from driftwise.parts.regression import contributions, matvec, squared_share

Sums = tuple[Array, Array | None, Array]  # Λ, Λ̃ and b


class UnitWeights(WeightFunction):
    """Weights of 0 or 1: Λ̃ equals Λ and is left out, unless samples have shares, which it squares."""

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments._replace(gram_sq=None) if sample.share is None else moments


@part
class NoForgetting(UnitWeights):
    """No forgetting: `ω = 1`."""

    def weights(self, tick: int) -> np.ndarray:
        return np.ones(tick)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        sums = map_tree(add, moments[:3], _additions(moments, sample))
        return next_moments(moments, sums, moments.weight + sample.number, moments.weight_sq + sample.number)


@part
class ExponentialWeights(WeightFunction):
    """Exponential weights of rate η: `ω = η^(t−1−τ)`."""

    rate: Numeric = number(above=0, at_most=1)

    def weights(self, tick: int) -> np.ndarray:
        return self.rate ** np.arange(tick - 1, -1, -1, dtype=float)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
        gram_sq = moments.gram_sq
        if gram_sq is not None:  # Λ̃ ← η²Λ̃ + φφᵀ + (1−η²)λI
            gram_sq = _decay(gram_sq, self.rate * self.rate, moments.ridge) + squared_share(sample, gram)
        gram = _decay(moments.gram, self.rate, moments.ridge) + gram  # Λ ← ηΛ + φφᵀ + (1−η)λI
        sums = gram, gram_sq, self.rate * moments.cross + cross
        weight_sq = self.rate * self.rate * moments.weight_sq + sample.number
        return next_moments(moments, sums, self.rate * moments.weight + sample.number, weight_sq)


@part
class PeriodicRestart(UnitWeights):
    """Restarts every `period` ticks: `ω = 1[τ in the epoch of t]`."""

    period: Numeric = number(at_least=1, integer=True)

    def weights(self, tick: int) -> np.ndarray:
        return (np.arange(tick) // self.period == tick // self.period).astype(float)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return _add_or_drop(moments, sample, (moments.tick + 1) % self.period == 0)


@part
class RestartAt(UnitWeights):
    """Restarts at given ticks: `ω = 1[τ ≥ the last restart up to t]`."""

    changes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.changes, (tuple, list)):
            raise ArgumentError("changes", "be a list of ticks", self.changes)
        object.__setattr__(self, "changes", tuple(require_count("changes", tick) for tick in self.changes))

    def weights(self, tick: int) -> np.ndarray:
        last = max((change for change in self.changes if change <= tick), default=0)
        return (np.arange(tick) >= last).astype(float)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        return _add_or_drop(moments, sample, xp.any(moments.tick + 1 == xp.asarray((*self.changes, -1))))


class WindowMemory(NamedTuple):
    """The samples in the window, and sums over those since the last renewal."""

    samples: Any  # their origins, each array with a leading axis of `num_slots`
    recent_gram: Array
    recent_gram_sq: Array | None
    recent_cross: Array


@part
class SlidingWindow(UnitWeights):
    """Sliding window of the last `length` samples: `ω = 1[τ ≥ t − length]`.

    Every `length` ticks the sum of the samples since the last renewal replaces the running sum, so that
    rounding errors do not accumulate. `capacity` is the size of the ring buffer, at least the largest
    `length` of a grid, rounded up to a power of two: similar lengths share a compiled program.
    """

    length: Numeric = number(at_least=1, integer=True)
    capacity: int = count(at_least=0, bits=MAX_BITS, default=0, largest=True)

    def __post_init__(self) -> None:
        longest = require_count("length", max(int(np.max(self.length)), self.capacity), bits=MAX_BITS)
        object.__setattr__(self, "capacity", 1 << (longest - 1).bit_length())

    @property
    def num_slots(self) -> int:
        """One more than the window: the newest sample is written before the oldest is read."""
        return self.capacity + 1

    def weights(self, tick: int) -> np.ndarray:
        return (np.arange(tick) >= tick - self.length).astype(float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        empty = map_tree(lambda new: xp.zeros((self.num_slots, *new.shape), dtype=new.dtype), sample.origin)
        moments = super().init(moments, sample)
        return moments._replace(memory=WindowMemory(empty, *map_tree(xp.zeros_like, moments[:3])))

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        memory: WindowMemory = moments.memory
        # Write before reading: XLA copies a buffer that is read first.
        slot = moments.tick % self.num_slots
        samples = map_tree(lambda ring, new: write_at(ring, slot, new), memory.samples, sample.origin)
        oldest = (moments.tick - self.length) % self.num_slots
        leaving = sample.rebuild(map_tree(lambda ring: ring[oldest], samples))
        present = xp.astype(moments.tick >= self.length, sample.count.dtype)
        leaving = leaving._replace(count=leaving.count * present)
        new, old = _additions(moments, sample), _additions(moments, leaving)

        renew = (moments.tick + 1) % self.length == 0
        recent = map_tree(add, memory[1:], new)
        fresh = map_tree(add, _empty(moments), recent)
        moved = map_tree(lambda now, new, old: now + new - old, moments[:3], new, old)
        sums = map_tree(lambda moved, fresh: xp.where(renew, fresh, moved), moved, fresh)
        recent = map_tree(lambda sums: xp.where(renew, xp.zeros_like(sums), sums), recent)
        weights = (now + sample.number - leaving.number for now in (moments.weight, moments.weight_sq))
        return next_moments(moments, sums, *weights)._replace(memory=WindowMemory(samples, *recent))


@part
class DirectionalForgetting(Forgetting):
    r"""Forgetting only in the direction of each new sample.

    A sample $\phi$ with target $y$ removes the share $1-\eta$ of the information in its own direction:
    $$M = I - (1-\eta)\frac{\Lambda\phi\phi^\top}{\phi^\top\Lambda\phi}, \qquad
    \Lambda \leftarrow M\Lambda + \phi\phi^\top, \qquad b \leftarrow Mb + \phi y^\top, \qquad
    \tilde\Lambda \leftarrow M\tilde\Lambda M^\top + \phi\phi^\top,$$
    from $\Lambda = \tilde\Lambda = \lambda I$. Directions that are not observed again are never forgotten.
    Samples of a squared length below $\epsilon$ = `threshold` are skipped, so that $\min\{\lambda,
    \epsilon/(1-\eta)\} \le \Lambda \le \max\{\lambda, 1/(1-\eta)\}$ for features of length at most one.

    With $\rho$ = `fading` below 1, all directions are forgotten, too. At every tick, before the sample,
    $$\Lambda \leftarrow \rho\Lambda + (1-\rho)\lambda I, \qquad b \leftarrow \rho b, \qquad
    \tilde\Lambda \leftarrow \rho\tilde\Lambda + (1-\rho)\lambda I.$$
    With $\eta = 1$ this is exponential weights of rate $\rho$, in $\Lambda$ and $b$. $\tilde\Lambda$ covers
    the covariance of $b - \Lambda\theta$ in units of the noise variance. In place of $\sum\omega$ stands
    $\max\{0, \operatorname{tr}\Lambda - d\lambda\}$, in the step where it is largest. Lai & Bernstein,
    "SIFt-RLS: Subspace of Information Forgetting Recursive Least Squares", 2024; $\tilde\Lambda$ is ours.
    """

    rate: Numeric = number(above=0, at_most=1)
    threshold: Numeric = number(above=0, default=1e-6)
    fading: Numeric = number(above=0, at_most=1, default=1.0)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp, phi, ridge = namespace(moments.gram), sample.features, moments.ridge
        gram, cross = _decay(moments.gram, self.fading, ridge), self.fading * moments.cross
        is_used = sample.weight * vecdot(phi, phi) >= self.threshold
        sample = sample._replace(count=xp.where(is_used, sample.count, xp.zeros_like(sample.count)))
        gram_in, cross_in = contributions(sample, cross.shape[-1] - 1)

        image = matvec(gram, phi)  # Λφ
        amount = vecdot(image, phi)
        valid = is_used & (amount > 0)
        share = xp.where(valid, (1 - self.rate) / xp.where(valid, amount, 1.0), 0.0)[..., None]  # (1−η)/φᵀΛφ
        root, moved = xp.sqrt(share) * image, (share * image)[..., :, None]
        cross_out = moved * xp.sum(phi[..., :, None] * cross, axis=-2, keepdims=True)
        gram, gram_sq = gram - root[..., :, None] * root[..., None, :] + gram_in, moments.gram_sq
        if gram_sq is not None:  # M Λ̃ Mᵀ, with u = Λ̃φ
            gram_sq = _decay(gram_sq, self.fading, ridge)
            u = matvec(gram_sq, phi)
            half = moved * (u - 0.5 * vecdot(u, phi)[..., None] * share * image)[..., None, :]
            gram_sq = gram_sq - half - xp.matrix_transpose(half) + squared_share(sample, gram_in)
        traces = (xp.linalg.trace(matrix) for matrix in (gram, gram if gram_sq is None else gram_sq))
        weights = (xp.maximum(xp.max(trace) - gram.shape[-1] * ridge, 0 * ridge) for trace in traces)
        return next_moments(moments, (gram, gram_sq, cross - cross_out + cross_in), *weights)


def _add_or_drop(moments: Moments, sample: Sample, restart: Array) -> Moments:
    """Absorb a sample, or drop it together with all samples before it."""
    xp, whole = namespace(moments.gram), map_tree(add, moments[:3], _additions(moments, sample))
    sums = map_tree(lambda whole, empty: xp.where(restart, empty, whole), whole, _empty(moments))
    weights = (xp.where(restart, 0.0, now + sample.number) for now in (moments.weight, moments.weight_sq))
    return next_moments(moments, sums, *weights)._replace(epoch=moments.epoch + restart)


def next_moments(moments: Moments, sums: Sums, weight: Array, weight_sq: Array) -> Moments:
    """Return the moments of the next tick, with these sums of samples and of weights."""
    return Moments(*sums, moments.ridge, moments.tick + 1, weight, weight_sq, *moments[7:])


def _additions(moments: Moments, sample: Sample) -> Sums:
    """Return the contributions of one sample of weight one."""
    gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
    return gram, None if moments.gram_sq is None else squared_share(sample, gram), cross


def _empty(moments: Moments) -> Sums:
    """Return the sums without samples."""
    gram = moments.ridge * identity_like(moments.gram)
    return gram, None if moments.gram_sq is None else gram, namespace(gram).zeros_like(moments.cross)


def _decay(gram: Array, rate: Numeric, ridge: Array) -> Array:
    return rate * gram + (1 - rate) * ridge * identity_like(gram)

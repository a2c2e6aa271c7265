"""Forgetting: a weight function ω(t, τ) ∈ [0, 1], and the recursion on the moments that realises it.

`weights` is the definition; `update` must equal the weighted sum it defines, which the tests check. One
forgetting is no weight function: `DirectionalForgetting`, which multiplies the past by matrices.
The sums Σω and Σω² over samples are kept beside the others, and how often everything was dropped.
Where all weights are 0 or 1, `ω² = ω`, so `gram_sq` would equal `gram` and is left out, unless samples have
shares w ≤ 1: in `gram_sq` they are squared, whatever the weights are.
"""

from __future__ import annotations

from operator import add
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import identity_like, map_tree, namespace, vecdot, write
from driftwise.base.part import BITS, number, part, reserve
from driftwise.base.types import Array, Forgetting, Moments, Numeric, Sample, WeightFunction
from driftwise.base.validation import ArgumentError, require_count
from driftwise.parts.regression import contributions, matvec, squared_share


@part
class NoForgetting(WeightFunction):
    """Every sample counts alike: `ω = 1`."""

    def weights(self, tick: int) -> np.ndarray:
        return np.ones(tick)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return _with_needed_squares(moments, sample)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        gram, gram_sq, cross = map_tree(add, moments[:3], _additions(moments, sample))
        return moments._replace(
            gram=gram,
            gram_sq=gram_sq,
            cross=cross,
            tick=moments.tick + 1,
            weight=moments.weight + sample.number,
            weight_sq=moments.weight_sq + sample.number,
        )


@part
class ExponentialWeights(WeightFunction):
    """A sample's weight shrinks by the rate η at every tick: `ω = η^(t−1−τ)`."""

    rate: Numeric = number(above=0, at_most=1)

    def weights(self, tick: int) -> np.ndarray:
        return self.rate ** np.arange(tick - 1, -1, -1, dtype=float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments

    def update(self, moments: Moments, sample: Sample) -> Moments:
        gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
        gram_sq = moments.gram_sq
        if gram_sq is not None:  # Λ̃ ← η²Λ̃ + φφᵀ + (1−η²)λI
            gram_sq = _decay(gram_sq, self.rate * self.rate, moments.ridge) + squared_share(sample, gram)
        return moments._replace(
            gram=_decay(moments.gram, self.rate, moments.ridge) + gram,  # Λ ← ηΛ + φφᵀ + (1−η)λI
            gram_sq=gram_sq,
            cross=self.rate * moments.cross + cross,
            tick=moments.tick + 1,
            weight=self.rate * moments.weight + sample.number,
            weight_sq=self.rate * self.rate * moments.weight_sq + sample.number,
        )


@part
class PeriodicRestart(WeightFunction):
    """Everything is dropped when a new epoch starts: `ω = 1[τ in the epoch of t]`."""

    period: Numeric = number(at_least=1, integer=True)

    def weights(self, tick: int) -> np.ndarray:
        return (np.arange(tick) // self.period == tick // self.period).astype(float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return _with_needed_squares(moments, sample)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return _add_or_drop(moments, sample, (moments.tick + 1) % self.period == 0)


@part
class RestartAt(WeightFunction):
    """Everything is dropped at given ticks: `ω = 1[τ ≥ the last of them up to t]`."""

    changes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.changes, (tuple, list)):
            raise ArgumentError("changes", "be a list of ticks", self.changes)
        changes = tuple(require_count("changes", tick) for tick in self.changes)
        object.__setattr__(self, "changes", changes)

    def weights(self, tick: int) -> np.ndarray:
        last = max((each for each in self.changes if each <= tick), default=0)
        return (np.arange(tick) >= last).astype(float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return _with_needed_squares(moments, sample)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        over = xp.any(moments.tick + 1 == xp.asarray((*self.changes, -1)))
        return _add_or_drop(moments, sample, over)


class WindowMemory(NamedTuple):
    """The samples in the window, and the sums over those that came since the last renewal."""

    samples: Any  # their origins, each array with a leading axis of `num_slots`
    recent_gram: Array
    recent_gram_sq: Array | None
    recent_cross: Array


@part
class SlidingWindow(WeightFunction):
    """Only the newest `length` samples count: `ω = 1[τ ≥ t − length]`.

    The newest sample is added and the oldest subtracted. Every `length` ticks the samples added since
    the last renewal are exactly the window, and their sum (additions only) replaces the running one:
    rounding errors live for one window and never accumulate.

    `capacity` is what the ring buffer can hold: at least what is asked for and the largest `length` of a
    grid, as a power of two, so that similar lengths share a compiled program. Memory grows with it.
    """

    length: Numeric = number(at_least=1, integer=True)
    capacity: int = reserve(default=0)

    def __post_init__(self) -> None:
        longest = require_count("length", max(int(np.max(self.length)), self.capacity), bits=BITS)
        object.__setattr__(self, "capacity", 1 << (longest - 1).bit_length())

    @property
    def num_slots(self) -> int:
        """One more than a window holds: the newest sample is in before the oldest is out."""
        return self.capacity + 1

    def weights(self, tick: int) -> np.ndarray:
        return (np.arange(tick) >= tick - self.length).astype(float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        empty = map_tree(lambda new: xp.zeros((self.num_slots, *new.shape), dtype=new.dtype), sample.origin)
        moments = _with_needed_squares(moments, sample)
        return moments._replace(memory=WindowMemory(empty, *map_tree(xp.zeros_like, moments[:3])))

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp = namespace(moments.gram)
        memory: WindowMemory = moments.memory
        # Write, then read: a buffer that is read before it is written would be copied when compiled.
        slot = moments.tick % self.num_slots
        samples = map_tree(lambda ring, new: write(ring, slot, new), memory.samples, sample.origin)
        oldest = (moments.tick - self.length) % self.num_slots
        leaving = sample.another(map_tree(lambda ring: ring[oldest], samples))
        present = xp.astype(moments.tick >= self.length, sample.count.dtype)
        leaving = leaving._replace(count=leaving.count * present)
        new, old = _additions(moments, sample), _additions(moments, leaving)

        tick = moments.tick + 1
        renew = tick % self.length == 0
        recent = map_tree(add, memory[1:], new)
        gram, gram_sq, cross = map_tree(
            lambda now, new, old, empty, recent: xp.where(renew, empty + recent, now + new - old),
            moments[:3],
            new,
            old,
            _empty(moments),
            recent,
        )
        left = map_tree(lambda each: xp.where(renew, xp.zeros_like(each), each), recent)
        return moments._replace(
            gram=gram,
            gram_sq=gram_sq,
            cross=cross,
            tick=tick,
            weight=moments.weight + sample.number - leaving.number,
            weight_sq=moments.weight_sq + sample.number - leaving.number,
            memory=WindowMemory(samples, *left),
        )


@part
class DirectionalForgetting(Forgetting):
    r"""Forgets only where there is news: the direction of a sample, in the metric of what is known.

    A sample $\phi$ of target $y$ takes $1-\eta$ of what is known in its own direction away:

    $$M = I - (1-\eta)\frac{\Lambda\phi\phi^\top}{\phi^\top\Lambda\phi}, \qquad
    \Lambda \leftarrow M\Lambda + \phi\phi^\top, \qquad b \leftarrow Mb + \phi y^\top, \qquad
    \tilde\Lambda \leftarrow M\tilde\Lambda M^\top + \phi\phi^\top,$$

    from $\Lambda = \tilde\Lambda = \lambda I$. What is not met again is remembered for ever; on one-hot
    features each arm forgets by its own count. Samples of a squared length below $\epsilon$ = `threshold`
    are skipped, so that $\min\{\lambda, \epsilon/(1-\eta)\} \le \Lambda \le \max\{\lambda, 1/(1-\eta)\}$
    for features of length at most one: no ridge is put back, and nothing winds up.

    With $\rho$ = `fading` below 1 old directions go stale, too. At every tick, before the sample,

    $$\Lambda \leftarrow \rho\Lambda + (1-\rho)\lambda I, \qquad b \leftarrow \rho b, \qquad
    \tilde\Lambda \leftarrow \rho\tilde\Lambda + (1-\rho)\lambda I.$$

    A direction that nobody plays goes back to the ridge, and its width with it. The bounds on $\Lambda$ stay,
    since $\lambda$ lies between them. $\eta = 1$ is then exponential weights of rate $\rho$, in $\Lambda$
    and $b$. Noise would fade by $\rho^2$, and the ridge has to stay in $\tilde\Lambda$ whatever $M$ has
    taken of it: $\rho$ for both covers both, and leaves $\tilde\Lambda \preceq \Lambda$.

    It is no weight function. $b - \Lambda\theta \leftarrow M(b - \Lambda\theta) + \phi\varepsilon$ for
    noise $\varepsilon$, so that $\tilde\Lambda \preceq \Lambda$ is the covariance of that error in units
    of the noise, and the norm of $\Lambda^{-1}\tilde\Lambda\Lambda^{-1}$ its width. In the place of
    $\sum\omega$ is $\operatorname{tr}\Lambda - d\lambda$, or 0: so many samples of length one is
    $\Lambda$ worth, in the step where that is most.

    Reference: Lai & Bernstein, "SIFt-RLS: Subspace of Information Forgetting Recursive Least Squares", 2024.
    The matrix $\tilde\Lambda$ and how it fades are ours.
    """

    rate: Numeric = number(above=0, at_most=1)
    threshold: Numeric = number(above=0, default=1e-6)
    fading: Numeric = number(above=0, at_most=1, default=1.0)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments

    def update(self, moments: Moments, sample: Sample) -> Moments:
        xp, phi, ridge = namespace(moments.gram), sample.features, moments.ridge
        gram, cross = _decay(moments.gram, self.fading, ridge), self.fading * moments.cross
        news = sample.weight * vecdot(phi, phi) >= self.threshold
        sample = sample._replace(count=xp.where(news, sample.count, xp.zeros_like(sample.count)))
        gram_in, cross_in = contributions(sample, cross.shape[-1] - 1)

        known = matvec(gram, phi)  # Λφ
        amount = vecdot(known, phi)
        some = news & (amount > 0)
        lost = xp.where(some, (1 - self.rate) / xp.where(some, amount, 1.0), 0.0)[..., None]  # (1−η)/φᵀΛφ
        out = xp.sqrt(lost) * known
        cross_out = (lost * known)[..., :, None] * xp.sum(phi[..., :, None] * cross, axis=-2, keepdims=True)
        gram, gram_sq = gram - _outer(out, out) + gram_in, moments.gram_sq
        if gram_sq is not None:  # M Λ̃ Mᵀ, with u = Λ̃φ
            gram_sq = _decay(gram_sq, self.fading, ridge)
            u = matvec(gram_sq, phi)
            half = _outer(lost * known, u - 0.5 * vecdot(u, phi)[..., None] * lost * known)
            gram_sq = gram_sq - half - xp.matrix_transpose(half) + squared_share(sample, gram_in)
        return moments._replace(
            gram=gram,
            gram_sq=gram_sq,
            cross=cross - cross_out + cross_in,
            tick=moments.tick + 1,
            weight=_worth(gram, ridge),
            weight_sq=_worth(gram if gram_sq is None else gram_sq, ridge),
        )


def _outer(left: Array, right: Array) -> Array:
    return left[..., :, None] * right[..., None, :]


def _worth(gram: Array, ridge: Array) -> Array:
    """`tr Λ − dλ`, in the step where it is most, and at least 0."""
    xp = namespace(gram)
    most = xp.max(xp.linalg.trace(gram)) - gram.shape[-1] * ridge
    return xp.maximum(most, xp.zeros_like(most))


def _add_or_drop(moments: Moments, sample: Sample, over: Array) -> Moments:
    """Absorb a sample, or drop it together with all before it."""
    xp = namespace(moments.gram)
    gram, gram_sq, cross = map_tree(
        lambda now, new, empty: xp.where(over, empty, now + new),
        moments[:3],
        _additions(moments, sample),
        _empty(moments),
    )
    return moments._replace(
        gram=gram,
        gram_sq=gram_sq,
        cross=cross,
        tick=moments.tick + 1,
        weight=xp.where(over, 0.0, moments.weight + sample.number),
        weight_sq=xp.where(over, 0.0, moments.weight_sq + sample.number),
        epoch=moments.epoch + over,
    )


def _with_needed_squares(moments: Moments, sample: Sample) -> Moments:
    """The moments, without Λ̃ where it would equal Λ: for weights of 0 and 1, where samples have no shares."""
    return moments._replace(gram_sq=None) if sample.share is None else moments


def _additions(moments: Moments, sample: Sample) -> tuple[Array, Array | None, Array]:
    """The additions of one sample to Λ, Λ̃ and b at weight one."""
    gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
    return gram, None if moments.gram_sq is None else squared_share(sample, gram), cross


def _empty(moments: Moments) -> tuple[Array, Array | None, Array]:
    """Λ, Λ̃ and b of no sample."""
    gram = moments.ridge * identity_like(moments.gram)
    return gram, None if moments.gram_sq is None else gram, namespace(gram).zeros_like(moments.cross)


def _decay(gram: Array, rate: Numeric, ridge: Array) -> Array:
    return rate * gram + (1 - rate) * ridge * identity_like(gram)

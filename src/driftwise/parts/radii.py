r"""Radii of confidence sets for the parameter of a linear bandit: one class for each lemma.

All have the form $\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell}$ for $\sigma$-sub-Gaussian noise,
$\|\theta\| \le S$ and $\|x\| \le 1$; they differ in the information term $\ell$ and in what $\delta'$ is.

The deviation inequality for weighted sums that D-LinUCB rests on is stated for all rounds at once, but it
holds at each fixed round only (Y.-S. Wu, 2026). A radius for weighted or windowed samples therefore spreads
$\delta$ over the rounds, see `spread`. The inequality without weights does hold for all rounds at once, but
of one epoch: with restarts $\delta$ is spread over the epochs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import Numbers, namespace
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Moments, Numeric
from driftwise.base.validation import ArgumentError
from driftwise.theory.spreading import Spread, spread


@part
class SelfNormalisedRadius:
    r"""$\ell = \log(\det\Lambda/\lambda^d)$: without weights, for all rounds of all epochs at once.

    Abbasi-Yadkori, Pál & Szepesvári 2011, Theorem 2, for one epoch, with $\delta$ spread over `num_epochs`.
    Where these are not known, `spread="anytime"` finds out from the `period` of restarts which one it is in.
    """

    noise_scale: Numeric = number(at_least=0)
    norm_bound: Numeric = number(at_least=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    period: Numeric = number(at_least=0, integer=True, default=0)
    num_epochs: Numeric = number(at_least=1, default=1)
    spread: Spread = choice("horizon", "anytime", "published", default="horizon")
    scale: Numeric = number(at_least=0, default=1.0)

    def given(self, moments: Moments) -> Array:
        xp = namespace(moments.gram)
        factor = xp.linalg.cholesky(moments.gram)
        roots = xp.linalg.diagonal(factor)
        information = 2 * xp.sum(xp.log(roots), axis=-1) - roots.shape[-1] * xp.log(moments.ridge)
        epoch, _ = _epoch(self, moments)
        known, information = _known(self, moments, self.num_epochs, epoch + 1, information)
        return _radius(self, known, information)


@part
class CountingRadius:
    r"""$\ell = d\log(1 + n/(\lambda d))$ for the $n$ samples of this epoch.

    What the determinant of `SelfNormalisedRadius` can be at most (Abbasi-Yadkori et al. 2011, Lemma 10), so
    it holds wherever that does. `period` is that of restarts, 0 if there are none.
    """

    noise_scale: Numeric = number(at_least=0)
    norm_bound: Numeric = number(at_least=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    period: Numeric = number(at_least=0, integer=True, default=0)
    num_epochs: Numeric = number(at_least=1, default=1)
    spread: Spread = choice("horizon", "anytime", "published", default="horizon")
    scale: Numeric = number(at_least=0, default=1.0)

    def given(self, moments: Moments) -> Array:
        epoch, count = _epoch(self, moments)
        known, count = _known(self, moments, self.num_epochs, epoch + 1, count)
        return _radius(self, known, _information(known, count))


@part
class WindowRadius:
    r"""$\ell = d\log(1 + W/(\lambda d))$ for windows of $W$ samples.

    Cheung, Simchi-Levi & Zhu 2019 (for the restarts of Zhao et al. 2020: their period), with $\delta$ spread
    over `num_rounds` rounds.
    """

    length: Numeric = number(at_least=1)
    noise_scale: Numeric = number(at_least=0)
    norm_bound: Numeric = number(at_least=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    num_rounds: Numeric = number(at_least=0, default=0)  # of the run; for spread="horizon"
    spread: Spread = choice("horizon", "anytime", "published", default="anytime")
    scale: Numeric = number(at_least=0, default=1.0)

    def __post_init__(self) -> None:
        _require_num_rounds(self)

    def given(self, moments: Moments) -> Array:
        known, count = _known(self, moments, self.num_rounds, moments.tick + 1, self.length)
        return _radius(self, known, _information(known, count))


@part
class WeightedRadius:
    r"""$\ell = d\log(1 + (1-\eta^{2n})/(\lambda d(1-\eta^2)))$ after $n$ samples weighted with rate $\eta$.

    Russac, Vernade & Cappé 2019, Theorem 1, with $\delta$ spread over the rounds. At $\eta = 1$ the
    quotient is $n/(\lambda d)$.
    """

    rate: Numeric = number(above=0, at_most=1)
    noise_scale: Numeric = number(at_least=0)
    norm_bound: Numeric = number(at_least=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    num_rounds: Numeric = number(at_least=0, default=0)  # of the run; for spread="horizon"
    spread: Spread = choice("horizon", "anytime", "published", default="anytime")
    scale: Numeric = number(at_least=0, default=1.0)

    def __post_init__(self) -> None:
        _require_num_rounds(self)

    def given(self, moments: Moments) -> Array:
        tick = moments.tick
        known, count, rate = _known(self, moments, self.num_rounds, tick + 1, tick, self.rate)
        xp = known.xp
        decay = 2 * xp.log(rate)
        forgets = decay < 0
        quotient = xp.expm1(count * decay) / xp.where(forgets, xp.expm1(decay), -1.0)
        return _radius(self, known, _information(known, xp.where(forgets, quotient, count)))


def _epoch(radius: SelfNormalisedRadius | CountingRadius, moments: Moments) -> tuple[Array, Array]:
    """The epoch, from 0, and the samples in it; without restarts all samples are of the first."""
    xp = namespace(moments.gram)
    period = xp.asarray(radius.period)
    restarts, length = period > 0, xp.where(period > 0, period, 1)
    epoch = xp.where(restarts, moments.tick // length, 0)
    return epoch, moments.tick - epoch * length


def _require_num_rounds(radius: WindowRadius | WeightedRadius) -> None:
    if radius.spread == "horizon" and np.min(radius.num_rounds) < 1:
        raise ArgumentError("num_rounds", "be a number of at least 1 for spread='horizon'", radius.num_rounds)


class _Known(NamedTuple):
    """What every radius is made of, and the library to compute it in."""

    xp: Any
    like: Array  # [..., d, d] of the library and the precision that the radius is to have
    num_rounds: Numeric  # or epochs
    current: Numeric  # one of them, from 1
    ridge: Numeric
    delta: Numeric
    norm_bound: Numeric
    noise_scale: Numeric
    scale: Numeric


def _known(radius: Any, moments: Moments, num_rounds: Numeric, current: Array, *own: Numeric) -> tuple:
    """That, and what this radius asks for besides: numbers or grids as arrays like the moments.

    Single numbers on NumPy become Python's, if they are not already: a radius is then ten times as fast.
    """
    gram = moments.gram
    values = (num_rounds, current, moments.ridge, radius.delta)
    values += (radius.norm_bound, radius.noise_scale, radius.scale, *own)
    xp: Any = Numbers
    if type(current) is not int:
        xp = namespace(gram)
        if xp is np and not any(isinstance(each, tuple) or np.ndim(each) for each in values):
            xp, values = Numbers, tuple(map(float, values))
        else:
            values = tuple(xp.asarray(each, dtype=gram.dtype) for each in values)
    return _Known(xp, gram, *values[:7]), *values[7:]


def _information(known: _Known, count: Numeric) -> Any:
    dim = known.like.shape[-1]
    return dim * known.xp.log1p(count / (known.ridge * dim))


def _radius(radius: Any, known: _Known, information: Any) -> Array:
    xp, like = known.xp, known.like
    log_term = spread(radius.spread, known.delta, known.num_rounds, known.current, xp)
    deviation = known.noise_scale * xp.sqrt(2 * log_term + information)
    value = known.scale * (xp.sqrt(known.ridge) * known.norm_bound + deviation)
    return namespace(like).asarray(value, dtype=like.dtype)

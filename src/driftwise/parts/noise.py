r"""Noise that a regression learns from the errors of its forecasts, and the scores of these forecasts.

Before a sample with features $\phi$ and target $y$ is absorbed, the regression expects $m = \phi^\top w$ and
knows it up to a variance of $v = \phi^\top\Lambda^{-1}\phi$ in units of the noise's. Then $e^2/(1+v)$ with
$e = y - m$ has the noise's variance as its mean. These squares are regressed on the one feature 1 under the
regression's own forgetting, so that every forgetting applies as it is.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from driftwise.base.arrays import namespace, spd_inverse, vecdot
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Forgetting, Moments, Numeric, Sample
from driftwise.base.validation import ArgumentError
from driftwise.parts.regression import empty_moments, matvec


class Forecast(NamedTuple):
    """Errors of the forecasts for an episode, and how uncertain they were."""

    error: Array  # [H] e = y − φᵀw
    variance: Array  # [H] v = φᵀΛ⁻¹φ


class NoiseSums(NamedTuple):
    """Sums of squared errors, each over `1 + v`."""

    moments: Moments  # of their regression on the feature 1: n = Σω and q = Σω e²/(1+v)
    total: Array  # [H] nothing forgotten


def forecast(
    gram: Array, cross: Array, features: Array, rewards: Array, ahead: Array, successors: Array
) -> Forecast:
    """The forecast of `r_h + V_{h+1}(s_{h+1})` for each step of an episode.

    `gram` is `[H, d, d]`, `cross` `[H, d, 1+S]`, or `[H, d, 1]` without successors, `features` `[H, d]`, and
    `ahead` `[H, S]` the values `V_{h+1}`.
    """
    xp, target = namespace(gram), cross[..., 0]
    if cross.shape[-1] > 1:
        target = target + matvec(cross[..., 1:], ahead)
        rewards = rewards + ahead[xp.arange(len(successors)), successors]
    direction = matvec(spd_inverse(gram), features)
    return Forecast(rewards - vecdot(direction, target), vecdot(direction, features))


@part
class LearntNoise:
    r"""The noise's variance $s^2 = (\nu_0\sigma_0^2 + q)/(\nu_0 + n)$, and Student's t around forecasts.

    $n = \sum\omega$ and $q = \sum\omega\,e^2/(1+v)$. The score of a forecast is the logarithm of the density
    $t_\nu(y;\, m,\, s^2(1+v))$ with $\nu = \nu_0 + n$ degrees of freedom, at most `max_degrees`. Where
    nothing is forgotten, $\sigma_0$ is given and no degree is cut, this is the predictive density of
    conjugate regression, with the prior $N(0, s^2/\lambda\,I)$.

    Fewer degrees mean heavier tails: then a rare outcome counts for less.

    `count` is $\nu_0$. `scale` is $\sigma_0$; 0 takes the mean of all squares so far instead, so that nothing
    depends on the unit of rewards. `units="noise"` multiplies exploration by $s$; `"one"` leaves it alone.
    """

    count: Numeric = number(above=0, default=2.0)
    scale: Numeric = number(at_least=0, default=0.0)
    max_degrees: Numeric = number(above=0, default=1e12)
    units: Literal["noise", "one"] = choice("noise", "one", default="noise")

    def init(self, forgetting: Forgetting, steps: Array) -> NoiseSums:
        """No errors yet; `steps` `[H]` are zeros that show shape and type."""
        sample = _squares(steps)
        return NoiseSums(forgetting.init(empty_moments(sample, 0, 0.0, gram_sq=False), sample), steps)

    def update(self, forgetting: Forgetting, sums: NoiseSums, forecast: Forecast) -> NoiseSums:
        """The sums after one more forecast for each step."""
        squares = forecast.error**2 / (1 + forecast.variance)
        return NoiseSums(forgetting.update(sums.moments, _squares(squares)), sums.total + squares)

    def degrees(self, sums: NoiseSums) -> Array:
        """`ν₀ + n` for each step."""
        return self.count + namespace(sums.total).maximum(sums.moments.gram[..., 0, 0], 0)

    def variance(self, sums: NoiseSums) -> Array:
        """`s²` for each step; 1 before anything was seen."""
        xp, (moments, total) = namespace(sums.total), sums
        mean = xp.where(moments.tick > 0, total / xp.maximum(moments.tick, 1), 1.0)
        squares = xp.maximum(moments.cross[..., 0, 0], 0)  # a window may round below 0
        return (self.count * xp.where(self.scale > 0, self.scale**2, mean) + squares) / self.degrees(sums)

    def unit(self, sums: NoiseSums) -> Array:
        """The factor of exploration at each step."""
        xp = namespace(sums.total)
        return xp.ones_like(sums.total) if self.units == "one" else xp.sqrt(self.variance(sums))

    def score(self, sums: NoiseSums, forecast: Forecast) -> Array:
        """Logarithm of the density of what came, for each step; 0 as long as every error was 0."""
        return self.density(self.variance(sums), self.degrees(sums), forecast)

    def density(self, variance: Array, degrees: Array, forecast: Forecast) -> Array:
        """The logarithm of `t_ν(y; m, s²(1+v))`."""
        xp, known = namespace(variance), variance > 0
        degrees = xp.minimum(degrees, self.max_degrees)
        spread = degrees * xp.where(known, variance, 1.0) * (1 + forecast.variance)
        away = (degrees + 1) * xp.log1p(forecast.error**2 / spread)
        return xp.where(known, log_gamma_step(degrees / 2) - 0.5 * (xp.log(math.pi * spread) + away), 0.0)


def learning(noise: LearntNoise | None) -> LearntNoise:
    """The part of an agent that learns its noise; an `ArgumentError` if it has none."""
    if noise is None:
        raise ArgumentError("noise", "be learnt by an agent whose forecasts are scored", None)
    return noise


def log_gamma_step(x: Array) -> Array:
    r"""$\log\Gamma(x+\frac12) - \log\Gamma(x)$ for $x > 0$, to rounding.

    The asymptotic series at $x + 16$, and $\Gamma(x+1) = x\,\Gamma(x)$ for the way there.
    """
    xp = namespace(x)
    between = x[..., None] + xp.arange(16, dtype=x.dtype)
    shift = xp.log((between / (between + 0.5)).prod(axis=-1))
    far = x + 16
    inverse = 1 / (far * far)
    series = 0.0
    for coefficient in (17 / 14336, -1 / 640, 1 / 192, -1 / 8):
        series = series * inverse + coefficient
    return shift + 0.5 * xp.log(far) + series / far


def _squares(squares: Array) -> Sample:
    """Squared errors `[H]` as a sample of their regression."""
    xp = namespace(squares)
    ones = xp.ones_like(squares)
    return Sample(ones[..., None], squares, xp.zeros(squares.shape, dtype=xp.int32), ones)

r"""The noise scale of a regression, learnt from its forecast errors, and log scores of forecasts.

Before a sample with features $\phi$ and target $y$ is absorbed, the forecast has mean $m = \phi^\top w$ and
variance $v = \phi^\top\Lambda^{-1}\phi$ in units of the noise variance. With $e = y - m$, the expectation of
$e^2/(1+v)$ is the noise variance. These squares are regressed on the feature 1, with any forgetting.
"""

import math
from typing import NamedTuple

from driftwise.base.arrays import compute_after, namespace, spd_products
from driftwise.base.part import number, part
from driftwise.base.types import Array, Forecast, Forgetting, Moments, Numeric, Sample
from driftwise.parts.regression import empty_moments

MAX_SQUARE = 1e30  # larger squared errors, in units of the noise variance, are clipped to keep scores finite


class ErrorSums(NamedTuple):
    """Sums of squared errors: arrays `[H]`, or Python numbers for one step, which are faster."""

    weight: Array  # n = Σω
    squares: Array  # q = Σω e²/(1+v)
    total: Array  # the same without forgetting
    count: Array  # number of squares


class NoiseSums(NamedTuple):
    """Sums of squared errors divided by `1 + v`."""

    moments: Moments  # of their regression on the feature 1: Σω and Σω e²/(1+v)
    total: Array  # [H] without forgetting

    @property
    def errors(self) -> ErrorSums:
        """The sums that determine the noise scale, for each step."""
        maximum, (gram, _, cross) = namespace(self.total).maximum, self.moments[:3]
        # A window may round below 0.
        weight, squares = (maximum(sums[..., 0, 0], 0) for sums in (gram, cross))
        return ErrorSums(weight, squares, self.total, self.moments.tick)


def forecast_episode(
    gram: Array, cross: Array, features: Array, rewards: Array, values: Array, successors: Array
) -> Forecast:
    """Return the forecast of `r_h + V_{h+1}(s_{h+1})` for each step; `values` `[H, S]` are the `V_{h+1}`."""
    xp, target = namespace(gram), cross[..., 0]
    if cross.shape[-1] > 1:  # with successors
        of_targets = xp.concat([xp.ones_like(values[..., :1]), values], axis=-1)
        target = (cross @ of_targets[..., None])[..., 0]  # y = (r, e_{s'}), of values (1, V)
        rewards = rewards + values[xp.arange(len(successors)), successors]

    gram = compute_after(gram, features[..., None, :])  # features depend on the plan
    products = spd_products(gram, xp.stack([features, target], axis=-2))
    return Forecast(rewards - products[..., 1], products[..., 0])


@part
class LearntNoise:
    r"""The noise variance $s^2 = (\nu_0P + q)/(\nu_0 + n)$, and Student's t around forecasts.

    $n = \sum\omega$ and $q = \sum\omega\,e^2/(1+v)$. $P$ is the mean of all squares, so that scores do not
    depend on the unit of rewards. `count` is $\nu_0$. The first `lost` squares are 0 whatever the noise is,
    and do not count in $P$.

    The score of a forecast is the logarithm of the density $t_\nu(y;\, m,\, s^2(1+v))$ with
    $\nu = \nu_0 + n$ degrees of freedom, at most `max_degrees`.
    """

    count: Numeric = number(above=0, default=2.0)
    max_degrees: Numeric = number(above=0, default=1e12)
    lost: Numeric = number(at_least=0, default=0.0)

    def init(self, forgetting: Forgetting, steps: Array) -> NoiseSums:
        """Return empty sums; `steps` `[H]` are zeros of the right type."""
        sample = _squares(steps)
        return NoiseSums(forgetting.init(empty_moments(sample, 0, 0.0, gram_sq=False), sample), steps)

    def update(self, forgetting: Forgetting, sums: NoiseSums, squares: Array) -> NoiseSums:
        """Return the sums after one more square `e²/(1+v)` for each step."""
        return NoiseSums(forgetting.update(sums.moments, _squares(squares)), sums.total + squares)

    def variance(self, errors: ErrorSums) -> Array:
        """Return `s²` for each step; 1 before the first sample."""
        weight, squares, total, count = errors
        known = count - self.lost
        mean = self.count * (total + (known <= 0)) / namespace(total).maximum(known, 1)  # ν₀P
        return (mean + squares) / (self.count + weight)

    def deviation(self, errors: ErrorSums) -> Array:
        """Return `s` for each step."""
        return namespace(errors.total).sqrt(self.variance(errors))

    def score(self, errors: ErrorSums, forecast: Forecast) -> Array:
        """Return `log t_ν(y; m, s²(1+v))` of the outcome, `[..., H]`; 0 while every error is 0."""
        xp, variance, degrees = namespace(errors.total), self.variance(errors), self.capped_degrees(errors)
        valid = variance > 0
        top = log_gamma_step(degrees / 2) - 0.5 * xp.log(math.pi * degrees * xp.where(valid, variance, 1.0))
        return xp.where(valid, top, 0.0) + self.relative_score(errors, forecast)

    def relative_score(self, errors: ErrorSums, forecast: Forecast) -> Array:
        """Return the score minus that of a forecast with `e = v = 0`."""
        variance, degrees = self.variance(errors), self.capped_degrees(errors)
        valid, xp = variance > 0, namespace(forecast.error)
        scale = degrees * namespace(errors.total).where(valid, variance, 1.0)
        distance = xp.minimum(forecast.squares / scale, MAX_SQUARE)
        return -0.5 * valid * (xp.log(1 + forecast.variance) + (degrees + 1) * xp.log1p(distance))

    def capped_degrees(self, errors: ErrorSums) -> Array:
        """Return the degrees of freedom of the score."""
        return namespace(errors.total).minimum(self.count + errors.weight, self.max_degrees)


def log_gamma_step(x: Array) -> Array:
    r"""$\log\Gamma(x+\frac12) - \log\Gamma(x)$ by the series at $x + 16$ and $\Gamma(x+1) = x\,\Gamma(x)$."""
    xp = namespace(x)
    between = x[..., None] + xp.arange(16, dtype=x.dtype)
    shift = xp.log((between / (between + 0.5)).prod(axis=-1))
    far, series = x + 16, 0.0
    inverse = 1 / (far * far)
    for coefficient in (17 / 14336, -1 / 640, 1 / 192, -1 / 8):
        series = series * inverse + coefficient
    return shift + 0.5 * xp.log(far) + series / far


def _squares(squares: Array) -> Sample:
    """Return squared errors `[H]` as a sample of their regression."""
    xp = namespace(squares)
    ones, nowhere = xp.ones_like(squares), xp.zeros(squares.shape, dtype=xp.int32)
    return Sample(ones[..., None], squares, nowhere, ones)

r"""Noise that a regression learns from the errors of its forecasts, and the scores of these forecasts.

Before a sample with features $\phi$ and target $y$ is absorbed, the regression expects $m = \phi^\top w$ and
knows it up to a variance of $v = \phi^\top\Lambda^{-1}\phi$ in units of the noise's. Then $e^2/(1+v)$ with
$e = y - m$ has the noise's variance as its mean. These squares are regressed on the one feature 1, so that
every forgetting applies as it is: the regression's own, or another for the noise of a mixture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from driftwise.base.arrays import after, namespace, spd_products
from driftwise.base.part import number, part
from driftwise.base.types import Array, Forecast, Forgetting, Moments, Numeric, Sample
from driftwise.parts.regression import empty_moments

WORST = 1e30  # squared errors beyond this, in units of the noise, score alike: some score is always finite


class NoiseSums(NamedTuple):
    """Sums of squared errors, each over `1 + v`."""

    moments: Moments  # of their regression on the feature 1: n = Σω and q = Σω e²/(1+v)
    total: Array  # [H] nothing forgotten

    @property
    def errors(self) -> Errors:
        """The numbers that the noise follows from, for each step."""
        moments, total = self
        xp = namespace(total)
        held, squares = (xp.maximum(each[..., 0, 0], 0) for each in (moments.gram, moments.cross))
        return Errors(held, squares, total, moments.tick)  # a window may round below 0


class Errors(NamedTuple):
    """Sums of squared errors as arrays `[H]`, or of one step as Python's numbers, which are faster."""

    held: Array  # n = Σω
    squares: Array  # q = Σω e²/(1+v)
    total: Array  # the same with nothing forgotten
    seen: Array  # how many there were


def forecast_episode(
    gram: Array, cross: Array, features: Array, rewards: Array, ahead: Array, successors: Array
) -> Forecast:
    """The forecast of `r_h + V_{h+1}(s_{h+1})` for each step of an episode.

    `gram` is `[H, d, d]`, `cross` `[H, d, 1+S]`, or `[H, d, 1]` without successors, `features` `[H, d]`, and
    `ahead` `[H, S]` the values `V_{h+1}`.
    """
    xp, target = namespace(gram), cross[..., 0]
    if cross.shape[-1] > 1:
        values = xp.concat([xp.ones_like(ahead[..., :1]), ahead], axis=-1)
        target = (cross @ values[..., None])[..., 0]  # y = (r, e_{s'}), values (1, V)
        rewards = rewards + ahead[xp.arange(len(successors)), successors]

    gram = after(gram, features[..., None, :])  # what was played waits for the plan
    products = spd_products(gram, xp.stack([features, target], axis=-2))
    return Forecast(rewards - products[..., 1], products[..., 0])


@part
class LearntNoise:
    r"""The noise's variance $s^2 = (\nu_0P + q)/(\nu_0 + n)$, and Student's t around forecasts.

    $n = \sum\omega$ and $q = \sum\omega\,e^2/(1+v)$. Without a `scale`, $P$ is the mean of all squares, so
    that nothing depends on the unit of rewards. With one, it is the mean of $\nu_0$ squares of
    $\sigma_0$ = `scale` and of all that was forgotten: a wrong $\sigma_0$ is outweighed in time. `count` is
    $\nu_0$, and $s$ is at least `least`.

    The score of a forecast is the logarithm of the density $t_\nu(y;\, m,\, s^2(1+v))$ with
    $\nu = \nu_0 + n$ degrees of freedom, at most `max_degrees`. Where nothing is forgotten, $\sigma_0$ is
    given and no degree is cut, this is the predictive density of conjugate regression, with the prior
    $N(0, s^2/\lambda\,I)$. Fewer degrees mean heavier tails: then a rare outcome counts for less.
    """

    count: Numeric = number(above=0, default=2.0)
    scale: Numeric = number(at_least=0, default=0.0)
    least: Numeric = number(at_least=0, default=0.0)
    max_degrees: Numeric = number(above=0, default=1e12)

    def init(self, forgetting: Forgetting, steps: Array) -> NoiseSums:
        """No errors yet; `steps` `[H]` are zeros that show shape and type."""
        sample = _squares(steps)
        return NoiseSums(forgetting.init(empty_moments(sample, 0, 0.0, gram_sq=False), sample), steps)

    def update(self, forgetting: Forgetting, sums: NoiseSums, squares: Array) -> NoiseSums:
        """The sums after one more square `e²/(1+v)` for each step."""
        return NoiseSums(forgetting.update(sums.moments, _squares(squares)), sums.total + squares)

    def degrees(self, sums: NoiseSums) -> Array:
        """`ν₀ + n` for each step."""
        return self.count + sums.errors.held

    def variance(self, sums: NoiseSums) -> Array:
        """`s²` for each step; 1 before anything was seen."""
        return self.variance_of(sums.errors)

    def variance_of(self, errors: Errors) -> Array:
        """`s²`."""
        held, squares, total, seen = errors
        xp, told, degrees = namespace(total), self.scale > 0, self.count + held
        sum_before, num_before = total + (1 - told) * (seen == 0), xp.maximum(seen, 1 - told)
        if told is not False:  # it is True, or an array
            sum_before = sum_before + told * (self.count * self.scale * self.scale - squares)
            num_before = num_before + told * (2 * self.count - degrees)
        variance = (self.count * sum_before / num_before + squares) / degrees
        return xp.maximum(variance, self.least * self.least)

    def deviation(self, sums: NoiseSums) -> Array:
        """`s` for each step."""
        return namespace(sums.total).sqrt(self.variance(sums))

    def score(self, sums: NoiseSums, forecast: Forecast) -> Array:
        """`log t_ν(y; m, s²(1+v))` of what came, `[..., H]`; 0 as long as every error was 0."""
        xp, variance, degrees = namespace(sums.total), self.variance(sums), self.capped_degrees(sums.errors)
        known = variance > 0
        top = log_gamma_step(degrees / 2) - 0.5 * xp.log(math.pi * degrees * xp.where(known, variance, 1.0))
        return xp.where(known, top, 0.0) + self.relative_score(sums.errors, forecast)

    def relative_score(self, errors: Errors, forecast: Forecast) -> Array:
        """The score less what it is for a forecast without error or doubt, `e = v = 0`."""
        variance, degrees = self.variance_of(errors), self.capped_degrees(errors)
        known, xp = variance > 0, namespace(forecast.error)
        scale = degrees * namespace(errors.total).where(known, variance, 1.0)
        away = xp.minimum(forecast.squares / scale, WORST)
        return -0.5 * known * (xp.log(1 + forecast.variance) + (degrees + 1) * xp.log1p(away))

    def capped_degrees(self, errors: Errors) -> Array:
        """The degrees of freedom that errors are scored with."""
        return namespace(errors.total).minimum(self.count + errors.held, self.max_degrees)


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

r"""Intervals for means of scores, and confidence sequences for means of outcomes that drift.

Less its expectation given the past, the difference $D_t$ of two scores is an increment of a martingale,
however rewards drift and actions were chosen: $\bar D \pm zs$ with the usual standard error $s$ is about the
mean of these expectations over the rows of this log.

The confidence sequences, and the test of whether a mean changed, rest on one supermartingale. Let
$\xi_i \ge c - 1$ have the mean $\mu_i \le c$ given the past, and let the centres $\hat\xi_{i-1} \le c$ and
bets $\lambda_i \in [0, 1)$ be known before $\xi_i$. Whatever $\mu_i$ does,

$$\exp\Bigl(\sum_i \lambda_i(\xi_i - \mu_i) - \psi(\lambda_i)(\xi_i - \hat\xi_{i-1})^2\Bigr), \qquad
  \psi(\lambda) = -\log(1-\lambda) - \lambda,$$

is a supermartingale, and so exceeds $1/\alpha$ with probability $\alpha$ at most, at any time.

References: Giacomini & White, "Tests of Conditional Predictive Ability", Econometrica 2006; Choe & Ramdas,
"Comparing Sequential Forecasters", Operations Research 2024; Hsu, "Simultaneous Confidence Intervals for All
Distances from the 'Best'", Annals of Statistics 1981; Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro
2022; Waudby-Smith & Ramdas, JRSS B 2024; Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Annals of Statistics
2024, for the asymptotic one. The mixture of bets and the exponential weights are our own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

NORMAL = NormalDist()
_TAIL = (1 - 0.95) / 2  # the probability on either side of an interval
_BETS = tuple(2.0**-j for j in range(1, 9))
_NUM_CELLS = 128  # of the values that a test of constancy rejects


class Interval(NamedTuple):
    """A value, and an interval that covers what it estimates; NaN where there are too few rows."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half_width: float) -> Self:
        """Return a value with as much on either side of it."""
        return cls(value, value - half_width, value + half_width)


def normal_interval(differences: np.ndarray) -> Interval:
    """Return the mean of differences `[n]` with its normal interval."""
    value, error = _mean_and_error(differences)
    return Interval.around(float(value), float(NORMAL.inv_cdf(1 - _TAIL) * error))


def possibly_best(scores: np.ndarray) -> np.ndarray:
    """Return whether each of the forecasters with scores `[n, J]` may be the best.

    One is out if another is better by more than chance, at `0.05/(J − 1)` on one side, so that the best is
    out in at most 5 % of all cases.
    """
    level = 2 * _TAIL / max(scores.shape[1] - 1, 1)
    values, errors = zip(*(_mean_and_error(other[:, None] - scores) for other in scores.T), strict=True)
    return ~np.logical_or.reduce(np.array(values) > NORMAL.inv_cdf(1 - level) * np.array(errors))


def gain_of_the_best(scores: np.ndarray, reference: np.ndarray) -> Interval:
    """Return the gain of the best of the forecasters with scores `[n, J]` over a reference `[n]`.

    The lower end is the highest of J, each at `0.025/J`, since the best was chosen by these scores; the upper
    end is the highest, each at 0.025.
    """
    value, error = _mean_and_error(scores - reference[:, None])
    low = value - NORMAL.inv_cdf(1 - _TAIL / scores.shape[1]) * error
    high = value + NORMAL.inv_cdf(1 - _TAIL) * error
    return Interval(float(value.max()), float(low.max()), float(high.max()))


def _mean_and_error(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, num = differences.mean(axis=0), len(differences)
    if num < 2:
        return mean, np.full_like(mean, math.nan)
    return mean, differences.std(axis=0, ddof=1) / math.sqrt(num)


def psi(bet: float) -> float:
    """Return `ψ(λ) = −log(1−λ) − λ`."""
    return -math.log1p(-bet) - bet


@dataclass
class DriftBound:
    r"""Lower bound for $\sum_i\omega_i\mu_i/\sum_i\omega_i$ with the weights $\omega_i = \eta^{t-i}$.

    $$L = \max_j \Bigl(\frac A\Omega - \frac{\log(J/\alpha) + \psi(\lambda_j)V}{\lambda_j\Omega}\Bigr),
      \qquad \lambda_j = 2^{-j},\ j = 1..J,$$

    $$V \leftarrow \eta^2V + (\xi - \hat\xi)^2, \qquad A \leftarrow \eta A + \xi, \qquad
      \Omega \leftarrow \eta\Omega + 1.$$

    With the rate 1 it holds at all times together, and covers the running mean. With a smaller rate it holds
    at each time, since $\psi(\lambda\omega) \le \omega^2\psi(\lambda)$ for $\omega \le 1$.
    """

    cap: float
    rate: float = 1.0
    total: float = 0.0  # A
    weight: float = 0.0  # Ω
    spread: float = 0.0  # V

    def add(self, outcome: float) -> None:
        centre = min(self.total / self.weight, self.cap) if self.weight else self.cap / 2
        self.spread = self.rate * self.rate * self.spread + (outcome - centre) ** 2
        self.total = self.rate * self.total + outcome
        self.weight = self.rate * self.weight + 1

    def at(self, alpha: float) -> tuple[float, float]:
        """Return the mean of the outcomes and its bound; there must be at least one outcome."""
        evidence, mean = math.log(len(_BETS) / alpha), self.total / self.weight
        return mean, mean - min((evidence + psi(bet) * self.spread) / (bet * self.weight) for bet in _BETS)


@dataclass
class PlugInBound:
    r"""Lower bound of plug-in empirical Bernstein type, at all times together.

    $$L_t = \frac{\sum_i\lambda_i\xi_i - \log(1/\alpha) - \sum_i\psi(\lambda_i)(\xi_i - \hat\xi_{i-1})^2}
      {\sum_i\lambda_i}, \qquad
      \lambda_t = \min\Bigl\{\sqrt{\frac{2\log(1/\alpha)}{\hat\sigma^2_{t-1}\,t\log(1+t)}}, \tfrac12\Bigr\}.$$

    Under drift it covers $\sum\lambda_i\mu_i/\sum\lambda_i$, a mean that favours early times.
    """

    cap: float
    alpha: float  # that the bets suit; the bound holds for any
    count: int = 0
    total: float = 0.0  # Σξ
    squares: float = 0.25  # ¼ + Σ(ξ_i − mean_i)²
    bets: float = 0.0  # Σλ
    earned: float = 0.0  # Σλξ
    cost: float = 0.0  # Σψ(λ)(ξ − ξ̂)²

    def add(self, outcome: float) -> None:
        centre = min(self.total / self.count, self.cap) if self.count else self.cap / 2
        variance = self.squares / (self.count + 1)
        self.count += 1
        scale = variance * self.count * math.log1p(self.count)
        bet = min(math.sqrt(2 * math.log(1 / self.alpha) / scale), 0.5)
        self.bets += bet
        self.earned += bet * outcome
        self.cost += psi(bet) * (outcome - centre) ** 2
        self.total += outcome
        self.squares += (outcome - self.total / self.count) ** 2

    def at(self, alpha: float) -> tuple[float, float]:
        return self.earned / self.bets, (self.earned - math.log(1 / alpha) - self.cost) / self.bets


class TwoSided:
    """An interval from lower bounds for a mean, `scale` times that of the outcomes, and for its opposite.

    With `top = 1` the mean is a value in [0, 1], and its opposite is 1 less it; with `top = 0` it is a
    difference in [−1, 1], and its opposite is its negative. The interval's value weighs the mean of either
    side by the distance of the other from its end, so that it is nearer to the one that is known better.
    """

    def __init__(self, bound: Callable[..., DriftBound | PlugInBound], *, scale: float, top: float) -> None:
        self._low, self._high = bound(1 / scale), bound(1 / scale)
        self._scale, self._top = scale, top

    def add(self, outcome: float, opposite: float) -> None:
        """Take in an outcome and its opposite, both before they are divided by the scale."""
        self._low.add(outcome / self._scale)
        self._high.add(opposite / self._scale)

    def at(self, alpha: float) -> Interval:
        """Return the interval; each side fails with probability α/2 at most."""
        mean, low = (self._scale * end for end in self._low.at(alpha / 2))
        other, high = (self._top - self._scale * end for end in self._high.at(alpha / 2))
        below, above = mean - low, high - other
        value = (above * mean + below * other) / (below + above)
        low, high = max(low, self._top - 1), min(high, 1.0)
        return Interval(max(min(value, high), low), low, high)


def pseudo_outcome(
    reward: float, arm: int, chances: np.ndarray, weights: np.ndarray, predicted: np.ndarray, k: float
) -> float:
    r"""Return an outcome of at least $-k$ whose mean is the value of the policy, for a reward in [0, 1].

    $$\varphi = \rho(a)(r - \bar q(a)) + \sum_b h(b)\rho(b)\bar q(b), \qquad
      \bar q(b) = \min\{q(b), k/\rho(b)\},$$

    with the logged `chances` h and the `weights` ρ of all arms. Where weights are clipped or the log never
    takes an arm, the mean is the value less what is lost: lower bounds stay valid.
    """
    most = np.divide(k, weights, out=np.full(len(weights), np.inf), where=weights > 0)
    capped = np.minimum(predicted, most)
    return float(weights[arm] * (reward - capped[arm]) + (chances * weights) @ capped)


def asymptotic_half_width(count: float, variance: float, tightest_at: float, alpha: float) -> float:
    r"""Return the half-width of the asymptotic sequence around a running mean, by a mixture of normals.

    $$\sqrt{\frac{2(t\hat\sigma^2\kappa+1)}{t^2\kappa}\log\frac{\sqrt{t\hat\sigma^2\kappa+1}}{\alpha}},
      \qquad \kappa = \frac{-2\log\alpha + \log(1 - 2\log\alpha)}{t^*},$$

    tightest where $t\hat\sigma^2 = t^*$. It covers the running mean of a drift for large t.
    """
    if not (count > 0 and tightest_at > 0):
        return math.nan
    doubled = -2 * math.log(alpha)
    kappa = (doubled + math.log1p(doubled)) / tightest_at
    mixed = count * variance * kappa + 1
    return math.sqrt(2 * mixed / (count * count * kappa) * math.log(math.sqrt(mixed) / alpha))


class ConstancyTest:
    r"""A test of whether a policy's value stayed the same, by bets against every possible value.

    If the value is $\nu$ all the time, the wealth $\prod_i(1 + \lambda_i(\varphi_i - \nu))$ of bets that are
    known before the outcomes $\varphi_i \ge 0$, $0 \le \lambda_i < 1/\nu$, is a martingale, and so is that of
    bets on the opposite, $1 - \nu$. Values in [0, 1] come in cells, with bets at the less favourable end.
    """

    def __init__(self, alpha: float) -> None:
        ends = np.linspace(0.0, 1.0, _NUM_CELLS + 1)
        self._limit, self._possible = math.log(2 / alpha), np.ones(_NUM_CELLS, dtype=bool)
        self._values = np.stack([ends[1:], 1 - ends[:-1]])  # [2, cells] bet against, for outcome and opposite
        self._log_wealth = np.zeros_like(self._values)
        self._means, self._squares = np.full((2, 1), 0.5), np.full((2, 1), 0.25)
        self._count = 0
        self.changed_by: int | None = None  # the number of outcomes after which no value was possible

    def add(self, outcome: float, opposite: float) -> None:
        """Take in `φ` of the rewards r in [0, 1], and that of 1 − r; bets suit the outcomes before."""
        self._count += 1
        if self.changed_by is not None:
            return
        outcomes, gaps = np.array([[outcome], [opposite]]), self._means - self._values
        bets = np.clip(gaps / (self._squares / self._count + gaps * gaps), 0.0, 0.5 / self._values)
        self._log_wealth += np.log1p(bets * (outcomes - self._values))
        steps = outcomes - self._means
        self._means += steps / (self._count + 1)
        self._squares += steps * (outcomes - self._means)
        self._possible &= np.logaddexp(*self._log_wealth) < self._limit
        if not self._possible.any():
            self.changed_by = self._count

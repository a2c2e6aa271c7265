r"""The radius of a confidence ellipsoid around the parameter of a linear bandit, as functions of numbers.

It is $\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell}$ for $\sigma$-sub-Gaussian noise, $\|\theta\| \le
S$, $\|x\| \le 1$ and the information $\ell = \log(\det\Lambda/\lambda^d)$ or `counted_information`.

Without weights it holds for all rounds of an epoch at once (Abbasi-Yadkori, Pál & Szepesvári 2011, Theorem
2): with restarts $\delta$ is spread over the epochs. For weighted sums (Russac, Vernade & Cappé 2019, Theorem
1) it holds at each fixed round only (Y.-S. Wu, 2026): with weights or windows $\delta$ is spread over the
rounds. `xp` is the array library to compute in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from driftwise.base.arrays import FloatNamespace
from driftwise.base.schema import Count, NonNegative, Positive, PositiveShare, check_keywords
from driftwise.base.validation import require_count, require_number
from driftwise.theory.bandit_tuning import RidgeRule, bandit_ridge

_MAX_SAMPLES = 10**9  # after a change, in the search of `samples_until_found`
SEARCH_STEP = 1.05  # ratio between the numbers that a search tries


def log_failure(delta: Any, shares: Any, current: Any, xp: Any = FloatNamespace) -> Any:
    r"""$\log(1/\delta')$, such that the failures of all shares together stay below $\delta$.

    $\delta' = \delta/N$ for a known number of `shares`, of rounds or of epochs. For `shares=0` the share
    $t$ = `current` = $1, 2, \dots$ is $\delta' = \delta/(2t(1+\ln t)^2)$.
    """
    schedule = 2 * current * (1 + xp.log(current)) ** 2
    num = xp.maximum(shares, (shares == 0) * schedule)
    return xp.log(num) - xp.log(delta)


def counted_information(dim: int, samples: Any, ridge: Any, xp: Any = FloatNamespace) -> Any:
    r"""$d\log(1 + n/(\lambda d)) \ge \log(\det\Lambda/\lambda^d)$ after $n$ samples; $n = \sum\omega^2$."""
    return dim * xp.log1p(samples / (ridge * dim))


def ellipsoid_radius(
    information: Any, failure: Any, noise_scale: Any, norm_bound: Any, ridge: Any, xp: Any = FloatNamespace
) -> Any:
    r"""$\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell}$."""
    return xp.sqrt(ridge) * norm_bound + noise_scale * xp.sqrt(2 * failure + information)


def descent_radius(
    information: Any, failure: Any, step_size: Any, norm_bound: Any, ridge: Any, xp: Any = FloatNamespace
) -> Any:
    r"""$\sqrt{\lambda S^2 + 2\zeta\log(1/\delta') + (6\zeta^2+\zeta)D}$ of an information $D$."""
    squared = ridge * norm_bound**2 + 2 * step_size * failure
    return xp.sqrt(squared + (6 * step_size**2 + step_size) * information)


@check_keywords
def bandit_radius(
    *,
    dim: Count,
    samples: NonNegative,
    shares: float,
    noise_scale: NonNegative,
    norm_bound: NonNegative = 1.0,
    delta: PositiveShare = 0.05,
    ridge: RidgeRule | float = "one",
) -> float:
    r"""$\beta = \sqrt\lambda S + \sigma\sqrt{2\log(N/\delta) + d\log(1 + n/(\lambda d))}$, as one number.

    `samples` $n$ is the window, the period, or $(1-\eta^{2K})/(1-\eta^2)$ of exponential weights, `shares`
    $N$ the rounds for windows and weights, the epochs for restarts.
    """
    ridge = bandit_ridge(dim=dim, ridge=ridge)
    shares = require_number("shares", shares, at_least=1)
    information, failure = counted_information(dim, samples, ridge), log_failure(delta, shares, 1)
    return ellipsoid_radius(information, failure, noise_scale, norm_bound, ridge)


def means_threshold(num_samples: Any, num_splits: Any, failure: Any, xp: Any = FloatNamespace) -> Any:
    r"""$\log(\pi^2mn^2/(3\delta))$ for $n$ samples and $m$ splits, with `failure` $\log(1/\delta)$."""
    return math.log(math.pi**2 / 3) + xp.log(num_splits) + 2 * xp.log(num_samples) + failure


@check_keywords
def samples_until_found(
    shift: float,
    *,
    before: Count,
    noise_scale: Positive = 0.5,
    delta: PositiveShare = 0.05,
    miss: PositiveShare = 0.05,
    num_streams: Count = 1,
    epoch: Count = 1,
    window: int | None = None,
) -> int | None:
    r"""Samples after a change of a mean by which a test of means has found it, with probability $1-\delta_D$.

    The least $m$ for which, after $\nu$ samples of before, with $n = \nu + m$,
    $$\Delta\sqrt{\frac{\nu m}{2\sigma^2n}} \ge \sqrt{\log\frac{\pi^2(n-1)n^2}{3\delta_k}} +
      \sqrt{\log\frac2{\delta_D}}, \qquad \delta_k = \frac{6\delta}{\pi^2k^2N},$$
    or None: a change that comes too soon is never found. `before` is $\nu$, `shift` $\Delta$, `miss`
    $\delta_D$, `num_streams` the number $N$ of tested means, and `epoch` $k$ one more than the alarms so far.
    A test that keeps `window` samples must find a change while they contain it.
    """
    shift = require_number("shift", shift, above=0)
    failure = math.log(math.pi**2 * epoch**2 * num_streams / (6 * delta))
    most = _MAX_SAMPLES if window is None else require_count("window", window, at_least=2) - 1

    def is_enough(after: int) -> bool:
        num = before + after
        splits = num - 1 if window is None else min(num - 1, most)
        signal = shift / noise_scale * math.sqrt(before * after / (2 * num))
        return signal >= math.sqrt(means_threshold(num, splits, failure)) + math.sqrt(math.log(2 / miss))

    return first_count(is_enough, most)


def first_count(holds: Callable[[int], bool], limit: int) -> int | None:
    """Return the first number from 1 to `limit` at which a condition holds, up to steps of 5 %, or None."""
    too_few, enough = 0, 1
    while not holds(enough):
        if enough >= limit:
            return None
        too_few, enough = enough, min(math.ceil(SEARCH_STEP * enough), limit)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if holds(middle) else (middle, enough)
    return enough

r"""Scores of adaptation, from exact values: the performance of a run, the cost of a change, and recovery.

In round $t$ the policy has the value $V_t$, the optimal one $V^*_t > 0$; their ratio is $g_t = V_t/V^*_t$.
The environment changes at round $c$; the next change, or the end of the run, is at $c'$.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.validation import ArgumentError, require_array, require_count, require_number

_BATCHES, _NEAR = 10, 1e-9  # stretches of a run whose means are compared; values that count as equal
_ROUNDING = 1e-12


class Performance(NamedTuple):
    """Means over a run."""

    value: float
    share: float


class Recovery(NamedTuple):
    """The rounds from a change until a run is as good as before."""

    rounds: int
    recovered: bool  # otherwise the time is censored at `rounds`


class Adaptation(NamedTuple):
    """The scores of a run at one change."""

    change: int
    drop: float
    retention: float
    resilience: float
    recovery: Recovery
    area: float
    adaptability: float


class Alarms(NamedTuple):
    """The scores of a detector over a run."""

    delays: tuple[int, ...]  # of the detected changes, in rounds
    misses: int  # changes without an alarm before the next one
    false_per_1000: float  # rounds: alarms before any change, and after the first one of each


def performance(values: Any, optimal: Any) -> Performance:
    r"""Return the mean value $\frac1T\sum_t V_t$ and the mean ratio $\frac1T\sum_t g_t$."""
    values, optimal = _checked(values, optimal)
    return Performance(float(values.mean()), float((values / optimal).mean()))


def adaptation(
    values: Any,
    optimal: Any,
    changes: Sequence[int],
    *,
    frozen: Any = None,
    window: int = 20,
    tolerance: float = 0.05,
) -> tuple[Adaptation, ...]:
    r"""Return the scores of a run at each of its changes.

    With the mean ratio $\bar g$ of the $w$ rounds before $c$, but not before the previous change:

    - drop: $\bar g - g_c$;
    - retention and resilience: $V_c(\pi_{c-1})/V_{c-1}$ (NaN where $V_{c-1} = 0$) and $V_c(\pi_{c-1})/V^*_c$;
    - recovery: the least $n$ for which the mean ratio of $[c+n, c+n+w)$, within $[c, c')$, is at least
      $\bar g - \epsilon$; without one, it is censored at $c' - c$;
    - area: $\sum_{t=c}^{c'-1}(\bar g - g_t)^+$;
    - adaptability: $1 - \sum(V^*_t - V_t)/\sum V^*_t$ over $[c, c')$.

    Args:
      values: $V_t$, `[T]`.
      optimal: $V^*_t > 0$, `[T]`.
      changes: $c$, increasing, from 1 on.
      frozen: $V_c(\pi_{c-1})$ of each change, of the policy before it. By default $V_c$, since a bandit
        decides in round c by what it learnt before.
      window: $w$.
      tolerance: $\epsilon \ge 0$.
    """
    values, optimal = _checked(values, optimal)
    at = _increasing("changes", changes, 1, len(values))
    window = require_count("window", window)
    tolerance = require_number("tolerance", tolerance, at_least=0)
    unchanged = values[at] if frozen is None else require_array("frozen", frozen, (len(at),))
    share, bounds = values / optimal, [0, *at.tolist(), len(values)]
    scores = []
    for start, change, end, value in zip(bounds, bounds[1:], bounds[2:], unchanged.tolist(), strict=False):
        before = share[max(start, change - window) : change].mean()
        after, best, good = share[change:end], optimal[change:end], np.empty(0)
        if len(after) >= window:
            means = np.lib.stride_tricks.sliding_window_view(after, window).mean(axis=-1)
            good = np.flatnonzero(means >= before - tolerance - _ROUNDING)
        retention = value / values[change - 1] if values[change - 1] else math.nan
        recovery = Recovery(int(good[0]), True) if len(good) else Recovery(len(after), False)
        at_change = float(before - after[0]), float(retention), float(value / best[0])
        area, earned = np.maximum(before - after, 0).sum(), values[change:end].sum() / best.sum()
        scores.append(Adaptation(change, *at_change, recovery, float(area), float(earned)))
    return tuple(scores)


def median_recovery(recoveries: Sequence[Recovery]) -> float:
    r"""Return Kaplan and Meier's median of recovery times; infinite if more than half do not recover.

    $$\hat S(n) = \prod_{m \le n}\Bigl(1 - \frac{d_m}{r_m}\Bigr), \qquad \min\{n : \hat S(n) \le 1/2\}$$

    with $d_m$ recoveries after $m$ rounds, and $r_m$ runs that are neither recovered nor censored before.
    """
    if not recoveries:
        raise ArgumentError("recoveries", "be at least one", recoveries)
    rounds, recovered = (np.array(column) for column in zip(*recoveries, strict=True))
    surviving = 1.0
    for n in np.unique(rounds[recovered]).tolist():
        surviving *= 1 - np.sum(recovered & (rounds == n)) / np.sum(rounds >= n)
        if surviving <= 0.5 + _ROUNDING:
            return float(n)
    return float("inf")


def lag(predictions: Any, truth: Any, *, at_most: int) -> int:
    r"""Return the lag of predictions behind a gradual drift, in rounds.

    $\arg\max_n$ of the correlation between $x^\top\hat\theta_t$ and $x^\top\theta_{t-n}$ over $t \ge N$, the
    same rounds for every $n = 0 \dots N$; the least of several maximisers.

    Args:
      predictions: $x^\top\hat\theta_t$ for one $x$, `[T]`.
      truth: $x^\top\theta_t$, `[T]`; neither may be constant.
      at_most: $N \le T - 2$.
    """
    truth = require_array("truth", truth, (None,))
    predictions = require_array("predictions", predictions, truth.shape)
    length = len(truth)
    if require_count("at_most", at_most, at_least=0) > length - 2:
        raise ArgumentError("at_most", f"be at most {length - 2}, for {length} rounds", at_most)
    lagged = np.stack([truth[at_most - n : length - n] for n in range(at_most + 1)])
    predicted = predictions[at_most:]
    lagged, predicted = lagged - lagged.mean(axis=-1, keepdims=True), predicted - predicted.mean()
    norms = np.linalg.norm(lagged, axis=-1) * np.linalg.norm(predicted)
    if norms.min() <= _ROUNDING:
        raise ArgumentError("truth", "move in every stretch, and predictions too", truth)
    correlations = lagged @ predicted / norms
    return int(np.flatnonzero(correlations >= correlations.max() - _ROUNDING)[0])


def decision_lag(values: Any, optimal: Any, chance: Any, lags: Sequence[int]) -> int | None:
    r"""Return the lag of decisions behind a gradual drift, in rounds; None if they are no better than chance.

    $$\arg\max_n\ \frac1T\sum_t\frac{V_{t-n}(\pi_t) - U_{t-n}}{V^*_{t-n} - U_{t-n}}$$

    The decisions of round $t$ are compared with the environments of earlier rounds, in which random decisions
    have the value $U$; the result is the least of several maximisers. It is None unless the 95 % interval of
    the largest mean is above 0: Student's over ten stretches of rounds, with Bonferroni's correction for the
    number of lags.

    Args:
      values: $V_{t-n}(\pi_t)$, `[N, T]`: the decisions of the same rounds in the environment at each lag.
      optimal: $V^*_{t-n}$, `[N, T]`; rounds in which it is $U_{t-n}$ for one of the lags are left out.
      chance: $U_{t-n}$, `[N, T]`.
      lags: $n$, `[N]`, increasing; if the result is the last one, the lag may be larger.
    """
    from driftwise.analysis.statistics.estimation import mean_interval  # which needs SciPy

    optimal = require_array("optimal", optimal, (len(lags), None))
    values = require_array("values", values, optimal.shape)
    chance = require_array("chance", chance, optimal.shape)
    if not len(lags) or np.any(optimal < np.maximum(values, chance) - _NEAR):
        raise ArgumentError("optimal", "be the best values, one for each lag and round", optimal)
    informative = (optimal - chance > _NEAR).all(axis=0)
    if informative.sum() < _BATCHES:
        return None
    skill = (values - chance)[:, informative] / (optimal - chance)[:, informative]
    stretches = np.array([part.mean(axis=-1) for part in np.array_split(skill, _BATCHES, axis=-1)])
    _, half = mean_interval(stretches, 1 - 0.05 / len(lags))
    mean = skill.mean(axis=-1)
    best = np.flatnonzero(mean >= mean.max() - _ROUNDING)[0]
    return int(lags[best]) if mean[best] - half[best] > _NEAR else None


def alarm_scores(alarms: Sequence[int], changes: Sequence[int], num_rounds: int) -> Alarms:
    """Return delays, misses and false alarms of a detector.

    `alarms` and `changes` are increasing rounds, changes from 1 on. The delay of a change is the time until
    the first alarm before the next change.
    """
    num_rounds = require_count("num_rounds", num_rounds)
    at = _increasing("changes", changes, 1, num_rounds).tolist()
    alarm_rounds = _increasing("alarms", alarms, 0, num_rounds)
    stretches = itertools.pairwise([*at, num_rounds])
    between = [alarm_rounds[(alarm_rounds >= change) & (alarm_rounds < end)] for change, end in stretches]
    delays = tuple(int(rounds[0] - change) for change, rounds in zip(at, between, strict=True) if len(rounds))
    return Alarms(delays, len(at) - len(delays), 1000 * (len(alarm_rounds) - len(delays)) / num_rounds)


def _checked(values: Any, optimal: Any) -> tuple[np.ndarray, np.ndarray]:
    optimal = require_array("optimal", optimal, (None,))
    if not len(optimal) or optimal.min() <= 0:
        raise ArgumentError("optimal", "be values above 0, one for each round", optimal)
    return require_array("values", values, optimal.shape), optimal


def _increasing(name: str, values: Sequence[int], first: int, num_rounds: int) -> np.ndarray:
    rounds = np.array(values, dtype=np.int64 if not len(values) else None)
    valid = rounds.ndim == 1 and rounds.dtype.kind == "i" and np.all(np.diff(rounds) > 0)
    if not valid or (len(rounds) and not first <= rounds[0] <= rounds[-1] < num_rounds):
        raise ArgumentError(name, f"be increasing rounds from {first} to {num_rounds - 1}", values)
    return rounds

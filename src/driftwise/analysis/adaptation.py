r"""Scores of adaptation: how good a run is, what a change costs it, and how soon it has recovered.

All are functions of exact values. Round $t$ has the value $V_t$ of the policy and the best one $V^*_t > 0$,
whose ratio is the share $g_t = V_t/V^*_t$; the world jumps at a change $c$, and next at $c'$, or the run
ends there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.validation import ArgumentError, require_array, require_count, require_number

WINDOW, TOLERANCE = 20, 0.05
BATCHES, NEAR = 10, 1e-9  # stretches of a run that have means; values that count as equal


class Performance(NamedTuple):
    """Means over a run."""

    value: float
    share: float


class Recovery(NamedTuple):
    """The rounds from a change until a run was as good as before."""

    rounds: int
    recovered: bool  # or else these are the rounds for which it had not


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

    delays: tuple[int, ...]  # of the changes that were found, in rounds
    misses: int  # changes without an alarm before the next one
    false_per_1000: float  # rounds: alarms before any change, and after the first one of each


def performance(values: Any, optimal: Any) -> Performance:
    r"""The mean value $\frac1T\sum_t V_t$ and the mean share $\frac1T\sum_t g_t$."""
    values, optimal = _checked(values, optimal)
    return Performance(float(values.mean()), float((values / optimal).mean()))


def adaptation(
    values: Any,
    optimal: Any,
    changes: Sequence[int],
    *,
    frozen: Any = None,
    window: int = WINDOW,
    tolerance: float = TOLERANCE,
) -> tuple[Adaptation, ...]:
    r"""The scores of a run at each of its changes.

    With the mean share $\bar g$ of the $w$ rounds before $c$, as far as the world was the same in them:

    - drop: $\bar g - g_c$;
    - retention and resilience: $V_c(\pi_{c-1})/V_{c-1}$ and $V_c(\pi_{c-1})/V^*_c$, of the policy before; of
      what earned nothing before, retention is NaN;
    - recovery: the least $n$ for which the mean share of $[c+n, c+n+w)$, within $[c, c')$, is at least
      $\bar g - \epsilon$; where there is none, it is censored at $c' - c$;
    - area: $\sum_{t=c}^{c'-1}(\bar g - g_t)^+$, which needs no tolerance;
    - adaptability: $1 - \sum(V^*_t - V_t)/\sum V^*_t$ over $[c, c')$.

    Drop, recovery and area compare a run with itself: who was bad before recovers soon. Read them beside the
    performance.

    Args:
      values: $V_t$, `[T]`.
      optimal: $V^*_t > 0$, `[T]`.
      changes: $c$, increasing, from 1 on.
      frozen: $V_c(\pi_{c-1})$ of each change. Unless given it is $V_c$: a bandit decides in round c by what
        it learnt before.
      window: $w$.
      tolerance: $\epsilon \ge 0$.
    """
    values, optimal = _checked(values, optimal)
    at = _checked_changes(changes, len(values))
    window = require_count("window", window)
    tolerance = require_number("tolerance", tolerance, at_least=0)
    kept = values[at] if frozen is None else require_array("frozen", frozen, (len(at),))
    share, bounds = values / optimal, [0, *at.tolist(), len(values)]
    found = []
    for start, change, end, own in zip(bounds, bounds[1:], bounds[2:], kept.tolist(), strict=False):
        before = share[max(start, change - window) : change].mean()
        after, best = share[change:end], optimal[change:end]
        found.append(
            Adaptation(
                change=change,
                drop=float(before - after[0]),
                retention=float(own / values[change - 1]) if values[change - 1] else math.nan,
                resilience=float(own / best[0]),
                recovery=_recovery(after, before - tolerance, window),
                area=float(np.maximum(before - after, 0).sum()),
                adaptability=float(values[change:end].sum() / best.sum()),
            )
        )
    return tuple(found)


def _recovery(after: np.ndarray, wanted: float, window: int) -> Recovery:
    if len(after) >= window:
        means = np.lib.stride_tricks.sliding_window_view(after, window).mean(axis=-1)
        good = np.flatnonzero(means >= wanted - 1e-12)  # rounding of equal shares
        if len(good):
            return Recovery(int(good[0]), recovered=True)
    return Recovery(len(after), recovered=False)


def median_recovery(recoveries: Sequence[Recovery]) -> float:
    r"""Kaplan and Meier's median of recovery times; infinite if more than half would not have recovered.

    $$\hat S(n) = \prod_{m \le n}\Bigl(1 - \frac{d_m}{r_m}\Bigr), \qquad \min\{n : \hat S(n) \le 1/2\}$$

    with $d_m$ recoveries after $m$ rounds, of the $r_m$ that were watched until then and had not come before.
    """
    if not recoveries:
        raise ArgumentError("recoveries", "be at least one", recoveries)
    rounds = np.array([each.rounds for each in recoveries])
    recovered = np.array([each.recovered for each in recoveries])
    surviving = 1.0
    for n in np.unique(rounds[recovered]).tolist():
        surviving *= 1 - np.sum(recovered & (rounds == n)) / np.sum(rounds >= n)
        if surviving <= 0.5 + 1e-12:
            return float(n)
    return float("inf")


def lag(predictions: Any, truth: Any, *, at_most: int) -> int:
    r"""How far predictions are behind a world that glides, in rounds.

    $\arg\max_n$ of the correlation between $x^\top\hat\theta_t$ and $x^\top\theta_{t-n}$ over $t \ge N$, the
    same rounds for every $n = 0 \dots N$; of equals the least.

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
    pasts = np.stack([truth[at_most - n : length - n] for n in range(at_most + 1)])
    own = predictions[at_most:]
    pasts, own = pasts - pasts.mean(axis=-1, keepdims=True), own - own.mean()
    norms = np.linalg.norm(pasts, axis=-1) * np.linalg.norm(own)
    if norms.min() <= 1e-12:
        raise ArgumentError("truth", "move in every stretch, and predictions too", truth)
    correlations = pasts @ own / norms
    return int(np.flatnonzero(correlations >= correlations.max() - 1e-12)[0])


def decision_lag(values: Any, optimal: Any, chance: Any, lags: Sequence[int]) -> int | None:
    r"""How far decisions are behind a world that glides, in rounds; None if they are not better than chance.

    $$\arg\max_n\ \frac1T\sum_t\frac{V_{t-n}(\pi_t) - U_{t-n}}{V^*_{t-n} - U_{t-n}}$$

    The decisions of rounds $t$ are held against earlier worlds, and would have been the best so many rounds
    before. $U$ is the value of decisions by chance: worlds in which all decisions are good, or all are bad,
    say nothing. Of equals it is the least. `lag` needs predictions; this needs none.

    There is none unless the largest mean is above 0 with its 95 % interval: Student's over `BATCHES`
    stretches of rounds, at a level for all lags together (Bonferroni).

    Args:
      values: $V_{t-n}(\pi_t)$, `[N, T]`: the decisions of the same rounds in the world of each of the `lags`.
      optimal: $V^*_{t-n}$, `[N, T]`; rounds in which it is $U_{t-n}$ for one of the lags are left out.
      chance: $U_{t-n}$, `[N, T]`.
      lags: $n$, `[N]`, increasing; if the last one is found, decisions are so far behind, or farther.
    """
    from driftwise.analysis.statistics.intervals import mean_interval  # which needs SciPy

    optimal = require_array("optimal", optimal, (len(lags), None))
    values, chance = (
        require_array(name, each, optimal.shape) for name, each in (("values", values), ("chance", chance))
    )
    if not len(lags) or np.any(optimal < np.maximum(values, chance) - NEAR):
        raise ArgumentError("optimal", "be the best values, one for each lag and round", optimal)
    telling = (optimal - chance > NEAR).all(axis=0)
    if telling.sum() < BATCHES:
        return None
    skill = (values - chance)[:, telling] / (optimal - chance)[:, telling]
    stretches = np.array([each.mean(axis=-1) for each in np.array_split(skill, BATCHES, axis=-1)])
    _, half = mean_interval(stretches, 1 - 0.05 / len(lags))
    mean = skill.mean(axis=-1)
    best = np.flatnonzero(mean >= mean.max() - 1e-12)[0]
    return int(lags[best]) if mean[best] - half[best] > NEAR else None


def alarm_scores(alarms: Sequence[int], changes: Sequence[int], num_rounds: int) -> Alarms:
    """Delays, misses and false alarms of a detector.

    The first alarm from a change on, before the next one, is its delay.

    Args:
      alarms: rounds with an alarm, increasing.
      changes: rounds in which the world jumps, increasing, from 1 on.
      num_rounds: those of the run.
    """
    num_rounds = require_count("num_rounds", num_rounds)
    at = _checked_changes(changes, num_rounds)
    rung = _increasing("alarms", alarms, 0, num_rounds)
    ends = [*at[1:].tolist(), num_rounds]
    first = [
        rung[(rung >= change) & (rung < end)][:1] - change for change, end in zip(at, ends, strict=False)
    ]
    delays = tuple(int(each[0]) for each in first if len(each))
    false = len(rung) - len(delays)
    return Alarms(delays, len(at) - len(delays), 1000 * false / num_rounds)


def _checked(values: Any, optimal: Any) -> tuple[np.ndarray, np.ndarray]:
    optimal = require_array("optimal", optimal, (None,))
    if not len(optimal) or optimal.min() <= 0:
        raise ArgumentError("optimal", "be values above 0, one for each round", optimal)
    return require_array("values", values, optimal.shape), optimal


def _checked_changes(changes: Sequence[int], num_rounds: int) -> np.ndarray:
    return _increasing("changes", changes, 1, num_rounds)


def _increasing(name: str, given: Sequence[int], first: int, num_rounds: int) -> np.ndarray:
    rounds = np.array(given, dtype=np.int64 if not len(given) else None)
    fits = rounds.ndim == 1 and rounds.dtype.kind == "i" and np.all(np.diff(rounds) > 0)
    if not fits or (len(rounds) and not first <= rounds[0] <= rounds[-1] < num_rounds):
        raise ArgumentError(name, f"be increasing rounds from {first} to {num_rounds - 1}", given)
    return rounds

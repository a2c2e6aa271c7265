"""Regret curves `[..., points]` in one number; a point stands for `lengths` episodes, as in a `Result`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.analysis.statistics.estimation import (
    IntervalEstimate,
    Lengths,
    jackknife_interval,
    require_curves,
    require_runs,
    trailing_mean,
)
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number


class RecoverySummary(NamedTuple):
    """Recovery from each change, `[changes]`, over all runs; without recovery its time is infinite."""

    share: np.ndarray  # of runs that recovered
    median: np.ndarray  # episodes; infinite where half of the runs or more did not recover


def regret_area(
    cumulative_regret: np.ndarray, *, lengths: Lengths = None, normalised: bool = False
) -> np.ndarray:
    """Area under the polygon through `(0, 0)` and the points `(episodes, cumulative regret)`.

        Σ_i ℓ_i (R_{i−1} + R_i) / 2,    R_0 = 0

    Regret weighs the more the earlier it comes. A coarser record equals a finer one where regret is constant
    between its points. `normalised` divides by the area of a regret of one in each episode, `K²/2`: an agent
    that always has regret `r` gets `r`.
    """
    curves, lengths = require_curves("cumulative_regret", cumulative_regret, lengths)
    before = np.concatenate([np.zeros_like(curves[..., :1]), curves[..., :-1]], axis=-1)
    area = (lengths * (before + curves) / 2).sum(axis=-1)
    return area / (lengths.sum() ** 2 / 2) if normalised else area


def recovery_times(
    regret: np.ndarray,
    changes: Sequence[int],
    *,
    lengths: Lengths = None,
    threshold: float | None = None,
    tolerance: float | None = None,
    smooth: int = 1,
    hold: int = 1,
    baseline: int = 50,
) -> np.ndarray:
    """Episodes from each change until the smoothed regret of an episode is low again, `[..., changes]`.

    `changes` are the episodes, from 0, that are the first of a new model. They cut the curve into stretches;
    a point with episodes on both sides of a change belongs to none. Within a stretch the regret is smoothed
    by a `trailing_mean` over `smooth` points. The agent has recovered at the first of `hold` consecutive
    points of the stretch at which that is at most

    - `threshold`, or
    - `tolerance` plus the mean regret of the last `baseline` points of the stretch before the change (fewer
      where it is shorter), for each curve its own.

    One of the two is given. The time is the number of episodes between the change and the beginning of that
    point: zero for an agent that never leaves, infinite if the agent does not recover before the next change
    or the end, and NaN with fewer than `hold` points after the change, or none before it with `tolerance`.
    """
    regret, lengths = require_curves("regret", regret, lengths)
    stretches = _stretches(lengths, changes)
    for name, value in (("smooth", smooth), ("hold", hold), ("baseline", baseline)):
        require_count(name, value)
    if (threshold is None) == (tolerance is None):
        raise ValueError(f"one of threshold and tolerance must be given, got {threshold!r} and {tolerance!r}")
    name, bound = ("tolerance", tolerance) if threshold is None else ("threshold", threshold)
    bound = require_number(name, bound)
    starts = np.cumsum(lengths) - lengths
    times = np.full((*regret.shape[:-1], len(changes)), np.nan)
    for number, (before, after) in enumerate(itertools.pairwise(stretches)):
        before = before[-baseline:]
        if len(after) < hold or (threshold is None and len(before) == 0):
            continue
        limit = np.full(regret.shape[:-1], bound)
        if threshold is None:
            limit += np.average(regret[..., before], axis=-1, weights=lengths[before])
        limit += 1e-12 * np.abs(limit)  # equal but for rounding is equal
        low = trailing_mean(regret[..., after], smooth, lengths=lengths[after]) <= limit[..., None]
        is_held = np.lib.stride_tricks.sliding_window_view(low, hold, axis=-1).all(axis=-1)
        waited = starts[after][np.argmax(is_held, axis=-1)] - changes[number]
        times[..., number] = np.where(is_held.any(axis=-1), waited, np.inf)
    return times


def recovery_summary(times: np.ndarray) -> RecoverySummary:
    """Share of runs that recovered, of `recovery_times` `[runs, changes]`, and their median over all runs."""
    times = require_runs("times", times, finite=False)
    unknown = np.isnan(times).any(axis=0)
    comparable = np.where(unknown, 0.0, times)
    median, share = np.median(comparable, axis=0), np.isfinite(comparable).mean(axis=0)
    return RecoverySummary(np.where(unknown, np.nan, share), np.where(unknown, np.nan, median))


def growth_exponent(
    cumulative_regret: np.ndarray,
    *,
    changes: Sequence[int] = (),
    lengths: Lengths = None,
    part: float = 0.5,
    level: float = 0.95,
) -> IntervalEstimate:
    """Exponent `α` of `R ≈ C n^α` in each stretch between changes, `[stretches]`.

    Curves are `[runs, points]`. `R` is the regret since the stretch began, `n` its episodes since then. The
    slope of `scaling_exponent` at the points in the last `part` of the stretch describes the curve there, and
    proves no rate. NaN where the mean is not positive, and for stretches with fewer than two points in that
    part. `changes` are as in `recovery_times`.
    """
    curves = require_array("cumulative_regret", cumulative_regret, (None, None))
    curves, lengths = require_curves("cumulative_regret", require_runs("cumulative_regret", curves), lengths)
    part = require_number("part", part, above=0, at_most=1)
    curves = np.concatenate([np.zeros_like(curves[:, :1]), curves], axis=-1)  # point i is curves[:, i + 1]
    fits = []
    for stretch in _stretches(lengths, changes):
        episodes = np.cumsum(lengths[stretch])
        last = stretch[episodes > (1 - part) * episodes.max(initial=0)]
        if len(last) < 2:
            fits.append(IntervalEstimate(*np.full((3,), np.nan)))
            continue
        regret = curves[:, last + 1] - curves[:, stretch[:1]]
        fits.append(scaling_exponent(regret, episodes[-len(last) :], level=level))
    return IntervalEstimate(*np.array(fits).T)


def scaling_exponent(
    scores: np.ndarray, sizes: np.ndarray | Sequence[float], *, level: float = 0.95
) -> IntervalEstimate:
    """Exponent `α` of `R ≈ C n^α`, fitted to the mean over runs of scores `[runs, points]` at sizes `n`.

    The slope of the least-squares line through `(log n, log mean R)`, with a `jackknife_interval` over runs.
    The interval is about the slope of the *expected* score, not the mean of the slopes of single runs. NaN
    where the mean of some point is not positive.
    """
    scores = require_runs("scores", require_array("scores", scores, (None, None)))
    sizes = require_array("sizes", sizes, (scores.shape[1],))
    if len(np.unique(sizes)) < 2 or sizes.min() <= 0:
        raise ArgumentError("sizes", "be two or more different positive numbers", sizes.tolist())
    centred = np.log(sizes) - np.log(sizes).mean()

    def slope(mean: np.ndarray) -> np.ndarray:
        return np.log(np.where(mean > 0, mean, np.nan)) @ centred / (centred @ centred)

    return jackknife_interval(scores, slope, level)


def _stretches(lengths: np.ndarray, changes: Sequence[int]) -> list[np.ndarray]:
    """Points of the stretches that changes cut a curve into; one with episodes on both sides is in none."""
    ends = np.cumsum(lengths)
    places = [require_count("changes", change, at_least=0) for change in changes]
    if sorted(set(places)) != places or any(place >= ends[-1] for place in places):
        raise ArgumentError("changes", f"be increasing episodes below {ends[-1]:g}", tuple(changes))
    borders = itertools.pairwise([0, *places, ends[-1]])
    return [np.flatnonzero((ends - lengths >= first) & (ends <= last)) for first, last in borders]

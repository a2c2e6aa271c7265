"""Comparisons of agents, given that run `i` of each met the same environment draws."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from driftwise.analysis.statistics.estimation import (
    IntervalEstimate,
    bootstrap_interval,
    mean_interval,
    require_runs,
    rounded_difference,
    rounding_tolerance,
    standard_error,
)
from driftwise.base.validation import ArgumentError, require_array, require_choice, require_count

EXACT_RUNS = 12  # up to here all 2^n sign flips are looked at
DIRECTIONS = ("lower", "higher")


class PairedDifference(NamedTuple):
    """Difference of two agents over common runs: scalars, or arrays of one shape."""

    mean: np.ndarray  # of first − second
    low: np.ndarray  # Student-t interval of that mean
    high: np.ndarray
    p_t: np.ndarray  # two-sided, paired t-test
    p_sign_flip: np.ndarray  # two-sided, sign-flip permutation test
    share_better: np.ndarray  # share of runs in which the first is better; a tie counts half


class AgentPair(NamedTuple):
    """Two agents of all pairs, and their difference."""

    first: str
    second: str
    difference: PairedDifference
    p_adjusted: float  # after Holm's correction for the number of pairs


class RankTable(NamedTuple):
    """Ranks from 1, the best; a row for each agent."""

    agents: tuple[str, ...]
    by_task: np.ndarray  # [agents, tasks] mean over runs
    overall: IntervalEstimate  # [agents] mean over runs and tasks


def paired_difference(
    first: np.ndarray,
    second: np.ndarray,
    *,
    better: str = "lower",
    level: float = 0.95,
    num_resamples: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """`first − second` run by run, both `[runs, ...]`: what common draws do to both cancels.

    The interval is narrower than that of two unpaired means whenever runs that are hard for one agent are
    hard for the other. A difference up to 1e-9 of the largest score is rounding, and counts as none. `seed`
    and `num_resamples` are those of `sign_flip_test`. With one run the interval and `p_t` are NaN.
    """
    first, second = require_runs("first", first), require_runs("second", second)
    require_choice("better", better, DIRECTIONS)
    for what, *sizes in ("number of runs", len(first), len(second)), ("shape", first.shape, second.shape):
        if sizes[0] != sizes[1]:
            got = f"{sizes[0]} and {sizes[1]}"
            raise ArgumentError("first and second", f"have the same {what}", (first, second), got)
    differences = rounded_difference(first, second)
    mean, half_width = mean_interval(differences, level)
    wins = differences < 0 if better == "lower" else differences > 0
    tests = t_test(differences), sign_flip_test(differences, num_resamples=num_resamples, seed=seed)
    share_better = (wins + (differences == 0) / 2).mean(axis=0)
    return PairedDifference(mean, mean - half_width, mean + half_width, *tests, share_better)


def t_test(differences: np.ndarray) -> np.ndarray:
    """Two-sided p-value of Student's test that differences `[runs, ...]` have mean zero: `t = mean / (s/√n)`.

    NaN for one run. Where all differences are equal it is one if they are zero, and zero otherwise.
    """
    differences = require_runs("differences", differences)
    mean, error = differences.mean(axis=0), standard_error(differences)
    equal = error == 0
    t = np.abs(mean) / np.where(equal, 1.0, error)
    return np.where(equal, mean == 0, 2 * stdtr(max(len(differences) - 1, 1), -t))[()]


def sign_flip_test(differences: np.ndarray, *, num_resamples: int = 10_000, seed: int = 0) -> np.ndarray:
    """Two-sided p-value of Fisher's test that differences `[runs, ...]` are symmetric around zero.

    If the two agents were exchangeable in each run, any sign of any difference would be as likely as the
    other: `p` is the share of sign vectors `s` with `|Σ sᵢdᵢ| ≥ |Σ dᵢ|`. Up to 12 runs all `2^n` are looked
    at, and `p ≥ 2^(1−n)`: fewer than six runs are never significant at 5 %. Beyond, `num_resamples` are
    drawn, and `p = (1 + count) / (1 + num_resamples)`.

    References: Fisher, *The Design of Experiments*, 1935; Phipson & Smyth, *Permutation P-values Should
    Never Be Zero*, 2010.
    """
    differences = require_runs("differences", differences)
    signs = _signs(len(differences), num_resamples, seed)
    margin = 1e-12 * np.abs(differences).sum(axis=0)
    sums = np.abs(np.tensordot(signs, differences, 1))
    return (sums >= np.abs(differences.sum(axis=0)) - margin).mean(axis=0)


def simultaneous_test(differences: np.ndarray, *, num_resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """P-values of the `sign_flip_test` at every point of differences `[runs, points]`, for all together.

    Whole curves change their sign, and the statistic of a point, `|Σ sᵢdᵢ| / √Σ dᵢ²`, is held against the
    largest of all points: `p` is the share of sign vectors whose largest is at least the observed one. The
    chance that any point at all has `p ≤ α` by luck is at most α, however many there are.

    Reference: Westfall & Young, *Resampling-Based Multiple Testing*, 1993.
    """
    differences = require_runs("differences", require_array("differences", differences, (None, None)))
    size = np.sqrt((differences**2).sum(axis=0))
    scaled = differences / np.where(size > 0, size, 1.0)
    largest = np.abs(_signs(len(differences), num_resamples, seed) @ scaled).max(axis=1)
    observed = np.abs(scaled.sum(axis=0)) - 1e-12
    return 1 - np.sort(largest).searchsorted(observed) / len(largest)


def _signs(count: int, num_resamples: int, seed: int) -> np.ndarray:
    """Sign vectors `[vectors, count]`: all there are, or as many drawn, and the one that was observed."""
    require_count("num_resamples", num_resamples)
    generator = np.random.default_rng(require_count("seed", seed, at_least=0))
    if count <= EXACT_RUNS:
        return 1.0 - 2 * (np.arange(2**count)[:, None] >> np.arange(count) & 1)  # the bits of 0 … 2^n − 1
    drawn = generator.integers(0, 2, (num_resamples, count)) * 2.0 - 1
    return np.concatenate([np.ones((1, count)), drawn])


def holm_adjust(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values: `max_{j ≤ i} min(1, (m − j + 1) p_(j))` for the i-th smallest of `m`.

    Rejecting where they are at most α keeps the chance of any false rejection at most α, however the tests
    depend on each other. NaN, where nothing was tested, stays and does not count.

    Reference: Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, 1979.
    """
    adjusted = np.array(p_values, dtype=float)
    require_array("p_values", np.nan_to_num(adjusted), (None,))
    if ((adjusted < 0) | (adjusted > 1)).any():
        raise ArgumentError("p_values", "be in [0, 1]", adjusted.tolist())
    order = np.argsort(adjusted, kind="stable")[: np.isfinite(adjusted).sum()]  # NaN is sorted to the end
    steps = np.arange(len(order), 0, -1) * adjusted[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def all_pairs(scores: Mapping[str, np.ndarray], *, test: str = "t", **options: Any) -> list[AgentPair]:
    """Paired differences between all agents, whose scores are `[runs]`, with Holm's correction.

    `test` says which p-value is corrected, `"t"` or `"sign_flip"`. With one run `"t"` has none to give: NaN.
    The intervals are those of single comparisons, not corrected. `options` are those of `paired_difference`:
    better, level, num_resamples, seed.
    """
    require_choice("test", test, ("t", "sign_flip"))
    scores = _common_runs(scores, num_axes=1)
    if len(scores) < 2:
        raise ArgumentError("scores", "be of at least two agents", list(scores))
    names = [*itertools.combinations(scores, 2)]
    rows = [paired_difference(scores[first], scores[second], **options) for first, second in names]
    adjusted = holm_adjust([float(row.p_t if test == "t" else row.p_sign_flip) for row in rows]).tolist()
    return [AgentPair(*pair, row, p) for pair, row, p in zip(names, rows, adjusted, strict=True)]


def average_ranks(scores: np.ndarray, *, better: str = "lower") -> np.ndarray:
    """Ranks along the last axis from 1, the best; equal scores share the mean of their places.

    `rank(a) = ½ + ½ #{b better than a} + ½ #{b better than or equal to a}`, `a` itself among the latter;
    scores that differ by rounding alone are equal.
    """
    scores = require_runs("scores", scores)
    require_choice("better", better, DIRECTIONS)
    losses = scores if better == "lower" else -scores
    margin, others, own = rounding_tolerance(losses), losses[..., None, :], losses[..., :, None]
    return (1 + (others < own - margin).sum(axis=-1) + (others <= own + margin).sum(axis=-1)) / 2


def rank_table(
    scores: Mapping[str, np.ndarray], *, better: str | Sequence[str] = "lower", **resampling: Any
) -> RankTable:
    """Mean rank of each agent, whose scores are `[runs]` or `[runs, tasks]`.

    Tasks are environments or metrics. Agents are ranked against each other within each run of each task, so
    tasks need no common scale, and `better` may be one direction for all tasks or one for each. The interval
    is a bootstrap over runs, which are drawn for all agents and tasks together. `resampling` are the options
    of `bootstrap_interval`, level, method (`"percentile"` by default), num_resamples and seed.

    Reference: Demšar, *Statistical Comparisons of Classifiers over Multiple Data Sets*, JMLR 2006.
    """
    scores = _common_runs(scores, num_axes=2)
    stacked = np.stack(list(scores.values()), axis=-1)  # [runs, tasks, agents]
    num_tasks = stacked.shape[1]
    directions = [better] * num_tasks if isinstance(better, str) else list(better)
    if len(directions) != num_tasks or num_tasks == 0:
        raise ArgumentError("better", f"be one direction or one for each of {num_tasks} tasks", better)
    tasks = zip(range(num_tasks), directions, strict=True)
    ranks = np.stack([average_ranks(stacked[:, task], better=which) for task, which in tasks], axis=-1)
    resampling.setdefault("method", "percentile")
    overall = bootstrap_interval(ranks.mean(axis=-1), lambda runs: runs.mean(axis=0), **resampling)
    return RankTable(tuple(scores), ranks.mean(axis=0), overall)


def _common_runs(scores: Mapping[str, np.ndarray], *, num_axes: int) -> dict[str, np.ndarray]:
    """Scores of at least one agent in one shape, `[runs]` or `[runs, tasks]`."""
    arrays = {name: require_runs(f"scores of {name!r}", array) for name, array in scores.items()}
    if not arrays:
        raise ArgumentError("scores", "be of at least one agent", scores, "none")
    for name, array in arrays.items():
        arrays[name] = array[:, None] if array.ndim == 1 < num_axes else array
        require_array(f"scores of {name!r}", arrays[name], (None,) * num_axes)
        shapes = next(iter(arrays.values())).shape, arrays[name].shape
        if shapes[0] != shapes[1]:
            got = f"shapes {shapes[0]} and {shapes[1]} of {name!r}"
            raise ArgumentError("scores", "have the same runs and tasks", array, got)
    return arrays

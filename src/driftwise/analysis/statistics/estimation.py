"""Numbers computed from a few runs, with their intervals; checks of samples, and equality up to rounding."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from driftwise.base.validation import (
    ArgumentError,
    as_array,
    require_array,
    require_choice,
    require_count,
    require_number,
)

ROUNDING = 1e-9  # relative to the largest number: a smaller difference counts as zero
Statistic = Callable[[np.ndarray], Any]  # [runs, ...] to a number or an array
Lengths = np.ndarray | Sequence[int] | None  # episodes of each point of a curve; `None`: one


class IntervalEstimate(NamedTuple):
    """An estimate and the ends of its interval: scalars, or arrays of one shape."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis, and the half-width of its Student-t interval (NaN for one sample).

    `t_{n−1, (1+level)/2} · s / √n` with the sample standard deviation `s`; zero where all samples are equal.
    """
    level, samples = require_level(level), require_runs("samples", samples, finite=False)
    quantile = stdtrit(max(len(samples) - 1, 1), (1 + level) / 2)
    return samples.mean(axis=0), quantile * standard_error(samples)


def standard_error(samples: np.ndarray) -> np.ndarray:
    """`s / √n` over the first axis: NaN for one sample, and exactly zero where all are equal."""
    if len(samples) == 1:
        return np.full_like(samples[0], np.nan, dtype=float)[()]
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return np.where(np.ptp(samples, axis=0) == 0, 0.0, error)[()]


def interquartile_mean(samples: np.ndarray) -> np.ndarray:
    """Mean of the middle half over the first axis: the `⌊n/4⌋` lowest and highest of `n` runs are left out.

    The 25 % trimmed mean, as rliable computes it: up to three runs are the plain mean.

    Reference: Agarwal, Schwarzer, Castro, Courville & Bellemare, *Deep Reinforcement Learning at the Edge of
    the Statistical Precipice*, NeurIPS 2021.
    """
    ordered = np.sort(require_runs("samples", samples), axis=0)
    return ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4].mean(axis=0)


def bootstrap_interval(
    samples: np.ndarray,
    statistic: Statistic = interquartile_mean,
    *,
    level: float = 0.95,
    method: str = "bca",
    num_resamples: int = 2000,
    seed: int = 0,
) -> IntervalEstimate:
    """A statistic `[runs, ...] → [...]` of the samples, and its interval by resampling runs.

    Whole runs are drawn with replacement, so whatever belongs to one run (a curve, all agents' scores) stays
    together. `method="percentile"` takes the `(1 ± level)/2` quantiles of the resampled statistic.
    `method="bca"` moves them for bias `z₀` and skewness `a`: with `z = Φ⁻¹((1 ± level)/2)` it takes the
    quantiles

        Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z)))
        z₀ = Φ⁻¹(share of resamples below the estimate, ties half)
        a  = Σ dᵢ³ / (6 (Σ dᵢ²)^{3/2}),  dᵢ = mean of the leave-one-out statistics − the i-th of them

    The interval is NaN for one run, and where the statistic is not finite on some resample; it has no width
    where all runs are equal. The numbers are those of `scipy.stats.bootstrap` with the same generator, which
    however asks for a statistic that reduces one axis of one-dimensional samples.

    Reference: Efron, *Better Bootstrap Confidence Intervals*, JASA 1987.
    """
    samples, level = require_runs("samples", samples), require_level(level)
    require_choice("method", method, ("bca", "percentile"))
    require_count("num_resamples", num_resamples)
    generator = np.random.default_rng(require_count("seed", seed, at_least=0))
    count, estimate = len(samples), np.asarray(statistic(samples))
    if count == 1:
        nothing = np.full(estimate.shape, np.nan)[()]
        return IntervalEstimate(estimate[()], nothing, nothing)
    draws = generator.integers(0, count, (num_resamples, count))
    resampled = np.stack([np.asarray(statistic(samples[draw])) for draw in draws])
    probabilities = np.multiply.outer([(1 - level) / 2, (1 + level) / 2], np.ones(estimate.shape))
    if method == "bca":
        jackknife = np.stack([np.asarray(statistic(np.delete(samples, run, axis=0))) for run in range(count)])
        share = ((resampled < estimate).mean(axis=0) + (resampled <= estimate).mean(axis=0)) / 2
        half = 0.5 / num_resamples  # all on one side: as if half a resample were on the other
        bias = ndtri(np.clip(share, half, 1 - half))
        with np.errstate(invalid="ignore"):  # of a statistic that is not finite, or has one value
            deviations = jackknife.mean(axis=0) - jackknife
            scale = 6 * (deviations**2).sum(axis=0) ** 1.5
            acceleration = np.where(scale == 0, 0.0, (deviations**3).sum(axis=0) / scale)
        z = bias + ndtri(probabilities)
        probabilities = ndtr(bias + z / np.maximum(1 - acceleration * z, 1e-12))
    finite = np.isfinite(resampled).all(axis=0)
    ordered = np.sort(np.where(finite, resampled, 0.0), axis=0)
    defined = finite & np.isfinite(probabilities)  # [ends, ...]
    places = np.where(defined, probabilities, 0.0) * (num_resamples - 1)
    below = places.astype(int)
    first = np.take_along_axis(ordered, below, axis=0)
    second = np.take_along_axis(ordered, np.minimum(below + 1, num_resamples - 1), axis=0)
    low, high = np.where(defined, first + (places - below) * (second - first), np.nan)
    return IntervalEstimate(estimate[()], low[()], high[()])


def jackknife_interval(samples: np.ndarray, of_mean: Statistic, level: float = 0.95) -> IntervalEstimate:
    """A smooth function of the mean over runs, `[..., points] → [...]`, and its Student-t interval.

        θ ± t_{n−1, (1+level)/2} · √((n−1)/n Σᵢ (θ₋ᵢ − mean θ₋)²)

    with `θ₋ᵢ` the function of the mean without run `i`. Of the mean itself that is `mean_interval`; unlike a
    bootstrap it allows for how few runs its deviation comes from. Samples are `[runs, points]`. NaN for one
    run, and where the function is not finite without some run.

    Reference: Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 11.
    """
    level, samples = require_level(level), require_runs("samples", samples)
    count, mean = len(samples), samples.mean(axis=0)
    estimate = np.asarray(of_mean(mean))
    half_width = np.full(estimate.shape, np.nan)
    if count > 1:
        without_each = np.asarray(of_mean(mean + (mean - samples) / (count - 1)))
        half_width = (count - 1) * mean_interval(without_each, level)[1]
    return IntervalEstimate(estimate[()], (estimate - half_width)[()], (estimate + half_width)[()])


def trailing_mean(curves: np.ndarray, width: int, *, lengths: Lengths = None) -> np.ndarray:
    """Mean over the episodes of the last `width` points up to each, of fewer at the start."""
    curves, lengths = require_curves("curves", curves, lengths)
    width = min(require_count("width", width), curves.shape[-1])
    padding = np.zeros((*curves.shape[:-1], width - 1))
    weights = np.concatenate([np.zeros(width - 1), lengths])
    padded = np.concatenate([padding, curves], axis=-1) * weights
    windows = np.lib.stride_tricks.sliding_window_view
    return windows(padded, width, axis=-1).sum(axis=-1) / windows(weights, width).sum(axis=-1)


def rounding_tolerance(*arrays: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return the largest difference between numbers of these arrays that counts as rounding."""
    return ROUNDING * functools.reduce(np.maximum, (np.abs(array).max(axis=axis) for array in arrays))


def rounded_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return `first − second` of samples `[runs, ...]`, zero where that is rounding."""
    difference = first - second
    return np.where(np.abs(difference) <= rounding_tolerance(first, second, axis=0), 0.0, difference)


def sample_equality(first: np.ndarray, second: np.ndarray) -> str | None:
    """Return `"identical"` (to the last bit), `"rounding"` (equal up to rounding) or `None`."""
    if first.shape != second.shape:
        return None
    if np.array_equal(first, second):
        return "identical"
    return "rounding" if (np.abs(first - second) <= rounding_tolerance(first, second)).all() else None


def is_lowest(values: np.ndarray) -> np.ndarray:
    """Return which values are the lowest; several are where they differ by rounding alone."""
    return values <= values.min() + rounding_tolerance(values)


def require_runs(name: str, value: Any, unit: str = "run", axis: int = 0, finite: bool = True) -> np.ndarray:
    """Return a float64 array with an axis of units, which is not empty: `[runs, ...]`."""
    array = as_array(value)
    array = require_array(name, value, (None,) * max(array.ndim, 1)) if finite else array.astype(float)
    if array.ndim == 0 or array.shape[axis] == 0:
        raise ArgumentError(name, f"have at least one {unit}", array.shape, f"shape {array.shape}")
    return array


def require_curves(name: str, curves: np.ndarray, lengths: Lengths) -> tuple[np.ndarray, np.ndarray]:
    """Return curves of at least one point, and the positive numbers of episodes behind their points."""
    curves = require_runs(name, curves, "point", axis=-1)
    lengths = np.ones(curves.shape[-1]) if lengths is None else lengths
    sizes = require_array("lengths", lengths, curves.shape[-1:])
    if (sizes <= 0).any():
        raise ArgumentError("lengths", "be positive", sizes, f"{sizes.min():g}")
    return curves, sizes


def require_level(level: Any) -> float:
    """Return a confidence level in (0, 1)."""
    level = require_number("level", level, above=0, at_most=1)
    if level == 1:
        raise ArgumentError("level", "be below 1", 1.0)
    return level

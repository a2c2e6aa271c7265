"""Thresholds of changed means: how often they err, and how late they are."""

import math

import numpy as np
import pytest

from driftwise.theory.confidence import means_threshold, samples_until_found


def ratio(samples: np.ndarray, split: int) -> np.ndarray:
    """The likelihood ratio of a change after so many of `[runs, n]` samples of noise 1."""
    num = samples.shape[1]
    gap = samples[:, :split].mean(axis=1) - samples[:, split:].mean(axis=1)
    return split * (num - split) / (2 * num) * gap**2


@pytest.mark.parametrize(("shift", "before"), [(1.0, 200), (2.0, 60), (4.0, 20)])
def test_a_change_is_found_as_soon_as_promised(shift, before):
    """In all but 20 % of 2,000 runs, give or take three standard deviations; half as many are too few."""
    enough = samples_until_found(shift, before=before, noise_scale=1.0, miss=0.2)
    assert enough is not None
    noise = np.random.default_rng(0).normal(size=(2000, before + enough))
    noise[:, before:] += shift
    least = means_threshold(before + enough, before + enough - 1, math.log(math.pi**2 / (6 * 0.05)))
    assert (ratio(noise, before) >= least).mean() >= 0.8 - 0.027
    sooner = before + enough // 2
    assert (ratio(noise[:, :sooner], before) >= least).mean() < 0.8


def test_it_is_the_least_number_that_satisfies_the_inequality():
    def holds(after: int) -> bool:
        num, share = 50 + after, 6 * 0.1 / (math.pi**2 * 3**2 * 4)
        signal = 0.8 * math.sqrt(50 * after / (2 * 0.3**2 * num))
        threshold = math.log(math.pi**2 * (num - 1) * num**2 / (3 * share))
        return signal >= math.sqrt(threshold) + math.sqrt(math.log(2 / 0.05))

    found = samples_until_found(0.8, before=50, noise_scale=0.3, delta=0.1, num_streams=4, epoch=3)
    assert found is not None
    assert [holds(found - 1), holds(found)] == [False, True]


def test_a_change_that_comes_too_soon_is_never_found():
    assert samples_until_found(1.0, before=10, noise_scale=1.0) is None
    with pytest.raises(ValueError, match=r"^shift must be a number above 0, got 0"):
        samples_until_found(0.0, before=10)


def ratios(sums: np.ndarray) -> np.ndarray:
    """The same of every split, from sums of the first 1, 2, … samples."""
    num, splits = len(sums), np.arange(1, len(sums))
    gaps = sums[:-1] / splits - (sums[-1] - sums[:-1]) / (num - splits)
    return splits * (num - splits) / (2 * num) * gaps**2


@pytest.mark.slow
def test_the_proven_threshold_is_later_than_that_of_experiments_and_hardly_ever_wrong():
    """200 runs: a shift by one standard deviation after 200 samples is found in 23 and 46 in the median."""
    rng, num = np.random.default_rng(0), np.arange(2, 501)
    lines = {
        "experiments": np.log(3 * num**1.5 / 0.05),
        "proven": np.array([means_threshold(n, n - 1, math.log(1 / 0.05)) for n in num.tolist()]),
    }
    delays: dict[str, list[int]] = {name: [] for name in lines}
    false = dict.fromkeys(lines, 0)
    for _ in range(200):
        sums = np.cumsum(rng.normal(size=500) + (np.arange(500) >= 200))
        largest = np.array([ratios(sums[:n]).max() for n in num.tolist()])
        for name, line in lines.items():
            first = int(num[np.argmax(largest >= line)])
            false[name] += first <= 200
            delays[name].append(first - 200)
    assert false["proven"] <= 10 + 9  # 5 % of 200, and three standard deviations
    np.testing.assert_allclose(np.median(delays["experiments"]), 23, atol=4)
    np.testing.assert_allclose(np.median(delays["proven"]), 46, atol=7)


def test_a_change_that_leaves_the_window_is_not_promised_and_few_splits_are_looked_at_more_sharply():
    def until_found(shift: float, window: int | None) -> int | None:
        return samples_until_found(shift, before=1000, noise_scale=0.5, window=window)

    assert until_found(0.2, None) == 1953
    assert until_found(0.2, 256) is None
    found, in_window = until_found(0.5, None), until_found(0.5, 256)
    assert found is not None
    assert in_window is not None
    assert in_window < found < 256

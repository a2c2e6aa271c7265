"""Intervals are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from driftwise.statistics import mean_interval


def test_interval_of_a_small_sample_by_hand() -> None:
    mean, half_width = mean_interval(np.array([1.0, 2.0, 3.0]))
    assert mean == 2
    assert half_width == pytest.approx(4.30265 / np.sqrt(3), rel=1e-4)


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    samples = np.random.default_rng(0).normal(size=(5, 20_000))
    mean, half_width = mean_interval(samples)
    assert np.mean(np.abs(mean) <= half_width) == pytest.approx(0.95, abs=0.005)


def test_one_sample_has_a_mean_and_no_interval() -> None:
    mean, half_width = mean_interval(np.array([[1.0, 5.0]]))
    assert mean.tolist() == [1, 5]
    assert np.isnan(half_width).all()

"""Caution: what corruption can do to the estimate has the bounds that the radius is made from."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.base import Sample, Spec
from driftwise.parts import (
    Caution,
    CautiousUcb,
    EpsilonGreedy,
    ExponentialWeights,
    LeastSquares,
    NoForgetting,
    RandomisedUcb,
    Thompson,
    Ucb,
)
from driftwise.parts.regression import empty_moments

DIM = 3
ROUNDING = 1e-9  # of norms of order one


def moved(
    rng: np.random.Generator, alpha: float, rate: float, ridge: float, num: int, *, against: bool
) -> tuple[float, np.ndarray]:
    """`‖Σ ω w x c‖` in the norm of `Λ⁻¹` after random samples, and the sizes of their corruptions."""
    caution, forgetting = Caution(alpha), ExponentialWeights(rate)
    none = Sample(np.zeros((1, DIM)), np.zeros(1), np.zeros(1, dtype=int), np.ones(1))
    moments = empty_moments(none, 0, ridge, gram_sq=False)
    sizes = rng.exponential(size=num) * (rng.random(num) < 0.4)
    for size in sizes:
        x = rng.normal(size=DIM) * rng.choice([1e-3, 0.3, 1.0], size=DIM)
        x /= max(np.linalg.norm(x), 1.0)
        towards = x @ np.linalg.solve(moments.gram[0], moments.cross[0, :, 0])
        sign = (1.0 if towards >= 0 else -1.0) if against else rng.choice([-1.0, 1.0])
        weight = caution.shares(moments.gram, x[None])
        assert 0 < weight[0] <= 1
        sample = Sample(x[None], np.array([sign * size]), none.successor, weight)
        moments = forgetting.update(moments, sample)
    shift = moments.cross[0, :, 0]
    return float(np.sqrt(shift @ np.linalg.solve(moments.gram[0], shift))), sizes


@given(st.integers(0, 2**32 - 1), st.floats(0.02, 2.0), st.floats(0.05, 3.0), st.booleans())
def test_corruption_moves_the_estimate_by_at_most_its_sum_times_alpha(seed, alpha, ridge, against):
    shift, sizes = moved(np.random.default_rng(seed), alpha, 1.0, ridge, 30, against=against)
    assert shift <= alpha * sizes.sum() + ROUNDING


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.02, 2.0),
    st.floats(0.3, 0.999),
    st.floats(0.05, 3.0),
    st.booleans(),
)
def test_with_exponential_weights_corruption_is_forgotten_at_half_the_rate(seed, alpha, rate, ridge, against):
    shift, sizes = moved(np.random.default_rng(seed), alpha, rate, ridge, 30, against=against)
    left = rate ** (np.arange(len(sizes))[::-1] / 2) @ sizes
    assert shift <= alpha * rate**-0.5 * left + ROUNDING


def test_the_bound_without_caution_fails():
    """So that the two tests above can."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        shift, sizes = moved(rng, 1e9, 1.0, 0.05, 30, against=True)
        worst = max(worst, shift / (0.2 * sizes.sum()))
    assert worst > 1.2


def test_samples_in_known_directions_have_all_their_weight():
    gram, features = np.diag([4.0, 100.0, 1.0])[None], np.eye(3)
    weights = [Caution(0.2).shares(gram, x[None])[0] for x in features]
    np.testing.assert_allclose(weights, [0.4, 1.0, 0.2], rtol=1e-12)
    assert Caution(0.2).shares(gram, np.zeros((1, 3))) == 1


def test_caution_refuses_what_would_not_cover_corruption_in_the_norm_that_bounds_it():
    spec, caution = Spec.bandit(dim=3, num_arms=2), Caution(1.0)
    for exploration in (Ucb(1.0), RandomisedUcb(1.0), Thompson(1.0)):
        expected = "be CautiousUcb, or have norm='single', when caution is given"
        with pytest.raises(ValueError, match=f"^exploration must {re.escape(expected)}, got "):
            LeastSquares(spec, NoForgetting(), exploration, caution=caution)
    for exploration in (Ucb(1.0, "single"), CautiousUcb(1.0, widening=0.5), EpsilonGreedy(0.1)):
        assert LeastSquares(spec, NoForgetting(), exploration, caution=caution).caution == caution

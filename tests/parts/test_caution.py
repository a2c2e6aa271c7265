"""Caution: what corruption can do to the estimate has the bounds that the radius is made from."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftwise.base import Sample, Spec
from driftwise.parts.exploration import CautiousUcb, EpsilonGreedy, RandomisedUcb, Thompson, Ucb
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import Caution, LeastSquares
from driftwise.parts.regression import empty_moments
from tests.examples import refused

DIM = 3
ROUNDING = 1e-9  # of norms of order one


def moved(seed: int, alpha: float, rate: float, ridge: float, *, against: bool) -> tuple[float, float]:
    """`‖Σ ω w x c‖` in the norm of `Λ⁻¹` after 30 random samples, and the sum in its bound over α."""
    rng = np.random.default_rng(seed)
    caution, forgetting = Caution(alpha), ExponentialWeights(rate)
    none = Sample(np.zeros((1, DIM)), np.zeros(1), np.zeros(1, dtype=int), np.ones(1))
    moments = empty_moments(none, 0, ridge, gram_sq=False)
    sizes = rng.exponential(size=30) * (rng.random(30) < 0.4)
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
    left = rate**-0.5 * rate ** (np.arange(30)[::-1] / 2) @ sizes
    return float(np.sqrt(shift @ np.linalg.solve(moments.gram[0], shift))), left


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.02, 2.0),
    st.one_of(st.just(1.0), st.floats(0.3, 0.999)),
    st.floats(0.05, 3.0),
    st.booleans(),
)
def test_corruption_moves_the_estimate_by_its_sum_and_is_forgotten_at_half_the_rate(
    seed, alpha, rate, ridge, against
):
    shift, left = moved(seed, alpha, rate, ridge, against=against)
    assert shift <= alpha * left + ROUNDING


def test_the_bound_without_caution_fails():
    """So that the test above can."""
    found = [moved(seed, 1e9, 1.0, 0.05, against=True) for seed in range(20)]
    assert max(shift / (0.2 * left) for shift, left in found) > 1.2


def test_samples_in_known_directions_have_all_their_weight():
    gram, features = np.diag([4.0, 100.0, 1.0])[None], np.eye(3)
    weights = [Caution(0.2).shares(gram, x[None])[0] for x in features]
    np.testing.assert_allclose(weights, [0.4, 1.0, 0.2], rtol=1e-12)
    assert Caution(0.2).shares(gram, np.zeros((1, 3))) == 1


def test_caution_refuses_what_would_not_cover_corruption_in_the_norm_that_bounds_it():
    spec, caution = Spec.bandit(dim=3, num_arms=2), Caution(1.0)
    for exploration in (Ucb(1.0), RandomisedUcb(1.0), Thompson(1.0)):
        with refused("exploration must be CautiousUcb, or have norm='single', when caution is given, got "):
            LeastSquares(spec, NoForgetting(), exploration, caution=caution)
    for exploration in (Ucb(1.0, "single"), CautiousUcb(1.0, widening=0.5), EpsilonGreedy(0.1)):
        assert LeastSquares(spec, NoForgetting(), exploration, caution=caution).caution == caution

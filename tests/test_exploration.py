"""What is added to the estimate, and how an index becomes a policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftwise import random
from driftwise.exploration import EpsilonGreedy, Greedy, Ucb, Uniform, greedy_policy
from driftwise.regression import feature_table
from driftwise.types import Moments

KEY = random.key(0)
FEATURES = np.random.default_rng(1).normal(size=(3, 2, 4))


def moments_of(rate: float) -> tuple[Moments, np.ndarray]:
    """Moments of a few discounted samples, one step, and the inverse of their gram."""
    phis = np.random.default_rng(2).normal(size=(6, 4)) / 2
    weights = rate ** np.arange(5, -1, -1.0)
    gram = np.einsum("t,td,te->de", weights, phis, phis) + np.eye(4)
    gram_sq = np.einsum("t,td,te->de", weights**2, phis, phis) + np.eye(4)
    moments = Moments(gram[None], gram_sq[None], np.zeros((1, 4, 4)), np.asarray(1.0), np.asarray(6), ())
    return moments, np.linalg.inv(gram)[None]


def test_ucb_is_the_radius_times_the_norm_of_each_pair():
    moments, inverse = moments_of(rate=0.7)
    table = feature_table(FEATURES)
    sandwich = inverse[0] @ moments.gram_sq[0] @ inverse[0]  # pyright: ignore[reportOptionalSubscript]
    for ucb, shape in ((Ucb(2.5), sandwich), (Ucb(2.5, "single"), inverse[0])):
        expected = [[2.5 * np.sqrt(phi @ shape @ phi) for phi in table.values]]
        bonus = ucb.perturb(inverse, moments, table, KEY)
        np.testing.assert_allclose(bonus, expected, rtol=1e-12)


def test_sandwich_norm_never_exceeds_the_single_one():
    moments, inverse = moments_of(rate=0.7)
    table = feature_table(FEATURES)
    sandwich, single = (
        Ucb(1.0, norm).perturb(inverse, moments, table, KEY) for norm in ("sandwich", "single")
    )
    assert (sandwich < single).all()


def test_sandwich_norm_without_squared_weights_is_the_single_norm():
    """`gram_sq=None` stands for weights of zero and one, where Λ̃ = Λ."""
    moments, inverse = moments_of(rate=1.0)
    table = feature_table(FEATURES)
    bonus = [Ucb(1.0).perturb(inverse, m, table, KEY) for m in (moments, moments._replace(gram_sq=None))]
    np.testing.assert_allclose(bonus[0], bonus[1], rtol=1e-12)


@pytest.mark.parametrize("exploration", [Greedy(), EpsilonGreedy(0.3), Uniform()], ids=str)
def test_explorations_without_a_bonus_add_nothing(exploration):
    moments, inverse = moments_of(rate=0.7)
    assert not exploration.uses_gram_sq
    np.testing.assert_array_equal(
        exploration.perturb(inverse, moments, feature_table(FEATURES), KEY), np.zeros((1, 6))
    )


indices = hnp.arrays(float, (3, 4), elements=st.floats(-100, 100))


@given(indices, st.floats(0, 1))
def test_every_policy_is_a_distribution(q, epsilon):
    for exploration in (Ucb(1.0), Greedy(), EpsilonGreedy(epsilon), Uniform()):
        policy = exploration.policy(q)
        assert policy.min() >= 0
        np.testing.assert_allclose(policy.sum(axis=-1), 1, rtol=1e-14)


@given(indices)
def test_greedy_policy_puts_all_probability_on_maximisers(q):
    expected = (q * greedy_policy(q)).sum(axis=-1)
    # ties are those within eps^(2/3) ≈ 4e-11, relative
    np.testing.assert_allclose(expected, q.max(axis=-1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_tied_actions_share_probability_whatever_the_rounding(scale):
    q = scale * np.array([[1.0, 0.3, 1.0, 0.2], [0.1 + 0.2, 0.3, 0.3, 0.3 - 1e-3]])
    np.testing.assert_array_equal(greedy_policy(q), [[1 / 2, 0, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3, 0]])


def test_rounding_level_differences_are_ties_in_single_precision_too():
    q = np.array([1.0, 1.0 - 1e-6, 1.0 - 1e-3], dtype=np.float32)
    policy = greedy_policy(q)
    assert policy.dtype == np.float32
    np.testing.assert_array_equal(policy, np.array([0.5, 0.5, 0], dtype=np.float32))


def test_epsilon_greedy_mixes_uniform_and_greedy():
    q = np.array([0.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(EpsilonGreedy(0.2).policy(q), [0.05, 0.85, 0.05, 0.05], rtol=1e-15)
    np.testing.assert_array_equal(EpsilonGreedy(0).policy(q), Greedy().policy(q))
    np.testing.assert_array_equal(EpsilonGreedy(1).policy(q), Uniform().policy(q))

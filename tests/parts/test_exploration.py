"""What is added to the estimate, and how an index becomes a policy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftwise.base import FeatureTable, Moments, random
from driftwise.parts import ConfidenceRadius, EpsilonGreedy, Exploration, Greedy, InverseGap, RandomisedUcb
from driftwise.parts.exploration import Norm, Softmax, Thompson, Ucb, Uniform, greedy_policy
from driftwise.parts.regression import feature_table

KEY = random.key(0)
TABLE = feature_table(np.random.default_rng(1).normal(size=(3, 2, 4)))


def moments_of(rate: float, steps: int = 1) -> tuple[Moments, np.ndarray]:
    """Moments of a few discounted samples, the same in all steps, and the inverse of their gram."""
    phis = np.random.default_rng(2).normal(size=(6, 4)) / 2
    weights = rate ** np.arange(5, -1, -1.0)
    gram = np.einsum("t,td,te->de", weights, phis, phis) + np.eye(4)
    gram_sq = np.einsum("t,td,te->de", weights**2, phis, phis) + np.eye(4)
    gram, gram_sq = (np.repeat(matrix[None], steps, axis=0) for matrix in (gram, gram_sq))
    one, tick, none = np.asarray(1.0), np.asarray(6), np.asarray(0)
    cross, sums = np.zeros((steps, 4, 4)), (weights.sum(), weights @ weights)
    moments = Moments(gram, gram_sq, cross, one, tick, *sums, none, ())
    return moments, np.linalg.inv(gram)


def bonus(exploration: Exploration, moments: Moments, key: np.ndarray = KEY) -> np.ndarray:
    return exploration.perturb(np.linalg.inv(moments.gram), moments, TABLE, key)


def test_sandwich_norm_never_exceeds_the_single_one():
    """They are the radius times the norms; `gram_sq=None` stands for weights of 0 and 1, where Λ̃ = Λ."""
    moments, inverse = moments_of(rate=0.7)
    sandwich = inverse[0] @ np.asarray(moments.gram_sq)[0] @ inverse[0]
    shapes: dict[Norm, np.ndarray] = {"sandwich": sandwich, "single": inverse[0]}
    for norm, shape in shapes.items():
        expected = [[2.5 * np.sqrt(phi @ shape @ phi) for phi in TABLE.values]]
        np.testing.assert_allclose(bonus(Ucb(2.5, norm), moments), expected, rtol=1e-12)
    assert (bonus(Ucb(1.0), moments) < bonus(Ucb(1.0, "single"), moments)).all()
    unit, _ = moments_of(rate=1.0)
    left_out = bonus(Ucb(1.0), unit._replace(gram_sq=None))
    np.testing.assert_allclose(left_out, bonus(Ucb(1.0), unit), rtol=1e-12)


def test_a_radius_that_is_a_part_is_that_radius_now():
    moments, _ = moments_of(rate=0.7)
    for radius in (ConfidenceRadius(0.5), ConfidenceRadius(0.5, information="determinant")):
        value = float(np.ravel(radius.at(moments))[0])
        for exploration in (Ucb, RandomisedUcb, Thompson):
            now, number = (bonus(exploration(each), moments) for each in (radius, value))
            np.testing.assert_allclose(now, number, rtol=1e-13)


def deviations(exploration: Thompson, moments: Moments, num: int) -> np.ndarray:
    """Draws of `θ̃ − w`, coordinate by coordinate: `[num, steps, dim]`, each from a key of its own."""
    inverse, axes = np.linalg.inv(moments.gram), FeatureTable(np.eye(4))
    drawn = [exploration.perturb(inverse, moments, axes, random.fold(KEY, i)) for i in range(num)]
    return np.stack(drawn)


@pytest.mark.parametrize("weighted", [True, False])
def test_thompson_draws_have_the_covariance_of_the_formula(weighted):
    """`a² Λ⁻¹Λ̃Λ⁻¹`, or `a² Λ⁻¹` where Λ̃ is left out; steps are independent of each other."""
    scale, num, steps = 1.5, 300, 20
    moments, _ = moments_of(0.7, steps)
    far_from_diagonal = dict(gram=moments.gram + 4, gram_sq=np.asarray(moments.gram_sq) + 4)
    moments = moments._replace(**far_from_diagonal)
    inverse = np.linalg.inv(moments.gram)
    middle = np.asarray(moments.gram_sq if weighted else moments.gram)
    covariance = scale**2 * inverse[0] @ middle[0] @ inverse[0]
    drawn = deviations(Thompson(scale), moments if weighted else moments._replace(gram_sq=None), num)
    flat = drawn.reshape(-1, 4)
    variances = np.diag(covariance)
    # five standard errors: the products of two coordinates have the variance c_ii c_jj + c_ij²
    errors = 5 * np.sqrt((np.outer(variances, variances) + covariance**2) / len(flat))
    assert (np.abs(flat.T @ flat / len(flat) - covariance) < errors).all()
    assert (np.abs(flat.mean(axis=0)) < 5 * np.sqrt(variances / len(flat))).all()
    neighbours = np.mean(drawn[:, :-1] * drawn[:, 1:], axis=(0, 1))
    assert (np.abs(neighbours) < 5 * variances / np.sqrt(num * (steps - 1))).all()


def test_thompson_draws_one_parameter_for_all_actions():
    moments, _ = moments_of(rate=0.7)
    expected = TABLE.values @ deviations(Thompson(0.8), moments, 1)[0, 0]
    drawn = bonus(Thompson(0.8), moments, random.fold(KEY, 0))[0]
    np.testing.assert_allclose(drawn, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("norm", ["sandwich", "single"])
def test_randomised_ucb_scales_all_widths_by_one_draw(norm):
    moments, _ = moments_of(0.7, steps=2)
    widths, num, draws = bonus(Ucb(2.5, norm), moments), 800, []
    for i in range(num):
        signed, folded = (
            bonus(RandomisedUcb(2.5, sign, norm), moments, random.fold(KEY, i)) / widths
            for sign in ("signed", "folded")
        )
        np.testing.assert_allclose(signed, signed[0, 0], rtol=1e-12)
        np.testing.assert_allclose(folded, np.abs(signed), rtol=1e-12)
        draws.append(signed[0, 0])
    assert abs(np.mean(draws)) < 5 / np.sqrt(num)
    assert abs(np.mean(np.square(draws)) - 1) < 5 * np.sqrt(2 / num)


SINGLE = [Ucb(1, "single"), RandomisedUcb(1, norm="single")]
BARE = [Greedy(), EpsilonGreedy(0.3), Uniform(), Softmax(0.5), InverseGap(3.0)]


@pytest.mark.parametrize("exploration", [Ucb(1), RandomisedUcb(1), Thompson(1), *SINGLE, *BARE], ids=str)
def test_squared_weights_are_kept_where_they_are_looked_at(exploration):
    moments, _ = moments_of(rate=0.7)
    assert exploration.uses_gram_sq == (exploration not in (*SINGLE, *BARE))
    looked, left_out = (bonus(exploration, each) for each in (moments, moments._replace(gram_sq=None)))
    assert (looked != left_out).any() == exploration.uses_gram_sq
    assert looked.any() == (exploration not in BARE)  # which add nothing


indices = hnp.arrays(float, (3, 4), elements=st.floats(-100, 100))
presence = st.lists(st.booleans(), min_size=4, max_size=4).filter(any).map(np.array)


@given(hnp.arrays(float, (3, 4), elements=st.floats(-1e6, 1e6)), presence, st.floats(0, 1))
def test_every_policy_is_a_distribution_over_the_actions_that_are_there(q, present, epsilon):
    q = np.where(present, q, -np.inf)
    drawing = (Ucb(1.0), RandomisedUcb(1.0), Thompson(1.0))
    for exploration in (*drawing, Greedy(), EpsilonGreedy(epsilon), Uniform(), Softmax(0.1), InverseGap(9.0)):
        policy = exploration.policy(q)
        assert (policy[:, ~present] == 0).all()
        assert policy.min() >= 0
        np.testing.assert_allclose(policy.sum(axis=-1), 1, rtol=1e-14)
    uniform = np.broadcast_to(present / present.sum(), q.shape)
    np.testing.assert_allclose(Uniform().policy(q), uniform, rtol=1e-14)
    if epsilon > 0:
        assert (EpsilonGreedy(epsilon).policy(q)[:, present] > 0).all()


@given(indices)
def test_greedy_policy_puts_all_probability_on_maximisers(q):
    expected = (q * greedy_policy(q)).sum(axis=-1)
    # ties are those within eps^(2/3) ≈ 4e-11, relative
    np.testing.assert_allclose(expected, q.max(axis=-1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_tied_actions_share_probability_whatever_the_rounding(scale):
    q = scale * np.array([[1.0, 0.3, 1.0, 0.2], [0.1 + 0.2, 0.3, 0.3, 0.3 - 1e-3]])
    np.testing.assert_array_equal(greedy_policy(q), [[1 / 2, 0, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3, 0]])


@pytest.mark.parametrize("best", [0.0, 1e-6, 0.1, 1.0])
def test_below_one_values_tie_by_their_difference_alone(best):
    """What is zero in the mathematics may be anything of the size of rounding, which is no share of zero."""
    np.testing.assert_array_equal(greedy_policy(np.array([best, best - 1e-11, best - 1e-9])), [0.5, 0.5, 0])


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


@given(indices)
def test_softmax_and_inverse_gaps_go_from_uniform_to_greedy(q):
    for flat in (Softmax(1e12), InverseGap(0.0)):
        np.testing.assert_allclose(flat.policy(q), Uniform().policy(q), rtol=1e-9)
    ahead = q.max(axis=-1) - np.sort(q, axis=-1)[:, -2] > 1e-3
    for sharp in (Softmax(1e-5), InverseGap(1e9)):  # a gap of 1e-3 leaves e^-100, or 1e-6
        np.testing.assert_allclose(sharp.policy(q)[ahead], Greedy().policy(q)[ahead], atol=1e-5)


def test_softmax_is_a_ratio_of_exponentials_and_inverse_gaps_are_inverse():
    q = np.array([0.2, 1.0, 0.5])
    np.testing.assert_allclose(Softmax(0.5).policy(q), np.exp(2 * q) / np.exp(2 * q).sum(), rtol=1e-14)
    policy = InverseGap(10.0).policy(q)
    np.testing.assert_allclose(policy[[0, 2]], [1 / (3 + 8), 1 / (3 + 5)], rtol=1e-14)

"""Decision sets: their shapes, their distributions, and that what is not there is never played."""
# pyright: reportArgumentType=false

import json
import math

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.base import Episode, FeatureTable, Spec, from_config, random, to_config
from driftwise.parts import (
    EpsilonGreedy,
    ExponentialWeights,
    Greedy,
    LeastSquares,
    RandomisedUcb,
    Thompson,
    Ucb,
    Uniform,
)
from tests.environments.bandits import present_arms

KEY = random.key(7)
SHAPES = ("cube", "ball", "sphere")
CONTEXTS = (((0.6, 0.8), (0.0, 0.5)), ((1.0, 0.0), (0.0, 0.0)), ((0.0, -1.0), (-0.3, 0.3)))
ARMS = [
    *(dw.arms.FreshArms(5, 3, shape) for shape in SHAPES),
    *(dw.arms.FreshArms(5, 3, shape, fewest=2) for shape in SHAPES),
    dw.arms.FixedArms(((0.6, 0.8), (0.0, 0.5), (-1.0, 0.0))),
    dw.arms.orthogonal_arms(4),
    dw.arms.ContextArms(CONTEXTS, (0.2, 0.5, 0.3)),
    dw.arms.ContextArms((CONTEXTS[0], CONTEXTS[2])),
]


def rounds(arms: dw.arms.Arms, num: int, dtype: type = np.float64) -> list[FeatureTable]:
    sampler = arms.sampler(dtype)
    return [sampler.draw(random.fold(KEY, t)) for t in range(num)]


def points(shape: str, dim: int, num: int) -> np.ndarray:
    """Many independent arms: `[num, dim]`."""
    return dw.arms.FreshArms(num, dim, shape).sampler(np.float64).draw(KEY).values


@pytest.mark.parametrize("arms", ARMS, ids=str)
def test_a_round_offers_arms_of_the_stated_shape_in_the_unit_ball(arms):
    assert isinstance(arms, dw.arms.Arms)
    assert from_config(json.loads(json.dumps(to_config(arms)))) == arms
    for dtype in (np.float64, np.float32):
        for table in rounds(arms, 5, dtype):
            assert table.values.shape == (arms.num_arms, arms.dim)
            assert table.values.dtype == dtype
            assert np.linalg.norm(table.values, axis=1).max() <= 1 + 1e-6
            assert table.present is None or (table.present.shape == (arms.num_arms,) and table.present.any())


@pytest.mark.parametrize("arms", ARMS, ids=str)
def test_numpy_and_jax_draw_the_same_arms(arms):
    expected = rounds(arms, 4)
    with jax.enable_x64(True):
        sampler = arms.sampler(np.float64)
        keys = np.stack([random.fold(KEY, t) for t in range(4)])
        drawn = jax.jit(jax.vmap(lambda sampler, key: sampler.draw(key), in_axes=(None, 0)))(sampler, keys)
    for t, table in enumerate(expected):
        np.testing.assert_allclose(drawn.values[t], table.values, rtol=0, atol=1e-12)
        assert (drawn.present is None) == (table.present is None)
        if table.present is not None:
            np.testing.assert_array_equal(drawn.present[t], table.present)


@pytest.mark.parametrize("arms", [ARMS[0], ARMS[4], ARMS[8]], ids=str)
def test_another_address_has_other_arms(arms):
    first, *others = rounds(arms, 7)
    assert any((first.values != other.values).any() for other in others)


def assert_mean(values: np.ndarray, mean: float, deviation: float) -> None:
    """Within five standard errors."""
    assert abs(values.mean() - mean) < 5 * deviation / math.sqrt(values.size)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_of_the_ball_are_uniform(dim):
    """P(‖x‖ ≤ r) = r^d: a mean of d/(d+1), a mean square of d/(d+2), and directions without preference."""
    drawn = points("ball", dim, 20_000)
    norms = np.linalg.norm(drawn, axis=1)
    mean, square = dim / (dim + 1), dim / (dim + 2)
    assert_mean(norms, mean, math.sqrt(square - mean**2))
    assert_mean(norms**dim, 1 / 2, math.sqrt(1 / 12))  # ‖x‖^d is uniform on [0, 1]
    for coordinate in drawn.T:
        assert_mean(coordinate, 0.0, math.sqrt(square / dim))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_of_the_sphere_have_length_one_and_no_preferred_direction(dim):
    drawn = points("sphere", dim, 20_000)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1, rtol=1e-12)
    fourth = 3 / (dim * (dim + 2))  # E x_i⁴ on the sphere
    for coordinate in drawn.T:
        assert_mean(coordinate, 0.0, math.sqrt(1 / dim))
        assert_mean(coordinate**2, 1 / dim, math.sqrt(fourth - 1 / dim**2) + 1e-12)


def test_points_of_the_cube_are_uniform_and_pulled_back_to_length_one():
    drawn = points("cube", 2, 20_000)
    raw = 2 * random.draw_coarse(KEY, drawn.size, np.float64).reshape(drawn.shape) - 1
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(drawn, np.where(lengths > 1, raw / lengths, raw), rtol=0, atol=1e-15)
    norms = np.linalg.norm(drawn, axis=1)
    inside = norms < 1 - 1e-12
    assert norms.max() <= 1 + 1e-12
    assert_mean(inside.astype(float), math.pi / 4, math.sqrt(math.pi / 4 * (1 - math.pi / 4)))
    assert_mean(norms[inside] ** 2, 1 / 2, math.sqrt(1 / 12))  # uniform in the disc


def test_the_number_of_arms_is_uniform_between_fewest_and_all_and_changes_no_arm():
    num = 1200
    drawn = rounds(dw.arms.FreshArms(5, 2, fewest=3), num)
    present = np.stack([present_arms(table) for table in drawn])
    counts = present.sum(axis=1)
    assert set(counts.tolist()) == {3, 4, 5}
    for count in (3, 4, 5):
        assert_mean((counts == count).astype(float), 1 / 3, math.sqrt(2 / 9))
    np.testing.assert_array_equal(present, np.arange(5) < counts[:, None])
    first = np.array([table.values[0, 0] for table in drawn])
    assert abs(np.corrcoef(counts, first)[0, 1]) < 5 / math.sqrt(num)
    for shape in SHAPES:
        full, varying = (rounds(dw.arms.FreshArms(5, 3, shape, fewest=fewest), 3) for fewest in (0, 1))
        for one, other in zip(full, varying, strict=True):
            np.testing.assert_array_equal(one.values, other.values)


def test_contexts_come_with_their_probabilities():
    arms, num = dw.arms.ContextArms(CONTEXTS, (0.2, 0.5, 0.3)), 1200
    drawn = rounds(arms, num)
    for context, probability in zip(np.array(CONTEXTS), arms.probabilities, strict=True):
        hits = np.array([(table.values == context).all() for table in drawn])
        assert_mean(hits.astype(float), probability, math.sqrt(probability * (1 - probability)))
    for table in drawn[:50]:
        np.testing.assert_array_equal(table.present, table.values.any(axis=1))


def test_all_features_are_those_that_can_come_up():
    assert dw.arms.FreshArms(5, 3).all_features is None
    np.testing.assert_array_equal(dw.arms.orthogonal_arms(3).all_features, np.eye(3))
    features = dw.arms.ContextArms(CONTEXTS).all_features
    there = [arm for context in CONTEXTS for arm in context if any(arm)]
    assert sorted(map(tuple, features.tolist())) == sorted(there)


EXPLORATIONS = [
    Ucb(0.5),
    Thompson(2.0),
    RandomisedUcb(2.0, "signed"),
    EpsilonGreedy(0.4),
    Uniform(),
    Greedy(),
]


@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=str)
@pytest.mark.parametrize("arms", [dw.arms.FreshArms(4, 2, "ball", fewest=1), ARMS[8]], ids=str)
def test_no_exploration_plays_an_arm_that_is_not_there(exploration, arms):
    agent = LeastSquares(Spec.bandit(dim=2, num_arms=arms.num_arms), ExponentialWeights(0.9), exploration)
    tables = rounds(arms, 60)
    assert not all(present_arms(table).all() for table in tables)
    state = agent.init(tables[0])
    here = np.zeros(1, dtype=np.int32)
    for t, table in enumerate(tables):
        plan = agent.plan(state, table, random.fold(KEY, 1000 + t))
        policy, present = plan.policy[0, 0], present_arms(table)
        assert (policy[~present] == 0).all()
        assert policy.sum() == pytest.approx(1, rel=1e-14)
        if exploration == Uniform():
            np.testing.assert_allclose(policy, present / present.sum(), rtol=1e-14)
        luck = [0.0, 1 - 2.0**-53, *random.draw_uniform(random.fold(KEY, t), 5, np.float64)]
        played = [int(agent.act(plan, 0, here[0], np.asarray(u))) for u in luck]
        assert present[played].all()
        # a reward that punishes what is there: an index of 0 for the others would win
        arm = np.array(played[-1:])
        state = agent.update(state, table, plan, Episode(here, arm, table.values[arm], -5 * np.ones(1), here))

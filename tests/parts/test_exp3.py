"""The EXP3 family against its definitions, and what its probabilities and its regret promise."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.base import Array
from driftwise.base.arrays import namespace, scan
from driftwise.base.jax_backend import register_parts
from driftwise.base.random import choose_index
from driftwise.parts import Exp3, exp3, exp3_p, exp3_s
from tests.reference import adversarial as textbook

register_parts()

NUM_ARMS, NUM_ROUNDS, NUM_RUNS, DELTA = 5, 20_000, 4, 0.1
START = np.zeros((NUM_RUNS, NUM_ARMS))
UNIFORM = Exp3(NUM_ARMS, mixing=1.0, step_size=0.0)
FAMILY = {
    "exp3": exp3,
    "exp3_p": functools.partial(exp3_p, delta=DELTA),
    "exp3_p_bubeck": functools.partial(exp3_p, delta=DELTA, form="bubeck"),
    "exp3_s": functools.partial(exp3_s, num_switches=1),
}


class Played(NamedTuple):
    log_weights: Array  # [I] after the last round
    arms: Array  # [N]
    gains: Array  # [N]
    probabilities: Array  # [N, I] that the arms were drawn with


def play(bandit: Exp3, log_weights: Array, gains: Array, uniforms: Array) -> Played:
    """Rounds with all gains `[N, I]` fixed beforehand, in the array library of the arguments."""

    def step(log_weights: Array, x: tuple) -> tuple[Array, tuple[Array, Array, Array]]:
        gains, uniform = x
        probabilities = bandit.probabilities(log_weights)
        arm = choose_index(namespace(probabilities).cumulative_sum(probabilities), uniform)
        gain = gains[arm]
        return bandit.update(log_weights, arm, gain), (arm, gain, probabilities)

    log_weights, rounds = scan(step, log_weights, (gains, uniforms))
    return Played(log_weights, *rounds)


compiled = jax.jit(jax.vmap(play, in_axes=(None, 0, None, 0)))  # over runs


def runs(bandit: Exp3, gains: np.ndarray, log_weights: Any = START, seed: int = 0) -> Played:
    """The same gains for a few runs, compiled; all of these tests share one program."""
    uniforms = np.random.default_rng(seed).random((NUM_RUNS, NUM_ROUNDS))
    with jax.enable_x64(True):
        return Played(*map(np.asarray, compiled(bandit, log_weights, gains, uniforms)))


@functools.cache
def misleading() -> np.ndarray:
    """Gains 0 and 1: for the first fifth of the rounds the arm that will have been the best is the worst."""
    means = np.full((NUM_ROUNDS, NUM_ARMS), 0.1)
    means[: NUM_ROUNDS // 5, 1] = 0.8
    means[: NUM_ROUNDS // 5, 2:] = 0.3
    means[NUM_ROUNDS // 5 :, 0] = 0.9
    return (np.random.default_rng(1).random(means.shape) < means).astype(float)


def regret(gains: np.ndarray, played: Played) -> np.ndarray:
    return gains.sum(axis=0).max() - played.gains.sum(axis=-1)


def draws(num_rounds: int, num_arms: int, seed: int = 0) -> list[tuple[int, float]]:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(num_arms)), float(rng.random() ** 0.2)) for _ in range(num_rounds)]


def along(bandit: Exp3, played: list[tuple[int, float]], dtype: Any = np.float64) -> np.ndarray:
    """The probabilities of every round, along given draws."""
    log_weights, rows = bandit.init(np.empty(0, dtype)), []
    for arm, gain in played:
        rows.append(bandit.probabilities(log_weights))
        log_weights = bandit.update(log_weights, np.asarray(arm), np.asarray(gain))
    return np.stack(rows)


@pytest.mark.parametrize(("num_arms", "num_rounds"), [(2, 40), (5, 300), (7, 20)])
@pytest.mark.parametrize("name", FAMILY)
def test_they_are_the_algorithms_of_their_papers(name, num_arms, num_rounds):
    options = {"exp3": {}, "exp3_s": dict(num_parts=2)}.get(name, dict(delta=DELTA))
    played = draws(num_rounds, num_arms)
    plain = getattr(textbook, name)(played, num_arms=num_arms, num_rounds=num_rounds, **options)
    rows = along(FAMILY[name](num_arms, num_rounds=num_rounds), played)
    np.testing.assert_allclose(rows, list(plain), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(along(FAMILY[name](1, num_rounds=num_rounds), draws(10, 1)), 1)


shares = st.floats(0, 1)


@given(
    st.builds(Exp3, st.integers(1, 6), st.floats(1e-6, 1), st.floats(0, 10), shares, shares),
    st.integers(0, 99),
)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_probabilities_sum_to_one_and_never_fall_below_their_floor(bandit, seed):
    rows = along(bandit, draws(30, bandit.num_arms, seed))
    np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert (rows >= bandit.mixing / bandit.num_arms).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILY)
def test_weights_survive_rounds_without_end_and_the_last_arm_can_still_win(name):
    """Tuned for 1,000 rounds: one arm's weight would pass e^800 long before the end."""
    bandit = FAMILY[name](NUM_ARMS, num_rounds=1_000)
    assert bandit.step_size * 10 * NUM_ROUNDS > 800
    gains = np.zeros((NUM_ROUNDS, NUM_ARMS))
    gains[:, 3] = 1
    played = runs(bandit, gains)
    for part in range(1, 10):
        played = runs(bandit, gains, played.log_weights, seed=part)
    assert np.isfinite(played.log_weights).all()
    last = played.probabilities[:, -1]
    np.testing.assert_allclose(last.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert (last[:, 3] > 0.7 * (1 - bandit.mixing)).all()
    assert (last >= bandit.mixing / NUM_ARMS).all()
    for part in range(12):
        played = runs(bandit, np.roll(gains, 1, axis=1), played.log_weights, seed=part)
    assert (played.log_weights.argmax(axis=-1) == 4).all()


def test_regret_is_within_the_bound_where_uniform_play_is_not():
    """EXP3 and EXP3.S promise it on average, EXP3.P for nearly every run."""
    gains, size = misleading(), NUM_ARMS * NUM_ROUNDS
    log, auer = math.log(NUM_ARMS), math.log(size / DELTA)
    bounds = {
        "exp3": 2 * math.sqrt(math.e - 1) * math.sqrt(size * log),
        "exp3_p": 4 * math.sqrt(size * auer) + 4 * math.sqrt(5 / 3 * size * log) + 8 * auer,
        "exp3_p_bubeck": 5.15 * math.sqrt(size * math.log(NUM_ARMS / DELTA)),
        "exp3_s": 2 * math.sqrt(math.e - 1) * math.sqrt(size * (2 * math.log(size) + math.e)),
    }
    uniform = regret(gains, runs(UNIFORM, gains))
    for name, bound in bounds.items():
        met = regret(gains, runs(FAMILY[name](NUM_ARMS, num_rounds=NUM_ROUNDS), gains))
        assert (met.max() if "_p" in name else met.mean()) < bound < uniform.min(), name


def test_sharing_follows_a_switch_of_the_best_arm_faster():
    gains = np.full((NUM_ROUNDS, NUM_ARMS), 0.2)
    half = NUM_ROUNDS // 2
    gains[:half, 0] = gains[half:, 1] = 0.9

    def rounds_until_it_is_preferred(bandit: Exp3) -> np.ndarray:
        probabilities = runs(bandit, gains).probabilities
        assert (probabilities[:, half - 1, 0] > 0.5).all()
        preferred = probabilities[:, half:, 1] > 0.5
        return np.where(preferred.any(axis=-1), preferred.argmax(axis=-1), half)

    shared = rounds_until_it_is_preferred(exp3_s(NUM_ARMS, num_rounds=NUM_ROUNDS, num_switches=1))
    alone = rounds_until_it_is_preferred(exp3(NUM_ARMS, num_rounds=NUM_ROUNDS))
    assert shared.max() < alone.min() / 3


@pytest.mark.parametrize("name", FAMILY)
def test_numpy_equals_jax(name):
    bandit, gains, first = FAMILY[name](NUM_ARMS, num_rounds=NUM_ROUNDS), misleading(), 200
    uniforms = np.random.default_rng(0).random((NUM_RUNS, NUM_ROUNDS))
    fast = runs(bandit, gains)
    plain = play(bandit, bandit.init(gains), gains[:first], uniforms[0, :first])
    np.testing.assert_array_equal(plain.arms, fast.arms[0, :first])
    np.testing.assert_allclose(plain.probabilities, fast.probabilities[0, :first], rtol=0, atol=1e-12)


def test_a_grid_under_vmap_is_the_parts_one_by_one():
    parts = [Exp3(3, 0.1, 0.05, 0.2, 0.0), Exp3(3, 0.3, 0.5, 0.0, 0.01)]
    log_weights = np.array([0.0, -1.0, -30.0])
    with jax.enable_x64(True):
        grid = jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)
        together = jax.vmap(lambda bandit: bandit.update(jnp.asarray(log_weights), 2, 0.7))(grid)
    for i, one in enumerate(parts):
        np.testing.assert_allclose(together[i], one.update(log_weights, 2, 0.7), rtol=0, atol=1e-12)


def test_leading_axes_are_free_and_gains_are_clipped():
    bandit, log_weights = Exp3(3, 0.1, 0.5, 0.2, 0.01), np.array([[0.0, -1.0, -2.0], [-3.0, 0.0, -0.5]])
    together = bandit.update(log_weights, np.array([0, 2]), np.array([0.3, 1.5]))
    alone = [bandit.update(log_weights[0], 0, 0.3), bandit.update(log_weights[1], 2, 1.0)]
    np.testing.assert_array_equal(together, alone)
    lost, won = (bandit.update(log_weights[0], 1, gain) for gain in (0.0, 1.0))
    np.testing.assert_array_equal(bandit.update(log_weights[0], 1, -3.0), lost)
    assert won[0] < lost[0]


def test_precision_is_kept():
    single, double = (along(exp3_p(3, num_rounds=50), draws(50, 3), dtype) for dtype in (np.float32, float))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-5)

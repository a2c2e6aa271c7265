"""Directional forgetting: what it is by definition, what it keeps, and that agents run on it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.algorithms import lin_ucb, sift_lin_ucb
from driftwise.algorithms.any_forgetting import choose_forgetting
from driftwise.base import Moments, Sample, Spec
from driftwise.online.deciders import LeastSquaresDecider, PlannedDecider, RoundDraws, make_decider
from driftwise.parts import DirectionalForgetting, ExponentialWeights
from driftwise.parts.regression import empty_moments
from tests.algorithms.test_bandit_algorithms import ASSUMED, ENVIRONMENTS, GIVEN, NUM_ROUNDS, SPEC
from tests.examples import PARAMETERS, assert_fields_close, assert_play_alike, make, refused
from tests.examples import SPEC as MDP
from tests.reference import bandits

DIM = 3


def learnt(forgetting: Any, rows: Any, targets: Any = None, ridge: float = 0.7) -> Moments:
    """The moments after these samples, of a bandit."""
    rows = np.asarray(rows, dtype=float)
    targets = np.zeros(len(rows)) if targets is None else targets
    ones, nowhere = np.ones(1), np.zeros(1, dtype=int)
    samples = [
        Sample(*each, nowhere, ones) for each in zip(rows[:, None], np.reshape(targets, (-1, 1)), strict=True)
    ]
    moments = forgetting.init(empty_moments(samples[0], 0, ridge, gram_sq=True), samples[0])
    for sample in samples:
        moments = forgetting.update(moments, sample)
    return moments


@pytest.mark.parametrize(("norm", "fading"), [("sandwich", 1.0), ("single", 1.0), ("sandwich", 0.95)])
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_bandit_equals_a_loop_that_stores_every_matrix(environment, norm, fading):
    def beta(t: int, worth: float) -> float:
        return GIVEN.radius(math.log(NUM_ROUNDS / GIVEN.delta), GIVEN.information(worth))

    agent = sift_lin_ucb(SPEC, rate=0.8, norm=norm, fading=fading, num_episodes=NUM_ROUNDS, **ASSUMED)
    textbook = bandits.Sift(0.8, ASSUMED["ridge"], beta, norm == "sandwich", fading)
    rounds = bandits.rounds(ENVIRONMENTS[environment], NUM_ROUNDS)
    played = dw.play(agent, ENVIRONMENTS[environment], NUM_ROUNDS)
    for one, expected in zip(played, bandits.play_sift(textbook, rounds), strict=True):
        assert one.episode.actions[0] == expected.arm
        np.testing.assert_allclose(one.plan.weights[0], expected.estimate, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.plan.q[0, 0], expected.indices, rtol=0, atol=1e-9)


def test_rate_one_is_plain_least_squares():
    still = sift_lin_ucb(SPEC, rate=1.0, radius=0.4)
    assert_play_alike(still, lin_ucb(SPEC, radius=0.4), ENVIRONMENTS["fresh"])


def test_tuned_arms_that_are_played_in_turn_forget_as_under_the_exponential_weights_of_d_lin_ucb():
    run: dict[str, Any] = dict(num_episodes=300, variation=2.0, noise_scale=0.3)
    spec = Spec.bandit(dim=DIM, num_arms=5)
    tuned, plain = sift_lin_ucb.tuned(spec, **run), dw.algorithms.d_lin_ucb.tuned(spec, **run)
    assert isinstance(plain.forgetting, ExponentialWeights)
    assert tuned == sift_lin_ucb(spec, rate=plain.forgetting.rate**DIM, num_episodes=300, noise_scale=0.3)
    rows, rewards = np.tile(np.eye(DIM), (200, 1)), np.arange(600.0)
    by_arm, by_round = (learnt(each.forgetting, rows, rewards) for each in (tuned, plain))
    # Of the three the newest has faded not at all, the others by one round and two.
    faded = plain.forgetting.rate ** np.arange(DIM)[::-1]
    np.testing.assert_allclose(by_round.cross[0, :, 0], by_arm.cross[0, :, 0] * faded, rtol=1e-9)


@given(st.floats(0.1, 1.0), st.integers(0, 2**32 - 1))
def test_orthogonal_samples_that_span_all_directions_are_one_tick_of_exponential_weights(rate, seed):
    """A batch of full rank forgets everything alike; from any gram if the directions are its eigenvectors."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))[0]
    moments = learnt(DirectionalForgetting(rate), np.tile(basis, (4, 1)))
    kept = rate**4 * 0.7 + sum(rate**k for k in range(4))
    np.testing.assert_allclose(moments.gram[0], kept * np.eye(DIM), rtol=0, atol=1e-9)


@given(st.floats(0.1, 0.999), st.one_of(st.just(1.0), st.floats(0.5, 1.0)), st.integers(0, 2**32 - 1))
def test_no_eigenvalue_leaves_its_bounds_and_the_width_is_never_that_of_more_noise(rate, fading, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, DIM)) * [1.0, 0.1, 1e-3]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    forgetting = DirectionalForgetting(rate, threshold=1e-2, fading=fading)
    moments, before = learnt(forgetting, rows), learnt(forgetting, rows[:-1]).gram[0]
    assert np.linalg.eigvalsh(moments.gram[0] - rate * fading * before)[0] >= -1e-9  # nothing is lost faster
    gram, gram_sq = moments.gram[0], moments.gram_sq[0]  # pyright: ignore[reportOptionalSubscript]
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] >= min(0.7, 1e-2 / (1 - rate)) - 1e-9
    assert eigenvalues[-1] <= max(0.7, 1 / (1 - rate)) + 1e-9
    assert np.linalg.eigvalsh(gram - gram_sq)[0] >= -1e-9
    assert np.linalg.eigvalsh(gram_sq)[0] > 0
    np.testing.assert_array_equal(gram, gram.T)


@given(st.floats(0.5, 1.0), st.integers(0, 2**32 - 1))
def test_what_fades_alone_has_exponential_weights(fading, seed):
    rng = np.random.default_rng(seed)
    rows, rewards = rng.uniform(-0.5, 0.5, size=(30, DIM)), rng.normal(size=30)
    kinds = DirectionalForgetting(1.0, 1e-9, fading), ExponentialWeights(fading)
    one, other = (learnt(kind, rows, rewards) for kind in kinds)
    assert_fields_close(one, other, ("gram", "cross"), atol=1e-9)


@given(st.floats(0.1, 0.999), st.floats(0.5, 1.0), st.integers(0, 2**32 - 1))
def test_the_width_covers_noise_and_what_the_ridge_does_to_the_parameter(rate, fading, seed):
    r"""`b − Λθ = Σ k_τ ε_τ − Rθ` has the covariance `Σ k_τ k_τᵀ + RRᵀ/λ` for θ of covariance `I/λ`."""
    rng = np.random.default_rng(seed)
    rows, ridge = rng.normal(size=(40, DIM)) * [0.5, 0.1, 1e-2], 0.7
    forgetting = DirectionalForgetting(rate, threshold=1e-3, fading=fading)
    gram, noise, pull = ridge * np.eye(DIM), np.zeros((DIM, DIM)), ridge * np.eye(DIM)
    for x in rows:
        back = (1 - fading) * ridge * np.eye(DIM)
        gram, noise, pull = fading * gram + back, fading**2 * noise, fading * pull + back
        if x @ x >= 1e-3:
            matrix = np.eye(DIM) - (1 - rate) * np.outer(gram @ x, x) / (x @ gram @ x)
            gram, noise, pull = matrix @ gram, matrix @ noise @ matrix.T, matrix @ pull
            gram, noise = gram + np.outer(x, x), noise + np.outer(x, x)
    moments = learnt(forgetting, rows, ridge=ridge)
    np.testing.assert_allclose(moments.gram[0], gram, rtol=0, atol=1e-9)
    room = moments.gram_sq[0] - noise - pull @ pull.T / ridge  # pyright: ignore[reportOptionalSubscript]
    assert np.linalg.eigvalsh(room)[0] >= -1e-9


def test_a_direction_that_fades_goes_back_to_the_ridge_whether_it_was_known_or_hardly():
    """After 50 plays of one arm and 400 of another the first has `0.99^400` = 2 % left of what was known."""
    rows, rewards = np.repeat(np.eye(DIM)[[0, 1]], [50, 400], axis=0), np.full(450, 0.5)
    stale, kept = (learnt(DirectionalForgetting(0.9, fading=each), rows, rewards) for each in (0.99, 1.0))
    assert abs(stale.gram[0, 0, 0] - 0.7) < 0.02 * abs(kept.gram[0, 0, 0] - 0.7)
    for one, most in ((stale, 0.11), (kept, 0.5)):
        estimate = one.cross[0, 0, 0] / one.gram[0, 0, 0]
        assert 0.8 * most < estimate <= most
    short = np.concatenate([0.1 * rows[:50], rows[50:]])  # below the ridge: 0.01/(1−η) = 0.1
    low, back = (learnt(DirectionalForgetting(0.9, fading=0.99), each) for each in (short[:50], short))
    assert low.gram[0, 0, 0] < 0.2
    assert 0.68 < back.gram[0, 0, 0] < 0.7


def test_the_weight_of_what_is_not_played_fades_before_its_estimate():
    """To 1/e in 1/(1−ρ) rounds; of the estimate 1/(2 − λ/v) is left after log(v/λ) times as many."""
    forgetting, ridge, rest = DirectionalForgetting(0.9, fading=0.99), 0.5, np.tile([0.0, 1.0, 0.0], (400, 1))
    rows, rewards = np.concatenate([np.tile([1.0, 0.0, 0.0], (60, 1)), rest]), np.full(460, 0.5)

    def after(num: int) -> tuple[float, float]:
        moments = learnt(forgetting, rows[: 60 + num], rewards[: 60 + num], ridge)
        return moments.gram[0, 0, 0], moments.cross[0, 0, 0] / moments.gram[0, 0, 0]

    v, estimate = after(0)
    one_life, half_life = after(100), after(round(100 * math.log(v / ridge)))
    assert (one_life[0] - ridge) / (v - ridge) == pytest.approx(math.exp(-1), rel=0.01)
    assert one_life[1] > 0.9 * estimate
    assert half_life[1] / estimate == pytest.approx(1 / (2 - ridge / v), rel=0.02)


def test_each_arm_forgets_by_its_own_count_while_the_others_stand_still():
    moments = learnt(DirectionalForgetting(0.9), np.tile([0.0, 1.0, 0.0], (300, 1)), np.ones(300))
    np.testing.assert_allclose(np.diag(moments.gram[0]), [0.7, 10, 0.7], rtol=1e-9)
    np.testing.assert_allclose(np.diag(moments.gram_sq[0]), [0.7, 1 / (1 - 0.81), 0.7], rtol=1e-9)  # pyright: ignore
    np.testing.assert_allclose(moments.cross[0, :, 0], [0, 10, 0], rtol=1e-9)
    np.testing.assert_allclose(moments.weight, 10 - 0.7)


def test_a_direction_that_was_seen_for_a_while_is_remembered_where_exponential_weights_lose_it():
    rng = np.random.default_rng(1)
    rare = np.array([0.0, 0.0, 1.0])
    often = rng.normal(size=(2950, DIM)) * [0.5, 0.5, 0.0]
    rows, seen = np.concatenate([np.tile(rare, (50, 1)), often]), np.full(3000, 0.5)
    kept, lost = (learnt(each(0.95), rows, seen) for each in (DirectionalForgetting, ExponentialWeights))
    before = learnt(DirectionalForgetting(0.95), rows[:50])
    np.testing.assert_allclose(kept.gram[0, 2, 2], before.gram[0, 2, 2])
    np.testing.assert_allclose(lost.gram[0, 2, 2], 0.7)  # the ridge alone
    estimate = np.linalg.solve(kept.gram[0], kept.cross[0, :, 0])
    np.testing.assert_allclose(rare @ estimate, 0.5, atol=0.03)  # of 20 samples, with the ridge


def test_short_samples_teach_nothing_and_take_nothing():
    before = learnt(DirectionalForgetting(0.5), np.eye(DIM))
    rows = np.concatenate([np.eye(DIM), [[0, 9e-4, 0]], np.zeros((1, DIM))])
    after = learnt(DirectionalForgetting(0.5), rows, np.array([0, 0, 0, 7.0, 7.0]))
    assert_fields_close(after, before, ("gram", "gram_sq", "cross"), atol=0)
    assert after.tick == 5


def test_online_the_fast_decider_is_the_plan():
    agent = sift_lin_ucb(Spec.bandit(dim=4, num_arms=7), rate=0.8, noise_scale=0.3)
    fast, slow = make_decider(agent, 0), PlannedDecider(agent, RoundDraws(0))
    assert isinstance(fast, LeastSquaresDecider)
    rng = np.random.default_rng(0)
    for t in range(30):
        arms = rng.uniform(-0.5, 0.5, size=(7, 4))
        offers = [each.offer(arms, t) for each in (fast, slow)]
        np.testing.assert_allclose(offers[0].scores, offers[1].scores, rtol=0, atol=1e-10)
        arm, reward = int(offers[0].scores.argmax()), rng.normal()
        for each, offer in zip((fast, slow), offers, strict=True):
            each.learn(offer.choice(arm), reward)


@pytest.mark.parametrize("name", ["opt_rlsvi", "oppo", "ucbvi"])
def test_recipes_that_take_any_forgetting_take_this_one(name):
    environment, parameters = make("latent_chains"), {**PARAMETERS[name]}
    del parameters["rate"]

    def last_index(**forgetting: float) -> np.ndarray:
        agent = dw.algorithms.build(environment.spec, name, **forgetting, **parameters)
        return [*dw.play(agent, environment, 30)][-1].plan.q

    np.testing.assert_allclose(last_index(directional=1.0), last_index(), rtol=0, atol=1e-9)
    assert np.abs(last_index(directional=0.5) - last_index()).max() > 1e-3


def test_where_a_whole_ridge_is_needed_it_is_refused():
    with refused(
        "forgetting must be a weight function, which leaves the ridge unchanged, when steps='shared'"
    ):
        dw.algorithms.matrix_rl(MDP, radius=0.4, directional=0.9)
    with refused("forgetting must be a WeightFunction, got Directional"):
        dw.algorithms.kernel_ucbvi(MDP, bandwidth=0.2, radius=0.3, lipschitz=2.0, directional=0.9)
    assert choose_forgetting(directional=0.9) == DirectionalForgetting(0.9)

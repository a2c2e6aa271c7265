"""Bandit environments: the formulas they were published with, and clear refusals."""
# pyright: reportArgumentType=false

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import driftwise as dw
from driftwise.environments import (
    cheung_two_armed,
    dynamic_pricing,
    hard_bandit,
    linear_bandit,
    news,
    russac_abrupt,
    russac_logistic,
    wang_logistic,
)
from driftwise.parts import Uniform
from tests.environments.bandits import EXAMPLES, play_rounds, present_arms


def test_digests_tell_environments_apart():
    digests = [environment.digest() for environment in EXAMPLES.values()]
    digests += [russac_abrupt(num_rounds=60, noise_scale=0.5).digest(), hard_bandit(dim=3, seed=1).digest()]
    assert len(set(digests)) == len(digests)
    environment = EXAMPLES["news"]
    assert replace(environment, name="other", config={}).digest() == environment.digest()


@pytest.mark.parametrize("name", EXAMPLES)
def test_variation_is_the_length_of_the_parameters_path_and_the_norm_bound_its_longest(name):
    theta = EXAMPLES[name].at(np.arange(60))
    variation = EXAMPLES[name].variation(60)
    moves = [math.dist(before, after) for before, after in itertools.pairwise(theta)]
    np.testing.assert_allclose(variation.reward, moves, rtol=1e-12, atol=1e-15)
    assert variation.total == pytest.approx(sum(moves))
    assert variation.transition_budget == 0
    assert EXAMPLES[name].variation(1).total == 0
    assert EXAMPLES[name].norm_bound(60) == pytest.approx(max(math.hypot(*each) for each in theta))


def test_clicks_as_published_have_fixed_or_fresh_arms_of_length_one_and_a_parameter_of_their_norm():
    turning, jumping = wang_logistic(norm_bound=5.0), russac_logistic()
    for environment, length in ((turning, 5.0), (jumping, 6.0)):
        assert (environment.rewards, environment.link) == ("bernoulli", "logistic")
        assert environment.spec.num_actions == 50
        theta = environment.at(np.arange(0, 8000, 500))
        np.testing.assert_allclose(np.linalg.norm(theta, axis=-1), length)
    np.testing.assert_allclose(np.linalg.norm(np.asarray(turning.arms.all_features), axis=-1), 1.0)
    assert turning.variation(6000).total == pytest.approx(10 * math.pi, rel=1e-3)
    assert jumping.changes(8000) == (4000,)
    assert jumping.variation(8000).total == pytest.approx(6 * math.sqrt(3))


def test_the_two_arms_of_cheung_swing_in_antiphase():
    """0.5 ± 0.3 sin(5Bπt/T) at t = 1, …, T, on a path of length 3√2 B."""
    rounds, budget = 1000, 2.0
    environment = cheung_two_armed(num_rounds=rounds, budget=budget)
    swing = 0.3 * np.sin(5 * budget * np.pi * np.arange(1, rounds + 1) / rounds)
    theta = environment.at(np.arange(rounds))
    assert environment.variation(rounds).total == pytest.approx(3 * math.sqrt(2) * budget, rel=0.01)
    np.testing.assert_allclose(theta, np.stack([0.5 + swing, 0.5 - swing], axis=1), atol=1e-13)
    np.testing.assert_array_equal(environment.arms.all_features, np.eye(2))
    assert environment.noise_scale == 0.1


def test_the_reward_of_a_price_is_its_revenue():
    demands = ((2.0, 0.5), (1.5, 0.7))
    environment = dynamic_pricing(num_prices=8, highest=2.0, demands=demands, drift=dw.drift.Abrupt((10,)))
    prices = [0.25 * (i + 1) for i in range(8)]
    for t, (a, b) in ((0, demands[0]), (10, demands[1])):
        revenues = np.asarray(environment.arms.all_features) @ environment.at(np.array([t]))[0]
        np.testing.assert_allclose(revenues, [p * (a - b * p) for p in prices], rtol=1e-13)
    assert dynamic_pricing().norm_bound(1) == pytest.approx(math.hypot(1, 0.5) * math.sqrt(2))


@pytest.mark.parametrize("seed", range(5))
def test_news_is_clicked_with_probabilities_between_two_and_thirty_per_cent(seed):
    environment = news(seed=seed, drift=dw.drift.Gradual((0, 30, 50)))
    clicks = environment.at(np.arange(60)) @ np.asarray(environment.arms.all_features).T
    assert 0.02 <= clicks.min() < clicks.max() <= 0.3
    sizes = [present_arms(one.arms).sum() for one in play_rounds(environment, Uniform(), 40)]
    assert min(sizes) >= 10
    assert len(set(sizes)) > 3


def test_an_arm_is_there_even_if_single_precision_makes_it_zero():
    arms = dw.arms.ContextArms([[[1.0, 0.0], [0.0, 1e-60]], [[0.5, 0.5], [0.0, 0.0]]])
    sampler = arms.sampler(np.float32)
    assert isinstance(sampler, dw.arms.ContextSampler)
    np.testing.assert_array_equal(sampler.present, [[True, True], [True, False]])
    assert sampler.features.dtype == np.float32


def test_more_anchors_do_not_change_the_readers_of_the_first():
    first = np.array([0])
    still, drifting = news(), news(drift=dw.drift.Abrupt((100,)))
    assert still.arms == drifting.arms
    np.testing.assert_array_equal(still.at(first), drifting.at(first))
    assert (drifting.at(first) != drifting.at(np.array([100]))).any()


def test_the_best_corner_of_the_hard_bandit_has_the_signs_of_the_parameter():
    assert hard_bandit(segments=1).changes(6000) == ()
    environment = hard_bandit(dim=4, num_rounds=1000, segments=5, seed=2)
    corners = np.asarray(environment.arms.all_features)
    assert len(np.unique(corners, axis=0)) == 16
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1)
    assert environment.changes(1000) == (200, 400, 600, 800)
    gap = math.sqrt(4 / 200) / 4  # √(d/n)/4 with 200 rounds in a segment
    for theta in environment.at(np.arange(0, 1000, 100)):
        np.testing.assert_allclose(np.abs(theta), gap, rtol=1e-12)
        best = corners[np.argmax(corners @ theta)]
        np.testing.assert_array_equal(np.sign(best), np.sign(theta))
        assert best @ theta == pytest.approx(np.linalg.norm(theta))  # nothing in the ball is better


@pytest.mark.parametrize("dim", [1, 2])
def test_every_segment_of_the_hard_bandit_differs_from_the_one_before(dim):
    """Two or four corners: drawn for each segment alone, signs would repeat in half or a quarter of them."""
    environment = hard_bandit(dim=dim, num_rounds=40, segments=40, gap=0.5, noise_scale=0.2)
    assert environment.noise_scale == 0.2
    assert (environment.variation(40).reward >= 1 - 1e-12).all()


@pytest.mark.parametrize(
    ("theta", "bias"),
    [((0.5, 1.2), "1.2"), ((-0.1, 0.5), "-0.1"), ((-0.1, 1.2), "1.2"), ((-0.3, 1.2), "-0.3")],
)
def test_coins_refuse_a_bias_that_is_no_probability_at_the_round_that_has_it(theta, bias):
    contexts = dw.arms.ContextArms([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    path = dw.paths.abrupt_path([(0.5, 0.5), theta], (10,))
    environment = linear_bandit(arms=contexts, path=path, rewards="bernoulli")
    environment.at(np.arange(10))
    with pytest.raises(ValueError, match=re.escape(f"path must give coins a bias in [0, 1], got {bias}")):
        environment.at(np.array([10]))

"""Learnt noise: conjugate regression where nothing is forgotten, its definition where something is."""
# SciPy is said to take integers alone.
# pyright: reportArgumentType=false

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import multivariate_t

from driftwise.base.types import Episode, FeatureTable, Plan, Spec
from driftwise.parts.exploration import Greedy
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import LearntNoise, log_gamma_step
from tests.reference.adaptive import Memory

BANDIT = Spec.bandit(dim=3, num_arms=4)
TABLE = FeatureTable(np.zeros((4, 3)))
PLAN = Plan(*[np.zeros((1, 1))] * 5)  # values of a bandit's next step are 0


def rounds(num: int, seed: int = 0) -> list[Episode]:
    generator = np.random.default_rng(seed)
    nowhere = np.zeros(1, dtype=np.int32)
    return [
        Episode(nowhere, nowhere, generator.normal(size=(1, 3)), generator.normal(size=1) * 2 + 1, nowhere)
        for _ in range(num)
    ]


@given(st.floats(0.01, 1e6))
def test_step_of_log_gamma_equals_scipys(x):
    expected = gammaln(x + 0.5) - gammaln(x)
    np.testing.assert_allclose(log_gamma_step(np.asarray(x)), expected, rtol=1e-9, atol=1e-12)


def test_scores_are_the_predictive_density_of_conjugate_regression():
    """Their sum is the density of all rewards together: a t of covariance `σ₀²(I + ΦΦᵀ/λ)`."""
    agent = LeastSquares(BANDIT, NoForgetting(), Greedy(), 0.5, noise=LearntNoise(count=3.0, scale=0.7))
    state, total, episodes = agent.init(TABLE), 0.0, rounds(12)
    for episode in episodes:
        total += float(agent.score(state, TABLE, PLAN, episode)[0])
        state = agent.update(state, TABLE, PLAN, episode)
    features = np.concatenate([episode.features for episode in episodes])
    rewards = np.concatenate([episode.rewards for episode in episodes])
    shape = 0.7**2 * (np.eye(12) + features @ features.T / 0.5)
    np.testing.assert_allclose(total, multivariate_t(np.zeros(12), shape, df=3.0).logpdf(rewards), rtol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_scores_equal_their_definition_under_exponential_weights(scale):
    noise = LearntNoise(count=2.0, scale=scale, max_degrees=5.0)
    agent = LeastSquares(BANDIT, ExponentialWeights(0.8), Greedy(), 0.5, noise=noise)
    memory = Memory(0.8, 0.5, count=2.0, scale=scale, max_degrees=5.0)
    state = agent.init(TABLE)
    for episode in rounds(20):
        np.testing.assert_allclose(noise.variance(state.noise)[0], memory.variance(0), rtol=1e-10)
        score = agent.score(state, TABLE, PLAN, episode)[0]
        state = agent.update(state, TABLE, PLAN, episode)
        np.testing.assert_allclose(score, memory.learn(episode, np.zeros((2, 1))), rtol=1e-9)


@pytest.mark.parametrize("forgetting", [SlidingWindow(5), PeriodicRestart(6)])
def test_noise_forgets_as_the_regression_does(forgetting):
    agent = LeastSquares(BANDIT, forgetting, Greedy(), 0.5, noise=LearntNoise())
    state, total = agent.init(TABLE), 0.0
    squares: list[float] = []
    for episode in rounds(17):
        before, after = state, agent.update(state, TABLE, PLAN, episode)
        squares.append(float(after.noise.total[0] - total))
        state, total = after, float(after.noise.total[0])
        weights = forgetting.weights(len(squares))
        np.testing.assert_allclose(state.noise.moments.gram.item(), weights.sum(), atol=1e-12)
        np.testing.assert_allclose(state.noise.moments.cross.item(), weights @ squares, atol=1e-9)
        assert before.tick + 1 == after.tick


def test_the_unit_of_rewards_does_not_matter():
    agent = LeastSquares(BANDIT, ExponentialWeights(0.9), Greedy(), 0.5, noise=LearntNoise())
    small, large = agent.init(TABLE), agent.init(TABLE)
    gaps = []
    for episode in rounds(10):
        scaled = episode._replace(rewards=1024 * episode.rewards)
        gaps.append(agent.score(small, TABLE, PLAN, episode) - agent.score(large, TABLE, PLAN, scaled))
        small, large = agent.update(small, TABLE, PLAN, episode), agent.update(large, TABLE, PLAN, scaled)
    np.testing.assert_allclose(np.ravel(gaps)[1:], np.log(1024), rtol=1e-9)  # all densities alike


def test_nothing_is_scored_while_every_error_was_zero():
    agent = LeastSquares(BANDIT, NoForgetting(), Greedy(), 0.5, noise=LearntNoise())
    state = agent.init(TABLE)
    for episode in rounds(3):
        nothing = episode._replace(rewards=np.zeros(1))
        state = agent.update(state, TABLE, PLAN, nothing)
        assert agent.score(state, TABLE, PLAN, episode)[0] == 0

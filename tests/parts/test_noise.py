"""Learnt noise: its definition, what it forgets, and what does not change scores."""
# SciPy is said to take integers alone.
# pyright: reportArgumentType=false

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from driftwise.base import Episode, FeatureTable, Forecast, Plan, Spec
from driftwise.parts import Greedy, LearntNoise, LeastSquares
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.noise import log_gamma_step
from tests.reference.adaptive import Memory, Noise

BANDIT = Spec.bandit(dim=3, num_arms=4)
TABLE = FeatureTable(np.zeros((4, 3)))
PLAN = Plan(*[np.zeros((1, 1))] * 5)  # values of a bandit's next step are 0


def rounds(num: int) -> list[Episode]:
    rng, nowhere = np.random.default_rng(0), np.zeros(1, dtype=np.int32)
    drawn = [(rng.normal(size=(1, 3)), rng.normal(size=1) * 2 + 1) for _ in range(num)]
    return [Episode(nowhere, nowhere, *each, nowhere) for each in drawn]


def bandit(forgetting: Any, noise: LearntNoise | None = None) -> LeastSquares:
    return LeastSquares(BANDIT, forgetting, Greedy(), 0.5, noise=noise)


@given(st.floats(0.01, 1e6))
def test_step_of_log_gamma_equals_scipys(x):
    expected = gammaln(x + 0.5) - gammaln(x)
    np.testing.assert_allclose(log_gamma_step(np.asarray(x)), expected, rtol=1e-9, atol=1e-12)


def scored(
    agent: LeastSquares, noise: LearntNoise, episodes: list[Episode], forgetting: Any = None
) -> Iterator[tuple[float, Any]]:
    """The score of each episode with the noise learnt before, and that."""
    forgetting = forgetting or agent.forgetting
    state, sums = agent.init(TABLE), noise.init(forgetting, np.zeros(1))
    for episode in episodes:
        forecast = agent.forecast(state, TABLE, PLAN, episode)
        yield float(noise.score(sums.errors, forecast)[0]), sums
        state = agent.update(state, TABLE, PLAN, episode)
        sums = noise.update(forgetting, sums, forecast.squares)


@pytest.mark.parametrize("lost", [0, 1])
def test_scores_equal_their_definition_under_exponential_weights(lost):
    options: dict[str, Any] = dict(max_degrees=5.0, lost=lost)
    learnt, memory, noise = LearntNoise(count=2.0, **options), Memory(0.8, 0.5), Noise(0.9, **options)
    episodes = [one._replace(rewards=one.rewards * (t >= lost)) for t, one in enumerate(rounds(20))]
    found = scored(bandit(ExponentialWeights(0.8)), learnt, episodes, ExponentialWeights(0.9))
    for episode, (score, sums) in zip(episodes, found, strict=True):
        ((error, doubt),) = memory.forecast(episode, np.zeros((2, 1)))
        np.testing.assert_allclose(learnt.variance(sums.errors)[0], noise.variance, rtol=1e-10)
        np.testing.assert_allclose(score, noise.score(error, doubt), rtol=1e-9)
        noise.squares.append(error**2 / (1 + doubt))
        memory.learn(episode)


def test_a_relative_score_is_that_beyond_the_best_there_could_be():
    noise = LearntNoise(max_degrees=8.0)
    *_, (_, sums) = scored(bandit(NoForgetting()), noise, rounds(9))
    forecast, best = Forecast(np.array([0.7, -3.0]), np.array([0.2, 0.0])), Forecast(np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(
        noise.relative_score(sums.errors, forecast),
        noise.score(sums.errors, forecast) - noise.score(sums.errors, best),
    )


@pytest.mark.parametrize("forgetting", [SlidingWindow(5), PeriodicRestart(6)])
def test_noise_forgets_as_the_regression_does(forgetting):
    agent = bandit(forgetting, LearntNoise())
    state, totals = agent.init(TABLE), [0.0]
    for tick, episode in enumerate(rounds(17), start=1):
        state = agent.update(state, TABLE, PLAN, episode)
        totals.append(float(state.noise.total[0]))
        weights = forgetting.weights(tick)
        np.testing.assert_allclose(state.noise.moments.gram.item(), weights.sum(), atol=1e-12)
        np.testing.assert_allclose(state.noise.moments.cross.item(), weights @ np.diff(totals), atol=1e-9)
        assert state.tick == tick


def test_the_unit_of_rewards_does_not_matter():
    agent = bandit(ExponentialWeights(0.9))
    scaled = [episode._replace(rewards=1024 * episode.rewards) for episode in rounds(10)]
    runs = rounds(10), scaled
    small, large = ([score for score, _ in scored(agent, LearntNoise(), episodes)] for episodes in runs)
    np.testing.assert_allclose(np.subtract(small, large)[1:], np.log(1024), rtol=1e-9)  # all densities alike


def test_nothing_is_scored_while_every_error_was_zero():
    nothing = [episode._replace(rewards=np.zeros(1)) for episode in rounds(4)]
    *_, (score, _) = scored(bandit(NoForgetting()), LearntNoise(), [*nothing, rounds(1)[0]])
    assert score == 0

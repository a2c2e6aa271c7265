"""The worlds and yardsticks of `benchmarks.gauntlet`."""

import dataclasses

import numpy as np
import pytest
from benchmarks.gauntlet.playing import FixedMemories, arrivals, make_bandit, play
from benchmarks.gauntlet.worlds import WORLDS

from driftwise.online import Bandit

NAMED = {world.name: world for world in WORLDS}


def test_there_are_enough_worlds_and_their_names_differ():
    assert len(WORLDS) == len(NAMED) >= 40
    halves = [world.half for world in WORLDS]
    assert abs(halves.count("choose") - halves.count("show")) <= 1


@pytest.mark.parametrize("name", NAMED)
def test_the_draws_of_a_world_are_finite_and_the_same_again(name):
    world = dataclasses.replace(NAMED[name], rounds=20)
    draws, again = world.draw(0), world.draw(0)
    for array, other in zip(draws, again, strict=True):
        np.testing.assert_array_equal(array, other)
        assert np.isfinite(array).all()
    assert draws.arms(3).shape == (draws.means.shape[1], draws.dim)
    assert draws.offered.any(axis=1).all()
    assert draws.uniform_regret > 0


@pytest.mark.parametrize(("algorithm", "rate"), [("lin_ucb", 1.0), ("weight_ucb", 0.95)])
@pytest.mark.parametrize("name", ["plane, three jumps", "blocks, jumps", "arms come and go"])
def test_the_grid_has_the_indices_of_the_library(name, algorithm, rate):
    world = dataclasses.replace(NAMED[name], rounds=60)
    draws, options = world.draw(0), {} if rate == 1.0 else {"rate": rate}
    bandit = Bandit(algorithm, dim=draws.dim, radius=0.5, ridge=0.3, **options)
    grid = FixedMemories(np.array([rate]), np.array([0.5]), 0.3, draws, seed=0)
    for t in range(world.rounds):
        features, arms = draws.features[t % len(draws.features)], draws.arms(t)
        scores = bandit.scores(arms)
        (taken,) = arm = grid.decide(features, draws.offered[t])
        offered = np.where(draws.offered[t], scores, -np.inf)
        assert offered[taken] == pytest.approx(offered.max(), abs=1e-9)
        reward = draws.rewards[t, taken].item()
        bandit.learn_from(arms[taken], reward)
        grid.learn(features[None] if draws.blocks else features[arm], arm, np.array([reward]))


def test_rewards_arrive_once_and_when_they_are_due():
    due = np.array([2, 1, 2, 3, 99])
    assert [*arrivals(due)] == [[], [1], [0, 2], [3], []]


def test_a_bandit_plays_a_world():
    draws = dataclasses.replace(NAMED["50 rounds late, jumps"], rounds=80).draw(0)
    taken = play(make_bandit("adaptive_lin_ucb", draws, 0), draws)
    assert taken.shape == (80,)
    assert draws.regrets(taken).min() >= 0

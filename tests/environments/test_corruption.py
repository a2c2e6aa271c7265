"""Corrupted rewards: what an adversary does and spends, while regret is that of the true means."""

from __future__ import annotations

import re

import numpy as np
import pytest

from driftwise.algorithms import uniform
from driftwise.environments.corruption import Corruption, Mirrored, SignFlips, WrongUnit
from driftwise.simulation.play import play
from driftwise.simulation.simulator import simulate
from tests.examples import BANDIT, NUM_EPISODES, NUM_RUNS, bandit_agent, make_bandit
from tests.reference.bandits import rounds

NUM_ROUNDS = 120


def told(corruption: Corruption) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards of a uniform agent as seen and as earned, and whether its arm was the best."""
    found = []
    environment = make_bandit(noise_scale=0.3, corruption=corruption)
    played = play(uniform(BANDIT), environment, NUM_ROUNDS)
    for one, here in zip(played, rounds(environment, NUM_ROUNDS), strict=True):
        arm, best = one.episode.actions[0], here.means[here.present].max()
        assert one.record.optimal == pytest.approx(best, abs=1e-12)
        assert one.record.value == pytest.approx(here.means[here.present].mean(), abs=1e-12)
        assert one.record.reward == one.episode.rewards[0]
        found.append((one.record.reward, here.rewards[arm], here.means[arm] == best))
    seen, earned, best = map(np.array, zip(*found, strict=True))
    return seen, earned, best


def test_flips_change_the_best_arm_alone_and_keep_to_their_budget():
    seen, earned, best = told(SignFlips(4.0))
    spent = np.abs(seen - earned)
    flipped = spent > 1e-12
    np.testing.assert_allclose(seen[flipped], -earned[flipped], rtol=0, atol=1e-12)
    assert best[flipped].all()
    assert not best.all()
    assert 3.0 < spent.sum() <= 4.0
    first_left_alone = np.flatnonzero(best & ~flipped)[0]
    assert spent[:first_left_alone].sum() + 2 * abs(earned[first_left_alone]) > 4.0


def test_a_share_of_the_rewards_has_a_wrong_unit():
    seen, earned, best = told(WrongUnit(0.25, factor=-50.0))
    wrong = np.abs(seen - earned) > 1e-12
    np.testing.assert_allclose(seen[wrong], -50 * earned[wrong], rtol=1e-12)
    assert 15 <= wrong.sum() <= 45  # of 30 in the mean, by more than three deviations
    assert not np.array_equal(wrong, best)


def test_a_share_of_the_best_arms_rewards_is_mirrored():
    seen, earned, best = told(Mirrored(0.5))
    mirrored = np.abs(seen - earned) > 1e-12
    np.testing.assert_allclose(seen[mirrored], 1 - earned[mirrored], rtol=0, atol=1e-12)
    assert best[mirrored].all()
    assert 0 < mirrored.sum() < best.sum()


@pytest.mark.parametrize(
    "corruption", [SignFlips(3.0), pytest.param(WrongUnit(0.2), marks=pytest.mark.slow)], ids=str
)
def test_both_engines_corrupt_alike(corruption):
    agent, environment = bandit_agent("cw_oful"), make_bandit(noise_scale=0.3, corruption=corruption)
    result = simulate(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    for run in range(NUM_RUNS):
        played = list(play(agent, environment, NUM_EPISODES, run=run))
        np.testing.assert_allclose(
            result.returns[run], [one.record.reward for one in played], rtol=1e-9, atol=1e-12
        )
        regret = [one.record.optimal - one.record.value for one in played]
        np.testing.assert_allclose(result.regret[run], regret, rtol=0, atol=1e-9)


def test_corruption_tells_environments_apart_and_is_a_single_adversary():
    clean, spoilt = make_bandit(), make_bandit(corruption=SignFlips(1.0))
    digests = {each.digest() for each in (clean, spoilt, make_bandit(corruption=SignFlips(2.0)))}
    assert len(digests) == 3
    for corruption, message in (
        (SignFlips((1.0, 2.0)), "budget must be a single number, got a grid, [1.0, 2.0]"),  # pyright: ignore
        ("flips", "corruption must be a Corruption, got 'flips'"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            make_bandit(corruption=corruption)

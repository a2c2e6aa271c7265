"""A bandit over agents: fresh copies in blocks, one clock for the world, gains that teach the chooser."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb, lsvi_ucb_restart, opt_wlsvi, sw_lsvi_ucb
from driftwise.checks import check_agent
from driftwise.meta.blocks import BanditOverAgents
from driftwise.meta.exp3 import Exp3, exp3_p
from driftwise.parts import from_config, to_config
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, make
from tests.reference.plain_loop import episodes

ARMS = tuple(opt_wlsvi(SPEC, rate=rate, radius=0.4) for rate in (0.5, 0.9, 1.0))
BLOCK = 7
OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)


def over(arms: tuple = ARMS, block_length: int = BLOCK, **options: Any) -> BanditOverAgents:
    return BanditOverAgents(arms, exp3_p(len(arms), num_rounds=6), block_length, **options)


def test_it_keeps_the_contract_of_agents():
    check_agent(over(), make())


@pytest.mark.parametrize("period", [1, 6, 1000])
def test_with_one_arm_it_is_a_periodic_restart(period):
    """The environment's clock runs on across blocks, or the drift would begin again."""
    blocks = dw.simulate(over((lsvi_ucb(SPEC, radius=0.4),), period), make(), **OPTIONS)
    restarts = dw.simulate(lsvi_ucb_restart(SPEC, period=period, radius=0.4), make(), **OPTIONS)
    np.testing.assert_array_equal(blocks.returns, restarts.returns)
    np.testing.assert_allclose(blocks.values, restarts.values, rtol=0, atol=1e-12)


def test_the_chooser_learns_from_the_mean_reward_of_a_step_of_each_block():
    """Replayed by hand: the arm drawn in a block, and its weights after it."""
    agent = over(low=0.1, high=0.9)
    log_weights, gained, arms = agent.chooser.init(np.zeros(1)), 0.0, set()
    for t, one in enumerate(episodes(agent, make(rewards="bernoulli"), NUM_EPISODES, seed=2)):
        np.testing.assert_allclose(
            one.state.log_weights, _after(t, log_weights, one, agent, gained), atol=1e-12
        )
        gained = (0.0 if t % BLOCK == 0 else gained) + one.record.reward
        arms.add(int(one.state.arm))
        if t % BLOCK == BLOCK - 1:
            log_weights = one.state.log_weights
    assert len(arms) > 1


def _after(t: int, log_weights: Any, one: Any, agent: BanditOverAgents, gained: float) -> Any:
    if t % BLOCK < BLOCK - 1:
        return log_weights
    gain = ((gained + one.record.reward) / (BLOCK * SPEC.horizon) - 0.1) / 0.8
    return agent.chooser.update(log_weights, one.state.arm, gain)


def test_an_arm_plays_its_block_as_if_it_were_alone():
    """With a chooser that never leaves its arm, and one block, it is that arm."""
    sure = Exp3(3, mixing=1e-12, step_size=0.0)
    agent = BanditOverAgents((ARMS[1],) * 3, sure, block_length=1000)
    ours = dw.simulate(agent, make(), **OPTIONS)
    alone = dw.simulate(ARMS[1], make(), **OPTIONS)
    np.testing.assert_array_equal(ours.returns, alone.returns)


def test_windows_of_one_capacity_can_be_arms():
    windows = (sw_lsvi_ucb(SPEC, length=5, radius=0.4), sw_lsvi_ucb(SPEC, length=8, radius=0.4))
    check_agent(over(windows), make(), num_episodes=20)


def test_it_survives_the_way_to_json_and_back():
    assert from_config(json.loads(json.dumps(to_config(over())))) == over()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: over(()), "num_arms must be a positive integer, got 0"),
        (lambda: BanditOverAgents((), exp3_p(1, num_rounds=3), 3), "arms must be at least one agent, got ()"),
        (lambda: over((3,)), "arms must be agents of driftwise.algorithms, got 3"),
        (lambda: BanditOverAgents(ARMS, exp3_p(2, num_rounds=3), 3), "chooser must have 3 arms, got 2"),
        (lambda: over(block_length=0), "block_length must be an integer of at least 1, got 0"),
        (
            lambda: over((ARMS[0], opt_wlsvi(SPEC, rate=0.9, radius=0.4, norm="single"))),
            "parts must be alike but for their numbers, got norm ['sandwich', 'single']",
        ),
    ],
)
def test_mistakes_are_told_in_one_sentence(build, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        build()

"""A bandit over agents: fresh copies in blocks, one clock for the world, gains that teach the chooser."""

import copy
import json
from typing import Any, cast

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lin_ucb, lsvi_ucb, lsvi_ucb_restart, opt_wlsvi, restart_lin_ucb, sw_lsvi_ucb
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.base import Episode, FeatureTable, Plan, from_config, random, stack_parts, to_config
from driftwise.checks import check_agent
from driftwise.parts import exp3_p
from driftwise.simulation.program import num_programs
from tests.examples import BANDIT, NUM_EPISODES, NUM_RUNS, SPEC, make, make_bandit, refused

ARMS = tuple(
    opt_wlsvi(SPEC, rate=rate, radius=radius) for rate, radius in ((0.5, 0.3), (0.9, 0.4), (1.0, 0.5))
)
BLOCK = 7
KEY = np.zeros(2, dtype=np.uint32)
OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)


def over(arms: tuple = ARMS, block_length: int = BLOCK, **options: Any) -> BanditOverAgents:
    return BanditOverAgents(stack_parts(arms), exp3_p(len(arms), num_rounds=6), block_length, **options)


def test_it_keeps_the_contract_of_agents():
    check_agent(over(), make(), num_runs=NUM_RUNS)


@pytest.mark.parametrize("problem", ["mdp", "bandit"])
@pytest.mark.parametrize("period", [1, 6, 1000])
def test_with_one_arm_it_is_a_periodic_restart(period, problem):
    """The environment's clock runs on across blocks, or the drift would begin again."""
    environment, alone = make(), lsvi_ucb(SPEC, radius=0.4)
    restarting = lsvi_ucb_restart(SPEC, period=period, radius=0.4)
    if problem == "bandit":
        environment, alone = make_bandit(noise_scale=0.3), lin_ucb(BANDIT, radius=0.4)
        restarting = restart_lin_ucb(BANDIT, period=period, radius=0.4)
    blocks = dw.play(over((alone,), period), environment, NUM_EPISODES)
    for one, other in zip(blocks, dw.play(restarting, environment, NUM_EPISODES), strict=True):
        assert one.record.reward == other.record.reward
        np.testing.assert_allclose(one.record.value, other.record.value, rtol=0, atol=1e-12)


def test_the_chooser_learns_from_the_mean_reward_of_a_step_of_each_block():
    """Replayed by hand: the arm drawn in a block, and its weights after it."""
    agent = over(low=0.1, high=0.9)
    log_weights, gained, arms = agent.chooser.init(np.zeros(1)), 0.0, set()
    for t, one in enumerate(dw.play(agent, make(rewards="bernoulli"), NUM_EPISODES, seed=2)):
        np.testing.assert_allclose(
            one.carry.state.log_weights, _after(t, log_weights, one, agent, gained), atol=1e-12
        )
        gained = (0.0 if t % BLOCK == 0 else gained) + one.record.reward
        arms.add(int(one.carry.state.arm))
        if t % BLOCK == BLOCK - 1:
            log_weights = one.carry.state.log_weights
    assert len(arms) > 1


def _after(t: int, log_weights: Any, one: Any, agent: BanditOverAgents, gained: float) -> Any:
    if t % BLOCK < BLOCK - 1:
        return log_weights
    gain = ((gained + one.record.reward) / (BLOCK * SPEC.horizon) - 0.1) / 0.8
    return agent.chooser.update(log_weights, one.carry.state.arm, gain)


def test_the_last_block_is_scaled_by_its_own_length():
    """17 episodes in blocks of seven: the mean of the last three is a gain, not their share of seven."""
    agent = over(num_episodes=17)
    played = [copy.deepcopy(one) for one in dw.play(agent, make(rewards="bernoulli"), 17, seed=2)]
    before, last = played[15].carry.state, played[16].carry.state
    gain = sum(one.record.reward for one in played[14:]) / (3 * SPEC.horizon)
    assert gain > 0
    learnt = agent.chooser.update(before.log_weights, last.arm, gain)
    np.testing.assert_allclose(last.log_weights, learnt, rtol=0, atol=1e-12)
    endless = [copy.deepcopy(one) for one in dw.play(over(), make(rewards="bernoulli"), 17, seed=2)]
    np.testing.assert_array_equal(endless[16].carry.state.log_weights, endless[15].carry.state.log_weights)


def test_a_block_begins_with_the_state_of_its_own_arm():
    """Which arms may begin with different ridges."""
    arms = tuple(opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=ridge) for ridge in (0.5, 1.0, 2.0))
    seen = set()
    for one in dw.play(over(arms), make(), NUM_EPISODES, seed=2):
        assert one.carry.state.base.ridge == arms[int(one.carry.state.arm)].ridge
        assert one.carry.state.base.tick == (one.carry.state.tick - 1) % BLOCK + 1
        seen.add(int(one.carry.state.arm))
    assert seen == {0, 1, 2}


def test_an_arm_plays_its_block_as_if_it_were_alone():
    """Replayed with the arm of each block by itself: the same plans, and the same moments."""
    environment, seen, alone = make(rewards="bernoulli"), set(), None
    example = environment.to_arrays().example
    for t, one in enumerate(dw.play(over(), environment, NUM_EPISODES, seed=2)):
        arm = ARMS[int(one.carry.state.arm)]
        if t % BLOCK == 0:
            alone = arm.init(example)
        assert alone is not None
        plan = arm.plan(alone, example, KEY)
        np.testing.assert_array_equal(one.plan.q, plan.q)
        alone = arm.update(alone, example, plan, one.episode)
        for ours, theirs in zip(one.carry.state.base[:3], alone[:3], strict=True):
            np.testing.assert_array_equal(ours, theirs)
        seen.add(int(one.carry.state.arm))
    assert seen == {0, 1, 2}


def lead(agent: BanditOverAgents, state: Any, plan: Plan, reward: float) -> Any:
    """Learn from an episode in which every step has paid `reward`."""
    steps, horizon = np.zeros(SPEC.horizon, dtype=np.int32), SPEC.horizon
    episode = Episode(steps, steps, np.zeros((horizon, SPEC.dim)), np.full(horizon, reward), steps)
    return agent.update(state, FeatureTable(np.zeros((1, SPEC.dim))), plan, episode)


def test_what_another_arm_has_planned_is_no_gain_of_this_one():
    """Rewards come when a block of another arm has begun; the odds are those of its draw."""
    agent, example = over(block_length=2), make().to_arrays().example
    state = agent.init(example)
    state = state._replace(log_weights=np.array([0.0, -1.0, -2.0]))
    waiting = [agent.plan(state, example, random.fold(random.key(0), i)) for i in range(40)]
    by_arm = {int(plan.drawn.planner): plan for plan in waiting}
    assert set(by_arm) == {0, 1, 2}
    odds = agent.chooser.probabilities(state.log_weights)
    begun = lead(agent, state, by_arm[1], 0.75)
    mixed = lead(agent, begun, by_arm[0], 0.0)
    own = lead(agent, begun, by_arm[1], 0.25)
    np.testing.assert_array_equal(mixed.log_weights, agent.chooser.update(state.log_weights, 1, 0.75))
    np.testing.assert_array_equal(own.log_weights, agent.chooser.update(state.log_weights, 1, 0.5))
    moved = begun._replace(log_weights=np.array([-3.0, 0.0, -1.0]))  # by others, since the draw
    expected = agent.chooser.update(moved.log_weights, 1, 0.5, odds)
    np.testing.assert_array_equal(lead(agent, moved, by_arm[1], 0.25).log_weights, expected)
    assert (expected != agent.chooser.update(moved.log_weights, 1, 0.5)).any()


def test_a_block_without_an_episode_of_its_own_arm_teaches_the_chooser_nothing():
    agent, example = over(block_length=1), make().to_arrays().example
    state = agent.init(example)
    plan = agent.plan(state, example, KEY)
    foreign = plan._replace(drawn=plan.drawn._replace(planner=(plan.drawn.arm + 1) % 3))
    np.testing.assert_array_equal(lead(agent, state, foreign, 1.0).log_weights, state.log_weights)
    assert (lead(agent, state, plan, 1.0).log_weights != state.log_weights).any()


def test_after_the_last_episode_a_block_begins():
    """Else the short block would be learnt from a second time, as a part of a full one."""
    ticks = [int(one.carry.state.base.tick) for one in dw.play(over(num_episodes=17), make(), 24, seed=2)]
    assert ticks == [*range(1, 8), *range(1, 8), 1, 2, 3, 1, 2, 3, 4, 1, 2, 3]


def test_a_plan_that_waits_holds_no_state():
    arms = tuple(sw_lsvi_ucb(SPEC, length=length, radius=0.4) for length in (400, 500))
    agent, example = over(arms), make().to_arrays().example
    state = agent.init(example)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(agent.plan(state, example, KEY).drawn))
    assert 10 * held < sum(leaf.nbytes for leaf in jax.tree.leaves(state))


@pytest.mark.slow
def test_windows_of_one_capacity_can_be_arms():
    windows = (sw_lsvi_ucb(SPEC, length=5, radius=0.4), sw_lsvi_ucb(SPEC, length=8, radius=0.4))
    check_agent(over(windows), make(), num_episodes=20)


def test_other_numbers_in_the_arms_compile_nothing_anew():
    dw.simulate(over(), make(), **OPTIONS)
    before = num_programs()
    other = tuple(opt_wlsvi(SPEC, rate=rate, radius=0.2) for rate in (0.6, 0.8, 0.95))
    assert over(other) != over()
    dw.simulate(over(other), make(), **OPTIONS)
    assert num_programs() == before


def test_it_survives_the_way_to_json_and_back():
    assert from_config(json.loads(json.dumps(to_config(over())))) == over()


def test_mistakes_are_told_in_one_sentence():
    with refused("base must be an Agent, got 3"):
        BanditOverAgents(cast(Any, 3), exp3_p(1, num_rounds=3), 3)
    with refused("base must have one number for each of the 2 arms, got rate (0.5, 0.9, 1.0)"):
        BanditOverAgents(stack_parts(ARMS), exp3_p(2, num_rounds=3), 3)
    with refused("base must have one number for each of the 1 arms, got rate 0.5"):
        BanditOverAgents(ARMS[0], exp3_p(1, num_rounds=3), 3)
    with refused("high must be above low, got low 1.0 and high 1.0"):
        over(low=1.0)
    with refused("block_length must be an integer of at least 1, got 0"):
        over(block_length=0)
    with refused("parts must be alike but for their numbers, got norm ['sandwich', 'single']"):
        over((ARMS[0], opt_wlsvi(SPEC, rate=0.9, radius=0.4, norm="single")))

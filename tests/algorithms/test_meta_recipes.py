"""Recipes over agents: blocks of a bandit over agents; grids, gains and widths by the papers' formulas."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

import copy
import math
import re
from typing import Any, cast

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    ada_lsvi_ucb_restart,
    adaptive,
    bob,
    borl,
    build,
    change_detection,
    greedy,
    lin_ucb,
    lsvi_ucb,
    lsvi_ucb_restart,
    master,
    master_lin_ucb,
    master_lsvi_ucb,
    opt_wlsvi,
    opt_wlsvi_borl,
    restart_lin_ucb,
    sw_lsvi_ucb,
    uniform,
)
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.base import (
    Episode,
    FeatureTable,
    Plan,
    Spec,
    Variation,
    expand_grid,
    random,
    stack_parts,
    to_config,
)
from driftwise.checks import check_agent
from driftwise.experiments import experiment_of, prepare
from driftwise.online import EpisodicAgent
from driftwise.parts import Cusum, Glr, Ucb, exp3, exp3_p
from driftwise.simulation.program import num_programs
from driftwise.theory.tuning import lsvi_ucb_radius, opt_wlsvi_radius
from tests.examples import (
    BANDIT,
    NUM_EPISODES,
    NUM_RUNS,
    PARAMETERS,
    SPEC,
    WRAPPING,
    make,
    make_bandit,
    refused,
    wrapped,
)

AGENT = lsvi_ucb(SPEC, radius=0.4)
GRID = opt_wlsvi(SPEC, rate=(0.9, 0.99, 1.0), radius=0.4)
PAIR = opt_wlsvi(SPEC, rate=[[0.9], [0.99]], radius=[0.4, 0.5, 0.6])


def rates(agent: Any) -> list[float]:
    return list(agent.base.forgetting.rate)


def test_a_grid_is_the_list_of_its_points():
    arms = [opt_wlsvi(SPEC, rate=rate, radius=0.4) for rate in (0.9, 0.99, 1.0)]
    assert borl(GRID, num_episodes=50) == borl(arms, num_episodes=50)
    several = borl(PAIR, num_episodes=50)
    assert rates(several) == [0.9] * 3 + [0.99] * 3
    assert several.base.exploration.radius == (0.4, 0.5, 0.6) * 2


@pytest.mark.parametrize(
    ("block_length", "expected"),
    [("corrected", 35), ("paper", 10), (17, 17), (1000, 100)],  # ⌈√(12·100)⌉ = ⌈34.6⌉
)
def test_blocks_and_rounds_of_the_bandit(block_length, expected):
    agent = borl(GRID, num_episodes=100, block_length=block_length, delta=0.1, form="bubeck")
    assert (agent.block_length, agent.num_episodes) == (expected, 100)
    assert agent.chooser == exp3_p(3, num_rounds=math.ceil(100 / expected), delta=0.1, form="bubeck")
    assert borl(GRID, num_episodes=101, block_length="paper").block_length == 11


@pytest.mark.parametrize(("num_episodes", "num_arms"), [(1, 1), (3, 1), (4, 2), (15, 2), (16, 3), (1000, 5)])
def test_the_rates_of_opt_wlsvi_borl(num_episodes, num_arms):
    """log(1/η) = 2^i/√(dK) for i = 0 … ⌊log₂√K⌋; the last is between 1/(2√d) and 1/√d."""
    agent = opt_wlsvi_borl(SPEC, num_episodes=num_episodes, delta=0.1, beta_scale=0.2, clip="tight")
    found = -np.log(rates(agent))
    assert len(found) == num_arms == math.floor(math.log2(math.sqrt(num_episodes))) + 1
    np.testing.assert_allclose(found[0], 1 / math.sqrt(12 * num_episodes), rtol=1e-12)
    np.testing.assert_allclose(found[1:], 2 * found[:-1], rtol=1e-9)
    assert 0.5 / math.sqrt(12) * (1 - 1e-9) < found[-1] <= 1 / math.sqrt(12) * (1 + 1e-9)
    for arm in expand_grid(agent.base):
        radius = opt_wlsvi_radius(
            dim=12, horizon=3, num_episodes=num_episodes, delta=0.1, beta_scale=0.2, rate=arm.forgetting.rate
        )
        assert arm == opt_wlsvi(SPEC, rate=arm.forgetting.rate, radius=radius, clip="tight")


def test_the_windows_of_bob():
    """M = ⌊3√900⌋ = 90, J = ⌈ln 90⌉ = 5, and 90^{1/5} = 2.459…"""
    agent = bob(BANDIT, num_episodes=900, noise_scale=0.5)
    assert agent.block_length == 90
    assert agent.base.forgetting.length == (1, 2, 6, 14, 36, 90)
    assert agent.chooser == exp3(6, num_rounds=10)


def test_the_gain_of_bob_is_that_of_its_paper():
    """1/2 + Σ/(2M + 4R√(M log(T/√M))), where a block of M rounds has paid Σ."""
    agent = bob(BANDIT, num_episodes=900, noise_scale=0.5)
    length, noise, rounds = 90, 0.5, 900
    for paid in (-40.0, 0.0, 12.5, 90.0):
        scale = 2 * length + 4 * noise * math.sqrt(length * math.log(rounds / math.sqrt(length)))
        gain = (paid / length - agent.low) / (agent.high - agent.low)
        assert abs(gain - (0.5 + paid / scale)) <= 1e-12


def test_the_periods_of_ada_lsvi_ucb_restart():
    """M = ⌈5·2·√(2·10⁴)⌉ = 1415 with J = ⌊ln 1415⌋ = 7; in short runs a block is all."""
    spec = Spec(num_states=3, num_actions=2, dim=2, horizon=2)
    agent = ada_lsvi_ucb_restart(spec, num_episodes=10_000, delta=0.1, beta_scale=0.5)
    assert agent.block_length == 1415
    periods = agent.base.forgetting.period
    assert periods == (1, 2, 7, 22, 63, 178, 501, 1415)
    radius = lsvi_ucb_radius(dim=2, horizon=2, num_episodes=10_000, delta=0.1, beta_scale=0.5)
    assert agent.base == stack_parts([lsvi_ucb_restart(spec, period=each, radius=radius) for each in periods])
    assert agent.chooser == exp3_p(8, num_rounds=8, delta=0.1, form="bubeck")
    short = ada_lsvi_ucb_restart(SPEC, num_episodes=100)
    assert (short.block_length, short.chooser.num_arms) == (100, 5)


def test_the_widths_of_master():
    """ρ̂(t) = 6(log₂T + 1)log(T/δ)ρ(t)."""
    agent = master(AGENT, num_episodes=1000, regret_scale=(2.0, 3.0), delta=0.1)
    confidence = 6 * (math.log2(1000) + 1) * math.log(1000 / 0.1)
    np.testing.assert_allclose(agent.width, [2 * confidence, 3 * confidence], rtol=1e-12)
    assert agent.num_orders == 10  # 1 + 2 + … + 512 rounds are enough
    bandit = master_lin_ucb(BANDIT, num_episodes=1000, delta=0.1, radius_scale=0.5)
    beta = 0.5 * 4 * math.sqrt(3 * math.log(1000 / 0.1))
    assert bandit.base == lin_ucb(BANDIT, radius=2 * beta)
    np.testing.assert_allclose(bandit.width, confidence * beta * math.sqrt(3 * math.log(1e4)), rtol=1e-12)
    mdp = master_lsvi_ucb(SPEC, num_episodes=1000, delta=0.1, beta_scale=0.5)
    beta = lsvi_ucb_radius(dim=12, horizon=3, num_episodes=1000, delta=0.1, beta_scale=0.5)
    assert mdp.base == lsvi_ucb(SPEC, radius=beta)
    np.testing.assert_allclose(mdp.width, confidence * beta * math.sqrt(12 * math.log(1e4)), rtol=1e-12)


def test_a_base_may_be_named():
    named = build(SPEC, "master", base=dict(algorithm="lsvi_ucb", radius=0.4), num_episodes=9, regret_scale=1)
    assert named == master(AGENT, num_episodes=9, regret_scale=1)


def in_a_file(**tables: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The environment of an experiment, and its agents by what results call them."""
    jumps = dict(type="combination_lock", drift=dict(type="Abrupt", at=["50%"]))
    sizes = dict(name="mine", summary="Mine", episodes=40, runs=3)
    groups = prepare(experiment_of(dict(**sizes, environment=jumps, agents=tables))).groups
    return groups[0].task.environment, {
        label: point.agent for each in groups for label, point in each.points.items()
    }


def test_tuned_agents_can_be_told_another_variation_than_there_is():
    local = dict(algorithm="lsvi_ucb_restart", tuned=True, local_variation="known", variation_scale=10)
    scaled = dict(algorithm="opt_wlsvi", tuned=True, variation_scale=[1, 10])
    environment, made = in_a_file(W=scaled, R=local)
    moves, told = environment.variation(40), dict(num_episodes=40)
    assert moves.total > 0
    for scale in (1, 10):
        expected = opt_wlsvi.tuned(environment.spec, **told, variation=scale * moves.total)
        assert made[f"W (variation_scale={scale})"] == expected
    tenfold = Variation(10 * moves.reward, 10 * moves.transition)
    assert made["R"] == lsvi_ucb_restart.tuned(
        environment.spec, **told, variation=tenfold.total, variations=tenfold, local_variation="known"
    )


def test_lists_in_the_base_of_borl_are_arms_in_all_combinations():
    base = dict(algorithm="opt_wlsvi", rate=[0.9, 0.99], radius=[0.4, 0.5, 0.6])
    environment, made = in_a_file(
        B=dict(algorithm="borl", base=base),
        T=dict(algorithm="borl", base=dict(algorithm="opt_wlsvi", tuned=True, variation_scale=[1, 10])),
    )
    arms = [
        opt_wlsvi(environment.spec, rate=rate, radius=radius)
        for rate in (0.9, 0.99)
        for radius in (0.4, 0.5, 0.6)
    ]
    assert made["B"] == borl(arms, num_episodes=40)
    total = environment.variation(40).total
    assert made["T"].base == stack_parts(
        [opt_wlsvi.tuned(environment.spec, num_episodes=40, variation=scale * total) for scale in (1, 10)]
    )


def test_agents_in_agents_and_their_detectors_are_tables():
    base = dict(algorithm="master", base=dict(algorithm="lsvi_ucb", radius=0.4), regret_scale=1.0)
    detector = dict(type="Cusum", warmup=9)
    environment, made = in_a_file(C=dict(algorithm="change_detection", base=base, detector=detector))
    inner = master(lsvi_ucb(environment.spec, radius=0.4), num_episodes=40, regret_scale=1.0)
    assert made["C"] == change_detection(inner, detector=Cusum(warmup=9))


@pytest.mark.parametrize("base", ["sw_lsvi_ucb", "opt_rlsvi", "q_ucb"])
@pytest.mark.parametrize("meta", WRAPPING)
def test_around_agents_of_an_mdp_they_do_online_what_they_do_in_a_run(meta, base, monkeypatch):
    monkeypatch.setattr("driftwise.online.episodes.agent_building.default_parameters", lambda _: {})
    environment = make("latent_chains", rewards="bernoulli")
    given = wrapped(meta, base, PARAMETERS[base])
    learner = EpisodicAgent(meta, features=environment.features, horizon=SPEC.horizon, seed=5, **given)
    for one in dw.play(build(SPEC, meta, **given), environment, NUM_EPISODES, seed=5):
        learner.begin(int(one.episode.states[0]))
        for h in range(SPEC.horizon):
            assert learner.act() == one.episode.actions[h]
            learner.observe(one.episode.rewards[h], int(one.episode.successors[h]))
        np.testing.assert_allclose(learner.plan.q[:, : SPEC.num_states], one.plan.q, rtol=0, atol=1e-9)


def test_two_grids_of_one_name_both_count():
    agent = change_detection(
        lin_ucb(BANDIT, noise_scale=((0.1,), (0.2,))), detector=Glr(noise_scale=(0.3, 0.4, 0.5))
    )
    found = [(to_config(each)["base"], each.detector.noise_scale) for each in expand_grid(agent)]
    assert [scale for _, scale in found] == [0.3, 0.4, 0.5] * 2
    singles = [to_config(lin_ucb(BANDIT, noise_scale=scale)) for scale in (0.1, 0.2)]
    assert [base for base, _ in found] == [singles[0]] * 3 + [singles[1]] * 3


RUN: dict[str, Any] = dict(num_episodes=9)
EXPECTED = "base must be an agent with a grid in its numbers, or a list of agents, got "
OPTIMISTIC = "base must be an optimistic agent, whose values the tests rest on, got "


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: borl(SPEC, **RUN), f"{EXPECTED}Spec("),
        (lambda: borl([], **RUN), f"{EXPECTED}[]"),
        (lambda: borl(Ucb(1), **RUN), f"{EXPECTED}Ucb("),
        (lambda: borl([AGENT, Ucb(1)], **RUN), f"{EXPECTED}[LeastSquares("),
        (lambda: borl(AGENT, **RUN), "base must have at least two agents to choose from, got one"),
        (lambda: borl([AGENT], **RUN), "base must have at least two agents to choose from, got one"),
        (lambda: build(SPEC, "borl", **RUN), "base is missing: borl needs it"),
        (lambda: borl([GRID, GRID], **RUN), "base must have a single rate in each of its agents, got (0."),
        (
            lambda: borl(opt_wlsvi(SPEC, rate=(0.8, 0.9, 1.0), radius=(0.1, 0.2)), **RUN),
            "grids must have shapes that fit each other, got rate (0.8, 0.9, 1.0) and radius (0.1, 0.2)",
        ),
        (
            lambda: borl(GRID, **RUN, block_length="papr"),
            'block_length must be episodes, "corrected" or "paper", got \'papr\'',
        ),
        (lambda: borl(GRID, **RUN, low=2), "high must be above low, got low 2.0 and high 1.0"),
        (lambda: master(SPEC, **RUN, regret_scale=1), "base must be an Agent, got Spec("),
        (lambda: master(uniform(SPEC), **RUN, regret_scale=1), f"{OPTIMISTIC}LeastSquares("),
        (lambda: master(greedy(BANDIT), **RUN, regret_scale=1), f"{OPTIMISTIC}LeastSquares("),
        (lambda: master_lin_ucb(SPEC, **RUN), "spec must be a bandit's, of one state and one step, got"),
        (lambda: bob(SPEC, **RUN, noise_scale=1), "spec must be a bandit's, of one state and one step"),
        (lambda: bob(BANDIT, **RUN, noise_scale=1, ridge=(1, 2)), "ridge must be a single number, got"),
        (lambda: bob(BANDIT, **RUN, noise_scale=1, ridge=0), "ridge must be a number above 0, got 0"),
        (
            lambda: bob(BANDIT, **RUN, noise_scale=1, norm_bound=0),
            "norm_bound must be a number above 0, got 0",
        ),
        (lambda: bob(BANDIT, **RUN, noise_scale=1, delta=2), "delta must be a number in (0, 1], got 2"),
        (lambda: adaptive(AGENT, fresh=""), "fresh must be one of at_alarm, never, got ''"),
        (
            lambda: build(SPEC, "ucbvi", algorithm="x", scale=1),
            "algorithm is no key of ucbvi, expected one of",
        ),
    ],
)
def test_mistakes_are_told_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make()


RATED = tuple(
    opt_wlsvi(SPEC, rate=rate, radius=radius) for rate, radius in ((0.5, 0.3), (0.9, 0.4), (1.0, 0.5))
)
BLOCK = 7
KEY = np.zeros(2, dtype=np.uint32)
OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)


def over(arms: tuple = RATED, block_length: int = BLOCK, **options: Any) -> BanditOverAgents:
    return BanditOverAgents(stack_parts(arms), exp3_p(len(arms), num_rounds=6), block_length, **options)


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
        gained = (0.0 if t % BLOCK == 0 else gained) + one.record.reward
        if t % BLOCK == BLOCK - 1:
            gain = (gained / (BLOCK * SPEC.horizon) - 0.1) / 0.8
            log_weights = agent.chooser.update(log_weights, one.carry.state.arm, gain)
        np.testing.assert_allclose(one.carry.state.log_weights, log_weights, atol=1e-12)
        arms.add(int(one.carry.state.arm))
    assert len(arms) > 1


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
        arm = RATED[int(one.carry.state.arm)]
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


def test_mistakes_of_blocks_are_told_in_one_sentence():
    with refused("base must be an Agent, got 3"):
        BanditOverAgents(cast(Any, 3), exp3_p(1, num_rounds=3), 3)
    with refused("base must have one number for each of the 2 arms, got rate (0.5, 0.9, 1.0)"):
        BanditOverAgents(stack_parts(RATED), exp3_p(2, num_rounds=3), 3)
    with refused("base must have one number for each of the 1 arms, got rate 0.5"):
        BanditOverAgents(RATED[0], exp3_p(1, num_rounds=3), 3)
    with refused("high must be above low, got low 1.0 and high 1.0"):
        over(low=1.0)
    with refused("block_length must be an integer of at least 1, got 0"):
        over(block_length=0)
    with refused("parts must be alike but for their numbers, got norm ['sandwich', 'single']"):
        over((RATED[0], opt_wlsvi(SPEC, rate=0.9, radius=0.4, norm="single")))

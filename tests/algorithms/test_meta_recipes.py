"""Recipes over agents: their grids, blocks, gains and widths against the papers' formulas."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

import math
import re
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    ada_lsvi_ucb_restart,
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
    uniform,
)
from driftwise.base import Spec, Variation, expand_grid, stack_parts, to_config
from driftwise.experiments import experiment_of, prepare
from driftwise.online import EpisodicAgent
from driftwise.parts import Cusum, Glr, Ucb, exp3, exp3_p
from driftwise.theory.tuning import lsvi_ucb_radius, opt_wlsvi_radius
from tests.examples import BANDIT, NUM_EPISODES, PARAMETERS, SPEC, WRAPPING, make, wrapped

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
    monkeypatch.setattr("driftwise.online.episodes.agent_building.DEFAULTS", {})  # the numbers of the recipes
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
    ],
)
def test_mistakes_are_told_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make()

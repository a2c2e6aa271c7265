"""Agents that begin anew on an alarm: what the detector sees, and that nothing of the past is left."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false

import copy
from collections import deque
from typing import Any

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    change_detection,
    d_lin_ucb,
    lsvi_ucb,
    opt_rlsvi,
    opt_wlsvi,
    random_restart,
    sw_lsvi_ucb,
)
from driftwise.algorithms.unknown_variation.restarting import Restarting
from driftwise.environments import Environment, PlayedEpisode
from driftwise.parts import Cusum, Glr
from tests.examples import BANDIT, NUM_EPISODES, NUM_RUNS, SPEC, bandit_agent, make, make_bandit, refused

KEY = np.zeros(2, dtype=np.uint32)  # agents with upper confidence bounds draw nothing when they plan
GLR = Glr(noise_scale=0.15, delta=0.9, window=16)
CUSUM = Cusum(warmup=4, slack=0.02, threshold=0.4)
PROBLEMS: dict[str, tuple[Any, Environment]] = {
    "mdp": (opt_wlsvi(SPEC, rate=0.95, radius=0.1), make(rewards="bernoulli")),
    "bandit": (d_lin_ucb(BANDIT, rate=0.95, radius=0.1), make_bandit(noise_scale=0.3)),
}


def played(agent: Restarting, environment: Environment) -> list[PlayedEpisode]:
    """Episodes with states of their own."""
    return [copy.deepcopy(one) for one in dw.play(agent, environment, NUM_EPISODES, seed=1)]


def assert_same(left: Any, right: Any) -> None:
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(one, other)


def mean_reward(one: PlayedEpisode) -> float:
    return sum(one.episode.rewards) / len(one.episode.rewards)


def mean_residual(one: PlayedEpisode) -> float:
    """Of r + V(s′) − φᵀw what is beyond the bonus, step by step; nothing follows the last."""
    steps, total = len(one.episode.rewards), 0.0
    for h in range(steps):
        ahead = one.plan.values[h + 1][one.episode.successors[h]] if h + 1 < steps else 0.0
        predicted = float(one.episode.features[h] @ one.plan.weights[h])
        bonus = one.plan.bonus[h, one.episode.states[h], one.episode.actions[h]]
        error = one.episode.rewards[h] + ahead - predicted
        if error > abs(bonus):
            total += error - abs(bonus)
        elif error < -abs(bonus):
            total += error + abs(bonus)
    return total / steps


@pytest.mark.parametrize(("watch", "plain"), [("rewards", mean_reward), ("residuals", mean_residual)])
@pytest.mark.parametrize("detector", [GLR, CUSUM], ids=["glr", "cusum"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_after_an_alarm_it_is_a_fresh_agent_with_a_fresh_detector(problem, detector, watch, plain):
    """Replayed: plans, states and alarms since the last alarm are those of agents that began there."""
    base, environment = PROBLEMS[problem]
    example = environment.to_arrays().example
    fresh_base, fresh_detector = base.init(example), detector.init(np.zeros(()))
    alone, watching, alarms = copy.deepcopy(fresh_base), fresh_detector, 0
    for one in played(change_detection(base, detector=detector, watch=watch), environment):
        if problem == "mdp":
            np.testing.assert_array_equal(one.plan.q, base.plan(alone, example, KEY).q)
        alone = base.update(alone, one.features, one.plan._replace(drawn=one.plan.drawn.inner), one.episode)
        watching, alarm = detector.detect(watching, np.asarray(plain(one)), KEY[0])
        assert bool(alarm) == bool(one.carry.state.alarm)
        if alarm:
            alone, watching, alarms = copy.deepcopy(fresh_base), detector.init(np.zeros(())), alarms + 1
        assert_same(one.carry.state.base, alone)
    assert 0 < alarms < NUM_EPISODES


DOUBTING = (opt_rlsvi(SPEC, scale=0.3, lower=0.3, upper=0.8, rate=0.9), make(rewards="bernoulli"))


@pytest.mark.parametrize("problem", [*PROBLEMS, "doubting"])
def test_what_the_detector_sees_is_what_it_says(problem):
    base, environment = {**PROBLEMS, "doubting": DOUBTING}[problem]
    for watch, plain in (("rewards", mean_reward), ("residuals", mean_residual)):
        agent = Restarting(base, GLR, watch)
        for one in dw.play(agent, environment, 10):
            np.testing.assert_allclose(
                agent.observation(one.plan, one.episode), plain(one), rtol=0, atol=1e-12
            )


def test_alarms_and_restarts_are_told():
    environment = make_bandit(noise_scale=0.3)
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    detected = dw.simulate(bandit_agent("change_detection"), environment, **options).diagnostics
    by_chance = dw.simulate(bandit_agent("random_restart"), environment, **options).diagnostics
    assert set(detected) == {"alarms", "restarts"}
    assert set(by_chance) == {"restarts"}
    np.testing.assert_array_equal(detected["alarms"], detected["restarts"])
    for told in (detected["alarms"], by_chance["restarts"]):
        assert 0 < told.mean() < 1
        assert {*np.unique(told)} == {0.0, 1.0}


def test_alarms_follow_a_change_and_are_seldom_without_one():
    """A bandit whose best arm becomes one of its worst: residuals of 0.4 and noise of 0.1."""
    base = dw.algorithms.lin_ucb(BANDIT, radius=0.3, ridge=0.1)
    agent = change_detection(base, detector=Glr(noise_scale=0.1))
    bandits = [make_bandit(dw.drift.Abrupt((at,)), noise_scale=0.1) for at in (100, 10**9)]
    results = [dw.simulate(agent, environment, num_episodes=200, num_runs=10) for environment in bandits]
    changed, calm = (result.diagnostics["alarms"] for result in results)
    assert changed[:, 100:120].any(axis=1).all()
    assert changed[:, :100].sum() == 0
    assert calm.sum(axis=1).mean() < 0.2


def test_a_plan_that_waits_holds_no_state():
    agent, example = change_detection(sw_lsvi_ucb(SPEC, length=500, radius=0.4)), make().to_arrays().example
    state = agent.init(example)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(agent.plan(state, example, KEY).drawn))
    assert 10 * held < sum(leaf.nbytes for leaf in jax.tree.leaves(state))


def test_late_rewards_of_one_jump_raise_one_alarm():
    """What was planned before the alarm is no evidence of another change after it."""
    options: dict[str, Any] = dict(base=dict(algorithm="lin_ucb", radius=1.0), detector=Glr(noise_scale=0.1))
    bandit = dw.online.Bandit("change_detection", dim=2, **options)
    generator, waiting, alarms = np.random.default_rng(0), deque(), []
    for t in range(600):
        waiting.append((t, bandit.decide(np.eye(2))))
        if len(waiting) > 50:
            made, decision = waiting.popleft()
            means = (0.9, 0.1) if made < 300 else (0.3, 0.1)
            bandit.learn(decision.id, means[decision.arm] + 0.1 * generator.normal())
            alarms.append(int(bandit.state.alarm))
    assert sum(alarms[:300]) == 0
    assert sum(alarms) == int(bandit.state.epoch) == 1


def test_a_plan_from_before_an_alarm_raises_none_and_still_teaches():
    """The detector is always certain, but after the first episode the plan is of an epoch that is over."""
    base, environment = opt_wlsvi(SPEC, rate=0.95, radius=0.1), make()
    agent, one = random_restart(base, probability=1.0), next(dw.play(base, environment, 1))
    state = agent.init(one.features)
    plan = agent.plan(state, one.features, KEY)
    epochs, alarms, ticks = [], [], []
    for _ in range(3):
        state = agent.update(state, one.features, plan, one.episode)
        epochs.append(int(state.epoch))
        alarms.append(int(state.alarm))
        ticks.append(int(state.base.tick))
    assert (epochs, alarms, ticks) == ([1, 1, 1], [1, 0, 0], [0, 1, 2])


def test_mistakes_are_told_in_one_sentence():
    with refused("base must be an Agent, got Spec("):
        change_detection(SPEC)
    with refused("detector must be a Detector"):
        change_detection(lsvi_ucb(SPEC, radius=1), detector=0.1)
    with refused("watch must be one of rewards, residuals, got 'reward' (did you mean 'rewards'?)"):
        change_detection(lsvi_ucb(SPEC, radius=1), watch="reward")

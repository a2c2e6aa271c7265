"""Mixtures of memories: their definition, what they reduce to, and what does not change them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import (
    adaptive,
    adaptive_lin_ts,
    adaptive_lin_ucb,
    adaptive_opt_wlsvi,
    lin_ucb,
    lsvi_ucb,
    opt_wlsvi,
    q_ucb,
    sw_lin_ucb,
    ucbvi,
)
from driftwise.base import random
from driftwise.base.part import at
from driftwise.base.types import Episode, FeatureTable, Spec
from driftwise.environments.drift import Abrupt
from driftwise.environments.mdps.random_linear_mdp import random_linear_mdp
from driftwise.simulation.play import play
from tests.examples import BANDIT, SPEC, make
from tests.reference import adaptive as definition
from tests.reference import opt_wlsvi as textbook

KEY = random.key(0)
MEMORIES = (2, 8)
RATES = (0.5, 0.875, 1.0)


@pytest.mark.parametrize("decision", ["mixture", "heaviest"])
@pytest.mark.parametrize("favour", [0.0, 0.4])
def test_mixture_equals_its_definition(decision, favour):
    """Weights by forecasts of `r + V̄`, and an index by textbook OPT-WLSVI of each memory."""
    environment = random_linear_mdp(
        num_states=5, num_actions=3, dim=4, horizon=3, drift=Abrupt((10,)), rewards="bernoulli"
    )
    numbers: dict[str, Any] = dict(radius=0.4, ridge=0.5)
    agent = adaptive_opt_wlsvi(
        environment.spec, **numbers, memories=MEMORIES, decision=decision, favour=favour
    )
    memories = [definition.Memory(rate, 0.5, count=2.0, scale=0.5, max_degrees=8.0) for rate in RATES]
    prior = [(1 - favour) / 3] * 2 + [(1 - favour) / 3 + favour]
    scores: list[list[float]] = []
    for t, played in enumerate(play(agent, environment, 22)):
        weights = np.array(definition.fixed_share(scores, prior, 0.0)[-1])
        np.testing.assert_allclose(np.exp(played.before.log_weights), weights, rtol=1e-7)
        if t % 7 == 0:
            plans = [
                textbook.plan(
                    each.history, environment.features, 3, rate=each.rate, radius=0.4, ridge=0.5, clip="tight"
                )
                for each in memories
            ]
            taken = weights if decision == "mixture" else np.eye(3)[weights.argmax()]
            expected = sum(weight * plan.q for weight, plan in zip(taken, plans, strict=True))
            np.testing.assert_allclose(played.plan.q, expected, atol=1e-8)
        values = np.concatenate([played.plan.values, np.zeros((1, 5))])
        scores.append([each.learn(played.episode, values) for each in memories])
        told = agent.diagnostics(played.carry.state)
        shares = definition.fixed_share(scores, prior, 0.0)[-1]
        squared = [np.mean([each.variance(h) for h in range(3)]) for each in memories]
        np.testing.assert_allclose([told[f"weight.{j}"] for j in range(3)], shares, rtol=1e-7)
        np.testing.assert_allclose(told["noise"] ** 2, np.dot(shares, squared))
        np.testing.assert_allclose(told["memory"], np.dot(shares, [each.degrees() - 2 for each in memories]))


def test_a_mixture_of_one_memory_is_that_agent():
    environment = make()
    alone = adaptive(lsvi_ucb(SPEC, radius=0.4), memories=())
    for one, other in zip(
        play(alone, environment, 12), play(at(alone.base, 0), environment, 12), strict=True
    ):
        np.testing.assert_array_equal(one.plan.q, other.plan.q)


def decisions(agent: Any, *, unit: float = 1.0, constant: float = 0.0) -> list[int]:
    """Arms chosen in 60 rounds of random features, the first of them 1, and rewards in some unit."""
    generator = np.random.default_rng(3)
    state, chosen = agent.init(FeatureTable(np.zeros((4, 3)))), []
    for t in range(60):
        features = FeatureTable(np.concatenate([np.ones((4, 1)), generator.normal(size=(4, 2))], axis=1))
        rewards = features.values @ [0.3, 1.0, -0.5 * (-1) ** (t // 30)] + generator.normal(size=4)
        plan = agent.plan(state, features, random.fold(KEY, t))
        arm = int(agent.act(plan, 0, 0, 0.5))
        nowhere, taken = np.zeros(1, dtype=np.int32), np.array([arm], dtype=np.int32)
        earned = unit * rewards[taken] + constant
        state = agent.update(
            state, features, plan, Episode(nowhere, taken, features.values[taken], earned, nowhere)
        )
        chosen.append(arm)
    return chosen


@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
def test_the_unit_of_rewards_changes_no_decision(recipe):
    assert decisions(recipe(BANDIT)) == decisions(recipe(BANDIT), unit=1024.0)


@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
def test_a_constant_in_the_rewards_changes_no_decision_where_a_feature_is_constant(recipe):
    assert decisions(recipe(BANDIT)) == decisions(recipe(BANDIT), constant=100.0)


@pytest.mark.parametrize(
    ("base", "num"),
    [(sw_lin_ucb(BANDIT, length=(3, 9), noise_scale=0.3), 2), (lin_ucb(BANDIT, noise_scale=0.3), 11)],
)
def test_candidates_are_points_of_a_grid_or_all_memories(base, num):
    assert len(adaptive(base).init(FeatureTable(np.zeros((4, 3)))).log_weights) == num


def test_a_list_of_agents_is_a_grid():
    apart = [opt_wlsvi(SPEC, rate=rate, radius=0.4) for rate in (0.5, 0.9)]
    assert adaptive(apart) == adaptive(opt_wlsvi(SPEC, rate=(0.5, 0.9), radius=0.4))
    assert adaptive(apart[:1]) == adaptive(apart[0])


def test_agents_that_count_are_mixed_too():
    agent = adaptive(ucbvi(SPEC, scale=0.01), memories=(4, 16))
    states = [played.carry.state for played in play(agent, make(), 15)]
    np.testing.assert_allclose(np.exp(states[-1].log_weights).sum(), 1)
    assert np.ptp(states[-1].log_weights) > 0.01  # their forecasts differ


def test_what_forecasts_nothing_is_refused():
    with pytest.raises(ValueError, match="base must be an agent on least squares, or one that counts"):
        adaptive(q_ucb(SPEC, scale=0.1))
    with pytest.raises(ValueError, match="memories must be a list of lengths, got 8"):
        adaptive_opt_wlsvi(SPEC, memories=8)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="memories must be left out for a base with a grid"):
        adaptive(opt_wlsvi(SPEC, rate=(0.5, 0.9), radius=0.4), memories=(3, 4))


def test_spec_of_a_bandit_is_asked_for():
    with pytest.raises(ValueError, match="spec must be a bandit's"):
        adaptive_lin_ucb(Spec(num_states=2, num_actions=2, dim=4, horizon=2))

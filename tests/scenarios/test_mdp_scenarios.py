"""Scenarios of MDPs: whatever decides and learns plays them, as the simulator plays their worlds."""

import functools
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import build
from driftwise.base import AnchorMeasures, InitialDistribution, MeanRewards, random
from driftwise.environments import LinearMdp, planning
from driftwise.scenarios import Scenario, mdp_policy, play_policy
from driftwise.scenarios.problems import MDP_PROBLEMS
from driftwise.scenarios.rounds import MdpRounds
from tests.scenarios import strangers
from tests.scenarios.strangers import OF_MDPS, stranger

ROUNDS = OF_MDPS["rounds"]
scenario = functools.partial(strangers.scenario, **OF_MDPS)


def world(here: Scenario) -> LinearMdp:
    environment = here.environment()
    assert isinstance(environment, LinearMdp)
    return environment


OPTIONS: dict[str, Any] = dict(rate=0.9, radius=0.3, ridge=0.01)


@pytest.mark.parametrize("algorithm", ["opt_wlsvi", "ucrl_vtr"])
def test_an_agent_plays_a_scenario_as_the_simulator_plays_its_world(algorithm):
    here = scenario()
    agent = build(world(here).spec, algorithm, **OPTIONS)
    records = [each.record for each in dw.play(agent, world(here), ROUNDS, run=1)]
    played = play_policy(mdp_policy(algorithm, **OPTIONS), here, run=1)
    np.testing.assert_allclose(played.values, [each.value for each in records], rtol=0, atol=1e-12)
    np.testing.assert_allclose(played.optimal, [each.optimal for each in records], rtol=0, atol=1e-12)


def test_the_frozen_value_is_that_of_the_policy_before_in_the_world_after_the_change():
    here = scenario()
    environment = world(here)
    episodes = [*dw.play(build(environment.spec, "ucrl_vtr", **OPTIONS), environment, ROUNDS)]
    expected = [
        planning.policy_values(environment.features, environment.model(at), episodes[at - 1].plan.policy)[
            0, episodes[at].episode.states[0]
        ]
        for at in here.changes
    ]
    played = play_policy(mdp_policy("ucrl_vtr", **OPTIONS), here)
    np.testing.assert_allclose(played.frozen, expected, rtol=0, atol=1e-12)
    assert (played.frozen < played.values[[*here.changes]] - 0.1).all()  # who is told rewards plans by them


def test_chance_is_worth_what_every_action_alike_is_worth():
    policy = stranger()
    strange = play_policy(lambda spec, seed: policy, scenario())
    ours = play_policy(mdp_policy("uniform"), scenario())
    np.testing.assert_allclose(strange.values, ours.values, rtol=0, atol=1e-12)
    assert [(came, told.number) for came, told in policy.learnt] == [(t, t) for t in range(ROUNDS)]


def test_chance_is_valued_in_the_world_of_another_round():
    here = scenario(move="gradual")
    rounds, environment = MdpRounds(here, 0), world(here)
    alike = stranger().decide(rounds.context(0))
    expected = [
        planning.policy_values(environment.features, environment.model(other), alike)[0, rounds.starts[at]]
        for at, other in ((5, 50), (40, 10))
    ]
    found = rounds.random_values(np.array([5, 40]), np.array([50, 10]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_no_policy_can_change_its_world():
    context = MdpRounds(scenario(move="none"), 0).context(3)
    known = context.table
    extras = [known.get(kind).array for kind in (MeanRewards, AnchorMeasures, InitialDistribution)]
    for array in (context.features, known.values, *extras):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_an_agent_learns_from_what_is_not_lost_with_the_plan_of_its_own_episode():
    here = scenario("lost", problem="linear_mdp")
    rounds = MdpRounds(here, 0)
    agent = build(rounds.spec, "ucrl_vtr", **OPTIONS)
    state = agent.init(rounds.context(0).table)
    for t, taken in enumerate(play_policy(mdp_policy("ucrl_vtr", **OPTIONS), here).taken):
        table = rounds.context(t).table
        _, for_plan, _ = random.episode_keys(random.fold(random.key(0), 0), t)
        plan = agent.plan(state, table, for_plan)
        np.testing.assert_array_equal(taken, plan.policy)
        if not rounds.lost[t]:
            state = agent.update(state, table, plan, rounds.observation(t, taken).episode)


def test_poison_mirrors_some_rewards_of_best_actions_alone():
    played = (strangers.told(scenario(feedback)) for feedback in ("at_once", "poisoned"))
    clean, poisoned = ([each.episode for _, each in told] for told in played)
    environment, changed, best = world(scenario()), 0, 0
    for t, (before, after) in enumerate(zip(clean, poisoned, strict=True)):
        model = environment.model(t)
        values = planning.optimal_values(environment.features, model)
        q = planning.action_values(environment.features, model, values)
        np.testing.assert_array_equal(before.actions, after.actions)
        for h, (state, action) in enumerate(zip(before.states, before.actions, strict=True)):
            is_best = q[h, state, action] >= values[h, state] - 1e-9
            best += is_best
            if before.rewards[h] != after.rewards[h]:
                changed += 1
                assert is_best
                assert after.rewards[h] == 1 - before.rewards[h]
    assert 0.15 * best < changed < 0.45 * best  # of 0.3 in the mean, by more than three deviations


@pytest.mark.parametrize("problem", MDP_PROBLEMS)
def test_in_a_rotation_every_direction_of_the_features_pays_in_turn_and_transitions_stay(problem):
    environment = world(scenario(problem=problem, move="rotating"))
    assert len(environment.theta) == environment.spec.dim
    assert (environment.mu == environment.mu[0]).all()
    best = environment.theta[:, 0].argmax(axis=-1)
    assert {*best.tolist()} == {*range(environment.spec.dim)}
    anchors = environment.at(np.arange(ROUNDS)).argmax(axis=-1)
    assert {*anchors.tolist()} == {*range(environment.spec.dim)}


def test_one_direction_alone_moves_and_is_the_one_that_the_best_value_needs_most():
    environment = world(scenario(problem="linear_mdp", move="one_arm"))
    first, second = environment.theta
    (moved,) = np.flatnonzero((first != second).any(axis=0))
    assert (second[:, moved] == first.min()).all()

    def value(theta):
        model = environment.model(0)._replace(theta=theta)
        return environment.initial @ planning.optimal_values(environment.features, model)[0]

    for direction in range(environment.spec.dim):
        without = first.copy()
        without[:, direction] = first.min()
        assert value(without) >= value(second) - 1e-12
    assert value(second) > 0.8 * value(first)  # much is left to earn

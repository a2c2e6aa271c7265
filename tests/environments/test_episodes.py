"""One episode: consistent with its model, valued exactly, with chances that are independent of each other."""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import uniform
from driftwise.base import random
from driftwise.environments import PlayedEpisode
from driftwise.environments.models.linear_mdp import ModelInputs
from tests.examples import SPEC, agent, make
from tests.reference import planning

NUM_EPISODES = 400
RETURN = 20  # from this episode on the example's drift stays at its first anchor


@pytest.fixture(scope="module")
def at_random() -> list[PlayedEpisode]:
    return list(dw.play(uniform(SPEC), make(rewards="bernoulli"), NUM_EPISODES))


@pytest.mark.parametrize("rewards", ["mean", "bernoulli"])
def test_an_episode_is_consistent_with_the_model_and_its_record(rewards):
    environment = make(rewards=rewards)
    for t, one in enumerate(dw.play(agent("opt_wlsvi"), environment, 30)):
        plan, episode, record = one.plan, one.episode, one.record
        model = environment.model(t)
        mean, probability = planning.kernel(environment.features, model)
        np.testing.assert_array_equal(episode.states[1:], episode.successors[:-1])
        for h, (s, a, phi, reward, s_next) in enumerate(zip(*episode[:5], strict=True)):
            np.testing.assert_array_equal(phi, environment.features[s, a])
            assert probability[h, s, a, s_next] > 0
            assert plan.policy[h, s, a] > 0
            assert reward in (0, 1) if rewards == "bernoulli" else abs(reward - mean[h, s, a]) < 1e-12
        assert record.reward == episode.rewards.sum()
        value = planning.of_policy(environment.features, model, plan.policy)[0, episode.states[0]]
        assert abs(record.value - value) < 1e-12


def test_states_follow_their_distributions(at_random):
    """Frequencies at every step, and what is left of a successor is uncorrelated with the state before it.
    All within four standard errors."""
    environment = make()
    _, probability = planning.kernel(environment.features, environment.model(RETURN))
    seen = at_random[RETURN:]
    expected = environment.initial
    for h in range(SPEC.horizon):
        states = np.array([one.episode.states[h] for one in seen])
        frequencies = np.bincount(states, minlength=SPEC.num_states) / len(seen)
        assert (np.abs(frequencies - expected) <= 4 * np.sqrt(expected * (1 - expected) / len(seen))).all()
        expected = np.einsum("s,sat->t", expected, probability[h]) / SPEC.num_actions
        left = [_surprise(one, h, probability) for one in seen]
        assert abs(np.corrcoef(states, left)[0, 1]) < 4 / np.sqrt(len(seen))


def test_the_agents_chances_are_independent_of_the_environments(at_random):
    """Draws are by inverse CDF, so a shared uniform would tie actions to states. Four standard errors."""
    for h in range(SPEC.horizon):
        state, action = (np.array([one.episode[i][h] for one in at_random]) for i in (0, 1))
        assert abs(np.corrcoef(state, action)[0, 1]) < 4 / np.sqrt(NUM_EPISODES)


def test_rewards_are_independent_of_successors_given_the_action(at_random):
    """Coins and next states have uniforms of their own: what is left of both is uncorrelated."""
    mean, probability = planning.kernel(make().features, make().model(RETURN))
    coin, place = [], []
    for one in at_random[RETURN:]:
        for h, (s, a, _, reward, _) in enumerate(zip(*one.episode[:5], strict=True)):
            coin.append(reward - mean[h, s, a])
            place.append(_surprise(one, h, probability))
    assert abs(np.corrcoef(coin, place)[0, 1]) < 4 / np.sqrt(len(coin))


def test_the_chances_of_a_plan_are_not_those_of_its_actions():
    """A randomised exploration must not foresee how its actions will be drawn."""
    agent, arrays = uniform(SPEC), make().to_arrays()
    probe: Any = mock.Mock(wraps=agent)
    inputs = ModelInputs(*(leaf[0] for leaf in arrays.inputs(np.array([[1.0, 0.0]]))))
    arrays.advance(probe, arrays.begin(agent), inputs, random.key(0), 0)
    for_actions = {float(call.args[-1]) for call in probe.act.call_args_list}
    assert len(for_actions) == SPEC.horizon
    for_plan = probe.plan.call_args.args[-1]
    assert not for_actions & {*random.draw_uniform(for_plan, 20, np.float64).tolist()}


def _surprise(played: PlayedEpisode, h: int, probability: np.ndarray) -> float:
    """How far a successor (as a number) is from its mean."""
    s, a, s_next = (getattr(played.episode, name)[h] for name in ("states", "actions", "successors"))
    return s_next - probability[h, s, a] @ np.arange(SPEC.num_states)

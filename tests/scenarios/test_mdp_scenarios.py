"""Scenarios of MDPs: whatever decides and learns plays them, as the simulator plays their worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import build
from driftwise.base.validation import ArgumentError
from driftwise.environments import LinearMdp, planning
from driftwise.scenarios import MdpContext, Scenario, Trajectory, bandit_policy, mdp_policy, play_policy
from driftwise.simulation.play import play

ROUNDS = 60


@pytest.fixture(autouse=True)
def _the_seed_of_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """All scenarios have the draws of a simulation, so that one can be held against the other."""
    monkeypatch.setattr(Scenario, "seed", 0)


class Recorded:
    """A stranger's policy: every action alike; it keeps all that it was shown and told."""

    def __init__(self) -> None:
        self.seen: list[MdpContext] = []
        self.learnt: list[tuple[int, Trajectory]] = []  # with the episode after which it came

    def decide(self, context: MdpContext) -> np.ndarray:
        self.seen.append(context)
        num_states, num_actions, _ = context.features.shape
        return np.full((5, num_states, num_actions), 1 / num_actions)

    def learn(self, trajectory: Trajectory) -> None:
        self.learnt.append((self.seen[-1].number, trajectory))


def scenario(feedback: str = "at_once", start: str = "cold", **others: Any) -> Scenario:
    given: dict[str, Any] = {"problem": "mixture_mdp", "move": "abrupt_rare", **others}
    return Scenario(**given, feedback=feedback, start=start, rounds=ROUNDS)


def world(here: Scenario) -> LinearMdp:
    environment = here.environment()
    assert isinstance(environment, LinearMdp)
    return environment


OPTIONS: dict[str, Any] = dict(rate=0.9, radius=0.3, ridge=0.01)


@pytest.mark.parametrize("algorithm", ["opt_wlsvi", "ucrl_vtr"])
def test_an_agent_plays_a_scenario_as_the_simulator_plays_its_world(algorithm):
    here = scenario()
    agent = build(world(here).spec, algorithm, **OPTIONS)
    records = [each.record for each in play(agent, world(here), ROUNDS, run=1)]
    played = play_policy(mdp_policy(algorithm, **OPTIONS), here, run=1)
    np.testing.assert_allclose(played.values, [each.value for each in records], rtol=0, atol=1e-12)
    np.testing.assert_allclose(played.optimal, [each.optimal for each in records], rtol=0, atol=1e-12)


def test_the_frozen_value_is_that_of_the_policy_before_in_the_world_after_the_change():
    here = scenario()
    environment = world(here)
    episodes = [*play(build(environment.spec, "ucrl_vtr", **OPTIONS), environment, ROUNDS)]
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
    policy = Recorded()
    strange = play_policy(lambda spec, seed: policy, scenario())
    ours = play_policy(mdp_policy("uniform"), scenario())
    np.testing.assert_allclose(strange.values, ours.values, rtol=0, atol=1e-12)
    assert (
        [came for came, _ in policy.learnt] == [told.number for _, told in policy.learnt] == [*range(ROUNDS)]
    )


@pytest.mark.parametrize(
    ("decided", "sentence"),
    [
        (np.zeros((5, 6)), "policy must"),
        (np.full((5, 6, 3), 0.5), "policy must hold probabilities that sum to 1"),
    ],
)
def test_what_are_no_chances_is_refused(decided, sentence):
    policy = Recorded()
    policy.decide = lambda context: decided  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ArgumentError, match=sentence):
        play_policy(lambda spec, seed: policy, scenario())


def test_a_policy_of_one_kind_is_refused_by_the_problems_of_the_other():
    with pytest.raises(ArgumentError, match="scenario must be one of a bandit, for the policy of one"):
        play_policy(bandit_policy("adaptive_lin_ucb"), scenario())
    with pytest.raises(ArgumentError, match="scenario must be one of an MDP, for the policy of one"):
        play_policy(mdp_policy("opt_wlsvi", rate=0.9), Scenario("linear_bandit"))

"""OPPO against its definition, and what its policy and its estimates promise."""

import re
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import oppo
from driftwise.algorithms.linear_mdps.linear_mixtures import PolicyOptimisation, normalise
from driftwise.base import AnchorMeasures, FeatureTable, Forgetting
from driftwise.environments import LinearMdp, PlayedEpisode
from driftwise.parts import ExponentialWeights, MixtureRadius, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.theory import tuning
from tests import examples
from tests.examples import BANDIT, DRIFTS, FORGETTINGS, NUM_EPISODES, SPEC, STATIONARY, make, make_bandit
from tests.reference import oppo as textbook

AGENT: dict[str, Any] = dict(step_size=0.4, radius=0.3, ridge=0.7)


def assert_is_the_textbook(environment: LinearMdp, played: list[PlayedEpisode], **options: Any) -> None:
    tables = examples.reward_tables(environment, len(played)), examples.kernel_tables(environment)
    evaluated = textbook.evaluations([one.episode for one in played], *tables, **{**AGENT, **options})
    examples.assert_plans_close(played, evaluated, atol=1e-9)


def weighted(name: str) -> dict[str, Any]:
    return dict(weight=FORGETTINGS[name][1])


@pytest.mark.parametrize(
    "drift",
    [
        dw.drift.Constant(),
        DRIFTS["abrupt"],
        dw.drift.Gradual((2, 5, 9)),
        dw.drift.RandomWalk(0.3, num_anchors=4),
    ],
    ids=lambda drift: f"{drift.num_anchors} anchors",
)
@pytest.mark.parametrize(
    ("parameters", "definition"),
    [
        ({}, {}),
        (dict(rate=1.0), {}),
        (dict(rate=0.8), weighted("rate")),
        (dict(length=4), weighted("length")),
        (dict(period=5), dict(**weighted("period"), policy_restarts=lambda k: k % 5 == 0)),
        (dict(length=4, policy_period=3), dict(**weighted("length"), policy_restarts=lambda k: k % 3 == 0)),
        (dict(period=5, policy_period=0), weighted("period")),
    ],
)
def test_it_is_the_algorithm_of_its_paper(drift, parameters, definition):
    environment = make(drift=drift)
    played = list(dw.play(oppo(SPEC, **AGENT, **parameters), environment, 12, seed=3))
    assert_is_the_textbook(environment, played, **definition)


def test_it_is_the_algorithm_of_its_paper_where_values_are_cut_at_what_is_left():
    environment = make()
    played = list(dw.play(oppo(SPEC, **{**AGENT, "radius": 5.0}), environment, 6, seed=3))
    assert_is_the_textbook(environment, played, radius=5.0)
    assert any(np.isclose(one.plan.q[1], SPEC.horizon - 1).any() for one in played)


def test_without_steps_it_plays_uniformly():
    for one in dw.play(oppo(SPEC, step_size=0, radius=0.3), make(), 5):
        np.testing.assert_allclose(one.plan.policy, 1 / SPEC.num_actions, rtol=0, atol=1e-15)


def test_policies_are_probabilities_and_stay_finite_under_large_steps():
    played = list(dw.play(oppo(SPEC, step_size=500.0, radius=0.3), make(), 30))
    for one in played:
        assert np.isfinite(one.carry.state.log_policy).all()
        np.testing.assert_allclose(one.plan.policy.sum(-1), 1, rtol=0, atol=1e-12)
    assert np.isclose(played[-1].plan.policy, 0).any()


def test_normalised_is_the_logarithm_of_a_distribution():
    logits = np.array([[0.0, np.log(3.0)], [1e4, 1e4]])
    np.testing.assert_allclose(np.exp(normalise(logits)), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-12)


def backup_gaps(agent: PolicyOptimisation, environment: LinearMdp) -> np.ndarray:
    """`Q_{k,h} − (r + P V_{k,h+1})`, with the transitions as they are."""
    gaps = []
    for t, one in enumerate(dw.play(agent, environment, NUM_EPISODES)):
        values = np.concatenate([np.sum(one.plan.policy * one.plan.q, -1), np.zeros((1, SPEC.num_states))])
        gaps.append(
            one.plan.q - dw.planning.action_values(environment.features, environment.model(t), values)
        )
    return np.stack(gaps)


def test_estimates_are_optimistic_where_transitions_stand_still():
    """At a tenth of the radius of the theorem, and not without a bonus."""
    environment = make(drift=STATIONARY)
    radius = MixtureRadius(SPEC.horizon, NUM_EPISODES, scale=0.1)
    assert backup_gaps(oppo(SPEC, step_size=0.3, radius=radius), environment).min() > -1e-12
    assert backup_gaps(oppo(SPEC, step_size=0.3, radius=0.0), environment).min() < -0.1


def test_it_learns_how_the_anchors_mix():
    """In the second step of three: the last has no successor that counts."""
    environment = make(drift=STATIONARY)
    *_, last = dw.play(oppo(SPEC, step_size=0.1, radius=0.1, ridge=1e-3), environment, 300)
    np.testing.assert_allclose(last.plan.weights[1], [1, 0], rtol=0, atol=0.25)


def test_a_problem_without_kernels_is_refused_in_one_sentence():
    environment = make_bandit()
    message = f"environment must have rewards and measures, which the agent needs, got {environment!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dw.simulate(oppo(BANDIT, step_size=0.1, radius=0.1), environment, num_episodes=3)


def test_the_radius_of_its_theorem():
    """H √(J log(J K H/δ)): 3 √(2 log(2·40·3/0.1)) with two anchors, halved by the scale."""
    agent = oppo(SPEC, **AGENT)
    moments = agent.init(
        FeatureTable(np.zeros((12, 12)), extras=(AnchorMeasures(np.zeros((2, 3, 12, 6))),))
    ).moments
    radius = MixtureRadius(3, 40, delta=0.1, scale=0.5)
    assert radius.at(moments) == pytest.approx(0.5 * 3 * np.sqrt(2 * np.log(2400)))


def test_tuned_is_the_recipe_with_the_theorem_s_numbers():
    plain = oppo.tuned(SPEC, num_episodes=200, delta=0.1, beta_scale=0.2)
    assert plain.step_size == pytest.approx(np.sqrt(2 * np.log(2) / (3 * 200 * 3)))
    assert plain == PolicyOptimisation(SPEC, NoForgetting(), plain.step_size, MixtureRadius(3, 200, 0.1, 0.2))
    period = tuning.restart_period(dim=12, horizon=3, num_episodes=200, variation=40.0)
    assert period == 8
    kinds: list[tuple[Any, Forgetting]] = [
        ("restart", PeriodicRestart(period)),
        ("window", SlidingWindow(period)),
        ("exponential", ExponentialWeights(np.exp(-np.sqrt(40 / (12 * 200))))),
    ]
    for kind, part in kinds:
        agent = oppo.tuned(SPEC, num_episodes=200, variation=40.0, forgetting=kind)
        assert agent.forgetting == part
        assert agent.policy_period == period
        assert agent.step_size == pytest.approx(np.sqrt(2 * np.log(2) / (3 * 8 * 3)))
    with pytest.raises(ValueError, match=r"^beta_scale must be a number of at least 0, got -1$"):
        oppo.tuned(SPEC, num_episodes=200, beta_scale=-1)

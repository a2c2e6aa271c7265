"""OPPO, UCRL-VTR and UCRL-VTR+ against their definitions, and what their estimates promise."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise import parts
from driftwise.algorithms import oppo, ucrl_vtr, ucrl_vtr_plus
from driftwise.algorithms.linear_mdps.linear_mixtures import PolicyOptimisation, normalise
from driftwise.base import AnchorMeasures, FeatureTable, Forgetting, Sample, random
from driftwise.environments import LinearMdp, PlayedEpisode
from driftwise.parts import ExponentialWeights, MixtureRadius, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.theory import tuning
from tests import examples
from tests.examples import (
    BANDIT,
    DRIFTS,
    FORGETTINGS,
    NUM_EPISODES,
    SPEC,
    STATIONARY,
    make,
    make_bandit,
    plain_values,
)
from tests.reference import linear_mixtures as textbook

AGENT: dict[str, Any] = dict(step_size=0.4, radius=0.3, ridge=0.7)


def assert_is_oppo(environment: LinearMdp, played: list[PlayedEpisode], **options: Any) -> None:
    tables = examples.reward_tables(environment, len(played)), examples.kernel_tables(environment)
    evaluated = textbook.oppo([one.episode for one in played], *tables, **{**AGENT, **options})
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
def test_oppo_is_the_algorithm_of_its_paper(drift, parameters, definition):
    environment = make(drift=drift)
    played = list(dw.play(oppo(SPEC, **AGENT, **parameters), environment, 12, seed=3))
    assert_is_oppo(environment, played, **definition)


def test_oppo_is_the_algorithm_of_its_paper_where_values_are_cut_at_what_is_left():
    environment = make()
    played = list(dw.play(oppo(SPEC, **{**AGENT, "radius": 5.0}), environment, 6, seed=3))
    assert_is_oppo(environment, played, radius=5.0)
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


def test_oppo_learns_how_the_anchors_mix():
    """In the second step of three: the last has no successor that counts."""
    environment = make(drift=STATIONARY)
    *_, last = dw.play(oppo(SPEC, step_size=0.1, radius=0.1, ridge=1e-3), environment, 300)
    np.testing.assert_allclose(last.plan.weights[1], [1, 0], rtol=0, atol=0.25)


def test_the_radius_of_the_theorem_on_oppo():
    """H √(J log(J K H/δ)): 3 √(2 log(2·40·3/0.1)) with two anchors, halved by the scale."""
    agent = oppo(SPEC, **AGENT)
    moments = agent.init(
        FeatureTable(np.zeros((12, 12)), extras=(AnchorMeasures(np.zeros((2, 3, 12, 6))),))
    ).moments
    radius = MixtureRadius(3, 40, delta=0.1, scale=0.5)
    assert radius.at(moments) == pytest.approx(0.5 * 3 * np.sqrt(2 * np.log(2400)))


def test_tuned_oppo_has_the_theorem_s_numbers():
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


HORIZON = SPEC.horizon


def assert_is_the_textbook(environment: LinearMdp, played: list[PlayedEpisode], **options: Any) -> None:
    tables = examples.reward_tables(environment, len(played)), examples.kernel_tables(environment)
    expected = textbook.ucrl_vtr([one.episode for one in played], *tables, **options)
    examples.assert_plans_close(played, (plan for plan, _ in expected))


@pytest.mark.parametrize("drift", [DRIFTS["abrupt"], dw.drift.Gradual((2, 5, 9))], ids=["two", "three"])
@pytest.mark.parametrize("name", FORGETTINGS)
def test_ucrl_vtr_equals_its_definition_under_every_forgetting(name, drift):
    chosen, weight = FORGETTINGS[name]
    environment = make("latent_chains", drift)
    played = list(dw.play(ucrl_vtr(SPEC, radius=0.3, ridge=0.7, **chosen), environment, 12, seed=3))
    ridge = 0.7 * HORIZON**2  # values here are not divided by H
    radius = 0.3 * HORIZON
    assert_is_the_textbook(environment, played, ridge=ridge, radius=lambda k, gram: radius, weight=weight)


@pytest.mark.parametrize("clip", ["range", "tight"])
def test_ucrl_vtr_equals_its_definition_with_the_radius_of_theory(clip):
    environment, ridge = make("latent_chains"), HORIZON**2
    agent = ucrl_vtr.tuned(SPEC, num_kernels=2, num_episodes=10, delta=0.1, clip=clip)
    played = list(dw.play(agent, environment, 10, seed=3))
    radius = textbook.hoeffding_radius(HORIZON, ridge, math.sqrt(2), math.log(HORIZON / 0.1))
    assert_is_the_textbook(environment, played, ridge=ridge, radius=radius, tight=clip == "tight")
    assert (played[0].plan.q > HORIZON).any()  # the clip does something


@pytest.mark.parametrize("drift", [DRIFTS["abrupt"], dw.drift.Gradual((2, 5, 9))], ids=["two", "three"])
@pytest.mark.parametrize("name", FORGETTINGS)
def test_ucrl_vtr_plus_equals_its_definition_under_every_forgetting(name, drift):
    chosen, weight = FORGETTINGS[name]
    environment, num = make("latent_chains", drift), drift.num_anchors
    scale, ridge = 0.002, 1 / num
    tuned = ucrl_vtr_plus.tuned(SPEC, num_kernels=num, beta_scale=scale)
    agent = dataclasses.replace(tuned, forgetting=ucrl_vtr(SPEC, radius=0.0, **chosen).forgetting)
    played = list(dw.play(agent, environment, 12, seed=3))
    radii = textbook.bernstein_radii(num, HORIZON, ridge, math.sqrt(num), 0.05)
    of_values, of_mean, of_squares = (lambda k, each=each: scale * each(k) for each in radii)
    definition: dict[str, Any] = dict(
        ridge=ridge, radius=lambda k, gram: of_values(k), variance_radii=(of_mean, of_squares), weight=weight
    )
    assert_is_the_textbook(environment, played, **definition)
    tables = examples.reward_tables(environment, len(played)), examples.kernel_tables(environment)
    plain = textbook.ucrl_vtr([one.episode for one in played], *tables, **definition)
    variances = np.array([variance for _, variance in plain]) * num / HORIZON**2
    assert variances.min() == pytest.approx(1)  # the least
    assert variances.max() > 1.2


def in_possession(agent: Any, environment: LinearMdp, t: int) -> tuple[Any, FeatureTable]:
    """The state of an agent whose estimate is the mixture of episode t, and that episode's table."""
    one = list(dw.play(agent, environment, t + 1))[-1]
    theta = math.sqrt(len(environment.mu)) * environment.at(np.array([t]))[0]
    moments = one.before.moments
    return one.before._replace(
        moments=moments._replace(cross=(moments.gram @ theta)[..., None])
    ), one.features


@pytest.mark.parametrize("recipe", [ucrl_vtr, ucrl_vtr_plus])
def test_with_the_mixture_in_hand_and_no_bonus_the_plan_is_optimal(recipe):
    environment = make("latent_chains", dw.drift.Gradual((5, 25)))
    agent = recipe(SPEC, radius=0.0)
    state, features = in_possession(agent, environment, 12)
    plan = agent.plan(state, features, random.key(0))
    known = environment.features, environment.model(12)
    exact = dw.planning.action_values(*known, dw.planning.optimal_values(*known))
    np.testing.assert_allclose(plan.q, exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(plan.values, exact.max(-1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("recipe", [ucrl_vtr, ucrl_vtr_plus])
def test_the_mixture_of_one_kernel_is_found_to_be_one(recipe):
    """λ = 0.01 against 300 samples of features near a third leaves a share of 0.001; the rest is noise."""
    agent = recipe(SPEC, radius=0.0, ridge=0.01)
    last = list(dw.play(agent, make(drift=dw.drift.Constant()), 300))[-1].plan
    np.testing.assert_allclose(last.weights[:-1], 1, rtol=0, atol=0.05)
    np.testing.assert_array_equal(last.weights[-1], 0)  # nothing follows the last step


@pytest.mark.parametrize("recipe", [ucrl_vtr, ucrl_vtr_plus])
def test_one_step_has_no_transitions_and_no_regret(recipe):
    environment = dw.environments.random_linear_mdp(
        num_states=6, num_actions=2, dim=12, horizon=1, drift=DRIFTS["abrupt"]
    )
    for one in dw.play(recipe(environment.spec, radius=0.4), environment, 15):
        assert one.record.optimal - one.record.value == pytest.approx(0, abs=1e-12)


def samples(agent: parts.ValueTargeted, one: PlayedEpisode) -> list[Sample]:
    """Samples of the values and of their squares in an episode."""
    return [agent.sample(one.features, one.plan, one.episode, power) for power in (1, 2)]


def test_a_variance_of_which_nothing_is_known_counts_as_twice_the_most():
    """Both doubts are cut at one, and the weight is a half."""
    environment, huge = make("latent_chains"), 1e9
    plus = ucrl_vtr_plus(SPEC, radius=0.3, variance_radius=huge, squares_radius=huge, ridge=0.5)
    played = list(dw.play(plus, environment, 2, seed=3))
    values, squares = samples(plus, played[0])
    estimate, doubt = plus.variances(played[0].before, values, squares)
    np.testing.assert_array_equal(estimate[:-1], 0)
    np.testing.assert_array_equal(doubt[:-1], 2)
    gram = played[0].carry.state.moments.gram
    phi = values.features[0]
    np.testing.assert_allclose(gram[0], 0.5 * np.eye(2) + np.outer(phi, phi) / 2, rtol=0, atol=1e-12)


def test_variances_are_off_by_no_more_than_their_doubt():
    """Live, with a share of the radii of theory that leaves doubts below what nobody needs to be told."""
    environment = make("latent_chains", STATIONARY)
    agent = ucrl_vtr_plus.tuned(SPEC, num_kernels=2, beta_scale=0.01)
    kernels = examples.kernel_tables(environment)
    small = 0
    for one in dw.play(agent, environment, 200, seed=1):
        estimate, doubt = agent.variances(one.before, *samples(agent, one))
        for h in range(HORIZON):
            chances = kernels[0, h, one.episode.states[h], one.episode.actions[h]]
            value = one.plan.next_values[h] / HORIZON
            true = chances @ value**2 - (chances @ value) ** 2
            assert abs(estimate[h] - true) <= doubt[h] + 1e-12
            small += h < HORIZON - 1 and doubt[h] < 0.5
    assert small > 100


def least_excess(agent: parts.ValueTargeted) -> float:
    """How far plans were above V* where that was least, in a run where many were below H."""
    environment = make("latent_chains", STATIONARY)
    played = list(dw.play(agent, environment, 150, seed=2))
    values = np.array([one.plan.value[one.episode.states[0]] for one in played])
    assert (values < HORIZON - 1e-9).mean() > 0.25  # the clip does not hide all
    return float((values - np.array([one.record.optimal for one in played])).min())


@pytest.mark.parametrize(
    ("recipe", "scale", "options"), [(ucrl_vtr, 1.0, dict(ridge=0.01)), (ucrl_vtr_plus, 0.03, {})]
)
def test_plans_are_optimistic_with_the_radius_of_theory_or_a_share_of_it(recipe, scale, options):
    run: dict[str, Any] = dict(num_kernels=2, num_episodes=150, clip="tight", **options)
    assert least_excess(recipe.tuned(SPEC, **run, beta_scale=scale)) >= -1e-9
    assert least_excess(recipe.tuned(SPEC, **run, beta_scale=scale / 10)) < -0.1


def turning() -> LinearMdp:
    """Two states, of which one pays; the actions that lead there change places at episode 60."""
    up, down = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    steps = [np.stack([rows] * 3) for rows in ([up, down, up, down], [down, up, down, up])]
    return LinearMdp(
        features=np.eye(4).reshape(2, 2, 4),
        theta=np.broadcast_to([0.8, 0.8, 0.2, 0.2], (2, 3, 4)),
        mu=np.stack(steps),
        initial=np.array([0.0, 1.0]),
        drift=dw.drift.Abrupt((60,)),
    )


@pytest.mark.parametrize("recipe", [ucrl_vtr, ucrl_vtr_plus])
def test_those_that_forget_lose_less_after_a_change(recipe):
    environment = turning()

    def lost(**chosen: Any) -> float:
        agent = recipe(environment.spec, radius=0.1, ridge=0.01, **chosen)
        records = [one.record for one in dw.play(agent, environment, 90)]
        return float(sum(one.optimal - one.value for one in records[60:]))

    assert lost() > 2 * max(lost(rate=0.8), lost(period=16), lost(length=10))


def test_tuned_ucrl_vtr_has_the_theorem_s_numbers():
    plain = ucrl_vtr.tuned(SPEC, num_kernels=3, num_episodes=200, delta=0.1, beta_scale=0.2)
    assert plain.forgetting == parts.NoForgetting()
    assert plain.radius == parts.ConfidenceRadius(
        0.5, math.sqrt(3), 0.1, "determinant", "epochs", shares=HORIZON, scale=0.2
    )
    memory = math.sqrt(3 * HORIZON * 200 / 40)  # √(JHK/P) = 6.7
    kinds: list[tuple[Any, Forgetting, int]] = [
        ("restart", parts.PeriodicRestart(7), 29),
        ("window", parts.SlidingWindow(7), 200),
        ("exponential", parts.ExponentialWeights(math.exp(-1 / memory)), 200),
    ]
    for kind, part, shares in kinds:
        run: dict[str, Any] = dict(num_kernels=3, num_episodes=200, variation=40.0, forgetting=kind)
        agent = ucrl_vtr.tuned(SPEC, **run)
        assert agent.forgetting == part
        assert isinstance(agent.radius, parts.ConfidenceRadius)
        assert agent.radius.shares == HORIZON * shares
        assert agent.radius.information == ("count" if kind == "exponential" else "determinant")
        plus = ucrl_vtr_plus.tuned(SPEC, **run)
        assert (plus.forgetting, plus.ridge) == (part, 1 / 3)
        assert plus.radius == parts.BernsteinRadius(HORIZON, "values")


@pytest.mark.parametrize("recipe", [ucrl_vtr, ucrl_vtr_plus])
def test_what_cannot_be_is_refused_in_one_sentence(recipe):
    with pytest.raises(ValueError, match=r"^only one of rate, length, period and directional may be given"):
        recipe(SPEC, radius=0.1, rate=0.9, length=3)
    with pytest.raises(ValueError, match=r"measures"):
        plain_values(recipe(BANDIT, radius=0.1), make_bandit())

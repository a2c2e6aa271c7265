"""LSVI-UCB++ against its definition, and what its tables promise."""

import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb_plus_plus
from driftwise.base import FeatureTable, MeanRewards, Spec, random
from driftwise.environments import LinearMdp, PlayedEpisode
from driftwise.parts import ConfidenceRadius, LeastSquares, NoForgetting, Ucb
from tests.examples import BANDIT, SPEC, STATIONARY, make, make_bandit, plain_values, reward_tables
from tests.reference import lsvi as textbook

HORIZON = SPEC.horizon
NUMBERS: dict[str, Any] = dict(
    radius=1.0, lower_radius=0.5, squares_radius=0.5, ridge=1 / 9, gap_scale=1e-4, width_scale=1e-4
)


def still(
    num_episodes: int, name: str = "latent_chains", **changed: Any
) -> tuple[LinearMdp, list[PlayedEpisode]]:
    environment = make(name, STATIONARY)
    agent = lsvi_ucb_plus_plus(SPEC, **{**NUMBERS, **changed})
    return environment, list(dw.play(agent, environment, num_episodes, seed=1))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("latent_chains", {}),
        ("random_linear_mdp", {}),
        ("latent_chains", dict(gap_scale=1.0, width_scale=1.0)),
        ("latent_chains", dict(rewards="learnt", reward_radius=0.3)),
        ("latent_chains", dict(radius=0.2, lower_radius=0.0, squares_radius=0.0, gap_scale=0, width_scale=0)),
    ],
)
def test_it_equals_its_definition(name, changed):
    environment, played = still(25, name, **changed)
    agent = lsvi_ucb_plus_plus(SPEC, **{**NUMBERS, **changed})
    numbers = {**NUMBERS, **changed}
    numbers.pop("rewards", None)  # a radius for them says as much
    expected = textbook.lsvi_ucb_plus_plus(
        [one.episode for one in played], environment.features, reward_tables(environment)[0], **numbers
    )
    switches = 0
    for one, plain in zip(played, expected, strict=True):
        switches += int(agent.diagnostics(one.before)["switches"])
        assert switches == plain.switches
        np.testing.assert_allclose(one.plan.q, plain.upper, rtol=0, atol=1e-8)
        np.testing.assert_allclose(one.before.lower, plain.lower, rtol=0, atol=1e-8)
        variances = agent.variances(one.before, one.episode.features)
        np.testing.assert_allclose(variances, plain.variance, rtol=1e-8)


def test_tables_only_come_closer_and_the_optimum_is_between_them():
    environment, played = still(400, radius=2.0, lower_radius=2.0)
    known = environment.features, environment.model(0)
    exact = dw.planning.action_values(*known, dw.planning.optimal_values(*known))
    for one in played:
        after = one.carry.state
        assert (after.upper <= one.before.upper).all()
        assert (after.lower >= one.before.lower).all()
        assert (one.before.lower <= exact + 1e-9).all()
        assert (exact <= one.before.upper + 1e-9).all()
    last = played[-1].carry.state
    assert (last.upper < HORIZON - 0.01).any()
    assert (last.lower > 0.01).any()
    _, greedy = still(100, radius=0.0)
    assert any((one.plan.q < exact - 0.01).any() for one in greedy)


def test_with_equal_variances_its_first_tables_are_those_of_lsvi_ucb():
    """`σ̄ = H` makes `Σ` that of a ridge `λH²`, over `H²`; from then on tables may only fall."""
    _, played = still(12, lower_radius=0.0, squares_radius=0.0, gap_scale=0.0, width_scale=0.0)
    exploration = Ucb(NUMBERS["radius"] * HORIZON, "single")
    ridge = NUMBERS["ridge"] * HORIZON**2
    plain = LeastSquares(SPEC, NoForgetting(), exploration, ridge, "paper", rewards="known")
    state, first = plain.init(played[0].features), True
    for one in played:
        state = plain.update(state, one.features, one.plan, one.episode)
        if one.carry.state.switched:
            q = np.minimum(plain.plan(state, one.features, random.key(0)).q, HORIZON)
            upper = one.carry.state.upper
            assert (upper <= q + 1e-9).all()
            if first:
                np.testing.assert_allclose(upper, q, rtol=0, atol=1e-9)
                first = False
    assert not first


def test_the_printed_constants_leave_nothing_to_learn_from():
    """With d = H = 10 the first sample of a run weighs 2.5e-12."""
    spec = Spec(num_states=2, num_actions=5, dim=10, horizon=10)
    agent = lsvi_ucb_plus_plus.tuned(spec, num_episodes=1000)
    state = agent.init(FeatureTable(np.eye(10)))
    np.testing.assert_allclose(1 / agent.variances(state, np.eye(10)), 2.5e-12, rtol=1e-9)


def test_numbers_of_the_tuned_form():
    spec = Spec(num_states=2, num_actions=2, dim=4, horizon=3)
    agent = lsvi_ucb_plus_plus.tuned(spec, num_episodes=50, delta=0.1, beta_scale=0.5, gap_scale=0.1)
    odds = 4 * 50 * 3 * 9 / 0.1
    assert agent.ridge == pytest.approx(1 / 9)
    assert agent.gap_scale == 0.1
    assert agent.radius == pytest.approx(0.5 * (2 + 2 * math.log(1 + odds)))
    assert agent.lower_radius == pytest.approx(0.5 * (2 + math.sqrt(64 * 9) * math.log(odds)))
    assert agent.squares_radius == pytest.approx(0.5 * (6 + math.sqrt(64 * 81) * math.log(odds)))


def test_learnt_rewards_need_not_be_told_and_widen_the_radius():
    agent = lsvi_ucb_plus_plus.tuned(
        SPEC, num_episodes=50, rewards="learnt", noise_scale=0.75, beta_scale=0.1
    )
    assert agent.needs == ()
    assert agent.reward_radius == ConfidenceRadius(
        0.25, math.sqrt(12), 0.05, "determinant", "epochs", shares=3, scale=0.1
    )
    assert lsvi_ucb_plus_plus.tuned(SPEC, num_episodes=50).needs == (MeanRewards,)
    environment, played = still(200, radius=2.0, lower_radius=2.0, rewards="learnt", reward_radius=0.5)
    known = environment.features, environment.model(0)
    exact = dw.planning.action_values(*known, dw.planning.optimal_values(*known))
    for one in played:
        assert (one.before.lower <= exact + 1e-9).all()
        assert (exact <= one.before.upper + 1e-9).all()
    assert (played[-1].carry.state.upper < HORIZON - 0.01).any()


def test_what_cannot_be_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"rewards"):
        plain_values(lsvi_ucb_plus_plus(BANDIT, **NUMBERS), make_bandit())

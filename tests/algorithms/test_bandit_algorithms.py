"""What the recipes for bandits play: as the papers' loops do, and as each other where they should."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    cw_oful,
    d_lin_ts,
    d_lin_ucb,
    d_rand_lin_ucb,
    epsilon_greedy,
    greedy,
    lin_ts,
    lin_ucb,
    opt_wlsvi,
    oracle_restart,
    restart_lin_ucb,
    robust_weight_ucb,
    square_cb,
    sw_lin_ucb,
    uniform,
    weight_ucb,
)
from driftwise.base import Agent, FeatureTable, Moments, Spec, random
from driftwise.environments import LinearBandit
from driftwise.environments.models.linear_bandit import SignFlips
from driftwise.experiments import EXPERIMENTS, run_experiment
from driftwise.parts import Caution, CautiousUcb, ConfidenceRadius, LeastSquares, Ucb
from tests.examples import refused
from tests.reference import bandits

NUM_ROUNDS = 60
SPEC = Spec.bandit(dim=4, num_arms=7)
# Arms in the open ball: all norms differ, so the first index has no ties for the engine to break at random.
FRESH = LinearBandit(dw.arms.FreshArms(7, 4, "ball"), dw.paths.SphereWalk(4, 0.1), noise_scale=0.3)
CHANGING_NUMBERS = LinearBandit(
    dw.arms.FreshArms(7, 4, "ball", fewest=1),
    dw.paths.abrupt_path(((0.9, 0, 0, 0), (0, -0.7, 0.7, 0)), (30,)),
    noise_scale=0.3,
)
CONTEXTS = LinearBandit(
    dw.arms.ContextArms(np.random.default_rng(3).uniform(-0.5, 0.5, size=(3, 7, 4)).tolist()),
    dw.paths.Rotation(0.0, 3.0, rounds=60, dim=4),
    noise_scale=0.3,
)
ENVIRONMENTS = {"fresh": FRESH, "changing numbers": CHANGING_NUMBERS, "contexts": CONTEXTS}

ASSUMED: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1, ridge=0.5)
GIVEN = bandits.Assumptions(dim=4, **ASSUMED)
HORIZON: dict[str, Any] = dict(**ASSUMED, num_episodes=NUM_ROUNDS)
PAIRS: dict[str, tuple[LeastSquares, bandits.Textbook]] = {
    "lin_ucb": (lin_ucb(SPEC, **ASSUMED, information="determinant"), bandits.oful(GIVEN)),
    "restart_lin_ucb": (
        restart_lin_ucb(SPEC, period=13, **HORIZON),
        bandits.restart_ucb(GIVEN, 13, NUM_ROUNDS),
    ),
    "restart_lin_ucb, published": (
        restart_lin_ucb(SPEC, period=13, **ASSUMED, confidence="published"),
        bandits.published_restart_ucb(GIVEN, 13),
    ),
    "sw_lin_ucb": (sw_lin_ucb(SPEC, length=9, **HORIZON), bandits.sw_ucb(GIVEN, 9, NUM_ROUNDS)),
    "d_lin_ucb": (d_lin_ucb(SPEC, rate=0.9, **HORIZON), bandits.d_linucb(GIVEN, 0.9, NUM_ROUNDS)),
    "weight_ucb": (
        weight_ucb(SPEC, rate=0.9, **HORIZON),
        bandits.d_linucb(GIVEN, 0.9, NUM_ROUNDS, sandwich=False),
    ),
    "cw_oful": (
        cw_oful(SPEC, corruption=0.5, alpha=0.4, **ASSUMED, information="determinant"),
        bandits.cw_oful(GIVEN, alpha=0.4, corruption=0.5),
    ),
    "robust_weight_ucb": (
        robust_weight_ucb(SPEC, rate=0.9, corruption=0.5, alpha=0.4, **HORIZON),
        bandits.robust_weight_ucb(GIVEN, 0.9, NUM_ROUNDS, alpha=0.4, corruption=0.5, sandwich=False),
    ),
    "robust_weight_ucb, sandwich": (
        robust_weight_ucb(SPEC, rate=0.9, corruption=0.5, alpha=0.4, norm="sandwich", **HORIZON),
        bandits.robust_weight_ucb(GIVEN, 0.9, NUM_ROUNDS, alpha=0.4, corruption=0.5, sandwich=True),
    ),
}


def arms_of(agent: Agent, environment: LinearBandit, seed: int = 0) -> list[int]:
    return [int(one.episode.actions[0]) for one in dw.play(agent, environment, NUM_ROUNDS, seed=seed)]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("name", PAIRS)
def test_engine_equals_the_plain_loop_of_the_paper_arm_by_arm(name, environment):
    agent, textbook = PAIRS[name]
    for seed in range(2):
        rounds = bandits.rounds(ENVIRONMENTS[environment], NUM_ROUNDS, seed=seed)
        played = dw.play(agent, ENVIRONMENTS[environment], NUM_ROUNDS, seed=seed)
        for one, expected in zip(played, bandits.play(textbook, rounds), strict=True):
            assert one.episode.actions[0] == expected.arm
            np.testing.assert_allclose(one.plan.weights[0], expected.estimate, rtol=0, atol=1e-9)
            np.testing.assert_allclose(one.plan.q[0, 0], expected.indices, rtol=0, atol=1e-9)


def test_the_comparison_above_has_fewer_arms_in_some_rounds_and_noise_and_exploration():
    here = list(bandits.rounds(CHANGING_NUMBERS, NUM_ROUNDS))
    assert len({int(one.present.sum()) for one in here}) == 7
    assert np.ptp([one.rewards[0] - one.means[0] for one in here]) > 0.5
    chosen = {name: arms_of(agent, CONTEXTS) for name, (agent, _) in PAIRS.items()}
    assert all(len(set(arms)) >= 4 for arms in chosen.values())
    assert len(set(map(tuple, chosen.values()))) == len(PAIRS)  # no two of them do the same


def test_counting_bounds_the_determinant():
    count, determinant = (lin_ucb(SPEC, **ASSUMED, information=each) for each in ("count", "determinant"))
    *_, last = dw.play(count, FRESH, NUM_ROUNDS)
    bonuses = [
        agent.plan(last.carry.state, FRESH.to_arrays().example, random.key(0)).bonus
        for agent in (count, determinant)
    ]
    assert (bonuses[0] > bonuses[1]).all()


def test_opt_wlsvi_with_the_radius_of_d_lin_ucb_is_d_lin_ucb():
    radius = ConfidenceRadius(0.3, norm_bound=0.8, delta=0.1, shares=NUM_ROUNDS)
    agent, textbook = opt_wlsvi(SPEC, rate=0.9, radius=radius, ridge=0.5), PAIRS["d_lin_ucb"][1]
    expected = [step.arm for step in bandits.play(textbook, bandits.rounds(FRESH, NUM_ROUNDS))]
    assert arms_of(agent, FRESH) == expected
    assert (
        dataclasses.replace(agent, clip="none") == PAIRS["d_lin_ucb"][0]
    )  # which cuts the value, not the index


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (d_lin_ucb(SPEC, rate=1.0, confidence="published", **ASSUMED), lin_ucb(SPEC, **ASSUMED)),
        (weight_ucb(SPEC, rate=1.0, confidence="published", **ASSUMED), lin_ucb(SPEC, **ASSUMED)),
        (sw_lin_ucb(SPEC, length=NUM_ROUNDS, radius=0.4), lin_ucb(SPEC, radius=0.4)),
        (cw_oful(SPEC, corruption=0.0, **ASSUMED), lin_ucb(SPEC, **ASSUMED)),
        (robust_weight_ucb(SPEC, rate=0.9, corruption=0.0, **HORIZON), weight_ucb(SPEC, rate=0.9, **HORIZON)),
        (
            robust_weight_ucb(SPEC, rate=0.9, corruption=0.0, norm="sandwich", **HORIZON),
            d_lin_ucb(SPEC, rate=0.9, **HORIZON),
        ),
        (
            robust_weight_ucb(SPEC, rate=1.0, corruption=3.0, confidence="published", **ASSUMED),
            cw_oful(SPEC, corruption=3.0, **ASSUMED),
        ),
        (restart_lin_ucb(SPEC, period=NUM_ROUNDS, **HORIZON), lin_ucb(SPEC, **ASSUMED)),
        (oracle_restart(SPEC, changes=(), **ASSUMED, information="count"), lin_ucb(SPEC, **ASSUMED)),
        (oracle_restart(SPEC, changes=(20, 40), radius=0.4), restart_lin_ucb(SPEC, period=20, radius=0.4)),
        (d_rand_lin_ucb(SPEC, rate=0.9, radius=0.0), d_lin_ucb(SPEC, rate=0.9, radius=0.0)),
        (d_lin_ts(SPEC, rate=1.0, scale=0.3), lin_ts(SPEC, scale=0.3)),
        (lin_ts(SPEC, scale=0.0), greedy(SPEC)),
        (epsilon_greedy(SPEC, epsilon=0.0), greedy(SPEC)),
        (epsilon_greedy(SPEC, epsilon=1.0), uniform(SPEC)),
    ],
)
def test_limiting_cases_play_alike(one, other):
    both = (dw.play(agent, CHANGING_NUMBERS, NUM_ROUNDS) for agent in (one, other))
    for left, right in zip(*both, strict=True):
        assert left.episode.actions[0] == right.episode.actions[0]
        np.testing.assert_allclose(left.plan.q, right.plan.q, rtol=0, atol=1e-9)


def test_only_arms_that_are_there_are_drawn_by_chance():
    for agent in (uniform(SPEC), epsilon_greedy(SPEC, epsilon=0.9, rate=0.9)):
        here = bandits.rounds(CHANGING_NUMBERS, NUM_ROUNDS)
        for one, offered in zip(dw.play(agent, CHANGING_NUMBERS, NUM_ROUNDS), here, strict=True):
            assert offered.present[one.episode.actions[0]]
            np.testing.assert_array_equal(one.plan.policy[0, 0] > 0, offered.present)


NUM_DRAWS = 2000


def drawn(agent: LeastSquares, state: Moments) -> np.ndarray:
    """Parameters that an agent draws under different keys: on unit vectors the index is the parameter."""
    shown = FeatureTable(np.eye(4))
    keys = (random.fold(random.key(8), i) for i in range(NUM_DRAWS))
    return np.array([agent.plan(state, shown, key).q[0, 0] for key in keys])


FOUR = Spec.bandit(dim=4, num_arms=4)


@pytest.mark.parametrize(
    ("agent", "rate"),
    [(d_lin_ts(FOUR, rate=0.8, scale=0.7, ridge=0.5), 0.8), (lin_ts(FOUR, scale=0.7, ridge=0.5), 1.0)],
)
def test_thompson_draws_have_the_mean_and_covariance_of_the_formula(agent, rate):
    environment = LinearBandit(dw.arms.FreshArms(4, 4, "ball"), dw.paths.SphereWalk(4, 0.1), noise_scale=0.3)
    played = list(dw.play(agent, environment, 30))
    x = np.array([one.episode.features[0] for one in played])
    weights = rate ** np.arange(29, -1, -1.0)
    v = (x.T * weights) @ x + 0.5 * np.eye(4)
    v_tilde = (x.T * weights**2) @ x + 0.5 * np.eye(4)
    inverse = np.linalg.inv(v)
    covariance = 0.49 * inverse @ v_tilde @ inverse
    estimate = inverse @ (x.T * weights) @ np.array([one.episode.rewards[0] for one in played])

    sample = drawn(agent, played[-1].carry.state)
    # five standard errors of Gaussian means and covariances
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(sample.mean(axis=0) - estimate) < 5 * deviation / np.sqrt(NUM_DRAWS)).all()
    error = np.sqrt((np.outer(deviation, deviation) ** 2 + covariance**2) / NUM_DRAWS)
    assert (np.abs(np.cov(sample.T) - covariance) < 5 * error).all()
    assert (rate == 1) == (np.abs(covariance - 0.49 * inverse) < 5 * error).all()  # it can tell the two apart


@pytest.mark.parametrize("sign", ["folded", "signed"])
def test_one_draw_a_round_scales_the_widths_of_all_arms(sign):
    agent = d_rand_lin_ucb(SPEC, rate=0.9, sign=sign, **HORIZON)
    optimistic = d_lin_ucb(SPEC, rate=0.9, **HORIZON)
    draws = []
    state = agent.init(FRESH.to_arrays().example)
    pairs = zip(dw.play(agent, FRESH, NUM_ROUNDS), bandits.rounds(FRESH, NUM_ROUNDS), strict=True)
    for one, here in pairs:
        bonus = optimistic.plan(state, FeatureTable(here.features), random.key(0)).bonus
        ratio = (one.plan.bonus / bonus).ravel()
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
        draws.append(ratio[0])
        state = one.carry.state
    assert len(set(draws)) == NUM_ROUNDS
    # sixty standard normal numbers, folded or not: mean square one, within five standard errors of √(2/60)
    assert abs(np.mean(np.square(draws)) - 1) < 5 * np.sqrt(2 / NUM_ROUNDS)
    assert (min(draws) < 0) == (sign == "signed")


def test_on_orthogonal_arms_least_squares_is_discounted_counting():
    rate, ridge, radius = 0.9, 0.5, 0.4
    path = dw.paths.Sinusoid((0.5, 0.5, 0.5), (0.3, 0.3, 0.3), (0.0, 2.0, 4.0), 40.0)
    environment = LinearBandit(dw.arms.orthogonal_arms(3), path, noise_scale=0.1)
    agent = d_lin_ucb(environment.spec, rate=rate, radius=radius, ridge=ridge)
    counts, squares, sums = np.zeros((3, 3))
    pulled = []
    for one in dw.play(agent, environment, NUM_ROUNDS):
        index = (sums + radius * np.sqrt(squares + ridge)) / (counts + ridge)
        np.testing.assert_allclose(one.plan.q[0, 0], index, rtol=0, atol=1e-9)
        arm = int(one.episode.actions[0])
        assert index[arm] >= index.max() - 1e-9
        counts, squares, sums = rate * counts, rate**2 * squares, rate * sums
        counts[arm] += 1
        squares[arm] += 1
        sums[arm] += one.episode.rewards[0]
        gram = one.carry.state.gram[0]
        np.testing.assert_array_equal(gram - np.diag(np.diag(gram)), 0)
        np.testing.assert_allclose(np.diag(gram), counts + ridge, rtol=0, atol=1e-9)
        pulled.append(arm)
    assert set(pulled) == {0, 1, 2}


def test_the_value_of_a_bandit_is_not_cut_at_one():
    """Means need not lie in [0, 1]: an optimistic value stays above the best of them."""
    environment = LinearBandit(
        dw.arms.orthogonal_arms(2), dw.paths.abrupt_path([[5.0, 2.0]], ()), noise_scale=0.1
    )
    for one in dw.play(lin_ucb(environment.spec, noise_scale=0.1, norm_bound=6.0), environment, 20):
        assert one.plan.value[0] >= 5.0


@pytest.mark.parametrize("rate", [1.0, 0.9])
def test_square_cb_draws_by_the_probabilities_of_the_paper(rate):
    """Also where the number of arms changes; in the first round all predictions are tied, and so are ours."""
    past: list[tuple[np.ndarray, float]] = []
    agent = square_cb(SPEC, gamma=15.0, rate=rate, ridge=0.5)
    pairs = zip(
        dw.play(agent, CHANGING_NUMBERS, NUM_ROUNDS),
        bandits.rounds(CHANGING_NUMBERS, NUM_ROUNDS),
        strict=True,
    )
    for one, here in pairs:
        predicted = bandits.predictions(past, here.features[here.present], rate, 0.5)
        expected = bandits.inverse_gap_probabilities(predicted, 15.0)
        policy = one.plan.policy[0, 0]
        np.testing.assert_allclose(policy[here.present], expected, rtol=0, atol=1e-9)
        assert (policy[~here.present] == 0).all()
        arm = int(one.episode.actions[0])
        past.append((here.features[arm], float(here.rewards[arm])))


TOLD: dict[str, Any] = dict(noise_scale=0.5, norm_bound=2.0)


def test_alpha_and_the_width_for_corruption_are_those_of_theory():
    spread = 0.5 * math.sqrt(4) + math.sqrt(0.25) * 2.0  # σ√d + √λS
    agent = cw_oful(SPEC, corruption=8.0, ridge=0.25, **TOLD)
    assert agent.caution == Caution(spread / 8)
    assert isinstance(agent.exploration, Ucb)
    assert agent.exploration.radius == ConfidenceRadius(0.5, 2.0, spread="epochs", shares=1, widening=spread)
    agent = robust_weight_ucb(SPEC, rate=0.81, corruption=8.0, alpha=[0.1, 0.2], ridge=0.25, **TOLD)
    assert agent.caution == Caution((0.1, 0.2))
    np.testing.assert_allclose(agent.exploration.radius.widening, (0.8 / 0.9, 1.6 / 0.9))  # pyright: ignore


def test_noise_and_corruption_have_norms_of_their_own_and_a_given_radius_is_for_noise():
    given: dict[str, Any] = dict(rate=0.81, corruption=8.0, alpha=0.1, norm="sandwich", **TOLD)
    agent = robust_weight_ucb(SPEC, radius_scale=0.5, **given)
    assert isinstance(agent.exploration, CautiousUcb)
    assert agent.exploration.radius == ConfidenceRadius(0.5, 2.0, scale=0.5)
    assert agent.exploration.widening == pytest.approx(0.5 * 0.8 / 0.9)
    assert robust_weight_ucb(SPEC, radius=0.3, **given).exploration == CautiousUcb(0.3, 0.1 * (8.0 / 0.9))
    given["norm"] = "single"
    assert robust_weight_ucb(SPEC, radius=0.3, **given).exploration == Ucb(0.3, "single")


def test_unknown_corruption_is_taken_to_be_the_root_of_the_rounds_it_is_remembered_for():
    run: dict[str, Any] = dict(num_episodes=10_000, **TOLD)
    agent = cw_oful.tuned(SPEC, **run)
    assert agent == cw_oful(SPEC, corruption=100.0, ridge=0.0625, **TOLD)
    assert cw_oful.tuned(SPEC, corruption=3.0, **run) == cw_oful(SPEC, corruption=3.0, ridge=0.0625, **TOLD)
    forgetful = robust_weight_ucb.tuned(SPEC, variation=4.0, **run)
    rate = forgetful.forgetting.rate  # pyright: ignore[reportAttributeAccessIssue]
    plain = weight_ucb.tuned(SPEC, variation=4.0, **run)
    assert (plain.forgetting, plain.ridge) == (forgetful.forgetting, forgetful.ridge)
    remembered = 1 / (1 - math.sqrt(rate))
    assert forgetful == robust_weight_ucb(
        SPEC, rate=rate, ridge=4.0, corruption=math.sqrt(remembered), num_episodes=10_000, **TOLD
    )
    still = robust_weight_ucb.tuned(SPEC, variation=0.0, **run)
    assert still == robust_weight_ucb(
        SPEC, rate=1.0, ridge=4.0, corruption=100.0, num_episodes=10_000, **TOLD
    )


def test_alpha_needs_the_noise():
    with refused("alpha must be a number above 0 where no noise_scale is given, got None"):
        cw_oful(SPEC, corruption=1.0, radius=1.0)


def spoilt_run(make: Callable[..., Agent], **own: Any) -> tuple[float, bool]:
    """Regret of 300 rounds whose best arm an adversary spoils, and whether bonuses covered all means."""
    means = (0.8, 0.4, 0.2)
    arms, path = dw.arms.orthogonal_arms(3), dw.paths.abrupt_path((means,), ())
    spoilt = LinearBandit(arms, path, noise_scale=0.1, corruption=SignFlips(3.0))
    total, covered = 0.0, True
    for one in dw.play(make(spoilt.spec, noise_scale=0.1, ridge=0.1, **own), spoilt, 300):
        total += float(one.record.optimal - one.record.value)
        estimate, bonus = one.plan.q[0, 0] - one.plan.bonus[0, 0], one.plan.bonus[0, 0]
        covered &= bool((np.abs(estimate - means) <= bonus).all())
    return total, covered


def test_an_adversary_who_spoils_the_best_arm_ruins_a_plain_agent_and_not_a_robust_one():
    """The plain one gives the arm up for good, at 0.4 a round: 120. The robust ones lose 25 to 35 in any run;
    half of 120 is far from all of them."""
    lost, covered = spoilt_run(lin_ucb)
    assert (lost > 0.9 * 120, covered) == (True, False)
    sandwich = dict(rate=0.999, norm="sandwich")
    for make, own in ((cw_oful, {}), (robust_weight_ucb, dict(rate=0.999)), (robust_weight_ucb, sandwich)):
        lost, covered = spoilt_run(make, corruption=3.0, **own)
        assert (lost < 0.5 * 120, covered) == (True, True)


@pytest.mark.slow
def test_what_cw_oful_loses_is_a_line_in_the_corruption_while_oful_loses_all():
    """As docs/robust.md says, with fewer runs: 27 for each unit of corruption, give or take a fifth."""
    lost = {
        (one.environment_label, one.name): float(one.result.cumulative_regret[..., -1].mean())
        for one in run_experiment(EXPERIMENTS["corrupted_bandit"], num_runs=4)
    }
    for amount in (5, 10, 20, 40):
        told = lost[f"C = {amount}", f"CW-OFUL, C = {amount}"]
        assert 0.8 * 27 * amount < told < 1.2 * 27 * amount
        assert lost[f"C = {amount}", "OFUL"] > 2700
    assert lost["C = 0", "OFUL"] < 50

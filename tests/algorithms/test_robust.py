"""Bandits for corrupted rewards: their numbers, and what they save."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import cw_oful, lin_ucb, robust_weight_ucb, weight_ucb
from driftwise.base import Agent, Spec
from driftwise.environments import LinearBandit
from driftwise.environments.models.linear_bandit import SignFlips
from driftwise.experiments import EXPERIMENTS, run_experiment
from driftwise.parts import Caution, CautiousUcb, ConfidenceRadius, Ucb

SPEC = Spec.bandit(dim=4, num_arms=7)
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


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (
            cw_oful,
            dict(corruption=1.0, radius=1.0),
            "alpha must be a number above 0 where no noise_scale is given, got None",
        ),
        (cw_oful.tuned, dict(num_episodes=9, noise_scale=0.0), "noise_scale must be a number above 0"),
    ],
)
def test_bad_numbers_are_refused_in_one_sentence(make, given, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make(SPEC, **given)


def spoilt_run(make: Callable[..., Agent], **own: Any) -> tuple[float, bool]:
    """Regret of 300 rounds whose best arm an adversary spoils, and whether bonuses covered all means."""
    means = (0.8, 0.4, 0.2)
    spoilt = LinearBandit(
        dw.arms.orthogonal_arms(3),
        dw.paths.abrupt_path((means,), ()),
        noise_scale=0.1,
        corruption=SignFlips(3.0),
    )
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

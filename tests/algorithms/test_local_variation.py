"""LSVI-UCB-Restart that is told how much the model moves within each epoch."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

import re
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb, lsvi_ucb_restart
from driftwise.base import Moments, Variation, from_config, to_config
from driftwise.parts import LeastSquares, LocalVariationRadius, PeriodicRestart, Ucb
from driftwise.parts.radii import local_variation_radius
from driftwise.parts.regression import matvec
from driftwise.theory import tuning
from tests.examples import DRIFTS, NUM_EPISODES, SPEC, STATIONARY, make, plain_values

RADIUS = LocalVariationRadius(0.5, 3, (1.0, 0.0, 2.0), (0.0, 5.0, 1.0))
DRIFTING = RADIUS.reward_variation, RADIUS.transition_variation
VARIATIONS = Variation(reward=np.arange(1.0, 8.0), transition=10 * np.arange(1.0, 8.0))  # of eight episodes


def moments_at(tick: int, dim: int = 2) -> Moments:
    epoch, seen = divmod(tick, 4)
    ridge, clock, weight, restarts = map(np.asarray, (1.0, tick, float(seen), epoch))
    cross = np.zeros((1, dim, 1))
    return Moments(np.eye(dim)[None], None, cross, ridge, clock, weight, weight, restarts, ())


@pytest.mark.parametrize(
    ("tick", "expected"),
    [
        (0, 0.5),
        (1, 0.5 + np.sqrt(2) * 1),  # √(d·1)(B_θ + 3 B_μ) with d = 2, B_θ = 1, B_μ = 0
        (3, 0.5 + np.sqrt(6) * 1),
        (4, 0.5),  # a new epoch
        (6, 0.5 + np.sqrt(4) * 15),  # B_θ = 0, B_μ = 5
        (9, 0.5 + np.sqrt(2) * 5),  # B_θ = 2, B_μ = 1
        (15, 0.5 + np.sqrt(6) * 5),  # beyond the end: as in the last epoch
    ],
)
def test_the_radius_grows_within_an_epoch_as_it_varies(tick, expected):
    assert RADIUS.at(moments_at(tick)) == pytest.approx(expected)


def test_an_epoch_s_variation_is_what_moves_within_it():
    """Of eight episodes the moves are 1, …, 7; the third and the sixth lead to a new epoch."""
    radius = local_variation_radius(0.5, period=3, horizon=2, num_episodes=8, variations=VARIATIONS)
    assert radius == LocalVariationRadius(0.5, 2, (3.0, 9.0, 7.0), (30.0, 90.0, 70.0))
    shorter = local_variation_radius(0.5, period=3, horizon=2, num_episodes=5, variations=VARIATIONS)
    assert shorter.reward_variation == (3.0, 4.0)
    alone = local_variation_radius(0.5, period=1, horizon=2, num_episodes=4, variations=VARIATIONS)
    assert alone.reward_variation == alone.transition_variation == (0.0,) * 4


@pytest.mark.parametrize(
    ("variation", "period"),
    [
        (8.0, 9),  # (100/8)^⅔ 4^⅓ = 5.386… · 1.587… = 8.549…
        (100.0, 2),  # 4^⅓ = 1.587…
        (0.2, 100),  # 0.2²·100 = 4 = d: the period is K exactly
        (0.1, 100),
        (0.0, 100),
    ],
)
def test_period_if_the_local_variation_is_known(variation, period):
    sizes: dict[str, Any] = dict(dim=4, horizon=4, num_episodes=100)
    assert tuning.restart_period_if_known(**sizes, variation=variation) == period


def test_tuned_takes_period_and_radius_from_the_variation():
    environment = make(drift=DRIFTS["gradual"])
    variations = environment.variation(NUM_EPISODES)
    run: dict[str, Any] = dict(num_episodes=NUM_EPISODES, variation=variations.total)
    sizes: dict[str, Any] = dict(dim=SPEC.dim, horizon=SPEC.horizon)
    period = tuning.restart_period_if_known(**sizes, **run)
    plain = tuning.lsvi_ucb_radius(**sizes, num_episodes=NUM_EPISODES, delta=0.1, beta_scale=0.2)
    radius = local_variation_radius(
        plain, period=period, horizon=SPEC.horizon, num_episodes=NUM_EPISODES, variations=variations
    )
    assert max(radius.reward_variation) > 0
    assert 1 < period < NUM_EPISODES
    known = lsvi_ucb_restart.tuned(
        SPEC, **run, variations=variations, local_variation="known", delta=0.1, beta_scale=0.2
    )
    assert known == LeastSquares(SPEC, PeriodicRestart(period), Ucb(radius))
    unknown = lsvi_ucb_restart.tuned(SPEC, **run, variations=variations, delta=0.1, beta_scale=0.2)
    assert unknown == LeastSquares(SPEC, PeriodicRestart(tuning.restart_period(**sizes, **run)), Ucb(plain))


def test_the_bonus_has_the_grown_radius_in_both_engines():
    environment = make()
    agent = lsvi_ucb_restart(SPEC, period=4, radius=RADIUS)
    values, gram = [], np.zeros(0)
    for t, one in enumerate(dw.play(agent, environment, NUM_EPISODES, seed=5)):
        values.append(one.record.value)
        if t in (4, 6):  # the first and the third of an epoch
            epoch, seen = t // 4, t % 4
            reward, transition = (each[epoch] for each in DRIFTING)
            radius = 0.5 + np.sqrt(SPEC.dim * seen) * (reward + 3 * transition)
            phi = environment.features
            norms = np.sqrt(np.sum(matvec(np.linalg.inv(gram)[:, None, None], phi) * phi, axis=-1))
            np.testing.assert_allclose(one.plan.bonus, radius * norms, rtol=1e-9)
        gram = one.carry.state.gram
    compiled = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, seed=5)
    np.testing.assert_allclose(compiled.values[0], values, rtol=0, atol=1e-9)


def test_a_world_that_stands_still_and_one_long_epoch_are_lsvi_ucb():
    environment = make(drift=STATIONARY)
    variations = environment.variation(NUM_EPISODES)
    run: dict[str, Any] = dict(num_episodes=NUM_EPISODES, beta_scale=0.01)
    known = lsvi_ucb_restart.tuned(
        SPEC, **run, variation=variations.total, variations=variations, local_variation="known"
    )
    assert known.forgetting == PeriodicRestart(NUM_EPISODES)
    plain = plain_values(lsvi_ucb.tuned(SPEC, **run), environment)
    np.testing.assert_allclose(plain_values(known, environment), plain, rtol=0, atol=1e-12)


def test_the_radius_round_trips_to_a_configuration():
    assert from_config(to_config(RADIUS)) == RADIUS
    assert LocalVariationRadius(0.5, 3, [1, 0, 2], np.array([0.0, 5.0, 1.0])) == RADIUS


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: LocalVariationRadius(0.5, 3, 1.0, (1.0,)), "reward_variation must be a list of numbers"),
        (
            lambda: LocalVariationRadius(0.5, 3, (1.0,), (-1.0,)),
            "transition_variation must be a number of at least 0, got -1.0",
        ),
        (
            lambda: LocalVariationRadius(0.5, 3, (1.0, 2.0), (1.0,)),
            "transition_variation must have as many entries as reward_variation (2), got 1",
        ),
        (
            lambda: lsvi_ucb_restart.tuned(SPEC, num_episodes=9, variation=1.0, local_variation="known"),
            "variations must be a Variation, got None",
        ),
        (
            lambda: lsvi_ucb_restart.tuned(
                SPEC, num_episodes=9, variation=1.0, local_variation="known", variations=VARIATIONS
            ),
            "variations must cover num_episodes = 9 episodes, got 8",
        ),
        (
            lambda: lsvi_ucb_restart.tuned(SPEC, num_episodes=9, variation=1.0, local_variation="know"),
            "local_variation must be one of unknown, known, got 'know' (did you mean 'known'?)",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(make_it, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make_it()

"""Tuning formulas against numbers computed by hand."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from functools import partial
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import ALGORITHMS, opt_wlsvi
from driftwise.base import Sample, Spec
from driftwise.parts import ConfidenceRadius
from driftwise.parts.regression import empty_moments
from driftwise.theory import bandit_tuning, tuning
from driftwise.theory.bounds import Setting
from driftwise.theory.confidence import bandit_radius
from tests.examples import PARAMETERS, refused

SPEC = Spec(num_states=3, num_actions=2, dim=4, horizon=4)
SIZES: dict[str, Any] = dict(dim=4, horizon=4, num_episodes=100)


@pytest.mark.parametrize(
    ("name", "log_inverse_rate"),
    [
        ("paper", 0.1),  # (4/(4·100))^½ = √0.01
        ("horizon_aware", 0.05),  # (4/(4·4·100))^½ = √0.0025
        ("ridge_dim", 0.0353553390593),  # 4^{3/2} = 8: (4/(8·4·100))^½ = √0.00125
        ("orthogonal", 0.0116039720840),  # 0.00125^⅔ = e^{−4.456407…}
    ],
)
def test_rate_of_opt_wlsvi(name, log_inverse_rate):
    variations = (0.0, 0.1, 1.0, 4.0, 100.0)
    rates = [tuning.opt_wlsvi_rate(**SIZES, variation=each, tuning=name) for each in variations]
    np.testing.assert_allclose(-np.log(rates[3]), log_inverse_rate, rtol=1e-9)
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1


@pytest.mark.parametrize(
    ("variation", "period"),
    [
        *((4.0, 10), (3.0, 12), (1e6, 1)),  # √(4·100/4) = 10, √133.3 = 11.55
        *((1e-3, 100), (5e-324, 100), (0.0, 100)),  # √4e5 = 632 is longer than the run
    ],
)
def test_restart_period(variation, period):
    assert tuning.restart_period(**SIZES, variation=variation) == period


def test_radius_of_opt_wlsvi():
    # 16·√log(2·4·4·100/(0.1·0.05)) = 16·√log(640000) = 16·√13.3692234553…
    radius = tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=0.95)
    np.testing.assert_allclose(radius, 58.5023179418, rtol=1e-11)
    assert tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=0.95, beta_scale=0.5) == radius / 2
    # η = 1 counts as a memory of K = 100: 16·√log(3200·100/0.1) = 16·√14.97866…
    still = tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=1.0)
    np.testing.assert_allclose(still, 16 * np.sqrt(np.log(3.2e6)), rtol=1e-12)
    # 16·√log(2·4·400/0.1) = 16·√log(32000) = 16·√10.3734911818…
    np.testing.assert_allclose(tuning.lsvi_ucb_radius(**SIZES, delta=0.1), 51.5326473465, rtol=1e-11)


def test_measures_up_to_the_root_of_the_dimension_leave_the_radii_as_they_are():
    for radius in (tuning.lsvi_ucb_radius, lambda **run: tuning.opt_wlsvi_radius(**run, rate=0.95)):
        plain = radius(**SIZES, delta=0.1)
        for mu_bound in (0.0, 1.0, 2.0):
            assert radius(**SIZES, delta=0.1, mu_bound=mu_bound) == plain
        larger = radius(**SIZES, delta=0.1, mu_bound=5.0, ridge=9.0, beta_scale=0.5)
        assert larger == pytest.approx((plain + 3 * 4 * (5 - 2)) / 2)  # √λ H (M − √d)


@pytest.mark.parametrize("seed", range(5))
def test_radii_cover_the_ridge_term_of_signed_measures(seed):
    """λ|φᵀΛ⁻¹v| ≤ (√λ H√d + excess)‖φ‖ in the norm of Λ⁻¹, for v = ∫V dμ and random signed μ."""
    rng = np.random.default_rng(seed)
    dim, horizon, ridge = 4, 3, float(rng.uniform(0.1, 3))
    features, mu = rng.normal(size=(20, dim)), 10 * rng.normal(size=(dim, 6))
    inverse = np.linalg.inv(features.T @ features + ridge * np.eye(dim))
    pulled = mu @ (horizon * (mu[0] > 0))  # V is H or 0
    mu_bound = float(np.linalg.norm(np.abs(mu).sum(-1)))
    excess = tuning.measure_excess(dim=dim, horizon=horizon, mu_bound=mu_bound, ridge=ridge)
    widths = np.sqrt(np.einsum("ni,ij,nj->n", features, inverse, features))
    assumed = np.sqrt(ridge * dim) * horizon * widths
    terms = ridge * np.abs(features @ inverse @ pulled)
    assert (terms <= assumed + excess * widths).all()
    assert not (terms <= assumed).all()


def test_exploration_probability():
    assert tuning.exploration_probability(num_actions=2, num_episodes=2000) == pytest.approx(0.1, rel=1e-12)
    assert tuning.exploration_probability(num_actions=5, num_episodes=3) == 1.0


def test_blocks_and_rates_of_borl():
    # √(4·100) = 20, √100 = 10; arms 0..⌊log₂ 10⌋ = 0..3 with log(1/η) = 2^i/20
    assert tuning.borl_block_length(dim=4, num_episodes=100) == 20
    assert tuning.borl_block_length(dim=4, num_episodes=101) == 21
    assert tuning.borl_block_length(dim=4, num_episodes=100, tuning="paper") == 10
    assert tuning.borl_block_length(dim=400, num_episodes=100) == 100
    rates = tuning.borl_rates(dim=4, num_episodes=100)
    np.testing.assert_allclose(-np.log(rates), [0.05, 0.1, 0.2, 0.4], rtol=1e-12)
    assert len(tuning.borl_rates(dim=4, num_episodes=64)) == 4  # √64 = 2³ exactly
    assert len(tuning.borl_rates(dim=4, num_episodes=63)) == 3
    assert len(tuning.borl_rates(dim=4, num_episodes=1)) == 1


def test_memories_of_those_that_choose_reach_to_a_variation_of_one():
    for dim, num_episodes in ((1, 10**4), (4, 10**4), (9, 10**6)):
        sizes: dict[str, Any] = dict(dim=dim, num_episodes=num_episodes)
        slowest = max(tuning.borl_rates(**sizes))
        assert slowest == pytest.approx(tuning.opt_wlsvi_rate(**sizes, horizon=3, variation=1.0), rel=1e-12)
        length = bandit_tuning.bob_block_length(**sizes)
        longest = max(bandit_tuning.bob_windows(length))
        assert longest == length == pytest.approx(dim * np.sqrt(num_episodes))
        assert longest >= bandit_tuning.bandit_window(**sizes, variation=1.0)
    for name in ("opt_wlsvi_borl", "ada_lsvi_ucb_restart", "bob"):
        assert "max(Δ, 1)^(1/4) K^(3/4)" in ALGORITHMS[name].bound


@pytest.mark.parametrize("variation", [1.0, 3.0, 40.0, 100.0])
def test_some_rate_of_borl_is_within_a_factor_of_two_of_the_tuned_one(variation):
    wanted = -np.log(tuning.opt_wlsvi_rate(**SIZES, variation=variation))
    offered = -np.log(tuning.borl_rates(dim=4, num_episodes=100))
    assert np.any((offered <= wanted * (1 + 1e-9)) & (wanted <= 2 * offered))


def test_blocks_and_grids_of_those_that_choose_windows():
    # 5√(TdH) with T = KH: 5√(10⁶·2·4·4) = 28284.27…; ⌊ln 28285⌋ = 10 steps of 28285^0.1 = 2.787
    assert tuning.ada_restart_block_length(dim=2, horizon=4, num_episodes=10**6) == 28285
    assert tuning.ada_restart_block_length(dim=2, horizon=4, num_episodes=100) == 100
    periods = tuning.ada_restart_periods(28285)
    assert (periods[:4], periods[-1], len(periods)) == ((1, 2, 7, 21), 28285, 11)
    # d√T = 2·100; ⌈ln 200⌉ = 6 steps of 200^(1/6) = 2.418
    assert bandit_tuning.bob_block_length(dim=2, num_episodes=10**4) == 200
    assert bandit_tuning.bob_windows(200) == (1, 2, 5, 14, 34, 82, 200)
    assert bandit_tuning.bob_block_length(dim=3, num_episodes=2) == 2
    assert bandit_tuning.bob_windows(1) == (1,)


@pytest.mark.parametrize(
    ("memory", "regime"),
    [(np.inf, "still"), (100.0, "still"), (99.0, "drifting"), (4.1, "drifting"), (4.0, "too fast")],
)
def test_regime_of_a_drift(memory, regime):
    assert tuning.drift_regime(memory=memory, dim=4, num_episodes=100) == regime


def test_the_radius_in_one_number_is_that_of_the_parts():
    known: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1)
    shown = Sample(np.zeros(3), np.zeros(()), np.zeros((), dtype=int), np.ones(()))
    moments = empty_moments(shown, 1, 2.0, gram_sq=True)._replace(weight_sq=np.asarray(20.0))
    radius = ConfidenceRadius(**known, shares=100)
    assert bandit_radius(dim=3, samples=20, shares=100, ridge=2.0, **known) == float(radius.at(moments))


@pytest.mark.parametrize("variation", [0.0, 5e-324, 3.0, 1e6, 1e12])
@pytest.mark.parametrize("name", [name for name in PARAMETERS if not ALGORITHMS[name].wraps])
def test_tuned_forms_build_valid_agents(name, variation):
    told = {"least_squares": PARAMETERS["least_squares"]}  # where there are no defaults
    told |= {mixture: dict(num_kernels=2) for mixture in ("ucrl_vtr", "ucrl_vtr_plus")}
    agent = ALGORITHMS[name].tuned(SPEC, num_episodes=100, variation=variation, **told.get(name, {}))
    assert agent.spec == SPEC


def test_tuned_opt_wlsvi_uses_its_formulas():
    run: dict[str, Any] = dict(num_episodes=100, variation=4.0)
    agent = opt_wlsvi.tuned(SPEC, **run, delta=0.1, beta_scale=0.2, tuning="ridge_dim")
    rate = tuning.opt_wlsvi_rate(**SIZES, variation=4.0, tuning="ridge_dim")
    radius = tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=rate, beta_scale=0.2)
    assert agent == opt_wlsvi(SPEC, rate=rate, radius=radius, ridge=4.0)
    assert opt_wlsvi.tuned(SPEC, **run).ridge == 1.0


RUN: dict[str, Any] = dict(dim=4, num_episodes=100, variation=1.0)
RADIUS: dict[str, Any] = dict(**SIZES, delta=0.1, rate=0.9)
FORGETTING = [bandit_tuning.bandit_memory, bandit_tuning.bandit_rate, bandit_tuning.bandit_window]
RATES = [partial(function, horizon=4) for function in (tuning.opt_wlsvi_rate, tuning.restart_period)]
ALL = [*FORGETTING, bandit_tuning.weight_ucb_rate, *RATES, Setting]


@pytest.mark.parametrize(
    ("functions", "right", "wrong", "expected"),
    [
        (ALL, RUN, dict(dim=0), "a positive integer, got 0"),
        (ALL, RUN, dict(num_episodes=1.5), "a positive integer, got 1.5"),
        (ALL, RUN, dict(variation=-1.0), "a number of at least 0, got -1.0"),
        (ALL, RUN, dict(variation=np.nan), "a number of at least 0, got nan"),
        (ALL, RUN, dict(variation=(1.0, 2.0)), "a single number, got (1.0, 2.0)"),
        (FORGETTING, RUN, dict(tuning="correct"), "one of published, corrected, orthogonal, got 'correct'"),
        (FORGETTING, RUN, dict(ridge="two"), "one of one, dim, got 'two'"),
        *((FORGETTING, RUN, dict(ridge=each), f"a number above 0, got {each}") for each in (0, True, None)),
        ([Setting], RUN, dict(horizon=-1), "a positive integer, got -1"),
        ([Setting], RUN, dict(delta=0), "a number in (0, 1], got 0"),
        ([Setting], RUN, dict(ridge=0.0), "a number above 0, got 0.0"),
        ([Setting], RUN, dict(constant=-1), "a number of at least 0, got -1"),
        (RATES[:1], RUN, dict(tuning="papr"), "one of paper,"),
        ([tuning.opt_wlsvi_radius], RADIUS, dict(rate=0.0), "a number in (0, 1], got 0.0"),
        ([tuning.opt_wlsvi_radius], RADIUS, dict(rate=(0.9, 0.8)), "a single number,"),
        ([tuning.opt_wlsvi_radius], RADIUS, dict(delta=2), "a number in (0, 1], got 2"),
        ([tuning.opt_wlsvi_radius], RADIUS, dict(num_episodes="a"), "a positive integer, got 'a'"),
        ([tuning.opt_wlsvi_radius], RADIUS, dict(beta_scale=-1), "a number of at least 0, got -1"),
        (
            [tuning.borl_block_length],
            dict(dim=4, num_episodes=9),
            dict(tuning="published"),
            "one of corrected, paper",
        ),
        ([tuning.borl_rates], dict(dim=4), dict(num_episodes=0), "a positive integer, got 0"),
        ([tuning.drift_regime], dict(dim=4, num_episodes=100), dict(memory=0), "a number above 0, got 0"),
        ([bandit_tuning.bob_windows], {}, dict(block_length=0), "a positive integer, got 0"),
        (
            [bandit_radius],
            dict(dim=4, samples=9, noise_scale=1.0),
            dict(shares=0),
            "a number of at least 1, got 0",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(functions, right, wrong, expected):
    (name,) = wrong
    for function in functions:
        with refused(f"{name} must be {expected}"):
            function(**right | wrong)

"""Tuning formulas against numbers computed by hand."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import ALGORITHMS, opt_wlsvi
from driftwise.theory import tuning
from driftwise.types import Spec
from tests.examples import PARAMETERS

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
    rate = tuning.opt_wlsvi_rate(**SIZES, variation=4.0, tuning=name)
    np.testing.assert_allclose(-np.log(rate), log_inverse_rate, rtol=1e-9)


def test_no_variation_means_no_forgetting():
    for name in ("paper", "horizon_aware", "ridge_dim", "orthogonal"):
        assert tuning.opt_wlsvi_rate(**SIZES, variation=0.0, tuning=name) == 1.0
    assert tuning.restart_period(**SIZES, variation=0.0) == 100


def test_more_variation_means_faster_forgetting():
    rates = [tuning.opt_wlsvi_rate(**SIZES, variation=v) for v in (0.1, 1.0, 10.0, 100.0)]
    periods = [tuning.restart_period(**SIZES, variation=v) for v in (0.1, 1.0, 10.0, 100.0)]
    assert rates == sorted(rates, reverse=True)
    assert periods == sorted(periods, reverse=True)


@pytest.mark.parametrize(
    ("variation", "period"),
    [
        (4.0, 10),  # √(4·100/4) = 10
        (3.0, 12),  # √133.3 = 11.55
        (1e-3, 100),  # √4e5 = 632 is longer than the run
        (5e-324, 100),
        (1e6, 1),
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
    np.testing.assert_allclose(
        tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=1.0), 16 * np.sqrt(np.log(3.2e6)), rtol=1e-12
    )


def test_radius_of_lsvi_ucb():
    # 16·√log(2·4·400/0.1) = 16·√log(32000) = 16·√10.3734911818…
    np.testing.assert_allclose(tuning.lsvi_ucb_radius(**SIZES, delta=0.1), 51.5326473465, rtol=1e-11)


def test_exploration_probability():
    np.testing.assert_allclose(
        tuning.exploration_probability(num_actions=2, num_episodes=2000), 0.1, rtol=1e-12
    )
    assert tuning.exploration_probability(num_actions=5, num_episodes=3) == 1.0


@pytest.mark.parametrize("variation", [0.0, 5e-324, 3.0, 1e6, 1e12])
@pytest.mark.parametrize("name", PARAMETERS)
def test_tuned_forms_build_valid_agents(name, variation):
    agent = ALGORITHMS[name].tuned(SPEC, num_episodes=100, variation=variation)
    assert agent.spec == SPEC


def test_tuned_opt_wlsvi_uses_its_formulas():
    agent = opt_wlsvi.tuned(
        SPEC, num_episodes=100, variation=4.0, delta=0.1, beta_scale=0.2, tuning="ridge_dim"
    )
    rate = tuning.opt_wlsvi_rate(**SIZES, variation=4.0, tuning="ridge_dim")
    radius = tuning.opt_wlsvi_radius(**SIZES, delta=0.1, rate=rate, beta_scale=0.2)
    assert agent == opt_wlsvi(SPEC, rate=rate, radius=radius, ridge=4.0)
    assert opt_wlsvi.tuned(SPEC, num_episodes=100, variation=4.0).ridge == 1.0


RADIUS: dict[str, Any] = dict(dim=4, horizon=4, num_episodes=100, delta=0.1, rate=0.9)
RATE: dict[str, Any] = dict(dim=4, horizon=4, num_episodes=100, variation=1.0)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            tuning.opt_wlsvi_rate,
            {**RATE, "variation": -1.0},
            "variation must be a number of at least 0, got -1.0",
        ),
        (
            tuning.opt_wlsvi_rate,
            {**RATE, "variation": np.nan},
            "variation must be a number of at least 0, got nan",
        ),
        (tuning.opt_wlsvi_rate, {**RATE, "variation": (1.0, 2.0)}, "variation must be"),
        (tuning.opt_wlsvi_rate, {**RATE, "dim": 0}, "dim must be a positive integer, got 0"),
        (tuning.opt_wlsvi_rate, {**RATE, "tuning": "papr"}, "tuning must be one of paper,"),
        (
            tuning.restart_period,
            {**RATE, "num_episodes": 1.5},
            "num_episodes must be a positive integer, got 1.5",
        ),
        (tuning.opt_wlsvi_radius, {**RADIUS, "rate": 0.0}, "rate must be a number in (0, 1], got 0.0"),
        (tuning.opt_wlsvi_radius, {**RADIUS, "rate": (0.9, 0.8)}, "rate must be"),
        (tuning.opt_wlsvi_radius, {**RADIUS, "delta": 2}, "delta must be a number in (0, 1], got 2"),
        (
            tuning.opt_wlsvi_radius,
            {**RADIUS, "num_episodes": "a"},
            "num_episodes must be a positive integer, got 'a'",
        ),
        (
            tuning.opt_wlsvi_radius,
            {**RADIUS, "beta_scale": -1},
            "beta_scale must be a number of at least 0, got -1",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(function, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        function(**arguments)

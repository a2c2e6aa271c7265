"""Radii: the formulas written plainly, and whether the sets they describe cover the parameter."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.jax_backend import register_parts
from driftwise.parts import from_config, to_config
from driftwise.regression import empty_moments
from driftwise.theory.radii import (
    CountingRadius,
    SelfNormalisedRadius,
    WeightedRadius,
    WindowRadius,
    spread,
)
from driftwise.types import Forgetting, Moments, Radius, Sample

SPREADS = ("horizon", "anytime", "published")
EXAMPLES = [
    SelfNormalisedRadius(0.7, norm_bound=2.0, delta=0.1),
    CountingRadius(0.7, norm_bound=2.0, delta=0.1),
    CountingRadius(0.7, norm_bound=2.0, delta=0.1, period=5),
    *(WindowRadius(9, 0.7, norm_bound=2.0, delta=0.1, num_rounds=500, spread=kind) for kind in SPREADS),
    *(WeightedRadius(0.9, 0.7, norm_bound=2.0, delta=0.1, num_rounds=500, spread=kind) for kind in SPREADS),
    WeightedRadius(1.0, 0.7, scale=0.25),
]


def moments_after(num: int, *, dim: int = 3, ridge: float = 0.8, seed: int = 0) -> Moments:
    """Of unweighted random samples in the unit ball."""
    phis = np.random.default_rng(seed).normal(size=(num, dim))
    phis /= np.maximum(1, np.linalg.norm(phis, axis=1, keepdims=True))
    gram = phis.T @ phis + ridge * np.eye(dim)
    return Moments(gram[None], None, np.zeros((1, dim, 2)), np.asarray(ridge), np.asarray(num), ())


def log_failure(radius: Any, t: int) -> float:
    """log(1/δ') at round t, counted from 1."""
    if radius.spread == "horizon":
        return math.log(radius.num_rounds / radius.delta)
    if radius.spread == "anytime":
        return math.log(2 * t * (1 + math.log(t)) ** 2 / radius.delta)
    return math.log(1 / radius.delta)


def plainly(radius: Any, moments: Moments) -> float:
    """√λ S + σ √(2 log(1/δ') + ℓ), for one step."""
    gram, ridge, n = moments.gram[0], float(moments.ridge), int(moments.tick)
    d = len(gram)
    log_term = math.log(1 / radius.delta)
    if isinstance(radius, SelfNormalisedRadius):
        information = math.log(np.linalg.det(gram) / ridge**d)
    elif isinstance(radius, CountingRadius):
        information = d * math.log(1 + (n % radius.period if radius.period else n) / (ridge * d))
    elif isinstance(radius, WindowRadius):
        log_term, information = log_failure(radius, n + 1), d * math.log(1 + radius.length / (ridge * d))
    else:
        total = sum(radius.rate ** (2 * i) for i in range(n))  # (1 − η^{2n})/(1 − η²), and n at η = 1
        log_term, information = log_failure(radius, n + 1), d * math.log(1 + total / (ridge * d))
    noise = radius.noise_scale * math.sqrt(2 * log_term + information)
    return radius.scale * (math.sqrt(ridge) * radius.norm_bound + noise)


@pytest.mark.parametrize("radius", EXAMPLES, ids=str)
@pytest.mark.parametrize("num", [0, 1, 13, 400])
def test_every_radius_is_the_formula_of_its_lemma(radius, num):
    moments = moments_after(num)
    assert isinstance(radius, Radius)
    np.testing.assert_allclose(radius.given(moments), plainly(radius, moments), rtol=1e-12)


@pytest.mark.parametrize("radius", EXAMPLES, ids=str)
def test_numpy_and_jax_give_the_same_radius(radius):
    moments = moments_after(37)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, moments)
        np.testing.assert_allclose(radius.given(on_device), radius.given(moments), rtol=1e-13)


@pytest.mark.parametrize("radius", EXAMPLES, ids=str)
def test_a_radius_maps_to_plain_values_and_back(radius):
    assert from_config(to_config(radius)) == radius


GRIDS = [
    (SelfNormalisedRadius, dict(noise_scale=(0.1, 0.5, 1.0), delta=(0.01, 0.1, 1.0))),
    (CountingRadius, dict(noise_scale=0.5, period=(0, 7, 30))),
    (WindowRadius, dict(length=(3.0, 10.0, 99.0), noise_scale=0.5, scale=(0.1, 1.0, 2.0))),
    (WeightedRadius, dict(rate=(0.5, 0.99, 1.0), noise_scale=0.5, norm_bound=(0.0, 1.0, 2.0))),
]


@pytest.mark.parametrize(("kind", "grid"), GRIDS)
def test_a_grid_of_radii_equals_its_entries(kind, grid):
    moments = moments_after(37)
    singles = [
        kind(**{name: v[i] if isinstance(v, tuple) else v for name, v in grid.items()}) for i in range(3)
    ]
    expected = [radius.given(moments).item() for radius in singles]
    np.testing.assert_allclose(np.ravel(kind(**grid).given(moments)), expected, rtol=1e-13)
    register_parts()
    with jax.enable_x64(True):  # as the simulator maps a grid of agents
        stacked = jax.tree.map(lambda *leaves: jnp.asarray(leaves), *singles)
        mapped = jax.vmap(lambda radius: radius.given(jax.tree.map(jnp.asarray, moments)))(stacked)
    np.testing.assert_allclose(np.ravel(mapped), expected, rtol=1e-13)


@given(st.integers(0, 200), st.integers(1, 4), st.floats(0.05, 5), st.integers(0, 99))
def test_the_determinant_never_exceeds_what_counting_allows(num, dim, ridge, seed):
    moments = moments_after(num, dim=dim, ridge=ridge, seed=seed)
    exact, counted = SelfNormalisedRadius(1.0).given(moments), CountingRadius(1.0).given(moments)
    assert exact.item() <= counted.item() + 1e-10


def test_weights_that_do_not_fade_are_counted_and_almost_so_is_continuous():
    moments = moments_after(50)
    counted = CountingRadius(1.0).given(moments)
    for gap in (0.0, 1e-15, 1e-12, 1e-9):
        weighted = WeightedRadius(1 - gap, 1.0, spread="published").given(moments)
        np.testing.assert_allclose(weighted, counted, rtol=1e-7)


def test_a_radius_in_single_precision_stays_there():
    moments = moments_after(50)
    single = jax.tree.map(lambda a: np.asarray(a, np.float32 if a.dtype == float else a.dtype), moments)
    for radius in EXAMPLES:
        assert radius.given(single).dtype == np.float32
        np.testing.assert_allclose(radius.given(single), radius.given(moments), rtol=1e-5)


def test_failures_of_all_rounds_together_stay_below_delta():
    rounds = np.arange(1, 1_000_000)
    total = np.exp(-spread("anytime", 0.05, 1, rounds, np)).sum()
    assert 0.04 < total < 0.05  # the tail after a million rounds is δ/(2(1 + ln 10⁶)) = 0.0017
    assert spread("horizon", 0.05, 1000, 7) == pytest.approx(math.log(1000 / 0.05))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightedRadius(1.1, 1.0), "rate must be a number in (0, 1], got 1.1"),
        (lambda: WindowRadius(0, 1.0), "length must be a number of at least 1, got 0"),
        (lambda: SelfNormalisedRadius(-1.0), "noise_scale must be a number of at least 0, got -1.0"),
        (lambda: SelfNormalisedRadius(1.0, delta=0), "delta must be a number in (0, 1], got 0"),
        (
            lambda: WindowRadius(5, 1.0, spread="publisht"),
            "spread must be one of horizon, anytime, published",
        ),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def crossed(
    radii: dict[str, Radius],
    forgetting: Forgetting,
    *,
    dim: int,
    num_runs: int,
    num_rounds: int,
    ridge: float,
    theta_norm: float,
    sandwich: bool = False,
) -> dict[str, float]:
    """The share of runs in which the parameter leaves the confidence set before some round.

    With `θ̂ = Λ⁻¹ Σ ω φ y` the lemmas bound `‖Λ(θ̂ − θ)‖` in the norm of Λ⁻¹, or of Λ̃⁻¹ (the sandwich:
    then `|φᵀ(θ̂ − θ)| ≤ β √(φᵀ Λ⁻¹Λ̃Λ⁻¹ φ)`). Arms are chosen from the past, the one thing that makes the
    bounds hard: here the direction in which the estimate errs, or any in every other round.
    """
    rng = np.random.default_rng(0)
    theta = np.full(dim, theta_norm / math.sqrt(dim))
    zeros = np.zeros(num_runs)
    shown = Sample(np.zeros((num_runs, dim)), zeros, zeros.astype(int), zeros)
    moments = forgetting.init(empty_moments(shown, 1, ridge, gram_sq=True), shown)
    left = {name: np.zeros(num_runs, dtype=bool) for name in radii}
    for t in range(num_rounds):
        estimate = np.linalg.solve(moments.gram, moments.cross[..., :1])[..., 0]
        error = np.einsum("rij,rj->ri", moments.gram, estimate - theta)
        matrix = moments.gram_sq if sandwich else moments.gram
        norm = np.sqrt(np.einsum("ri,ri->r", error, np.linalg.solve(matrix, error[..., None])[..., 0]))
        for name, radius in radii.items():
            left[name] |= norm > radius.given(moments)
        towards = (estimate - theta) if t % 2 else rng.normal(size=(num_runs, dim))
        phi = towards / np.linalg.norm(towards, axis=1, keepdims=True)
        reward = phi @ theta + rng.normal(size=num_runs)
        moments = forgetting.update(moments, Sample(phi, reward, shown.successor, np.ones(num_runs)))
    return {name: float(share.mean()) for name, share in left.items()}


COVERED = {
    "none": (NoForgetting(), SelfNormalisedRadius, dict()),
    "counted": (NoForgetting(), CountingRadius, dict()),
    "restart": (PeriodicRestart(150), CountingRadius, dict(period=150)),  # one epoch
    "window": (SlidingWindow(20), WindowRadius, dict(length=20, spread="horizon", num_rounds=150)),
    "weights": (ExponentialWeights(0.9), WeightedRadius, dict(rate=0.9, spread="horizon", num_rounds=150)),
    "anytime": (ExponentialWeights(0.9), WeightedRadius, dict(rate=0.9, spread="anytime")),
}


@pytest.mark.parametrize("name", COVERED)
def test_the_parameter_stays_in_all_sets_as_often_as_stated(name):
    """δ = 0.2. A third of the radius does not suffice, so that the test sees more than a wide set."""
    forgetting, kind, options = COVERED[name]
    radii = {str(scale): kind(noise_scale=1.0, delta=0.2, scale=scale, **options) for scale in (1.0, 1 / 3)}
    shares = crossed(
        radii,
        forgetting,
        dim=2,
        num_runs=300,
        num_rounds=150,
        ridge=0.5,
        theta_norm=1.0,
        sandwich=kind is WeightedRadius,
    )
    assert shares["1.0"] <= 0.2
    assert shares[str(1 / 3)] > 0.9


def test_the_published_radius_for_all_rounds_is_crossed_in_every_run_and_the_spread_ones_in_none():
    """One arm, η = 0.9, λ = 1, N(0, 1) noise, θ = 0 (so S = 0), δ = 0.05, 400 runs of 20,000 rounds.

    Then Λ(θ̂ − θ) = Σ_τ η^{t−1−τ} ε_τ, and the sandwich norm divides it by √Λ̃.
    """
    rate, num_runs, num_rounds = 0.9, 400, 20_000
    ticks = np.arange(num_rounds + 1)
    squares = 1 + (1 - rate ** (2 * ticks)) / (1 - rate**2)
    flat = np.zeros((num_rounds + 1, 1, 1))
    moments = Moments(flat, squares[:, None, None], flat, np.asarray(1.0), ticks, ())
    bounds = {
        kind: WeightedRadius(rate, 1.0, norm_bound=0, num_rounds=num_rounds, delta=0.05, spread=kind).given(
            moments
        )
        for kind in SPREADS
    }
    rng = np.random.default_rng(4)
    sums, furthest = np.zeros(num_runs), {kind: np.zeros(num_runs) for kind in SPREADS}
    at_one_round = dict.fromkeys((10, 1000, 20_000), 0.0)
    for t in range(1, num_rounds + 1):
        sums = rate * sums + rng.normal(size=num_runs)
        norm = np.abs(sums) / math.sqrt(squares[t])
        for kind in SPREADS:
            np.maximum(furthest[kind], norm / bounds[kind][t], out=furthest[kind])
        if t in at_one_round:
            at_one_round[t] = float(np.mean(norm > bounds["published"][t]))
    shares = {kind: float(np.mean(furthest[kind] > 1)) for kind in SPREADS}
    assert shares == {"published": 1.0, "horizon": 0.0, "anytime": 0.0}
    assert max(at_one_round.values()) <= 0.05  # at each fixed round it does cover

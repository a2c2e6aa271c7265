"""Radii of confidence sets: the formulas written plainly."""
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

from driftwise.base.jax_backend import register_parts
from driftwise.base.part import from_config, to_config
from driftwise.base.types import Moments, Radius
from driftwise.parts.radii import (
    CountingRadius,
    SelfNormalisedRadius,
    WeightedRadius,
    WindowRadius,
    spread,
)

SPREADS = ("horizon", "anytime", "published")
EXAMPLES = [
    SelfNormalisedRadius(0.7, norm_bound=2.0, delta=0.1),
    CountingRadius(0.7, norm_bound=2.0, delta=0.1),
    CountingRadius(0.7, norm_bound=2.0, delta=0.1, period=5),
    *(SelfNormalisedRadius(0.7, delta=0.1, period=5, num_epochs=9, spread=kind) for kind in SPREADS),
    *(CountingRadius(0.7, delta=0.1, period=5, num_epochs=9, spread=kind) for kind in SPREADS),
    *(WindowRadius(9, 0.7, norm_bound=2.0, delta=0.1, num_rounds=500, spread=kind) for kind in SPREADS),
    *(WeightedRadius(0.9, 0.7, norm_bound=2.0, delta=0.1, num_rounds=500, spread=kind) for kind in SPREADS),
    WeightedRadius(1.0, 0.7, scale=0.25),
]


def moments_after(num: int, *, dim: int = 3, ridge: float = 0.8, seed: int = 0) -> Moments:
    """Of unweighted random samples in the unit ball."""
    phis = np.random.default_rng(seed).normal(size=(num, dim))
    phis /= np.maximum(1, np.linalg.norm(phis, axis=1, keepdims=True))
    gram = phis.T @ phis + ridge * np.eye(dim)
    counted = (np.asarray(each) for each in (ridge, num, float(num), float(num), 0))
    return Moments(gram[None], None, np.zeros((1, dim, 2)), *counted, ())


def log_failure(radius: Any, number: float, t: int) -> float:
    """log(1/δ') at round or epoch t of a number of them, counted from 1."""
    if radius.spread == "horizon":
        return math.log(number / radius.delta)
    if radius.spread == "anytime":
        return math.log(2 * t * (1 + math.log(t)) ** 2 / radius.delta)
    return math.log(1 / radius.delta)


def plainly(radius: Any, moments: Moments) -> float:
    """√λ S + σ √(2 log(1/δ') + ℓ), for one step."""
    gram, ridge, n = moments.gram[0], float(moments.ridge), int(moments.tick)
    d = len(gram)
    if isinstance(radius, (SelfNormalisedRadius, CountingRadius)):
        epoch, count = divmod(n, radius.period) if radius.period else (0, n)
        log_term = log_failure(radius, radius.num_epochs, epoch + 1)
    else:
        log_term = log_failure(radius, radius.num_rounds, n + 1)
        count = sum(radius.rate ** (2 * i) for i in range(n)) if hasattr(radius, "rate") else radius.length
    information = d * math.log(1 + count / (ridge * d))
    if isinstance(radius, SelfNormalisedRadius):
        information = math.log(np.linalg.det(gram) / ridge**d)
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
    (SelfNormalisedRadius, dict(noise_scale=0.5, period=(0, 7, 30), spread="anytime")),
    (CountingRadius, dict(noise_scale=0.5, period=(0, 7, 30), num_epochs=(1, 2, 9))),
    (CountingRadius, dict(noise_scale=0.5, period=(0, 7, 30), spread="anytime")),
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
        (lambda: CountingRadius(1.0, num_epochs=0), "num_epochs must be a number of at least 1, got 0"),
        (
            lambda: WindowRadius(5, 1.0, spread="horizon"),
            "num_rounds must be a number of at least 1 for spread='horizon', got 0.0",
        ),
        (
            lambda: WeightedRadius(0.9, 1.0, num_rounds=(9, 0), spread="horizon"),
            "num_rounds must be a number of at least 1 for spread='horizon', got (9.0, 0.0)",
        ),
        (
            lambda: WindowRadius(5, 1.0, spread="publisht"),
            "spread must be one of horizon, anytime, published",
        ),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()

"""Radii of confidence sets: the formulas written plainly."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.base import Forgetting, Moments, Radius, Sample, WeightFunction
from driftwise.base.jax_backend import register_parts
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.radii import ConfidenceRadius, GrowingRadius, Phases
from driftwise.parts.regression import empty_moments
from driftwise.theory.confidence import log_failure

EXAMPLES = [
    *(ConfidenceRadius(0.7, 2.0, 0.1, information, "epochs", 1) for information in ("count", "determinant")),
    *(ConfidenceRadius(0.7, 2.0, 0.1, spread=spread, shares=9) for spread in ("rounds", "epochs")),
    *(ConfidenceRadius(0.7, 2.0, 0.1, spread=spread) for spread in ("rounds", "epochs")),
    ConfidenceRadius(0.7, 2.0, 0.1, "determinant", "epochs"),
    ConfidenceRadius(0.7, samples=9, scale=0.25),
]
FORGETTINGS = [NoForgetting(), ExponentialWeights(0.9), SlidingWindow(9), PeriodicRestart(5)]


def moments_after(
    num: int, forgetting: Forgetting = FORGETTINGS[0], *, dim: int = 3, ridge: float = 0.8, seed: int = 0
) -> Moments:
    """Of random samples in the unit ball."""
    phis = np.random.default_rng(seed).normal(size=(num + 1, 1, dim))
    phis /= np.maximum(1, np.linalg.norm(phis, axis=-1, keepdims=True))
    samples = [Sample(phi, np.zeros(1), np.zeros(1, dtype=int), np.ones(1)) for phi in phis]
    moments = forgetting.init(empty_moments(samples[0], 1, ridge, gram_sq=False), samples[0])
    for sample in samples[:num]:
        moments = forgetting.update(moments, sample)
    return moments


def plainly(radius: Any, forgetting: WeightFunction, moments: Moments) -> float:
    """√λ S + σ √(2 log(1/δ') + ℓ), for one step."""
    gram, ridge, n = moments.gram[0], float(moments.ridge), int(moments.tick)
    d = len(gram)
    restarts = n // forgetting.period if isinstance(forgetting, PeriodicRestart) else 0
    t = 1 + (n if radius.spread == "rounds" else restarts)
    shares = radius.shares or 2 * t * (1 + math.log(t)) ** 2
    information = math.log(np.linalg.det(gram) / ridge**d)
    if radius.information == "count":
        squares = float((forgetting.weights(n) ** 2).sum())
        information = d * math.log(1 + max(squares, radius.samples) / (ridge * d))
    noise = radius.noise_scale * math.sqrt(2 * math.log(shares / radius.delta) + information)
    return radius.scale * (math.sqrt(ridge) * radius.norm_bound + noise)


@pytest.mark.parametrize("radius", EXAMPLES, ids=str)
@pytest.mark.parametrize("forgetting", FORGETTINGS, ids=str)
def test_every_radius_is_the_formula_of_its_lemma(radius, forgetting):
    assert isinstance(radius, Radius)
    for num in (0, 1, 13, 400):
        moments = moments_after(num, forgetting)
        np.testing.assert_allclose(radius.at(moments), plainly(radius, forgetting, moments), rtol=1e-12)


@pytest.mark.parametrize("forgetting", FORGETTINGS, ids=str)
def test_a_growing_radius_has_the_root_of_the_logarithm_of_the_samples_that_count(forgetting):
    radius = GrowingRadius(0.8, 0.3)
    for num in (0, 1, 13, 400):
        moments, weight = moments_after(num, forgetting), float(forgetting.weights(num).sum())
        expected = 0.8 * math.sqrt(1 + 0.3 * math.log(1 + weight / moments.gram.shape[-1]))
        np.testing.assert_allclose(radius.at(moments), expected, rtol=1e-12)
        assert radius.value(moments.gram.shape[-1], weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("radius", [*EXAMPLES, GrowingRadius(0.8, 0.3)], ids=str)
def test_numpy_and_jax_give_the_same_radius_in_the_precision_of_the_moments(radius):
    moments = moments_after(37)
    single = jax.tree.map(lambda a: np.asarray(a, np.float32 if a.dtype == float else a.dtype), moments)
    assert radius.at(single).dtype == np.float32
    np.testing.assert_allclose(radius.at(single), radius.at(moments), rtol=1e-5)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, moments)
        np.testing.assert_allclose(radius.at(on_device), radius.at(moments), rtol=1e-13)


def test_a_phase_has_its_number_from_its_first_tick_on():
    phases = Phases((3, 7), (0.5, 0.25, 0.125))
    found = [float(phases.at(np.asarray(tick))) for tick in range(10)]
    assert found == 3 * [0.5] + 4 * [0.25] + 3 * [0.125]


GRIDS: list[dict[str, Any]] = [
    dict(noise_scale=(0.1, 0.5, 1.0), delta=(0.01, 0.1, 1.0), information="determinant"),
    dict(noise_scale=0.5, shares=(0, 2, 9), spread="epochs"),
    dict(noise_scale=0.5, samples=(3.0, 10.0, 99.0), scale=(0.1, 1.0, 2.0)),
    dict(noise_scale=0.5, norm_bound=(0.0, 1.0, 2.0)),
]


@pytest.mark.parametrize("grid", GRIDS)
def test_a_grid_of_radii_equals_its_entries(grid):
    moments = moments_after(37, PeriodicRestart(5))
    singles = [
        ConfidenceRadius(**{name: v[i] if isinstance(v, tuple) else v for name, v in grid.items()})
        for i in range(3)
    ]
    expected = [radius.at(moments).item() for radius in singles]
    np.testing.assert_allclose(np.ravel(ConfidenceRadius(**grid).at(moments)), expected, rtol=1e-13)
    register_parts()
    with jax.enable_x64(True):  # as the simulator maps a grid of agents
        stacked = jax.tree.map(lambda *leaves: jnp.asarray(leaves), *singles)
        mapped = jax.vmap(lambda radius: radius.at(jax.tree.map(jnp.asarray, moments)))(stacked)
    np.testing.assert_allclose(np.ravel(mapped), expected, rtol=1e-13)


@given(st.integers(0, 200), st.integers(1, 4), st.floats(0.05, 5), st.integers(0, 99))
def test_the_determinant_never_exceeds_what_counting_allows(num, dim, ridge, seed):
    moments = moments_after(num, dim=dim, ridge=ridge, seed=seed)
    exact, counted = (ConfidenceRadius(1.0, information=each) for each in ("determinant", "count"))
    assert exact.at(moments).item() <= counted.at(moments).item() + 1e-10


def test_weights_that_hardly_fade_are_counted():
    counted = ConfidenceRadius(1.0).at(moments_after(50))
    for gap in (0.0, 1e-15, 1e-12, 1e-9):
        weighted = ConfidenceRadius(1.0).at(moments_after(50, ExponentialWeights(1 - gap)))
        np.testing.assert_allclose(weighted, counted, rtol=1e-7)


def test_failures_of_all_rounds_together_stay_below_delta():
    rounds = np.arange(1, 1_000_000)
    total = np.exp(-log_failure(0.05, 0, rounds, np)).sum()
    assert 0.04 < total < 0.05  # the tail after a million rounds is δ/(2(1 + ln 10⁶)) = 0.0017
    assert log_failure(0.05, 1000, 7) == pytest.approx(math.log(1000 / 0.05))

"""Whether confidence sets cover the parameter as often as their radii state, by simulation."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from driftwise.base import Forgetting, Moments, Radius, Sample
from driftwise.base.arrays import map_tree
from driftwise.parts import ConfidenceRadius, ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.regression import empty_moments


def crossed(
    radii: Mapping[str, Radius],
    forgetting: Forgetting,
    *,
    dim: int,
    num_runs: int,
    num_rounds: int,
    ridge: float,
    theta_norm: float,
) -> dict[str, float]:
    """The share of runs in which the parameter leaves the confidence set before some round.

    With `θ̂ = Λ⁻¹ Σ ω φ y` the lemmas bound `‖Λ(θ̂ − θ)‖` in the norm of Λ̃⁻¹: then `|φᵀ(θ̂ − θ)|` is at most
    `β √(φᵀ Λ⁻¹Λ̃Λ⁻¹ φ)`. Arms are chosen from the past, the one thing that makes the
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
        solved = np.linalg.solve(gram_of_squares(moments), error[..., None])[..., 0]
        norm = np.sqrt(np.einsum("ri,ri->r", error, solved))
        for name, radius in radii.items():
            left[name] |= norm > radius.at(moments)
        towards = (estimate - theta) if t % 2 else rng.normal(size=(num_runs, dim))
        phi = towards / np.linalg.norm(towards, axis=1, keepdims=True)
        reward = phi @ theta + rng.normal(size=num_runs)
        moments = forgetting.update(moments, Sample(phi, reward, shown.successor, np.ones(num_runs)))
    return {name: float(share.mean()) for name, share in left.items()}


COVERED = {
    "none": (NoForgetting(), dict(shares=1, information="determinant")),
    "counted": (NoForgetting(), dict(shares=1)),
    "restarts": (PeriodicRestart(10), dict(shares=15)),
    "more restarts": (PeriodicRestart(10), dict(spread="epochs", information="determinant")),
    "window": (SlidingWindow(20), dict(shares=150)),
    "weights": (ExponentialWeights(0.9), dict(shares=150)),
    "anytime": (ExponentialWeights(0.9), dict(spread="rounds")),
}


@pytest.mark.parametrize("name", COVERED)
def test_the_parameter_stays_in_all_sets_as_often_as_stated(name):
    """δ = 0.2. A third of the radius does not suffice, so that the test sees more than a wide set."""
    forgetting, options = COVERED[name]
    radii = {
        str(scale): ConfidenceRadius(noise_scale=1.0, delta=0.2, scale=scale, **options)
        for scale in (1.0, 1 / 3)
    }
    shares = crossed(radii, forgetting, dim=2, num_runs=300, num_rounds=150, ridge=0.5, theta_norm=1.0)
    assert shares["1.0"] <= 0.2
    assert shares[str(1 / 3)] > 0.9


LONG = {
    "weights": (ExponentialWeights(0.9), "rounds", "count", 20_000),
    "window": (SlidingWindow(10), "rounds", "count", 20_000),
    "restarts": (PeriodicRestart(10), "epochs", "count", 2_000),
    "more restarts": (PeriodicRestart(10), "epochs", "determinant", 2_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_in_every_long_run_the_parameter_leaves_some_set_unless_delta_is_spread(name):
    """One arm, λ = 1, N(0, 1) noise, θ = 0 (so S = 0), δ = 0.05, 400 runs of 20,000 rounds.

    Then Λ(θ̂ − θ) = Σ_τ ω(t, τ) ε_τ, and the norm divides it by √Λ̃, which is √Λ for weights of 0 and 1.
    """
    forgetting, spread, information, known = LONG[name]
    norms, moments = one_arm(forgetting, num_runs=400, num_rounds=20_000)
    left = {}
    for shares in (1, known, 0):
        radius = ConfidenceRadius(1.0, 0, 0.05, information, spread, shares)
        outside = norms > radius.at(moments)
        left[shares] = float(outside.any(axis=1).mean())
        assert outside[:, [15, 1005, 19_999]].mean(axis=0).max() <= 0.05  # each fixed round is covered
    assert left[1] > 0.99
    assert max(left[known], left[0]) <= 0.05


def one_arm(forgetting: Forgetting, *, num_runs: int, num_rounds: int) -> tuple[np.ndarray, Moments]:
    """‖Λ(θ̂ − θ)‖ in all runs before all rounds, `[N, T]`, and the moments that runs share, `[T, 1, 1]`."""
    rng = np.random.default_rng(4)
    once, zeros = np.ones(num_runs), np.zeros(num_runs)
    shown = Sample(once[:, None], zeros, zeros.astype(int), once)
    moments = forgetting.init(empty_moments(shown, 1, 1.0, gram_sq=True), shown)
    norms, past = np.empty((num_runs, num_rounds)), []
    for t in range(num_rounds):
        norms[:, t] = np.abs(moments.cross[:, 0, 0]) / np.sqrt(gram_of_squares(moments)[:, 0, 0])
        past.append(Moments(moments.gram[0], None, moments.gram[0], *moments[3:8], ()))
        moments = forgetting.update(moments, shown._replace(reward=rng.normal(size=num_runs)))
    return norms, map_tree(lambda *leaves: np.stack(leaves), *past)


def gram_of_squares(moments: Moments) -> np.ndarray:
    """Λ̃; for weights of 0 and 1 it is Λ, and not kept."""
    return moments.gram if moments.gram_sq is None else moments.gram_sq

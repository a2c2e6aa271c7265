"""The tuned form of the recipes that forget and compute a radius."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driftwise.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, bandit_ridge
from driftwise.types import Spec

Build = Callable[[Spec, dict[str, Any], dict[str, Any]], LeastSquares]


def tuned_to_drift(*, ridge: RidgeRule | float = "one"):
    """Give `build(spec, run, assumed)` the signature of a tuned form, with `ridge` as the usual λ.

    `run` is what `driftwise.theory.bandit_tuning` asks for; `assumed` is λ and what every radius asks for.
    """
    usual_ridge: RidgeRule | float | float = ridge

    def decorate(build: Build):
        def tuned(
            spec: Spec,
            *,
            num_episodes: int,
            variation: float,
            noise_scale: float,
            norm_bound: float = 1.0,
            delta: float = 0.05,
            tuning: Tuning = "corrected",
            ridge: RidgeRule | float = usual_ridge,
            radius_scale: float = 1.0,
        ) -> LeastSquares:
            run = dict(
                dim=spec.dim, num_episodes=num_episodes, variation=variation, tuning=tuning, ridge=ridge
            )
            assumed = dict(
                noise_scale=noise_scale,
                norm_bound=norm_bound,
                delta=delta,
                radius_scale=radius_scale,
                ridge=bandit_ridge(dim=spec.dim, ridge=ridge),
            )
            return build(spec, run, assumed)

        tuned.__doc__ = build.__doc__
        tuned.__module__ = build.__module__
        return tuned

    return decorate


def confidence_of(run: dict[str, Any]) -> dict[str, Any]:
    """A published tuning comes with the published radius, the others with one for all rounds of the run."""
    confidence = "published" if run["tuning"] == "published" else "uniform"
    return dict(num_episodes=run["num_episodes"], confidence=confidence)

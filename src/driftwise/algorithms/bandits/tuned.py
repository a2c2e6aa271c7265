"""The tuned form of the recipes that forget and compute a radius."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from driftwise.base.types import Spec
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, bandit_ridge


def tuned_to_drift(*, ridge: RidgeRule | float = "one"):
    """Give `build(spec, run, assumed, ...)` the signature of a tuned form, with `ridge` as the usual λ.

    `run` is what `driftwise.theory.bandit_tuning` asks for; `assumed` is λ and what every radius asks for.
    Keywords that `build` has besides are keywords of the tuned form.
    """
    usual_ridge: RidgeRule | float = ridge

    def decorate(build: Callable[..., LeastSquares]):
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
            **options: Any,
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
            return build(spec, run, assumed, **options)

        for name in ("__doc__", "__module__", "__name__", "__qualname__"):
            setattr(tuned, name, getattr(build, name))
        signature = inspect.signature(tuned)
        *common, _ = signature.parameters.values()
        own = [
            each for each in inspect.signature(build).parameters.values() if each.kind is each.KEYWORD_ONLY
        ]
        setattr(tuned, "__signature__", signature.replace(parameters=[*common, *own]))  # noqa: B010
        return tuned

    return decorate


def confidence_of(run: dict[str, Any]) -> dict[str, Any]:
    """A published tuning comes with the published radius, the others with one for all rounds of the run."""
    confidence = "published" if run["tuning"] == "published" else "uniform"
    return dict(num_episodes=run["num_episodes"], confidence=confidence)

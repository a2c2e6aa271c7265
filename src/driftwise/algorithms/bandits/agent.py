"""What the recipes for bandits share: the agent, and the radius it was given or has to compute."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.types import Forgetting, Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_numeric
from driftwise.parts.exploration import Exploration
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.radii import ConfidenceRadius

Confidence = Literal["uniform", "published"]
Information = Literal["count", "determinant"]


def bandit_agent(
    spec: Spec, forgetting: Forgetting, exploration: Exploration, ridge: Numeric = 1.0
) -> LeastSquares:
    """Least squares for a bandit; other problems are refused."""
    if (spec.num_states, spec.horizon) != (1, 1):
        raise ArgumentError("spec", "be a bandit's, of one state and one step", spec)
    return LeastSquares(spec, forgetting, exploration, ridge, clip="none")  # means may be above one


def confidence_radius(
    *,
    spread: Literal["rounds", "epochs"] = "rounds",
    shares: Numeric | None = None,
    memory: Numeric = 0,
    noise_scale: Numeric | None = None,
    radius: Numeric | Radius | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.05,
    num_episodes: Numeric | None = None,
    confidence: Confidence = "uniform",
    information: Information = "count",
    radius_scale: Numeric = 1.0,
) -> Numeric | Radius:
    """The `radius` that the user gave, else that of a confidence ellipsoid.

    δ is spread over the rounds, or over the epochs of `memory` rounds, of a known run, or over all there may
    be; a number of `shares` says how many there are. As published it is not spread, and the radius counts
    `memory` samples from the start.
    """
    radius_scale = require_numeric("radius_scale", radius_scale, at_least=0)
    require_choice("confidence", confidence, ("uniform", "published"))
    require_choice("information", information, ("count", "determinant"))
    if num_episodes is not None:
        num_episodes = require_numeric("num_episodes", num_episodes, at_least=1, integer=True)
    if radius is not None:
        return radius
    if noise_scale is None:
        raise ArgumentError("noise_scale", "be a number of at least 0 where no radius is given", None)
    published = confidence == "published"
    if published:
        information, shares = "count", 1
    elif shares is None and num_episodes is not None:
        length = memory if spread == "epochs" else 1
        shares = -(-np.asarray(num_episodes) // np.asarray(length))
    return ConfidenceRadius(
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        information=information,
        spread=spread,
        shares=0 if shares is None else shares,
        samples=memory if published else 0,
        scale=radius_scale,
    )

"""What the recipes for bandits share: the agent, and the radius it was given or has to compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from driftwise.base.types import Forgetting, Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_numeric
from driftwise.parts.exploration import Exploration
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.radii import CountingRadius, SelfNormalisedRadius, WindowRadius

Confidence = Literal["uniform", "published"]
Information = Literal["count", "determinant"]


def bandit_agent(
    spec: Spec, forgetting: Forgetting, exploration: Exploration, ridge: Numeric = 1.0
) -> LeastSquares:
    """Least squares for a bandit; other problems are refused."""
    if (spec.num_states, spec.horizon) != (1, 1):
        raise ArgumentError("spec", "be a bandit's, of one state and one step", spec)
    return LeastSquares(spec, forgetting, exploration, ridge, clip="none")  # means may be above one


def given_or_from(
    lemma: Callable[..., Radius],
    *,
    radius: Numeric | Radius | None,
    noise_scale: Numeric | None,
    radius_scale: Numeric,
    **assumptions: Any,
) -> Numeric | Radius:
    """The `radius` that the user gave, else the one that a lemma of `driftwise.parts.radii` gives."""
    radius_scale = require_numeric("radius_scale", radius_scale, at_least=0)
    if radius is not None:
        return radius
    if noise_scale is None:
        raise ArgumentError("noise_scale", "be a number of at least 0 where no radius is given", None)
    return lemma(noise_scale=noise_scale, scale=radius_scale, **assumptions)


def spread_over(num_episodes: Numeric | None, confidence: Confidence) -> dict[str, Any]:
    """How weighted and windowed radii spread δ: over the rounds of a known run, over all, or not at all."""
    num_episodes = _checked_run(num_episodes, confidence)
    if confidence == "published":
        return dict(spread="published")
    if num_episodes is None:
        return dict(spread="anytime")
    return dict(spread="horizon", num_rounds=num_episodes)


def epoch_radius(
    *,
    period: Numeric,
    num_episodes: Numeric | None,
    confidence: Confidence,
    information: Information,
    **assumptions: Any,
) -> Numeric | Radius:
    """The radius of the current epoch, with δ spread over those of a known run, or over all.

    As published it is the same in all rounds, that of a whole epoch, and δ is not spread.
    """
    lemma, num_episodes = unweighted(information), _checked_run(num_episodes, confidence)
    period = require_numeric("period", period, at_least=1, integer=True)
    if confidence == "published":
        return given_or_from(WindowRadius, length=period, spread="published", **assumptions)
    if num_episodes is None:
        return given_or_from(lemma, period=period, spread="anytime", **assumptions)
    num_epochs = -(-np.asarray(num_episodes) // np.asarray(period))
    return given_or_from(lemma, period=period, num_epochs=num_epochs, **assumptions)


def unweighted(information: Information) -> Callable[..., Radius]:
    """The lemma without weights: samples are counted, or the determinant of their gram is taken."""
    require_choice("information", information, ("count", "determinant"))
    return CountingRadius if information == "count" else SelfNormalisedRadius


def _checked_run(num_episodes: Numeric | None, confidence: Confidence) -> Numeric | None:
    require_choice("confidence", confidence, ("uniform", "published"))
    if num_episodes is None:
        return None
    return require_numeric("num_episodes", num_episodes, at_least=1, integer=True)

"""The agent that recipes for bandits share, the keywords of its radius, and their tunings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise.base.arguments import with_defaults
from driftwise.base.types import Forgetting, Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_numeric
from driftwise.parts.caution import Caution
from driftwise.parts.exploration import Exploration
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.radii import ConfidenceRadius
from driftwise.theory.bandit_tuning import (
    TUNINGS,
    BanditRun,
    RidgeRule,
    Tuning,
    bandit_rate,
    bandit_ridge,
    bandit_window,
)

Information = Literal["count", "determinant"]


class Confidence(TypedDict, total=False):
    """The radius, or what it is computed from."""

    noise_scale: Annotated[Numeric | None, None]
    radius: Annotated[Numeric | Radius | None, None]
    norm_bound: Annotated[Numeric, 1.0]
    delta: Annotated[Numeric, 0.05]
    radius_scale: Annotated[Numeric, 1.0]


class SpreadConfidence(Confidence, total=False):
    """The same where δ has to be spread over the run."""

    num_episodes: Annotated[Numeric | None, None]
    confidence: Annotated[Literal["uniform", "published"], "uniform"]


def bandit_agent(
    spec: Spec,
    forgetting: Forgetting,
    exploration: Exploration,
    ridge: Numeric = 1.0,
    caution: Caution | None = None,
) -> LeastSquares:
    """Least squares for a bandit; other problems are refused."""
    require_bandit(spec)
    clip = "none"  # means may be above one
    return LeastSquares(spec, forgetting, exploration, ridge, clip, caution=caution)


def require_bandit(spec: Spec) -> None:
    """Refuse all problems but bandits."""
    if (spec.num_states, spec.horizon) != (1, 1):
        raise ArgumentError("spec", "be a bandit's, of one state and one step", spec)


def confidence_radius(
    *,
    spread: Literal["rounds", "epochs"] = "rounds",
    shares: Numeric | None = None,
    memory: Numeric = 0,
    information: Information = "count",
    widening: Numeric = 0.0,
    **confidence: Unpack[SpreadConfidence],
) -> Numeric | Radius:
    """The `radius` that the user gave, else that of a confidence ellipsoid.

    δ is spread over the rounds, or over the epochs of `memory` rounds, of a known run, or over all there may
    be; a number of `shares` says how many there are. As published it is not spread, and the radius counts
    `memory` samples from the start. `widening` is for corrupted rewards.
    """
    given = with_defaults(SpreadConfidence, confidence)
    scale = require_numeric("radius_scale", given["radius_scale"], at_least=0)
    published = require_choice("confidence", given["confidence"], ("uniform", "published")) == "published"
    require_choice("information", information, ("count", "determinant"))
    if given["num_episodes"] is not None:
        run = require_numeric("num_episodes", given["num_episodes"], at_least=1, integer=True)
        length = memory if spread == "epochs" else 1
        shares = -(-np.asarray(run) // np.asarray(length)) if shares is None else shares
    if given["radius"] is not None:
        return given["radius"]
    if given["noise_scale"] is None:
        raise ArgumentError("noise_scale", "be a number of at least 0 where no radius is given", None)
    if published:
        information, shares = "count", 1
    return ConfidenceRadius(
        noise_scale=given["noise_scale"],
        norm_bound=given["norm_bound"],
        delta=given["delta"],
        information=information,
        spread=spread,
        shares=0 if shares is None else shares,
        samples=memory if published else 0,
        scale=scale,
        widening=widening,
    )


def stationary(
    spec: Spec, *, tuning: Tuning = "corrected", ridge: RidgeRule | float = "one"
) -> dict[str, Any]:
    """`λ = 1` or `λ = d`. Nothing is forgotten: no use is made of the run and its `tuning`."""
    require_choice("tuning", tuning, TUNINGS)
    return dict(ridge=bandit_ridge(dim=spec.dim, ridge=ridge))


def forgetful(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The rate, window or period of a `tuning`, `λ = 1` or `λ = d`, and a radius for all rounds of the run.

    A published tuning comes with the published radius.
    """
    window = bandit_window(dim=spec.dim, **run)
    return dict(
        rate=bandit_rate(dim=spec.dim, **run),
        length=window,
        period=window,
        ridge=bandit_ridge(dim=spec.dim, ridge=with_defaults(BanditRun, run)["ridge"]),
        num_episodes=run["num_episodes"],
        confidence="published" if run.get("tuning") == "published" else "uniform",
    )

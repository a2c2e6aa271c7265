"""The agent that recipes for bandits share, the keywords of its radius, and their tunings."""

from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise.base.schema import add_defaults
from driftwise.base.types import Forgetting, Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_numeric
from driftwise.parts import Caution, ConfidenceRadius, Exploration, LeastSquares, Ucb
from driftwise.parts.exploration import Norm
from driftwise.theory import bandit_tuning
from driftwise.theory.bandit_tuning import TUNINGS, BanditRun, RidgeRule, Tuning

Information = Literal["count", "determinant"]


class Confidence(TypedDict, total=False):
    noise_scale: Annotated[Numeric | None, None]
    radius: Annotated[Numeric | Radius | None, None]
    norm_bound: Annotated[Numeric, 1.0]
    delta: Annotated[Numeric, 0.05]
    radius_scale: Annotated[Numeric, 1.0]
    ridge: Annotated[Numeric, 1.0]


class SpreadConfidence(Confidence, total=False):
    r"""The radius where δ is spread over the run, or what it is computed from.

    Args:
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$; then the other
        arguments of $\beta_t$ have no effect.
      num_episodes: rounds of the run: $\delta' = \delta/K$; without it $\delta' = \delta/(2t(1+\ln t)^2)$.
      confidence: `"published"` is the paper's $\delta' = \delta$, which does not cover all rounds at once.
    """

    num_episodes: Annotated[Numeric | None, None]
    confidence: Annotated[Literal["uniform", "published"], "uniform"]


Confidence.__doc__ = SpreadConfidence.__doc__  # which describes its arguments, too


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


def ucb_agent(
    spec: Spec,
    forgetting: Forgetting,
    norm: Norm = "sandwich",
    caution: Caution | None = None,
    ridge: Numeric = 1.0,
    **radius: Any,
) -> LeastSquares:
    """The bandit agent with the index of an upper confidence bound, of a `confidence_radius`."""
    return bandit_agent(spec, forgetting, Ucb(confidence_radius(**radius), norm), ridge, caution)


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

    δ is spread over rounds, or epochs of `memory` rounds: over `shares` of them, those of a known run, or all
    there may be. As published it is not spread, and the radius counts `memory` samples from the start.
    """
    options = add_defaults(SpreadConfidence, confidence)
    scale = require_numeric("radius_scale", options["radius_scale"], at_least=0)
    published = require_choice("confidence", options["confidence"], ("uniform", "published")) == "published"
    require_choice("information", information, ("count", "determinant"))
    if options["num_episodes"] is not None:
        run = require_numeric("num_episodes", options["num_episodes"], at_least=1, integer=True)
        length = memory if spread == "epochs" else 1
        shares = -(-np.asarray(run) // np.asarray(length)) if shares is None else shares
    if options["radius"] is not None:
        return options["radius"]
    if options["noise_scale"] is None:
        raise ArgumentError("noise_scale", "be a number of at least 0 where no radius is given", None)
    if published:
        information, shares = "count", 1
    known = {name: options[name] for name in ("noise_scale", "norm_bound", "delta")}
    known |= dict(information=information, spread=spread, shares=0 if shares is None else shares)
    return ConfidenceRadius(**known, samples=memory if published else 0, scale=scale, widening=widening)


def tune_ridge(
    spec: Spec, *, tuning: Tuning = "corrected", ridge: RidgeRule | float = "one"
) -> dict[str, Any]:
    """`λ = 1` or `λ = d`. Nothing is forgotten: no use is made of the run and its `tuning`."""
    require_choice("tuning", tuning, TUNINGS)
    return dict(ridge=bandit_tuning.bandit_ridge(dim=spec.dim, ridge=ridge))


def tune_memory(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The rate, window or period of a `tuning`, `λ = 1` or `λ = d`, and a radius for all rounds of the run.

    A published tuning comes with the published radius.
    """
    window = bandit_tuning.bandit_window(dim=spec.dim, **run)
    return dict(
        rate=bandit_tuning.bandit_rate(dim=spec.dim, **run),
        length=window,
        period=window,
        ridge=bandit_tuning.bandit_ridge(dim=spec.dim, ridge=add_defaults(BanditRun, run)["ridge"]),
        num_episodes=run["num_episodes"],
        confidence="published" if run.get("tuning") == "published" else "uniform",
    )

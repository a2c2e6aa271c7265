"""Keywords and tunings of recipes with any forgetting, and recipes for any problem."""

from typing import Annotated, Any, Literal, Required, TypedDict, Unpack

from driftwise.algorithms.algorithm import register
from driftwise.base.schema import add_defaults
from driftwise.base.types import Forgetting, Numeric, Spec
from driftwise.base.validation import require_choice, require_number
from driftwise.parts import Exploration, LeastSquares, NoForgetting, Uniform
from driftwise.parts import forgetting as kinds
from driftwise.theory import tuning

Clip = Literal["paper", "tight"]  # of values, at H or at the H−h+1 that can be had from step h on
ForgettingKind = Literal["none", "exponential", "window", "restart"]


class AnyForgetting(TypedDict, total=False):
    r"""A forgetting by at most one of four keywords; without any, nothing is forgotten.

    Args:
      rate: $\eta \in (0, 1]$ of exponential weights $\eta^{t-1-\tau}$, as in `opt_wlsvi`. At most one of
        `rate`, `length`, `period`, `directional` may be given; without any, nothing is forgotten.
      directional: $\eta$ of `DirectionalForgetting`, which no theory tunes.
    """

    rate: Annotated[Numeric | None, None]
    length: Annotated[Numeric | None, None]
    period: Annotated[Numeric | None, None]
    directional: Annotated[Numeric | None, None]


KEYWORDS = (*AnyForgetting.__annotations__,)


def choose_forgetting(**forgetting: Unpack[AnyForgetting]) -> Forgetting:
    """Return the forgetting that one of the keywords chooses; without any, none."""
    makers = {"rate": kinds.ExponentialWeights, "length": kinds.SlidingWindow}
    makers |= {"period": kinds.PeriodicRestart, "directional": kinds.DirectionalForgetting}
    chosen = {name: value for name, value in forgetting.items() if value is not None}
    if len(chosen) > 1:
        listed = " and ".join(f"{name} = {value!r}" for name, value in chosen.items())
        raise ValueError(f"only one of rate, length, period and directional may be given, got {listed}")
    return next((makers[name](value) for name, value in chosen.items()), kinds.NoForgetting())


class TheoryRun(TypedDict, total=False):
    num_episodes: Required[int]
    delta: Annotated[float, 0.05]
    beta_scale: Annotated[float, 1.0]


class LinearRun(TheoryRun, total=False):
    variation: Required[float]
    forgetting: Annotated[ForgettingKind, "exponential"]


class ForgettingRun(TypedDict, total=False):
    variation: Annotated[float, 0.0]
    forgetting: Annotated[ForgettingKind, "none"]
    delta: Annotated[float, 0.05]
    beta_scale: Annotated[float, 1.0]


def read_run(group: type, run: Any) -> dict[str, Any]:
    """The keywords of a group with their defaults; δ and the scale of the radius are checked."""
    options = add_defaults(group, run)
    options["delta"] = require_number("delta", options["delta"], above=0, at_most=1)
    options["beta_scale"] = require_number("beta_scale", options["beta_scale"], at_least=0)
    return options


def radius_and_memory(
    spec: Spec, mu_bound: float | None = None, **run: Unpack[LinearRun]
) -> tuple[float, dict[str, Any]]:
    """OPT-WLSVI's radius, and the keyword of a forgetting as fast as OPT-WLSVI's."""
    options = add_defaults(LinearRun, run)
    forgetting, variation = options.pop("forgetting"), options.pop("variation")
    memory = linear_keyword(spec, forgetting, num_episodes=run["num_episodes"], variation=variation)
    options |= dict(rate=memory.get("rate", 1.0), mu_bound=mu_bound)
    return tuning.opt_wlsvi_radius(dim=spec.dim, horizon=spec.horizon, **options), memory


def linear_keyword(spec: Spec, forgetting: ForgettingKind, **run: Any) -> dict[str, Any]:
    """The keyword of a forgetting with OPT-WLSVI's rate, or with LSVI-UCB-Restart's period as its length."""
    run |= dict(dim=spec.dim, horizon=spec.horizon)
    return choose_keyword(forgetting, tuning.opt_wlsvi_rate(**run), tuning.restart_period(**run))


def choose_keyword(forgetting: ForgettingKind, rate: float, period: int) -> dict[str, Any]:
    """Return the keyword of `AnyForgetting` for a kind, with its rate, window or period."""
    keywords = {"none": {}, "exponential": {"rate": rate}}
    keywords |= {"window": {"length": period}, "restart": {"period": period}}
    return keywords[require_choice("forgetting", forgetting, list(keywords))]


@register("any", "any", "baseline", "none", problem="any")
def least_squares(
    spec: Spec,
    *,
    forgetting: Forgetting,
    exploration: Exploration,
    ridge: Numeric = 1.0,
    clip: Literal["paper", "tight", "range", "none"] = "paper",
) -> LeastSquares:
    r"""Weighted least-squares value iteration with a forgetting and an exploration of your choice.

    $\Lambda_h = \sum_\tau \omega(t, \tau)\phi\phi^\top + \lambda I$, and $Q_h = \phi^\top w_h + $ what the
    exploration adds. In an experiment file both are tables such as `{ type = "SlidingWindow", length = 9 }`.
    Args:
      forgetting: $\omega$, one of `driftwise.forgetting` or one of your own.
      exploration: one of `driftwise.exploration` or one of your own.
      clip: of values, as in `LeastSquares`; `"none"` for bandits whose means may be above one.
    When to use: you combine a forgetting and an exploration of your own.
    When not: a named recipe has the pair you want. That one comes with its radius, its tuning and its paper.
    """
    return LeastSquares(spec, forgetting, exploration, ridge, clip)


@register("none", "uniform", "baseline", "linear in K", problem="any")
def uniform(spec: Spec) -> LeastSquares:
    """Draw every action uniformly, whatever was seen.

    When to use: you want the baseline of no learning, or a pilot whose log covers all actions evenly.
    When not: anything depends on its choices.
    """
    return LeastSquares(spec, NoForgetting(), Uniform())

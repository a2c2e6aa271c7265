"""Recipes for any problem: least squares of your own parts, and uniform play."""

from typing import Literal

from driftwise.algorithms.algorithm import register
from driftwise.base.types import Forgetting, Numeric, Spec
from driftwise.parts import Exploration, LeastSquares, NoForgetting, Uniform


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
    exploration adds. In an experiment file both parts are tables:

    ```toml
    algorithm = "least_squares"
    forgetting = { type = "SlidingWindow", length = 200 }
    exploration = { type = "Thompson", scale = 0.3 }
    ```

    Args:
      forgetting: $\omega$, one of `driftwise.forgetting` or one of your own.
      exploration: one of `driftwise.exploration` or one of your own.
      clip: of values, as in `LeastSquares`; `"none"` for bandits whose means may be above one.
    When to use: you combine a forgetting and an exploration of your own; every least-squares recipe is a case
    of it.
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

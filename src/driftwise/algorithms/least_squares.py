"""Least squares of any parts: the row of the table that is yours to fill."""

from __future__ import annotations

from typing import Literal

from driftwise.algorithms.registry import register
from driftwise.base.types import Forgetting, Numeric, Spec
from driftwise.parts.exploration import Exploration
from driftwise.parts.least_squares import LeastSquares


@register(
    problem="any",
    forgetting="any",
    exploration="any",
    bound="none",
    paper="baseline",
)
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
      ridge: $\lambda > 0$.
      clip: of values, as in `LeastSquares`; `"none"` for bandits whose means may be above one.

    When to use: you combine a forgetting and an exploration of your own; every least-squares recipe is a
    case of it.

    When not: a named recipe has the pair you want. That one comes with its radius, its tuning and its
    paper.
    """
    return LeastSquares(spec, forgetting, exploration, ridge, clip)

"""How the chance of failure is spread over rounds or epochs, so that all of them hold at once."""

from __future__ import annotations

import math
from typing import Any, Literal

Spread = Literal["horizon", "anytime", "published"]


def spread(kind: Spread, delta: Any, num_rounds: Any, rounds: Any, xp: Any = math) -> Any:
    r"""$\log(1/\delta')$ at a round $t \ge 1$: the failures of all rounds together stay below $\delta$.

    `"horizon"`: $\delta' = \delta/K$. `"anytime"`: $\delta' = \delta/(2t(1+\ln t)^2)$, which sums to at most
    $\delta$. `"published"`: $\delta' = \delta$ as printed, which covers each round but not all of them.
    The same with epochs in place of rounds.
    """
    if kind == "horizon":
        return xp.log(num_rounds) - xp.log(delta)
    if kind == "anytime":
        return xp.log(2 * rounds) + 2 * xp.log(1 + xp.log(rounds)) - xp.log(delta)
    return -xp.log(delta)

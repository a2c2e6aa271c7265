"""How much has to be remembered of what cannot be counted, and what is lost by forgetting the rest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from driftwise.base.agent import Wrapper
from driftwise.base.part import points
from driftwise.base.types import Forgetting
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online.episodic_memory import RememberedLeastSquares
from driftwise.parts.forgetting import ExponentialWeights, PeriodicRestart, SlidingWindow
from driftwise.parts.least_squares import LeastSquares


def remembering(agent: Any, *, memory: int | None, tolerance: float) -> Any:
    """An agent with `RememberedLeastSquares` in the place of each `LeastSquares` in it.

    Without `memory` it is the number of episodes whose weights are at least `tolerance`, for all of them.
    """
    tolerance = require_number("tolerance", tolerance, above=0, at_most=1)
    bases = list(_bases(agent))
    for base in bases:
        if not isinstance(base, LeastSquares):
            raise ArgumentError("algorithm", "be one of least squares for continuous states", base)
    if memory is None:
        memory = max(slots(each.forgetting, tolerance) for base in bases for each in points(base))
    return _replaced(agent, require_count("memory", memory))


def slots(forgetting: Forgetting, tolerance: float) -> int:
    """How many episodes have to be kept so that all of weight `tolerance` and above are."""
    if isinstance(forgetting, ExponentialWeights) and forgetting.rate < 1:
        return 1 + math.floor(math.log(tolerance) / math.log(forgetting.rate) + 1e-9)
    if isinstance(forgetting, SlidingWindow):
        return 1 + int(forgetting.length)
    if isinstance(forgetting, PeriodicRestart):
        return int(forgetting.period)
    raise ArgumentError(
        "memory", "be given, in episodes, where weights do not fade", None, f"None with {forgetting}"
    )


def lost_weight(forgetting: Forgetting, memory: int, tick: int) -> float:
    """`Σ ω` over the episodes that the memory no longer holds after `tick` of them, by definition."""
    return float(forgetting.weights(tick)[: max(0, tick - memory)].sum())


def truncation_error(
    forgetting: Forgetting,
    memory: int,
    *,
    tick: int,
    horizon: int,
    radius: float = 0.0,
    ridge: float = 1.0,
    value_bound: float | None = None,
) -> float:
    r"""The most that a memory of so many episodes can change in an index $Q_1$, if norms are at most 1.

    The exploration is `Ucb` with the radius β, or `Greedy` or `EpsilonGreedy` with β = 0. The default of
    `value_bound` holds for rewards in [0, 1] if no value falls below $-(1 + H)$: `clip="range"` and `"tight"`
    see to that, while `"paper"` cuts values above alone, and `"none"` nowhere; give a bound of your own then.

    With $m = \sum \omega$ over what is lost ($\eta^L/(1-\eta)$ at most for exponential weights, 0 for a
    window), $\kappa = \sqrt{\sum\omega/\lambda}$ and targets within $\pm Y$ (`value_bound`, else $1 + H$):
    $$\varepsilon = m\left(\frac{(1 + \kappa)Y}{\lambda} + \frac{3\beta}{2\lambda^{3/2}}\right), \qquad
      |Q_1 - Q_1^{\text{all}}| \le \varepsilon \sum_{j=0}^{H-1} \kappa^j.$$
    The first term is $\phi^\top\Lambda^{-1}\sum_{\text{lost}}\omega\phi_\tau(y_\tau - \phi_\tau^\top w)$, the
    second the difference of the two widths, and $\kappa$ what an error in $V_{h+1}$ is multiplied with.
    """
    tick, horizon = require_count("tick", tick, at_least=0), require_count("horizon", horizon)
    lost = lost_weight(forgetting, require_count("memory", memory), tick)
    bound = 1.0 + horizon if value_bound is None else value_bound
    growth = math.sqrt(forgetting.weights(tick).sum() / ridge)
    once = lost * ((1 + growth) * bound / ridge + 1.5 * radius / ridge**1.5)
    return once * sum(growth**j for j in range(horizon)) if lost else 0.0


def _bases(agent: Any) -> Iterator[Any]:
    """The agents within an agent that wrap no other one."""
    if isinstance(agent, Wrapper):
        yield from _bases(agent.base)
    else:
        yield agent


def _replaced(agent: Any, memory: int) -> Any:
    if isinstance(agent, Wrapper):
        return dataclasses.replace(agent, base=_replaced(agent.base, memory))  # pyright: ignore[reportArgumentType]
    parts = agent.spec, agent.forgetting, agent.exploration
    return RememberedLeastSquares(*parts, memory, agent.ridge, agent.clip)

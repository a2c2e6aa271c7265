"""The memory that a forgetting needs, in episodes, and the error of a smaller one."""

from __future__ import annotations

import math

from driftwise.base.types import Forgetting, WeightFunction
from driftwise.base.validation import require_count
from driftwise.parts.forgetting import ExponentialWeights, PeriodicRestart, SlidingWindow


def slots(forgetting: Forgetting, tolerance: float) -> float:
    """Number of episodes to keep so that none of weight `tolerance` and above is lost; ∞ if none fades."""
    if isinstance(forgetting, ExponentialWeights) and forgetting.rate < 1:
        return 1 + math.floor(math.log(tolerance) / math.log(forgetting.rate) + 1e-9)
    if isinstance(forgetting, SlidingWindow):
        return 1 + int(forgetting.length)
    if isinstance(forgetting, PeriodicRestart):
        return int(forgetting.period)
    return math.inf


def lost_weight(forgetting: WeightFunction, memory: int, tick: int) -> float:
    """`Σ ω` over the episodes that the memory no longer holds after `tick` of them, by definition."""
    return float(forgetting.weights(tick)[: max(0, tick - memory)].sum())


def truncation_error(
    forgetting: WeightFunction,
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
    second the difference of the two widths, and $\kappa$ the factor of an error in $V_{h+1}$.
    """
    tick, horizon = require_count("tick", tick, at_least=0), require_count("horizon", horizon)
    lost = lost_weight(forgetting, require_count("memory", memory), tick)
    bound = 1.0 + horizon if value_bound is None else value_bound
    growth = math.sqrt(forgetting.weights(tick).sum() / ridge)
    once = lost * ((1 + growth) * bound / ridge + 1.5 * radius / ridge**1.5)
    return once * sum(growth**j for j in range(horizon)) if lost else 0.0

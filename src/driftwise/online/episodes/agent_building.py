"""Agents for the states of an episodic agent: default parameters, memories and blocks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from driftwise.algorithms.algorithm import find_algorithm
from driftwise.algorithms.unknown_variation.detecting import DetectAndRestart
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent, Wrapper
from driftwise.base.knowledge import name_needs
from driftwise.base.part import expand_grid, index_part, stack_parts
from driftwise.base.schema import get_signature
from driftwise.base.types import Forgetting, WeightFunction
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online.episodes.remembered import RememberedLeastSquares, RememberedMixture
from driftwise.parts import ExponentialWeights, LeastSquares, PeriodicRestart, SlidingWindow

DEFAULT_RADIUS = 0.3
_LARGEST_RIDGE = 0.01
_MIXTURE_MEMORY = 1000  # episodes that a mixture keeps


def default_ridge(horizon: int) -> float:
    """Return the ridge that makes an unknown pair, worth β/√λ, worth the H that rewards in [0, 1] can bring.

    If known pairs earned more, an agent would keep to what it knows.
    """
    return min(_LARGEST_RIDGE, (DEFAULT_RADIUS / horizon) ** 2)


DEFAULTS: Mapping[str, Callable[[int], float]] = {
    "radius": lambda horizon: DEFAULT_RADIUS,
    "ridge": default_ridge,
}


def with_defaults(algorithm: str, parameters: Mapping[str, Any], horizon: int) -> dict[str, Any]:
    """Return the parameters, with a default radius and ridge where a recipe of least squares takes them.

    The bases of meta-algorithms get them too.
    """
    recipe = find_algorithm(algorithm)
    takes_both = DEFAULTS.keys() <= get_signature(recipe.recipe).parameters.keys()
    usual = recipe.problem == "linear MDP" and takes_both
    complete = {name: default(horizon) for name, default in DEFAULTS.items()} if usual else {}
    complete |= parameters
    if "base" in complete:
        complete["base"] = _base_with_defaults(complete["base"], horizon)
    return complete


def _base_with_defaults(base: Any, horizon: int) -> Any:
    """Return a base that is described by a mapping, or several; anything else stays as it is."""
    if isinstance(base, list):
        return [_base_with_defaults(one, horizon) for one in base]
    if not (isinstance(base, Mapping) and isinstance(base.get("algorithm"), str)):
        return base
    parameters = dict(base)
    algorithm = parameters.pop("algorithm")
    return {"algorithm": algorithm, **with_defaults(algorithm, parameters, horizon)}


def with_memory(agent: Agent, *, memory: int | None, tolerance: float) -> Agent:
    """Return the agent with `RememberedLeastSquares` in the place of its `LeastSquares`.

    Without `memory` it is the number of episodes whose weights are at least `tolerance`, for all of them.
    A mixture becomes a `RememberedMixture` of the memories that lose no weight above `tolerance`, and the
    last that does.
    """
    tolerance = require_number("tolerance", tolerance, above=0, at_most=1)
    if agent.needs:
        expected = "learn from what it earns alone where states cannot be counted"
        raise ArgumentError("algorithm", expected, agent, f"one that needs {name_needs(agent.needs)}")
    if isinstance(agent, DetectAndRestart):
        expected = "play nothing by force, which is done in tables of states, where states cannot be counted"
        raise ArgumentError("algorithm", expected, agent)
    if isinstance(agent, Wrapper) and not isinstance(agent, MixtureOfMemories):
        base: Any = with_memory(agent.base, memory=memory, tolerance=tolerance)
        return dataclasses.replace(agent, base=base)  # pyright: ignore[reportArgumentType]
    inner = agent.base if isinstance(agent, MixtureOfMemories) else agent
    if not isinstance(inner, LeastSquares) or inner.noise is not None or inner.caution is not None:
        raise ArgumentError("algorithm", "be one of plain least squares for continuous states", agent)
    if isinstance(agent, MixtureOfMemories):
        num = _MIXTURE_MEMORY if memory is None else require_count("memory", memory)
        memories = [index_part(agent.base, j) for j in range(agent.num_memories)]
        complete = [base for base in memories if memory_needed(base.forgetting, tolerance) <= num]
        truncated = [base for base in memories if base not in complete]
        kept = stack_parts([*complete, *truncated[-1:]])
        return RememberedMixture(dataclasses.replace(agent, base=kept), num)
    needed = max(memory_needed(point.forgetting, tolerance) for point in expand_grid(inner))
    if memory is None and not math.isfinite(needed):
        expected = "be given, in episodes, where weights do not fade"
        raise ArgumentError("memory", expected, None, f"None with {inner.forgetting}")
    return RememberedLeastSquares(inner, int(needed) if memory is None else memory)


def memory_needed(forgetting: Forgetting, tolerance: float) -> float:
    """Return how many episodes to keep so that no weight of at least `tolerance` is lost; ∞ if none fades."""
    if isinstance(forgetting, ExponentialWeights) and forgetting.rate < 1:
        return 1 + math.floor(math.log(tolerance) / math.log(forgetting.rate) + 1e-9)
    if isinstance(forgetting, SlidingWindow):
        return 1 + int(forgetting.length)
    if isinstance(forgetting, PeriodicRestart):
        return int(forgetting.period)
    return math.inf


def lost_weight(forgetting: WeightFunction, memory: int, tick: int) -> float:
    """Return `Σ ω` over the episodes that the memory no longer holds after `tick` of them, by definition."""
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
    r"""Return a bound on the change of an index $Q_1$ by a memory of that many episodes, for norms up to 1.

    The exploration is `Ucb` with the radius β, or `Greedy` or `EpsilonGreedy` with β = 0. The default of
    `value_bound` holds for rewards in [0, 1] with `clip="range"` and `"tight"`, not `"paper"` or `"none"`.

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

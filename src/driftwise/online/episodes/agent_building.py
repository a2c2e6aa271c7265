"""Agents for the states of an episodic agent: default parameters, memories and blocks."""

import dataclasses
import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.algorithms.algorithm import find_algorithm
from driftwise.algorithms.unknown_variation.detecting import DetectAndRestart
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base import Agent, Forecaster, Radius, WeightFunction, Wrapper
from driftwise.base.arrays import spd_inverse, vecdot
from driftwise.base.knowledge import name_needs
from driftwise.base.part import expand_grid, index_part, member, part, stack_parts
from driftwise.base.schema import get_signature
from driftwise.base.types import (
    Blocks,
    Episode,
    FeatureTable,
    Forecast,
    Forgetting,
    Key,
    Moments,
    Plan,
    Sample,
)
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online.episodes.remembered import RememberedLeastSquares, RememberedMixture
from driftwise.parts import ExponentialWeights, LeastSquares, PeriodicRestart, SlidingWindow, Ucb, Unperturbed
from driftwise.parts.noise import forecast_episode
from driftwise.parts.regression import empty_moments

DEFAULT_RADIUS = 0.3
_MIXTURE_MEMORY = 1000  # episodes that a mixture keeps


def default_parameters(horizon: int) -> dict[str, float]:
    """Return β and λ: at that ridge an unknown pair, worth β/√λ, is worth the H that rewards can bring."""
    return {"radius": DEFAULT_RADIUS, "ridge": min(0.01, (DEFAULT_RADIUS / horizon) ** 2)}


def with_defaults(algorithm: str, parameters: Mapping[str, Any], horizon: int) -> dict[str, Any]:
    """Return the parameters, with β and λ for recipes of linear MDPs that leave β open, also in bases."""
    recipe, defaults = find_algorithm(algorithm), default_parameters(horizon)
    known, complete = get_signature(recipe.recipe).parameters, dict(parameters)
    takes_both = recipe.problem == "linear MDP" and {"radius", "ridge"} <= known.keys()
    if takes_both and known["radius"].default is inspect.Parameter.empty:
        complete = {**defaults, **parameters}
    if "base" in complete:
        complete["base"] = _base_with_defaults(complete["base"], horizon)
    return complete


def _base_with_defaults(base: Any, horizon: int) -> Any:
    """Return a base that is described by a mapping, or several; anything else stays as it is."""
    if isinstance(base, list):
        return [_base_with_defaults(one, horizon) for one in base]
    if not (isinstance(base, Mapping) and isinstance(base.get("algorithm"), str)):
        return base
    parameters = {name: value for name, value in base.items() if name != "algorithm"}
    return {"algorithm": base["algorithm"], **with_defaults(base["algorithm"], parameters, horizon)}


def with_memory(agent: Agent, *, memory: int | None, tolerance: float) -> Agent:
    """Return the agent with `RememberedLeastSquares` in the place of its `LeastSquares`."""
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
    if (
        not isinstance(inner, LeastSquares)
        or inner.caution is not None
        or (inner.noise is not None and (inner is agent or inner.unit == "noise"))
    ):
        raise ArgumentError("algorithm", "be one of plain least squares for continuous states", agent)
    if isinstance(agent, MixtureOfMemories):
        num = _MIXTURE_MEMORY if memory is None else require_count("memory", memory)
        memories = [index_part(agent.base, j) for j in range(agent.num_memories)]
        complete = [base for base in memories if memory_needed(base.forgetting, tolerance) <= num]
        # Memories that lose no weight above the tolerance stay, and the last that does.
        kept = stack_parts([*complete, *[base for base in memories if base not in complete][-1:]])
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


def truncation_bound(
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


@part
class BlockLeastSquares(Wrapper, Forecaster):
    """`base` where `Λ` is block-diagonal, `[H, B, m, m]`: the same up to rounding, for `1/B²` of the work."""

    base: LeastSquares = member(LeastSquares)

    @property
    def forgetting(self) -> Forgetting:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.forgetting

    def init(self, features: FeatureTable) -> Moments:
        horizon, num_states = self.spec.horizon, self.spec.num_states
        steps = np.zeros((horizon, self.spec.dim)), np.zeros(horizon), np.zeros(horizon, dtype=np.int32)
        sample = _sample(features.get(Blocks), *steps)
        uses = self.base.exploration.uses_gram_sq
        moments = empty_moments(sample, num_states if horizon > 1 else 0, self.base.ridge, gram_sq=uses)
        noise = self.base.initial_noise(np.zeros(horizon))
        return self.forgetting.init(moments, sample)._replace(noise=noise)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        blocks, horizon, num_states = features.get(Blocks), self.spec.horizon, self.spec.num_states
        inverse = spd_inverse(state.gram)
        bonus, exploration = np.zeros((horizon, len(blocks.place))), self.base.exploration
        if isinstance(exploration, Ucb):  # β times the width of each row
            single = exploration.norm == "single" or state.gram_sq is None
            matrix = inverse if single else inverse @ state.gram_sq @ inverse
            squared = np.maximum(blocks.at_rows(vecdot(blocks.rows @ matrix, blocks.rows)), 0)
            bonus = exploration.radius * np.sqrt(squared) * self.base.exploration_unit(state)[:, None]
        weights, q = np.zeros((horizon, *blocks.order.shape)), bonus.reshape(horizon, num_states, -1).copy()
        values = np.zeros((horizon + 1, num_states))
        for h in reversed(range(horizon)):
            cross = state.cross[h].reshape(-1, state.cross.shape[-1])
            target = cross[:, 0] + (cross[:, 1:] @ values[h + 1] if horizon > 1 else 0.0)
            weights[h] = vecdot(inverse[h], target.reshape(len(inverse[h]), 1, -1))
            q[h] += blocks.at_rows(vecdot(blocks.rows, weights[h][:, None])).reshape(num_states, -1)
            values[h] = self.base.clip_values(q[h].max(axis=-1), self.base.ceilings[h])
        plain = np.zeros((horizon, self.spec.dim))
        plain[:, blocks.order.ravel()] = weights.reshape(horizon, -1)
        return Plan(plain, bonus.reshape(q.shape), q, self.policy(q), values[:-1])

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        forecast = None if self.base.noise is None else self.forecast(state, features, plan, episode)
        return self._absorb(state, features, episode, forecast)

    def learn(
        self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode
    ) -> tuple[Forecast, Moments]:
        forecast = self.forecast(state, features, plan, episode)
        return forecast, self._absorb(state, features, episode, forecast)

    def _absorb(
        self, state: Moments, features: FeatureTable, episode: Episode, forecast: Forecast | None
    ) -> Moments:
        sample = _sample(features.get(Blocks), episode.features, episode.rewards, episode.successors)
        return self.base.update_moments(state, sample, None if forecast is None else forecast.squares)

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        parts = episode.features[:, features.get(Blocks).order]
        at = np.arange(len(parts)), np.abs(parts).max(axis=-1).argmax(axis=-1)  # the block of each step
        seen = parts[at], episode.rewards, plan.next_values, episode.successors
        return forecast_episode(state.gram[at], state.cross[at], *seen)

    def policy(self, q: Any) -> Any:
        return self.base.policy(q)

    def memory(self, state: Moments) -> Any:
        return self.base.memory(state)

    def moments(self, state: Moments) -> Moments:
        return state


def _sample(blocks: Blocks, features: np.ndarray, rewards: np.ndarray, successors: np.ndarray) -> Sample:
    """Return steps with features `[H, d]` as samples `[H, B]` of blocks, all but one of them 0."""
    lead = len(features), len(blocks.order)
    paid, reached = (np.broadcast_to(values[:, None], lead) for values in (rewards, successors))
    return Sample(features[:, blocks.order], paid, reached, np.ones(lead))


def find_blocks(features: np.ndarray) -> Blocks | None:
    """Return the blocks of the coordinates of rows `[N, d]`; None if there is one, or sizes differ."""
    label = np.arange(features.shape[-1])
    for row in features != 0:
        joined = np.unique(label[row])
        if len(joined) > 1:
            label[np.isin(label, joined)] = joined[0]
    names, sizes = np.unique(label, return_counts=True)
    if len(names) == 1 or sizes.min() < sizes.max():
        return None
    order = np.argsort(label, kind="stable").reshape(len(names), -1)
    parts = features[:, order]  # [N, B, m]
    block = np.abs(parts).max(axis=-1).argmax(axis=-1)  # rows of zeros belong to any
    num = np.bincount(block, minlength=len(names))
    slot = np.empty(len(features), dtype=np.int64)
    by_block = np.argsort(block, kind="stable")
    slot[by_block] = np.arange(len(features)) - np.repeat(np.cumsum(num) - num, num)
    rows = np.zeros((len(names), num.max(), order.shape[-1]))
    rows[block, slot] = parts[np.arange(len(parts)), block]
    return Blocks(order, rows, block * num.max() + slot)


def with_blocks(agent: Agent) -> Agent:
    """Return the agent with `BlockLeastSquares` in the place of its `LeastSquares`, if that is equivalent."""
    if isinstance(agent, LeastSquares):  # plans that need nothing but estimates and widths of rows
        exploration = agent.exploration
        fixed = isinstance(exploration, Ucb) and not isinstance(exploration.radius, Radius)
        plain = (fixed or isinstance(exploration, Unperturbed)) and agent.caution is None
        return BlockLeastSquares(agent) if plain and not agent.needs else agent
    if isinstance(agent, Wrapper) and (isinstance(agent, MixtureOfMemories) or not agent.needs):
        return dataclasses.replace(agent, base=with_blocks(agent.base))  # pyright: ignore
    return agent

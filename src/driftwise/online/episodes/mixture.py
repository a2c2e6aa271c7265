"""A mixture of memories for states that cannot be counted: all of them weigh the same episodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState, overall
from driftwise.base.agent import Wrapper
from driftwise.base.arrays import map_tree, spd_solve
from driftwise.base.part import at, count, member, part
from driftwise.base.types import Array, Episode, FeatureTable, Forecast, Key, Moments
from driftwise.base.validation import ArgumentError
from driftwise.online.episodes.memory import (
    MemoryPlan,
    MemoryState,
    RememberedLeastSquares,
    Ring,
    Weighing,
)


class SharedState(NamedTuple):
    """The newest L episodes, and the mixture of the memories that weigh them."""

    mixture: MixtureState  # its base is a `Weighing` of every memory: each leaf `[J, ...]`
    ring: Ring

    def of(self, j: int) -> MemoryState:
        """The state of one memory."""
        return MemoryState(map_tree(lambda leaf: leaf[j], self.mixture.base), self.ring)


@part
class RememberedMixture(Wrapper):
    """`base` over the newest `memory` episodes, for states that are known by their features alone.

    The episodes are kept once; memories differ in the weights that they give to them. The plan is that of the
    memory that decides, as `RememberedLeastSquares` has it. On its way the values of all successors that are
    remembered come about, and with them the targets `y_τ = r_τ + V_{h+1}(s'_τ)` that the forecasts of all
    memories, `φᵀΛ_j⁻¹ Σ_τ ω_jτ φ_τ y_τ`, need. A fresh start is a copy of weights.
    """

    base: MixtureOfMemories = member(MixtureOfMemories)
    memory: int = count()

    def __post_init__(self) -> None:
        decision, weighing = self.base.decision, self.base.weighing
        if decision not in ("heaviest", "draw") or weighing != "together":
            expected = "let one memory decide, and be weighed together, where states cannot be counted"
            found = f"decision={decision!r} and weighing={weighing!r}"
            raise ArgumentError("mixture", expected, self.base, found)
        base: Any = self.base.base
        RememberedLeastSquares(base, self.memory)  # which checks both

    def init(self, features: FeatureTable) -> SharedState:
        base = _stacked([each.unweighed() for each in self._memories()])
        return SharedState(self.base.started(base, features.values), Ring.empty(self.spec, self.memory))

    def plan(self, state: SharedState, features: FeatureTable, key: Key) -> Any:
        j = int(self.base.deciding(state.mixture.log_weights, key).argmax())
        return self._memories()[j].plan(state.of(j), features, key)

    def act(self, plan: Any, h: Any, state: Any, uniform: Any) -> Any:
        return plan.action(h, state, uniform)

    def update(self, state: SharedState, features: FeatureTable, plan: Any, episode: Episode) -> SharedState:
        forecast, slot = self.forecast(state, plan, episode), int(state.mixture.tick) % self.memory
        base = _stacked(
            [
                memory.weighed(state.of(j).weighing, slot, state.ring.features[:, slot], episode)
                for j, memory in enumerate(self._memories())
            ]
        )
        mixture = self.base.weighed(state.mixture, forecast, base, base.sums.weight)
        return SharedState(mixture, state.ring.written(slot, episode))

    def forecast(self, state: SharedState, plan: MemoryPlan, episode: Episode) -> Forecast:
        """The forecasts of all memories for what came, before it is learnt from: `[J, H]`."""
        weighing: Weighing = state.mixture.base
        held = state.ring.held(int(state.mixture.tick))
        omega = weighing.weights[:, : held.rewards.shape[1]]
        cross = np.swapaxes(held.features, 1, 2) @ (plan.targets[..., None] * omega.T)  # [H, d, J]
        direction = spd_solve(weighing.sums.gram, episode.features)
        expected = np.vecdot(direction, np.moveaxis(cross, -1, 0))
        came = episode.rewards + plan.values_ahead(episode.successors)
        return Forecast(came - expected, np.vecdot(direction, episode.features))

    def diagnostics(self, state: SharedState) -> dict[str, Array]:
        return self.base.diagnostics(state.mixture._replace(base=state.mixture.base.sums))

    def moments(self, state: SharedState) -> Moments:
        """Those of the heaviest memory."""
        heaviest = int(overall(state.mixture.log_weights).argmax())
        return self._memories()[heaviest].moments(state.of(heaviest))

    def _memories(self) -> list[RememberedLeastSquares]:
        num = self.base.num_memories
        return [RememberedLeastSquares(at(self.base.base, j), self.memory) for j in range(num)]


def _stacked(trees: list[Any]) -> Any:
    return map_tree(lambda *leaves: np.stack(leaves), *trees)

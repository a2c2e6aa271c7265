"""Value iteration over the newest episodes, which are kept, for states that cannot be counted."""

from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base import Spec, WeightFunction, Wrapper
from driftwise.base.arrays import map_stacked, map_tree, spd_inverse, spd_solve, write_at
from driftwise.base.part import count, index_part, member, part
from driftwise.base.random import choose_index
from driftwise.base.types import Array, Episode, FeatureTable, Forecast, Key, Moments, Plan, Sample
from driftwise.base.validation import ArgumentError, require_instance
from driftwise.parts import LeastSquares, SlidingWindow, Thompson, TruncatedThompson
from driftwise.parts.least_squares import mix_with_ceiling
from driftwise.parts.regression import empty_moments, linear


class Ring(NamedTuple):
    """The episodes that are kept, one in each slot."""

    features: np.ndarray  # [H, L, d]
    rewards: np.ndarray  # [H, L]
    ahead: np.ndarray  # [H, L, A, d] of all actions in the state that followed

    @classmethod
    def empty(cls, spec: Spec, num_slots: int) -> "Ring":
        """Return a ring without episodes."""
        lead = spec.horizon, num_slots
        ahead = np.zeros((*lead, spec.num_actions, spec.dim))
        return cls(np.zeros((*lead, spec.dim)), np.zeros(lead), ahead)

    def filled(self, num_episodes: int) -> "Ring":
        """Return the slots in use after so many episodes, as views."""
        return Ring(*(array[:, :num_episodes] for array in self))

    def store(self, number: int, episode: Episode) -> "Ring":
        """Return the ring with the episode of that number in the place of the oldest, written in place."""
        place, parts = (slice(None), number % len(self.rewards[0])), (episode.features, episode.rewards)
        return Ring(*map(write_at, self, [place] * 3, (*parts, episode.successors)))


class SlotWeights(NamedTuple):
    """The weights of slots, and the sums with these weights."""

    clock: Moments  # a regression of 1 on the slots: its sums are the weights ω of their episodes
    sums: Moments  # of the regression of every step: Λ and Λ̃

    @property
    def weights(self) -> np.ndarray:
        """`ω` of each slot: `[L]`."""
        return self.clock.cross[..., 0, 1:]


class MemoryState(NamedTuple):
    """The newest L episodes and their weights."""

    weighing: Any  # `SlotWeights`; or a `MixtureState`, whose base is that of all memories, `[J, ...]`
    ring: Ring


class MemoryPlan(NamedTuple):
    """A plan for any state; its tables are of the states of one episode, one state in each step."""

    base: Any  # the `LeastSquares` that it is a plan of
    weights: np.ndarray  # [H, d]
    inverse: np.ndarray  # [H, d, d]
    moments: Moments
    unit: np.ndarray  # [H] of exploration
    shift: np.ndarray | None  # [H, d] a draw that is added to the weights
    key: Key
    bonus: Any = None  # [H, 1, A]
    q: Any = None
    policy: Any = None
    values: Any = None  # [H, 1]
    drawn: Any = None
    targets: Any = None  # [H, n] `r + V_{h+1}(s')` of the episodes that are kept

    value = Plan.value
    residuals = Plan.residuals

    def successor_values(self, successors: np.ndarray) -> np.ndarray:
        """Return `V_{h+1}` at the state that followed step h, 0 after the last: `[H]`."""
        return np.append(self.values[1:, 0], 0.0)

    def index_at(self, h: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return index and bonus in step h of actions with features `[N, d]`."""
        exploration, table, here = self.base.exploration, FeatureTable(rows), slice(h, h + 1)
        gram_sq = None if self.moments.gram_sq is None else self.moments.gram_sq[here]
        step = self.moments._replace(gram=self.moments.gram[here], gram_sq=gram_sq)
        if self.shift is None:
            bonus = exploration.perturb(self.inverse[here], step, table, self.key)[0]
        else:
            bonus = linear(table, self.shift[h])
        bonus = bonus * self.unit[h]
        q = linear(table, self.weights[h]) + bonus
        doubt = exploration.doubt(self.inverse[here], step, table)
        return (q, bonus) if doubt is None else mix_with_ceiling(q, bonus, doubt[0], len(self.weights) - h)

    def action(self, h: int, rows: np.ndarray, uniform: float) -> int:
        """Return the action in step h of a state whose actions have features `[A, d]`."""
        index, _ = self.index_at(h, rows)
        return choose_index(np.cumsum(self.base.exploration.policy(index)), uniform)

    def fill_tables(self, actions: np.ndarray) -> "MemoryPlan":
        """Return the plan with its tables for the states of each step, features `[H, A, d]`."""
        steps = [self.index_at(h, rows) for h, rows in enumerate(actions)]
        q, bonus = (np.stack(parts)[:, None] for parts in zip(*steps, strict=True))
        values = self.base.clip_values(q.max(axis=-1), self.base.ceilings[:, None])
        return self._replace(bonus=bonus, q=q, policy=self.base.exploration.policy(q), values=values)


@part
class RememberedLeastSquares(Wrapper):
    """`base` over the newest `memory` episodes, for states that are known by their features alone.

    For `h = H … 1`, over the episodes τ that are kept, with the weights ω of the base's forgetting:
    `w_h = Λ_h⁻¹ Σ_τ ω φ_τ (r_τ + V_{h+1}(s'_τ))`, `V_{h+1}(s') = clip(max_a Q_{h+1}(s', a))`. A plan costs
    `O(H · memory · A · d²)`; `truncation_bound` bounds the change.
    """

    base: LeastSquares = member(LeastSquares)
    memory: int = count()

    def __post_init__(self) -> None:
        forgetting = require_instance("base.forgetting", self.base.forgetting, WeightFunction)
        if isinstance(forgetting, SlidingWindow) and self.memory <= np.max(forgetting.length):
            least = int(np.max(forgetting.length)) + 1  # the newest is in before the oldest is out
            raise ArgumentError("memory", f"be at least {least} for {forgetting}", self.memory)

    def init(self, features: FeatureTable) -> MemoryState:
        return MemoryState(self.initial_weights(), Ring.empty(self.spec, self.memory))

    def plan(self, state: MemoryState, features: FeatureTable, key: Key) -> Any:
        moments, weights = self.moments(state), np.zeros((self.spec.horizon, self.spec.dim))
        inverse, exploration, shift = spd_inverse(moments.gram), self.base.exploration, None
        if isinstance(exploration, (Thompson, TruncatedThompson)):  # linear in φ, drawn for all steps at once
            shift = exploration.perturb(inverse, moments, FeatureTable(np.eye(self.spec.dim)), key)
        kept = state.ring.filled(int(moments.tick))
        omega, targets = state.weighing.weights[: kept.rewards.shape[1]], kept.rewards.copy()
        unit = self.base.exploration_unit(moments)
        plan = MemoryPlan(self.base, weights, inverse, moments, unit, shift, key, targets=targets)
        for h in reversed(range(self.spec.horizon)):
            weights[h] = inverse[h] @ ((omega * targets[h]) @ kept.features[h])
            if h > 0:  # the values of the states that followed the step before
                ahead = kept.ahead[h - 1]
                index = plan.index_at(h, ahead.reshape(-1, ahead.shape[-1]))[0].reshape(ahead.shape[:-1])
                targets[h - 1] += self.base.clip_values(index.max(axis=-1), self.base.ceilings[h])
        return plan

    def act(self, plan: Any, h: Any, state: Any, uniform: Any) -> Any:
        return plan.action(h, state, uniform)

    def update(self, state: MemoryState, features: FeatureTable, plan: Any, episode: Episode) -> MemoryState:
        weighing = self.update_weights(state.weighing, state.ring, episode)
        return MemoryState(weighing, state.ring.store(int(state.weighing.sums.tick), episode))

    def moments(self, state: MemoryState) -> Moments:
        """Return `Λ` and `Λ̃` of every step, sums over the episodes that are kept."""
        return state.weighing.sums._replace(memory=())

    def initial_weights(self) -> SlotWeights:
        """Return the weights before the first episode."""
        spec, forgetting, tick = self.spec, self.base.forgetting, _tick(0)
        nothing = np.zeros(spec.horizon)
        sample = Sample(np.zeros((spec.horizon, spec.dim)), nothing, nothing, nothing)
        uses = self.base.exploration.uses_gram_sq
        sums = forgetting.init(empty_moments(sample, 0, self.base.ridge, gram_sq=uses), sample)
        sums = sums._replace(noise=self.base.initial_noise(nothing))
        return SlotWeights(forgetting.init(empty_moments(tick, self.memory, 0.0, gram_sq=False), tick), sums)

    def update_weights(
        self, weighing: SlotWeights, ring: Ring, episode: Episode, squares: np.ndarray | None = None
    ) -> SlotWeights:
        """Return the weights after an episode, which is about to replace the oldest one of the ring.

        `squares` are the squared errors of its forecasts, for an agent that learns the noise.
        """
        clock, sums = weighing
        slot = int(sums.tick) % self.memory
        leaving, weight = ring.features[:, slot], weighing.weights[slot]
        clock = clock._replace(cross=write_at(clock.cross.copy(), (0, 1 + slot), 0.0))
        if weight > 0:
            outer = leaving[:, :, None] * leaving[:, None]
            gram_sq = None if sums.gram_sq is None else sums.gram_sq - weight * weight * outer
            sums = sums._replace(gram=sums.gram - weight * outer, gram_sq=gram_sq)
        once = np.ones(len(leaving))
        sample = Sample(episode.features, episode.rewards, np.zeros_like(once), once)
        clock = self.base.forgetting.update(clock, _tick(slot))
        updated = SlotWeights(clock, self.base.update_moments(sums, sample, squares))
        omega = updated.weights
        return updated._replace(sums=updated.sums._replace(weight=omega.sum(), weight_sq=omega @ omega))


@part
class RememberedMixture(Wrapper):
    """`base` over the newest `memory` episodes, which are kept once; memories differ in their weights.

    The plan is that of the memory that decides, as in `RememberedLeastSquares`. It computes the targets
    `y_τ = r_τ + V_{h+1}(s'_τ)` for the forecasts of all memories, `φᵀΛ_j⁻¹ Σ_τ ω_jτ φ_τ y_τ`.
    """

    base: MixtureOfMemories = member(MixtureOfMemories)
    memory: int = count()
    act = RememberedLeastSquares.act

    def __post_init__(self) -> None:
        self._memories()  # which checks both

    def _memories(self) -> RememberedLeastSquares:
        """Return the memories, stacked as one."""
        base: Any = self.base.base
        return RememberedLeastSquares(base, self.memory)

    def init(self, features: FeatureTable) -> MemoryState:
        like = features.values
        base = map_stacked(lambda memory, _: memory.initial_weights(), self._memories(), None, like)
        return MemoryState(self.base.initial_state(base, like), Ring.empty(self.spec, self.memory))

    def plan(self, state: MemoryState, features: FeatureTable, key: Key) -> Any:
        j = int(self.base.choose_memory(state.weighing.log_weights, key))
        return index_part(self._memories(), j).plan(_state_of(state, j), features, key)

    def update(self, state: MemoryState, features: FeatureTable, plan: Any, episode: Episode) -> MemoryState:
        def update(memory: RememberedLeastSquares, inputs: tuple[SlotWeights, np.ndarray]) -> SlotWeights:
            return memory.update_weights(inputs[0], state.ring, episode, inputs[1])

        forecast = self.forecast(state, plan, episode)
        inputs = state.weighing.base, forecast.squares
        base = map_stacked(update, self._memories(), inputs, episode.features)
        mixture = self.base.absorb_forecasts(state.weighing, forecast, base, base.sums.weight)
        return MemoryState(mixture, state.ring.store(int(state.weighing.tick), episode))

    def forecast(self, state: MemoryState, plan: MemoryPlan, episode: Episode) -> Forecast:
        """Return the forecasts of an episode by all memories, before they learn from it: `[J, H]`."""
        mixture: MixtureState = state.weighing
        weighing, kept = mixture.base, state.ring.filled(int(mixture.tick))
        omega = weighing.weights[:, : kept.rewards.shape[1]]
        cross = np.swapaxes(kept.features, 1, 2) @ (plan.targets[..., None] * omega.T)  # [H, d, J]
        direction = spd_solve(weighing.sums.gram, episode.features)
        expected = np.vecdot(direction, np.moveaxis(cross, -1, 0))
        targets = episode.rewards + plan.successor_values(episode.successors)
        return Forecast(targets - expected, np.vecdot(direction, episode.features))

    def diagnostics(self, state: MemoryState) -> dict[str, Array]:
        return self.base.diagnostics(state.weighing._replace(base=state.weighing.base.sums))

    def moments(self, state: MemoryState) -> Moments:
        """Return the moments of the heaviest memory."""
        heaviest = int(state.weighing.log_weights.argmax())
        return _state_of(state, heaviest).weighing.sums._replace(memory=())


def _state_of(mixed: MemoryState, j: int) -> MemoryState:
    """Return the state of one memory of a mixture."""
    return MemoryState(map_tree(lambda leaf: leaf[j], mixed.weighing.base), mixed.ring)


def _tick(slot: int) -> Sample:
    return Sample(np.ones(1), np.ones(()), np.asarray(slot, dtype=np.int32), np.ones(()))

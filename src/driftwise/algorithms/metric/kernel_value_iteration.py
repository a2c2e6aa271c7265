"""Optimistic value iteration on means over a neighbourhood: the agent behind Kernel-UCBVI and KeRNS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan
from driftwise.base.part import member, number, part
from driftwise.base.types import (
    Array,
    Episode,
    FeatureTable,
    Forgetting,
    Key,
    Moments,
    Numeric,
    Plan,
    Sample,
    Spec,
)
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.regression import empty_moments


class KernelState(NamedTuple):
    """Moments of every pair, over visits nearby, and which pairs were ever visited."""

    moments: Moments  # gram [H, N, 1, 1], cross [H, N, 1, 1+S]
    visited: Array  # [H, N]


@part
class KernelValueIteration(Agent):
    r"""Backward induction on kernel-weighted means, with a bonus for what has few visits nearby.

    A visit of `v` counts `κ(u, v) = exp(−ρ(u, v)²/2σ²)` times at every pair `u`, so that each pair has a
    ridge regression of its own on the one feature 1: its `gram` is the generalised count `C = β + Σ ω κ`, and
    any forgetting applies. For `h = H … 1`, with `(r̂, P̂)` the sums of rewards and successors divided by `C`:
    `Q̃ = r̂ + P̂V_{h+1} + radius/√C + βH/C + c·Lσ`, `Q(u) = min_v (Q̃(v) + Lρ(u, v))` over pairs `v` visited so
    far at this step (`H−h+1` if there are none), and `V_h = min(max_a Q, H−h+1)`.

    `ridge` is β, `bandwidth` σ, `lipschitz` L and `bias_scale` c; ρ adds the distances of states and actions.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    bandwidth: Numeric = number(above=0)
    radius: Numeric = number(at_least=0)
    lipschitz: Numeric = number(at_least=0)
    ridge: Numeric = number(above=0, default=0.05)
    bias_scale: Numeric = number(at_least=0, default=1.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("positions",)

    def init(self, features: FeatureTable) -> KernelState:
        positions: Array = features.positions
        xp, dtype, horizon = namespace(positions), positions.dtype, self.spec.horizon
        nowhere = xp.zeros(horizon, dtype=xp.int32)
        sample = self._sample(
            Episode(nowhere, nowhere, None, xp.zeros(horizon, dtype=dtype), nowhere), positions
        )
        everywhere = sample._replace(features=xp.ones((horizon, len(positions), 1), dtype=dtype))
        moments = empty_moments(everywhere, self.spec.num_states, self.ridge, gram_sq=False)
        visited = xp.zeros((horizon, len(positions)), dtype=xp.bool)
        return KernelState(self.forgetting.init(moments, sample), visited)

    def plan(self, state: KernelState, features: FeatureTable, key: Key) -> Plan:
        xp, spec = namespace(state.visited), self.spec
        count, cross = state.moments.gram[..., 0, 0], state.moments.cross[..., 0, :]
        away = self.lipschitz * distances(features.positions, features.positions)
        bias = self.bias_scale * self.lipschitz * self.bandwidth
        bonus = self.radius / xp.sqrt(count) + self.ridge * spec.horizon / count + bias
        most = xp.asarray(np.arange(spec.horizon, 0, -1), dtype=count.dtype)  # from each step on

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            count, cross, bonus, visited, most = x
            raised = (cross[:, 0] + cross[:, 1:] @ value) / count + bonus
            nearest = xp.min(xp.where(visited, raised, xp.inf) + away, axis=-1)
            q = xp.where(xp.any(visited), nearest, most).reshape((spec.num_states, -1))
            value = xp.minimum(xp.max(q, axis=-1), most)
            return value, (q, greedy_policy(q), value)

        start = xp.zeros(spec.num_states, dtype=count.dtype)
        xs = (count, cross, bonus, state.visited, most)
        _, (q, policy, values) = scan(step, start, xs, reverse=True)
        weights = xp.zeros((spec.horizon, 0), dtype=count.dtype)
        return Plan(weights, bonus.reshape(q.shape), q, policy, values)

    def update(self, state: KernelState, features: FeatureTable, plan: Plan, episode: Episode) -> KernelState:
        positions: Array = features.positions
        xp = namespace(state.visited)
        moments = self.forgetting.update(state.moments, self._sample(episode, positions))
        here = self._pair(episode)[:, None] == xp.arange(len(positions))
        return KernelState(moments, state.visited | here)

    def _pair(self, episode: Episode) -> Array:
        return episode.states * self.spec.num_actions + episode.actions

    def _sample(self, episode: Episode, positions: Array) -> Sample:
        """An episode as one sample of all pairs' regressions, `κ` times; its shapes broadcast to `[H, N]`."""
        xp = namespace(positions)
        scaled = distances(positions[self._pair(episode)], positions) / self.bandwidth
        scaled = xp.minimum(scaled, xp.asarray(1e3, dtype=scaled.dtype))  # where κ is zero in any precision
        rewards = episode.rewards[:, None]
        return Sample(
            features=xp.ones_like(rewards)[..., None],
            reward=rewards,
            successor=episode.successors[:, None],
            count=xp.exp(-scaled * scaled / 2),
        )


def distances(first: Array, second: Array) -> Array:
    """`ρ(u, v) = Σ_i |u_i − v_i|` of positions `[M, k]` and `[N, k]`: `[M, N]`."""
    xp = namespace(first)
    return xp.sum(xp.abs(first[:, None] - second[None]), axis=-1)

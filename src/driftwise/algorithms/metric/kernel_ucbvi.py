"""Kernel-UCBVI, and with time weights KeRNS: optimistic value iteration on means over a neighbourhood."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack, get_args

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import AnyForgetting, choose_forgetting
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan
from driftwise.base.knowledge import Positions
from driftwise.base.part import member, number, part
from driftwise.base.types import (
    Array,
    Episode,
    FeatureTable,
    Key,
    Moments,
    Numeric,
    Plan,
    Sample,
    Spec,
    Variation,
    WeightFunction,
)
from driftwise.base.validation import require_choice, require_instance, require_number
from driftwise.parts.policies import greedy_policy
from driftwise.parts.regression import empty_moments
from driftwise.theory.metric_tuning import KernelTuning, kernel_bandwidth, kernel_rate
from driftwise.theory.tuning import tabular_log_term


class KernelState(NamedTuple):
    """Moments of every pair, over visits nearby, and which pairs were ever visited."""

    moments: Moments  # gram [H, N, 1, 1], cross [H, N, 1, 1+S]
    visited: Array  # [H, N]


@part
class KernelValueIteration(Agent):
    r"""Backward induction on kernel-weighted means: the agent of `kernel_ucbvi`.

    A visit of `v` counts `κ(u, v) = exp(−ρ(u, v)²/2σ²)` times at every pair `u`, so that each pair has a
    ridge regression of its own on the one feature 1: its `gram` is the generalised count `C = β + Σ ω κ`, and
    any weight function applies.
    """

    spec: Spec = member(Spec)
    forgetting: WeightFunction = member(WeightFunction)
    bandwidth: Numeric = number(above=0)
    radius: Numeric = number(at_least=0)
    lipschitz: Numeric = number(at_least=0)
    ridge: Numeric = number(above=0, default=0.05)
    bias_scale: Numeric = number(at_least=0, default=1.0)

    @property
    def needs(self) -> tuple[type, ...]:
        return (Positions,)

    def init(self, features: FeatureTable) -> KernelState:
        positions: Array = features.get(Positions).array
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
        positions: Array = features.get(Positions).array
        away = self.lipschitz * l1_distances(positions, positions)
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
        positions: Array = features.get(Positions).array
        xp = namespace(state.visited)
        moments = self.forgetting.update(state.moments, self._sample(episode, positions))
        here = self._pair(episode)[:, None] == xp.arange(len(positions))
        return KernelState(moments, state.visited | here)

    def _pair(self, episode: Episode) -> Array:
        return episode.states * self.spec.num_actions + episode.actions

    def _sample(self, episode: Episode, positions: Array) -> Sample:
        """An episode as one sample of all pairs' regressions, `κ` times; its shapes broadcast to `[H, N]`."""
        xp = namespace(positions)

        def made(origin: tuple[Array, ...]) -> Sample:
            pairs, rewards, successors = origin
            scaled = l1_distances(positions[pairs], positions) / self.bandwidth
            scaled = xp.minimum(scaled, xp.asarray(1e3, dtype=scaled.dtype))  # where κ is 0 in any precision
            return Sample(
                features=xp.ones_like(rewards)[:, None, None],
                reward=rewards[:, None],
                successor=successors[:, None],
                count=xp.exp(-scaled * scaled / 2),
            )

        return Sample.from_origin((self._pair(episode), episode.rewards, episode.successors), made)


def l1_distances(first: Array, second: Array) -> Array:
    """`ρ(u, v) = Σ_i |u_i − v_i|` of positions `[M, k]` and `[N, k]`: `[M, N]`."""
    xp = namespace(first)
    return xp.sum(xp.abs(first[:, None] - second[None]), axis=-1)


def tune_kernel_ucbvi(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    variations: Variation | None = None,
    lipschitz: float = 1.0,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    tuning: KernelTuning = "ours",
) -> dict[str, Any]:
    r"""The rate and the bandwidth of a regret bound of KeRNS, up to constants, in the unit square.

    `tuning="ours"` is for $\Delta = \Delta_r + \Delta_p$, the `variation`. `"paper_r1"` and `"paper_r2"` have
    the bounds of the paper's Table 1, see `driftwise.theory.metric_tuning.kernel_rate`, for
    $\Delta_r + L\Delta_p$ with $L$ the `lipschitz` constant: it comes from `variations`, and `variation` is
    not used. Both are those of the pair that moves most: `environment.variation(K, norm="pairs")` and its
    `total`. The paper's $\Delta_p$ has Wasserstein distances: at most half the L1 norms on the unit interval.

    The radius is that of Hoeffding's inequality over steps, episodes and pairs,
    $H\sqrt{\log(2HKSA/\delta)/2}$, times `beta_scale`: the bound's has constants that nobody would use.
    """
    lipschitz = require_number("lipschitz", lipschitz, at_least=0)
    if require_choice("tuning", tuning, get_args(KernelTuning)) != "ours":
        moves = require_instance("variations", variations, Variation)
        variation = moves.reward_budget + lipschitz * moves.transition_budget
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    scale = require_number("beta_scale", beta_scale, at_least=0)
    log_term = tabular_log_term(spec, 2, num_episodes=num_episodes, delta=delta)
    return dict(
        bandwidth=kernel_bandwidth(**run, tuning=tuning),
        radius=scale * spec.horizon * math.sqrt(log_term / 2),
        lipschitz=lipschitz,
        rate=kernel_rate(**run, horizon=spec.horizon, tuning=tuning),
    )


@tuned_by(tune_kernel_ucbvi, "bandwidth", "radius", "lipschitz", *AnyForgetting.__annotations__)
@register(
    "none, or any of them",
    "UCB on kernel-weighted counts",
    bound="Δ^(1/(2d+2)) K^((2d+1)/(2d+2)) in dimension d, ours, powers of H left out",
)
def kernel_ucbvi(
    spec: Spec,
    *,
    bandwidth: Numeric,
    radius: Numeric,
    lipschitz: Numeric,
    ridge: Numeric = 0.05,
    bias_scale: Numeric = 1.0,
    **forgetting: Unpack[AnyForgetting],
) -> KernelValueIteration:
    r"""Optimistic value iteration whose means are weighted by nearness, and by age: Kernel-UCBVI and KeRNS.

    With $u = (x, a)$, the metric $\rho(u, v) = |x_u - x_v| + |a_u - a_v|$ and the pairs $u_{s,h}$ visited,
    $$w_s(u) = \eta^{k-1-s} \exp\Bigl(-\frac{\rho(u, u_{s,h})^2}{2\sigma^2}\Bigr), \qquad
      C_h(u) = \beta + \sum_{s<k} w_s(u),$$
    $$\tilde Q_h(u) = \frac{1}{C_h(u)} \sum_{s<k} w_s(u) \bigl(r_{s,h} + V_{h+1}(x_{s,h+1})\bigr)
      + \frac{b}{\sqrt{C_h(u)}} + \frac{\beta H}{C_h(u)} + c L \sigma,$$
    $$Q_h(u) = \min_{s<k} \bigl(\tilde Q_h(u_{s,h}) + L \rho(u, u_{s,h})\bigr), \qquad
      V_h(x) = \min\{\max_a Q_h(x, a), H-h+1\}.$$

    The greedy policy acts on $Q$, which is $H-h+1$ before the first episode. A visit is counted at all pairs
    when it is made, so an episode costs the same however many there were before. The agent needs
    `positions`; an environment without them is refused.

    Args:
      bandwidth: $\sigma > 0$.
      radius: $b \ge 0$; in theory $H$ times logarithms.
      lipschitz: $L \ge 0$, of the optimal action values.
      ridge: $\beta > 0$.
      bias_scale: $c \ge 0$; 0 leaves out what smoothing may hide, as is done in practice.
      directional: is refused: it forgets as much for a visit far away as for one nearby.
    When to use: states and actions are points with a distance, and what is learnt at one should count at
    its neighbours.
    When not: there is no meaningful distance. A wrong one mixes pairs that have nothing in common.
    Reference: Domingues, Ménard, Pirotta, Kaufmann & Valko 2021, Algorithms 1 and 3; without forgetting their
    2021.
    Deviations from the papers: the terms of the bonus have one factor each in the place of constants and
    logarithms; ties are broken at random.
    """
    chosen = require_instance("forgetting", choose_forgetting(**forgetting), WeightFunction)
    return KernelValueIteration(spec, chosen, bandwidth, radius, lipschitz, ridge, bias_scale)

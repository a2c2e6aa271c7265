"""States and actions with a distance: adaptive Q-learning, and Kernel-UCBVI and KeRNS."""

import math
from typing import Any, NamedTuple, Unpack, get_args

import numpy as np

from driftwise import theory
from driftwise.algorithms import any_forgetting
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import KEYWORDS, AnyForgetting, TheoryRun, read_run
from driftwise.algorithms.tabular.counting import greedy_plan
from driftwise.base import Agent, Positions, Sample, Variation, WeightFunction, member, number
from driftwise.base.arrays import namespace, scan, where_tree
from driftwise.base.part import part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_instance, require_number
from driftwise.parts.regression import empty_moments
from driftwise.theory.tuning import KernelTuning, tabular_log_term


class Partition(NamedTuple):
    """Squares of pairs, each pair with the values of its square, so that cutting one changes a depth."""

    q: Array  # [H, N]
    bonus: Array  # [H, N] all bonuses that q contains
    count: Array  # [H, N] visits of the square, and of those it was cut from
    depth: Array  # [H, N] cuts that led to it: its sides are 2^−depth long
    tick: Array  # episodes since the last restart


@part
class AdaptiveQLearning(Agent):
    """The agent of `adaptive_q_learning`. Intervals are closed above, and the first also below."""

    needs = (Positions,)
    spec: Spec = member(Spec)
    radius: Numeric = number(at_least=0)
    period: Numeric = number(at_least=0, integer=True, default=0)

    def init(self, features: FeatureTable) -> Partition:
        positions: Array = features.get(Positions).array
        if (coordinates := positions.shape[-1]) != 2:
            raise ArgumentError("positions", "have 2 coordinates, of state and action", coordinates)
        return self._initial_state(positions)

    def plan(self, state: Partition, features: FeatureTable, key: Key) -> Plan:
        shape = (self.spec.horizon, self.spec.num_states, self.spec.num_actions)
        return greedy_plan(state.q.reshape(shape), state.bonus.reshape(shape), self.spec.horizon)

    def update(self, state: Partition, features: FeatureTable, plan: Plan, episode: Episode) -> Partition:
        positions: Array = features.get(Positions).array
        xp, horizon = namespace(state.q), self.spec.horizon
        pair, steps = episode.states * self.spec.num_actions + episode.actions, np.arange(self.spec.horizon)
        depth, count = state.depth[steps, pair][:, None], state.count[steps, pair][:, None] + 1
        sides = xp.astype(1 << depth, positions.dtype)[..., None]  # how many of them make one
        square = xp.maximum(xp.ceil(positions * sides), 1.0)  # [H, N, 2]
        here = xp.all(square == square[steps, pair][:, None], axis=-1)

        newest = self.radius / xp.sqrt(count)
        goal = (episode.rewards + plan.successor_values(episode.successors))[:, None] + newest
        share = (horizon + 1) / (horizon + count)
        q = xp.where(here, (1 - share) * state.q + share * goal, state.q)
        bonus = xp.where(here, (1 - share) * state.bonus + share * newest, state.bonus)
        depth = xp.where(here & (count >= sides[..., 0] ** 2), depth + 1, state.depth)
        learnt = Partition(q, bonus, xp.where(here, count, state.count), depth, state.tick + 1)
        return where_tree(learnt.tick == self.period, self._initial_state(positions), learnt)

    def _initial_state(self, positions: Array) -> Partition:
        xp, shape = namespace(positions), (self.spec.horizon, len(positions))
        nothing, whole = xp.zeros(shape, dtype=positions.dtype), xp.zeros(shape, dtype=xp.int32)
        most = nothing + self.spec.horizon
        return Partition(most, most, nothing, whole, xp.asarray(0, dtype=xp.int64))


def tune_adaptive_q_learning(
    spec: Spec, *, variation: float = 0.0, lipschitz: float = 1.0, **run: Unpack[TheoryRun]
) -> dict[str, Any]:
    r"""The radius of the theorem, $2\sqrt{H^3\log(4HK/\delta)} + 4L$, and a period of ours.

    The `variation` is `environment.variation(K, norm="pairs").total`; for 0 the period is the whole run.
    """
    options, num_episodes = read_run(TheoryRun, run), run["num_episodes"]
    period = theory.tuning.partition_period(num_episodes=num_episodes, variation=variation)
    lipschitz = require_number("lipschitz", lipschitz, at_least=0)
    noise = 2 * math.sqrt(spec.horizon**3 * math.log(4 * spec.horizon * num_episodes / options["delta"]))
    return dict(radius=options["beta_scale"] * (noise + 4 * lipschitz), period=period)


@tuned_by(tune_adaptive_q_learning, "radius", "period")
@register("none, or restarts", "UCB on squares", bound="H^(5/2) K^((d+1)/(d+2)) in dimension d, stationary")
def adaptive_q_learning(spec: Spec, *, radius: Numeric, period: Numeric | None = None) -> AdaptiveQLearning:
    r"""Optimistic Q-learning on an adaptive partition of the square of states and actions.

    Every step has its own partition, at first the whole square $B_0$ with $Q_h(B_0) = H$. In state $x$ it
    draws an action in the square $B$ of largest $Q_h(B)$ among those that meet $x$. At the $t$-th visit
    $$Q_h(B) \leftarrow (1-\alpha_t) Q_h(B) + \alpha_t \Bigl(r + V_{h+1}(x') + \frac{b}{\sqrt t}\Bigr), \qquad
      \alpha_t = \frac{H+1}{H+t}, \qquad V_h(x) = \min\{H, \max_{B \ni x} Q_h(B)\},$$
    and once $t \ge (1/\mathrm{diam}(B))^2$, with $\mathrm{diam}(B_0) = 1$, $B$ is cut in four that inherit
    $Q_h(B)$ and $t$. The agent needs `positions`; an environment without them is refused.
    Args:
      radius: $b \ge 0$; in theory $2\sqrt{H^3\log(4HK/\delta)} + 4L$.
      period: episodes after which everything restarts; never, unless given.
    When to use: states and actions are points of an interval, and a table of all pairs would be too fine.
    When not: the problem drifts within an epoch. Squares keep what they learnt until the next restart.
    Reference: Sinclair, Banerjee & Yu 2019, Algorithm 1. Deviations from the paper: restarts are an addition.
    """
    return AdaptiveQLearning(spec, radius, 0 if period is None else period)


class KernelState(NamedTuple):
    moments: Moments  # gram [H, N, 1, 1], cross [H, N, 1, 1+S]
    visited: Array  # [H, N]


@part
class KernelValueIteration(Agent):
    """The agent of `kernel_ucbvi`.

    A visit of `v` counts `κ(u, v) = exp(−ρ(u, v)²/2σ²)` times in the ridge regression of every pair `u` on
    the one feature 1, whose `gram` is the generalised count `C = β + Σ ω κ`.
    """

    needs = (Positions,)
    spec: Spec = member(Spec)
    forgetting: WeightFunction = member(WeightFunction)
    bandwidth: Numeric = number(above=0)
    radius: Numeric = number(at_least=0)
    lipschitz: Numeric = number(at_least=0)
    ridge: Numeric = number(above=0, default=0.05)
    bias_scale: Numeric = number(at_least=0, default=1.0)

    def init(self, features: FeatureTable) -> KernelState:
        positions: Array = features.get(Positions).array
        xp, dtype, horizon = namespace(positions), positions.dtype, self.spec.horizon
        zero = xp.zeros(horizon, dtype=xp.int32)
        sample = self._sample(Episode(zero, zero, None, xp.zeros(horizon, dtype=dtype), zero), positions)
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
            return xp.minimum(xp.max(q, axis=-1), most), q

        start = xp.zeros(spec.num_states, dtype=count.dtype)
        _, q = scan(step, start, (count, cross, bonus, state.visited, most), reverse=True)
        return greedy_plan(q, bonus.reshape(q.shape), most[:, None, None])

    def update(self, state: KernelState, features: FeatureTable, plan: Plan, episode: Episode) -> KernelState:
        positions: Array = features.get(Positions).array
        moments = self.forgetting.update(state.moments, self._sample(episode, positions))
        here = self._pair(episode)[:, None] == namespace(state.visited).arange(len(positions))
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
            ones, count = xp.ones_like(rewards)[:, None, None], xp.exp(-scaled * scaled / 2)
            return Sample(ones, rewards[:, None], successors[:, None], count)

        return Sample.from_origin((self._pair(episode), episode.rewards, episode.successors), made)


def l1_distances(first: Array, second: Array) -> Array:
    """`ρ(u, v) = Σ_i |u_i − v_i|` of positions `[M, k]` and `[N, k]`: `[M, N]`."""
    xp = namespace(first)
    return xp.sum(xp.abs(first[:, None] - second[None]), axis=-1)


def tune_kernel_ucbvi(
    spec: Spec,
    *,
    variation: float,
    variations: Variation | None = None,
    lipschitz: float = 1.0,
    tuning: KernelTuning = "ours",
    **given: Unpack[TheoryRun],
) -> dict[str, Any]:
    r"""Rate and bandwidth of a bound of KeRNS, and $H\sqrt{\log(2HKSA/\delta)/2}$ times `beta_scale`.

    `tuning="ours"` is for $\Delta_r + \Delta_p$, the `variation`; `"paper_r1"` and `"paper_r2"`, see
    `driftwise.theory.tuning.kernel_rate`, for $\Delta_r + L\Delta_p$ with $L$ = `lipschitz`, from
    `variations`, `environment.variation(K, norm="pairs")`, of which `variation` is the `total`. The paper's
    $\Delta_p$ has Wasserstein distances: at most half the L1 norms on the unit interval.
    """
    lipschitz = require_number("lipschitz", lipschitz, at_least=0)
    if require_choice("tuning", tuning, get_args(KernelTuning)) != "ours":
        moves = require_instance("variations", variations, Variation)
        variation = moves.reward_budget + lipschitz * moves.transition_budget
    options = read_run(TheoryRun, given)
    scale = options.pop("beta_scale")
    run: dict[str, Any] = dict(num_episodes=given["num_episodes"], variation=variation)
    bandwidth = theory.tuning.kernel_bandwidth(**run, tuning=tuning)
    radius = scale * spec.horizon * math.sqrt(tabular_log_term(spec, 2, **options) / 2)
    rate = theory.tuning.kernel_rate(**run, horizon=spec.horizon, tuning=tuning)
    return dict(bandwidth=bandwidth, radius=radius, lipschitz=lipschitz, rate=rate)


@tuned_by(tune_kernel_ucbvi, "bandwidth", "radius", "lipschitz", *KEYWORDS)
@register(
    "none, or any",
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

    The greedy policy acts on $Q$, which is $H-h+1$ before the first episode. The agent needs `positions`.
    Args:
      bandwidth: $\sigma > 0$.
      radius: $b \ge 0$; in theory $H$ times logarithms.
      lipschitz: $L \ge 0$, of the optimal action values.
      ridge: $\beta > 0$.
      bias_scale: $c \ge 0$; 0 leaves out what smoothing may hide, as is done in practice.
      directional: is refused: it forgets as much for a visit far away as for one nearby.
    When to use: states and actions are points, and what is learnt at one should count at its neighbours.
    When not: there is no meaningful distance. A wrong one mixes pairs that have nothing in common.
    Reference: Domingues, Ménard, Pirotta, Kaufmann & Valko 2021, Algorithms 1 and 3; without forgetting their
    "Kernel-Based Reinforcement Learning: A Finite-Time Analysis", 2021.
    Deviations from the papers: each term of the bonus has one factor for constants and logarithms.
    """
    chosen = require_instance("forgetting", any_forgetting.choose_forgetting(**forgetting), WeightFunction)
    return KernelValueIteration(spec, chosen, bandwidth, radius, lipschitz, ridge, bias_scale)

"""OPPO: optimistic policy optimisation for mixtures of known kernels."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import (
    AnyForgetting,
    ForgettingKind,
    choose_forgetting,
    linear_keyword,
)
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan
from driftwise.base.knowledge import AnchorMeasures, MeanRewards
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
    Radius,
    Spec,
)
from driftwise.base.validation import require_number
from driftwise.parts import MixtureRadius
from driftwise.parts.exploration import radius_at
from driftwise.parts.regression import linear, quadratic
from driftwise.parts.value_targeted import empty_mixture, expected_values, mixture_estimate, value_sample
from driftwise.theory.tuning import mirror_descent_step, restart_period


class PolicyState(NamedTuple):
    """The regression of values on predictions, and the policy of the next episode."""

    moments: Moments  # gram [H, J, J], cross [H, J, 1]
    log_policy: Array  # [H, S, A], normalised


@part
class PolicyOptimisation(Agent):
    """Mirror descent on the policy, with an optimistic estimate of its action values: the agent of `oppo`."""

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    step_size: Numeric = number(at_least=0)
    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    ridge: Numeric = number(above=0, default=1.0)
    policy_period: Numeric = number(at_least=0, integer=True, default=0)

    @property
    def needs(self) -> tuple[type, ...]:
        return MeanRewards, AnchorMeasures

    def init(self, features: FeatureTable) -> PolicyState:
        shape = self.spec.horizon, self.spec.num_states, self.spec.num_actions
        even = namespace(features.values).zeros(shape, dtype=features.values.dtype)
        return PolicyState(empty_mixture(self.forgetting, features, self.ridge), normalise(even))

    def plan(self, state: PolicyState, features: FeatureTable, key: Key) -> Plan:
        xp, moments = namespace(state.log_policy), state.moments
        horizon, num_states, num_actions = state.log_policy.shape
        policy = xp.exp(state.log_policy)
        inverse, weights = mixture_estimate(moments)
        radius = xp.broadcast_to(radius_at(self.radius, moments), (horizon, 1))
        most = xp.asarray(np.arange(horizon, 0, -1), dtype=policy.dtype)  # that can be had from each step on

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            policy, rewards, measures, inverse, weights, radius, most = x
            predictions = expected_values(features, measures, value)
            squared = quadratic(predictions, inverse)
            bonus = radius * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))
            index = rewards + linear(predictions, weights) + bonus
            q = xp.reshape(xp.clip(index, 0, most), (num_states, num_actions))
            value = xp.sum(policy * q, axis=-1)
            return value, (xp.reshape(bonus, q.shape), q, value)

        measures = xp.moveaxis(features.get(AnchorMeasures).array, 1, 0)  # [H, J, d, S]
        xs = (policy, features.get(MeanRewards).array, measures, inverse, weights, radius, most)
        start = xp.zeros(num_states, dtype=policy.dtype)
        _, (bonus, q, values) = scan(step, start, xs, reverse=True)
        return Plan(weights, bonus, q, policy, values)

    def update(self, state: PolicyState, features: FeatureTable, plan: Plan, episode: Episode) -> PolicyState:
        xp = namespace(plan.q)
        sample = value_sample(features, plan.next_values, episode)
        moments = self.forgetting.update(state.moments, sample)
        period = xp.asarray(self.policy_period)
        over = (period > 0) & (moments.tick % xp.where(period > 0, period, 1) == 0)
        improved = state.log_policy + self.step_size * plan.q
        return PolicyState(moments, normalise(xp.where(over, xp.zeros_like(improved), improved)))


def normalise(logits: Array) -> Array:
    """Logarithms of the probabilities that are proportional to `exp(logits)`, over the last axis."""
    xp = namespace(logits)
    below = logits - xp.max(logits, axis=-1, keepdims=True)
    return below - xp.log(xp.sum(xp.exp(below), axis=-1, keepdims=True))


def tune_oppo(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float = 0.0,
    forgetting: ForgettingKind = "none",
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    """The step size and the radius of the theorem on OPPO's regret.

    Without forgetting, `variation` is not used. With any, the policy restarts after LSVI-UCB-Restart's
    period, with the step size for as many episodes; this is ours.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    memory = linear_keyword(spec, forgetting, **run)
    stretch = restart_period(dim=spec.dim, horizon=spec.horizon, **run) if memory else num_episodes
    delta = require_number("delta", delta, above=0, at_most=1)
    scale = require_number("beta_scale", beta_scale, at_least=0)
    return dict(
        step_size=mirror_descent_step(
            num_actions=spec.num_actions, horizon=spec.horizon, num_episodes=stretch
        ),
        radius=MixtureRadius(spec.horizon, num_episodes, delta, scale),
        policy_period=stretch if memory else 0,
        **memory,
    )


@tuned_by(tune_oppo, "step_size", "radius", "policy_period", *AnyForgetting.__annotations__)
@register(
    "none, or any of them; policy restarts",
    "UCB, mirror descent on the policy",
    bound="J H^2 K^(1/2) for J known kernels, against one policy",
)
def oppo(
    spec: Spec,
    *,
    step_size: Numeric,
    radius: Numeric | Radius,
    ridge: Numeric = 1.0,
    policy_period: Numeric | None = None,
    **forgetting: Unpack[AnyForgetting],
) -> PolicyOptimisation:
    r"""Optimistic proximal policy optimisation.

    It needs the kernels $\psi_j$ of $J$ anchors, of which the transitions are an unknown mixture
    $P_h = \sum_j c_j \psi_{j,h}$, and after each episode its rewards. From $V_{k,H+1} = 0$ backwards:
    $$\phi_{k,h}(s,a)_j = \sum_{s'} \psi_{j,h}(s' \mid s,a) V_{k,h+1}(s'), \qquad
      w_{k,h} = \Lambda_{k,h}^{-1} \sum_{\tau<k} \phi_{\tau,h} V_{\tau,h+1}(s_{\tau,h+1}), \qquad
      \Lambda_{k,h} = \sum_{\tau<k} \phi_{\tau,h} \phi_{\tau,h}^\top + \lambda I,$$
    $$Q_{k,h} = \min\{r_{k,h} + \phi_{k,h}^\top w_{k,h} + \beta\sqrt{\phi_{k,h}^\top \Lambda^{-1} \phi_{k,h}},
      H-h+1\}^+, \qquad V_{k,h} = \langle Q_{k,h}, \pi_{k,h} \rangle, \qquad
      \pi_{k+1,h} \propto \pi_{k,h} \exp(\alpha Q_{k,h}),$$

    where $\phi_{\tau,h}$ without an argument is that of the pair visited in episode $\tau$. The first policy
    is uniform. As $\psi_j$ are probabilities, $\|\phi\| \le H\sqrt J$ and $\|c\| \le 1$: the paper's bounds.

    Args:
      step_size: $\alpha \ge 0$.
      policy_period: episodes after which the policy is uniform again, 0 for never; `period` unless given, and
        0 without one.
    When to use: the policy should change gradually, and transitions are a mixture of kernels that you
    know.
    When not: the problem jumps and the policy is never restarted, or you know no kernels.
    Reference: Cai, Yang, Jin & Wang 2019, Algorithm 1.
    Deviations from the paper: none without forgetting. Forgetting and restarts of the policy are additions;
    a window for the estimate with restarts of the policy is the combination of PROPO (Zhong, Yang, Wang &
    Szepesvári 2021).
    """
    if policy_period is None:
        period = forgetting.get("period")
        policy_period = 0 if period is None else period
    chosen = choose_forgetting(**forgetting)
    return PolicyOptimisation(spec, chosen, step_size, radius, ridge, policy_period)

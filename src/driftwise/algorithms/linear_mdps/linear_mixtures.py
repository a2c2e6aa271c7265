"""OPPO, UCRL-VTR and UCRL-VTR+: transitions that are a mixture of known kernels."""

import math
from typing import Any, Literal, NamedTuple, Unpack

from driftwise.algorithms import any_forgetting
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import KEYWORDS, AnyForgetting, ForgettingRun, choose_forgetting
from driftwise.base import Agent, AnchorMeasures, Forgetting, MeanRewards, member, number
from driftwise.base.arrays import namespace, scan
from driftwise.base.part import part
from driftwise.base.schema import add_defaults
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Radius, Spec
from driftwise.base.validation import require_count
from driftwise.parts import BernsteinRadius, ConfidenceRadius, MixtureRadius, ValueTargeted, VarianceWeights
from driftwise.parts.exploration import radius_at
from driftwise.parts.regression import linear, quadratic, step_ceilings
from driftwise.parts.value_targeted import empty_mixture, expected_values, mixture_estimate, value_sample
from driftwise.theory.tuning import mirror_descent_step, opt_wlsvi_rate, restart_period


class PolicyState(NamedTuple):
    moments: Moments  # gram [H, J, J], cross [H, J, 1]
    log_policy: Array  # [H, S, A], normalised


@part
class PolicyOptimisation(Agent):
    """Mirror descent on the policy, with an optimistic estimate of its action values: the agent of `oppo`."""

    needs = (MeanRewards, AnchorMeasures)
    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    step_size: Numeric = number(at_least=0)
    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    ridge: Numeric = number(above=0, default=1.0)
    policy_period: Numeric = number(at_least=0, integer=True, default=0)

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
        most = xp.asarray(step_ceilings(horizon, tight=True), dtype=policy.dtype)

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            policy, rewards, measures, inverse, weights, radius, most = x
            predictions = expected_values(features, measures, value)
            bonus = radius * xp.sqrt(xp.maximum(quadratic(predictions, inverse), 0))
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
        moments = self.forgetting.update(state.moments, value_sample(features, plan.next_values, episode))
        period = xp.asarray(self.policy_period)
        over = (period > 0) & (moments.tick % xp.where(period > 0, period, 1) == 0)
        improved = state.log_policy + self.step_size * plan.q
        return PolicyState(moments, normalise(xp.where(over, xp.zeros_like(improved), improved)))


def normalise(logits: Array) -> Array:
    """Logarithms of the probabilities that are proportional to `exp(logits)`, over the last axis."""
    xp = namespace(logits)
    below = logits - xp.max(logits, axis=-1, keepdims=True)
    return below - xp.log(xp.sum(xp.exp(below), axis=-1, keepdims=True))


def tune_oppo(spec: Spec, *, num_episodes: int, **options: Unpack[ForgettingRun]) -> dict[str, Any]:
    """The step size and the radius of the theorem on OPPO's regret.

    With a forgetting the policy restarts after LSVI-UCB-Restart's period, with the step size for as many
    episodes; this is ours. Without, `variation` is not used.
    """
    given, horizon = any_forgetting.read_run(ForgettingRun, options), spec.horizon
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=given["variation"])
    memory = any_forgetting.linear_keyword(spec, given["forgetting"], **run)
    stretch = restart_period(dim=spec.dim, horizon=horizon, **run) if memory else num_episodes
    step = mirror_descent_step(num_actions=spec.num_actions, horizon=horizon, num_episodes=stretch)
    radius = MixtureRadius(horizon, num_episodes, given["delta"], given["beta_scale"])
    return dict(step_size=step, radius=radius, policy_period=stretch if memory else 0, **memory)


@tuned_by(tune_oppo, "step_size", "radius", "policy_period", *KEYWORDS)
@register(
    "none, or any; policy restarts",
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

    It needs kernels $\psi_j$ of which the transitions are an unknown mixture $P_h = \sum_{j\le J} c_j
    \psi_{j,h}$, and after each episode its rewards. From $V_{k,H+1} = 0$ backwards:
    $$\phi_{k,h}(s,a)_j = \sum_{s'} \psi_{j,h}(s' \mid s,a) V_{k,h+1}(s'), \qquad
      w_{k,h} = \Lambda_{k,h}^{-1} \sum_{\tau<k} \phi_{\tau,h} V_{\tau,h+1}(s_{\tau,h+1}), \qquad
      \Lambda_{k,h} = \sum_{\tau<k} \phi_{\tau,h} \phi_{\tau,h}^\top + \lambda I,$$
    $$Q_{k,h} = \min\{r_{k,h} + \phi_{k,h}^\top w_{k,h} + \beta\sqrt{\phi_{k,h}^\top \Lambda^{-1} \phi_{k,h}},
      H-h+1\}^+, \qquad V_{k,h} = \langle Q_{k,h}, \pi_{k,h} \rangle, \qquad
      \pi_{k+1,h} \propto \pi_{k,h} \exp(\alpha Q_{k,h}),$$
    where $\phi_{\tau,h}$ is that of the pair visited in episode $\tau$. The first policy is uniform.
    Args:
      step_size: $\alpha \ge 0$.
      policy_period: episodes after which the policy is uniform again, 0 for never; else `period` or 0.
    When to use: the policy should change gradually, and transitions mix kernels that you know.
    When not: the problem jumps and the policy is never restarted, or you know no kernels.
    Reference: Cai, Yang, Jin & Wang 2019, Algorithm 1.
    Deviations from the paper: forgetting and restarts of the policy are additions; a window with restarts is
    the combination of PROPO (Zhong, Yang, Wang & Szepesvári 2021).
    """
    if policy_period is None:
        period = forgetting.get("period")
        policy_period = 0 if period is None else period
    return PolicyOptimisation(spec, choose_forgetting(**forgetting), step_size, radius, ridge, policy_period)


def tune_ucrl_vtr(
    spec: Spec, *, num_kernels: int, num_episodes: int, **options: Unpack[ForgettingRun]
) -> dict[str, Any]:
    r"""$\beta = c(\sqrt{\lambda J} + \frac12\sqrt{2\log(1/\delta') + \ell})$, and a forgetting for a path.

    $J$ is `num_kernels`, `len(environment.mu)`. $\ell = \log(\det\Lambda/\lambda^J)$, or for exponential
    weights its bound $J\log(1 + \sum\omega^2/(\lambda J))$. $\delta' = \delta/(HN)$ with $N$ epochs for
    restarts, episodes for weights and windows, else 1. `beta_scale` is $c$. Exponential weights have
    $\log(1/\eta) = \sqrt{P/(JHK)}$ for `variation`, the path $P = \sum_{k,h} \|\theta_{k+1,h} -
    \theta_{k,h}\|$ of $\theta = \sqrt J c$; windows and epochs have $\lceil\sqrt{JHK/P}\rceil$ episodes.
    This is ours, by analogy with OPT-WLSVI, not proved.
    """
    given, memory = _options_and_memory(spec, num_kernels, num_episodes, options)
    by_epochs = given["forgetting"] in ("none", "restart")
    shares = -(-num_episodes // memory.get("period", num_episodes)) if by_epochs else num_episodes
    numbers: Any = dict(noise_scale=0.5, norm_bound=math.sqrt(num_kernels), delta=given["delta"])
    numbers |= dict(information="count" if given["forgetting"] == "exponential" else "determinant")
    numbers |= dict(spread="epochs" if by_epochs else "rounds", shares=spec.horizon * shares)
    return dict(radius=ConfidenceRadius(**numbers, scale=given["beta_scale"]), **memory)


def _options_and_memory(
    spec: Spec, num_kernels: int, num_episodes: int, options: ForgettingRun
) -> tuple[dict[str, Any], dict[str, Any]]:
    given, kernels = add_defaults(ForgettingRun, options), require_count("num_kernels", num_kernels)
    run: Any = dict(num_episodes=num_episodes, variation=given["variation"], horizon=spec.horizon)
    rate = opt_wlsvi_rate(dim=kernels, **run, tuning="horizon_aware")
    period = restart_period(dim=kernels * spec.horizon, **run)
    return given, any_forgetting.choose_keyword(given["forgetting"], rate, period)


@tuned_by(tune_ucrl_vtr, "radius", *KEYWORDS)
@register("none, or any", "UCB on a mixture of known kernels; rewards are known")
def ucrl_vtr(
    spec: Spec,
    *,
    radius: Numeric | Radius,
    ridge: Numeric = 1.0,
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> ValueTargeted:
    r"""Upper-confidence reinforcement learning with value-targeted regression.

    It needs kernels $\psi_j$ of which the transitions are an unknown mixture $P_h = \sum_{j\le J} c_{h,j}
    \psi_{j,h}$, and the rewards of the episode that it plans. From $V_{k,H+1} = 0$ backwards:
    $$x_{k,h}(s,a)_j = \frac{1}{H\sqrt J}\sum_{s'} \psi_{j,h}(s' \mid s,a) V_{k,h+1}(s'), \qquad
      \Lambda_{k,h} = \sum_{\tau<k} x_{\tau,h} x_{\tau,h}^\top + \lambda I, \qquad
      \hat\theta_{k,h} = \Lambda_{k,h}^{-1} \sum_{\tau<k} x_{\tau,h} V_{\tau,h+1}(s_{\tau,h+1})/H,$$
    $$Q_{k,h} = r_{k,h} + H\bigl(\hat\theta_{k,h}^\top x_{k,h} +
      \beta\sqrt{x_{k,h}^\top \Lambda_{k,h}^{-1} x_{k,h}}\bigr), \qquad
      V_{k,h}(s) = \max_a [Q_{k,h}(s,a)]_{[0,H]},$$
    where $x_{\tau,h}$ is that of the pair visited in episode $\tau$, with the values of that episode.
    $\hat\theta$ estimates $\sqrt J c_h$. Where it forgets, sums are weighted.
    When to use: transitions are an unknown mixture of a few kernels that you know, and rewards are known.
    When not: you know no kernels, or rewards have to be learnt.
    Reference: Ayoub, Jia, Szepesvári, Wang & Yang 2020, Algorithm 3 of the supplement, for linear mixtures.
    Each pair has the mixture that is best for it; Algorithm 1 plans with one for all.
    Deviations from the paper: each step has its own mixture. Values are divided by $H$ and kernels by $\sqrt
    J$. Of actions that reach the clip, the largest unclipped index acts. Forgetting is ours.
    """
    return ValueTargeted(spec, choose_forgetting(**forgetting), radius, ridge, clip)


def tune_ucrl_vtr_plus(
    spec: Spec, *, num_kernels: int, num_episodes: int = 1, **options: Unpack[ForgettingRun]
) -> dict[str, Any]:
    r"""$\lambda = 1/J$ and the radii of the paper, times `beta_scale`; a forgetting as fast as UCRL-VTR's.

    $J$ is `num_kernels`, `len(environment.mu)`; `num_episodes` and `variation` are for the forgetting alone.
    """
    given, memory = _options_and_memory(spec, num_kernels, num_episodes, options)
    kinds: dict[str, Any] = dict(radius="values", variance_radius="weights", squares_radius="squares")
    for name, kind in kinds.items():
        memory[name] = BernsteinRadius(spec.horizon, kind, given["delta"], given["beta_scale"])
    return dict(ridge=1 / num_kernels, **memory)


@tuned_by(tune_ucrl_vtr_plus, "radius", "variance_radius", "squares_radius", "ridge", *KEYWORDS)
@register(
    "none, or any", "UCB on a mixture of known kernels, samples weighted by variance; rewards are known"
)
def ucrl_vtr_plus(
    spec: Spec,
    *,
    radius: Numeric | Radius,
    variance_radius: Numeric | Radius = 0.0,
    squares_radius: Numeric | Radius = 0.0,
    ridge: Numeric = 1.0,
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> ValueTargeted:
    r"""UCRL-VTR whose samples are weighted by the inverse of an upper estimate of their variance.

    It needs what `ucrl_vtr` needs, and plans in the same way with sums of weighted samples, $\hat\Lambda =
    \sum_\tau \bar\sigma_\tau^{-2} x_\tau x_\tau^\top + \lambda I$, which give $\hat\theta$. A second one,
    without weights, of the squares $V_{\tau,h+1}^2/H^2$ on $y_j = \psi_j V_{\tau,h+1}^2/(H^2\sqrt J)$, with
    the ridge $\lambda/H^4$, gives $\tilde\theta$. At the visited pairs, before they are learnt from:
    $$\bar\sigma^2 = \max\{1/J,\ [\tilde\theta^\top y]_{[0,1]} - [\hat\theta^\top x]_{[0,1]}^2 + E\}, \qquad
     E = \min\{1, 2\check\beta\|x\|_{\hat\Lambda^{-1}}\} + \min\{1, \tilde\beta\|y\|_{\tilde\Lambda^{-1}}\}.$$
    Args:
      radius: $\hat\beta \ge 0$.
      variance_radius, squares_radius: $\check\beta, \tilde\beta \ge 0$; 0 takes the estimate as it is.
    When to use: transitions are an unknown mixture of known kernels, and the horizon is long.
    When not: runs are short. Three radii have to be right, and `ucrl_vtr` has one.
    Reference: Zhou, Gu & Szepesvári 2021, Algorithm 1.
    Deviations from the paper: those of `ucrl_vtr`. Values are clipped to $[0, H]$.
    """
    weights = VarianceWeights(variance_radius, squares_radius)
    return ValueTargeted(spec, choose_forgetting(**forgetting), radius, ridge, clip, weights)

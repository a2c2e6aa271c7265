"""Restart-Adv: an adversarial linear bandit that restarts in every block."""

from typing import Any

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits.bandit_agent import require_bandit
from driftwise.base import Agent, OptimalDesign
from driftwise.base.arrays import identity_like, namespace
from driftwise.base.part import member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Sample, Spec
from driftwise.parts import PeriodicRestart, Softmax
from driftwise.parts.designs import g_optimal_design, moment_inverse
from driftwise.parts.policies import bandit_plan, uniform_policy
from driftwise.parts.regression import empty_moments
from driftwise.theory.bandit_tuning import adversarial_period

_SOFTMAX = Softmax(1.0)


@part
class AdversarialLinear(Agent):
    r"""Exponential weights over arms, mixed with a G-optimal design: the agent of `restart_adv`.

    The moments have $g = \sum Q(p)^{-1}ar$ as `cross`, with $G(x) = x^\top g$, and as `gram` a number of
    rounds times $I$, the mean of the same sum of $aa^\top$.
    """

    spec: Spec = member(Spec)
    forgetting: PeriodicRestart = member(PeriodicRestart)
    step_scale: Numeric = number(at_least=0, default=1.0)
    mixing_scale: Numeric = number(above=0, default=1.0)
    reward_bound: Numeric = number(above=0, default=1.0)

    @property
    def optimistic(self) -> bool:
        return False

    @property
    def off_policy(self) -> bool:
        return False  # a reward counts for more the less its chance was

    @property
    def reward_range(self) -> tuple[float, float]:
        most = float(np.max(self.reward_bound))
        return -most, most

    def init(self, features: FeatureTable) -> Moments:
        nothing = _empty_sample(features.values[:1])
        return self.forgetting.init(empty_moments(nothing, 0, 1.0, gram_sq=False), nothing)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        xp, dim, rows = namespace(state.gram), self.spec.dim, features.values
        index = xp.zeros(len(rows), dtype=rows.dtype)
        even = uniform_policy(
            index if features.present is None else xp.where(features.present, index, -xp.inf)
        )
        num_arms = xp.sum(xp.astype(even > 0, state.gram.dtype))
        step = self.step_scale * xp.sqrt(xp.log(num_arms) / (3 * dim * self.forgetting.period))  # ζ
        mixing = xp.minimum(self.mixing_scale * step * dim, xp.ones_like(step))  # γ
        known = features.find(OptimalDesign)
        design = g_optimal_design(rows, even) if known is None else known.array

        def policy(index: Array) -> Array:
            return mixing * design + (1 - mixing) * _SOFTMAX.policy(index)

        gains = state.cross[..., 0]  # [1, d]
        theta = self.reward_bound * gains / state.gram[..., 0, :1]
        mean, index = (weights @ rows.T for weights in (theta, step * gains))
        return bandit_plan(theta, mean, 0 * mean, policy, features, index)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        inverse = moment_inverse(features.values, plan.policy[0, 0])
        gain = episode.rewards[:, None] / self.reward_bound * (episode.features @ inverse)
        learnt = self.forgetting.update(state, _empty_sample(episode.features))
        goes_on = 1 - (learnt.epoch - state.epoch)
        gram = learnt.gram + goes_on * identity_like(learnt.gram)
        return learnt._replace(gram=gram, cross=learnt.cross + goes_on * gain[..., None])

    def moments(self, state: Moments) -> Moments:
        return state


def _empty_sample(features: Array) -> Sample:
    """Return a sample of weight 0, of the shape and type of features `[1, d]`."""
    xp, none = namespace(features), 0 * features[..., 0]
    return Sample(0 * features, none, xp.astype(none, xp.int32), none)


def tune_restart_adv(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    r"""$E = (\sqrt{3d\log N}\,K/(2\Delta))^{2/3}$, at most $K$."""
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    return dict(period=adversarial_period(dim=spec.dim, num_arms=spec.num_actions, **run))


@tuned_by(tune_restart_adv, "period")
@register("periodic restart", "EXP2, G-optimal design", bound="(d log A)^(1/3) Δ^(1/3) K^(2/3)")
def restart_adv(
    spec: Spec,
    *,
    period: Numeric,
    step_scale: Numeric = 1.0,
    mixing_scale: Numeric = 1.0,
    reward_bound: Numeric = 1.0,
) -> AdversarialLinear:
    r"""An adversarial linear bandit that restarts every $E$ rounds: of optimal order for fixed arms.

    In a block, with gains $G = 0$ first, the design $\pi$ that minimises $\max_a\|a\|^2_{Q(\pi)^{-1}}$, and
    $Q(p) = \sum_a p(a)aa^\top$,
    $$p_t(a) = \gamma\pi(a) + (1-\gamma)\frac{e^{\zeta G(a)}}{\sum_b e^{\zeta G(b)}}, \qquad
      G(x) \leftarrow G(x) + x^\top Q(p_t)^{-1}a_t\,r_t \quad\text{for all } x,$$
    $$\zeta = c\,\sqrt{\frac{\log N}{3dE}}, \qquad \gamma = \min\{1,\; c'\zeta d\}.$$

    The regret of a block is at most $2\sqrt{3dE\log N}$ for any rewards, and that of a tuned run
    $6(\tfrac34 d\log N)^{1/3}\Delta^{1/3}K^{2/3}$ with $\Delta = \sum_t\max_a|a^\top(\theta_t -
    \theta_{t+1})|$.

    Args:
      step_scale, mixing_scale: $c$ and $c'$; the proof needs $c' \ge 1$.
      reward_bound: rewards lie within $\pm$ this; online others are refused.
    When to use: arms are fixed, and an adversary may choose the rewards.
    When not: arms change from round to round, or rewards are noisy but calm; it explores all the time.
    Reference: Cheung, Simchi-Levi & Zhu 2022; in a block EXP2 (Bubeck, Cesa-Bianchi & Kakade 2012).
    Deviations from the papers: the tuned form takes $\sum_t\|\theta_t - \theta_{t+1}\|$ for $\Delta$. Arms
    that change are played, without a bound.
    """
    require_bandit(spec)
    return AdversarialLinear(spec, PeriodicRestart(period), step_scale, mixing_scale, reward_bound)

"""RestartQ-UCB: optimistic Q-learning in stages, from the beginning again at regular intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.acting import greedy_plan, highest, met, require_all_actions
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import require_number
from driftwise.parts.counts import visited
from driftwise.theory import tabular_tuning


class StagedState(NamedTuple):
    """Action values, and what the running stage of each pair has seen."""

    q: Array  # [H, S, A]
    bonus: Array  # [H, S, A] in the last update of q
    total: Array  # [H, S, A] sum of r + V_{h+1}(s') over the stage
    count: Array  # [H, S, A] visits in the stage
    length: Array  # [H, S, A] visits at which the stage ends
    tick: Array  # episodes since the last restart


@part
class StagedQLearning(Agent):
    """Q-learning in stages, begun anew after every `period` episodes: the agent of `restart_q_ucb`."""

    spec: Spec = member(Spec)
    period: Numeric = number(at_least=1, integer=True)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    drift_bonus: Numeric = number(at_least=0, default=0.0)

    def init(self, features: FeatureTable) -> StagedState:
        require_all_actions(features)
        return self._fresh(features.values)

    def plan(self, state: StagedState, features: FeatureTable, key: Key) -> Plan:
        return greedy_plan(state.q, state.bonus, state.q)

    def update(self, state: StagedState, features: FeatureTable, plan: Plan, episode: Episode) -> StagedState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        total, count = state.total + here * met(plan, episode), state.count + here
        over = (here > 0) & (count == state.length)
        size = xp.where(over, count, 1.0)
        bonus = self.scale * (horizon + 1) * xp.sqrt(self.log_term / size) + 2 * self.drift_bonus
        q = xp.where(over, xp.minimum(state.q, total / size + bonus), state.q)
        learnt = StagedState(
            q=q,
            bonus=xp.where(over, bonus, state.bonus),
            total=xp.where(over, 0.0, total),
            count=xp.where(over, 0.0, count),
            length=xp.where(over, count + xp.floor(count / horizon), state.length),
            tick=state.tick + 1,
        )
        return where_tree(learnt.tick == self.period, self._fresh(state.q), learnt)

    def _fresh(self, like: Array) -> StagedState:
        xp = namespace(like)
        q = highest(self.spec, like, tight=True)
        nothing, first = xp.zeros_like(q), xp.full_like(q, self.spec.horizon)
        return StagedState(q, q, nothing, nothing, first, xp.asarray(0, dtype=xp.int64))


def tuning(
    spec: Spec, *, num_episodes: int, variation: float, delta: float = 0.05, beta_scale: float = 1.0
) -> dict[str, Any]:
    r"""$D = (SA)^{-1/3}\Delta^{2/3}H^{-2/3}T^{1/3}$ epochs and $\iota = \log(2SAT/\delta)$.

    `variation` is that of the pair that moves most, `environment.variation(K, norm="pairs").total`.
    $D$ balances the $\sqrt{H^4SATD}$ that epochs cost against the $HT\Delta/D$ that moves within them do.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    return dict(
        period=tabular_tuning.restart_period(spec, **run, power=4),
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_tuning.log_term(spec, 2, num_episodes=num_episodes, delta=delta),
    )


@register(
    tuning=tuning,
    tunes=("period", "scale", "log_term"),
    forgetting="periodic restart",
    exploration="UCB",
    bound="(S A Δ)^(1/3) H^(5/3) T^(2/3), T = HK",
    paper="Mao, Zhang, Zhu, Simchi-Levi & Başar 2021",
)
def restart_q_ucb(
    spec: Spec, *, period: Numeric, scale: Numeric, log_term: Numeric = 1.0, drift_bonus: Numeric = 0.0
) -> StagedQLearning:
    r"""Restarted Q-learning with upper confidence bounds, of Hoeffding's type.

    In every epoch $Q_h$ starts at $H-h+1$. The visits of $(s, a)$ at step $h$ make up stages of
    $e_1 = H$, $e_{i+1} = \lfloor(1 + \tfrac1H)e_i\rfloor$ visits. When one of $n$ visits is over,
    $$Q_h(s,a) \leftarrow \min\Bigl\{Q_h(s,a), \frac1n\sum_{\text{stage}} \bigl(r + V_{h+1}(s')\bigr)
      + c\bigl(\sqrt{H^2\iota/n} + \sqrt{\iota/n}\bigr) + 2b_\Delta\Bigr\}, \qquad
      V_h(s) \leftarrow \max_a Q_h(s,a).$$

    Args:
      period: episodes in an epoch.
      scale: $c \ge 0$, one in the paper.
      log_term: $\iota > 0$.
      drift_bonus: $b_\Delta \ge 0$, $\Delta_r + H\Delta_p$ for the variation within an epoch; 0 where
        that is unknown.

    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021, Algorithm 1 [likely; its constants were not checked
    against the print].

    Deviations from the paper: $b_\Delta$ is the same in all epochs; ties are broken at random. The variant
    with Freedman's bonus, which keeps reference values besides, is not here.
    """
    return StagedQLearning(spec, period, scale, log_term, drift_bonus)

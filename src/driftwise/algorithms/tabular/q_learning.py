"""Optimistic Q-learning: Q-UCB, which never forgets, and RestartQ-UCB, in stages and begun anew."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.acting import highest, require_all_actions
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import require_number
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.regression import visited
from driftwise.theory.tuning import tabular_log_term, tabular_period


class QState(NamedTuple):
    """Action values, and how often each was updated."""

    q: Array  # [H, S, A]
    count: Array  # [H, S, A]


@part
class OptimisticQLearning(Agent):
    """Q-learning with a bonus that shrinks with the visits: the agent of `q_ucb`."""

    spec: Spec = member(Spec)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    clip: Literal["paper", "tight"] = choice("paper", "tight", default="paper")

    def init(self, features: FeatureTable) -> QState:
        require_all_actions(features)
        xp = namespace(features.values)
        q = highest(self.spec, features.values, tight=self.clip == "tight")
        return QState(q, xp.zeros_like(q))

    def plan(self, state: QState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.q)
        ceilings = highest(self.spec, state.q, tight=self.clip == "tight")
        width = self._bonus(xp.where(state.count > 0, state.count, 1.0))
        bonus = xp.where(state.count > 0, width, ceilings)
        return _greedy_plan(state.q, bonus, ceilings)

    def update(self, state: QState, features: FeatureTable, plan: Plan, episode: Episode) -> QState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        count = state.count + here
        share = here * (horizon + 1) / (horizon + count)  # α, where it was
        goal = _met(plan, episode) + self._bonus(xp.where(here > 0, count, 1.0))
        return QState((1 - share) * state.q + share * goal, count)

    def _bonus(self, count: Array) -> Array:
        return self.scale * namespace(count).sqrt(self.spec.horizon**3 * self.log_term / count)


def q_ucb_tuning(
    spec: Spec, *, num_episodes: int, delta: float = 0.05, beta_scale: float = 1.0
) -> dict[str, Any]:
    r"""$\iota = \log(SAT/\delta)$. It assumes a stationary world: the variation is not used."""
    return dict(
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_log_term(spec, 1, num_episodes=num_episodes, delta=delta),
    )


@register(
    tuning=q_ucb_tuning,
    tunes=("scale", "log_term"),
    forgetting="none",
    exploration="UCB",
    bound="H^2 (S A T)^(1/2), T = HK, stationary",
    paper="Jin, Allen-Zhu, Bubeck & Jordan 2018",
)
def q_ucb(
    spec: Spec, *, scale: Numeric, log_term: Numeric = 1.0, clip: Literal["paper", "tight"] = "paper"
) -> OptimisticQLearning:
    r"""Q-learning with upper confidence bounds, UCB-Hoeffding.

    At the $n$-th visit of $(s, a)$ at step $h$, with $\alpha_n = \frac{H+1}{H+n}$,
    $$Q_h(s,a) \leftarrow (1-\alpha_n) Q_h(s,a) + \alpha_n \bigl(r + V_{h+1}(s') + c\sqrt{H^3\iota/n}\bigr),
      \qquad V_h(s) \leftarrow \min\{H, \max_a Q_h(s,a)\};$$
    all $Q_h$ start at $H$, and the greedy policy acts on them.

    Args:
      scale: $c \ge 0$, an absolute constant in the paper.
      log_term: $\iota > 0$, $\log(SAT/p)$ in the paper.
      clip: `"paper"` as above; `"tight"` has $H-h+1$ in the place of $H$.

    Reference: Jin, Allen-Zhu, Bubeck & Jordan, "Is Q-learning Provably Efficient?", NeurIPS 2018,
    Algorithm 1.

    Deviations from the paper: none; ties, which it leaves open, are broken at random. What an episode
    teaches is learnt at its end, which is the same: a step meets only values of the next one, and those
    change after it.
    """
    return OptimisticQLearning(spec, scale, log_term, clip)


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
        return _greedy_plan(state.q, state.bonus, state.q)

    def update(self, state: StagedState, features: FeatureTable, plan: Plan, episode: Episode) -> StagedState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        total, count = state.total + here * _met(plan, episode), state.count + here
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


def restart_q_ucb_tuning(
    spec: Spec, *, num_episodes: int, variation: float, delta: float = 0.05, beta_scale: float = 1.0
) -> dict[str, Any]:
    r"""$D = (SA)^{-1/3}\Delta^{2/3}H^{-2/3}T^{1/3}$ epochs and $\iota = \log(2SAT/\delta)$.

    The paper has $\iota = \log(2/\delta)$; here $\delta$ is spread over all pairs and steps.

    `variation` is that of the pair that moves most, `environment.variation(K, norm="pairs").total`.
    $D$ balances the $\sqrt{H^4SATD}$ that epochs cost against the $HT\Delta/D$ that moves within them do.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    return dict(
        period=tabular_period(spec, **run, power=4),
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_log_term(spec, 2, num_episodes=num_episodes, delta=delta),
    )


@register(
    tuning=restart_q_ucb_tuning,
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
      log_term: $\iota > 0$, $\log(2/\delta)$ in the paper.
      drift_bonus: $b_\Delta \ge 0$, $\Delta_r + H\Delta_p$ for the variation within an epoch; 0 where
        that is unknown.

    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021, Algorithm 1; its Theorem 2 is the bound without
    knowledge of the variation within epochs, $b_\Delta = 0$ [likely; constants were not checked against the
    print].

    Deviations from the paper: $b_\Delta$ is the same in all epochs; ties are broken at random. The variant
    with Freedman's bonus, which keeps reference values besides, is not here.
    """
    return StagedQLearning(spec, period, scale, log_term, drift_bonus)


def _greedy_plan(q: Array, bonus: Array, ceilings: Array) -> Plan:
    """The policy that is greedy in Q, with values up to the ceilings."""
    xp = namespace(q)
    values = xp.max(xp.minimum(q, ceilings), axis=-1)
    return Plan(xp.zeros((q.shape[0], 0), dtype=q.dtype), bonus, q, greedy_policy(q), values)


def _met(plan: Plan, episode: Episode) -> Array:
    """`r_h + V_{h+1}(s')` of each step, as `[H, 1, 1]`."""
    return (episode.rewards + plan.values_ahead(episode.successors))[:, None, None]

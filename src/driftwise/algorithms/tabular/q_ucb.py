"""Q-UCB: optimistic Q-learning that never forgets."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.acting import greedy_plan, highest, met, require_all_actions
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import require_number
from driftwise.parts.counts import visited
from driftwise.theory import tabular_tuning


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
        return greedy_plan(state.q, bonus, ceilings)

    def update(self, state: QState, features: FeatureTable, plan: Plan, episode: Episode) -> QState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        count = state.count + here
        share = here * (horizon + 1) / (horizon + count)  # α, where it was
        goal = met(plan, episode) + self._bonus(xp.where(here > 0, count, 1.0))
        return QState((1 - share) * state.q + share * goal, count)

    def _bonus(self, count: Array) -> Array:
        return self.scale * namespace(count).sqrt(self.spec.horizon**3 * self.log_term / count)


def tuning(spec: Spec, *, num_episodes: int, delta: float = 0.05, beta_scale: float = 1.0) -> dict[str, Any]:
    r"""$\iota = \log(SAT/\delta)$. It assumes a stationary world: the variation is not used."""
    return dict(
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_tuning.log_term(spec, 1, num_episodes=num_episodes, delta=delta),
    )


@register(
    tuning=tuning,
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

"""Optimistic Q-learning that never forgets: Q-UCB, with Hoeffding's or Bernstein's bonus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.acting import greedy_plan, highest, require_all_actions
from driftwise.algorithms.tabular.spread import Spread, no_spread
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import require_number
from driftwise.parts.regression import visited
from driftwise.theory.tuning import tabular_log_term


class Visit(NamedTuple):
    """The visits of one episode, from which a bonus learns."""

    here: Array  # [H, S, A] 1 where it was, else 0
    count: Array  # [H, S, A] visits so far, this one too, and 1 where it was not
    share: Array  # [H, S, A] α, where it was
    ahead: Array  # [H, 1, 1] V_{h+1}(s')


class BonusState(NamedTuple):
    """All bonuses that an action value contains, and what the next one depends on."""

    size: Array  # [H, S, A]
    spread: Spread | None  # of the next values, if it depends on their variance


class Bonus(ABC):
    r"""The bonuses $b_1, \dots, b_n$ of $n$ visits as they stand in Q: $\sum_i \alpha_n^i b_i$."""

    @abstractmethod
    def init(self, most: Array) -> BonusState:
        """Before the first visit, when nothing but the most that can be had is known: `[H, S, A]`."""

    @abstractmethod
    def update(self, state: BonusState, visit: Visit) -> BonusState:
        """After one more visit."""


@part
class HoeffdingBonus(Bonus):
    r"""$b_n = c\sqrt{H^3\iota/n}$, with $c$ the `scale` and $\iota$ the `log_term`."""

    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)

    def init(self, most: Array) -> BonusState:
        return BonusState(most, None)

    def update(self, state: BonusState, visit: Visit) -> BonusState:
        newest = self.scale * namespace(visit.count).sqrt(len(visit.here) ** 3 * self.log_term / visit.count)
        return BonusState((1 - visit.share) * state.size + visit.share * newest, None)


@part
class BernsteinBonus(Bonus):
    r"""$\sum_i \alpha_n^i b_i = \beta_n/2$, for which the variance of the next values matters.

    With $W_n$ that of the $n$ values met,
    $$\beta_n = \min\Bigl\{c_1\Bigl(\sqrt{H(W_n + H)\iota/n} + \sqrt{H^7SA}\,\iota/n\Bigr),
      c_2\sqrt{H^3\iota/n}\Bigr\}.$$

    The paper has $b_n = (\beta_n - (1-\alpha_n)\beta_{n-1})/(2\alpha_n)$, and $\alpha_1 = 1$: these add up
    to $\beta_n/2$. `variance_scale` is $c_1$, `scale` $c_2$, `log_term` $\iota$.
    """

    scale: Numeric = number(at_least=0)
    variance_scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)

    def init(self, most: Array) -> BonusState:
        return BonusState(most, no_spread(most))

    def update(self, state: BonusState, visit: Visit) -> BonusState:
        assert state.spread is not None, "it is there from the start"
        xp, (here, count, _, ahead), log = namespace(visit.here), visit, self.log_term
        horizon, num_states, num_actions = here.shape
        spread = state.spread.met(ahead, here, count)
        variance = spread.squares / count
        narrow = xp.sqrt(horizon * (variance + horizon) * log / count)
        narrow = narrow + (horizon**7 * num_states * num_actions) ** 0.5 * log / count
        beta = xp.minimum(self.variance_scale * narrow, self.scale * xp.sqrt(horizon**3 * log / count))
        return BonusState(xp.where(here > 0, beta / 2, state.size), spread)


class QState(NamedTuple):
    """Action values, in two summands, and how often each was updated."""

    estimate: Array  # [H, S, A] without bonuses, 0 before the first visit
    bonus: BonusState
    count: Array  # [H, S, A]


@part
class OptimisticQLearning(Agent):
    """Q-learning with a bonus that shrinks with the visits: the agent of `q_ucb` and `q_ucb_bernstein`."""

    spec: Spec = member(Spec)
    bonus: Bonus = member(Bonus)
    clip: Literal["paper", "tight"] = choice("paper", "tight", default="paper")

    def init(self, features: FeatureTable) -> QState:
        require_all_actions(features)
        most = self._most(features.values)
        nothing = namespace(most).zeros_like(most)
        return QState(nothing, self.bonus.init(most), nothing)

    def plan(self, state: QState, features: FeatureTable, key: Key) -> Plan:
        bonus = state.bonus.size
        return greedy_plan(state.estimate + bonus, bonus, self._most(bonus))

    def update(self, state: QState, features: FeatureTable, plan: Plan, episode: Episode) -> QState:
        xp, horizon = namespace(state.count), self.spec.horizon
        here = visited(self.spec, episode)
        count = state.count + here
        share = here * (horizon + 1) / (horizon + count)
        ahead = plan.values_ahead(episode.successors)[:, None, None]
        visit = Visit(here, xp.where(here > 0, count, 1.0), share, ahead)
        goal = episode.rewards[:, None, None] + ahead
        estimate = (1 - share) * state.estimate + share * goal
        return QState(estimate, self.bonus.update(state.bonus, visit), count)

    def _most(self, like: Array) -> Array:
        return highest(self.spec, like, tight=self.clip == "tight")


def q_ucb_tuning(
    spec: Spec, *, num_episodes: int, delta: float = 0.05, beta_scale: float = 1.0
) -> dict[str, Any]:
    r"""$\iota = \log(SAT/\delta)$. It assumes a stationary world: the variation is not used.

    `beta_scale` stands for the constants that the paper leaves open.
    """
    scale = require_number("beta_scale", beta_scale, at_least=0)
    log_term = tabular_log_term(spec, 1, num_episodes=num_episodes, delta=delta)
    return dict(scale=scale, variance_scale=scale, log_term=log_term)


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

    When to use: states and actions are few, nothing drifts, and no model should be kept.

    When not: the world changes, or samples are scarce: `ucbvi` learns faster from the same episodes.

    Reference: Jin, Allen-Zhu, Bubeck & Jordan, "Is Q-learning Provably Efficient?", NeurIPS 2018,
    Algorithm 1.

    Deviations from the paper: none; ties, which it leaves open, are broken at random. What an episode
    teaches is learnt at its end, which is the same: a step meets only values of the next one, and those
    change after it.
    """
    return OptimisticQLearning(spec, HoeffdingBonus(scale, log_term), clip)


@register(
    tuning=q_ucb_tuning,
    tunes=("scale", "variance_scale", "log_term"),
    forgetting="none",
    exploration="UCB, Bernstein",
    bound="H^(3/2) (S A T)^(1/2) + H^(9/2) (S A)^(3/2), T = HK, stationary",
    paper="Jin, Allen-Zhu, Bubeck & Jordan 2018",
)
def q_ucb_bernstein(
    spec: Spec,
    *,
    scale: Numeric,
    variance_scale: Numeric,
    log_term: Numeric = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> OptimisticQLearning:
    r"""Q-learning with upper confidence bounds, UCB-Bernstein.

    `q_ucb` with other bonuses. With $W_n$ the variance of $V_{h+1}(s')$ over the $n$ visits, each as it was
    met, and $\beta_0 = 0$,
    $$\beta_n = \min\Bigl\{c_1\Bigl(\sqrt{\frac{H(W_n + H)\iota}n} + \frac{\sqrt{H^7SA}\,\iota}n\Bigr),
      c_2\sqrt{\frac{H^3\iota}n}\Bigr\}, \qquad b_n = \frac{\beta_n - (1-\alpha_n)\beta_{n-1}}{2\alpha_n},$$
    $$Q_h(s,a) \leftarrow (1-\alpha_n) Q_h(s,a) + \alpha_n\bigl(r + V_{h+1}(s') + b_n\bigr).$$
    The first argument of the minimum is the smaller one only after $(c_1/c_2)^2H^4SA\iota$ visits.

    Args:
      scale: $c_2 \ge 0$, an absolute constant in the paper.
      variance_scale: $c_1 \ge 0$, another one.
      log_term: $\iota > 0$, $\log(SAT/p)$ in the paper.
      clip: `"paper"` or `"tight"`, see `q_ucb`.

    When to use: you compare bonuses of Q-learning in a world that stands still.

    When not: the run is short. Its bonus is the smaller one only after many visits.

    Reference: Jin, Allen-Zhu, Bubeck & Jordan, "Is Q-learning Provably Efficient?", NeurIPS 2018,
    Algorithm 2 and Theorem 2 [from memory, as one public summary has it; not checked against the print].

    Deviations from the paper: none but rounding. The bonuses add up to $\beta_n/2$, which is kept instead of
    $\beta_n$; $W_n$ comes from Welford's recursion instead of two sums. Otherwise see `q_ucb`.
    """
    return OptimisticQLearning(spec, BernsteinBonus(scale, variance_scale, log_term), clip)

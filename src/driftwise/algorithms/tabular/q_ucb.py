"""Optimistic Q-learning that never forgets: Q-UCB, with Hoeffding's or Bernstein's bonus."""

from typing import Any, Literal, NamedTuple, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import Clip, TheoryRun, read_run
from driftwise.algorithms.tabular import counting
from driftwise.algorithms.tabular.counting import RunningVariance, value_ceilings
from driftwise.base import Agent, Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.arrays import namespace
from driftwise.base.part import choice, member, number, part
from driftwise.parts.regression import visited
from driftwise.theory.tuning import tabular_log_term


class QState(NamedTuple):
    estimate: Array  # [H, S, A] without bonuses, 0 before the first visit
    bonus: Array  # [H, S, A] the bonuses of all visits, as they stand in Q
    spread: RunningVariance | None  # of the next values, if the bonus depends on their variance
    count: Array  # [H, S, A] updates of each


@part
class OptimisticQLearning(Agent):
    """Q-learning with a bonus that shrinks with the visits: the agent of `q_ucb` and `q_ucb_bernstein`."""

    sees_arms = False
    spec: Spec = member(Spec)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    clip: Clip = choice("paper", "tight", default="paper")
    bonus: Literal["hoeffding", "bernstein"] = choice("hoeffding", "bernstein", default="hoeffding")
    variance_scale: Numeric = number(at_least=0, default=0.0)

    def init(self, features: FeatureTable) -> QState:
        counting.require_all_actions(features)
        most = value_ceilings(self.spec, features.values, self.clip)
        nothing = namespace(most).zeros_like(most)
        spread = RunningVariance(nothing, nothing) if self.bonus == "bernstein" else None
        return QState(nothing, most, spread, nothing)

    def plan(self, state: QState, features: FeatureTable, key: Key) -> Plan:
        ceilings = value_ceilings(self.spec, state.bonus, self.clip)
        return counting.greedy_plan(state.estimate + state.bonus, state.bonus, ceilings)

    def update(self, state: QState, features: FeatureTable, plan: Plan, episode: Episode) -> QState:
        xp, log, (horizon, num_states, num_actions) = namespace(state.count), self.log_term, state.count.shape
        here = visited(self.spec, episode)
        count = state.count + here
        visits = xp.where(here > 0, count, 1.0)
        share = here * (horizon + 1) / (horizon + count)  # α
        ahead = plan.successor_values(episode.successors)[:, None, None]
        estimate = (1 - share) * state.estimate + share * (episode.rewards[:, None, None] + ahead)
        width = self.scale * xp.sqrt(horizon**3 * log / visits)
        if state.spread is None:
            return QState(estimate, (1 - share) * state.bonus + share * width, None, count)
        spread = state.spread.add(ahead, here, visits)
        narrow = xp.sqrt(horizon * (spread.squares / visits + horizon) * log / visits)
        narrow = narrow + (horizon**7 * num_states * num_actions) ** 0.5 * log / visits
        beta = xp.minimum(self.variance_scale * narrow, width)  # all its bonuses make β/2 in Q
        return QState(estimate, xp.where(here > 0, beta / 2, state.bonus), spread, count)


def tune_q_ucb(spec: Spec, **run: Unpack[TheoryRun]) -> dict[str, Any]:
    r"""$\iota = \log(SAT/\delta)$, and `beta_scale` for constants; the variation is not used."""
    options = read_run(TheoryRun, run)
    scale = options.pop("beta_scale")
    return dict(scale=scale, variance_scale=scale, log_term=tabular_log_term(spec, 1, **options))


@tuned_by(tune_q_ucb, "scale", "log_term")
@register("none", "UCB", bound="H^2 (S A T)^(1/2), T = HK, stationary")
def q_ucb(
    spec: Spec, *, scale: Numeric, log_term: Numeric = 1.0, clip: Clip = "paper"
) -> OptimisticQLearning:
    r"""Q-learning with upper confidence bounds, UCB-Hoeffding.

    At the $n$-th visit of $(s, a)$ at step $h$, with $\alpha_n = \frac{H+1}{H+n}$,
    $$Q_h(s,a) \leftarrow (1-\alpha_n) Q_h(s,a) + \alpha_n \bigl(r + V_{h+1}(s') + c\sqrt{H^3\iota/n}\bigr),
      \qquad V_h(s) \leftarrow \min\{H, \max_a Q_h(s,a)\};$$
    all $Q_h$ start at $H$, and the greedy policy acts on them.
    Args:
      scale: $c \ge 0$, an absolute constant in the paper.
      log_term: $\iota > 0$, $\log(SAT/p)$ in the paper.
    When to use: states and actions are few, nothing drifts, and no model should be kept.
    When not: the problem changes, or samples are scarce: `ucbvi` learns faster from the same episodes.
    Reference: Jin, Allen-Zhu, Bubeck & Jordan 2018, Algorithm 1.
    Deviations from the paper: none. Learning at the end of an episode is the same.
    """
    return OptimisticQLearning(spec, scale, log_term, clip)


@tuned_by(tune_q_ucb, "scale", "variance_scale", "log_term")
@register("none", "UCB, Bernstein", bound="H^(3/2) (S A T)^(1/2) + H^(9/2) (S A)^(3/2), T = HK, stationary")
def q_ucb_bernstein(
    spec: Spec, *, scale: Numeric, variance_scale: Numeric, log_term: Numeric = 1.0, clip: Clip = "paper"
) -> OptimisticQLearning:
    r"""Q-learning with upper confidence bounds, UCB-Bernstein.

    `q_ucb` with other bonuses. With $\beta_0 = 0$ and the variance $W_n$ of the $n$ values $V_{h+1}(s')$ met,
    $$\beta_n = \min\Bigl\{c_1\Bigl(\sqrt{\frac{H(W_n + H)\iota}n} + \frac{\sqrt{H^7SA}\,\iota}n\Bigr),
      c_2\sqrt{\frac{H^3\iota}n}\Bigr\}, \qquad b_n = \frac{\beta_n - (1-\alpha_n)\beta_{n-1}}{2\alpha_n},$$
    $$Q_h(s,a) \leftarrow (1-\alpha_n) Q_h(s,a) + \alpha_n\bigl(r + V_{h+1}(s') + b_n\bigr).$$
    The first argument of the minimum is the smaller one only after $(c_1/c_2)^2H^4SA\iota$ visits.
    Args:
      scale: $c_2 \ge 0$, an absolute constant in the paper.
      variance_scale: $c_1 \ge 0$, another one.
      log_term: $\iota > 0$, $\log(SAT/p)$ in the paper.
    When to use: you compare bonuses of Q-learning in a stationary problem.
    When not: the run is short. Its bonus is the smaller one only after many visits.
    Reference: Jin, Allen-Zhu, Bubeck & Jordan 2018, Algorithm 2 and Theorem 2 [not checked with the print].
    Deviations from the paper: none but rounding: $W_n$ comes from Welford's recursion.
    """
    return OptimisticQLearning(spec, scale, log_term, clip, "bernstein", variance_scale)

"""RestartQ-UCB: optimistic Q-learning in stages, restarted, with Hoeffding's or Freedman's bonus."""

import math
from typing import Annotated, Any, Literal, NamedTuple, Required, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import TheoryRun, read_run
from driftwise.algorithms.tabular import counting
from driftwise.algorithms.tabular.counting import RunningVariance
from driftwise.base import Agent, Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.arrays import map_tree, namespace, where_tree
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import successor_values
from driftwise.base.validation import require_choice, require_number
from driftwise.parts.regression import visited
from driftwise.theory.tuning import tabular_log_term, tabular_period


class ReferenceValues(NamedTuple):
    """Reference values of Freedman's bonus, and its sums over the stage and the epoch."""

    values: Array  # [H, S] V_ref
    rewards: Array  # [H, S, A] ř, their sum in the stage
    advantage: RunningVariance  # of V(s') − V_ref(s') in the stage
    count: Array  # [H, S, A] visits in the epoch
    met: RunningVariance  # of V_ref(s') in the epoch


class StagedState(NamedTuple):
    q: Array  # [H, S, A]
    bonus: Array  # [H, S, A] in the update that q comes from
    targets: Array  # [H, S, A] the sum of r + V(s') in the stage
    reference: ReferenceValues | None
    count: Array  # [H, S, A] visits in the stage
    length: Array  # [H, S, A] visits at which the stage ends
    tick: Array  # episodes since the last restart


@part
class StagedQLearning(Agent):
    """Q-learning in stages, restarted after every `period` episodes: the agent of `restart_q_ucb`."""

    sees_arms = False
    spec: Spec = member(Spec)
    period: Numeric = number(at_least=1, integer=True)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    drift_bonus: Numeric = number(at_least=0, default=0.0)
    bonus: Literal["hoeffding", "freedman"] = choice("hoeffding", "freedman", default="hoeffding")
    reference_after: Numeric = number(at_least=1, integer=True, default=1)

    def init(self, features: FeatureTable) -> StagedState:
        counting.require_all_actions(features)
        return self._initial_state(features.values)

    def plan(self, state: StagedState, features: FeatureTable, key: Key) -> Plan:
        return counting.greedy_plan(state.q, state.bonus, state.q)

    def update(self, state: StagedState, features: FeatureTable, plan: Plan, episode: Episode) -> StagedState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        count, ahead = state.count + here, plan.successor_values(episode.successors)
        targets = state.targets + here * (episode.rewards + ahead)[:, None, None]
        reference = state.reference
        if reference is not None:
            settled = successor_values(reference.values, episode.successors)
            epoch_count = reference.count + here
            advantage = reference.advantage.add((ahead - settled)[:, None, None], here, count)
            met = reference.met.add(settled[:, None, None], here, epoch_count)
            rewards = reference.rewards + here * episode.rewards[:, None, None]
            reference = ReferenceValues(reference.values, rewards, advantage, epoch_count, met)
        over = (here > 0) & (count == state.length)
        estimate, bonus = self.bound(targets, reference, xp.where(over, count, 1.0))
        falls = over & (estimate + bonus < state.q)
        q = xp.where(falls, estimate + bonus, state.q)
        if reference is not None:
            is_settled = xp.sum(reference.count, axis=-1) == self.reference_after
            values = xp.where(is_settled, xp.max(q, axis=-1), reference.values)
            rewards = xp.where(over, 0.0, reference.rewards)
            advantage = map_tree(lambda leaf: xp.where(over, 0.0, leaf), reference.advantage)
            reference = reference._replace(values=values, rewards=rewards, advantage=advantage)
        bonus = xp.where(falls, bonus, state.bonus)
        length = xp.where(over, count + xp.floor(count / horizon), state.length)
        targets, count = xp.where(over, 0.0, targets), xp.where(over, 0.0, count)
        learnt = StagedState(q, bonus, targets, reference, count, length, state.tick + 1)
        return where_tree(learnt.tick == self.period, self._initial_state(state.q), learnt)

    def bound(self, targets: Array, reference: ReferenceValues | None, size: Array) -> tuple[Array, Array]:
        """Return estimate and bonus of stages with sums of `targets` over `size` visits: `[H, S, A]` each."""
        xp, horizon, late = namespace(size), len(size), self.log_term / size  # ι/ň
        plain = targets / size
        plain_bonus = self.scale * ((horizon + 1) * xp.sqrt(late)) + 2 * self.drift_bonus
        if reference is None:
            return plain, plain_bonus
        total = xp.maximum(reference.count, 1.0)
        all_time = self.log_term / total  # ι/n
        width = 2 * xp.sqrt(reference.met.squares / total * all_time)
        width = width + 2 * xp.sqrt(reference.advantage.squares / size * late) + xp.sqrt(late)
        steep = [x + xp.sqrt(x) * xp.sqrt(xp.sqrt(x)) for x in (all_time, late)]  # x + x^(3/4)
        width = width + 5 * horizon * (steep[0] + steep[1])
        bonus = 2 * self.scale * width + 4 * self.drift_bonus
        estimate = reference.rewards / size + reference.met.mean + reference.advantage.mean
        lower = estimate + bonus < plain + plain_bonus
        return xp.where(lower, estimate, plain), xp.where(lower, bonus, plain_bonus)

    def _initial_state(self, like: Array) -> StagedState:
        xp, q = namespace(like), counting.value_ceilings(self.spec, like, "tight")
        nothing, first, reference = xp.zeros_like(q), xp.full_like(q, self.spec.horizon), None
        if self.bonus == "freedman":
            none = RunningVariance(nothing, nothing)
            reference = ReferenceValues(first[..., 0], nothing, none, nothing, none)
        return StagedState(q, q, nothing, reference, nothing, first, xp.asarray(0, dtype=xp.int64))


class EpochRun(TheoryRun, total=False):
    variation: Required[float]
    confidence: Annotated[Literal["uniform", "published"], "uniform"]


def tune_restart_q_ucb(spec: Spec, **run: Unpack[EpochRun]) -> dict[str, Any]:
    r"""$D = (SA)^{-1/3}\Delta^{2/3}H^{-2/3}T^{1/3}$ epochs, and $\iota$ for a `confidence`.

    `"uniform"` is $\iota = \log(2SAT/\delta)$, for all pairs and steps at once, `"published"`
    $\log(2/\delta)$. `variation` is `environment.variation(K, norm="pairs").total`.
    """
    return _tuned(spec, 4, run)


def tune_restart_q_ucb_freedman(
    spec: Spec, *, reference_scale: float = 1.0, **run: Unpack[EpochRun]
) -> dict[str, Any]:
    r"""$D = (SA)^{-1/3}\Delta^{2/3}T^{1/3}$ epochs, $\iota$ for a `confidence` and $N_0 = c\,SAH^6\iota$.

    `reference_scale` is $c$. The proof of UCB-Advantage needs about three times the $\iota$ of `"uniform"`.
    """
    tuned = _tuned(spec, 2, run)
    scale = require_number("reference_scale", reference_scale, above=0)
    needed = scale * spec.num_states * spec.num_actions * spec.horizon**6 * tuned["log_term"]
    never = run["num_episodes"] + 1  # no state has more visits at a step
    return dict(**tuned, reference_after=max(1, math.ceil(min(needed, never))))


def _tuned(spec: Spec, power: int, run: EpochRun) -> dict[str, Any]:
    options, num_episodes = read_run(EpochRun, run), run["num_episodes"]
    log_term = tabular_log_term(spec, 2, num_episodes=num_episodes, delta=options["delta"])
    if require_choice("confidence", options["confidence"], ("uniform", "published")) == "published":
        log_term = math.log(2 / options["delta"])
    period = tabular_period(spec, num_episodes=num_episodes, variation=run["variation"], power=power)
    return dict(period=period, scale=options["beta_scale"], log_term=log_term)


@tuned_by(tune_restart_q_ucb, "period", "scale", "log_term")
@register("periodic restart", "UCB", bound="(S A Δ)^(1/3) H^(5/3) T^(2/3), T = HK")
def restart_q_ucb(
    spec: Spec, *, period: Numeric, scale: Numeric, log_term: Numeric = 1.0, drift_bonus: Numeric = 0.0
) -> StagedQLearning:
    r"""Restarted Q-learning with upper confidence bounds, of Hoeffding's type.

    In every epoch $Q_h$ starts at $H-h+1$. The visits of $(s, a)$ at step $h$ make up stages of $e_1 = H$,
    $e_{i+1} = \lfloor(1 + \tfrac1H)e_i\rfloor$ visits. When one of $n$ visits is over,
    $$Q_h(s,a) \leftarrow \min\Bigl\{Q_h(s,a), \frac1n\sum_{\text{stage}} \bigl(r + V_{h+1}(s')\bigr)
      + c\bigl(\sqrt{H^2\iota/n} + \sqrt{\iota/n}\bigr) + 2b_\Delta\Bigr\}, \qquad
      V_h(s) \leftarrow \max_a Q_h(s,a).$$
    Args:
      log_term: $\iota > 0$, $\log(2/\delta)$ in the paper.
    When to use: states and actions are few, no model should be kept, and the problem drifts.
    When not: the period is short. Q-learning needs many visits, and each restart throws them away.
    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar 2021, Algorithm 1; its Theorem 2 is the bound for
    $b_\Delta = 0$ [likely; constants were not checked against the print].
    Deviations from the paper: $b_\Delta$ is the same in all epochs.
    """
    return StagedQLearning(spec, period, scale, log_term, drift_bonus)


@tuned_by(tune_restart_q_ucb_freedman, "period", "scale", "log_term", "reference_after")
@register("periodic restart", "UCB, Freedman", bound="(S A Δ)^(1/3) H T^(2/3), T = HK large enough")
def restart_q_ucb_freedman(
    spec: Spec,
    *,
    period: Numeric,
    scale: Numeric,
    reference_after: Numeric,
    log_term: Numeric = 1.0,
    drift_bonus: Numeric = 0.0,
) -> StagedQLearning:
    r"""Restarted Q-learning with upper confidence bounds, of Freedman's type.

    It is `restart_q_ucb` with reference values: $V^\mathrm{ref}_h(s)$ is $H$ until the $N_0$-th visit of $s$
    at step $h$ in the epoch, and then the $V_h(s)$ of that time. When a stage of $\check n$ visits is over,
    after $n$ in the epoch,
    $$Q_h(s,a) \leftarrow \min\Bigl\{Q_h(s,a),
      \frac{\check r}{\check n} + \frac{\check v}{\check n} + c\,b + 2b_\Delta,
      \frac{\check r}{\check n} + \frac{\mu_\mathrm{ref}}n + \frac{\check\mu}{\check n}
      + 2c\,\bar b + 4b_\Delta\Bigr\}.$$
    In the stage $\check r$ sums rewards, $\check v$ next values and $\check\mu$ what these differ from
    $V^\mathrm{ref}_{h+1}(s')$; $\mu_\mathrm{ref}$ sums $V^\mathrm{ref}_{h+1}(s')$ over the epoch. With the
    variances $\nu_\mathrm{ref}$ and $\check\nu$ of the last two,
    $$b = \sqrt{H^2\iota/\check n} + \sqrt{\iota/\check n}, \qquad
      \bar b = 2\sqrt{\frac{\nu_\mathrm{ref}\iota}n} + 2\sqrt{\frac{\check\nu\iota}{\check n}}
      + 5\Bigl(\frac{H\iota}n + \frac{H\iota}{\check n} + \frac{H\iota^{3/4}}{n^{3/4}}
      + \frac{H\iota^{3/4}}{\check n^{3/4}}\Bigr) + \sqrt{\frac\iota{\check n}}.$$
    Args:
      reference_after: $N_0$, a number of visits; $c'SAH^6\iota$ in the paper.
      log_term: $\iota > 0$, $\log(2/\delta)$ in the paper.
    When to use: you study the rate of model-free learning under drift.
    When not: the run is short: $2\bar b$ is below $b$ only in stages of more than $10^4\iota$ visits.
    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar 2021, Algorithm 2, from memory; stages, variances, $N_0$
    and the constants 2, 2 and 5 agree with UCB-Advantage (Zhang, Zhou & Ji 2020), which it restarts. The
    terms that these multiply, the last root of $\bar b$ and the factors of $\bar b$ and $b_\Delta$ were not
    compared with any print.
    Deviations from the paper: as `restart_q_ucb`. Variances come from Welford's recursion.
    """
    numbers = scale, log_term, drift_bonus
    return StagedQLearning(spec, period, *numbers, bonus="freedman", reference_after=reference_after)

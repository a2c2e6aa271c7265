"""UCBVI: optimistic value iteration on counts, under any forgetting."""

from typing import Any, Literal, NamedTuple, Unpack

from driftwise.algorithms import any_forgetting
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import KEYWORDS, AnyForgetting, Clip, ForgettingRun
from driftwise.algorithms.tabular.counting import greedy_plan, require_all_actions, value_ceilings
from driftwise.base import Forecast, Forecaster, Forgetting, MeanRewards, Numeric, SharedSteps, member, number
from driftwise.base.arrays import namespace, scan
from driftwise.base.part import choice, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Plan, Spec, next_step
from driftwise.base.validation import ArgumentError
from driftwise.parts import NoForgetting
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.least_squares import pool_steps
from driftwise.parts.noise import forecast_episode
from driftwise.parts.regression import empty_counts, matvec, visits
from driftwise.theory.tuning import rate_of, tabular_log_term, tabular_memory, tabular_period

_DOUBT = 0.1  # visits that a forecast has to outweigh, as if they had shown 0
_LEAST = 1e-20  # visits: with fewer every bonus fills the range, and no quotient may overflow


class CountState(NamedTuple):
    moments: Moments  # gram [H, S, A, 1, 1], cross [H, S, A, 1, 1+S]
    bound: Array | None  # [H, S, A] the last Q, if no later one may be above it


@part
class CountingValueIteration(Forecaster):
    """Backward induction on empirical means, with a bonus for pairs with few visits: the agent of `ucbvi`.

    Under weights a mean deviates like one of `(Σω)²/Σω² ≥ N = Σω` samples. The bonus takes `N`, which falls
    while a pair is not visited, so that an old estimate is doubted.
    """

    sees_arms = False
    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    bonus: Literal["hoeffding", "bernstein"] = choice("hoeffding", "bernstein", default="hoeffding")
    clip: Clip = choice("paper", "tight", default="paper")
    rewards: Literal["learnt", "known"] = choice("learnt", "known", default="learnt")
    steps: Literal["apart", "shared"] = choice("apart", "shared", default="apart")
    monotone: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.monotone, bool):
            raise ArgumentError("monotone", "be True or False", self.monotone)
        if self.monotone and not isinstance(self.forgetting, NoForgetting):
            expected = f"be False where something is forgotten, by {self.forgetting}"
            raise ArgumentError("monotone", expected, self.monotone)

    @property
    def needs(self) -> tuple[type, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        asked = {MeanRewards: self.rewards == "known", SharedSteps: self.steps == "shared"}
        return tuple(kind for kind, is_needed in asked.items() if is_needed)

    def init(self, features: FeatureTable) -> CountState:
        require_all_actions(features)
        moments = empty_counts(self.spec, self.forgetting, features)
        bound = value_ceilings(self.spec, moments.gram, self.clip) if self.monotone else None
        return CountState(moments, bound)

    def plan(self, state: CountState, features: FeatureTable, key: Key) -> Plan:
        counts = self._counts(state.moments, features)
        xp, horizon, log = namespace(counts[0]), self.spec.horizon, self.log_term

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            ceiling, count, rewards, kernel, gap, *bound = x
            known = count > 0
            estimate = xp.where(known, rewards + matvec(kernel, value), 0.0)
            count = xp.where(known, xp.clip(count, _LEAST, None), 1.0)
            if self.bonus == "hoeffding":
                bonus = 7 * horizon * log / xp.sqrt(count)
            else:
                variance = xp.sum(kernel * (value - matvec(kernel, value)[..., None]) ** 2, axis=-1)  # ≥ 0
                bonus = xp.sqrt(8 * log * variance / count) + 14 * horizon * log / (3 * count)
                bonus = bonus + xp.sqrt(8 * matvec(kernel, gap) / count)
                if self.rewards == "learnt":
                    bonus = bonus + xp.sqrt(8 * log * xp.maximum(rewards * (1 - rewards), 0.0) / count)
            q = xp.where(known, xp.minimum(estimate + self.scale * bonus, ceiling), ceiling)
            for last in bound:
                q = xp.minimum(q, last)
            return xp.max(q, axis=-1), (q - estimate, q)

        ceilings = value_ceilings(self.spec, counts[0], self.clip)
        xs = (ceilings, *counts, *(() if state.bound is None else (state.bound,)))
        start = xp.zeros(self.spec.num_states, dtype=counts[0].dtype)
        _, (bonus, q) = scan(step, start, xs, reverse=True)
        return greedy_plan(q, bonus, q)

    def update(self, state: CountState, features: FeatureTable, plan: Plan, episode: Episode) -> CountState:
        learnt = self.forgetting.update(state.moments, visits(self.spec, episode))
        return CountState(learnt, None if state.bound is None else plan.q)

    def policy(self, q: Array) -> Array:
        return greedy_policy(q)

    def memory(self, state: CountState) -> Array:
        return state.moments.weight

    def forecast(self, state: CountState, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        """The forecast by the visited pairs, each a regression on the feature 1 with a ridge of its own."""
        moments = state.moments
        xp, steps = namespace(moments.gram), namespace(moments.gram).arange(self.spec.horizon)
        if self.steps == "shared":
            moments, steps = pool_steps(moments), 0 * steps
        visited = steps, episode.states, episode.actions
        gram, cross, rewards = moments.gram[visited] + _DOUBT, moments.cross[visited], episode.rewards
        if self.rewards == "known":
            cross, rewards = xp.concat([0 * cross[..., :1], cross[..., 1:]], axis=-1), 0 * rewards
        ones = xp.ones_like(gram[..., 0])
        return forecast_episode(gram, cross, ones, rewards, plan.next_values, episode.successors)

    def _counts(self, moments: Moments, features: FeatureTable) -> tuple[Array, Array, Array, Array]:
        """Visits N, mean rewards, shares of successors, and how far off squares of their values may be."""
        xp, size = namespace(moments.gram), self.spec
        pairs = (size.horizon, size.num_states, size.num_actions)
        arrived = xp.sum(moments.gram[..., 0, 0], axis=-1)  # [H, S]
        spread = 100**2 * size.horizon**3 * size.num_states**2 * size.num_actions * self.log_term**2
        most = float(size.horizon**2)
        bounded = xp.minimum(spread / xp.where(arrived > 0, xp.clip(arrived, _LEAST, None), 1.0), most)
        gap = xp.where(arrived > 0, bounded, most)
        if self.steps == "shared":
            moments = pool_steps(moments)
        count, cross = moments.gram[..., 0, 0], moments.cross[..., 0, :]
        means = cross / xp.where(count > 0, count, 1.0)[..., None]
        rewards = means[..., 0]
        if self.rewards == "known":
            rewards = xp.reshape(features.get(MeanRewards).array, pairs)
        kernel = xp.broadcast_to(means[..., 1:], (*pairs, size.num_states))
        # values after the last step are known to be zero
        return xp.broadcast_to(count, pairs), xp.broadcast_to(rewards, pairs), kernel, next_step(gap)


def tune_ucbvi(
    spec: Spec,
    *,
    num_episodes: int,
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    steps: Literal["apart", "shared"] = "apart",
    **options: Unpack[ForgettingRun],
) -> dict[str, Any]:
    r"""$L = \log(5SAT/\delta)$ and, if it is to forget, a memory that balances drift and $\sqrt{H^aSAT}$.

    $a$ is 2 for Hoeffding's bonus and 1 for Bernstein's, one more where steps are apart; `beta_scale`
    multiplies the bonus. `variation` is `environment.variation(K, norm="pairs").total`.
    """
    given = any_forgetting.read_run(ForgettingRun, options)
    power = (2 if bonus == "hoeffding" else 1) + (steps == "apart")
    run: Any = dict(num_episodes=num_episodes, variation=given["variation"], power=power)
    rate, period = rate_of(1 / tabular_memory(spec, **run)), tabular_period(spec, **run)
    memory = any_forgetting.choose_keyword(given["forgetting"], rate, period)
    log_term = tabular_log_term(spec, 5, num_episodes=num_episodes, delta=given["delta"])
    return dict(scale=given["beta_scale"], log_term=log_term, **memory)


@tuned_by(tune_ucbvi, "scale", "log_term", *KEYWORDS)
@register("none, or any", "UCB, Hoeffding/Bernstein", bound="H (S A T)^(1/2) for shared steps, stationary")
def ucbvi(
    spec: Spec,
    *,
    scale: Numeric,
    log_term: Numeric = 1.0,
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    clip: Clip = "paper",
    rewards: Literal["learnt", "known"] = "learnt",
    steps: Literal["apart", "shared"] = "apart",
    monotone: bool = False,
    **forgetting: Unpack[AnyForgetting],
) -> CountingValueIteration:
    r"""Upper confidence bound value iteration.

    From $V_{t,H+1} = 0$ backwards, with means $\hat r$ of rewards and $\hat p$ of successors in $N$ visits,
    $$Q_{t,h} = \min\{\hat r + \hat p^\top V_{t,h+1} + c\,b, H\}, \qquad V_{t,h} = \max_a Q_{t,h}(\cdot,a),$$
    and $Q_{t,h} = H$ where $N = 0$. The bonus is
    $$b = 7HL\sqrt{1/N} \qquad\text{or}\qquad b = \sqrt{\frac{8L\,\mathrm{Var}_{\hat p}(V_{t,h+1})}{N}}
      + \frac{14HL}{3N} + \sqrt{\frac{8}{N}\sum_y \hat p(y)
      \min\Bigl\{\frac{100^2H^3S^2AL^2}{N'_{h+1}(y)}, H^2\Bigr\}},$$
    where $N'_{h+1}(y)$ counts the visits of a state at the next step.
    Args:
      log_term: $L > 0$, $\log(5SAT/\delta)$ in the paper.
      bonus: `"hoeffding"`, the first (the paper's bonus_1), or `"bernstein"`, the second (bonus_2).
      clip: `"paper"` as above; `"tight"` clips step h at $H-h+1$, and starts there.
      rewards: `"learnt"` as above; `"known"` needs those of every episode.
      steps: `"apart"` counts each for itself; `"shared"` all together, if transitions do not depend on it.
      monotone: also $Q_{t,h} \le Q_{t-1,h}$; only where nothing is forgotten.
    When to use: states and actions are few; with `rate`, `length` or `period` it forgets.
    When not: states are many: nothing is known of a pair that was not visited.
    Reference: Azar, Osband & Munos 2017, Algorithms 1 to 4, with their constants.
    Deviations from the paper: it is `rewards="known"`, `steps="shared"`, `monotone=True`. The last sum of
    Bernstein's bonus is 0 at the last step; learnt rewards add $\sqrt{8L\hat r(1-\hat r)/N}$ to it.
    Forgetting is ours: $N = \sum\omega$, as in discounted UCB (Garivier & Moulines 2011).
    """
    chosen = any_forgetting.choose_forgetting(**forgetting)
    return CountingValueIteration(spec, chosen, scale, log_term, bonus, clip, rewards, steps, monotone)

"""UCBVI: optimistic value iteration on counts, under any forgetting."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.any_forgetting import (
    CHOSEN,
    AnyForgetting,
    ForgettingKind,
    chosen_forgetting,
    tabular_memory,
)
from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.counting_value_iteration import CountingValueIteration
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_choice, require_number
from driftwise.theory import tabular_tuning


def tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float = 0.0,
    forgetting: ForgettingKind = "none",
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    steps: Literal["apart", "shared"] = "apart",
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""$L = \log(5SAT/\delta)$ and, if it is to forget, a memory that balances drift and regret.

    The regret where nothing moves is $\sqrt{H^a SAT}$ with $a = 2$ for Hoeffding's bonus and 1 for
    Bernstein's, one more where steps are apart. `beta_scale` multiplies the bonus. Without forgetting,
    `variation` is not used; it is that of the pair that moves most, `environment.variation(K, norm="pairs")`.
    """
    require_choice("bonus", bonus, ("hoeffding", "bernstein"))
    require_choice("steps", steps, ("apart", "shared"))
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    power = (2 if bonus == "hoeffding" else 1) + (steps == "apart")
    return dict(
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_tuning.log_term(spec, 5, num_episodes=num_episodes, delta=delta),
        **tabular_memory(spec, forgetting, **run, power=power),
    )


@register(
    tuning=tuning,
    tunes=("scale", "log_term", *CHOSEN),
    problem="tabular MDP",
    forgetting="none, or any",
    exploration="UCB, Hoeffding or Bernstein",
    bound="H (S A T)^(1/2) if steps are shared, T = HK, stationary",
    paper="Azar, Osband & Munos 2017",
)
def ucbvi(
    spec: Spec,
    *,
    scale: Numeric,
    log_term: Numeric = 1.0,
    bonus: Literal["hoeffding", "bernstein"] = "hoeffding",
    clip: Literal["paper", "tight"] = "paper",
    rewards: Literal["learnt", "known"] = "learnt",
    steps: Literal["apart", "shared"] = "apart",
    monotone: bool = False,
    **forgetting: Unpack[AnyForgetting],
) -> CountingValueIteration:
    r"""Upper confidence bound value iteration.

    From $V_{t,H+1} = 0$ backwards, with the mean reward $\hat r$ and the shares of successors $\hat p$ among
    the $N$ visits of a pair,
    $$Q_{t,h} = \min\{\hat r + \hat p^\top V_{t,h+1} + c\,b, H\}, \qquad V_{t,h} = \max_a Q_{t,h}(\cdot,a),$$
    and $Q_{t,h} = H$ where $N = 0$. The bonus is Hoeffding's or Bernstein's,
    $$b = 7HL\sqrt{1/N} \qquad\text{or}\qquad b = \sqrt{\frac{8L\,\mathrm{Var}_{\hat p}(V_{t,h+1})}{N}}
      + \frac{14HL}{3N} + \sqrt{\frac{8}{N}\sum_y \hat p(y)
      \min\Bigl\{\frac{100^2H^3S^2AL^2}{N'_{h+1}(y)}, H^2\Bigr\}},$$
    where $N'_{h+1}(y)$ counts the visits of a state at the next step.

    Args:
      spec: sizes of the problem, `environment.spec`.
      scale: $c \ge 0$, one in the paper.
      log_term: $L > 0$, $\log(5SAT/\delta)$ in the paper.
      bonus: `"hoeffding"` (the paper's bonus_1) or `"bernstein"` (bonus_2).
      rate: weight visits with $\eta^{t-1-\tau}$, $\eta \in (0, 1]$.
      length: or count those of the newest $W$ episodes.
      period: or start counting anew every $E$ episodes. At most one of the three; without any, nothing is
        forgotten.
      clip: `"paper"` as above; `"tight"` clips step h at $H-h+1$, and starts there.
      rewards: `"learnt"` as above; `"known"` takes them as told.
      steps: `"apart"` counts each step for itself; `"shared"` counts all together, for transitions that do
        not depend on the step (other environments are refused).
      monotone: also $Q_{t,h} \le Q_{t-1,h}$, only where nothing is forgotten.

    Reference: Azar, Osband & Munos, "Minimax Regret Bounds for Reinforcement Learning", ICML 2017,
    Algorithms 1 to 4 [likely; the constants were not checked against the print].

    Deviations from the paper: it is `rewards="known"`, `steps="shared"`, `monotone=True`, and then none but
    that ties are broken at random and that the last sum of Bernstein's bonus is 0 at the last step, where
    the next value is known. Learnt rewards add $\sqrt{8L\hat r(1-\hat r)/N}$ to Bernstein's bonus;
    Hoeffding's has room for them. Forgetting is ours: $N = \sum\omega$, as in discounted UCB (Garivier &
    Moulines 2011).
    """
    chosen = chosen_forgetting(**forgetting)
    return CountingValueIteration(spec, chosen, scale, log_term, bonus, clip, rewards, steps, monotone)

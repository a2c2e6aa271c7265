"""Q-UCB: optimistic Q-learning that never forgets."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.q_learning import OptimisticQLearning
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_number
from driftwise.theory import tabular_tuning


def tuning(spec: Spec, *, num_episodes: int, delta: float = 0.05, beta_scale: float = 1.0) -> dict[str, Any]:
    r"""$\iota = \log(SAT/\delta)$. It assumes a stationary world: the variation is not used."""
    return dict(
        scale=require_number("beta_scale", beta_scale, at_least=0),
        log_term=tabular_tuning.log_term(spec, 1, num_episodes=num_episodes, delta=delta),
    )


@register(
    tuning=tuning,
    tunes=("scale", "log_term"),
    problem="tabular MDP",
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
      spec: sizes of the problem, `environment.spec`.
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

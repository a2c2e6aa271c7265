"""RestartQ-UCB: optimistic Q-learning in stages, from the beginning again at regular intervals."""

from __future__ import annotations

from typing import Any

from driftwise.algorithms.registry import register
from driftwise.algorithms.tabular.q_learning import StagedQLearning
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_number
from driftwise.theory import tabular_tuning


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
    problem="tabular MDP",
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
      spec: sizes of the problem, `environment.spec`.
      period: episodes in an epoch.
      scale: $c \ge 0$, one in the paper.
      log_term: $\iota > 0$.
      drift_bonus: $b_\Delta \ge 0$, $\Delta_r + H\Delta_p$ for the variation within an epoch; 0 for an
        agent that is not told.

    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021, Algorithm 1 [likely; its constants were not checked
    against the print].

    Deviations from the paper: $b_\Delta$ is the same in all epochs; ties are broken at random. The variant
    with Freedman's bonus, which keeps reference values besides, is not here.
    """
    return StagedQLearning(spec, period, scale, log_term, drift_bonus)

"""Online Q-REPS: mirror descent on the occupancy measures of known transitions, for adversarial rewards."""

from __future__ import annotations

import math
from typing import Any, Literal

from driftwise.algorithms.linear_mdps.occupancy_descent import OccupancyDescent
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_choice
from driftwise.parts.known_model import ExactInverse, GeometricResampling
from driftwise.theory.tuning import restart_period


def tuning(spec: Spec, *, num_episodes: int, variation: float = 0.0) -> dict[str, Any]:
    r"""Rates that balance the two entropies against the variance of the estimates.

    With restarts after LSVI-UCB-Restart's period $E$ (the whole run where the variation is 0),
    $\eta = \alpha = \sqrt{H \log A/(dE)}$ and $\gamma = \min\{1/2, d\eta\}$, which bounds $\eta\hat r$ by 1
    where uniform play spreads features evenly. This is ours: the theorem's numbers need the smallest
    eigenvalue of their covariance.
    """
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    period = restart_period(**sizes, variation=variation)
    rate = math.sqrt(spec.horizon * math.log(max(spec.num_actions, 2)) / (spec.dim * period))
    return dict(learning_rate=rate, softness=rate, exploration=min(0.5, spec.dim * rate), period=period)


@register(
    tuning=tuning,
    tunes=("learning_rate", "softness", "exploration", "period"),
    problem="linear MDP",
    forgetting="none, or restarts",
    exploration="mirror descent on occupancies, uniform episodes",
    bound="(d H K)^(1/2) for known transitions, against one policy",
    paper="Neu & Olkhovskaya 2021",
)
def online_q_reps(
    spec: Spec,
    *,
    learning_rate: Numeric,
    softness: Numeric,
    exploration: Numeric,
    covariance: Literal["exact", "resampled"] = "exact",
    ridge: Numeric = 1e-4,
    num_samples: int = 100,
    period: Numeric = 0,
) -> OccupancyDescent:
    r"""Relative-entropy policy search with action values, for rewards that an adversary chooses.

    It has to be told transitions $P_h = \Phi m_h$, which do not drift, and the distribution of the first
    state; of rewards it sees those of its own steps. With $\Sigma_{k,h} = E[\varphi_h \varphi_h^\top]$ under
    the policy of episode $k$, $\hat\theta_{k,h} = \Sigma_{k,h}^{-1} \varphi_{k,h} r_{k,h}$ estimates the
    rewards without bias. The next policy maximises the sum of the estimates less two entropies,
    $$\max_{\mu,u} \sum_h \Big\langle \mu_h, \Phi \sum_{\tau\le k} \hat\theta_{\tau,h} \Big\rangle
      - \frac{1}{\eta} D(\mu_h \| \mu^0_h) - \frac{1}{\alpha} D_C(u_h \| \mu^0_h) \quad\text{where}\quad
      \sum_a u_{h+1}(\cdot,a) = P_h^\top \mu_h, \quad \Phi^\top u_h = \Phi^\top \mu_h,$$
    with the relative entropy $D$ to the occupancy $\mu^0$ of uniform play and the conditional one $D_C$ of
    actions given states. Its dual has $Hd$ variables: with
    $V_h(s) = \frac1\alpha \log \frac1A \sum_a e^{\alpha \varphi(s,a)^\top Z_h}$ and
    $\Delta_h = \varphi^\top \sum_{\tau\le k} \hat\theta_{\tau,h} + P_h V_{h+1} - \varphi^\top Z_h$,
    $$Z_k = \arg\min_Z \sum_h \frac1\eta \log \sum_{s,a} \mu^0_h(s,a) e^{\eta \Delta_h(s,a)} + E[V_1(s_1)],
      \qquad \pi_{k+1,h}(a \mid s) \propto e^{\alpha \varphi(s,a)^\top Z_{k,h}}.$$

    Args:
      spec: sizes of the problem, `environment.spec`.
      learning_rate: $\eta > 0$.
      softness: $\alpha > 0$.
      exploration: $\gamma \in (0, 1]$, the probability that all of an episode is played uniformly.
      covariance: `"exact"` from the occupancies of the known model, or `"resampled"` by matrix geometric
        resampling, as in the paper.
      ridge: $\rho > 0$, added to an exact covariance, which may be singular.
      num_samples: $M$, simulated episodes for a resampled one.
      period: episodes after which everything starts anew, 0 for never.

    Reference: Neu & Olkhovskaya, "Online Learning in MDPs with Linear Function Approximation and Bandit
    Feedback", 2021, Algorithms 1 and 2.

    Deviations from the paper: covariances are exact unless `"resampled"`, with a ridge that shrinks estimates
    by $\Sigma(\Sigma+\rho I)^{-1}$; the first state may be random; the dual is solved by a few steps of
    Newton's method from its last solution. Restarts are an addition: the theorem compares with one policy.
    """
    require_choice("covariance", covariance, ("exact", "resampled"))
    inverse: Any = ExactInverse(ridge) if covariance == "exact" else GeometricResampling(num_samples)
    return OccupancyDescent(spec, learning_rate, softness, exploration, inverse, period)

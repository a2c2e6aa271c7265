"""OPT-WLSVI: optimistic value iteration that forgets exponentially; without optimism, a baseline."""

from typing import Any, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.linear_mdps.lsvi_ucb import RadiusRun, Regression
from driftwise.base.schema import add_defaults
from driftwise.base.types import Numeric, Spec
from driftwise.parts import EpsilonGreedy, ExponentialWeights, LeastSquares, Ucb
from driftwise.parts.exploration import Norm
from driftwise.theory.tuning import RateTuning, exploration_probability, opt_wlsvi_radius, opt_wlsvi_rate


def tune_opt_wlsvi(
    spec: Spec, *, variation: float, tuning: RateTuning = "paper", **run: Unpack[RadiusRun]
) -> dict[str, Any]:
    """The rate of Corollary 1 (or another `tuning`) and the radius of Theorem 1, for the `mu_bound`."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=run["num_episodes"])
    rate = opt_wlsvi_rate(**sizes, variation=variation, tuning=tuning)
    ridge = float(spec.dim) if tuning == "ridge_dim" else 1.0
    sizes |= add_defaults(RadiusRun, run)
    return dict(rate=rate, radius=opt_wlsvi_radius(**sizes, rate=rate, ridge=ridge), ridge=ridge)


@tuned_by(tune_opt_wlsvi, "rate", "radius", "ridge")
@register("exponential weights", "UCB, sandwich or single norm")
def opt_wlsvi(
    spec: Spec, *, rate: Numeric, radius: Numeric, norm: Norm = "sandwich", **regression: Unpack[Regression]
) -> LeastSquares:
    r"""Optimistic weighted least-squares value iteration.

    $$w_{t,h} = \Lambda_{t,h}^{-1} \sum_{\tau<t} \eta^{t-1-\tau} \phi_{\tau,h}
      \bigl(r_{\tau,h} + V_{t,h+1}(s_{\tau,h+1})\bigr), \qquad
      \Lambda_{t,h} = \sum_{\tau<t} \eta^{t-1-\tau} \phi_{\tau,h}\phi_{\tau,h}^\top + \lambda I,$$
    $$Q_{t,h} = \phi^\top w_{t,h} + \beta \sqrt{\phi^\top \Lambda^{-1}\tilde\Lambda\Lambda^{-1} \phi}, \qquad
      V_{t,h} = \min\{\max_a Q_{t,h}(\cdot,a), H\},$$

    with $\tilde\Lambda$ as $\Lambda$ but with squared weights; the greedy policy acts on $Q$.
    Args:
      norm: `"single"` has $\sqrt{\phi^\top\Lambda^{-1}\phi}$ for the root, which is never smaller.
    When to use: the MDP drifts, and you know roughly how many episodes an observation stays useful.
    When not: you do not know that; `adaptive_opt_wlsvi` weighs memories by itself.
    Reference: Touati & Vincent 2020, Algorithm 1 and Equations (6) and (7).
    Deviations from the paper: sums are multiplied by $\eta^{t-1}$, so that they cannot overflow.
    """
    return LeastSquares(spec, ExponentialWeights(rate), Ucb(radius, norm), **regression)


def tune_epsilon_greedy_lsvi(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    """OPT-WLSVI's rate and ε = min{1, (A/K)^(1/3)}."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    epsilon = exploration_probability(num_actions=spec.num_actions, num_episodes=num_episodes)
    return dict(rate=opt_wlsvi_rate(**sizes, variation=variation), epsilon=epsilon)


@tuned_by(tune_epsilon_greedy_lsvi, "rate", "epsilon")
@register("exponential weights", "ε-greedy", "baseline", "none")
def epsilon_greedy_lsvi(
    spec: Spec, *, epsilon: Numeric, rate: Numeric = 1.0, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""Least-squares value iteration that explores by chance.

    Weights are OPT-WLSVI's without a bonus, $Q_{t,h} = \phi^\top w_{t,h}$, for values of the greedy policy.
    Each step takes a uniformly drawn action with probability $\varepsilon$ and a greedy one otherwise.
    When to use: you want the simplest baseline that explores and forgets.
    When not: reward lies behind several right actions in a row. Chance rarely finds them all.
    """
    return LeastSquares(spec, ExponentialWeights(rate), EpsilonGreedy(epsilon), **regression)

"""Linear UCB that forgets only the directions in which there is news."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius, forgetful
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import DirectionalForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    r"""The numbers of `d_lin_ucb`, with the rate $\eta^d$ for its $\eta$.

    Of $d$ directions that are played alike each then forgets as fast as it would under exponential weights.
    This is ours, and not proved.
    """
    numbers = forgetful(spec, **run)
    return numbers | dict(rate=numbers["rate"] ** spec.dim)


@register(
    tuning=tuning,
    tunes=("rate", "ridge", "num_episodes", "confidence"),
    forgetting="directional",
    exploration="UCB, sandwich or single norm",
    bound="none",
    paper="ours; Lai & Bernstein 2024",
)
def sift_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    threshold: Numeric = 1e-6,
    fading: Numeric = 1.0,
    norm: Literal["sandwich", "single"] = "sandwich",
    ridge: Numeric = 1.0,
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Linear UCB with directional forgetting: what is not played is not forgotten.

    $$M_t = I - (1-\eta)\frac{V_tx_tx_t^\top}{x_t^\top V_tx_t}, \qquad
      V_{t+1} = M_tV_t + x_tx_t^\top, \qquad
      \tilde V_{t+1} = M_t\tilde V_tM_t^\top + x_tx_t^\top, \qquad b_{t+1} = M_tb_t + x_tr_t,$$
    $$x_t \in \arg\max_x\; x^\top V_t^{-1}b_t + \beta_t\sqrt{x^\top V_t^{-1}\tilde V_tV_t^{-1}x}, \qquad
      V_1 = \tilde V_1 = \lambda I, \quad b_1 = 0.$$

    With arms that are orthogonal, each forgets by its own plays: $1/(1-\eta)$ of them count. No width grows
    while nobody looks, so that nothing makes it try again an arm which has become better. That is the price,
    and $\beta_t$ with $\delta'$ that shrinks from round to round hardly a remedy. `fading` is one: with
    $\rho < 1$ all directions go stale, too, by
    $V_t \leftarrow \rho V_t + (1-\rho)\lambda I$, $\tilde V_t$ likewise, and $b_t \leftarrow \rho b_t$ at the
    beginning of a round's update. `epsilon` of an online bandit is another.

    Args:
      rate: $\eta \in (0, 1]$; 1 is `lin_ucb` if nothing fades.
      threshold: $\epsilon > 0$; arms with $\|x\|^2 < \epsilon$ teach nothing.
      fading: $\rho \in (0, 1]$; 1 lets nothing go stale that is not played. Take it above $\eta$: the
        weight of what is not played falls to $e^{-1}$ in $1/(1-\rho)$ rounds, and its estimate to a half in
        about $\log(v/\lambda)$ times as many, for its eigenvalue $v$ of $V_t$.
      norm: `"sandwich"` as above; `"single"` is the norm of $V_t^{-1}$, never smaller.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`, with
        $\operatorname{tr}\tilde V_t - d\lambda$ in the place of $\sum\omega^2$.
      ridge: $\lambda > 0$.

    When to use: some arms are played rarely, and what is known of them should last until they are played
    again.

    When not: an arm may become better while nobody plays it, and nothing fades, or you need a bound. There
    is none.

    Reference: the forgetting is SIFt, of Lai & Bernstein, "SIFt-RLS: Subspace of Information Forgetting
    Recursive Least Squares", 2024. The bandit and $\tilde V_t$, the covariance of
    $b_t - V_t\theta$ in units of the noise, are ours. No deviation bound is known where arms are chosen by
    what was seen: $\beta_t$ is borrowed.
    """
    forgetting = DirectionalForgetting(rate, threshold, fading)
    return bandit_agent(spec, forgetting, Ucb(confidence_radius(**confidence), norm), ridge)

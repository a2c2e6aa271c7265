"""Optimism on least squares that forgets smoothly: by rounds, by the clock or by direction."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits.bandit_agent import (
    BonusNorm,
    SpreadConfidence,
    bandit_agent,
    confidence_radius,
    tune_memory,
    ucb_agent,
)
from driftwise.base.times import Duration, to_seconds
from driftwise.base.types import Numeric, Spec
from driftwise.parts import (
    ClockWeights,
    DirectionalForgetting,
    ExponentialWeights,
    LeastSquares,
    RandomisedUcb,
)
from driftwise.theory.bandit_tuning import BanditRun, RidgeRule, Tuning, weight_ucb_rate


@tuned_by(tune_memory, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "UCB, sandwich or single norm")
def d_lin_ucb(
    spec: Spec, *, rate: Numeric, norm: BonusNorm = "sandwich", **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Discounted linear UCB.

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} \eta^{t-1-\tau} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \lambda I, \qquad
      \tilde V_t = \sum_{\tau<t} \eta^{2(t-1-\tau)} x_\tau x_\tau^\top + \lambda I,$$
    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}, \qquad
      \beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta'}
      + d\log\Bigl(1 + \frac{1-\eta^{2(t-1)}}{\lambda d (1-\eta^2)}\Bigr)}.$$

    Args:
      norm: `"sandwich"` as above; `"single"` is the norm of WeightUCB.
    When to use: the parameter drifts, and you know roughly how many rounds a reward stays useful.
    When not: you do not know that; `adaptive_lin_ucb` weighs memories by itself.
    Reference: Russac, Vernade & Cappé 2019, Algorithm 1 and Theorem 1. The bound is that of the corrected
    analysis (Touati & Vincent 2020).
    Deviations from the paper: $\delta'$, see `confidence`; ties are broken at random. The authors' public
    code deviates as well: it rebuilds $\tilde V_t$ from $V_t$ in every round.
    """
    return ucb_agent(spec, ExponentialWeights(rate), norm, **confidence)


def tune_weight_ucb(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "dim",
) -> dict[str, Any]:
    """`λ = d` unless `ridge` says otherwise, and the rate and radius of a `tuning`.

    `"published"` is γ = 1 − max{1/T, √(P_T/(dT))} with the radius as printed.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    numbers = tune_memory(spec, **run, tuning=tuning, ridge=ridge)
    return numbers | (dict(rate=weight_ucb_rate(dim=spec.dim, **run)) if tuning == "published" else {})


@tuned_by(tune_weight_ucb, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "UCB, single norm")
def weight_ucb(spec: Spec, *, rate: Numeric, **confidence: Unpack[SpreadConfidence]) -> LeastSquares:
    r"""Weighted UCB: the estimate and radius of `d_lin_ucb`, the width of one matrix.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x}.$$

    $V^{-1}\tilde V V^{-1} \preceq V^{-1}$, so the index is still optimistic.

    Args:
      ridge: $\lambda > 0$; the paper's is $d$.
    When to use: you want the smallest proven bound among bandits that forget smoothly, with one matrix
    instead of two.
    When not: exploration costs much. Its width is never below that of `d_lin_ucb`.
    Reference: Wang, Zhao & Zhou 2023, Algorithm 1.
    Deviations from the paper: those of `d_lin_ucb`.
    """
    return d_lin_ucb(spec, rate=rate, norm="single", **confidence)


@tuned_by(tune_memory, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "randomised UCB, one draw a round", bound="d^(7/8) Δ^(1/4) K^(3/4)")
def d_rand_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    sign: Literal["folded", "signed"] = "folded",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Discounted randomised linear UCB: estimate, radius and norm of `d_lin_ucb`, times one draw a round.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t
      + Z_t \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}.$$

    Args:
      radius_scale: a factor of $\beta_t$, hence the scale of $Z_t$, which theory leaves open.
      sign: $Z_t = |N(0, 1)|$ (`"folded"`) or $Z_t = N(0, 1)$ (`"signed"`).
    When to use: you want random choices and the radius of `d_lin_ucb`. There is one draw a round,
    whatever the dimension.
    When not: you need the same choice from the same data; `d_lin_ucb` gives that.
    Reference: Kim & Tewari 2020 (corrected version), D-RandLinUCB.
    Deviations from the paper: $Z_t$ is multiplied by $\beta_t$, where the paper scales it by a constant;
    `radius` gives that constant.
    """
    exploration = RandomisedUcb(confidence_radius(**confidence), sign)
    return bandit_agent(spec, ExponentialWeights(rate), exploration, confidence.get("ridge", 1.0))


@register("exponential weights in seconds", "UCB", "ours", "weight_ucb's for equal gaps")
def clock_lin_ucb(
    spec: Spec,
    *,
    half_life: Numeric | Duration,
    prior: Literal["zero", "hold", "decay"] = "zero",
    reference: Literal["now", "last"] = "now",
    norm: BonusNorm = "single",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Linear UCB on samples that weigh $\omega_i = 2^{-(t - t_i)/h}$ at the time $t$, in seconds.

    $$\hat\theta_t = V_t^{-1}\sum_i\omega_i x_i r_i, \qquad
      V_t = \sum_i\omega_i x_i x_i^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac{\sum_i\omega_i^2}{\lambda d}\Bigr)}.$$

    Online a sample has the time of its decision. In the simulator rounds are a second apart, so that $h$
    counts rounds. See docs/clock-time.md.

    Args:
      half_life: $h > 0$: seconds, a `timedelta`, or text such as `"6h"` or `"2 days"`.
      prior: what silence does to the estimate: `"zero"` sends it to 0, `"hold"` leaves it where it is while
        the width grows to that of the ridge, `"decay"` leaves it while the width grows without end.
      reference: `"now"` weighs samples at the time of the decision, `"last"` at that of the last sample.
      norm: `"single"` as above; `"sandwich"` is the norm of D-LinUCB, with the sums of $\omega_i^2$.
    When to use: rewards come at uneven times, and you know how many hours a reward stays useful.
    When not: rounds are evenly spaced; `d_lin_ucb` counts them and is simpler.

    There is no paper. Where nothing changes and times do not depend on rewards, the radius of `prior="zero"`
    holds at each time: weights are then numbers known beforehand, as in `weight_ucb`.
    """
    forgetting = ClockWeights(to_seconds("half_life", half_life), prior, reference)
    return ucb_agent(spec, forgetting, norm, **confidence)


def tune_sift_lin_ucb(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    r"""The numbers of `d_lin_ucb`, with the rate $\eta^d$ for its $\eta$.

    Of $d$ directions that are played alike each then forgets as fast as it would under exponential weights.
    This is ours, and not proved.
    """
    numbers = tune_memory(spec, **run)
    return numbers | dict(rate=numbers["rate"] ** spec.dim)


@tuned_by(tune_sift_lin_ucb, "rate", "ridge", "num_episodes", "confidence")
@register("directional", "UCB, sandwich or single norm", "ours; Lai & Bernstein 2024", "none")
def sift_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    threshold: Numeric = 1e-6,
    fading: Numeric = 1.0,
    norm: BonusNorm = "sandwich",
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
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given. The radius of `d_lin_ucb` has
        $\operatorname{tr}\tilde V_t - d\lambda$ in the place of $\sum\omega^2$.
    When to use: some arms are played rarely, and what is known of them should last until they are played
    again.
    When not: an arm may become better while nobody plays it, and nothing fades, or you need a bound. There
    is none.
    Reference: the forgetting is SIFt, of Lai & Bernstein 2024. The bandit and $\tilde V_t$, the covariance of
    $b_t - V_t\theta$ in units of the noise, are ours. No deviation bound is known where arms are chosen by
    what was seen: $\beta_t$ is borrowed.
    """
    return ucb_agent(spec, DirectionalForgetting(rate, threshold, fading), norm, **confidence)

"""Linear UCB: without forgetting, on a window, restarted, or forgetting by rounds, the clock or direction."""

from typing import Annotated, Any, Literal, Unpack

from driftwise import parts
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits import bandit_agent as bandit
from driftwise.algorithms.bandits.bandit_agent import Confidence, Information, SpreadConfidence
from driftwise.base.schema import add_defaults
from driftwise.base.times import Duration, to_seconds
from driftwise.base.types import Numeric, Spec
from driftwise.parts import LeastSquares
from driftwise.parts.exploration import Norm, Sign
from driftwise.theory.bandit_tuning import BanditRun, RidgeRule, weight_ucb_rate


@tuned_by(bandit.tune_ridge, "ridge")
@register("none", "UCB")
def lin_ucb(
    spec: Spec, *, information: Information = "count", **confidence: Unpack[Confidence]
) -> LeastSquares:
    r"""Linear UCB with the self-normalised radius (OFUL).

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1\delta + \ell_t}, \qquad
      \ell_t = d\log\Bigl(1 + \frac{t-1}{\lambda d}\Bigr) \ge \log\frac{\det V_t}{\lambda^d}.$$
    When to use: nothing drifts; it is the baseline that does not forget.
    When not: the problem changes. Old rewards outweigh new ones for as long as they were right.
    Reference: Abbasi-Yadkori, Pál & Szepesvári 2011, Figure 1 and Theorem 2.
    Deviations from the paper: `information="count"` bounds the determinant.
    """
    spread: Any = dict(spread="epochs", shares=1, information=information)
    return bandit.ucb_agent(spec, parts.NoForgetting(), **spread, **confidence)


@tuned_by(bandit.tune_memory, "length", "ridge", "num_episodes", "confidence")
@register("sliding window", "UCB")
def sw_lin_ucb(spec: Spec, *, length: Numeric, **confidence: Unpack[SpreadConfidence]) -> LeastSquares:
    r"""Sliding-window linear UCB (SW-UCB in the paper): sums over the newest $W$ rounds, $\tau \ge t - W$.

    Estimate and index are those of `lin_ucb` for these sums, with
    $$\beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)},
      \qquad n = \min\{t-1, W\}.$$
    Args:
      confidence: `"published"` has $n = W$ and $\delta' = \delta$, which does not cover all rounds at once.
    When to use: a reward is of full use for a known number of rounds and of none after that.
    When not: memory is scarce. A long window keeps all its samples; `d_lin_ucb` keeps sums.
    Reference: Cheung, Simchi-Levi & Zhu 2019, Algorithm 1; the bound is of Touati & Vincent 2020.
    Deviations from the paper: $\delta'$; its radius has $\sigma\sqrt{d\log((1 + W/\lambda)/\delta)}$.
    """
    window = parts.SlidingWindow(length)
    return bandit.ucb_agent(spec, window, memory=window.length, **confidence)


@tuned_by(bandit.tune_memory, "period", "ridge", "num_episodes", "confidence")
@register("periodic restart", "UCB")
def restart_lin_ucb(
    spec: Spec, *, period: Numeric, information: Information = "count", **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""LinUCB on the rounds of the current epoch, $\tau \ge \lfloor t/E \rfloor E$ (RestartUCB in the paper).

    The radius is that of `sw_lin_ucb` for the $n$ rounds of the epoch so far.
    Args:
      num_episodes: rounds of the run: $\delta' = \delta/\lceil K/E \rceil$; without it $\delta' =
        \delta/(2e(1+\ln e)^2)$ in the epoch $e = 1, 2, \dots$
      confidence: `"published"` has $n = E$ and $\delta' = \delta$ whatever the `information`.
    When to use: restarts on a schedule suit you, with a season or a release.
    When not: changes come at unknown times. Each restart also throws away what is still true.
    Reference: Zhao, Zhang, Jiang & Zhou 2020, Algorithm 1; the bound is of Touati & Vincent 2020.
    Deviations from the paper: the radius, see `confidence`.
    """
    restarts = parts.PeriodicRestart(period)
    spread: Any = dict(spread="epochs", memory=restarts.period, information=information)
    return bandit.ucb_agent(spec, restarts, **spread, **confidence)


@tuned_by(bandit.tune_ridge, "ridge")
@register("restart at the changes", "UCB", "baseline", "d (LK)^(1/2) for L stationary pieces")
def oracle_restart(
    spec: Spec,
    *,
    changes: tuple[int, ...],
    information: Information = "determinant",
    **confidence: Unpack[Confidence],
) -> LeastSquares:
    r"""LinUCB that drops everything at given rounds: what forgetting could reach if it knew the changes.
    Args:
      changes: rounds, from 0, the first of each stretch after a change: `environment.changes(num_episodes)`.
      delta: $\delta$, the chance of failure: $\delta' = \delta/L$ in each of the L epochs.
    When to use: you want to know what forgetting could reach.
    When not: outside of simulations, where nobody knows the changes.
    """
    restarts = parts.RestartAt(changes)
    spread: Any = dict(spread="epochs", shares=len(restarts.changes) + 1, information=information)
    return bandit.ucb_agent(spec, restarts, **spread, **confidence)


@tuned_by(bandit.tune_memory, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "UCB, sandwich or single norm")
def d_lin_ucb(
    spec: Spec, *, rate: Numeric, norm: Norm = "sandwich", **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Discounted linear UCB.

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} \eta^{t-1-\tau} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \lambda I, \qquad
      \tilde V_t = \sum_{\tau<t} \eta^{2(t-1-\tau)} x_\tau x_\tau^\top + \lambda I,$$
    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}, \qquad
      \beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta'}
      + d\log\Bigl(1 + \frac{1-\eta^{2(t-1)}}{\lambda d (1-\eta^2)}\Bigr)}.$$
    When to use: the parameter drifts, and you know roughly how many rounds a reward stays useful.
    When not: you do not know that; `adaptive_lin_ucb` weighs memories by itself.
    Reference: Russac, Vernade & Cappé 2019, Algorithm 1; the bound is of Touati & Vincent 2020.
    Deviations from the paper: $\delta'$, see `confidence`.
    """
    return bandit.ucb_agent(spec, parts.ExponentialWeights(rate), norm, **confidence)


class WeightUcbRun(BanditRun, total=False):
    ridge: Annotated[RidgeRule | float, "dim"]


def tune_weight_ucb(spec: Spec, **run: Unpack[WeightUcbRun]) -> dict[str, Any]:
    """`λ = d` unless `ridge` says otherwise, and the rate and radius of a `tuning`.

    `"published"` is γ = 1 − max{1/T, √(P_T/(dT))} with the radius as printed.
    """
    numbers = bandit.tune_memory(spec, **add_defaults(WeightUcbRun, run))
    if run.get("tuning") == "published":
        sizes: dict[str, Any] = dict(num_episodes=run["num_episodes"], variation=run["variation"])
        numbers["rate"] = weight_ucb_rate(dim=spec.dim, **sizes)
    return numbers


@tuned_by(tune_weight_ucb, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "UCB, single norm")
def weight_ucb(spec: Spec, *, rate: Numeric, **confidence: Unpack[SpreadConfidence]) -> LeastSquares:
    r"""Weighted UCB: the estimate and radius of `d_lin_ucb`, the width of one matrix.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x}.$$
    $V^{-1}\tilde V V^{-1} \preceq V^{-1}$, so the index is still optimistic.
    Args:
      ridge: $\lambda > 0$; the paper's is $d$.
    When to use: you want the smallest proven bound among bandits that forget smoothly, with one matrix.
    When not: exploration costs much. Its width is never below that of `d_lin_ucb`.
    Reference: Wang, Zhao & Zhou 2023, Algorithm 1.
    Deviations from the paper: those of `d_lin_ucb`.
    """
    return d_lin_ucb(spec, rate=rate, norm="single", **confidence)


@tuned_by(bandit.tune_memory, "rate", "ridge", "num_episodes", "confidence")
@register("exponential weights", "randomised UCB, one draw a round", bound="d^(7/8) Δ^(1/4) K^(3/4)")
def d_rand_lin_ucb(
    spec: Spec, *, rate: Numeric, sign: Sign = "folded", **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Discounted randomised linear UCB: `d_lin_ucb` with the bonus times one draw $Z_t$ a round.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + Z_t \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}.$$
    Args:
      radius_scale: a factor of $\beta_t$, hence the scale of $Z_t$, which theory leaves open.
      sign: $Z_t = |N(0, 1)|$ (`"folded"`) or $Z_t = N(0, 1)$ (`"signed"`).
    When to use: you want random choices by one draw a round, and the radius of `d_lin_ucb`.
    When not: you need the same choice from the same data; `d_lin_ucb` gives that.
    Reference: Kim & Tewari 2020 (corrected version), D-RandLinUCB.
    Deviations from the paper: $Z_t$ is multiplied by $\beta_t$, in the paper by a constant, the `radius`.
    """
    forgetting, ridge = parts.ExponentialWeights(rate), confidence.get("ridge", 1.0)
    exploration = parts.RandomisedUcb(bandit.confidence_radius(**confidence), sign)
    return bandit.bandit_agent(spec, forgetting, exploration, ridge)


@register("exponential weights in seconds", "UCB", "ours", "weight_ucb's for equal gaps")
def clock_lin_ucb(
    spec: Spec,
    *,
    half_life: Numeric | Duration,
    prior: Literal["zero", "hold", "decay"] = "zero",
    reference: Literal["now", "last"] = "now",
    norm: Norm = "single",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Linear UCB on samples that weigh $\omega_i = 2^{-(t - t_i)/h}$ at the time $t$, in seconds.

    $$\hat\theta_t = V_t^{-1}\sum_i\omega_i x_i r_i, \qquad
      V_t = \sum_i\omega_i x_i x_i^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac{\sum_i\omega_i^2}{\lambda d}\Bigr)}.$$

    Online a sample has the time of its decision; in the simulator rounds are a second apart.
    Args:
      half_life: $h > 0$: seconds, a `timedelta`, or text such as `"6h"` or `"2 days"`.
      prior: what silence does to the estimate: `"zero"` sends it to 0, `"hold"` leaves it where it is while
        the width grows to that of the ridge, `"decay"` leaves it while the width grows without end.
      reference: `"now"` weighs samples at the time of the decision, `"last"` at that of the last sample.
      norm: `"single"` as above; `"sandwich"` is the norm of D-LinUCB, with the sums of $\omega_i^2$.
    When to use: rewards come at uneven times, and you know how many hours a reward stays useful.
    When not: rounds are evenly spaced; `d_lin_ucb` counts them and is simpler.

    There is no paper. Where nothing changes and times do not depend on rewards, the radius of `prior="zero"`
    holds at each time, as in `weight_ucb`.
    """
    forgetting = parts.ClockWeights(to_seconds("half_life", half_life), prior, reference)
    return bandit.ucb_agent(spec, forgetting, norm, **confidence)


def tune_sift_lin_ucb(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    r"""The numbers of `d_lin_ucb`, with the rate $\eta^d$ for its $\eta$.

    Of $d$ directions that are played alike each then forgets as under exponential weights. Ours, not proved.
    """
    numbers = bandit.tune_memory(spec, **run)
    return numbers | dict(rate=numbers["rate"] ** spec.dim)


@tuned_by(tune_sift_lin_ucb, "rate", "ridge", "num_episodes", "confidence")
@register("directional", "UCB, sandwich or single norm", "ours; Lai & Bernstein 2024", "none")
def sift_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    threshold: Numeric = 1e-6,
    fading: Numeric = 1.0,
    norm: Norm = "sandwich",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Linear UCB with directional forgetting: what is not played is not forgotten.

    $$M_t = I - (1-\eta)\frac{V_tx_tx_t^\top}{x_t^\top V_tx_t}, \qquad V_{t+1} = M_tV_t + x_tx_t^\top, \qquad
      \tilde V_{t+1} = M_t\tilde V_tM_t^\top + x_tx_t^\top, \qquad b_{t+1} = M_tb_t + x_tr_t,$$
    $$x_t \in \arg\max_x\; x^\top V_t^{-1}b_t + \beta_t\sqrt{x^\top V_t^{-1}\tilde V_tV_t^{-1}x}, \qquad
      V_1 = \tilde V_1 = \lambda I, \quad b_1 = 0.$$

    No width grows without a play, so that an arm which has become better is not tried again. `fading` is a
    remedy, `epsilon` of an online bandit another: with $\rho < 1$ a round's update begins with
    $V_t \leftarrow \rho V_t + (1-\rho)\lambda I$, $\tilde V_t$ likewise, and $b_t \leftarrow \rho b_t$.
    Args:
      rate: $\eta \in (0, 1]$; 1 is `lin_ucb` if nothing fades.
      threshold: $\epsilon > 0$; arms with $\|x\|^2 < \epsilon$ teach nothing.
      fading: $\rho \in (0, 1]$, above $\eta$: what is not played weighs $e^{-1}$ after $1/(1-\rho)$ rounds.
    When to use: some arms are played rarely, and what is known of them should last until then.
    When not: an arm may become better while nobody plays it, and nothing fades, or you need a bound.
    Reference: the forgetting is SIFt, of Lai & Bernstein 2024. The bandit and $\tilde V_t$ are ours.
    $\beta_t$ is that of `d_lin_ucb` for $\sum\omega^2 = \operatorname{tr}\tilde V_t - d\lambda$, unproven.
    """
    return bandit.ucb_agent(spec, parts.DirectionalForgetting(rate, threshold, fading), norm, **confidence)

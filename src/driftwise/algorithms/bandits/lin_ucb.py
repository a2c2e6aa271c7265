"""LinUCB, which never forgets; on a sliding window, and started afresh at intervals or at known changes."""

from __future__ import annotations

from typing import Unpack

from driftwise.algorithms.bandits.agent import (
    Confidence,
    Information,
    SpreadConfidence,
    bandit_agent,
    confidence_radius,
    forgetful,
    stationary,
)
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import NoForgetting, PeriodicRestart, RestartAt, SlidingWindow
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=stationary,
    tunes=("ridge",),
    forgetting="none",
    exploration="UCB",
    paper="Abbasi-Yadkori, Pál & Szepesvári 2011",
)
def lin_ucb(
    spec: Spec,
    *,
    information: Information = "count",
    ridge: Numeric = 1.0,
    **confidence: Unpack[Confidence],
) -> LeastSquares:
    r"""Linear UCB with the self-normalised radius (OFUL).

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1\delta + \ell_t}, \qquad
      \ell_t = d\log\Bigl(1 + \frac{t-1}{\lambda d}\Bigr) \ge \log\frac{\det V_t}{\lambda^d}.$$

    Args:
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$; nothing that
        $\beta_t$ is made from counts then.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta$, the chance of failure in any round.
      information: `"count"` is $\ell_t$ as above; `"determinant"` is what it bounds, smaller and dearer.
      radius_scale: a factor of $\beta_t$.
      ridge: $\lambda > 0$.

    When to use: nothing drifts; it is the yardstick that does not forget.

    When not: the world changes. Old rewards outweigh new ones for as long as they were right.

    Reference: Abbasi-Yadkori, Pál & Szepesvári, "Improved Algorithms for Linear Stochastic Bandits", NeurIPS
    2011, Figure 1 and Theorem 2.

    Deviations from the paper: `information="count"` bounds the determinant; ties are broken at random.
    """
    radius = confidence_radius(spread="epochs", shares=1, information=information, **confidence)
    return bandit_agent(spec, NoForgetting(), Ucb(radius), ridge)


@register(
    tuning=forgetful,
    tunes=("length", "ridge", "num_episodes", "confidence"),
    forgetting="sliding window",
    exploration="UCB",
    paper="Cheung, Simchi-Levi & Zhu 2019",
)
def sw_lin_ucb(
    spec: Spec, *, length: Numeric, ridge: Numeric = 1.0, **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Sliding-window linear UCB (SW-UCB in the paper): sums over the newest $W$ rounds, $\tau \ge t - W$.

    $$\hat\theta_t = V_t^{-1} \sum_\tau x_\tau r_\tau, \qquad
      V_t = \sum_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)},
      \qquad n = \min\{t-1, W\}.$$

    Args:
      length: $W$, rounds in the window.
      noise_scale, radius, norm_bound, delta, num_episodes, radius_scale: as of `d_lin_ucb`.
      confidence: `"published"` has $n = W$ from the start and $\delta' = \delta$, which does not cover all
        rounds at once.
      ridge: $\lambda > 0$.

    When to use: a reward is of full use for a known number of rounds and of none after that.

    When not: memory is scarce. A long window keeps all its samples; `d_lin_ucb` keeps sums.

    Reference: Cheung, Simchi-Levi & Zhu, "Learning to Optimize under Non-Stationarity", AISTATS 2019,
    Algorithm 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: the radius is the sharper one of the determinant's bound, where the paper has
    $\sigma\sqrt{d\log((1 + W/\lambda)/\delta)}$; $\delta'$ as in `d_lin_ucb`; ties are broken at random.
    """
    window = SlidingWindow(length)
    return bandit_agent(spec, window, Ucb(confidence_radius(memory=window.length, **confidence)), ridge)


@register(
    tuning=forgetful,
    tunes=("period", "ridge", "num_episodes", "confidence"),
    forgetting="periodic restart",
    exploration="UCB",
    paper="Zhao, Zhang, Jiang & Zhou 2020",
)
def restart_lin_ucb(
    spec: Spec,
    *,
    period: Numeric,
    information: Information = "count",
    ridge: Numeric = 1.0,
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""LinUCB on the rounds of the current epoch, $\tau \ge \lfloor t/E \rfloor E$ (RestartUCB in the paper).

    The radius is that of `lin_ucb` for the $n$ rounds of the epoch so far,
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)}.$$

    Args:
      period: $E$, rounds in an epoch.
      noise_scale, radius, norm_bound, delta, radius_scale, ridge: as of `lin_ucb`.
      num_episodes: rounds of the run: $\delta' = \delta/\lceil K/E \rceil$, a share for each epoch; without
        it $\delta' = \delta/(2e(1+\ln e)^2)$ in the epoch $e = 1, 2, \dots$
      confidence: `"published"` is the paper's radius, with $n = E$ from the start and $\delta' = \delta$,
        which does not cover all epochs at once; `information` does not count then.
      information: as of `lin_ucb`; the rounds that are counted are those of the epoch.

    When to use: starting afresh on a schedule suits you, with a season or a release.

    When not: changes come at unknown times. Each restart also throws away what is still true.

    Reference: Zhao, Zhang, Jiang & Zhou, "A Simple Approach for Non-stationary Linear Bandits", AISTATS 2020,
    Algorithm 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: the radius, see `confidence`; ties are broken at random.
    """
    restarts = PeriodicRestart(period)
    radius = confidence_radius(spread="epochs", memory=restarts.period, information=information, **confidence)
    return bandit_agent(spec, restarts, Ucb(radius), ridge)


@register(
    tuning=stationary,
    tunes=("ridge",),
    forgetting="restart at the changes",
    exploration="UCB",
    bound="d (LK)^(1/2) for L stationary pieces",
    paper="baseline",
)
def oracle_restart(
    spec: Spec,
    *,
    changes: tuple[int, ...],
    information: Information = "determinant",
    ridge: Numeric = 1.0,
    **confidence: Unpack[Confidence],
) -> LeastSquares:
    r"""LinUCB that drops everything at given rounds: what forgetting could reach if it knew the changes.

    Args:
      changes: rounds, from 0, that are the first of a new world: `environment.changes(num_episodes)`.
      noise_scale, radius, norm_bound, radius_scale, ridge: as of `lin_ucb`.
      delta: $\delta$, the chance of failure in any round: $\delta' = \delta/L$ in each of the L epochs.
      information: as of `lin_ucb`, of the rounds since the last change.

    When to use: you want to know what forgetting could reach. It is told the changes.

    When not: you do not know the changes, which is always the case outside of simulations.

    There is no paper.
    """
    restarts = RestartAt(changes)
    shares = len(restarts.changes) + 1
    radius = confidence_radius(spread="epochs", shares=shares, information=information, **confidence)
    return bandit_agent(spec, restarts, Ucb(radius), ridge)

"""LinUCB, which never forgets; on a sliding window, and restarted at intervals or at known changes."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits.bandit_agent import (
    Confidence,
    Information,
    SpreadConfidence,
    tune_memory,
    tune_ridge,
    ucb_agent,
)
from driftwise.base.types import Numeric, Spec
from driftwise.parts import LeastSquares, NoForgetting, PeriodicRestart, RestartAt, SlidingWindow


@tuned_by(tune_ridge, "ridge")
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

    Args:
      delta: $\delta$, the chance of failure in any round.
    When to use: nothing drifts; it is the baseline that does not forget.
    When not: the problem changes. Old rewards outweigh new ones for as long as they were right.
    Reference: Abbasi-Yadkori, Pál & Szepesvári 2011, Figure 1 and Theorem 2.
    Deviations from the paper: `information="count"` bounds the determinant; ties are broken at random.
    """
    radius: Any = dict(spread="epochs", shares=1, information=information)
    return ucb_agent(spec, NoForgetting(), **radius, **confidence)


@tuned_by(tune_memory, "length", "ridge", "num_episodes", "confidence")
@register("sliding window", "UCB")
def sw_lin_ucb(spec: Spec, *, length: Numeric, **confidence: Unpack[SpreadConfidence]) -> LeastSquares:
    r"""Sliding-window linear UCB (SW-UCB in the paper): sums over the newest $W$ rounds, $\tau \ge t - W$.

    $$\hat\theta_t = V_t^{-1} \sum_\tau x_\tau r_\tau, \qquad
      V_t = \sum_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)},
      \qquad n = \min\{t-1, W\}.$$

    Args:
      length: $W$, rounds in the window.
      confidence: `"published"` has $n = W$ from the start and $\delta' = \delta$, which does not cover all
        rounds at once.
    When to use: a reward is of full use for a known number of rounds and of none after that.
    When not: memory is scarce. A long window keeps all its samples; `d_lin_ucb` keeps sums.
    Reference: Cheung, Simchi-Levi & Zhu 2019, Algorithm 1. The bound is that of the corrected analysis
    (Touati & Vincent 2020).
    Deviations from the paper: the radius is the sharper one of the determinant's bound, where the paper has
    $\sigma\sqrt{d\log((1 + W/\lambda)/\delta)}$; $\delta'$ as in `d_lin_ucb`; ties are broken at random.
    """
    window = SlidingWindow(length)
    return ucb_agent(spec, window, memory=window.length, **confidence)


@tuned_by(tune_memory, "period", "ridge", "num_episodes", "confidence")
@register("periodic restart", "UCB")
def restart_lin_ucb(
    spec: Spec, *, period: Numeric, information: Information = "count", **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""LinUCB on the rounds of the current epoch, $\tau \ge \lfloor t/E \rfloor E$ (RestartUCB in the paper).

    The radius is that of `lin_ucb` for the $n$ rounds of the epoch so far,
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)}.$$

    Args:
      period: $E$, rounds in an epoch.
      num_episodes: rounds of the run: $\delta' = \delta/\lceil K/E \rceil$, a share for each epoch; without
        it $\delta' = \delta/(2e(1+\ln e)^2)$ in the epoch $e = 1, 2, \dots$
      confidence: `"published"` is the paper's radius, with $n = E$ from the start and $\delta' = \delta$,
        which does not cover all epochs at once; `information` does not count then.
      information: as of `lin_ucb`; the rounds that are counted are those of the epoch.
    When to use: restarts on a schedule suit you, with a season or a release.
    When not: changes come at unknown times. Each restart also throws away what is still true.
    Reference: Zhao, Zhang, Jiang & Zhou 2020, Algorithm 1. The bound is that of the corrected analysis
    (Touati & Vincent 2020).
    Deviations from the paper: the radius, see `confidence`; ties are broken at random.
    """
    restarts = PeriodicRestart(period)
    radius: Any = dict(spread="epochs", memory=restarts.period, information=information)
    return ucb_agent(spec, restarts, **radius, **confidence)


@tuned_by(tune_ridge, "ridge")
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
      delta: $\delta$, the chance of failure in any round: $\delta' = \delta/L$ in each of the L epochs.
      information: as of `lin_ucb`, of the rounds since the last change.
    When to use: you want to know what forgetting could reach. It knows the changes.
    When not: you do not know the changes, which is always the case outside of simulations.
    """
    restarts = RestartAt(changes)
    radius: Any = dict(spread="epochs", shares=len(restarts.changes) + 1, information=information)
    return ucb_agent(spec, restarts, **radius, **confidence)

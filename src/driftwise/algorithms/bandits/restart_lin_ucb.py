"""RestartLinUCB: start LinUCB afresh at regular intervals."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.bandits.agent import Information, SpreadConfidence, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuning import windowed
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import PeriodicRestart
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The period of a `tuning`, with a radius for the whole run (or as published)."""
    period, numbers = windowed(spec, **run)
    return dict(period=period, **numbers)


@register(
    tuning=tuning,
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

    Reference: Zhao, Zhang, Jiang & Zhou, "A Simple Approach for Non-stationary Linear Bandits", AISTATS 2020,
    Algorithm 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: the radius, see `confidence`; ties are broken at random.
    """
    restarts = PeriodicRestart(period)
    radius = confidence_radius(spread="epochs", memory=restarts.period, information=information, **confidence)
    return bandit_agent(spec, restarts, Ucb(radius), ridge)

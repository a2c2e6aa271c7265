"""Oracle restart: LinUCB with known changes of the world."""

from __future__ import annotations

from typing import Unpack

from driftwise.algorithms.bandits.agent import Confidence, Information, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuning import stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import RestartAt
from driftwise.parts.least_squares import LeastSquares


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

    There is no paper.
    """
    restarts = RestartAt(changes)
    shares = len(restarts.changes) + 1
    radius = confidence_radius(spread="epochs", shares=shares, information=information, **confidence)
    return bandit_agent(spec, restarts, Ucb(radius), ridge)

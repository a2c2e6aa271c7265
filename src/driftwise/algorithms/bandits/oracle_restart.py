"""Oracle restart: LinUCB that is told when the world changes."""

from __future__ import annotations

from driftwise.algorithms.bandits.agent import Information, bandit_agent, confidence_radius
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import RestartAt
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, bandit_ridge, check_bandit_run


def tuned(
    spec: Spec,
    *,
    changes: tuple[int, ...],
    noise_scale: float,
    num_episodes: int = 1,
    variation: float = 0.0,
    norm_bound: float = 1.0,
    delta: float = 0.05,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "one",
    radius_scale: float = 1.0,
) -> LeastSquares:
    """Oracle restart with its radius. Told the `changes`, it makes no use of the run and its `tuning`."""
    check_bandit_run(num_episodes=num_episodes, variation=variation, tuning=tuning)
    return oracle_restart(
        spec,
        changes=changes,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        radius_scale=radius_scale,
        ridge=bandit_ridge(dim=spec.dim, ridge=ridge),
    )


@register(
    tuned=tuned,
    problem="linear bandit",
    forgetting="restart at the changes",
    exploration="UCB",
    bound="d (LK)^(1/2) for L stationary pieces",
    paper="baseline",
)
def oracle_restart(
    spec: Spec,
    *,
    changes: tuple[int, ...],
    noise_scale: Numeric | None = None,
    radius: Numeric | Radius | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.05,
    information: Information = "determinant",
    radius_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
) -> LeastSquares:
    r"""LinUCB that drops everything at given rounds: what forgetting could reach if it knew the changes.

    Args:
      spec: sizes of the problem, `environment.spec`.
      changes: rounds, from 0, that are the first of a new world: `environment.changes(num_episodes)`.
      noise_scale, radius, norm_bound, radius_scale, ridge: as of `lin_ucb`.
      delta: $\delta$, the chance of failure in any round: $\delta' = \delta/L$ in each of the L epochs.
      information: as of `lin_ucb`, of the rounds since the last change.

    There is no paper.
    """
    restarts = RestartAt(changes)
    beta = confidence_radius(
        spread="epochs",
        shares=len(restarts.changes) + 1,
        information=information,
        radius=radius,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        radius_scale=radius_scale,
    )
    return bandit_agent(spec, restarts, Ucb(beta), ridge)

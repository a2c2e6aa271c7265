"""MASTER, and the two agents that its paper makes of it for linear problems."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise.algorithms.bandits.lin_ucb import lin_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.multi_scale import Master
from driftwise.base.agent import Agent
from driftwise.base.arguments import with_defaults
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_count, require_number, require_numeric
from driftwise.theory.tuning import lsvi_ucb_radius

PAPER = "Wei & Luo 2021"


class Tests(TypedDict, total=False):
    """Options of the tests."""

    delta: Annotated[float, 0.05]
    test_scale: Annotated[Numeric, 1.0]
    first_order: Annotated[Numeric, 0]
    low: Annotated[Numeric, 0.0]
    high: Annotated[Numeric, 1.0]


@register(
    forgetting="restart when a test fails",
    exploration="the base's, on many time scales",
    bound="Δ^(1/3) K^(2/3) if the base has K^(1/2)",
    paper=PAPER,
)
def master(base: Agent, *, num_episodes: int, regret_scale: Numeric, **tests: Unpack[Tests]) -> Master:
    r"""Multi-scale stochastic tests of an optimistic agent, and a restart when one of them fails.

    See `Master` for the schedule and the tests. There $\hat\rho(t) = b/\sqrt t$ with
    $b = 6\hat n\log(K/\delta)\,\rho$ and $\hat n = \log_2 K + 1$.

    Args:
      base: an agent whose value of the first state is optimistic.
      num_episodes: $K$, episodes of the run.
      regret_scale: $\rho$: in a world that does not vary, the base loses $\rho/\sqrt t$ an episode in the
        mean of $t$ episodes, where rewards of an episode lie between 0 and 1.
      delta: $\delta$, the chance of a restart in such a world.
      test_scale: a factor of $\hat\rho$ in both tests. With 1, as in the paper, they do not fail within any
        usual run (Gerogiannis, Huang & Veeravalli 2024).
      first_order: the order of the first block, of $2^n$ episodes; 0 in the paper.
      low: the mean reward of a step that counts as 0.
      high: the mean reward of a step that counts as 1.

    When to use: you want the best known rate without knowing the variation, for any optimistic base.

    When not: the run is of usual length. With the published constants its tests never fail in it. Bases
    that are not optimistic are refused.

    Reference: Wei & Luo, "Non-stationary Reinforcement Learning without Prior Knowledge: An Optimal Black-box
    Approach", COLT 2021, Algorithms 1, 2 and 3.

    Deviations from the paper: `test_scale` and `first_order`. It assumes that every episode offers the same:
    one set of arms, one first state.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    regret_scale = require_numeric("regret_scale", regret_scale, above=0)
    options = with_defaults(Tests, tests)
    confidence = 6 * (math.log2(num_episodes) + 1) * _log(num_episodes, options.pop("delta"))
    width = confidence * np.asarray(regret_scale)
    return Master(base, num_orders=num_episodes.bit_length(), width=width, **options)


@register(
    problem="linear bandit",
    forgetting="restart when a test fails",
    exploration="UCB, on many time scales",
    paper=PAPER,
)
def master_lin_ucb(
    spec: Spec,
    *,
    num_episodes: int,
    radius_scale: float = 1.0,
    **tests: Unpack[Tests],
) -> Master:
    r"""MASTER over OFUL: the bonus is $2\beta\|x\|_{V^{-1}}$ with $\beta = 4\sqrt{d\log(K/\delta)}$, and
    $\rho = \beta\sqrt{d\log(K/\delta)}$. For arms that are the same in every round.

    Args:
      num_episodes: $K$, rounds of the run.
      radius_scale: a factor of $\beta$.
      delta, test_scale, first_order, low, high: as of `master`.

    When to use: you want the best known rate of a linear bandit without knowing the variation, for fixed
    arms.

    When not: the run is of usual length. With the published constants its tests never fail in it.

    Reference: Wei & Luo, COLT 2021, Table 1 and Section 3. Deviations from the paper: those of `master`.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    root = math.sqrt(spec.dim * _log(num_episodes, with_defaults(Tests, tests)["delta"]))
    beta = 4 * root * require_number("radius_scale", radius_scale, above=0)
    base = lin_ucb(spec, radius=2 * beta)
    return master(base, num_episodes=num_episodes, regret_scale=beta * root, **tests)


@register(
    problem="linear MDP",
    forgetting="restart when a test fails",
    exploration="UCB, on many time scales",
    paper=PAPER,
)
def master_lsvi_ucb(
    spec: Spec,
    *,
    num_episodes: int,
    beta_scale: float = 1.0,
    clip: Literal["paper", "tight"] = "paper",
    mu_bound: float | None = None,
    **tests: Unpack[Tests],
) -> Master:
    r"""MASTER over LSVI-UCB: $\rho = \beta\sqrt{d\log(K/\delta)}$ in units of the largest return $H$.

    Args:
      num_episodes: $K$, episodes of the run.
      beta_scale: $c$ of the radius $\beta = c\,dH\sqrt{\log(2dT/\delta)}$, $T = KH$.
      clip: of values, as in `lsvi_ucb`.
      mu_bound: $C_\mu$ of the radius, `LinearMdp.mu_bound`; without it $\sqrt d$.
      delta, test_scale, first_order, low, high: as of `master`; $\delta$ is that of the radius, too.

    When to use: you want the best known rate of a linear MDP without knowing the variation, from one
    first state.

    When not: the run is of usual length. With the published constants its tests never fail in it.

    Reference: Wei & Luo, COLT 2021, Table 1 and Section 3. Deviations from the paper: those of `master`.
    """
    beta_scale = require_number("beta_scale", beta_scale, above=0)
    run: dict[str, Any] = dict(num_episodes=num_episodes, delta=with_defaults(Tests, tests)["delta"])
    beta = lsvi_ucb_radius(
        dim=spec.dim, horizon=spec.horizon, beta_scale=beta_scale, mu_bound=mu_bound, **run
    )
    base = lsvi_ucb(spec, radius=beta, clip=clip)
    scale = beta * math.sqrt(spec.dim * _log(**run))
    return master(base, num_episodes=num_episodes, regret_scale=scale, **tests)


def _log(num_episodes: int, delta: float) -> float:
    """log(K/δ), which must not vanish: with δ = 1, bonuses and tests of one episode would have no width."""
    delta = require_number("delta", delta, above=0)
    if delta >= 1:
        raise ArgumentError("delta", "be a number in (0, 1)", delta)
    return math.log(num_episodes / delta)

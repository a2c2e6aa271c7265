"""Ada-LSVI-UCB-Restart: a bandit over the periods of LSVI-UCB-Restart."""

from __future__ import annotations

from typing import Literal

from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb_restart
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.algorithms.unknown_variation.borl import borl
from driftwise.base.types import Spec
from driftwise.base.validation import require_count
from driftwise.theory.tuning import ada_restart_block_length, ada_restart_periods, lsvi_ucb_radius


@register(
    problem="linear MDP",
    forgetting="periodic restart, period chosen by EXP3.P",
    exploration="UCB",
    bound="d^(5/4) H^2 Δ^(1/4) K^(3/4)",
    paper="Zhou, Chen, Varshney & Jagmohan 2020",
    takes_grids=False,
)
def ada_lsvi_ucb_restart(
    spec: Spec,
    *,
    num_episodes: int,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    block_length: int | None = None,
    clip: Literal["paper", "tight"] = "paper",
) -> BanditOverAgents:
    r"""LSVI-UCB-Restart for an unknown variation: in each block of $M$ episodes EXP3.P draws a period
    $\lfloor M^{l/J}\rfloor$, $l = 0, \dots, J = \lfloor\ln M\rfloor$.

    Args:
      num_episodes: $K$, episodes of the run.
      delta: $\delta$ of the radius and of EXP3.P.
      beta_scale: $c$ of the radius $c\,dH\sqrt{\log(2dT/\delta)}$.
      block_length: $M$; without it $\lceil 5\sqrt{TdH}\rceil$ with $T = KH$, at most $K$. That exceeds $K$
        up to $K = 25dH^2$: then all is one block, and one period is drawn for the whole run.
      clip: of values, as in `lsvi_ucb_restart`.

    Reference: Zhou, Chen, Varshney & Jagmohan, "Nonstationary Reinforcement Learning with Linear Function
    Approximation", 2020, Algorithm 2.

    Deviations from the paper: those of `lsvi_ucb_restart`; equal periods count once; EXP3.P's bonus has
    $\ln(J/\delta)$ as in Bubeck & Cesa-Bianchi (2012), where the paper likely has $\ln J$.
    """
    sizes = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=require_count("num_episodes", num_episodes))
    length = ada_restart_block_length(**sizes)
    if block_length is not None:
        length = min(require_count("block_length", block_length), num_episodes)
    radius = lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale)
    base = lsvi_ucb_restart(spec, period=ada_restart_periods(length), radius=radius, clip=clip)
    return borl(base, num_episodes=num_episodes, block_length=length, delta=delta, form="bubeck")

"""BOB: a bandit over windows of SW-UCB."""

from __future__ import annotations

import math

from driftwise.algorithms.bandits.lin_ucb import sw_lin_ucb
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.algorithms.unknown_variation.borl import over_blocks
from driftwise.base.part import points
from driftwise.base.types import Spec
from driftwise.base.validation import require_count, require_number
from driftwise.parts.exp3 import exp3
from driftwise.theory.bandit_tuning import bob_block_length, bob_windows


@register(
    problem="linear bandit",
    forgetting="sliding window, length chosen by EXP3",
    exploration="UCB",
    bound="d^(7/8) Δ^(1/4) K^(3/4)",
    paper="Cheung, Simchi-Levi & Zhu 2019",
    takes_grids=False,
)
def bob(
    spec: Spec,
    *,
    num_episodes: int,
    noise_scale: float,
    norm_bound: float = 1.0,
    delta: float = 0.05,
    radius_scale: float = 1.0,
    ridge: float = 1.0,
    block_length: int | None = None,
) -> BanditOverAgents:
    r"""Bandit over bandits: in each block of $M$ rounds EXP3 draws a window for a fresh SW-UCB.

    Windows are $\lfloor M^{j/J}\rfloor$, $j = 0, \dots, J = \lceil\ln M\rceil$, and the mean reward $\bar
    r$ of a block gains $\frac12 + \bar r/(2q)$ with $q = S + 2\sigma\sqrt{\ln(K/\sqrt M)/M}$.

    Args:
      num_episodes: $K$, rounds of the run.
      noise_scale: $\sigma \ge 0$.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta$, the chance that the radius fails in any round of the run.
      radius_scale: a factor of the radius.
      ridge: $\lambda > 0$.
      block_length: $M$; without it $\lfloor d\sqrt K\rfloor$, at most $K$.

    Reference: Cheung, Simchi-Levi & Zhu, "Learning to Optimize under Non-Stationarity", AISTATS 2019,
    Algorithm 2.

    Deviations from the paper: rewards are at most $S$ in size instead of one; equal windows count once; the
    radius of `sw_lin_ucb` holds for all rounds at once.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    noise_scale = require_number("noise_scale", noise_scale, at_least=0)
    norm_bound = require_number("norm_bound", norm_bound, above=0)
    delta = require_number("delta", delta, above=0, at_most=1)
    radius_scale = require_number("radius_scale", radius_scale, at_least=0)
    ridge = require_number("ridge", ridge, above=0)
    length = bob_block_length(dim=spec.dim, num_episodes=num_episodes)
    if block_length is not None:
        length = min(require_count("block_length", block_length), num_episodes)
    windows = bob_windows(length)
    base = sw_lin_ucb(
        spec,
        length=windows,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        num_episodes=num_episodes,
        radius_scale=radius_scale,
        ridge=ridge,
    )
    noise = 2 * noise_scale * math.sqrt(max(0.0, math.log(num_episodes / math.sqrt(length))) / length)
    highest = norm_bound + noise
    chooser = exp3(len(windows), num_rounds=-(-num_episodes // length))
    return over_blocks(points(base), chooser, length, num_episodes, low=-highest, high=highest)

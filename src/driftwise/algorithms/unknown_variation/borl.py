"""Bandits over agents: which of several ways to forget is best is learnt, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from driftwise.algorithms.linear_mdps.opt_wlsvi import opt_wlsvi
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.base.agent import Agent
from driftwise.base.part import grid_of, is_part, points, stack
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_count
from driftwise.parts.exp3 import Exp3, Form, exp3_p
from driftwise.theory.tuning import borl_block_length, borl_rates, opt_wlsvi_radius

Blocks = int | Literal["corrected", "paper"]


@register(
    forgetting="the base's, chosen by EXP3.P",
    exploration="the base's",
    bound="the base's best, plus that of EXP3.P",
    paper="Touati & Vincent 2020; Cheung, Simchi-Levi & Zhu 2019",
    takes_grids=False,
    takes_arms=True,
)
def borl(
    base: Agent | Sequence[Agent],
    *,
    num_episodes: int,
    block_length: Blocks = "corrected",
    delta: float = 0.05,
    form: Form = "auer",
    low: Numeric = 0.0,
    high: Numeric = 1.0,
) -> BanditOverAgents:
    r"""Bandit over reinforcement learning: EXP3.P draws an agent for each block of episodes.

    The run is cut into blocks of $M$ episodes. In each of them a fresh copy of one agent plays, and the mean
    reward of its steps is the gain from which EXP3.P learns. The environment's clock runs on across blocks.

    ```python
    borl(opt_wlsvi(spec, rate=(0.9, 0.99, 1.0), radius=0.4), num_episodes=2000)
    ```

    Args:
      base: an agent with a grid in its numbers, each point of which is an arm; or a list of agents that are
        alike but for their numbers.
      num_episodes: $K$, episodes of the run.
      block_length: $M$; `"corrected"` is $\lceil\sqrt{dK}\rceil$, `"paper"` is $\lceil\sqrt K\rceil$.
      delta: $\delta$ of EXP3.P.
      form: the parameters of EXP3.P, see `driftwise.parts.exp3.exp3_p`.
      low: the mean reward of a step that counts as no gain.
      high: the mean reward of a step that counts as a gain of one.

    Reference: Touati & Vincent, "Efficient Learning in Non-Stationary Linear Markov Decision Processes",
    2020, Algorithm 2.

    Deviations from the paper: the length of blocks, since each begins anew and $\sqrt K$ does not give the
    bound that the paper claims; a block's gain is divided by its length and the horizon.
    """
    arms = points(base) if is_part(base) else base
    if not isinstance(arms, Sequence) or not arms or not all(_is_agent(arm) for arm in arms):
        expected = "an agent with a grid in its numbers, or a list of agents"
        raise ArgumentError("base", f"be {expected}", base)
    num_episodes = require_count("num_episodes", num_episodes)
    length = blocks_of(block_length, dim=arms[0].spec.dim, num_episodes=num_episodes)
    chooser = exp3_p(len(arms), num_rounds=-(-num_episodes // length), delta=delta, form=form)
    return over_blocks(arms, chooser, length, num_episodes, low=low, high=high)


def _is_agent(arm: Any) -> bool:
    return is_part(arm) and isinstance(arm, Agent)


def over_blocks(
    arms: Sequence[Agent],
    chooser: Exp3,
    block_length: int,
    num_episodes: int,
    *,
    low: Numeric = 0.0,
    high: Numeric = 1.0,
) -> BanditOverAgents:
    """Arms that each play as they are: none may hold a grid itself."""
    for arm in arms:
        for name, values in grid_of(arm).items():
            raise ArgumentError("base", f"have a single {name} in each of its agents", values)
    return BanditOverAgents(stack(arms), chooser, block_length, num_episodes, low, high)


def blocks_of(block_length: Blocks, *, dim: int, num_episodes: int) -> int:
    """The length of blocks: as given, or by a rule of `borl_block_length`; at most the run's."""
    if not isinstance(block_length, str):
        return min(require_count("block_length", block_length), num_episodes)
    if block_length not in ("corrected", "paper"):
        raise ArgumentError("block_length", 'be episodes, "corrected" or "paper"', block_length)
    return borl_block_length(dim=dim, num_episodes=num_episodes, tuning=block_length)


@register(
    problem="linear MDP",
    forgetting="exponential weights, rate chosen by EXP3.P",
    exploration="UCB, sandwich or single norm",
    bound="d^(5/4) H^2 Δ^(1/4) K^(3/4)",
    paper="Touati & Vincent 2020",
    takes_grids=False,
)
def opt_wlsvi_borl(
    spec: Spec,
    *,
    num_episodes: int,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    block_length: Blocks = "corrected",
    form: Form = "auer",
    norm: Literal["sandwich", "single"] = "sandwich",
    clip: Literal["paper", "tight"] = "paper",
) -> BanditOverAgents:
    r"""OPT-WLSVI for an unknown variation: `borl` over the rates
    $\log(1/\eta_i) = 2^i/\sqrt{dK}$, $i = 0, \dots, \lfloor\log_2\sqrt K\rfloor$.

    Args:
      num_episodes: $K$, episodes of the run.
      delta: $\delta$ of the radius and of EXP3.P.
      beta_scale: $c$ of the radius $c\,dH\sqrt\iota$, see `driftwise.theory.tuning.opt_wlsvi_radius`.
      block_length: $M$; `"corrected"` is $\lceil\sqrt{dK}\rceil$, `"paper"` is $\lceil\sqrt K\rceil$.
      form: the parameters of EXP3.P, see `driftwise.parts.exp3.exp3_p`.
      norm: of the bonus, as in `opt_wlsvi`.
      clip: of values, as in `opt_wlsvi`.

    Reference: Touati & Vincent, "Efficient Learning in Non-Stationary Linear Markov Decision Processes",
    2020, Algorithm 2.

    Deviations from the paper: those of `borl`; arms are counted from 0, so that the grid spans variations
    from 1 to K.
    """
    known: dict[str, Any] = dict(
        dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes, delta=delta, beta_scale=beta_scale
    )
    rates = borl_rates(dim=spec.dim, num_episodes=num_episodes)
    radii = [opt_wlsvi_radius(**known, rate=rate) for rate in rates]
    base = opt_wlsvi(spec, rate=rates, radius=radii, norm=norm, clip=clip)
    return borl(base, num_episodes=num_episodes, block_length=block_length, delta=delta, form=form)

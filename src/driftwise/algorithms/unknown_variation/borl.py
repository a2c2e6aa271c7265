"""Bandits over agents: which of several ways to forget is best is learnt, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from driftwise.algorithms.algorithm import register
from driftwise.algorithms.bandits.lin_ucb import sw_lin_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb_restart
from driftwise.algorithms.linear_mdps.opt_wlsvi import opt_wlsvi
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.base.agent import Agent
from driftwise.base.part import expand_grid, get_grids, is_part, stack_parts
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.parts import Exp3, exp3, exp3_p
from driftwise.parts.experts import Form
from driftwise.theory.bandit_tuning import bob_block_length, bob_windows
from driftwise.theory.tuning import (
    ada_restart_block_length,
    ada_restart_periods,
    borl_block_length,
    borl_rates,
    lsvi_ucb_radius,
    opt_wlsvi_radius,
)

BlockLength = int | Literal["corrected", "paper"]


@register(
    "the base's, chosen by EXP3.P",
    "the base's",
    "Touati & Vincent 2020; Cheung, Simchi-Levi & Zhu 2019",
    "the base's best, plus that of EXP3.P",
    takes_arms=True,
)
def borl(
    base: Agent | Sequence[Agent],
    *,
    num_episodes: int,
    block_length: BlockLength = "corrected",
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
        alike but for their numbers. There are at least two.
      block_length: $M$; `"corrected"` is $\lceil\sqrt{dK}\rceil$, `"paper"` is $\lceil\sqrt K\rceil$.
      delta: $\delta$ of EXP3.P.
      form: the parameters of EXP3.P, see `driftwise.parts.experts.exp3_p`.
      low: the mean reward of a step that counts as no gain.
      high: the mean reward of a step that counts as a gain of one.
    When to use: any agent's numbers should be chosen while it runs, with a bound.
    When not: the run is short. Every block restarts, and trying costs whole blocks.
    Reference: Touati & Vincent 2020, Section 5.1.
    Deviations from the paper: the length of blocks, since each restarts and $\sqrt K$ does not give the
    bound that the paper claims; a block's gain is divided by its length and the horizon.
    """
    arms = expand_grid(base) if is_part(base) else base
    if (
        not isinstance(arms, Sequence)
        or not arms
        or not all(is_part(arm) and isinstance(arm, Agent) for arm in arms)
    ):
        raise ArgumentError("base", "be an agent with a grid in its numbers, or a list of agents", base)
    if len(arms) == 1:
        raise ArgumentError("base", "have at least two agents to choose from", base, "one")
    return _borl(arms, num_episodes, block_length, delta, form, low=low, high=high)


def _borl(
    arms: Sequence[Agent],
    num_episodes: int,
    block_length: BlockLength,
    delta: float,
    form: Form,
    *,
    low: Numeric = 0.0,
    high: Numeric = 1.0,
) -> BanditOverAgents:
    """`borl` over arms of which there may be one, as the grids of short runs have it."""
    num_episodes = require_count("num_episodes", num_episodes)
    if isinstance(block_length, str):
        if block_length not in ("corrected", "paper"):
            raise ArgumentError("block_length", 'be episodes, "corrected" or "paper"', block_length)
        dim = arms[0].spec.dim
        block_length = borl_block_length(dim=dim, num_episodes=num_episodes, tuning=block_length)
    chooser = partial(exp3_p, delta=delta, form=form)
    return _over_blocks(arms, chooser, block_length, num_episodes, low, high)


@register(
    "exponential weights, rate chosen by EXP3.P",
    "UCB, sandwich or single norm",
    bound="d^(5/4) H^2 max(Δ, 1)^(1/4) K^(3/4) + d^(1/4) H K^(3/4)",
    problem="linear MDP",
)
def opt_wlsvi_borl(
    spec: Spec,
    *,
    num_episodes: int,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    block_length: BlockLength = "corrected",
    form: Form = "auer",
    norm: Literal["sandwich", "single"] = "sandwich",
    clip: Literal["paper", "tight"] = "paper",
    mu_bound: float | None = None,
) -> BanditOverAgents:
    r"""OPT-WLSVI for an unknown variation: `borl` over the rates
    $\log(1/\eta_i) = 2^i/\sqrt{dK}$, $i = 0, \dots, \lfloor\log_2\sqrt K\rfloor$.

    The slowest rate is that for $\Delta = 1$, and blocks restart, so that less drift gains nothing: the
    bound has $\max\{\Delta, 1\}$. What EXP3.P adds to it is $HM\sqrt{K/M}$, for blocks of $M = \sqrt{dK}$.

    Args:
      block_length, form: as of `borl`.
      delta: $\delta$ of the radius and of EXP3.P.
      beta_scale: $c$ of the radius $c\,dH\sqrt\iota$, see `driftwise.theory.tuning.opt_wlsvi_radius`.
      norm, clip: as of `opt_wlsvi`.
    When to use: you want a bound for OPT-WLSVI without knowing the variation.
    When not: you want low regret in a run of usual length; `adaptive_opt_wlsvi` tries all memories on the
    same data.
    Reference: Touati & Vincent 2020, Section 5.1.
    Deviations from the paper: those of `borl`; arms are counted from 0, so that the grid spans variations
    from 1 to K.
    """
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    known: dict[str, Any] = dict(delta=delta, beta_scale=beta_scale, mu_bound=mu_bound)
    rates = borl_rates(dim=spec.dim, num_episodes=num_episodes)
    radii = [opt_wlsvi_radius(**sizes, **known, rate=rate) for rate in rates]
    base = opt_wlsvi(spec, rate=rates, radius=radii, norm=norm, clip=clip)
    return _borl(expand_grid(base), num_episodes, block_length, delta, form)


@register(
    "periodic restart, period chosen by EXP3.P",
    "UCB",
    bound="d^(5/4) H^2 max(Δ, 1)^(1/4) K^(3/4) + d^(1/4) H^(3/2) K^(3/4)",
    problem="linear MDP",
)
def ada_lsvi_ucb_restart(
    spec: Spec,
    *,
    num_episodes: int,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    block_length: int | None = None,
    clip: Literal["paper", "tight"] = "paper",
    mu_bound: float | None = None,
) -> BanditOverAgents:
    r"""LSVI-UCB-Restart for an unknown variation: in each block of $M$ episodes EXP3.P draws a period
    $\lfloor M^{l/J}\rfloor$, $l = 0, \dots, J = \lfloor\ln M\rfloor$.

    Args:
      beta_scale: $c$ of the radius $c\,dH\sqrt{\log(2dT/\delta)}$.
      block_length: $M$; without it $\lceil 5\sqrt{TdH}\rceil$ with $T = KH$, at most $K$. That exceeds $K$
        up to $K = 25dH^2$: then all is one block, and one period is drawn for the whole run.
      clip: of values, as in `lsvi_ucb_restart`.
    When to use: you want a bound for restarts without knowing the variation.
    When not: you want low regret in a run of usual length; every block restarts.
    Reference: Zhou, Chen, Varshney & Jagmohan 2020, Algorithm 2.
    Deviations from the paper: those of `lsvi_ucb_restart`; equal periods count once; EXP3.P's bonus has
    $\ln(J/\delta)$ as in Bubeck & Cesa-Bianchi (2012), where the paper likely has $\ln J$.
    """
    sizes = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=require_count("num_episodes", num_episodes))
    usual = ada_restart_block_length(**sizes)
    length = min(require_count("block_length", usual if block_length is None else block_length), num_episodes)
    radius = lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale, mu_bound=mu_bound)
    base = lsvi_ucb_restart(spec, period=ada_restart_periods(length), radius=radius, clip=clip)
    return _borl(expand_grid(base), num_episodes, length, delta, "bubeck")


@register(
    "sliding window, length chosen by EXP3",
    "UCB",
    bound="d^(7/8) max(Δ, 1)^(1/4) K^(3/4) + d^(1/2) K^(3/4)",
    problem="linear bandit",
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
    r$ of a block gains $\frac12 + \bar r/(2q)$ with $q = S + 2\sigma\sqrt{\ln(K/\sqrt M)/M}$. No
    window is longer than $M$, so that the bound has $\max\{\Delta, 1\}$; EXP3 adds $M\sqrt{K/M}$ to it.

    Args:
      noise_scale, norm_bound, delta, radius_scale, ridge: as of `sw_lin_ucb`, each a single number.
      block_length: $M$; without it $\lfloor d\sqrt K\rfloor$, at most $K$.
    When to use: you want a bound for a sliding window without knowing the variation.
    When not: you want low regret in a run of usual length; `adaptive_lin_ucb` tries all memories on the
    same data.
    Reference: Cheung, Simchi-Levi & Zhu 2019, Algorithm 2.
    Deviations from the paper: rewards are at most $S$ in size instead of one; equal windows count once; the
    radius of `sw_lin_ucb` holds for all rounds at once.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    noise_scale = require_number("noise_scale", noise_scale, at_least=0)
    norm_bound = require_number("norm_bound", norm_bound, above=0)
    delta = require_number("delta", delta, above=0, at_most=1)
    radius_scale = require_number("radius_scale", radius_scale, at_least=0)
    ridge = require_number("ridge", ridge, above=0)
    usual = bob_block_length(dim=spec.dim, num_episodes=num_episodes)
    length = min(require_count("block_length", usual if block_length is None else block_length), num_episodes)
    known: Any = dict(noise_scale=noise_scale, norm_bound=norm_bound, delta=delta, radius_scale=radius_scale)
    windows = bob_windows(length)
    base = sw_lin_ucb(spec, length=windows, num_episodes=num_episodes, ridge=ridge, **known)
    noise = 2 * noise_scale * math.sqrt(max(0.0, math.log(num_episodes / math.sqrt(length))) / length)
    highest = norm_bound + noise
    return _over_blocks(expand_grid(base), exp3, length, num_episodes, -highest, highest)


def _over_blocks(
    arms: Sequence[Agent],
    make_chooser: Callable[..., Exp3],
    block_length: int,
    num_episodes: int,
    low: Numeric,
    high: Numeric,
) -> BanditOverAgents:
    """Arms that each play as they are: none may hold a grid itself."""
    for arm in arms:
        for name, values in get_grids(arm).items():
            raise ArgumentError("base", f"have a single {name} in each of its agents", values)
    length = min(require_count("block_length", block_length), num_episodes)
    chooser = make_chooser(len(arms), num_rounds=-(-num_episodes // length))
    return BanditOverAgents(stack_parts(arms), chooser, length, num_episodes, low, high)

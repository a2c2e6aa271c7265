"""How fast to forget and how far to explore, from the number of episodes and the variation."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

from driftwise.base.schema import Count, NonNegative, Positive, PositiveShare, check_keywords
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.theory.bandit_tuning import geometric_grid

Regime = Literal["still", "drifting", "too fast"]
RateTuning = Literal["paper", "horizon_aware", "ridge_dim", "orthogonal"]
KernelTuning = Literal["ours", "paper_r1", "paper_r2"]
DIMENSION = 2  # of states and actions together, where pairs lie in the unit square
_FASTEST = 700.0  # exp(−700) is still a positive float64; all but the newest episode is forgotten long before


@check_keywords
def opt_wlsvi_rate(
    *, dim: Count, horizon: Count, num_episodes: Count, variation: NonNegative, tuning: RateTuning = "paper"
) -> float:
    r"""The forgetting rate η of OPT-WLSVI: $\log(1/\eta) = (\Delta/(dK))^{1/2}$ for `"paper"` (Corollary 1).

    It is $(\Delta/(dHK))^{1/2}$ for `"horizon_aware"`, $(\Delta/(d^{3/2}HK))^{1/2}$ for `"ridge_dim"` and
    $(\Delta/(d^{3/2}HK))^{2/3}$ for `"orthogonal"`, which are ours.
    """
    of_dim = dim if tuning in ("paper", "horizon_aware") else dim**1.5
    scale = of_dim * (1 if tuning == "paper" else horizon) * num_episodes
    return rate_of((variation / scale) ** (2 / 3 if tuning == "orthogonal" else 1 / 2))


def rate_of(shrinking: float) -> float:
    r"""Return $\eta$ from $\log(1/\eta)$; it is always positive."""
    return math.exp(-min(shrinking, _FASTEST))


@check_keywords
def restart_period(*, dim: Count, horizon: Count, num_episodes: Count, variation: NonNegative) -> int:
    r"""$\lceil (dK/\Delta)^{1/2} \rceil$, at most $K$: the period of LSVI-UCB-Restart (Zhou et al. 2020)."""
    if variation * num_episodes <= dim:  # the root would be at least K
        return num_episodes
    return math.ceil(math.sqrt(dim * num_episodes / variation))


@check_keywords
def restart_period_if_known(
    *, dim: Count, horizon: Count, num_episodes: Count, variation: NonNegative
) -> int:
    r"""$\lceil (K/\Delta)^{2/3}d^{1/3} \rceil$, at most $K$: the period if the local variation is known."""
    if variation * variation * num_episodes <= dim:  # the period would be at least K
        return num_episodes
    return math.ceil((num_episodes / variation) ** (2 / 3) * dim ** (1 / 3))


@check_keywords
def borl_block_length(
    *, dim: Count, num_episodes: Count, tuning: Literal["corrected", "paper"] = "corrected"
) -> int:
    r"""$\lceil\sqrt{dK}\rceil$, at most $K$: episodes in a block of BoRL.

    `"paper"` is $\lceil\sqrt K\rceil$ (Touati & Vincent 2020, Section 5.1), without what a fresh start costs.
    """
    return min(_ceil_root(dim * num_episodes if tuning == "corrected" else num_episodes), num_episodes)


@check_keywords
def borl_rates(*, dim: Count, num_episodes: Count) -> tuple[float, ...]:
    r"""$\log(1/\eta_i) = 2^i/\sqrt{dK}$ for $i = 0, \dots, \lfloor\log_2\sqrt K\rfloor$: rates of BoRL."""
    doublings = (num_episodes.bit_length() - 1) // 2
    return tuple(math.exp(-(2**i) / math.sqrt(dim * num_episodes)) for i in range(doublings + 1))


@check_keywords
def ada_restart_block_length(*, dim: Count, horizon: Count, num_episodes: Count) -> int:
    r"""$\lceil 5\sqrt{TdH}\rceil$ with $T = KH$, at most $K$, for Ada-LSVI-UCB-Restart (Zhou et al. 2020)."""
    return min(_ceil_root(25 * dim * horizon**2 * num_episodes), num_episodes)


def ada_restart_periods(block_length: int) -> tuple[int, ...]:
    r"""$\lfloor M^{l/\lfloor\ln M\rfloor}\rfloor$ for $l = 0, 1, \dots$: the periods of blocks of M."""
    block_length = require_count("block_length", block_length)
    return geometric_grid(block_length, max(math.floor(math.log(block_length)), 1))


@check_keywords
def growing_phases(*, num_episodes: Count, variation: NonNegative) -> tuple[int, ...]:
    r"""Ends of phases of $\lceil i^2/V^2\rceil$ steps in a run, $i = 1, 2, \dots$ (Ortner et al. 2019)."""
    steps, end = [], 0.0
    for phase in itertools.count(1):
        end += math.ceil((phase / variation) ** 2) if phase < variation * num_episodes else num_episodes
        if end >= num_episodes:
            break
        steps.append(int(end))
    return tuple(steps)


@check_keywords
def drift_regime(*, memory: float, dim: Count, num_episodes: Count) -> Regime:
    """Kind of drift: `"still"` for a memory of the whole run, `"too fast"` for one too short to learn."""
    if not memory > 0:
        raise ArgumentError("memory", "be a number above 0", memory)
    if memory >= num_episodes:
        return "still"
    return "too fast" if memory <= dim else "drifting"


@check_keywords
def mirror_descent_step(*, num_actions: Count, horizon: Count, num_episodes: Count) -> float:
    r"""$\alpha = \sqrt{2\log A/(HT)}$ with $T = KH$: the step size of OPPO (Cai et al. 2019)."""
    return math.sqrt(2 * math.log(num_actions) / num_episodes) / horizon


@check_keywords
def opt_wlsvi_radius(*, num_episodes: Count, rate: PositiveShare, **run: Any) -> float:
    r"""$\beta = c\,dH\sqrt{\iota}$ with $\iota = \log(2dHK/(\delta(1-\eta)))$ (Theorem 1, for all episodes).

    The memory $1/(1-\eta)$ counts at most as $K$. The other keywords are those of `lsvi_ucb_radius`.
    """
    memory = num_episodes if rate == 1 else min(num_episodes, 1 / (1 - rate))
    return lsvi_ucb_radius(num_episodes=num_episodes, memory=memory, **run)


@check_keywords
def lsvi_ucb_radius(
    *,
    dim: Count,
    horizon: Count,
    num_episodes: Count,
    delta: PositiveShare,
    beta_scale: NonNegative = 1.0,
    mu_bound: float | None = None,
    ridge: Positive = 1.0,
    memory: float = 1,
) -> float:
    r"""$\beta = c\,dH\sqrt{\log(2dTm/\delta)}$ with $T = KH$ and $m = 1$ (Jin et al. 2020, Theorem 3.1).

    `beta_scale` is the $c$ that theory leaves open, `memory` $m$. A `mu_bound` adds `measure_excess`.
    """
    excess = measure_excess(dim=dim, horizon=horizon, mu_bound=mu_bound, ridge=ridge)
    root = math.sqrt(math.log(2 * dim * horizon * num_episodes * memory / delta))
    return beta_scale * dim * horizon * root + beta_scale * excess


@check_keywords
def measure_excess(*, dim: Count, horizon: Count, mu_bound: float | None, ridge: Positive = 1.0) -> float:
    r"""$\sqrt\lambda\,H(C_\mu - \sqrt d)$, at least 0: what radii for $C_\mu \le \sqrt d$ leave out. Ours.

    The ridge pulls an estimate of $PV$ off by $\lambda|\phi^\top\Lambda^{-1}v|$ with $v = \int V\,d\mu$.
    $\|v\| \le HC_\mu$ with $C_\mu = \||\mu|(S)\|$, which is `LinearMdp.mu_bound`; $\|\mu(S)\| \le \sqrt d$,
    as printed, bounds it for measures of one sign only. Without a `mu_bound` $C_\mu$ is $\sqrt d$.
    """
    if mu_bound is None or require_number("mu_bound", mu_bound, at_least=0) <= math.sqrt(dim):
        return 0.0
    return math.sqrt(ridge) * horizon * (mu_bound - math.sqrt(dim))


@check_keywords
def exploration_probability(*, num_actions: Count, num_episodes: Count) -> float:
    r"""$\varepsilon = \min\{1, (A/K)^{1/3}\}$: a convention, not a theorem for MDPs."""
    return min(1.0, (num_actions / num_episodes) ** (1 / 3))


@check_keywords
def tabular_memory(spec: Spec, *, num_episodes: Count, variation: NonNegative, power: float) -> float:
    r"""Episodes worth remembering for an algorithm with regret $\sqrt{H^a SAT}$ where nothing moves.

    They are $K/D$ for the $D = (SA)^{-1/3} \Delta^{2/3} H^{(2-a)/3} T^{1/3}$ epochs at which its regret
    $\sqrt{H^a SATD}$ equals the $HT\Delta/D$ of what moves within them. `power` is $a$.
    """
    steps, pairs = num_episodes * spec.horizon, spec.num_states * spec.num_actions
    epochs = (variation**2 * steps * spec.horizon ** (2 - power) / pairs) ** (1 / 3)
    return num_episodes / epochs if epochs > 0 else math.inf


def tabular_period(spec: Spec, *, num_episodes: int, variation: float, power: float) -> int:
    """Return the tabular memory as a whole number of episodes, at least one and at most all."""
    episodes = tabular_memory(spec, num_episodes=num_episodes, variation=variation, power=power)
    return max(1, math.ceil(min(episodes, num_episodes)))


@check_keywords
def tabular_log_term(spec: Spec, factor: float, *, num_episodes: Count, delta: PositiveShare) -> float:
    r"""$\log(cSAT/\delta)$ with $T = KH$ and the `factor` $c$, for all steps of a run at once."""
    return math.log(factor * spec.num_states * spec.num_actions * (spec.horizon * num_episodes) / delta)


def _ceil_root(square: int) -> int:
    root = math.isqrt(square)
    return root + (root * root < square)


@check_keywords
def kernel_rate(
    *, num_episodes: Count, variation: NonNegative, horizon: Count = 1, tuning: KernelTuning = "ours"
) -> float:
    r"""The rate η of KeRNS, for pairs of states and actions in the unit square, of dimension $d = 2$.

    `"paper_r1"` and `"paper_r2"` follow from Theorem 1 for the bounds $R_1$ and $R_2$ of Domingues et al.
    2021, Table 1, with the `variation` $\Delta_r + L\Delta_p$; their own, in Table 3 of an appendix, were not
    compared. `"ours"` balances $R_2$ and leaves powers of H and L out, with $\Delta_r+\Delta_p$.
    """
    d = DIMENSION
    if tuning == "paper_r1":
        return rate_of(variation ** (2 / 3) * num_episodes ** (-(2 * d + 2) / (2 * d + 3)))
    power = (2 * d + 1) / (2 * d + 2)
    if tuning == "paper_r2":
        return rate_of(variation ** (1 / 2) * num_episodes**-power / horizon)
    return rate_of((variation / num_episodes) ** power)


@check_keywords
def kernel_bandwidth(*, num_episodes: Count, variation: NonNegative, tuning: KernelTuning = "ours") -> float:
    r"""The bandwidth σ for the rate of the same `tuning`.

    Ours is $m^{-1/(2d+1)}$ for the memory $m$ of `kernel_rate`, at most K episodes, `"paper_r1"`
    $K^{-1/(2d+3)}$ and `"paper_r2"` $K^{-1/(2d+2)}$.
    """
    d = DIMENSION
    if tuning != "ours":
        return num_episodes ** (-1 / (2 * d + (3 if tuning == "paper_r1" else 2)))
    shrinking = (variation / num_episodes) ** ((2 * d + 1) / (2 * d + 2))
    return min(max(shrinking, 1 / num_episodes), 1.0) ** (1 / (2 * d + 1))


@check_keywords
def partition_period(*, num_episodes: Count, variation: NonNegative) -> int:
    r"""Episodes between restarts of adaptive Q-learning: $(K/\Delta)^{(d+2)/(d+3)}$, at most K. Ours."""
    shrinking = (variation / num_episodes) ** ((DIMENSION + 2) / (DIMENSION + 3))
    return num_episodes if shrinking * num_episodes <= 1 else math.ceil(1 / shrinking)

"""How fast to forget and how far to explore, from the number of episodes and the variation.

Every function says which statement of which paper it evaluates, and which are ours.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal, get_args

from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_number
from driftwise.theory.bandit_tuning import geometric_grid

Regime = Literal["still", "drifting", "too fast"]
RateTuning = Literal["paper", "horizon_aware", "ridge_dim", "orthogonal"]
_FASTEST = 700.0  # exp(−700) is still a positive float64; all but the newest episode is forgotten long before


def opt_wlsvi_rate(
    *, dim: int, horizon: int, num_episodes: int, variation: float, tuning: RateTuning = "paper"
) -> float:
    r"""The forgetting rate η of OPT-WLSVI.

    | `tuning` | $\log(1/\eta)$ | regret | source |
    |---|---|---|---|
    | `"paper"` | $(\Delta/(dK))^{1/2}$ | $d^{5/4}H^2\Delta^{1/4}K^{3/4}$ | Corollary 1 |
    | `"horizon_aware"` | $(\Delta/(dHK))^{1/2}$ | $d^{5/4}H^{7/4}\Delta^{1/4}K^{3/4}$ | ours |
    | `"ridge_dim"` | $(\Delta/(d^{3/2}HK))^{1/2}$, $\lambda=d$ | $d^{9/8}H^{7/4}\Delta^{1/4}K^{3/4}$ | ours |
    | `"orthogonal"` | $(\Delta/(d^{3/2}HK))^{2/3}$, one-hot $\phi$ | $dH^{5/3}\Delta^{1/3}K^{2/3}$ | ours |

    A variation of zero gives `η = 1`.
    """
    dim, horizon, num_episodes, variation = _check(dim, horizon, num_episodes, variation)
    require_choice("tuning", tuning, get_args(RateTuning))
    scale = {
        "paper": dim * num_episodes,
        "horizon_aware": dim * horizon * num_episodes,
        "ridge_dim": dim**1.5 * horizon * num_episodes,
        "orthogonal": dim**1.5 * horizon * num_episodes,
    }[tuning]
    power = 2 / 3 if tuning == "orthogonal" else 1 / 2
    return rate_of((variation / scale) ** power)


def rate_of(shrinking: float) -> float:
    r"""$\eta$ with $\log(1/\eta)$ as given; however fast that is, $\eta$ stays positive."""
    return math.exp(-min(shrinking, _FASTEST))


def restart_period(*, dim: int, horizon: int, num_episodes: int, variation: float) -> int:
    r"""Episodes between restarts of LSVI-UCB-Restart without knowledge of the local variation.

    $\lceil (dT/(\Delta H))^{1/2} \rceil$ with $T = KH$ (Zhou et al. 2020), at most $K$.
    """
    dim, horizon, num_episodes, variation = _check(dim, horizon, num_episodes, variation)
    if variation * num_episodes <= dim:  # the root would be at least K
        return num_episodes
    return math.ceil(math.sqrt(dim * num_episodes / variation))


def restart_period_if_known(*, dim: int, horizon: int, num_episodes: int, variation: float) -> int:
    r"""Episodes between restarts of LSVI-UCB-Restart when the variation of every epoch is known.

    $\lceil \Delta^{-2/3}T^{2/3}d^{1/3}H^{-2/3} \rceil$ with $T = KH$ (Zhou et al. 2020), at most $K$.
    """
    dim, horizon, num_episodes, variation = _check(dim, horizon, num_episodes, variation)
    if variation * variation * num_episodes <= dim:  # the period would be at least K
        return num_episodes
    return math.ceil((num_episodes / variation) ** (2 / 3) * dim ** (1 / 3))


def borl_block_length(
    *, dim: int, num_episodes: int, tuning: Literal["corrected", "paper"] = "corrected"
) -> int:
    r"""Episodes in a block of BoRL over OPT-WLSVI, at most $K$.

    $\lceil\sqrt{dK}\rceil$: every block starts afresh, at a cost that the $\lceil\sqrt K\rceil$ of
    the paper (Touati & Vincent 2020, Section 5.1) leaves out.
    """
    dim, _, num_episodes, _ = _check(dim, 1, num_episodes, 0.0)
    corrected = require_choice("tuning", tuning, ("corrected", "paper")) == "corrected"
    return min(_ceil_root(dim * num_episodes if corrected else num_episodes), num_episodes)


def borl_rates(*, dim: int, num_episodes: int) -> tuple[float, ...]:
    r"""$\log(1/\eta_i) = 2^i/\sqrt{dK}$ for $i = 0, \dots, \lfloor\log_2\sqrt K\rfloor$: the rates of BoRL.

    They are Corollary 1's for variations from 1 to $K$.
    """
    dim, _, num_episodes, _ = _check(dim, 1, num_episodes, 0.0)
    doublings = (num_episodes.bit_length() - 1) // 2
    return tuple(math.exp(-(2**i) / math.sqrt(dim * num_episodes)) for i in range(doublings + 1))


def ada_restart_block_length(*, dim: int, horizon: int, num_episodes: int) -> int:
    r"""$\lceil 5\sqrt{TdH}\rceil$ with $T = KH$, at most $K$, for Ada-LSVI-UCB-Restart (Zhou et al. 2020)."""
    dim, horizon, num_episodes, _ = _check(dim, horizon, num_episodes, 0.0)
    return min(_ceil_root(25 * dim * horizon**2 * num_episodes), num_episodes)


def ada_restart_periods(block_length: int) -> tuple[int, ...]:
    r"""$\lfloor M^{l/\lfloor\ln M\rfloor}\rfloor$ for $l = 0, 1, \dots$: the periods of blocks of M."""
    block_length = require_count("block_length", block_length)
    return geometric_grid(block_length, max(math.floor(math.log(block_length)), 1))


def growing_phases(*, num_episodes: int, variation: float) -> tuple[int, ...]:
    r"""Ends of phases of $\lceil i^2/V^2\rceil$ steps within a run, $i = 1, 2, \dots$ (Ortner et al. 2019).

    $V$ is $V_r + DV_p$ in the paper and $V_r + V_p$ in ours. There are none where nothing varies.
    """
    _, _, num_episodes, variation = _check(1, 1, num_episodes, variation)
    steps, end = [], 0.0
    for phase in itertools.count(1):
        end += math.ceil((phase / variation) ** 2) if phase < variation * num_episodes else num_episodes
        if end >= num_episodes:
            break
        steps.append(int(end))
    return tuple(steps)


def drift_regime(*, memory: float, dim: int, num_episodes: int) -> Regime:
    """Kind of drift, from the memory that a tuning asks for.

    `"still"`: nothing would be forgotten before the run ends, so a stationary algorithm does as well.
    `"too fast"`: no more episodes are remembered than a step has unknowns, so nothing can be learnt.
    """
    dim, num_episodes = require_count("dim", dim), require_count("num_episodes", num_episodes)
    if not memory > 0:
        raise ArgumentError("memory", "be a number above 0", memory)
    if memory >= num_episodes:
        return "still"
    return "too fast" if memory <= dim else "drifting"


def mirror_descent_step(*, num_actions: int, horizon: int, num_episodes: int) -> float:
    r"""$\alpha = \sqrt{2\log A/(HT)}$ with $T = KH$: the step size of OPPO (Cai et al. 2019)."""
    num_actions = require_count("num_actions", num_actions)
    _, horizon, num_episodes, _ = _check(1, horizon, num_episodes, 0.0)
    return math.sqrt(2 * math.log(num_actions) / num_episodes) / horizon


def opt_wlsvi_radius(
    *,
    dim: int,
    horizon: int,
    num_episodes: int,
    delta: float,
    rate: float,
    beta_scale: float = 1.0,
    mu_bound: float | None = None,
    ridge: float = 1.0,
) -> float:
    r"""$\beta = c\,dH\sqrt{\iota}$ with $\iota = \log(2dHK/(\delta(1-\eta)))$ (Theorem 1, with the $K$ that a
    bound for all episodes needs).

    `beta_scale` is the absolute constant $c$ that the theory leaves open; values far below one explore
    less than is proven and usually do much better. The memory $1/(1-\eta)$ counts at most as $K$, so that
    $\eta = 1$ has a radius too. A `mu_bound` adds $c$ times `measure_excess`.
    """
    rate = require_number("rate", rate, above=0, at_most=1)
    num_episodes = require_count("num_episodes", num_episodes)
    memory = num_episodes if rate == 1 else min(num_episodes, 1 / (1 - rate))
    excess = measure_excess(dim=dim, horizon=horizon, mu_bound=mu_bound, ridge=ridge)
    return _radius(dim, horizon, num_episodes, delta, beta_scale, memory, excess)


def lsvi_ucb_radius(
    *,
    dim: int,
    horizon: int,
    num_episodes: int,
    delta: float,
    beta_scale: float = 1.0,
    mu_bound: float | None = None,
    ridge: float = 1.0,
) -> float:
    r"""$\beta = c\,dH\sqrt{\log(2dT/\delta)}$ with $T = KH$ (Jin et al. 2020, Theorem 3.1).

    A `mu_bound` adds $c$ times `measure_excess`.
    """
    excess = measure_excess(dim=dim, horizon=horizon, mu_bound=mu_bound, ridge=ridge)
    return _radius(dim, horizon, num_episodes, delta, beta_scale, 1, excess)


def measure_excess(*, dim: int, horizon: int, mu_bound: float | None, ridge: float = 1.0) -> float:
    r"""$\sqrt\lambda\,H(C_\mu - \sqrt d)$, at least 0: what radii for $C_\mu \le \sqrt d$ leave out. Ours.

    The ridge pulls an estimate of $PV$ off by $\lambda|\phi^\top\Lambda^{-1}v|$ with
    $v = \int V\,d\mu$, $0 \le V \le H$. For signed measures $\|v\| \le HC_\mu$ with $C_\mu = \||\mu|(S)\|$,
    which is `LinearMdp.mu_bound`; $\|\mu(S)\| \le \sqrt d$, as printed, bounds it for measures of one sign
    only. Without a `mu_bound` $C_\mu$ is $\sqrt d$.
    """
    dim, horizon, *_ = _check(dim, horizon, 1, 0.0)
    if mu_bound is None or require_number("mu_bound", mu_bound, at_least=0) <= math.sqrt(dim):
        return 0.0
    return math.sqrt(require_number("ridge", ridge, above=0)) * horizon * (mu_bound - math.sqrt(dim))


def exploration_probability(*, num_actions: int, num_episodes: int) -> float:
    r"""$\varepsilon = \min\{1, (A/K)^{1/3}\}$: the usual balance of $\varepsilon K$ lost to exploring against
    an estimation error of $\sqrt{A/(\varepsilon K)}$ an episode. A convention, not a theorem for MDPs."""
    num_actions = require_count("num_actions", num_actions)
    num_episodes = require_count("num_episodes", num_episodes)
    return min(1.0, (num_actions / num_episodes) ** (1 / 3))


def tabular_memory(spec: Spec, *, num_episodes: int, variation: float, power: float) -> float:
    r"""Episodes worth remembering for an algorithm with regret $\sqrt{H^a SAT}$ where nothing moves.

    Over $D$ epochs it loses $\sqrt{H^a SATD}$, and $HT\Delta/D$ to what moves within them. Both are equal
    at $D = (SA)^{-1/3} \Delta^{2/3} H^{(2-a)/3} T^{1/3}$ with $T = KH$, and the memory is $K/D$; it has no
    end where nothing varies. `power` is $a$.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    variation = require_number("variation", variation, at_least=0)
    steps, pairs = num_episodes * spec.horizon, spec.num_states * spec.num_actions
    epochs = (variation**2 * steps * spec.horizon ** (2 - power) / pairs) ** (1 / 3)
    return num_episodes / epochs if epochs > 0 else math.inf


def tabular_period(spec: Spec, *, num_episodes: int, variation: float, power: float) -> int:
    """The memory as a whole number of episodes, of at least one and at most all."""
    episodes = tabular_memory(spec, num_episodes=num_episodes, variation=variation, power=power)
    return max(1, math.ceil(min(episodes, num_episodes)))


def tabular_log_term(spec: Spec, factor: float, *, num_episodes: int, delta: float) -> float:
    r"""$\log(cSAT/\delta)$ with $T = KH$ and the `factor` $c$, for all steps of a run at once."""
    delta = require_number("delta", delta, above=0, at_most=1)
    steps = spec.horizon * require_count("num_episodes", num_episodes)
    return math.log(factor * spec.num_states * spec.num_actions * steps / delta)


def _radius(
    dim: int, horizon: int, num_episodes: int, delta: float, beta_scale: float, memory: float, excess: float
) -> float:
    dim, horizon, num_episodes, _ = _check(dim, horizon, num_episodes, 0.0)
    delta = require_number("delta", delta, above=0, at_most=1)
    beta_scale = require_number("beta_scale", beta_scale, at_least=0)
    root = math.sqrt(math.log(2 * dim * horizon * num_episodes * memory / delta))
    return beta_scale * dim * horizon * root + beta_scale * excess


def _ceil_root(square: int) -> int:
    root = math.isqrt(square)
    return root + (root * root < square)


def _check(dim: int, horizon: int, num_episodes: int, variation: float) -> tuple[int, int, int, float]:
    return (
        require_count("dim", dim),
        require_count("horizon", horizon),
        require_count("num_episodes", num_episodes),
        require_number("variation", variation, at_least=0),
    )

r"""How fast to forget and how far to smooth where pairs of states and actions lie in the unit square.

$d$ is the dimension of that square, 2.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from driftwise.base.validation import require_choice, require_count, require_number
from driftwise.theory.tuning import rate_of

KernelTuning = Literal["ours", "paper_r1", "paper_r2"]
DIMENSION = 2  # of states and actions together, where pairs lie in the unit square


def kernel_rate(
    *, num_episodes: int, variation: float, horizon: int = 1, tuning: KernelTuning = "ours"
) -> float:
    r"""The rate η of KeRNS.

    | `tuning` | $\log(1/\eta)$ | regret |
    |---|---|---|
    | `"ours"` | $(\Delta/K)^{(2d+1)/(2d+2)}$ | $\Delta^{1/(2d+2)}K^{(2d+1)/(2d+2)}$ |
    | `"paper_r1"` | $\Delta^{2/3}K^{-(2d+2)/(2d+3)}$ | $H^2\Delta^{1/3}K^{(2d+2)/(2d+3)}$ |
    | `"paper_r2"` | $\Delta^{1/2}K^{-(2d+1)/(2d+2)}/H$ | $H^2\Delta^{1/2}K^{(2d+1)/(2d+2)}$ and a term |

    The last two are the bounds $R_1$ and $R_2$ of Domingues et al. 2021, Table 1, for $d > 0$; the term is
    $H^{3/2}\Delta^{1/4}K^{3/4}$. Their rates and bandwidths here follow from the paper's Theorem 1; its own,
    in Table 3 of an appendix, were not compared. Their `variation` is $\Delta_r + L\Delta_p$, that of ours
    $\Delta_r + \Delta_p$. Ours balances the terms of that theorem's $R_2$ with a bandwidth that depends on Δ,
    and leaves powers of H and L out. Its power of K is that of $R_2$, below that of $R_1$; its power of Δ is
    the smallest of the three, which helps where $\Delta \ge 1$.
    """
    num_episodes, horizon = require_count("num_episodes", num_episodes), require_count("horizon", horizon)
    variation = require_number("variation", variation, at_least=0)
    d = DIMENSION
    shrinking = {
        "ours": (variation / num_episodes) ** ((2 * d + 1) / (2 * d + 2)),
        "paper_r1": variation ** (2 / 3) * num_episodes ** (-(2 * d + 2) / (2 * d + 3)),
        "paper_r2": variation ** (1 / 2) * num_episodes ** (-(2 * d + 1) / (2 * d + 2)) / horizon,
    }
    return rate_of(shrinking[require_choice("tuning", tuning, get_args(KernelTuning))])


def kernel_bandwidth(*, num_episodes: int, variation: float, tuning: KernelTuning = "ours") -> float:
    r"""The bandwidth σ for the rate of the same `tuning`.

    Ours is $m^{-1/(2d+1)}$ for the memory $m$ of `kernel_rate`, at most K episodes; `"paper_r1"` has
    $K^{-1/(2d+3)}$ and `"paper_r2"` $K^{-1/(2d+2)}$. Without drift ours is Kernel-UCBVI's, for regret of the
    order $K^{2d/(2d+1)}$.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    variation, d = require_number("variation", variation, at_least=0), DIMENSION
    shrinking = (variation / num_episodes) ** ((2 * d + 1) / (2 * d + 2))
    bandwidths = {
        "ours": min(max(shrinking, 1 / num_episodes), 1.0) ** (1 / (2 * d + 1)),
        "paper_r1": num_episodes ** (-1 / (2 * d + 3)),
        "paper_r2": num_episodes ** (-1 / (2 * d + 2)),
    }
    return bandwidths[require_choice("tuning", tuning, get_args(KernelTuning))]


def partition_period(*, num_episodes: int, variation: float) -> int:
    r"""Episodes between restarts of adaptive Q-learning: $(K/\Delta)^{(d+2)/(d+3)}$, at most K. Ours.

    It balances the drift $\Delta E$ within E episodes with the regret $E^{(d+1)/(d+2)}$ of K/E epochs each.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    variation = require_number("variation", variation, at_least=0)
    shrinking = (variation / num_episodes) ** ((DIMENSION + 2) / (DIMENSION + 3))
    return num_episodes if shrinking * num_episodes <= 1 else math.ceil(1 / shrinking)

"""How fast to forget and how far to look where pairs lie in the unit square, of dimension `d = 2`."""

from __future__ import annotations

import math

from driftwise.base.validation import require_count, require_number
from driftwise.theory.tuning import rate_of

DIMENSION = 2  # of states and actions together
KERNEL_POWER = (2 * DIMENSION + 1) / (2 * DIMENSION + 2)


def kernel_rate(*, num_episodes: int, variation: float) -> float:
    r"""The rate η of KeRNS: $\log(1/\eta) = (\Delta/K)^{(2d+1)/(2d+2)}$.

    It balances the drift $\Delta m$ within a memory of $m = 1/\log(1/\eta)$ episodes with the smoothing
    $K\sigma$ of `kernel_bandwidth`, for regret of order $\Delta^{1/(2d+2)} K^{(2d+1)/(2d+2)}$; powers of H
    and L are left out.
    """
    return rate_of(_balanced(num_episodes, variation, KERNEL_POWER))


def kernel_bandwidth(*, num_episodes: int, variation: float) -> float:
    r"""The bandwidth $\sigma = m^{-1/(2d+1)}$ for the memory of `kernel_rate`, at most K episodes.

    Without drift it is Kernel-UCBVI's, for regret of the order $K^{2d/(2d+1)}$.
    """
    shrinking = _balanced(num_episodes, variation, KERNEL_POWER)
    return min(max(shrinking, 1 / num_episodes), 1.0) ** (1 / (2 * DIMENSION + 1))


def partition_period(*, num_episodes: int, variation: float) -> int:
    r"""Episodes between restarts of adaptive Q-learning: $(K/\Delta)^{(d+2)/(d+3)}$, at most K. Ours.

    It balances the drift $\Delta E$ within E episodes with the regret $E^{(d+1)/(d+2)}$ of K/E epochs each.
    """
    shrinking = _balanced(num_episodes, variation, (DIMENSION + 2) / (DIMENSION + 3))
    return num_episodes if shrinking * num_episodes <= 1 else math.ceil(1 / shrinking)


def _balanced(num_episodes: int, variation: float, power: float) -> float:
    num_episodes = require_count("num_episodes", num_episodes)
    return (require_number("variation", variation, at_least=0) / num_episodes) ** power

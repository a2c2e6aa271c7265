"""Algorithms: each a recipe of a few lines over the same parts."""

from __future__ import annotations

from driftwise.algorithms.linear_mdps.epsilon_greedy_lsvi import epsilon_greedy_lsvi
from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb_restart import lsvi_ucb_restart
from driftwise.algorithms.linear_mdps.opt_wlsvi import opt_wlsvi
from driftwise.algorithms.linear_mdps.sw_lsvi_ucb import sw_lsvi_ucb
from driftwise.algorithms.linear_mdps.uniform import uniform
from driftwise.algorithms.registry import ALGORITHMS, Algorithm

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "epsilon_greedy_lsvi",
    "lsvi_ucb",
    "lsvi_ucb_restart",
    "opt_wlsvi",
    "sw_lsvi_ucb",
    "uniform",
]

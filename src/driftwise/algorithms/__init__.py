"""Algorithms: each a recipe of a few lines over the same parts."""

from __future__ import annotations

from driftwise.algorithms.bandits.d_lin_ts import d_lin_ts
from driftwise.algorithms.bandits.d_lin_ucb import d_lin_ucb
from driftwise.algorithms.bandits.d_rand_lin_ucb import d_rand_lin_ucb
from driftwise.algorithms.bandits.dynamic_lin_ucb import dynamic_lin_ucb
from driftwise.algorithms.bandits.epsilon_greedy import epsilon_greedy
from driftwise.algorithms.bandits.greedy import greedy
from driftwise.algorithms.bandits.lin_ts import lin_ts
from driftwise.algorithms.bandits.lin_ucb import lin_ucb
from driftwise.algorithms.bandits.oracle_restart import oracle_restart
from driftwise.algorithms.bandits.restart_lin_ucb import restart_lin_ucb
from driftwise.algorithms.bandits.sw_lin_ucb import sw_lin_ucb
from driftwise.algorithms.bandits.weight_ucb import weight_ucb
from driftwise.algorithms.linear_mdps.epsilon_greedy_lsvi import epsilon_greedy_lsvi
from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb_restart import lsvi_ucb_restart
from driftwise.algorithms.linear_mdps.matrix_rl import matrix_rl
from driftwise.algorithms.linear_mdps.oppo import oppo
from driftwise.algorithms.linear_mdps.opt_rlsvi import opt_rlsvi
from driftwise.algorithms.linear_mdps.opt_wlsvi import opt_wlsvi
from driftwise.algorithms.linear_mdps.sw_lsvi_ucb import sw_lsvi_ucb
from driftwise.algorithms.registry import ALGORITHMS, Algorithm
from driftwise.algorithms.uniform import uniform

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "d_lin_ts",
    "d_lin_ucb",
    "d_rand_lin_ucb",
    "dynamic_lin_ucb",
    "epsilon_greedy",
    "epsilon_greedy_lsvi",
    "greedy",
    "lin_ts",
    "lin_ucb",
    "lsvi_ucb",
    "lsvi_ucb_restart",
    "matrix_rl",
    "oppo",
    "opt_rlsvi",
    "opt_wlsvi",
    "oracle_restart",
    "restart_lin_ucb",
    "sw_lin_ucb",
    "sw_lsvi_ucb",
    "uniform",
    "weight_ucb",
]

"""Algorithms: each a recipe of a few lines over the same parts."""

from __future__ import annotations

from driftwise.algorithms.average_reward.sw_ucrl import sw_ucrl
from driftwise.algorithms.average_reward.swucrl2_cw import swucrl2_cw
from driftwise.algorithms.average_reward.ucrl2 import ucrl2
from driftwise.algorithms.average_reward.variation_ucrl import variation_ucrl
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
from driftwise.algorithms.linear_mdps.online_q_reps import online_q_reps
from driftwise.algorithms.linear_mdps.oppo import oppo
from driftwise.algorithms.linear_mdps.opt_rlsvi import opt_rlsvi
from driftwise.algorithms.linear_mdps.opt_wlsvi import opt_wlsvi
from driftwise.algorithms.linear_mdps.sw_lsvi_ucb import sw_lsvi_ucb
from driftwise.algorithms.metric.adaptive_q_learning import adaptive_q_learning
from driftwise.algorithms.metric.kernel_ucbvi import kernel_ucbvi
from driftwise.algorithms.registry import ALGORITHMS, Algorithm, build
from driftwise.algorithms.tabular.q_ucb import q_ucb
from driftwise.algorithms.tabular.restart_q_ucb import restart_q_ucb
from driftwise.algorithms.tabular.ucbvi import ucbvi
from driftwise.algorithms.uniform import uniform
from driftwise.algorithms.unknown_variation.ada_lsvi_ucb_restart import ada_lsvi_ucb_restart
from driftwise.algorithms.unknown_variation.bob import bob
from driftwise.algorithms.unknown_variation.borl import borl, opt_wlsvi_borl
from driftwise.algorithms.unknown_variation.master import master, master_lin_ucb, master_lsvi_ucb
from driftwise.algorithms.unknown_variation.restarting import change_detection, random_restart

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "ada_lsvi_ucb_restart",
    "adaptive_q_learning",
    "bob",
    "borl",
    "build",
    "change_detection",
    "d_lin_ts",
    "d_lin_ucb",
    "d_rand_lin_ucb",
    "dynamic_lin_ucb",
    "epsilon_greedy",
    "epsilon_greedy_lsvi",
    "greedy",
    "kernel_ucbvi",
    "lin_ts",
    "lin_ucb",
    "lsvi_ucb",
    "lsvi_ucb_restart",
    "master",
    "master_lin_ucb",
    "master_lsvi_ucb",
    "matrix_rl",
    "online_q_reps",
    "oppo",
    "opt_rlsvi",
    "opt_wlsvi",
    "opt_wlsvi_borl",
    "oracle_restart",
    "q_ucb",
    "random_restart",
    "restart_lin_ucb",
    "restart_q_ucb",
    "sw_lin_ucb",
    "sw_lsvi_ucb",
    "sw_ucrl",
    "swucrl2_cw",
    "ucbvi",
    "ucrl2",
    "uniform",
    "variation_ucrl",
    "weight_ucb",
]

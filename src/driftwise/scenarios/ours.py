"""Algorithms of ours as contestants, with one set of numbers for all.

None is tuned to a scenario, and none is told how long a run is: who has to be is told `HORIZON`. `NOISE` is
what rewards between 0 and 1 have at most, and so holds for clicks; that of `linear_bandit` is less. Radii are
those of practice; where theory sets a radius of its own, it is cut to about the same by `THEORY`. `PROOF`
lowers constants with which nothing would be learnt in any run.

`covering_restart` plays outside of its assumption: arms are new in every round here.
"""

from __future__ import annotations

from typing import Any

from driftwise.parts.detectors import Glr
from driftwise.scenarios.policies import bandit_policy, mdp_policy
from driftwise.scenarios.protocols import Make

RADIUS, NOISE = 0.5, 0.5  # of ellipsoids; of rewards, and so of Thompson's draws
HORIZON = 1000
LENGTHS, LENGTH = (30, 100, 300), 100  # of fixed memories, and of all others that have one
PERIOD = 97  # of restarts, which should not fall on the jumps of a world
RATE = 1 - 1 / LENGTH
THEORY = 0.25
PROOF = dict(gap_scale=1e-4, width_scale=1e-4)
CAUTION = dict(alpha=0.1, corruption=50.0)
CLICKS: dict[str, Any] = dict(radius=RADIUS, norm_bound=5.0, outside="clip")  # for rewards in [0, 1]
UCB: dict[str, Any] = dict(algorithm="lin_ucb", radius=RADIUS)
LSVI: dict[str, Any] = dict(algorithm="lsvi_ucb")

BANDIT_MEMORIES: dict[str, Make] = {
    **{
        f"memory_{length}": bandit_policy("d_lin_ucb", rate=1 - 1 / length, radius=RADIUS)
        for length in LENGTHS
    },
    "memory_all": bandit_policy("lin_ucb", radius=RADIUS),
}
BANDITS: dict[str, Make] = {
    name: bandit_policy(name, **options)
    for name, options in {
        "adaptive": dict(base=UCB),
        "adaptive_glb_omd": dict(outside="clip"),
        "adaptive_lin_ts": {},
        "adaptive_lin_ucb": {},
        "bob": dict(num_episodes=HORIZON, noise_scale=NOISE, radius_scale=THEORY),
        "borl": dict(
            base=[dict(algorithm="d_lin_ucb", rate=1 - 1 / each, radius=RADIUS) for each in LENGTHS],
            num_episodes=HORIZON,
        ),
        "change_detection": dict(base=UCB, detector=Glr(noise_scale=NOISE)),
        "clock_lin_ucb": dict(half_life=0.693 * LENGTH, radius=RADIUS),  # a round is a second
        "covering_restart": dict(base=UCB, num_episodes=HORIZON, noise_scale=NOISE),
        "cw_oful": dict(radius=RADIUS, **CAUTION),
        "d_glb_omd": dict(rate=RATE, **CLICKS),
        "d_lin_ts": dict(rate=RATE, scale=NOISE),
        "d_rand_lin_ucb": dict(rate=RATE, radius=RADIUS),
        "detect_and_restart": dict(base=UCB, num_episodes=HORIZON, noise_scale=NOISE),
        "dynamic_lin_ucb": dict(noise_scale=NOISE, radius=RADIUS),
        "epsilon_greedy": dict(epsilon=0.05, rate=RATE),
        "glb_weight_ucb": dict(rate=RATE, **CLICKS),
        "lin_ts": dict(scale=NOISE),
        "master": dict(base=UCB, num_episodes=HORIZON, regret_scale=1.0),
        "master_lin_ucb": dict(num_episodes=HORIZON, radius_scale=THEORY),
        "random_restart": dict(base=UCB, probability=1 / LENGTH),
        "restart_adv": dict(period=PERIOD, outside="clip"),
        "restart_lin_ucb": dict(period=PERIOD, radius=RADIUS),
        "robust_weight_ucb": dict(rate=RATE, radius=RADIUS, **CAUTION),
        "sc_d_glucb": dict(rate=RATE, num_episodes=HORIZON, **CLICKS),
        "sift_lin_ucb": dict(rate=RATE, radius=RADIUS),
        "square_cb": dict(gamma=50.0, rate=RATE),
        "sw_lin_ucb": dict(length=LENGTH, radius=RADIUS),
        "weight_ucb": dict(rate=RATE, radius=RADIUS),
    }.items()
}
MDP_MEMORIES: dict[str, Make] = {
    **{f"memory_{length}": mdp_policy("opt_wlsvi", rate=1 - 1 / length) for length in LENGTHS},
    "memory_all": mdp_policy("lsvi_ucb"),
}
MDPS: dict[str, Make] = {
    name: mdp_policy(name, **options)
    for name, options in {
        "ada_lsvi_ucb_restart": dict(num_episodes=HORIZON),
        "adaptive_opt_wlsvi": {},
        "change_detection": dict(base=LSVI),
        "detect_and_restart": dict(base=LSVI, num_episodes=HORIZON),
        "epsilon_greedy_lsvi": dict(epsilon=0.05, rate=RATE),
        "lsvi_ucb_plus_plus": dict(lower_radius=0.3, squares_radius=0.3, **PROOF),
        "lsvi_ucb_restart": dict(period=PERIOD),
        "master_lsvi_ucb": dict(num_episodes=HORIZON),
        "oppo": dict(step_size=1.0),
        "opt_rlsvi": dict(scale=0.3, upper=3.0, ridge=0.01, rate=RATE),
        "opt_wlsvi_borl": dict(num_episodes=HORIZON),
        "q_ucb": dict(scale=0.1),
        "random_restart": dict(base=LSVI, probability=1 / LENGTH),
        "restart_q_ucb": dict(period=PERIOD, scale=0.1),
        "sw_lsvi_ucb": dict(length=LENGTH),
        "ucbvi": dict(scale=0.1, rate=RATE),
        "ucrl_vtr": dict(radius=0.3, rate=RATE),
        "ucrl_vtr_plus": dict(rate=RATE),
    }.items()
}

"""Gymnasium environments: importing this registers `driftwise/<Name>-v0` for every linear MDP.

So it does for those of plugins, and for all that are registered later.
"""

from __future__ import annotations

from driftwise.base.extras import needed_by
from driftwise.base.plugins import load_plugins

with needed_by("driftwise.gym", "gym"):
    from driftwise.gym.drifting import DriftingParameter, set_cart_pole, set_slipperiness
    from driftwise.gym.linear_mdp import MAKERS, LinearMdpEnv, make_env, make_vector_env
    from driftwise.gym.vector import LinearMdpVectorEnv

load_plugins()

__all__ = [
    "MAKERS",
    "DriftingParameter",
    "LinearMdpEnv",
    "LinearMdpVectorEnv",
    "make_env",
    "make_vector_env",
    "set_cart_pole",
    "set_slipperiness",
]

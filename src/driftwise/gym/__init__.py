"""Gymnasium environments: importing this registers `driftwise/<Name>-v0` for every linear MDP."""

from driftwise.base.extras import require_extra
from driftwise.base.plugins import load_plugins

with require_extra("driftwise.gym", "gym"):
    from driftwise.gym.drifting import (
        READY_DRIFTS,
        DriftingParameter,
        make_drifting,
        set_cart_pole,
        set_slipperiness,
    )
    from driftwise.gym.envs import MAKERS, LinearMdpEnv, LinearMdpVectorEnv, make_env, make_vector_env

load_plugins()

__all__ = ["MAKERS", "READY_DRIFTS", "DriftingParameter", "LinearMdpEnv", "LinearMdpVectorEnv"]
__all__ += ["make_drifting", "make_env", "make_vector_env", "set_cart_pole", "set_slipperiness"]

"""Gymnasium environments: importing this registers `driftwise/<Name>-v0` for every linear MDP.

So it does for those of plugins, and for all that are registered later.
"""

from __future__ import annotations

try:
    import gymnasium  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("driftwise.gym needs gymnasium: pip install 'driftwise[gym]'") from None

from driftwise.base.plugins import load_plugins
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

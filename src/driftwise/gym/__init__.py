"""Gymnasium environments: importing this registers `driftwise/<Name>-v0` for every linear MDP."""

from __future__ import annotations

try:
    import gymnasium  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("driftwise.gym needs gymnasium: pip install 'driftwise[gym]'") from None

from driftwise.gym.drifting import DriftingParameter, set_cart_pole, set_slipperiness
from driftwise.gym.linear_mdp import MAKERS, LinearMdpEnv, make_env

__all__ = ["MAKERS", "DriftingParameter", "LinearMdpEnv", "make_env", "set_cart_pole", "set_slipperiness"]

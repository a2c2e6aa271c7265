"""Environments: paths of linear MDPs, bandits and MDPs without episodes; a new maker is one file here."""

from typing import Any

from driftwise.base.plugins import import_modules
from driftwise.environments.environment import ENVIRONMENTS, Environment, PlayedEpisode, build_environment
from driftwise.environments.environment import register_environment as register
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.models.linear_mdp import LinearMdp

import_modules(__path__, __name__)
globals().update(ENVIRONMENTS)

__all__ = ["ENVIRONMENTS", "ContinuingMdp", "Environment", "LinearBandit", "LinearMdp", "PlayedEpisode"]
__all__ += ["build_environment", "continuing_mdp", "register"]
__all__ += [*ENVIRONMENTS]  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return [*dict.fromkeys([*__all__, *ENVIRONMENTS])]


def __getattr__(name: str) -> Any:
    return ENVIRONMENTS.attribute(__name__, name)

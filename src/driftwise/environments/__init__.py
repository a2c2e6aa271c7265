"""Environments: paths of linear MDPs, bandits and MDPs without episodes, each checked when it is made.

Every module of this package is imported, and makers that they register are attributes: a new one is one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from driftwise.environments.environment import Environment
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.models.linear_mdp import LinearMdp
from driftwise.environments.registry import ENVIRONMENTS, register

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
globals().update(ENVIRONMENTS)

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "ENVIRONMENTS",
    "ContinuingMdp",
    "Environment",
    "LinearBandit",
    "LinearMdp",
    "continuing_mdp",
    "register",
    *ENVIRONMENTS,
]


def __dir__() -> list[str]:
    return [*dict.fromkeys([*__all__, *ENVIRONMENTS])]


def __getattr__(name: str) -> Any:
    if name not in ENVIRONMENTS:  # what plugins register later
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ENVIRONMENTS[name]

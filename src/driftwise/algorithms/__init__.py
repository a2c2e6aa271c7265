"""Algorithms: each a recipe of a few lines over the same parts.

Every module of this package is imported, and what they register is an attribute: a new algorithm is one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from driftwise.algorithms.registry import ALGORITHMS, Algorithm, build, register

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
globals().update(ALGORITHMS)

__all__ = ["ALGORITHMS", "Algorithm", "build", "register", *ALGORITHMS]  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return [*dict.fromkeys([*__all__, *ALGORITHMS])]


def __getattr__(name: str) -> Any:
    if name not in ALGORITHMS:  # what plugins register later
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ALGORITHMS[name]

"""Algorithms: each a recipe of a few lines over the same parts.

Every module of this package is imported, and what they register is an attribute: a new algorithm is one file.
Actions that tie are drawn evenly unless a docstring says otherwise; papers mostly leave that open.
"""

from typing import Any

from driftwise.algorithms.algorithm import ALGORITHMS, Algorithm, build, register, tuned_by
from driftwise.base.plugins import import_modules

import_modules(__path__, __name__)
globals().update(ALGORITHMS)

__all__ = ["ALGORITHMS", "Algorithm", "build", "register", "tuned_by"]
__all__ += [*ALGORITHMS]  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return [*dict.fromkeys([*__all__, *ALGORITHMS])]


def __getattr__(name: str) -> Any:
    return ALGORITHMS.attribute(__name__, name)

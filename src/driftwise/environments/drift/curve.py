"""What every drift is: a curve `c(t)` on the simplex of anchor models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from driftwise.base.validation import ArgumentError, require_numeric
from driftwise.environments.jumps import jumps


class Drift(ABC):
    """A curve on the simplex with `num_anchors` vertices."""

    num_anchors: int
    episode_fields: ClassVar[tuple[str, ...] | None] = None  # for which a file may say "50%"; None: for all

    @abstractmethod
    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        """Weights of the anchors, `[T, num_anchors]`, at the episodes `[T]`."""

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Episodes before `num_episodes` at which the model jumps; found, unless a drift knows them."""
        return jumps(self.mixture, num_episodes)


def checked_increasing(name: str, value: Any, *, at_least: int) -> tuple[int, ...]:
    """Increasing episodes, one at least."""
    listed = isinstance(value, (tuple, list, range, np.ndarray)) and len(value) > 0
    items = require_numeric(name, tuple(value), at_least=at_least, integer=True) if listed else ()
    if not items or np.ndim(items) > 1 or np.any(np.diff(items) <= 0):
        raise ArgumentError(name, "be increasing episodes", value)
    return items

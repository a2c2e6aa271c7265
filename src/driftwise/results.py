"""What a simulation gives back."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Result:
    """Curves of a simulation, `[*grid, runs, points]`; a point is the mean over `lengths` episodes.

    With `record_every=1` (the default) points are episodes.
    """

    returns: np.ndarray  # rewards collected in an episode
    values: np.ndarray  # exact V^π of the episode's policy at its first state
    optimal_values: np.ndarray  # exact V* there
    lengths: np.ndarray  # [points] number of episodes behind each point
    state: Any  # the agents' states after the last episode, leaves [*grid, runs, ...]; None if not kept
    manifest: dict[str, Any]

    @cached_property
    def episodes(self) -> np.ndarray:
        """Number of episodes played up to and including each point."""
        return np.cumsum(self.lengths)

    @cached_property
    def regret(self) -> np.ndarray:
        """Exact dynamic regret of an episode: `V* − V^π` (never negative; rounding is cut off)."""
        return np.maximum(self.optimal_values - self.values, 0.0)

    @cached_property
    def cumulative_regret(self) -> np.ndarray:
        """Exact dynamic regret from the first episode on."""
        return np.cumsum(self.regret * self.lengths, axis=-1)


def manifest(**facts: Any) -> dict[str, Any]:
    """The facts of a run together with the versions that produced it."""
    return {**facts, "versions": versions()}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("driftwise", "jax", "jaxlib", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found

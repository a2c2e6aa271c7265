"""What engines, experiments and reports ask of an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from driftwise.base.types import Spec, Variation
from driftwise.environments.world import World


@runtime_checkable
class Environment(Protocol):
    """A path of models. It holds no metrics: regret comes from exact values.

    One without episodes says so in an attribute `continuing` that is true: a step takes the place of an
    episode, and its regret may be negative.
    """

    @property
    def name(self) -> str:
        """What tables and files call it."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """How it was made, for manifests."""
        ...

    @property
    def spec(self) -> Spec: ...

    def described(self, name: str, config: Mapping[str, Any]) -> Any:
        """The same environment under another name, made as `config` says."""
        ...

    def at(self, episodes: np.ndarray) -> np.ndarray:
        """What sets the episodes `[T]` apart, checked: `[T, ...]`, for `World.inputs`."""
        ...

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Episodes before `num_episodes` at which the model jumps."""
        ...

    def variation(self, num_episodes: int) -> Variation:
        """How much the model moves in the first `num_episodes` episodes."""
        ...

    def world(self, dtype: Any = np.float64, *, tell: tuple[str, ...] = ()) -> World:
        """The environment as arrays; `tell` is what an agent `needs`, refused if the environment lacks it."""
        ...

    def digest(self) -> str:
        """What tells it from other environments, whatever their names."""
        ...

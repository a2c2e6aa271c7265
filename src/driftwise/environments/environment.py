"""The environment protocol: everything that engines, experiments and reports ask of one."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from driftwise.base.types import Spec, Variation
from driftwise.environments.world import World


class Environment(ABC):
    """A path of models. It holds no metrics: regret comes from exact values."""

    name: str  # what tables and files call it
    config: Mapping[str, Any]  # how it was made, for manifests
    continuing: bool = False  # no episodes: a step takes the place of one, and its regret may be negative

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The sizes of the problem."""

    def described(self, name: str, config: Mapping[str, Any]) -> Self:
        """The same environment under another name, made as `config` says."""
        twin = copy.copy(self)
        object.__setattr__(twin, "name", name)
        object.__setattr__(twin, "config", config)
        return twin

    @abstractmethod
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """The path of the models at the episodes `[T]`, checked: `[T, ...]`, for `World.inputs`."""

    @abstractmethod
    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Episodes before `num_episodes` at which the model jumps."""

    @abstractmethod
    def variation(self, num_episodes: int) -> Variation:
        """The variation of the model in the first `num_episodes` episodes."""

    @abstractmethod
    def world(self, dtype: Any = np.float64, *, needs: tuple[str, ...] = ()) -> World:
        """The environment as arrays, with what an agent `needs` in its tables; refused if it is not known."""

    @abstractmethod
    def digest(self) -> str:
        """A text that tells it from other environments, whatever their names."""

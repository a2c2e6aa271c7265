"""All rounds of a run of a scenario, drawn before anybody plays them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.types import Key, Spec
from driftwise.base.validation import require_count
from driftwise.scenarios.feedback import Fate
from driftwise.scenarios.scenario import Scenario


class Rounds(ABC):
    """The rounds of a run, its warm-up among them, as the simulator would meet them.

    A round is what a policy decides on at once: a choice among arms, or an episode of an MDP.
    """

    spec: Spec
    fate: Fate
    path: np.ndarray  # where the world is in every round, [T, …]

    @property
    def num_rounds(self) -> int:
        return len(self.fate.loss)

    @abstractmethod
    def shown(self, number: int) -> Any:
        """The context of a round."""

    @abstractmethod
    def checked(self, decided: Any) -> Any:
        """A policy's decision, or an `ArgumentError`."""

    @abstractmethod
    def told(self, number: int, decision: Any) -> Any:
        """What a policy learns from after this decision, if it arrives."""

    @abstractmethod
    def worth(
        self, decisions: np.ndarray, at: np.ndarray, worlds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Exact values `[N]` of decisions in the contexts of rounds `at`, and the best ones there.

        The worlds are those of other rounds, `[N]`.
        """

    @abstractmethod
    def chance(self, at: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Exact values `[N]` of decisions by chance, all alike, in the same contexts and worlds."""

    @abstractmethod
    def frozen(self, taken: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Values in rounds `changes` of the last decision made without the change.

        Of a bandit that is the round's own, of an MDP the policy of the episode before.
        """

    def behind(self, taken: np.ndarray, lags: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values of decisions in worlds of some rounds before, and those of the best and of chance there.

        All are `[lags, T]`, over the same T rounds: those whose worlds before are of rounds with a decision,
        and in which the world has moved since the farthest of them.
        """
        most, first = max(lags), self.num_rounds - len(taken)
        at = np.arange(first + most, self.num_rounds)
        at = at[(self.path[at] != self.path[at - most]).any(axis=-1)]
        values, optimal = zip(*(self.worth(taken[at - first], at, at - n) for n in lags), strict=True)
        return np.array(values), np.array(optimal), np.array([self.chance(at, at - n) for n in lags])


def run_key(scenario: Scenario, run: int) -> Key:
    """The key of all that is drawn in a run."""
    return random.fold(random.key(scenario.seed), require_count("run", run, at_least=0, bits=32))

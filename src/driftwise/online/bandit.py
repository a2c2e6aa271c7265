"""A bandit that meets one decision set at a time."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise import random
from driftwise.algorithms.registry import lookup
from driftwise.parts import is_part, numeric_fields
from driftwise.types import Agent, Episode, FeatureTable, Key, Plan, Spec
from driftwise.validation import require_array, require_count, require_number
from driftwise.worlds.world import keys_of

NOTHING = np.zeros(1, dtype=np.int32)  # the one state of a bandit, once
LARGEST_FEATURE = 1e6  # beyond it the usual ridge would drown in the rounding of squares
LARGEST_REWARD = 1e100  # sums of products with features have to stay finite


@dataclasses.dataclass(frozen=True)
class Decision:
    """An arm, and why."""

    arm: int
    id: int  # to be given back with the reward
    index: float  # what the arm was chosen by
    bonus: float  # what of it is exploration


class _Pending(NamedTuple):
    features: np.ndarray  # [d] of the arm
    arm: int
    plan: Plan


class Bandit:
    """An agent of `driftwise.algorithms` behind a stream of decision sets, which may change in size.

    ```python
    bandit = Bandit("d_lin_ucb", dim=10, rate=0.99, noise_scale=0.1, seed=0)
    decision = bandit.decide(features)  # [num_arms, dim]
    bandit.learn(decision.id, reward=0.7)
    ```

    Its draws are those of run 0 of a simulation with the same seed, so that both give the same numbers when
    they meet the same arms and rewards. Rewards may come late and in any order; agents count time in rewards.
    A mistake in the arguments is a `ValueError` and changes nothing.
    """

    def __init__(self, algorithm: str, *, dim: int, seed: int = 0, **parameters: Any) -> None:
        spec = Spec.bandit(dim=dim, num_arms=1)
        self.agent: Agent = lookup(algorithm)(spec, **parameters)
        needs = getattr(self.agent, "needs", ())
        if needs:
            raise ValueError(
                f"algorithm must learn from what it earns alone, got {algorithm!r}, which has to be told "
                f"{' and '.join(needs)}"
            )
        for name in _grids(self.agent):
            raise ValueError(f"{name} must be a single number, got a grid in {self.agent!r}")
        self._key = random.fold(random.key(require_count("seed", seed, at_least=0)), 0)
        self._state = self.agent.init(FeatureTable(np.zeros((1, spec.dim))))
        self._pending: dict[int, _Pending] = {}
        self._round = 0

    @property
    def state(self) -> Any:
        """A copy of what the agent has learnt."""
        return copy.deepcopy(self._state)

    def decide(self, features: Any) -> Decision:
        """Choose one of the arms `[num_arms, dim]`."""
        arms = FeatureTable(_checked_arms(features, self.agent.spec.dim))
        _, for_plan, for_action = keys_of(self._key, self._round)
        plan = self._plan(arms, for_plan)
        arm = int(self.agent.act(plan, 0, 0, random.uniform(for_action, 1, np.float64)[0]))
        number = self._round
        self._pending[number] = _Pending(arms.values[arm], arm, plan)
        self._round += 1
        return Decision(arm, number, float(plan.q[0, 0, arm]), float(plan.bonus[0, 0, arm]))

    def learn(self, id: int, reward: float) -> None:
        """Take in the reward of a decision; each decision has one."""
        number = require_count("id", id, at_least=0)
        reward = require_number("reward", reward, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD)
        if number not in self._pending:
            told = "was rewarded already" if number < self._round else "was never made"
            raise ValueError(f"id must be of a decision that waits for its reward, got {number}: it {told}")
        waiting = self._pending[number]
        episode = Episode(
            NOTHING,
            np.array([waiting.arm], dtype=np.int32),
            waiting.features[None],
            np.array([reward]),
            NOTHING,
        )
        self._state = self.agent.update(self._state, waiting.plan, episode)
        del self._pending[number]

    def _plan(self, arms: FeatureTable, key: Key) -> Plan:
        try:
            with np.errstate(all="ignore"):  # what comes of it is looked at
                plan = self.agent.plan(self._state, arms, key)
        except np.linalg.LinAlgError:
            plan = None
        if plan is None or not np.isfinite(plan.q).all():
            raise FloatingPointError(
                "agent: its index is not finite; the ridge may be too small, or the radius too large, "
                f"for such features and rewards: {self.agent!r}"
            )
        return plan


def _grids(part: Any) -> Iterator[str]:
    """Names of the numeric fields that hold several values, in a part and in the parts within."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if is_part(value):
            yield from _grids(value)
        elif field.name in numeric_fields(type(part)) and isinstance(value, tuple):
            yield field.name


def _checked_arms(features: Any, dim: int) -> np.ndarray:
    arms = require_array("features", features, (None, dim))
    if not len(arms):
        raise ValueError(f"features must offer at least one arm, got the shape {arms.shape}")
    largest = float(np.abs(arms).max())
    if largest > LARGEST_FEATURE:
        raise ValueError(f"features must lie between ±{LARGEST_FEATURE:g}, got one of size {largest:g}")
    return arms

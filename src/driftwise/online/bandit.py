"""A bandit that meets one decision set at a time."""

from __future__ import annotations

import copy
import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.algorithms import build
from driftwise.base.agent import Agent
from driftwise.base.part import from_config, require_single, to_config
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number
from driftwise.online import persistence, snapshots
from driftwise.online.engines import engine_of, looks_at_arms
from driftwise.online.gauge import Gauge
from driftwise.online.inspection import Summary, summarise
from driftwise.online.pending import Pending

KIND = "bandit"  # in files
LARGEST_FEATURE = 1e6  # beyond it the usual ridge would drown in the rounding of squares
LARGEST_REWARD = 1e100  # sums of products with features have to stay finite


@dataclass(frozen=True, slots=True)
class Decision:
    """An arm, and why."""

    arm: int
    id: int  # to be given back with the reward
    index: float  # what the arm was chosen by
    bonus: float  # what of it is exploration


class Bandit:
    """An agent of `driftwise.algorithms` behind a stream of decision sets, which may change in size.

    ```python
    bandit = Bandit("d_lin_ucb", dim=10, rate=0.99, noise_scale=0.1, seed=0)
    decision = bandit.decide(features)  # [num_arms, dim]
    bandit.learn(decision.id, reward=0.7)
    ```

    Its draws are those of run 0 of a simulation with the same seed, so that both give the same numbers when
    they meet the same arms and rewards. Rewards may come late, in any order, or never; agents count time in
    rewards. Of the decisions that wait, the oldest expires when they are more than `max_pending`, or when
    more than `expire_after` others were made since; its reward is then refused.

    Any number of threads may use one bandit. A mistake in the arguments is a `ValueError`, changing nothing.
    `decide` raises a `FloatingPointError` where no finite number supports a decision, and is likely to do so
    again: take the last file that was saved, or a new agent with a larger `ridge` or a smaller radius.
    """

    def __init__(
        self,
        algorithm: str,
        *,
        dim: int,
        seed: int = 0,
        max_pending: int = 10_000,
        expire_after: int | None = None,
        **parameters: Any,
    ) -> None:
        agent = build(Spec.bandit(dim=dim, num_arms=1), algorithm, **parameters)
        require_single(agent)
        self._start(algorithm, agent, seed, max_pending, expire_after)

    def _start(
        self, algorithm: str, agent: Agent, seed: int, max_pending: int, expire_after: int | None
    ) -> None:
        if agent.needs:
            found = f"{algorithm!r}, which needs {' and '.join(agent.needs)}"
            raise ArgumentError("algorithm", "learn from what it earns alone", algorithm, found)
        if not looks_at_arms(agent):
            raise ArgumentError(
                "algorithm", "know arms by their features", algorithm, f"{algorithm!r}, which does not"
            )
        self.algorithm, self.agent = algorithm, agent
        self.seed = require_count("seed", seed, at_least=0)
        if expire_after is not None:
            expire_after = require_count("expire_after", expire_after)
        self._pending = Pending(require_count("max_pending", max_pending), expire_after)
        self._dim, self._engine = agent.spec.dim, engine_of(agent, self.seed)
        self._gauge = Gauge()
        self._lock, self._writing = threading.Lock(), threading.Lock()

    @property
    def state(self) -> Any:
        """A copy of what the agent has learnt."""
        with self._lock:
            return copy.deepcopy(self._engine.state)

    def summary(self) -> Summary:
        """How much it knows, how well it predicts, and whether the world drifts."""
        with self._lock:
            return summarise(self.agent, self._engine.state, self._pending, self._gauge)

    def decide(self, features: Any) -> Decision:
        """Choose one of the arms `[num_arms, dim]`."""
        with np.errstate(all="ignore"), self._lock:  # what comes of it is looked at
            arms = _checked_arms(features, self._dim)
            choice = self._engine.choose(arms, self._pending.num_made)
            number = self._pending.add(choice)
        return Decision(choice.arm, number, choice.value, choice.bonus)

    def learn(self, id: int, reward: float) -> None:
        """Take in the reward of a decision; each decision has one."""
        if type(id) is not int or id < 0:
            id = require_count("id", id, at_least=0)
        if type(reward) is not float or not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            plain = reward.item() if isinstance(reward, np.generic) else reward
            reward = require_number("reward", plain, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD)
        with self._lock:
            choice = self._pending.get(id)
            self._engine.learn(choice, reward)
            self._pending.remove(id)
            self._gauge.observe(reward - (choice.value - choice.bonus), choice.bonus)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on; the file at `path` is replaced at once, or stays as it was."""
        description = {
            "kind": KIND,
            "algorithm": self.algorithm,
            "agent": to_config(self.agent),
            "seed": self.seed,
            "max_pending": self._pending.max_pending,
            "expire_after": self._pending.expire_after,
        }
        with self._writing:  # no older snapshot replaces a newer one, and nobody else waits for the disk
            with self._lock:
                tensors = snapshots.taken(self._engine, self._pending, self._gauge)
            persistence.write(path, persistence.Stored(description, tensors))

    @classmethod
    def restored(cls, stored: persistence.Stored, features: None = None) -> Bandit:
        """The bandit that a file describes; it has no features of its own."""
        if features is not None:
            raise persistence.WrongFeatures(f"features must be left out for a {KIND}, got {features!r}")
        given = {name: value for name, value in stored.description.items() if name != "kind"}
        bandit = object.__new__(cls)
        bandit._start(**given | {"agent": from_config(given["agent"])})
        snapshots.put_back(stored.tensors, bandit._engine, bandit._pending, bandit._gauge)
        return bandit


def _checked_arms(features: Any, dim: int) -> np.ndarray:
    if type(features) is np.ndarray and features.dtype == np.float64 and features.flags.c_contiguous:
        flat, shape = features.ravel(), features.shape  # what is as it should be is seen at a glance:
        if flat.size and len(shape) == 2 and shape[1] == dim and flat.dot(flat) <= LARGEST_FEATURE**2:
            return features
    arms = require_array("features", features, (None, dim))
    if not len(arms):
        raise ArgumentError("features", "offer at least one arm", arms.shape, f"the shape {arms.shape}")
    largest = float(np.abs(arms).max())
    if largest > LARGEST_FEATURE:
        raise ArgumentError(
            "features", f"lie between ±{LARGEST_FEATURE:g}", largest, f"one of size {largest:g}"
        )
    return arms


persistence.LOADERS[KIND] = Bandit.restored

"""Policies of scenarios: what they are shown, what they decide, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, SupportsIndex

import numpy as np

from driftwise.base.types import Episode, FeatureTable, Spec


class Context(NamedTuple):
    """What a policy of a bandit is shown in a round."""

    number: int  # of the round, from 0; its reward has the same
    arms: np.ndarray  # [A, d]


class Reward(NamedTuple):
    """A reward, and the decision that earned it."""

    number: int  # of the round
    arms: np.ndarray  # [A, d], as they were offered
    arm: int
    value: float


class MdpContext(NamedTuple):
    """What a policy of an MDP is shown before an episode."""

    number: int  # of the episode, from 0; its trajectory has the same
    features: np.ndarray  # [S, A, d]
    table: FeatureTable  # the same row by row, with mean rewards and what else is known


class Trajectory(NamedTuple):
    """An episode as it was played."""

    number: int
    episode: Episode


class Policy(Protocol):
    """Whatever decides and learns in a bandit.

    Rewards come in the order of their decisions; some come late or never. A policy that looks out for changes
    may return from `learn` whether it has just found one. A scenario that restarts needs a policy that can be
    pickled: what it does not keep, it loses.
    """

    def decide(self, context: Context) -> SupportsIndex:
        """The number of an arm."""
        ...

    def learn(self, reward: Reward) -> bool | None:
        """Take in a reward; True is an alarm."""
        ...


class MdpPolicy(Protocol):
    """Whatever decides and learns in an MDP: a `Policy` with an episode in the place of a round."""

    def decide(self, context: MdpContext) -> np.ndarray:
        """The chances of all actions in every step and state, `[H, S, A]`."""
        ...

    def learn(self, trajectory: Trajectory) -> bool | None:
        """Take in an episode; True is an alarm."""
        ...


Make = Callable[[Spec, int], Policy | MdpPolicy]  # for a problem of these sizes, with a seed

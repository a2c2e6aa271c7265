"""Views of a run of a mixture of memories: an episode, and the weighing of the memories over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit import noise
from driftwise.analysis.audit.snapshot import History, Snapshot, views
from driftwise.analysis.audit.subject import Subject
from driftwise.base import random
from driftwise.base.part import at, numbers
from driftwise.base.types import Episode, FeatureTable
from driftwise.environments import LinearBandit, LinearMdp
from driftwise.simulation.play import play

DRAW = 1  # where a memory is drawn, below the key of a plan


@dataclass(frozen=True, eq=False)
class MixtureSubject:
    """A mixture of least-squares agents in an environment for so many episodes."""

    agent: MixtureOfMemories
    environment: LinearMdp | LinearBandit
    num_episodes: int
    delta_of_numbers: float

    @cached_property
    def memories(self) -> tuple[Subject, ...]:
        """Each memory as a subject that watches."""
        sizes = self.environment, self.num_episodes, self.delta_of_numbers
        return tuple(Subject(at(self.agent.base, j), *sizes, watching=True) for j in range(self.num_memories))

    @property
    def num_memories(self) -> int:
        return len(next(numbers(self.agent.base)).value)

    @property
    def delta(self) -> float:
        return self.memories[0].delta

    @cached_property
    def prior(self) -> np.ndarray:
        """`π`, `[J]`: uniform but for an extra part of the last memory."""
        favour, last = self.agent.sharing.favour, np.arange(self.num_memories) == self.num_memories - 1
        return (1 - favour) / self.num_memories + favour * last

    @cached_property
    def shares(self) -> np.ndarray:
        """`α_t` of the rounds 1, 2, …, `[K]`."""
        rounds = np.arange(1, self.num_episodes + 1)
        share = self.agent.sharing.share
        return np.full(len(rounds), share) if share > 0 else 1 / (rounds + 1)


@dataclass(frozen=True, eq=False)
class MixedSnapshot:
    """An episode as a mixture planned and played it."""

    subject: MixtureSubject
    memories: tuple[Snapshot, ...]  # each with its own plan
    played: Snapshot  # the first of them, with the plan of the mixture
    weights: np.ndarray  # [J] or [H, J] of the mixture
    origin: np.ndarray  # [d]

    @cached_property
    def deciding(self) -> np.ndarray:
        """The weight of each memory in the decision, `[J, H]`: its own, or 1 for the one that decides."""
        weights = np.broadcast_to(self.weights, (len(self.played.gram), self.weights.shape[-1]))
        if self.subject.agent.decision in ("mixture", "variance"):
            return weights.T
        chosen = weights.argmax(-1)
        if self.subject.agent.decision == "draw":
            (luck,) = random.uniform(random.fold(self.played.plan_key, DRAW), 1, float)
            cumulative = np.cumsum(weights, axis=-1)
            chosen = np.sum(cumulative <= luck * cumulative[:, -1:], axis=-1)
        return np.eye(weights.shape[-1])[:, chosen]

    def mixed(self, arrays: ArrayLike) -> np.ndarray:
        """The sum over memories with their weights in the decision: `[H, …]` from `[J]` of `[H, …]`."""
        return np.einsum("jh,jh...->h...", self.deciding, np.asarray(arrays))


@dataclass(frozen=True, eq=False)
class Weighing:
    """Scores and weights of all memories in a finished run; `R` is H with weights of each step, else 1."""

    subject: MixtureSubject
    weights: np.ndarray  # [K+1, R, J] of the mixture, before each episode and after the last
    scores: np.ndarray  # [K, R, J] that the memories give themselves
    defined_scores: np.ndarray  # [K, R, J]


@views.register
def _(
    subject: MixtureSubject, *, seed: int = 0, run: int = 0, stride: int = 1
) -> Iterator[Snapshot | MixedSnapshot | Weighing]:
    """Play a run: snapshots of each memory and of the mixture, as often as of an agent, then the weighing."""
    agent, num_episodes, dim = subject.agent, subject.num_episodes, subject.agent.spec.dim
    histories = [History.empty(memory) for memory in subject.memories]
    run_key, origin = random.fold(random.key(seed), run), np.zeros(dim)
    log_weights, own, defined = [], [], []
    for t, played in enumerate(play(agent, subject.environment, num_episodes, seed=seed, run=run)):
        plan_key, before = random.keys_of(run_key, t)[1], played.before
        if t == 0 and agent.origin == "first":
            origin = constant_part(played.features, played.episode)
        rewards = played.episode.rewards - played.episode.features @ origin
        seen = played.features, played.episode._replace(rewards=rewards), run_key, played.plan
        memories = []
        for j, (memory, history) in enumerate(zip(subject.memories, histories, strict=True)):
            state = state_of(before.base, j)
            plan = memory.agent.plan(state, played.features, plan_key)
            memories.append(Snapshot(memory, t, history.before(t), state, plan, *seen))
        if t % stride == 0 or t == num_episodes - 1:
            yield from memories
            mixed = replace(memories[0], plan=played.plan)
            yield MixedSnapshot(subject, tuple(memories), mixed, np.exp(before.log_weights), before.origin)
        for snapshot, history in zip(memories, histories, strict=True):
            history.add(snapshot)
        own.append([_score(snapshot) for snapshot in memories])
        defined.append([noise.scores(snapshot) for snapshot in memories])
        log_weights[t:] = before.log_weights, played.carry.state.log_weights
    summed = [np.array(each).swapaxes(1, 2) for each in (own, defined)]  # [K, H, J]
    if agent.weighing == "together":
        summed = [each.sum(axis=1, keepdims=True) for each in summed]
    rows = (num_episodes + 1, -1, subject.num_memories)
    yield Weighing(subject, np.exp(log_weights).reshape(rows), *summed)


def state_of(stacked: Any, j: int) -> Any:
    """The state of a memory, of those that are stacked: named tuples of arrays and None."""
    if isinstance(stacked, tuple):
        return type(stacked)(*(state_of(each, j) for each in stacked))
    return None if stacked is None else stacked[j]


def _score(memory: Snapshot) -> np.ndarray:
    """The score of an episode that the memory gives itself, `[H]`."""
    return memory.subject.agent.score(memory.moments, memory.table, memory.played, memory.episode)


def constant_part(features: FeatureTable, episode: Episode) -> np.ndarray:
    """Weights that explain the first reward by the features that are 1 for all arms, `[d]`."""
    arms = features.values if features.present is None else features.values[features.present]
    constant = (arms == 1).all(axis=0)
    return constant * episode.rewards[0] / max(1, constant.sum())

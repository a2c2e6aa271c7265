"""Views of a run of a mixture of memories: an episode, and the weighing of the memories over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

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
from driftwise.parts.noise import NoiseSums
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


class Spread(NamedTuple):
    """The noise of all forecasts, as defined."""

    variance: np.ndarray  # [H] s²
    degrees: float  # ν


@dataclass(frozen=True, eq=False)
class MixedSnapshot:
    """An episode as a mixture planned and played it."""

    subject: MixtureSubject
    memories: tuple[Snapshot, ...]  # each with its own plan
    played: Snapshot  # the first of them, with the plan of the mixture
    weights: np.ndarray  # [J] or [H, J] of the mixture
    origin: np.ndarray  # [d]
    noise: NoiseSums
    defined_noise: Spread

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
    scores: np.ndarray  # [K, R, J] that the mixture gives its memories
    defined_scores: np.ndarray  # [K, R, J]


@views.register
def _(
    subject: MixtureSubject, *, seed: int = 0, run: int = 0, stride: int = 1
) -> Iterator[Snapshot | MixedSnapshot | Weighing]:
    """Play a run: snapshots of each memory and of the mixture, as often as of an agent, then the weighing."""
    agent, num_episodes, dim = subject.agent, subject.num_episodes, subject.agent.spec.dim
    histories = [History.empty(memory) for memory in subject.memories]
    run_key, origin = random.fold(random.key(seed), run), np.zeros(dim)
    weights, own, book = [], [], Book(subject)
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
            sides = np.exp(before.log_weights), before.origin, before.noise, book.spread
            yield MixedSnapshot(subject, tuple(memories), mixed, *sides)
        for snapshot, history in zip(memories, histories, strict=True):
            history.add(snapshot)
        own.append(_own_scores(agent, before.noise, memories))
        book.enter(memories)
        copied = book.copied(memories)
        if copied is not None:
            squares = histories[copied.memory].squares
            histories[-1] = replace(histories[-1], copied=copied.weights, squares=squares.copy())
        weights[t:] = before.log_weights, played.carry.state.log_weights
    rows = (num_episodes + 1, -1, subject.num_memories)
    summed = [summed_scores(subject, np.array(own)), np.array(book.scores)]
    yield Weighing(subject, np.exp(weights).reshape(rows), *summed)


class Copied(NamedTuple):
    """The memory that the last one goes on from."""

    memory: int
    weights: np.ndarray  # [t] ω of the episodes so far


class Book:
    """Scores, noise and weights of a mixture as defined, entered episode by episode."""

    def __init__(self, subject: MixtureSubject) -> None:
        horizon, per_step = subject.agent.spec.horizon, subject.agent.weighing == "per_step"
        self.subject = subject
        self.scores: list[np.ndarray] = []  # [R, J] each
        self.weights = np.tile(subject.prior, (horizon if per_step else 1, 1))  # [R, J]
        self.squares = np.zeros((0, horizon))  # Σ_j w_j e_j²/(1+v_j)

    @property
    def spread(self) -> Spread:
        part = self.subject.agent.noise
        weights = self.subject.agent.noise_forgetting.weights(len(self.squares))
        return Spread(noise.variance(part, weights, self.squares), noise.degrees(part, weights))

    def enter(self, memories: list[Snapshot]) -> None:
        """Score the forecasts of an episode, then weigh by them and learn their noise."""
        part, (spread, count) = self.subject.agent.noise, self.spread
        found = np.array([noise.scores(part, spread, count, each) for each in memories])  # [J, H]
        errors, doubts = np.array([each.forecast for each in memories]).swapaxes(0, 1)
        squares = np.sum(self.weights * (errors**2 / (1 + doubts)).T, axis=-1)  # [H]
        self.squares = np.concatenate([self.squares, squares[None]])
        (scores,) = summed_scores(self.subject, found[None])
        share = self.subject.shares[len(self.scores)]
        self.scores.append(scores)
        self.weights = weights_after(self.weights, scores, self.subject.prior, share)

    def copied(self, memories: list[Snapshot]) -> Copied | None:
        """The memory that the last one goes on from after the episode last entered, if there is an alarm.

        It has a weight of at most min(2α, ½)π, and holds more than twice the episodes of the heaviest one.
        """
        if self.subject.agent.fresh == "never":
            return None
        share, overall = self.subject.shares[len(self.scores) - 1], self.weights.mean(axis=0)
        heaviest = int(overall.argmax())
        after = [
            np.append(each.subject.forgetting.weights(2)[0] * each.weights, 1.0)
            for each in (memories[heaviest], memories[-1])
        ]
        sunk = overall[-1] <= min(2 * share, 0.5) * self.subject.prior[-1]
        return Copied(heaviest, after[0]) if sunk and after[1].sum() > 2 * after[0].sum() else None


def weights_after(weights: np.ndarray, scores: np.ndarray, prior: np.ndarray, share: float) -> np.ndarray:
    """`w_j ← (1−α) u_j + α π_j` with `u_j ∝ w_j exp(ℓ_j)`, `[R, J]`."""
    raised = weights * np.exp(scores - scores.max(-1, keepdims=True))
    return (1 - share) * raised / raised.sum(-1, keepdims=True) + share * prior


def summed_scores(subject: MixtureSubject, scores: np.ndarray) -> np.ndarray:
    """Scores `[K, R, J]` from `[K, J, H]`: of each step, or of all steps together."""
    by_step = scores.swapaxes(1, 2)
    return by_step if subject.agent.weighing == "per_step" else by_step.sum(axis=1, keepdims=True)


def state_of(stacked: Any, j: int) -> Any:
    """The state of a memory, of those that are stacked: named tuples of arrays and None."""
    if isinstance(stacked, tuple):
        return type(stacked)(*(state_of(each, j) for each in stacked))
    return None if stacked is None else stacked[j]


def _own_scores(agent: MixtureOfMemories, sums: NoiseSums, memories: list[Snapshot]) -> np.ndarray:
    """The scores of an episode that the mixture gives its memories, `[J, H]`."""
    found = [
        each.subject.agent.forecast(each.moments, each.table, each.played, each.episode) for each in memories
    ]
    return np.array([agent.noise.score(sums, forecast) for forecast in found])


def constant_part(features: FeatureTable, episode: Episode) -> np.ndarray:
    """Weights that explain the first reward by the features that are 1 for all arms, `[d]`."""
    arms = features.values if features.present is None else features.values[features.present]
    constant = (arms == 1).all(axis=0)
    return constant * episode.rewards[0] / max(1, constant.sum())

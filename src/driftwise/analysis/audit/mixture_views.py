"""Views of a run of a mixture of memories: the snapshot of an episode, and the trace of the run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.analysis.audit import reference
from driftwise.analysis.audit.snapshot import History, Snapshot, observe_run
from driftwise.analysis.audit.subject import Subject
from driftwise.base import random
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.base.types import Episode, FeatureTable
from driftwise.environments import LinearBandit, LinearMdp
from driftwise.simulation.tasks import play

_CONSTANT = 10.0  # the last feature, whose weight is the origin
_FIRST_CLIPPED, _EARLY = 3, 100  # errors before the first outlier; how slowly the limit comes down
_LEAST_SAMPLES = 5  # for each dimension, of a memory that is copied into


class Start(NamedTuple):
    """Where rewards and features are counted from."""

    origin: float = 0.0
    unit: float = 1.0


@dataclass(frozen=True, eq=False)
class MixtureSubject:
    """A mixture of least-squares agents in an environment for so many episodes."""

    agent: MixtureOfMemories
    environment: LinearMdp | LinearBandit
    num_episodes: int
    delta_of_numbers: float

    @cached_property
    def memories(self) -> tuple[Subject, ...]:
        sizes = self.environment, self.num_episodes, self.delta_of_numbers
        agents = (index_part(self.agent.base, j) for j in range(self.agent.num_memories))
        return tuple(Subject(agent, *sizes, is_memory=True) for agent in agents)

    @cached_property
    def prior(self) -> np.ndarray:
        """`π`, `[J]`: uniform, with an extra share for the last memory."""
        favour, number = self.agent.sharing.favour, len(self.memories)
        return (1 - favour) / number + favour * (np.arange(number) == number - 1)

    @cached_property
    def shares(self) -> np.ndarray:
        """`α_t` of the rounds 1, 2, …, `[K]`."""
        share, number = self.agent.sharing.share, self.num_episodes
        return np.full(number, share) if share > 0 else 1 / np.arange(2, number + 2)


@dataclass(frozen=True, eq=False)
class MixtureSnapshot:
    """An episode as planned and played by a mixture."""

    subject: MixtureSubject
    memories: tuple[Snapshot, ...]  # each with its own plan
    played: Snapshot  # the first of them, with the plan of the mixture
    state: MixtureState  # before the episode
    defined_noise: tuple[np.ndarray, float]  # [H] s², and ν
    start: Start  # as defined

    @cached_property
    def ranked(self) -> Snapshot:
        """The episode with the index that ties are judged by: `(Q − origin)/s` where the origin is learnt."""
        plan, (variance, _) = self.played.plan, self.defined_noise
        if self.subject.agent.origin == "zero":
            return self.played
        unit = np.sqrt(np.where(variance > 0, variance, 1.0))[:, None, None]
        return replace(self.played, plan=plan._replace(q=(plan.q - self.start.origin) / unit))

    @cached_property
    def deciding(self) -> Snapshot:
        """The memory that decides."""
        weights = np.exp(self.state.log_weights)
        if self.subject.agent.decision == "heaviest":
            return self.memories[weights.argmax()]
        key = random.fold(self.played.keys[1], 1)  # the address at which mixtures draw
        (uniform,) = random.draw_uniform(key, 1, float)
        cumulative = np.cumsum(weights)
        return self.memories[np.sum(cumulative <= uniform * cumulative[-1])]


class MixtureTrace:
    """Scores and weights, of the mixture and as defined: `[J]` an episode."""

    def __init__(self, subject: MixtureSubject) -> None:
        self.subject = subject
        self.scores: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []
        self.defined_scores: list[np.ndarray] = []
        self.defined_weights = [subject.prior]
        self.squares = np.zeros((0, subject.agent.spec.horizon))  # Σ_j w_j e_j²/(1+v_j)
        self.start = Start()

    def extend(self, table: FeatureTable, episode: Episode) -> tuple[FeatureTable, Episode]:
        """Return what memories plan with and learn from, but for outliers; the first sets the start."""
        if self.subject.agent.origin == "zero":
            return table, episode
        unit = self.start.unit
        if not self.defined_scores:  # planned in the unit of the longest arm
            arms = table.values if table.present is None else table.values[table.present]
            unit = _feature_unit(arms)
            self.start = Start(float(episode.rewards[0]), _feature_unit(episode.features))
        values, features = table.values / unit, episode.features / self.start.unit
        values, features = (np.insert(own, own.shape[-1], _CONSTANT, axis=-1) for own in (values, features))
        rewards = episode.rewards - self.start.origin
        return FeatureTable(values, table.present), episode._replace(features=features, rewards=rewards)

    def clip_outlier(self, memories: list[Snapshot]) -> list[Snapshot]:
        """Return the memories with a reward within `outlier` deviations of the heaviest one's forecast."""
        error, variance = memories[self.defined_weights[-1].argmax()].forecast
        outlier = self.subject.agent.outlier * (1 + _EARLY / max(len(self.squares), 1))
        limit = outlier * np.sqrt(self.noise[0] * (1 + variance))
        if len(self.squares) < _FIRST_CLIPPED or not limit.all():
            return memories
        episode = memories[0].episode
        episode = episode._replace(rewards=episode.rewards - error + np.clip(error, -limit, limit))
        return [replace(memory, episode=episode) for memory in memories]

    @property
    def noise(self) -> tuple[np.ndarray, float]:
        """`s²`, `[H]`, and ν of all forecasts."""
        weights = self.subject.agent.noise_forgetting.weights(len(self.squares))
        return reference.noise_variance(self.subject.agent.noise, weights, self.squares)

    def update(self, memories: list[Snapshot]) -> None:
        """Score by `ℓ = log t_ν(y; m, s²(1+v))`, 0 while all errors were 0, then update weights and noise."""
        subject, (variance, degrees), weights = self.subject, self.noise, self.defined_weights[-1]
        errors, variances = np.array([memory.forecast for memory in memories]).swapaxes(0, 1)  # [J, H] each
        scale = np.sqrt(np.where(variance > 0, variance, 1.0) * (1 + variances))
        log_densities = student.logpdf(errors, min(degrees, subject.agent.noise.max_degrees), scale=scale)
        scores = np.sum(np.where(variance > 0, log_densities, 0.0), axis=-1)  # [J]
        squares = weights @ (errors**2 / (1 + variances))  # [H]
        self.squares = np.concatenate([self.squares, squares[None]])
        updated = weights * np.exp(scores - scores.max())  # w ← (1−α) u + α π, u ∝ w exp(ℓ)
        total, share = updated.sum(), subject.shares[len(self.defined_scores)]
        self.defined_scores.append(scores)
        self.defined_weights.append((1 - share) * updated / total + share * subject.prior)

    def copied(self, memories: list[Snapshot]) -> tuple[int, np.ndarray] | None:
        """Return the memory that is copied into the last one after the latest episode, if any, and its ω."""
        share = self.subject.shares[len(self.defined_scores) - 1]
        weights = self.defined_weights[-1]
        heaviest = int(weights.argmax())
        after, longest = (
            np.append(memory.subject.forgetting.weights(2)[0] * memory.weights, 1.0)
            for memory in (memories[heaviest], memories[-1])
        )
        # the weight of the last one is small, and it counts more than twice the episodes of the heaviest
        is_light = weights[-1] <= min(2 * share, 0.5) * self.subject.prior[-1]
        size, agent = longest.sum(), self.subject.agent
        is_long = size > 2 * after.sum() and size >= _LEAST_SAMPLES * agent.spec.dim
        return (heaviest, after) if agent.fresh != "never" and is_light and is_long else None


@observe_run.register
def _(
    subject: MixtureSubject, *, seed: int = 0, run: int = 0, stride: int = 1
) -> Iterator[Snapshot | MixtureSnapshot | MixtureTrace]:
    """Play a run; yield snapshots of each memory and of the mixture, then the trace of weights and scores."""
    agent, num_episodes = subject.agent, subject.num_episodes
    histories = [History.empty(memory) for memory in subject.memories]
    run_key, trace = random.fold(random.key(seed), run), MixtureTrace(subject)
    for t, played in enumerate(play(agent, subject.environment, num_episodes, seed=seed, run=run)):
        keys, before, start = random.episode_keys(run_key, t), played.before, trace.start
        (table, episode), memories = trace.extend(played.features, played.episode), []
        for j, (memory, history) in enumerate(zip(subject.memories, histories, strict=True)):
            state = map_tree(itemgetter(j), before.base)
            view = state, memory.agent.plan(state, table, keys[1]), table, episode, keys, played.plan
            memories.append(Snapshot(memory, t, history.before(t), *view))
        memories = trace.clip_outlier(memories)
        if t % stride == 0 or t == num_episodes - 1:
            yield from memories
            mixed = replace(memories[0], plan=played.plan)
            yield MixtureSnapshot(subject, tuple(memories), mixed, before, trace.noise, start)
        by_step = []
        for memory, history in zip(memories, histories, strict=True):
            history.add(memory)
            forecast = memory.subject.agent.forecast(memory.moments, table, played.plan, memory.episode)
            by_step.append(agent.noise.score(before.noise.errors, forecast))
        trace.update(memories)
        trace.scores.append(np.sum(by_step, axis=-1))
        trace.weights[t:] = np.exp([before.log_weights, played.carry.state.log_weights])
        if (copied := trace.copied(memories)) is not None:
            squares = histories[copied[0]].squares
            histories[-1] = histories[-1]._replace(copied=copied[1], squares=squares.copy())
    yield trace


def _feature_unit(features: np.ndarray) -> float:
    """Return the greatest length of features, between 0.01 and 1; 1 for zeros."""
    longest = np.linalg.norm(features, axis=-1).max().item()
    return min(max(longest, 0.01), 1.0) if longest else 1.0

"""Two views of a run of the NumPy engine: a snapshot of an episode, and the trace of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from driftwise.analysis.audit.subject import Subject
from driftwise.base import random
from driftwise.base.types import Episode, FeatureTable, Key, Model, Moments, Plan
from driftwise.environments import planning
from driftwise.parts.exploration import radius_at
from driftwise.simulation.play import play


@dataclass(frozen=True, eq=False)
class History:
    """All episodes before one, oldest first; `means` and `kernels` are those of the true models."""

    features: np.ndarray  # [t, H, d]
    rewards: np.ndarray  # [t, H]
    successors: np.ndarray  # [t, H]
    means: np.ndarray  # [t, H] φ_τᵀθ_τ
    kernels: np.ndarray  # [t, H, S] φ_τᵀμ_τ
    squares: np.ndarray  # [t, H] e²/(1+v) of forecasts
    copied: np.ndarray  # [t₀] ω(t₀, τ) of the memory that it was copied from; or empty

    @classmethod
    def empty(cls, subject: Subject) -> History:
        """Room for all episodes of a run."""
        sizes = subject.num_episodes, subject.spec.horizon
        return cls(
            features=np.zeros((*sizes, subject.spec.dim)),
            rewards=np.zeros(sizes),
            successors=np.zeros(sizes, dtype=int),
            means=np.zeros(sizes),
            kernels=np.zeros((*sizes, subject.spec.num_states)),
            squares=np.zeros(sizes),
            copied=np.zeros(0),
        )

    def add(self, snapshot: Snapshot) -> None:
        """Enter an episode after those before it."""
        t, episode, model = snapshot.t, snapshot.episode, snapshot.model
        self.features[t], self.rewards[t] = episode.features, episode.rewards
        self.successors[t] = episode.successors
        self.means[t] = np.sum(episode.features * model.theta, axis=-1)
        self.kernels[t] = np.einsum("hd,hds->hs", episode.features, model.mu)
        error, variance = snapshot.forecast
        self.squares[t] = error**2 / (1 + variance)

    def before(self, t: int) -> History:
        """The episodes before `t`."""
        return History(**{name: values[:t] for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Episode `t` as it is planned and played.

    Sums over the history before it are the definition; `moments` and `plan` are what the algorithm has
    instead. Pairs (s, a) are rows, those of actions that are there.
    """

    subject: Subject
    t: int
    history: History
    moments: Moments
    plan: Plan
    table: FeatureTable
    episode: Episode
    run_key: Key
    played: Plan  # by the agent itself, or by the mixture that it is a memory of

    @cached_property
    def plan_key(self) -> Key:
        """The address of what the plan drew."""
        return random.keys_of(self.run_key, self.t)[1]

    @cached_property
    def luck(self) -> np.ndarray:
        """The random numbers that actions were drawn with, `[H]`."""
        return random.uniform(random.keys_of(self.run_key, self.t)[2], self.subject.spec.horizon, float)

    @cached_property
    def steps_left(self) -> np.ndarray:
        """`H − h + 1`, `[H]`."""
        return np.arange(self.subject.spec.horizon, 0, -1)

    @cached_property
    def model(self) -> Model:
        return self.subject.model(self.t)

    @cached_property
    def weights(self) -> np.ndarray:
        """`ω(t, τ)`, `[t]`."""
        forgetting, copied = self.subject.forgetting, self.history.copied
        since = forgetting.weights(self.t - len(copied))
        decay = forgetting.weights(len(since) + 1)[0]  # of exponential weights in as many ticks
        return np.append(decay * copied, since)

    def weighted(self, targets: np.ndarray, power: int = 1) -> np.ndarray:
        """`Σ_τ ω^p φ_τ y_τᵀ`: `[H, d, …]` from targets `[t, H, …]`."""
        scaled = self.history.features * (self.weights**power)[:, None, None]
        return np.einsum("thd,th...->hd...", scaled, targets)

    @cached_property
    def gram(self) -> np.ndarray:
        """`Λ`, `[H, d, d]`, as defined."""
        return self.weighted(self.history.features) + self.subject.ridge * np.eye(self.subject.spec.dim)

    @cached_property
    def gram_sq(self) -> np.ndarray:
        """`Λ̃`, `[H, d, d]`, as defined."""
        summed = self.weighted(self.history.features, power=2)
        return summed + self.subject.ridge * np.eye(self.subject.spec.dim)

    @cached_property
    def inverse(self) -> np.ndarray:
        """`Λ⁻¹`, as defined."""
        return np.linalg.inv(self.gram)

    @cached_property
    def own_inverse(self) -> np.ndarray:
        """`Λ⁻¹` of the algorithm."""
        return np.linalg.inv(self.moments.gram)

    @cached_property
    def learnt(self) -> np.ndarray:
        """`Λ⁻¹ Σ ω φ (r + V(s'))`, `[H, d]`, as defined."""
        summed = self.weighted(self.history.rewards + self.targets_ahead)
        return (self.inverse @ summed[..., None])[..., 0]

    @cached_property
    def width(self) -> np.ndarray:
        """`√(φᵀMφ)` of every pair, `[H, N]`, with the exploration's matrix."""
        return self.norms(self.subject.width_matrix(self.inverse, self.gram_sq))

    def norms(self, matrix: np.ndarray) -> np.ndarray:
        """`√(φᵀMφ)` of every pair, `[H, N]`, with any matrix `[H, d, d]`."""
        return np.sqrt(np.einsum("nd,hde,ne->hn", self.features, matrix, self.features))

    @cached_property
    def radius(self) -> np.ndarray:
        """The algorithm's `β` of each step, `[H]`; 0 for explorations without one."""
        noise = self.subject.agent.noise
        unit = 1.0 if noise is None else noise.deviation(self.moments.noise)
        return np.broadcast_to(
            unit * radius_at(self.subject.own_radius, self.moments)[..., 0], len(self.gram)
        )

    @cached_property
    def forecast(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the forecasts of `r + V(s')`, and their variances `φᵀΛ⁻¹φ`, as defined: `[H]` each.

        `V` is that of the plan that was played.
        """
        ahead = np.concatenate([self.played.values[1:], np.zeros_like(self.played.values[:1])])
        steps, (history, episode) = np.arange(len(ahead)), (self.history, self.episode)
        past = self.weighted(history.rewards + ahead[steps, history.successors])
        came = episode.rewards + ahead[steps, episode.successors]
        direction = (self.inverse @ episode.features[..., None])[..., 0]
        return came - np.sum(direction * past, axis=-1), np.sum(direction * episode.features, axis=-1)

    @cached_property
    def features(self) -> np.ndarray:
        """`[N, d]`."""
        present = self.table.present
        return self.table.values if present is None else self.table.values[present]

    def of_pairs(self, array: np.ndarray) -> np.ndarray:
        """A field of the plan, `[H, S, A]`, as `[H, N]`."""
        flat = array.reshape(len(array), -1)
        return flat if self.table.present is None else flat[:, self.table.present]

    def by_state(self, array: np.ndarray) -> np.ndarray:
        """`[H, N]` as `[H, S, A]`; only bandits, of one state, lack actions."""
        return array.reshape(len(array), self.subject.spec.num_states, -1)

    @cached_property
    def estimate(self) -> np.ndarray:
        """`φᵀw`, `[H, N]`."""
        return self.plan.weights @ self.features.T

    @cached_property
    def bonus(self) -> np.ndarray:
        return self.of_pairs(self.plan.bonus)

    @cached_property
    def policy(self) -> np.ndarray:
        """`[H, S, A]`."""
        return self.by_state(self.of_pairs(self.plan.policy))

    @cached_property
    def values(self) -> np.ndarray:
        """The algorithm's `V`, `[H+1, S]`."""
        return np.concatenate([self.plan.values, np.zeros_like(self.plan.values[:1])])

    @cached_property
    def optimal_values(self) -> np.ndarray:
        """`V*`, `[H+1, S]`."""
        return planning.optimal_values(self._tensor, self.model)

    @cached_property
    def policy_values(self) -> np.ndarray:
        """`V^π` of the policy played, `[H+1, S]`."""
        return planning.policy_values(self._tensor, self.model, self.policy)

    def backed_up(self, values: np.ndarray, *, rewards: bool = True) -> np.ndarray:
        """`r + P V_{h+1}` in the true model (or `P V_{h+1}` alone), `[H, N]`, from values `[H+1, S]`."""
        theta = self.model.theta if rewards else np.zeros_like(self.model.theta)
        found = planning.action_values(self._tensor, Model(theta, self.model.mu), values)
        return found.reshape(len(theta), -1)

    @cached_property
    def average_model(self) -> Model:
        """`θ̄` and `μ̄` of the weighted average MDP."""
        sums = (self.weighted(self.history.means), self.weighted(self.history.kernels))
        theta, mu = (total + self.subject.ridge * now for total, now in zip(sums, self.model, strict=True))
        return Model((self.inverse @ theta[..., None])[..., 0], self.inverse @ mu)

    @cached_property
    def biases(self) -> np.ndarray:
        """`bias_r` and `bias_P`, `[2, H]`."""
        return self.subject.all_biases[self.t]

    @cached_property
    def sharp_biases(self) -> np.ndarray:
        """The same with the sharper constant."""
        return self.subject.biases(self.t, sharp=True)

    @cached_property
    def bias(self) -> np.ndarray:
        """`2H (bias_r + bias_P)`, `[H]`."""
        return 2 * self.subject.spec.horizon * (self.biases[0] + self.biases[1])

    @cached_property
    def targets_ahead(self) -> np.ndarray:
        """`V_{t,h+1}(s_{τ,h+1})`, `[t, H]`."""
        return self.values[1:][np.arange(self.subject.spec.horizon), self.history.successors]

    @property
    def _tensor(self) -> np.ndarray:
        return self.features.reshape(self.subject.spec.num_states, -1, self.subject.spec.dim)


@dataclass(frozen=True, eq=False)
class Trace:
    """A finished run, for statements about sums over it."""

    subject: Subject
    regret: np.ndarray  # [K]
    widths: np.ndarray  # [K, H] √(φᵀMφ) of the pairs played
    surprises: np.ndarray  # [K, H] ξ = [P(V − V^π)](s_h, a_h) − (V − V^π)(s_{h+1})
    radius: float  # the largest of all

    @cached_property
    def bias(self) -> float:
        """`Σ_{t,h} bias_r + bias_P`."""
        return float(self.subject.all_biases.sum())


@singledispatch
def views(subject: Any, *, seed: int = 0, run: int = 0, stride: int = 1) -> Iterator[Any]:
    """Play a run of a subject, and yield what statements look at."""
    raise NotImplementedError(type(subject).__name__)


@views.register
def _(subject: Subject, *, seed: int = 0, run: int = 0, stride: int = 1) -> Iterator[Snapshot | Trace]:
    """Play a run: snapshots of every `stride`-th episode and the last, then the trace of all."""
    num_episodes, history = subject.num_episodes, History.empty(subject)
    sizes = num_episodes, subject.spec.horizon
    regret, widths, surprises, radius = np.zeros(num_episodes), np.zeros(sizes), np.zeros(sizes), 0.0
    run_key = random.fold(random.key(seed), run)
    played_run = play(subject.agent, subject.environment, num_episodes=num_episodes, seed=seed, run=run)
    for t, played in enumerate(played_run):
        episode, record = played.episode, played.record
        view = played.before, played.plan, played.features, episode, run_key, played.plan
        snapshot = Snapshot(subject, t, history.before(t), *view)
        if t % stride == 0 or t == num_episodes - 1:
            yield snapshot
        regret[t] = record.optimal - record.value
        widths[t], surprises[t] = _widths(snapshot, episode), _surprises(snapshot, episode)
        radius = max(radius, float(snapshot.radius.max()))
        history.add(snapshot)
    yield Trace(subject, regret, widths, surprises, radius)


def _widths(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """`√(φᵀMφ)` of the pairs played, with the algorithm's own matrices: `[H]`."""
    moments, phi = snapshot.moments, episode.features
    matrix = snapshot.subject.width_matrix(snapshot.own_inverse, moments.gram_sq)
    return np.sqrt(np.maximum(np.einsum("hd,hde,he->h", phi, matrix, phi), 0))


def _surprises(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """`[P(V − V^π)](s_h, a_h) − (V − V^π)(s_{h+1})`: `[H]`."""
    gap = (snapshot.values - snapshot.policy_values)[1:]
    expected = np.einsum("hd,hds,hs->h", episode.features, snapshot.model.mu, gap)
    return expected - gap[np.arange(len(gap)), episode.successors]

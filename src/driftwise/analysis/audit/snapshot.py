"""Views of a run on NumPy: the snapshot of an episode, and the trace of the whole run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, NamedTuple, Self

import numpy as np

from driftwise.analysis.audit.subject import Subject
from driftwise.base import random
from driftwise.base.types import Episode, FeatureTable, Key, Model, Moments, Plan
from driftwise.environments import planning
from driftwise.parts.exploration import radius_at
from driftwise.simulation.tasks import play


class History(NamedTuple):
    """All episodes before one, oldest first; `means` and `kernels` are those of the true models."""

    features: np.ndarray  # [t, H, d]
    rewards: np.ndarray  # [t, H]
    successors: np.ndarray  # [t, H]
    means: np.ndarray  # [t, H] φ_τᵀθ_τ; 0 for memories of a mixture
    kernels: np.ndarray  # [t, H, S] φ_τᵀμ_τ; likewise
    squares: np.ndarray  # [t, H] e²/(1+v) of forecasts
    copied: np.ndarray  # [t₀] ω(t₀, τ) of the memory that was copied; empty if none was

    @classmethod
    def empty(cls, subject: Subject) -> Self:
        """Return arrays for all episodes of a run."""
        sizes, spec = (subject.num_episodes, subject.spec.horizon), subject.spec
        features, kernels = np.zeros((*sizes, spec.dim)), np.zeros((*sizes, spec.num_states))
        rewards, means, squares = np.zeros((3, *sizes))
        return cls(features, rewards, np.zeros(sizes, dtype=int), means, kernels, squares, copied=np.zeros(0))

    def add(self, snapshot: "Snapshot") -> None:
        t, episode = snapshot.t, snapshot.episode
        self.features[t], self.rewards[t] = episode.features, episode.rewards
        self.successors[t] = episode.successors
        if not snapshot.subject.is_memory:  # whose features and rewards may be other ones
            self.means[t] = np.sum(episode.features * snapshot.model.theta, axis=-1)
            self.kernels[t] = np.einsum("hd,hds->hs", episode.features, snapshot.model.mu)
        error, variance = snapshot.forecast
        self.squares[t] = error**2 / (1 + variance)

    def before(self, t: int) -> Self:
        return self._make(values[:t] for values in self)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Episode `t` as planned and played: sums over the history, and its own `moments` and `plan`."""

    subject: Subject
    t: int
    history: History
    moments: Moments
    plan: Plan
    table: FeatureTable
    episode: Episode
    keys: tuple[Key, Key, Key]  # the addresses of random draws: of the world, of the plan, of the actions
    played: Plan  # of the agent, or of the mixture that it is a memory of

    @cached_property
    def steps_left(self) -> np.ndarray:
        return np.arange(self.subject.spec.horizon, 0, -1)  # [H] H − h + 1

    @cached_property
    def model(self) -> Model:
        return self.subject.model(self.t)

    @cached_property
    def weights(self) -> np.ndarray:
        """`ω(t, τ)`, `[t]`."""
        forgetting, copied = self.subject.forgetting, self.history.copied
        recent = forgetting.weights(self.t - len(copied))
        decay = forgetting.weights(len(recent) + 1)[0]  # of exponential weights after as many ticks
        return np.append(decay * copied, recent)

    def weighted(self, targets: np.ndarray, power: int = 1) -> np.ndarray:
        """Return `Σ_τ ω^p φ_τ y_τᵀ`: `[H, d, …]` from targets `[t, H, …]`."""
        scaled = self.history.features * (self.weights**power)[:, None, None]
        return np.einsum("thd,th...->hd...", scaled, targets)

    @cached_property
    def gram(self) -> np.ndarray:
        """`Λ`, `[H, d, d]`, as defined."""
        return self.weighted(self.history.features) + self.subject.ridge * np.eye(self.subject.spec.dim)

    @cached_property
    def gram_sq(self) -> np.ndarray:
        """`Λ̃`, `[H, d, d]`, as defined."""
        return self.weighted(self.history.features, 2) + self.subject.ridge * np.eye(self.subject.spec.dim)

    @cached_property
    def longest(self) -> float:
        """The largest `‖φ_τ‖²`, at least 1, which the lemmas assume."""
        return float(np.square(self.history.features).sum(-1).max(initial=1.0))

    @cached_property
    def inverse(self) -> np.ndarray:
        return np.linalg.inv(self.gram)  # [H, d, d] Λ⁻¹, as defined

    @cached_property
    def own_inverse(self) -> np.ndarray:
        return np.linalg.inv(self.moments.gram)  # Λ⁻¹ of the algorithm

    @cached_property
    def learnt(self) -> np.ndarray:
        """`Λ⁻¹ Σ ω φ (r + V(s'))`, `[H, d]`, as defined."""
        summed = self.weighted(self.history.rewards + self.targets_ahead)
        return (self.inverse @ summed[..., None])[..., 0]

    def norms(self, matrix: np.ndarray) -> np.ndarray:
        """Return `√(φᵀMφ)` of every pair, `[H, N]`, for a matrix `[H, d, d]`."""
        return np.sqrt(np.einsum("nd,hde,ne->hn", self.features, matrix, self.features))

    @cached_property
    def radius(self) -> np.ndarray:
        """The algorithm's `β` of each step, `[H]`; 0 for explorations without one."""
        unit = self.subject.agent.exploration_unit(self.moments)
        radius = radius_at(self.subject.own_radius, self.moments)[..., 0]
        return np.broadcast_to(unit * radius, len(self.gram))

    @cached_property
    def forecast(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of forecasts of `r + V(s')` with the played `V`, and variances `φᵀΛ⁻¹φ`: `[H]` each."""
        next_values = np.concatenate([self.played.values[1:], np.zeros_like(self.played.values[:1])])
        steps, history, episode = np.arange(len(next_values)), self.history, self.episode
        past = self.weighted(history.rewards + next_values[steps, history.successors])
        outcome = episode.rewards + next_values[steps, episode.successors]
        direction = (self.inverse @ episode.features[..., None])[..., 0]
        return outcome - np.sum(direction * past, axis=-1), np.sum(direction * episode.features, axis=-1)

    @cached_property
    def features(self) -> np.ndarray:
        values, present = self.table.values, self.table.present
        return values if present is None else values[present]  # [N, d] of pairs (s, a) that are present

    def of_pairs(self, array: np.ndarray) -> np.ndarray:
        """Return a field of the plan, `[H, S, A]`, as `[H, N]`."""
        flat = array.reshape(len(array), -1)
        return flat if self.table.present is None else flat[:, self.table.present]

    def by_state(self, array: np.ndarray) -> np.ndarray:
        """Return `[H, N]` as `[H, S, A]`; only bandits, which have one state, lack actions."""
        return array.reshape(len(array), self.subject.spec.num_states, -1)

    @cached_property
    def estimate(self) -> np.ndarray:
        return self.plan.weights @ self.features.T  # [H, N] φᵀw

    @cached_property
    def bonus(self) -> np.ndarray:
        return self.of_pairs(self.plan.bonus)

    @cached_property
    def policy(self) -> np.ndarray:
        return self.by_state(self.of_pairs(self.plan.policy))  # [H, S, A]

    @cached_property
    def values(self) -> np.ndarray:
        """The algorithm's `V`, `[H+1, S]`."""
        return np.concatenate([self.plan.values, np.zeros_like(self.plan.values[:1])])

    @cached_property
    def optimal_values(self) -> np.ndarray:
        return planning.optimal_values(self._tensor, self.model)  # [H+1, S] V*

    @cached_property
    def policy_values(self) -> np.ndarray:
        """`V^π` of the policy played, `[H+1, S]`."""
        return planning.policy_values(self._tensor, self.model, self.policy)

    def backed_up(self, values: np.ndarray, *, rewards: bool = True) -> np.ndarray:
        """Return `r + P V_{h+1}`, or `P V_{h+1}`, of the true model, `[H, N]`, from values `[H+1, S]`."""
        model = self.model if rewards else self.model._replace(theta=np.zeros_like(self.model.theta))
        return planning.action_values(self._tensor, model, values).reshape(len(model.theta), -1)

    @cached_property
    def average_model(self) -> Model:
        """`θ̄` and `μ̄` of the weighted average MDP."""
        theta = self.weighted(self.history.means) + self.subject.ridge * self.model.theta
        mu = self.weighted(self.history.kernels) + self.subject.ridge * self.model.mu
        return Model((self.inverse @ theta[..., None])[..., 0], self.inverse @ mu)

    @property
    def biases(self) -> np.ndarray:
        return self.subject.all_biases[self.t]  # [2, H] bias_r and bias_P

    @property
    def bias(self) -> np.ndarray:
        return 2 * self.subject.spec.horizon * self.biases.sum(axis=0)  # [H] 2H (bias_r + bias_P)

    @cached_property
    def targets_ahead(self) -> np.ndarray:
        """`V_{t,h+1}(s_{τ,h+1})`, `[t, H]`."""
        return self.values[1:][np.arange(self.subject.spec.horizon), self.history.successors]

    @property
    def _tensor(self) -> np.ndarray:
        return self.features.reshape(self.subject.spec.num_states, -1, self.subject.spec.dim)


@dataclass(frozen=True, eq=False)
class Trace:
    """Sums over a finished run."""

    subject: Subject
    regret: np.ndarray  # [K]
    widths: np.ndarray  # [K, H] √(φᵀMφ) of the played pairs
    surprises: np.ndarray  # [K, H] ξ = [P(V − V^π)](s_h, a_h) − (V − V^π)(s_{h+1})
    radius: float  # the largest of the run


@singledispatch
def observe_run(subject: Subject, *, seed: int = 0, run: int = 0, stride: int = 1) -> Iterator[Any]:
    """Play a run; yield snapshots of every `stride`-th episode and of the last, then the trace."""
    num_episodes, history, rows = subject.num_episodes, History.empty(subject), []
    run_key = random.fold(random.key(seed), run)
    for t, played in enumerate(play(subject.agent, subject.environment, num_episodes, seed=seed, run=run)):
        episode, record, keys = played.episode, played.record, random.episode_keys(run_key, t)
        view = played.before, played.plan, played.features, episode, keys, played.plan
        snapshot = Snapshot(subject, t, history.before(t), *view)
        if t % stride == 0 or t == num_episodes - 1:
            yield snapshot
        phi, matrix = episode.features, subject.width_matrix(snapshot.own_inverse, snapshot.moments.gram_sq)
        widths = np.sqrt(np.maximum(np.einsum("hd,hde,he->h", phi, matrix, phi), 0))
        gap = (snapshot.values - snapshot.policy_values)[1:]
        surprises = np.einsum("hd,hds,hs->h", phi, snapshot.model.mu, gap)
        surprises -= gap[np.arange(len(gap)), episode.successors]
        rows.append((record.optimal - record.value, widths, surprises, snapshot.radius.max()))
        history.add(snapshot)
    regret, widths, surprises, radii = map(np.array, zip(*rows, strict=True))
    yield Trace(subject, regret, widths, surprises, float(radii.max()))

"""A drifting linear MDP: anchor models over shared features, and a curve that mixes them."""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.base import knowledge, random
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_batched, namespace, scan
from driftwise.base.types import Array, Episode, FeatureTable, Key, Model, Spec, Variation
from driftwise.base.validation import ArgumentError, require_array, require_choice, require_count
from driftwise.environments import planning
from driftwise.environments.drift.curves import Constant, Drift, require_drift
from driftwise.environments.environment import (
    MODEL_TOLERANCE,
    Carry,
    Environment,
    PlayedEpisode,
    Record,
    check_all,
    check_models,
    require_path,
)
from driftwise.parts.regression import fixed_table

_MODEL_ENTRIES = 4_000_000  # how much of a path of models is laid out at once
_MOST_NUMBERS = 1e11  # to go through for the variation of a path: minutes
_LEAST_SHARE = 0.002  # of them that tell how many all will be
RewardKind = Literal["mean", "bernoulli"]


class ModelInputs(NamedTuple):
    """The model of an episode."""

    mixture: Array  # [J]
    optimal: Array  # [S] V* of the first step; the best gain where there are no episodes


class LinearMdpArrays(NamedTuple):
    """Anchors of the models, with what sampling needs precomputed."""

    table: FeatureTable
    theta: Array  # [J, H, d]
    mu: Array  # [J, H, d, S]
    cumulative_mu: Array  # [J, H, d, S], so that φᵀ of it is the cumulative distribution
    cumulative_initial: Array  # [S]
    coin_rewards: Array  # whether rewards are coins of the mean's bias

    @property
    def example(self) -> FeatureTable:
        return self.table.with_extras(knowledge.MeanRewards(self.theta[0] @ self.table.values.T))

    @property
    def features(self) -> Array:
        """The features `[S, A, d]`."""
        dim, num_states = self.mu.shape[-2:]
        return namespace(self.mu).reshape(self.table.values, (num_states, -1, dim))

    def model(self, mixture: Array) -> Model:
        return Model(mix(mixture, self.theta), mix(mixture, self.mu))

    def begin(self, agent: Agent) -> Carry:
        return Carry(agent.init(self.example))

    def inputs(self, path: Array) -> ModelInputs:
        def optimal(mixture: Array) -> Array:
            return planning.optimal_values(self.features, self.model(mixture))[0]

        at_once = max(1, _MODEL_ENTRIES // self.mu[0].size)
        return ModelInputs(path, map_batched(optimal, path, at_once=at_once))

    def reward(self, mean: Array, luck: Array) -> Array:
        """Return the rewards of pairs with these means, given uniform numbers."""
        xp = namespace(mean)
        return xp.where(self.coin_rewards, xp.astype(luck < mean, mean.dtype), mean)

    def advance(self, agent: Agent, carry: Carry, inputs: ModelInputs, run_key: Key, t: Any) -> PlayedEpisode:
        xp, dtype, features, rows = namespace(self.theta), self.theta.dtype, self.features, self.table.values
        horizon, num_actions = self.theta.shape[1], features.shape[1]
        for_environment, for_plan, for_actions = random.episode_keys(run_key, t)
        model, cumulative_mu = self.model(inputs.mixture), mix(inputs.mixture, self.cumulative_mu)
        table = self.table.with_extras(knowledge.MeanRewards(model.theta @ rows.T))
        plan = agent.plan(carry.state, table, for_plan)
        luck = random.draw_uniform(for_environment, 1 + 2 * horizon, dtype)
        choices = random.draw_uniform(for_actions, horizon, dtype)
        start = random.choose_index(self.cumulative_initial, luck[0])

        def step(s: Array, x: tuple) -> tuple[Array, tuple]:
            h, cumulative, for_next, for_action = x
            action = agent.act(plan, h - 1, s, for_action)
            chances = xp.sum(rows[s * num_actions + action][:, None] * cumulative, axis=0)
            successor = random.choose_index(chances, for_next)
            return successor, (s, action, successor)

        # NumPy's numbers: a compiler that knows them reads the plan of one step. From 1 on, as XLA counts for
        # itself what begins at 0, and then does not know it.
        steps = xp.asarray(1 + np.arange(horizon))
        _, (states, actions, successors) = scan(step, start, (steps, cumulative_mu, luck[1::2], choices))
        visited = rows[states * num_actions + actions]
        means = xp.sum(visited * model.theta, axis=-1)
        rewards = self.reward(means, luck[2::2])
        episode = Episode(states, actions, visited, rewards, successors)
        value = planning.policy_values(features, model, plan.policy)[0][start]
        record = Record(xp.sum(episode.rewards), value, inputs.optimal[start])
        learnt = Carry(agent.update(carry.state, table, plan, episode))
        return PlayedEpisode(carry.state, table, plan, episode, record, learnt)


def mix(weights: Array, anchors: Array) -> Array:
    """Return `Σ_j c_j · anchors[j]`."""
    return namespace(anchors).tensordot(weights, anchors, axes=1)


@dataclass(frozen=True, eq=False, repr=False)
class LinearMdp(Environment):
    """A path of linear MDPs.

    Args:
      features: `φ`, `[S, A, d]`, norms at most one.
      theta: reward parameters of the anchors, `[J, H, d]` with `φᵀθ ∈ [0, 1]`.
      mu: transition measures of the anchors, `[J, H, d, S]`; `φᵀμ` is a distribution for every pair. Signed
        ones may exceed what radii assume, see `mu_bound`; that is a warning.
      initial: distribution of the first state, `[S]`.
      rewards: the agent sees the mean `φᵀθ` (`"mean"`, as in the paper) or a coin of that bias.
      successor_features: `ψ`, `[S, d']`, if measures are known to be combinations of them, `μ = Mψᵀ`.
      positions: where the state and the action of each pair lie in [0, 1], `[S, A, 2]`, if there is a metric;
        or any other number of coordinates, for agents that look at distances only.
    """

    features: np.ndarray
    theta: np.ndarray
    mu: np.ndarray
    initial: np.ndarray
    drift: Drift = field(default_factory=Constant)
    rewards: RewardKind = "mean"
    successor_features: np.ndarray | None = None
    positions: np.ndarray | None = None
    name: str = "linear_mdp"
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        features = require_array("features", self.features, (None, None, None))
        num_states, num_actions, dim = features.shape
        theta = require_array("theta", self.theta, (None, None, dim))
        Spec(num_states, num_actions, dim, horizon=theta.shape[1])  # none may be zero
        mu = require_array("mu", self.mu, (*theta.shape, num_states))
        initial = require_array("initial", self.initial, (num_states,))
        require_choice("rewards", self.rewards, ("mean", "bernoulli"))
        require_drift(self.drift)
        if self.drift.num_anchors != len(theta):
            expected = f"mix as many anchors as theta and mu have ({len(theta)})"
            got = f"{self.drift!r} with {self.drift.num_anchors}"
            raise ArgumentError("drift", expected, self.drift, got)
        check_models(features, theta, mu, initial)
        arrays = {"features": features, "theta": theta, "mu": mu, "initial": initial}
        if self.successor_features is not None:
            psi = require_array("successor_features", self.successor_features, (num_states, None))
            onto, measures = projection(psi), mu.reshape(-1, dim, num_states)  # no second copy of all
            outside = (np.abs(own - own @ onto).max() for own in measures if onto is not psi)
            away = float(max(outside, default=0.0))
            if away > MODEL_TOLERANCE:
                raise ArgumentError("successor_features", "span mu", away, f"a part of {away:.6g} outside")
            arrays["successor_features"] = psi
        if self.positions is not None:
            positions = require_array("positions", self.positions, (num_states, num_actions, None))
            where = ("state", "action", "coordinate")
            check_all(positions, "positions", "coordinate", "in [0, 1]", where, 0.0, 1.0)
            if positions.shape[-1] == 2:
                of_state = positions[..., 0] - positions[:, :1, 0]
                check_all(of_state, "positions", "shift of the state", "0", where[:2], 0.0, 0.0)
            arrays["positions"] = positions
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        root, bound = float(np.sqrt(dim)), self.mu_bound
        if bound > root:
            what = f"the norm of the total variations |mu|(S) is {bound:.6g}, above sqrt(dim) = {root:.6g}"
            warnings.warn(f"mu: {what}, so radii for this model need its mu_bound", stacklevel=3)

    def __repr__(self) -> str:
        return f"LinearMdp({self.name!r}, {self.spec}, drift={self.drift})"

    @property
    def spec(self) -> Spec:
        num_states, num_actions, dim = self.features.shape
        return Spec(num_states, num_actions, dim, horizon=self.theta.shape[1])

    @property
    def mu_bound(self) -> float:
        r"""$C_\mu \ge \||\mu_{t,h}|(S)\|$ for all episodes and steps, at least $\sqrt d$."""
        measures = self.mu.reshape(-1, *self.mu.shape[2:])
        root, variations = np.sqrt(self.spec.dim), [np.abs(own).sum(-1) for own in measures]
        largest = np.linalg.norm(variations, axis=-1).max()
        return float(largest if largest > root + MODEL_TOLERANCE else root)

    @np.errstate(all="ignore")  # what is not finite is found
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """Return the weights of the anchors at the episodes `[T]`: `[T, J]`, checked to be on the simplex."""
        episodes = np.asarray(episodes)
        if episodes.ndim != 1:
            raise ArgumentError("episodes", "be a list of episodes", episodes)
        weights = require_array("drift", self.drift.mixture(episodes), (len(episodes), len(self.theta)))
        check_all(weights, "drift", "weight", "at least 0", ("place", "anchor"), 0.0, np.inf)
        check_all(weights.sum(-1), "drift", "sum of the weights", "1", ("place",), 1.0, 1.0)
        return weights

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return tuple(self.drift.changes(num_episodes))

    def to_arrays(self, dtype: Any = np.float64, *, needs: tuple[type, ...] = ()) -> LinearMdpArrays:
        psi, positions = self.successor_features, self.positions
        by_step, drifting = (self.mu != self.mu[:, :1]).any(), (self.mu != self.mu[:1]).any()
        lacking = {
            knowledge.SharedSteps: (by_step, "have transitions that do not depend on the step"),
            knowledge.FixedTransitions: (drifting, "have transitions that do not drift"),
            knowledge.Continuing: (True, "be without episodes"),
            knowledge.SuccessorProjection: (psi is None, "have successor_features"),
            knowledge.Positions: (positions is None, "have positions"),
        }
        for need, (lacks, expected) in lacking.items():
            if need in needs and lacks:
                raise ArgumentError("environment", f"{expected}, which the agent needs", self)
        extras: dict[type, Any] = {knowledge.AnchorMeasures: self.mu}
        extras[knowledge.InitialDistribution] = self.initial
        if knowledge.SuccessorProjection in needs and psi is not None:
            extras[knowledge.SuccessorProjection] = projection(psi)
        if positions is not None:
            extras[knowledge.Positions] = positions.reshape(-1, positions.shape[-1])
        known = [kind(array.astype(dtype)) for kind, array in extras.items() if kind in needs]
        return LinearMdpArrays(
            table=fixed_table(self.features, dtype).with_extras(*known),
            theta=self.theta.astype(dtype),
            mu=self.mu.astype(dtype),
            cumulative_mu=np.cumsum(self.mu, axis=-1).astype(dtype),
            cumulative_initial=np.cumsum(self.initial).astype(dtype),
            coin_rewards=np.asarray(self.rewards == "bernoulli"),
        )

    def digest(self) -> str:
        digest = hashlib.sha256(f"{self.rewards} {self.drift!r}".encode())
        known = [array for array in (self.successor_features, self.positions) if array is not None]
        for array in (self.features, self.theta, self.mu, self.initial, *known):
            digest.update(f"{array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def model(self, t: int) -> Model:
        """Return the linear MDP of episode `t`."""
        weights = self.at(np.array([require_count("t", t, at_least=0)]))[0]
        return Model(np.tensordot(weights, self.theta, axes=1), np.tensordot(weights, self.mu, axes=1))

    def variation(
        self, num_episodes: int, *, transition_norm: str = "total_variation", norm: str = "coordinates"
    ) -> Variation:
        """Return the variation over the first `num_episodes` episodes, summed over steps.

        Rewards: `‖θ_{t,h} − θ_{t+1,h}‖₂`. Transitions, `"total_variation"`: for each coordinate l the L1
        norm of `μ^(l)_{t,h} − μ^(l)_{t+1,h}`, then the ℓ2 norm over l; `"frobenius"`: the Frobenius norm.
        `norm="pairs"` is for agents that look at no features: `max_{s,a} |φᵀ(θ_{t,h} − θ_{t+1,h})|` and
        `max_{s,a} ‖φᵀ(μ_{t,h} − μ_{t+1,h})‖₁`, as in Mao et al. 2021.
        """
        num_episodes = require_path(num_episodes, width=2)
        require_choice("transition_norm", transition_norm, ("total_variation", "frobenius"))
        require_choice("norm", norm, ("coordinates", "pairs"))
        reward, transition = np.zeros((2, num_episodes - 1))
        flat = self.features.reshape(-1, self.mu.shape[2])  # [SA, d]
        size = self.mu[0].size * (len(flat) / flat.shape[1] if norm == "pairs" else 1)
        chunk, num_moved = max(1, int(_MODEL_ENTRIES // size)), 0
        for start in range(0, num_episodes - 1, chunk):
            if num_moved * size > max(start / num_episodes, _LEAST_SHARE) * _MOST_NUMBERS:
                expected = "be fewer, as the drift moves in too many for their variation to be summed"
                raise ArgumentError("num_episodes", expected, num_episodes)
            stop = min(start + chunk, num_episodes - 1)
            moves = np.diff(self.at(np.arange(start, stop + 1)), axis=0)
            moving = np.flatnonzero(np.any(moves != 0, axis=1))  # few, where a drift is abrupt
            num_moved += len(moving)
            theta = np.tensordot(moves[moving], self.theta, axes=1)  # [T, H, d]
            mu = np.tensordot(moves[moving], self.mu, axes=1)  # [T, H, d, S]
            if norm == "pairs":
                rewards, transitions = np.abs(theta @ flat.T).max(-1), np.abs(flat @ mu).sum(-1).max(-1)
            else:
                total = transition_norm == "total_variation"
                per_coordinate = np.abs(mu).sum(-1) if total else np.sqrt(np.square(mu).sum(-1))
                rewards, transitions = (np.sqrt(np.square(own).sum(-1)) for own in (theta, per_coordinate))
            reward[start + moving], transition[start + moving] = rewards.sum(-1), transitions.sum(-1)
        return Variation(reward, transition)


def projection(psi: np.ndarray) -> np.ndarray:
    """Return `Ψ(ΨᵀΨ)⁻¹Ψᵀ`, onto the span of the columns of `Ψ`: `[S, S]`."""
    return psi if np.array_equal(psi, np.eye(len(psi))) else psi @ np.linalg.pinv(psi)

"""A drifting linear MDP: anchor models over shared features, and a curve that mixes them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from driftwise.base.types import Model, Spec
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_choice,
    require_count,
    require_kind,
)
from driftwise.environments import planning
from driftwise.environments.drift import Constant, Drift
from driftwise.environments.models.linear_mdp_world import LinearMdpWorld
from driftwise.parts.regression import feature_table

RewardKind = Literal["mean", "bernoulli"]
TOLERANCE = 1e-8  # of probabilities, rewards and norms: far above rounding, far below a mistake


@dataclass(frozen=True, eq=False, repr=False)
class LinearMdp:
    """A path of linear MDPs. It holds models and no metrics; regret comes from exact planning.

    Args:
      features: `φ`, `[S, A, d]`, norms at most one.
      theta: reward parameters of the anchors, `[J, H, d]` with `φᵀθ ∈ [0, 1]`.
      mu: transition measures of the anchors, `[J, H, d, S]`; `φᵀμ` is a distribution for every pair.
      initial: distribution of the first state, `[S]`.
      drift: the curve that mixes the anchors.
      rewards: the agent sees the mean `φᵀθ` (`"mean"`, as in the paper) or a coin of that bias.
      successor_features: `ψ`, `[S, d']`, if measures are known to be combinations of them, `μ = Mψᵀ`.
      positions: where the state and the action of each pair lie in [0, 1], `[S, A, 2]`, if there is a metric;
        or any other number of coordinates, for agents that look at distances only.
      name: what tables and files call it.
      config: how it was made, for manifests.
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
        require_kind("drift", self.drift, Drift)
        if self.drift.num_anchors != len(theta):
            expected = f"mix as many anchors as theta and mu have ({len(theta)})"
            found = f"{self.drift!r} with {self.drift.num_anchors}"
            raise ArgumentError("drift", expected, self.drift, found)
        for name, array in (("features", features), ("theta", theta), ("mu", mu), ("initial", initial)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        check_models(features, theta, mu, initial)
        if self.successor_features is not None:
            psi = require_array("successor_features", self.successor_features, (num_states, None))
            away = np.abs(mu - mu @ _projection(psi)).max()
            if away > TOLERANCE:
                raise ArgumentError("successor_features", "span mu", away, f"a part of {away:.6g} outside")
            psi.setflags(write=False)
            object.__setattr__(self, "successor_features", psi)
        if self.positions is not None:
            positions = require_array("positions", self.positions, (num_states, num_actions, None))
            where = ("state", "action", "coordinate")
            _check_all(positions, "positions", "coordinate", "in [0, 1]", where, low=0.0, high=1.0)
            if positions.shape[-1] == 2:
                of_state = positions[..., 0] - positions[:, :1, 0]
                _check_all(of_state, "positions", "shift of the state", "0", where[:2], low=0.0, high=0.0)
            positions.setflags(write=False)
            object.__setattr__(self, "positions", positions)

    def described(self, name: str, config: Mapping[str, Any]) -> LinearMdp:
        """The same environment under another name, made as `config` says."""
        twin = copy.copy(self)
        object.__setattr__(twin, "name", name)
        object.__setattr__(twin, "config", config)
        return twin

    def __repr__(self) -> str:
        return f"LinearMdp({self.name!r}, {self.spec}, drift={self.drift})"

    @property
    def spec(self) -> Spec:
        num_states, num_actions, dim = self.features.shape
        return Spec(num_states, num_actions, dim, horizon=self.theta.shape[1])

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        """Weights of the anchors at the episodes `[T]`: `[T, J]`, checked to be on the simplex."""
        episodes = np.asarray(episodes)
        if episodes.ndim != 1:
            raise ArgumentError("episodes", "be a list of episodes", episodes)
        weights = require_array("drift", self.drift.mixture(episodes), (len(episodes), len(self.theta)))
        _check_all(weights, "drift", "weight", "at least 0", ("place", "anchor"), low=0.0)
        _check_all(weights.sum(-1), "drift", "sum of the weights", "1", ("place",), low=1.0, high=1.0)
        return weights

    def at(self, episodes: np.ndarray) -> np.ndarray:
        """What sets the episodes `[T]` apart, for `world`: their mixtures."""
        return self.mixture(episodes)

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Episodes before `num_episodes` at which the model jumps."""
        return tuple(self.drift.changes(num_episodes))

    def world(self, dtype: Any = np.float64, *, tell: tuple[str, ...] = ()) -> LinearMdpWorld:
        """The environment as arrays, with what an agent asks to be told in its table."""
        table = feature_table(self.features, dtype)
        if "shared_steps" in tell and (self.mu != self.mu[:, :1]).any():
            raise ArgumentError(
                "environment", "have transitions that do not depend on the step, which the agent needs", self
            )
        if "fixed_transitions" in tell and (self.mu != self.mu[:1]).any():
            raise ArgumentError(
                "environment", "have transitions that do not drift, which the agent needs", self
            )
        if "continuing" in tell:
            raise ArgumentError("environment", "be without episodes, which the agent needs", self)
        if "measures" in tell:
            table = table._replace(measures=self.mu.astype(dtype))
        if "initial" in tell:
            table = table._replace(initial=self.initial.astype(dtype))
        if "projection" in tell:
            psi = self._known("successor_features")
            table = table._replace(projection=_projection(psi).astype(dtype))
        if "positions" in tell:
            positions = self._known("positions")
            table = table._replace(positions=positions.reshape(-1, positions.shape[-1]).astype(dtype))
        return LinearMdpWorld(
            table=table,
            theta=self.theta.astype(dtype),
            mu=self.mu.astype(dtype),
            cumulative_mu=np.cumsum(self.mu, axis=-1).astype(dtype),
            cumulative_initial=np.cumsum(self.initial).astype(dtype),
            coin_rewards=np.asarray(self.rewards == "bernoulli"),
        )

    def _known(self, name: str) -> np.ndarray:
        """A field that not every environment has."""
        if (known := getattr(self, name)) is None:
            raise ArgumentError("environment", f"have {name}, which the agent needs", self)
        return known

    def digest(self) -> str:
        """What tells it from other environments, whatever their names."""
        digest = hashlib.sha256(f"{self.rewards} {self.drift!r}".encode())
        known = [each for each in (self.successor_features, self.positions) if each is not None]
        for array in (self.features, self.theta, self.mu, self.initial, *known):
            digest.update(f"{array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def model(self, t: int) -> Model:
        """The linear MDP of episode `t`."""
        weights = self.mixture(np.array([require_count("t", t, at_least=0)]))[0]
        return Model(np.tensordot(weights, self.theta, axes=1), np.tensordot(weights, self.mu, axes=1))

    def variation(self, num_episodes: int, **options: Any) -> planning.Variation:
        """How much the model moves in the first `num_episodes` episodes; see `planning.variation`."""
        return planning.variation(self, num_episodes, **options)


def _projection(psi: np.ndarray) -> np.ndarray:
    """`Ψ(ΨᵀΨ)⁻¹Ψᵀ`, onto the span of the columns of `Ψ`: `[S, S]`."""
    return psi @ np.linalg.pinv(psi)


def check_models(features: np.ndarray, theta: np.ndarray, mu: np.ndarray, initial: np.ndarray) -> None:
    """Raise a `ValueError` that says what keeps these arrays from being linear MDPs."""
    dim = features.shape[-1]
    norms = np.linalg.norm(features, axis=-1)
    _check_all(norms, "features", "norm", "at most 1", ("state", "action"), high=1.0)
    _check_all(initial, "initial", "probability", "at least 0", ("state",), low=0.0)
    _check_all(initial.sum(), "initial", "sum", "1", (), low=1.0, high=1.0)
    where = ("anchor", "step")
    root = np.sqrt(dim)
    at_most = f"at most sqrt(dim) = {root:g}"
    _check_all(np.linalg.norm(theta, axis=-1), "theta", "norm", at_most, where, high=root)
    masses = np.linalg.norm(mu.sum(-1), axis=-1)  # ‖μ(S)‖, as the paper assumes: signed masses may cancel
    _check_all(masses, "mu", "norm of the masses mu(S)", at_most, where, high=root)
    pair = (*where, "state", "action")
    rewards = np.einsum("sad,jhd->jhsa", features, theta)
    _check_all(rewards, "theta", "mean reward", "in [0, 1]", pair, low=0.0, high=1.0)
    mass = np.einsum("sad,jhd->jhsa", features, mu.sum(-1))
    _check_all(mass, "mu", "sum of the transition probabilities", "1", pair, low=1.0, high=1.0)
    if features.min() >= 0 and mu.min() >= 0:
        return  # every probability is a sum of non-negative terms
    for j, h in np.ndindex(*mu.shape[:2]):
        prefix = f"mu (anchor {j}, step {h})"
        names = ("state", "action", "next state")
        _check_all(features @ mu[j, h], prefix, "transition probability", "at least 0", names, low=0.0)


def _check_all(
    values: np.ndarray,
    name: str,
    what: str,
    expected: str,
    axes: tuple[str, ...],
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> None:
    bad = np.argwhere((values < low - TOLERANCE) | (values > high + TOLERANCE))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        where = f"{what} at {place}" if place else what
        raise ValueError(f"{name}: {where} is {values[index]:.6g}, expected {expected}")

"""Exact planning through Φ, θ and μ; the kernel `P = Φμ` is never built.

`Q_h(s, a) = φ(s, a)ᵀ x` with the d-vector `x = θ_h + μ_h V_{h+1}`: `O(dS + SAd)` for one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from driftwise.base.arrays import namespace, scan
from driftwise.base.types import Array, Model, Variation
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.environments.models.sizes import require_path

if TYPE_CHECKING:
    from driftwise.environments.models.linear_mdp import LinearMdp

MOST_NUMBERS = 1e11  # to go through for the variation of a path: minutes
LEAST_SHARE = 0.002  # of them that tell how many all will be


def optimal_values(features: Array, model: Model) -> Array:
    """`V*` of every step and state, `[H+1, S]`; the last row is zero."""
    return _induction(features, model, lambda q, _: namespace(q).max(q, axis=-1), None)


def policy_values(features: Array, model: Model, policy: Array) -> Array:
    """`V^π`, `[H+1, S]`, of action probabilities `[H, S, A]` or of integer actions `[H, S]`."""
    policy = np.asarray(policy) if isinstance(policy, (list, tuple)) else policy
    sizes = (len(model.theta), *features.shape[:2])
    if policy.shape not in (sizes, sizes[:2]):
        raise ArgumentError("policy", f"have shape {sizes} or {sizes[:2]}", policy.shape)
    if isinstance(policy, np.ndarray):
        check_policy(policy, sizes[2])
    xp = namespace(policy)
    if policy.ndim == 2:
        policy = xp.astype(policy[..., None] == xp.arange(sizes[2]), features.dtype)
    return _induction(features, model, lambda q, p: namespace(q).sum(p * q, axis=-1), policy)


def check_policy(policy: np.ndarray, num_actions: int) -> None:
    """Raise an `ArgumentError` unless these are chances `[H, S, A]`, or actions `[H, S]`."""
    if policy.ndim == 2:
        bad = ~np.isin(policy, np.arange(num_actions))
        expected = f"actions from 0 to {num_actions - 1}"
    else:
        bad = (np.abs(policy.sum(-1) - 1) > 1e-8) | (policy < -1e-8).any(-1)
        expected = "probabilities that sum to 1"
    if bad.any():
        h, state = (int(i) for i in np.argwhere(bad)[0])
        raise ArgumentError(
            "policy", f"hold {expected}", policy[h, state], f"{policy[h, state]} at step {h}, state {state}"
        )


def action_values(features: Array, model: Model, values: Array) -> Array:
    """`Q_h = r_h + P_h V_{h+1}`, `[H, S, A]`, from values `[H+1, S]`."""
    xp = namespace(model.theta)
    backed = model.theta + xp.sum(model.mu * values[1:, None, :], axis=-1)
    num_states, num_actions, dim = features.shape
    q = backed @ xp.reshape(features, (-1, dim)).T
    return xp.reshape(q, (-1, num_states, num_actions))


def _induction(features: Array, model: Model, summarise, policy: Array | None) -> Array:
    xp = namespace(model.theta)
    num_states, num_actions, dim = features.shape
    flat = xp.reshape(features, (-1, dim))

    def step(value: Array, x: tuple) -> tuple[Array, Array]:
        theta, mu, *rest = x
        q = xp.reshape((theta + mu @ value) @ flat.T, (num_states, num_actions))
        value = summarise(q, rest[0] if rest else None)
        return value, value

    start = xp.zeros(num_states, dtype=model.theta.dtype)
    xs = (model.theta, model.mu) if policy is None else (model.theta, model.mu, policy)
    _, values = scan(step, start, xs, reverse=True)
    return xp.concat([values, start[None]])


def variation(
    environment: LinearMdp,
    num_episodes: int,
    *,
    transition_norm: Literal["total_variation", "frobenius"] = "total_variation",
    norm: Literal["coordinates", "pairs"] = "coordinates",
) -> Variation:
    """The variation of an environment over its first `num_episodes` episodes, summed over steps.

    Rewards: `‖θ_{t,h} − θ_{t+1,h}‖₂`. Transitions, `"total_variation"`: for each coordinate l the L1
    norm of `μ^(l)_{t,h} − μ^(l)_{t+1,h}`, then the ℓ2 norm over l; `"frobenius"`: the Frobenius norm of
    the whole difference. (As printed in the paper, with `μ(S)`, Δ_P is zero for probability measures.)

    `norm="pairs"` is for agents that look at no features: `max_{s,a} |φᵀ(θ_{t,h} − θ_{t+1,h})|` and
    `max_{s,a} ‖φᵀ(μ_{t,h} − μ_{t+1,h})‖₁`, as in Mao et al. 2021.
    """
    num_episodes = require_path(num_episodes, width=2)
    require_choice("transition_norm", transition_norm, ("total_variation", "frobenius"))
    require_choice("norm", norm, ("coordinates", "pairs"))
    reward, transition = np.zeros(num_episodes - 1), np.zeros(num_episodes - 1)
    flat = environment.features.reshape(-1, environment.mu.shape[2])  # [SA, d]
    size = environment.mu[0].size * (len(flat) / flat.shape[1] if norm == "pairs" else 1)
    chunk = max(1, int(4_000_000 // size))
    num_moved = 0
    for start in range(0, num_episodes - 1, chunk):
        if num_moved * size > max(start / num_episodes, LEAST_SHARE) * MOST_NUMBERS:
            expected = "be fewer, as the drift moves in too many for their variation to be summed"
            raise ArgumentError("num_episodes", expected, num_episodes)
        stop = min(start + chunk, num_episodes - 1)
        moves = np.diff(environment.at(np.arange(start, stop + 1)), axis=0)
        moving = np.flatnonzero(np.any(moves != 0, axis=1))  # most episodes of an abrupt drift stand still
        num_moved += len(moving)
        theta = np.tensordot(moves[moving], environment.theta, axes=1)  # [T, H, d]
        mu = np.tensordot(moves[moving], environment.mu, axes=1)  # [T, H, d, S]
        if norm == "pairs":
            reward[start + moving] = np.abs(theta @ flat.T).max(-1).sum(-1)
            transition[start + moving] = np.abs(flat @ mu).sum(-1).max(-1).sum(-1)
            continue
        per_coordinate = (
            np.abs(mu).sum(-1) if transition_norm == "total_variation" else np.sqrt(np.square(mu).sum(-1))
        )
        reward[start + moving] = np.sqrt(np.square(theta).sum(-1)).sum(-1)
        transition[start + moving] = np.sqrt(np.square(per_coordinate).sum(-1)).sum(-1)
    return Variation(reward, transition)

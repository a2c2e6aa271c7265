"""Exact planning: values of linear MDPs, and gains and diameters of finite MDPs without episodes.

The kernel `P = Φμ` is never built: `Q_h(s, a) = φ(s, a)ᵀ(θ_h + μ_h V_{h+1})`, `O(dS + SAd)` for one step.
"""

import numpy as np

from driftwise.base.arrays import namespace, scan
from driftwise.base.types import Array, Model
from driftwise.base.validation import ArgumentError, require_array, require_number
from driftwise.parts.extended_value_iteration import best_kernel

_TOLERANCE = 1e-12  # relative: an action is better only by more than that, which may be rounding
_POSSIBLE = 1e-15  # what is less probable is taken for rounding, and no way
_MAX_POLICIES = 100  # a handful is usual; rounding can make policies go round where states hardly communicate


def optimal_values(features: Array, model: Model) -> Array:
    """Return `V*` of every step and state, `[H+1, S]`; the last row is zero."""
    return _induction(features, model)


def policy_values(features: Array, model: Model, policy: Array) -> Array:
    """Return `V^π`, `[H+1, S]`, of action probabilities `[H, S, A]` or of integer actions `[H, S]`."""
    policy = np.asarray(policy) if isinstance(policy, (list, tuple)) else policy
    sizes = (len(model.theta), *features.shape[:2])
    if policy.shape not in (sizes, sizes[:2]):
        raise ArgumentError("policy", f"have shape {sizes} or {sizes[:2]}", policy.shape)
    if isinstance(policy, np.ndarray):
        check_policy(policy, sizes[2])
    xp = namespace(policy)
    if policy.ndim == 2:
        policy = xp.astype(policy[..., None] == xp.arange(sizes[2]), features.dtype)
    return _induction(features, model, policy)


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
        got = f"{policy[h, state]} at step {h}, state {state}"
        raise ArgumentError("policy", f"hold {expected}", policy[h, state], got)


def action_values(features: Array, model: Model, values: Array) -> Array:
    """Return `Q_h = r_h + P_h V_{h+1}`, `[H, S, A]`, from values `[H+1, S]`."""
    xp = namespace(model.theta)
    backed = model.theta + xp.sum(model.mu * values[1:, None, :], axis=-1)
    q = backed @ xp.reshape(features, (-1, features.shape[-1])).T
    return xp.reshape(q, (-1, *features.shape[:2]))


def _induction(features: Array, model: Model, policy: Array | None = None) -> Array:
    """Return the values of a policy, `[H+1, S]`, or of the best one."""
    xp = namespace(model.theta)
    flat = xp.reshape(features, (-1, features.shape[-1]))

    def step(value: Array, x: tuple) -> tuple[Array, Array]:
        theta, mu, *chances = x
        q = xp.reshape((theta + mu @ value) @ flat.T, features.shape[:2])
        value = xp.sum(chances[0] * q, axis=-1) if chances else xp.max(q, axis=-1)
        return value, value

    start = xp.zeros(features.shape[0], dtype=model.theta.dtype)
    xs = (model.theta, model.mu) if policy is None else (model.theta, model.mu, policy)
    _, values = scan(step, start, xs, reverse=True)
    return xp.concat([values, start[None]])


def optimal_gains(reward: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return the best mean reward of a step in the long run from each state: `[..., S]`.

    Policy iteration for any finite MDP (Howard 1960; Puterman 1994, section 9.2): of the actions that lead
    to the highest gain, that of the highest bias.
    """
    policy = np.argmax(reward, axis=-1)
    best, identity = np.full(policy.shape, -np.inf), np.eye(kernel.shape[-1])
    for _ in range(_MAX_POLICIES):
        taken = np.take_along_axis(kernel, policy[..., None, None], axis=-2)[..., 0, :]
        earned = np.take_along_axis(reward, policy[..., None], axis=-1)
        limit = (identity + taken) / 2  # the lazy chain has the same limit matrix `P*`, and no period
        for _ in range(64):  # 2^64 steps
            limit = limit @ limit
            limit = limit / limit.sum(axis=-1, keepdims=True)
        earnings = limit @ earned  # the gain `P*r`, and the bias `(I − P + P*)⁻¹(r − P*r)`
        bias = np.linalg.solve(identity - taken + limit, earned - earnings)[..., 0]
        gains = earnings[..., 0]
        best = np.maximum(best, gains)
        reached = _expected(kernel, gains)
        lasting = reached >= reached.max(axis=-1, keepdims=True) - _TOLERANCE
        new = _improved(policy, np.where(lasting, reward + _expected(kernel, bias), -np.inf))
        if np.array_equal(new, policy):
            break
        policy = new
    return best


def is_communicating(kernel: np.ndarray) -> bool:
    """Return whether every state can be reached from every other: of `[S, A, S]`."""
    return find_unreachable(_checked(kernel)) is None


def find_unreachable(kernel: np.ndarray) -> tuple[int, ...] | None:
    """Return two states without a way from the first to the second, if there are any."""
    reach = (kernel >= _POSSIBLE).any(axis=1) | np.eye(len(kernel), dtype=bool)
    for _ in range(len(kernel).bit_length()):
        reach = reach @ reach
    return next(map(tuple, np.argwhere(~reach).tolist()), None)


def diameter(kernel: np.ndarray, *, slack: float = 0.0) -> float:
    """Return `max_{s,s'} min_π E[steps from s to s']` of a kernel `[S, A, S]`; infinite if there is no way.

    With `slack`, of the MDP that is best for the purpose among those within that L1 distance of each row.
    """
    kernel, slack = _checked(kernel), require_number("slack", slack, at_least=0)
    if slack == 0 and not is_communicating(kernel):
        return np.inf
    return max(float(_steps_to(kernel, target, slack).max()) for target in range(len(kernel)))


def _steps_to(kernel: np.ndarray, target: int, slack: float) -> np.ndarray:
    """Return the expected steps to a state by the fastest policy, `[S]`, by iteration from one that arrives.

    Chances to leave a state are summed, not one less the chance to stay, which rounding may make zero.
    """
    others = np.arange(len(kernel)) != target
    ones = np.ones(others.sum())

    def towards(values: np.ndarray) -> np.ndarray:
        return best_kernel(kernel, np.full(kernel.shape[:2], slack), values) if slack else kernel

    def duration(rows: np.ndarray, policy: np.ndarray) -> np.ndarray:
        taken = np.take_along_axis(rows, policy[:, None, None], axis=1)[:, 0]
        away = taken * ~np.eye(len(kernel), dtype=bool)
        steps = np.zeros(len(kernel))
        try:
            solution = np.linalg.solve((np.diag(away.sum(axis=1)) - away)[np.ix_(others, others)], ones)
        except np.linalg.LinAlgError:
            solution = np.inf * ones
        steps[others] = np.where(np.isfinite(solution) & (solution >= 0), solution, np.inf)
        return steps

    possible = (kernel >= _POSSIBLE).any(axis=1)
    moves = np.where(others, len(kernel), 0)  # the least number of possible ones; S if there is no way
    for _ in range(len(kernel)):
        moves = np.minimum(moves, 1 + np.where(possible, moves, len(kernel)).min(axis=1))
    rows = towards(-moves.astype(float))
    nearer = (moves[None, :] < moves[:, None]).astype(float)
    policy = (rows @ nearer[..., None])[..., 0].argmax(axis=-1)  # what leads nearer arrives in the end
    steps = duration(rows, policy)
    for _ in range(_MAX_POLICIES):
        if np.isinf(steps).any():
            break
        rows = towards(-steps)
        policy = _improved(policy, -_expected(rows, steps))
        new = duration(rows, policy)
        if (new >= steps * (1 - _TOLERANCE)).all():
            break
        steps = np.minimum(new, steps)
    return steps


def _checked(kernel: np.ndarray) -> np.ndarray:
    kernel = require_array("kernel", kernel, (None, None, None))
    return require_array("kernel", kernel, (*kernel.shape[:2], len(kernel)))


def _expected(kernel: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (kernel @ values[..., None, :, None])[..., 0]


def _improved(policy: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the best action of each state, or the one it has if that is as good."""
    kept = np.take_along_axis(q, policy[..., None], axis=-1)[..., 0]
    best = q.max(axis=-1)
    return np.where(kept >= best - _TOLERANCE * np.maximum(1, np.abs(best)), policy, q.argmax(axis=-1))

"""The exact optimal gain of finite MDPs, and how far apart their states are."""

from __future__ import annotations

import numpy as np

from driftwise.base.validation import require_array, require_number
from driftwise.parts.extended_value_iteration import best_kernel

TOLERANCE = 1e-12  # relative: an action is better only by more than that, which may be rounding
POSSIBLE = 1e-15  # what is less probable is taken for rounding, and no way
SQUARINGS = 64  # the limit is taken after 2^64 steps
MAX_POLICIES = 100  # a handful is usual; rounding can make policies go round where states hardly communicate


def optimal_gains(reward: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The best mean reward of a step in the long run from each state: `[..., S]`.

    Policy iteration for any finite MDP (Howard 1960; Puterman 1994, section 9.2): of the actions that lead
    to the highest gain, that of the highest bias. If all states communicate, all gains are equal. What is
    returned are the best gains of the policies met.
    """
    policy = np.argmax(reward, axis=-1)
    best = np.full(policy.shape, -np.inf)
    for _ in range(MAX_POLICIES):
        gains, bias = _evaluated(reward, kernel, policy)
        best = np.maximum(best, gains)
        reached = _expected(kernel, gains)
        lasting = reached >= reached.max(axis=-1, keepdims=True) - TOLERANCE
        new = _improved(policy, np.where(lasting, reward + _expected(kernel, bias), -np.inf))
        if np.array_equal(new, policy):
            break
        policy = new
    return best


def is_communicating(kernel: np.ndarray) -> bool:
    """Whether every state can be reached from every other: of `[S, A, S]`."""
    return unreachable(_checked(kernel)) is None


def unreachable(kernel: np.ndarray) -> tuple[int, int] | None:
    """Two states, such that there is no way from the first to the second; None if there are none."""
    reach = (kernel >= POSSIBLE).any(axis=1) | np.eye(len(kernel), dtype=bool)
    for _ in range(len(kernel).bit_length()):
        reach = reach @ reach
    missing = np.argwhere(~reach)
    return (int(missing[0, 0]), int(missing[0, 1])) if len(missing) else None


def diameter(kernel: np.ndarray, *, slack: float = 0.0) -> float:
    """`max_{s,s'} min_π E[steps from s to s']` of a kernel `[S, A, S]`; infinite if there is no way.

    With `slack`, of the MDP that is best for the purpose among those within that L1 distance of each row.
    """
    kernel, slack = _checked(kernel), require_number("slack", slack, at_least=0)
    if slack == 0 and not is_communicating(kernel):
        return np.inf
    return max(float(_steps_to(kernel, target, slack).max()) for target in range(len(kernel)))


def _steps_to(kernel: np.ndarray, target: int, slack: float) -> np.ndarray:
    """Expected steps to a state by the fastest policy, `[S]`: policy iteration from one that arrives.

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
            found = np.linalg.solve((np.diag(away.sum(axis=1)) - away)[np.ix_(others, others)], ones)
        except np.linalg.LinAlgError:
            found = np.inf * ones
        steps[others] = np.where(np.isfinite(found) & (found >= 0), found, np.inf)
        return steps

    moves = _moves_to(kernel, target)
    rows = towards(-moves.astype(float))
    nearer = (moves[None, :] < moves[:, None]).astype(float)
    policy = (rows @ nearer[..., None])[..., 0].argmax(axis=-1)  # what leads nearer arrives in the end
    steps = duration(rows, policy)
    for _ in range(MAX_POLICIES):
        if np.isinf(steps).any():
            break
        rows = towards(-steps)
        policy = _improved(policy, -_expected(rows, steps))
        new = duration(rows, policy)
        if (new >= steps * (1 - TOLERANCE)).all():
            break
        steps = np.minimum(new, steps)
    return steps


def _checked(kernel: np.ndarray) -> np.ndarray:
    kernel = require_array("kernel", kernel, (None, None, None))
    return require_array("kernel", kernel, (*kernel.shape[:2], len(kernel)))


def _moves_to(kernel: np.ndarray, target: int) -> np.ndarray:
    """The least number of possible moves to a state, `[S]`; S for those that have no way."""
    possible = (kernel >= POSSIBLE).any(axis=1)
    moves = np.where(np.arange(len(kernel)) == target, 0, len(kernel))
    for _ in range(len(kernel)):
        moves = np.minimum(moves, 1 + np.where(possible, moves, len(kernel)).min(axis=1))
    return moves


def _evaluated(reward: np.ndarray, kernel: np.ndarray, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain `P*r` and bias `(I − P + P*)⁻¹(r − P*r)` of a policy: `[..., S]`, with the limit matrix `P*`."""
    taken = np.take_along_axis(kernel, policy[..., None, None], axis=-2)[..., 0, :]
    earned = np.take_along_axis(reward, policy[..., None], axis=-1)
    identity = np.eye(kernel.shape[-1])
    limit = (identity + taken) / 2  # the lazy chain has the same limit, and no period
    for _ in range(SQUARINGS):
        limit = limit @ limit
        limit = limit / limit.sum(axis=-1, keepdims=True)
    gains = limit @ earned
    bias = np.linalg.solve(identity - taken + limit, earned - gains)
    return gains[..., 0], bias[..., 0]


def _expected(kernel: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (kernel @ values[..., None, :, None])[..., 0]


def _improved(policy: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The best action of each state, or the one it has if that is as good."""
    kept = np.take_along_axis(q, policy[..., None], axis=-1)[..., 0]
    best = q.max(axis=-1)
    return np.where(kept >= best - TOLERANCE * np.maximum(1, np.abs(best)), policy, q.argmax(axis=-1))

"""UCRL2 and its kin by plain loops over the whole history, and gains as linear programs."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

Step = tuple[int, int, float, int]  # state, action, reward, next state
Radii = Callable[[int, int, int], tuple[float, float]]  # of N samples, t and the phase's first step


class Decision(NamedTuple):
    """What a step acts on."""

    q: np.ndarray
    policy: list[int]
    first: int  # the step in which its epoch began


def ucrl2_radii(num_states: int, num_actions: int, delta: float, scale: float) -> Radii:
    """Jaksch, Ortner & Auer 2010, equations (3) and (4)."""

    def radii(n: int, t: int, start: int) -> tuple[float, float]:
        reward = math.sqrt(7 * math.log(2 * num_states * num_actions * t / delta) / (2 * max(1, n)))
        transition = math.sqrt(14 * num_states * math.log(2 * num_actions * t / delta) / max(1, n))
        return scale * reward, scale * transition

    return radii


def cheung_radii(
    num_states: int, num_actions: int, delta: float, scale: float, *, steps: int, widening: float
) -> Radii:
    """Cheung, Simchi-Levi & Zhu 2020; the same at all times."""

    def radii(n: int, t: int, start: int) -> tuple[float, float]:
        logarithm = math.log(num_states * num_actions * steps / delta)
        reward = 2 * math.sqrt(2 * logarithm / max(1, n))
        transition = 2 * math.sqrt(2 * num_states * logarithm / max(1, n))
        return scale * reward, scale * transition + widening

    return radii


def ortner_radii(
    num_states: int,
    num_actions: int,
    delta: float,
    scale: float,
    *,
    reward: Mapping[int, float],
    transition: Mapping[int, float],
) -> Radii:
    """Ortner, Gajane & Auer 2019: t counts from the last restart, in whose step a phase has its widening."""

    def radii(n: int, t: int, start: int) -> tuple[float, float]:
        of_phase = delta / (2 * start**2)
        logarithm = math.log(8 * num_states * num_actions * t**3 / of_phase)
        root = math.sqrt(8 * logarithm / max(1, n)), math.sqrt(8 * num_states * logarithm / max(1, n))
        return scale * root[0] + reward[start], scale * root[1] + transition[start]

    return radii


def decisions(
    history: Sequence[Step],
    num_states: int,
    num_actions: int,
    radii: Radii,
    *,
    window: int | None = None,
    restarts: Sequence[int] = (),
    period: int | None = None,
) -> list[Decision]:
    """What each step of a history acts on."""
    decided: list[Decision] = []
    known: dict[tuple[int, int], int] = {}
    for t, step in enumerate(history):
        restarted = max((at for at in restarts if at <= t), default=0)
        over = t == restarted or (period is not None and t % period == 0)
        if not over:
            last = decided[-1]
            pair = step[0], last.policy[step[0]]
            in_epoch = sum((s, a) == pair for s, a, _, _ in history[last.first : t])
            over = in_epoch >= max(1, known[pair])
        if not over:
            decided.append(decided[-1])
            continue
        oldest = restarted if window is None else max(restarted, t - window)
        seen, age = history[oldest:t], t - restarted + 1
        known = {
            pair: sum((s, a) == pair for s, a, _, _ in seen)
            for pair in itertools.product(range(num_states), range(num_actions))
        }
        reward = np.zeros((num_states, num_actions))
        kernel, radius = np.zeros((num_states, num_actions, num_states)), np.zeros_like(reward)
        for (state, action), n in known.items():
            rewards = [r for s, a, r, _ in seen if (s, a) == (state, action)]
            arrivals = [n for s, a, _, n in seen if (s, a) == (state, action)]
            of_reward, radius[state, action] = radii(n, age, restarted + 1) if n else (1, 2)
            reward[state, action] = min(1, sum(rewards) / max(1, n) + of_reward)
            kernel[state, action] = [
                arrivals.count(to) / n if n else 1 / num_states for to in range(num_states)
            ]
        q = value_iteration(reward, kernel, radius, 1 / math.sqrt(age))
        policy = [int(np.flatnonzero(row >= row.max() - 1e-10 * max(1, abs(row.max())))[0]) for row in q]
        decided.append(Decision(q, policy, t))
    return decided


def value_iteration(
    reward: np.ndarray, kernel: np.ndarray, radius: np.ndarray, tolerance: float
) -> np.ndarray:
    """Jaksch et al. 2010, section 3.1.2: the last Q, of values whose least is 0."""
    values = np.zeros(len(reward))
    while True:
        q = np.zeros_like(reward)
        for s, a in np.ndindex(*reward.shape):
            q[s, a] = reward[s, a] + inner_maximum(kernel[s, a], float(radius[s, a]), values) @ values
        change = q.max(axis=1) - values
        values = q.max(axis=1) - q.max(axis=1).min()
        if change.max() - change.min() < tolerance:
            return q


def inner_maximum(row: np.ndarray, radius: float, values: np.ndarray) -> np.ndarray:
    """Jaksch et al. 2010, Figure 2."""
    order = sorted(range(len(row)), key=lambda state: -values[state])
    made = row.copy()
    made[order[0]] = min(1, row[order[0]] + radius / 2)
    for state in reversed(order):
        if made.sum() > 1:
            made[state] = max(0, 1 - (made.sum() - made[state]))
    return made


def best_row(row: np.ndarray, radius: float, values: np.ndarray) -> float:
    """`max p·v` over distributions within an L1 distance, as a linear program in p and `z ≥ |p − row|`."""
    size = len(row)
    identity = np.eye(size)
    found = linprog(
        np.concatenate([-values, np.zeros(size)]),
        A_ub=np.vstack(
            [np.hstack([identity, -identity]), np.hstack([-identity, -identity]), [0] * size + [1] * size]
        ),
        b_ub=np.concatenate([row, -row, [radius]]),
        A_eq=[[1] * size + [0] * size],
        b_eq=[1],
    )
    assert found.success
    return -found.fun


def best_gain(reward: np.ndarray, kernel: np.ndarray, radius: np.ndarray) -> float:
    """The best gain over policies and kernels within L1 balls, as a linear program.

    Unknowns are the shares of time x(s,a), the flows y(s,a,s') and `z ≥ |y − x p̂|` with `Σ_s' z ≤ radius x`.
    """
    num_states, num_actions = reward.shape
    pairs, flows = reward.size, kernel.size
    x = np.eye(pairs, pairs + 2 * flows)
    y = np.eye(flows, pairs + 2 * flows, pairs)
    z = np.eye(flows, pairs + 2 * flows, pairs + flows)
    around = x.repeat(num_states, axis=0) * kernel.reshape(-1, 1)
    total = np.kron(np.eye(pairs), np.ones(num_states))  # over next states
    arriving = np.tile(np.eye(num_states), pairs)
    leaving = np.kron(np.eye(num_states), np.ones(num_actions))
    found = linprog(
        -reward.reshape(-1) @ x,
        A_ub=np.vstack([y - around - z, around - y - z, total @ z - radius.reshape(-1, 1) * x]),
        b_ub=np.zeros(2 * flows + pairs),
        A_eq=np.vstack([total @ y - x, arriving @ y - leaving @ x, x.sum(axis=0, keepdims=True)]),
        b_eq=np.concatenate([np.zeros(pairs + num_states), [1]]),
    )
    assert found.success
    return -found.fun


def gain_of_every_policy(reward: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Gains `[policies, S]` by the long-run mean of a very long horizon of the lazy chain."""
    num_states, num_actions = reward.shape
    gains = []
    for policy in itertools.product(range(num_actions), repeat=num_states):
        chain = (np.eye(num_states) + np.array([kernel[s, a] for s, a in enumerate(policy)])) / 2
        limit = np.linalg.matrix_power(chain, 2**20)
        gains.append(limit @ [reward[s, a] for s, a in enumerate(policy)])
    return np.array(gains)

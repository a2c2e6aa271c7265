"""Policies from indices: action probabilities, and the plan of a bandit."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.types import Array, FeatureTable, Plan

Policy = Callable[[Array], Array]  # an index to probabilities


def greedy_policy(q: Array) -> Array:
    """Uniform over the maximisers of the last axis, up to rounding, so that all engines agree."""
    xp = namespace(q)
    best = q.max(axis=-1, keepdims=True)
    tied = (q >= best - tie_tolerance(q.dtype) * xp.maximum(abs(best), 1)).astype(q.dtype)
    return tied / tied.sum(axis=-1, keepdims=True) + 0 * best  # a Q that is not finite gives no policy


@functools.cache
def tie_tolerance(dtype: Any) -> float:
    """Difference up to which values count as tied: relative, absolute below one."""
    return float(np.finfo(dtype).eps) ** (2 / 3)


def uniform_policy(q: Array) -> Array:
    """Uniform over all available actions."""
    xp = namespace(q)
    present = xp.astype(q > -xp.inf, q.dtype)
    return present / xp.sum(present, axis=-1, keepdims=True)


def bandit_plan(
    theta: Array, q: Array, bonus: Array, policy: Policy, features: FeatureTable, index: Array | None = None
) -> Plan:
    """Return the plan of a bandit from rows `[1, N]`; the policy acts on `index`, by default q."""
    xp, index = namespace(q), q if index is None else index
    if features.present is not None:
        index, q = (xp.where(features.present, values, -xp.inf) for values in (index, q))
    return Plan(theta, bonus[:, None], q[:, None], policy(index)[:, None], xp.max(q, axis=-1)[:, None])


def winning_probabilities(means: np.ndarray, slopes: np.ndarray, *, folded: bool) -> np.ndarray:
    """Probability that `m_a + Z s_a` is the largest, for `Z ~ N(0, 1)` or its absolute value, `[N]`."""
    tie = tie_tolerance(np.dtype(np.float64))
    rise = slopes[:, None] - slopes  # [a, b]
    lead = means[:, None] - means
    parallel = np.abs(rise) <= tie * max(np.abs(slopes).max(), 1.0)
    level = np.abs(lead) <= tie * max(np.abs(means).max(), 1.0)
    # Line a is the highest between its last crossing with a flatter line and its first with a steeper one.
    crossing = -lead / np.where(parallel, 1.0, rise)
    lower = np.where(~parallel & (rise > 0), crossing, -np.inf).max(axis=1)
    upper = np.where(~parallel & (rise < 0), crossing, np.inf).min(axis=1)
    beaten = (parallel & ~level & (lead < 0)).any(axis=1)
    erf = np.vectorize(math.erf)(np.stack([lower, upper]) / math.sqrt(2))
    mass = np.diff(np.maximum(erf, 0.0) if folded else (1 + erf) / 2, axis=0)[0]
    chances = np.where(beaten, 0.0, np.maximum(mass, 0.0)) / (parallel & level).sum(axis=1)
    return chances / chances.sum()

"""Checks, starting values and the greedy plan that agents which count have in common."""

from __future__ import annotations

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.types import Array, FeatureTable, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.parts.exploration import greedy_policy


def require_all_actions(features: FeatureTable) -> None:
    """Refuse a bandit whose arms come and go: who counts knows an action by its number."""
    if features.present is not None:
        raise ArgumentError(
            "features", "always offer every action to an agent that counts", features, "some missing"
        )


def highest(spec: Spec, like: Array, *, tight: bool) -> Array:
    """H, or the `H−h+1` that can be had from each step on: `[H, S, A]`."""
    xp, horizon = namespace(like), spec.horizon
    most = np.arange(horizon, 0, -1) if tight else np.full(horizon, horizon)
    empty = xp.zeros((horizon, spec.num_states, spec.num_actions), dtype=like.dtype)
    return empty + xp.asarray(most, dtype=like.dtype)[:, None, None]


def greedy_plan(q: Array, bonus: Array, ceilings: Array) -> Plan:
    """The policy that is greedy in Q, with values up to the ceilings."""
    xp = namespace(q)
    values = xp.max(xp.minimum(q, ceilings), axis=-1)
    return Plan(xp.zeros((q.shape[0], 0), dtype=q.dtype), bonus, q, greedy_policy(q), values)

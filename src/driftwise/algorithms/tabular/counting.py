"""Checks, starting values, greedy plans and running variances that agents with counts share."""

from typing import NamedTuple

from driftwise.algorithms.any_forgetting import Clip
from driftwise.base import ArgumentError, Array, FeatureTable, Plan, Spec
from driftwise.base.arrays import namespace
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.regression import step_ceilings


def require_all_actions(features: FeatureTable) -> None:
    """Refuse a bandit whose arms come and go: who counts knows an action by its number."""
    if features.present is not None:
        expected = "always offer every action to an agent that counts"
        raise ArgumentError("features", expected, features, "some missing")


def value_ceilings(spec: Spec, like: Array, clip: Clip) -> Array:
    """H, or the `H−h+1` that can be had from each step on: `[H, S, A]`."""
    xp, most = namespace(like), step_ceilings(spec.horizon, tight=clip == "tight")
    shape = spec.horizon, spec.num_states, spec.num_actions
    return xp.zeros(shape, dtype=like.dtype) + xp.asarray(most, dtype=like.dtype)[:, None, None]


def greedy_plan(q: Array, bonus: Array, ceilings: Array | float) -> Plan:
    """The policy that is greedy in Q, with values up to the ceilings."""
    xp = namespace(q)
    values = xp.max(xp.minimum(q, ceilings), axis=-1)
    return Plan(xp.zeros((q.shape[0], 0), dtype=q.dtype), bonus, q, greedy_policy(q), values)


class RunningVariance(NamedTuple):
    """Mean and squared deviations of numbers, by Welford's recursion, which never falls below zero."""

    mean: Array  # [H, S, A]
    squares: Array  # [H, S, A] Σ(x − mean)²

    def add(self, value: Array, here: Array, count: Array) -> "RunningVariance":
        """With `value` added where `here` is 1; `count` has that visit already."""
        share = here / namespace(here).where(here > 0, count, 1.0)
        off = value - self.mean
        return RunningVariance(self.mean + share * off, self.squares + here * (1 - share) * off**2)

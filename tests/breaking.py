"""Ways to break an agent in one place, as functions of pytest's monkeypatch."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base import Moments, Plan
from driftwise.base.part import part
from driftwise.parts import (
    ExponentialWeights,
    FixedShare,
    LearntNoise,
    LeastSquares,
    PeriodicRestart,
    Ucb,
    exploration,
)

Patch = pytest.MonkeyPatch
Break = Callable[[Patch], None]
_numbers = itertools.count()


def broken_part(base: type, **methods: Any) -> Any:
    """A part in which some methods are others, under a name of its own."""
    return part(type(f"{base.__name__}{next(_numbers)}", (base,), methods))


def around(owner: Any, name: str, change: Callable[[Callable], Callable]) -> Break:
    """Replace a function by one that is made from it."""
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def scaled(owner: Any, name: str, factor: float) -> Break:
    return around(owner, name, lambda right: lambda *args, **named: factor * right(*args, **named))


def planned(change: Callable[[Plan], Plan]) -> Break:
    return around(LeastSquares, "plan", lambda right: lambda *args: change(right(*args)))


def learnt(change: Callable[[Moments], Moments]) -> Break:
    return around(LeastSquares, "update", lambda right: lambda *args: change(right(*args)))


def seen(**change: Callable[[np.ndarray], np.ndarray]) -> Break:
    """Learn from another episode than the one that was played."""

    def other(right: Callable) -> Callable:
        def update(self: Any, state: Any, features: Any, plan: Any, episode: Any) -> Any:
            altered = {name: by(getattr(episode, name)) for name, by in change.items()}
            return right(self, state, features, plan, episode._replace(**altered))

        return update

    return around(LeastSquares, "update", other)


def forgetting(kind: type, other: Callable[[Any], Any]) -> Break:
    """Another forgetting than the one that is said, in `init` and `update`."""

    def both(patch: Patch) -> None:
        for name in ("init", "update"):
            right = getattr(kind, name)
            patch.setattr(kind, name, lambda self, *args, right=right: right(other(self), *args))

    return both


def decay(change: Callable[[Moments, Moments, float], dict[str, Any]]) -> Break:
    """Replace some sums after a step of exponential weights: from those before, those after, and the rate."""

    def other(right: Callable) -> Callable:
        def update(self: ExponentialWeights, before: Moments, sample: Any) -> Moments:
            after = right(self, before, sample)
            return after._replace(**change(before, after, float(self.rate)))

        return update

    return around(ExponentialWeights, "update", other)


def too_slow(before: Moments, after: Moments, rate: float) -> dict[str, Any]:
    """`Λ̃` with η in the place of η²."""
    assert before.gram_sq is not None
    assert after.gram_sq is not None
    return dict(gram_sq=after.gram_sq + rate * (1 - rate) * before.gram_sq)


def kept(before: Moments, rate: float) -> np.ndarray:
    """`ηΛ + (1−η)λI`, what is left of Λ before the newest sample is added."""
    return rate * before.gram + (1 - rate) * before.ridge * np.eye(before.gram.shape[-1])


def restart(shift: int) -> Break:
    def other(right: Callable) -> Callable:
        def update(self: Any, moments: Moments, sample: Any) -> Moments:
            shifted = right(self, moments._replace(tick=moments.tick + shift), sample)
            return shifted._replace(tick=moments.tick + 1)

        return update

    return around(PeriodicRestart, "update", other)


def stale(right: Callable) -> Callable:
    """Plan from the sums before the last episode."""
    states: list[Moments] = []

    def plan(self: LeastSquares, state: Moments, *args: Any) -> Plan:
        states.append(state)
        return right(self, states[max(0, len(states) - 2)], *args)

    return plan


def forgetful_of_successors(right: Callable) -> Callable:
    def plan(self: LeastSquares, state: Moments, *args: Any) -> Plan:
        alone = np.concatenate([state.cross[..., :1], 0 * state.cross[..., 1:]], axis=-1)
        return right(self, state._replace(cross=alone), *args)

    return plan


def without_ridge(right: Callable) -> Callable:
    return lambda self, moments: right(self, moments) - np.sqrt(moments.ridge) * self.norm_bound


def late(right: Callable) -> Callable:
    return lambda self, moments: right(self, moments._replace(epoch=np.maximum(moments.epoch - 1, 0)))


def without_dim(right: Callable) -> Callable:
    """A bias bound with one in the place of d."""
    return lambda weights, moves, dim, ridge, bound: right(weights, moves, min(dim, 1), ridge, bound)


def of_one(right: Callable) -> Callable:
    """Information of one dimension, however many there are."""
    return lambda samples, dim, ridge: right(samples, 1, ridge)


def with_inverse(right: Callable) -> Callable:
    def perturb(self: Ucb, inverse: Any, moments: Any, features: Any, key: Any) -> Any:
        return self.radius * exploration.width(inverse, moments, features, "single")

    return perturb


def without_root(right: Callable) -> Callable:
    return lambda self, inverse, moments, features, key: (
        right(self, inverse, moments, features, key) ** 2 / self.radius
    )


def mixed(change: Callable[[Plan], Plan]) -> Break:
    """Change the plan of a mixture."""
    return around(MixtureOfMemories, "plan", lambda right: lambda *args: change(right(*args)))


def lightest(right: Callable) -> Callable:
    return lambda self, log_weights, key: right(self, -log_weights, key)


def too_late(right: Callable) -> Callable:
    def forecast(self: LeastSquares, state: Any, features: Any, plan: Any, episode: Any) -> Any:
        learnt = replace(self, noise=None).update(copy.deepcopy(state), features, plan, episode)
        return right(self, learnt, features, plan, episode)

    return forecast


def weighed(change: Callable[[np.ndarray], np.ndarray]) -> Break:
    """Weigh by other scores than those that memories have."""
    return around(
        FixedShare,
        "update",
        lambda right: lambda self, weights, scores, tick: right(self, weights, change(scores), tick),
    )


def shared(**other: float) -> Break:
    """Another prior than the one that is said."""
    return around(FixedShare, "prior", lambda right: lambda self, like: right(replace(self, **other), like))


def doubted(factor: float) -> Callable[[Callable], Callable]:
    """Change the variance of forecasts, in scores or in what is learnt of them."""

    def other(right: Callable) -> Callable:
        return lambda self, *args: right(
            self, *args[:-1], args[-1]._replace(variance=factor * args[-1].variance)
        )

    return other


def heard(factor: float) -> Break:
    """Learn the noise of other squares."""
    return around(
        LearntNoise,
        "update",
        lambda right: lambda self, forgetting, sums, squares: right(self, forgetting, sums, factor * squares),
    )


def half_price(right: Callable) -> Callable:
    def best(*args: Any) -> tuple[np.ndarray, np.ndarray]:
        scores, price = right(*args)
        return scores, price / 2

    return best


def second_best(right: Callable) -> Callable:
    return lambda self, plan, h, state, uniform: np.argsort(plan.q[h, state])[-2]


def anything(right: Callable) -> Callable:
    return lambda self, plan, h, state, uniform: np.asarray(uniform * plan.q.shape[-1]).astype(int)


def first_of_ties(plan: Plan) -> Plan:
    chosen = np.argmax(plan.q, axis=-1)
    return plan._replace(policy=np.eye(plan.q.shape[-1])[chosen])


def nothing(patch: Patch) -> None:
    """The mistake is in what the agent was told."""

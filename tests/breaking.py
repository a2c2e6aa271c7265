"""Ways to break an agent in one place, as functions of pytest's monkeypatch."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base import Moments, Plan
from driftwise.base.part import part
from driftwise.parts import ExponentialWeights, FixedShare, LearntNoise, LeastSquares, PeriodicRestart
from driftwise.parts.exploration import width

Patch = pytest.MonkeyPatch
Break = Callable[[Patch], None]
_numbers = itertools.count()


def broken_part(base: type, **methods: Any) -> Any:
    """A part in which some methods are others, under a name of its own."""
    return part(type(f"{base.__name__}{next(_numbers)}", (base,), methods))


def around(owner: Any, name: str, change: Callable[[Callable], Callable]) -> Break:
    """Replace a function by one that is made from it."""
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def instead(owner: Any, name: str, other: Callable) -> Break:
    """Replace a function by another."""
    return around(owner, name, lambda right: other)


def given(owner: Any, name: str, change: Callable[..., tuple]) -> Break:
    """Replace what a function is given: `change` returns its arguments, `self` among them."""
    return around(owner, name, lambda right: lambda *args: right(*change(*args)))


def result(owner: Any, name: str, change: Callable[[Any], Any]) -> Break:
    """Replace what a function returns."""
    return around(owner, name, lambda right: lambda *args, **named: change(right(*args, **named)))


def scaled(owner: Any, name: str, factor: float) -> Break:
    return result(owner, name, lambda right: factor * right)


def fields(owner: Any, name: str, **change: Callable[[Any], Any]) -> Break:
    """Replace fields of a named tuple that a function returns, each by a function of it."""

    def altered(right: Any) -> Any:
        return right._replace(**{field: by(right) for field, by in change.items()})

    return result(owner, name, altered)


planned = partial(fields, LeastSquares, "plan")
learnt = partial(fields, LeastSquares, "update")
mixed = partial(fields, MixtureOfMemories, "plan")


def seen(**change: Callable[[np.ndarray], np.ndarray]) -> Break:
    """Learn from another episode than the one that was played."""

    def other(self: Any, state: Any, features: Any, plan: Any, episode: Any) -> tuple:
        altered = {name: by(getattr(episode, name)) for name, by in change.items()}
        return self, state, features, plan, episode._replace(**altered)

    return given(LeastSquares, "update", other)


def rolled(values: np.ndarray) -> np.ndarray:
    return np.roll(values, 1)


def forgetting(kind: type, other: Callable[[Any], Any]) -> Break:
    """Another forgetting than the one that is said, in `init` and `update`."""

    def both(patch: Patch) -> None:
        for name in ("init", "update"):
            given(kind, name, lambda self, *args: (other(self), *args))(patch)

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


def bare_ridge(before: Moments, after: Moments, rate: float) -> dict[str, Any]:
    """The ridge decays with the samples."""
    return dict(gram=after.gram - kept(before, rate) + rate * before.gram)


def newest_too(before: Moments, after: Moments, rate: float) -> dict[str, Any]:
    """The newest sample decays at once."""
    return dict(gram=after.gram - (1 - rate) * (after.gram - kept(before, rate)))


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


def forgetful_of_successors(self: LeastSquares, state: Moments, *args: Any) -> tuple:
    alone = np.concatenate([state.cross[..., :1], 0 * state.cross[..., 1:]], axis=-1)
    return self, state._replace(cross=alone), *args


def without_ridge(right: Callable) -> Callable:
    return lambda self, moments: right(self, moments) - np.sqrt(moments.ridge) * self.norm_bound


def late(self: Any, moments: Moments) -> tuple:
    return self, moments._replace(epoch=np.maximum(moments.epoch - 1, 0))


def with_inverse(self: Any, inverse: Any, moments: Any, features: Any, key: Any) -> Any:
    return self.radius * width(inverse, moments, features, "single")


def without_root(right: Callable) -> Callable:
    return lambda self, *args: right(self, *args) ** 2 / self.radius


def too_late(right: Callable) -> Callable:
    def forecast(self: LeastSquares, state: Any, features: Any, plan: Any, episode: Any) -> Any:
        learnt = replace(self, noise=None).update(copy.deepcopy(state), features, plan, episode)
        return right(self, learnt, features, plan, episode)

    return forecast


def weighed(change: Callable[[np.ndarray], np.ndarray]) -> Break:
    """Weigh by other scores than those that memories have."""
    return given(FixedShare, "update", lambda *args: (*args[:2], change(args[2]), args[3]))


def forecast(**change: Callable[[Any], Any]) -> Break:
    """Score another forecast than the one that was made."""

    def other(self: Any, sums: Any, made: Any) -> tuple:
        return self, sums, made._replace(**{name: by(made) for name, by in change.items()})

    return given(LearntNoise, "relative_score", other)


def heard(factor: float) -> Break:
    """Learn the noise of other squares."""
    return given(LearntNoise, "update", lambda *args: (*args[:-1], factor * args[-1]))


def second_best(self: Any, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
    return np.argsort(plan.q[h, state])[-2]


def anything(self: Any, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
    return np.asarray(uniform * plan.q.shape[-1]).astype(int)


def first_of_ties(plan: Plan) -> np.ndarray:
    return np.eye(plan.q.shape[-1])[np.argmax(plan.q, axis=-1)]


def nothing(patch: Patch) -> None:
    """The mistake is in what the agent was told."""

"""Exploration: what is added to the estimate φᵀw, and how an index becomes a policy."""

from __future__ import annotations

from typing import Literal

from driftwise.arrays import namespace
from driftwise.parts import choice, number, part
from driftwise.regression import quadratic
from driftwise.types import Array, FeatureTable, Key, Moments, Numeric


@part
class Ucb:
    """Optimism: a radius β times the width of the confidence ellipsoid in direction φ.

    `norm="sandwich"` uses `√(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)`, the estimator's standard deviation but for the ridge in Λ̃;
    `norm="single"` uses `√(φᵀ Λ⁻¹ φ)`, never smaller, and needs one matrix less.
    """

    radius: Numeric = number(at_least=0)
    norm: Literal["sandwich", "single"] = choice("sandwich", "single", default="sandwich")

    @property
    def uses_gram_sq(self) -> bool:
        return self.norm == "sandwich"

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        xp = namespace(inverse)
        matrix = inverse
        if self.norm == "sandwich" and moments.gram_sq is not None:  # else Λ̃ = Λ, and Λ⁻¹ΛΛ⁻¹ = Λ⁻¹
            matrix = inverse @ moments.gram_sq @ inverse
        squared = quadratic(features, matrix)
        return self.radius * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))

    def policy(self, q: Array) -> Array:
        return greedy_policy(q)


@part
class Greedy:
    """No exploration."""

    uses_gram_sq = False

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return _nothing(inverse, features)

    def policy(self, q: Array) -> Array:
        return greedy_policy(q)


@part
class EpsilonGreedy:
    """With probability ε an action drawn uniformly, else a greedy one."""

    epsilon: Numeric = number(at_least=0, at_most=1)
    uses_gram_sq = False

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return _nothing(inverse, features)

    def policy(self, q: Array) -> Array:
        return (1 - self.epsilon) * greedy_policy(q) + self.epsilon / q.shape[-1]


@part
class Uniform:
    """Every action with the same probability, whatever was learnt."""

    uses_gram_sq = False

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return _nothing(inverse, features)

    def policy(self, q: Array) -> Array:
        return namespace(q).full_like(q, 1 / q.shape[-1])


def greedy_policy(q: Array) -> Array:
    """Uniform over the maximisers of the last axis.

    Values within `eps^(2/3)` of the maximum (relative, and absolute below one) count as tied: a tie in
    the mathematics stays one whatever the rounding, so engines and batch sizes agree on the policy.
    """
    xp = namespace(q)
    best = xp.max(q, axis=-1, keepdims=True)
    tolerance = float(xp.finfo(q.dtype).eps) ** (2 / 3)
    tied = xp.astype(q >= best - tolerance * xp.maximum(xp.abs(best), xp.ones_like(best)), q.dtype)
    return tied / xp.sum(tied, axis=-1, keepdims=True) + 0 * best  # a Q that is not finite gives no policy


def _nothing(inverse: Array, features: FeatureTable) -> Array:
    return namespace(inverse).zeros((inverse.shape[0], features.values.shape[0]), dtype=inverse.dtype)

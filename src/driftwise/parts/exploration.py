"""Exploration: a perturbation of the estimate φᵀw, and the policy that acts on the sum."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from driftwise.base.arrays import after, namespace, sandwich, spd_root
from driftwise.base.part import choice, number, part
from driftwise.base.random import normal
from driftwise.base.types import Array, FeatureTable, Key, Moments, Numeric, Plan, Radius
from driftwise.base.validation import ArgumentError
from driftwise.parts.envelope import winning_chances
from driftwise.parts.regression import linear, matvec, quadratic


class Exploration(ABC):
    """The step from the estimate φᵀw to an index, and from the index to a policy."""

    uses_gram_sq: bool = False  # whether `perturb` looks at `gram_sq`, so that it has to be kept
    covers_corruption: bool = False  # whether it covers corruption in the norm of Λ⁻¹, besides `gram_sq`
    optimistic: bool = True  # whether `perturb` or `doubt` raises what is little known

    @abstractmethod
    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        """The perturbation of φᵀw for every step and state-action pair: `[H, N]`."""

    def doubt(self, inverse: Array, moments: Moments, features: FeatureTable) -> Array | None:
        """The share of φᵀw that is replaced by the most that can be had from a step on: `[H, N]` in [0, 1].

        None trusts every estimate.
        """
        return None

    def policy(self, q: Array) -> Array:
        """Action probabilities from the index, over the last axis; −∞ marks actions that are not there."""
        return greedy_policy(q)

    def chances(self, q: Array, bonus: Array, key: Key) -> Array:
        """Action probabilities before `perturb` draws with the key, which gave this index and bonus: `[A]`.

        Where no formula sums over the draws they are those given the draw. NumPy alone.
        """
        return self.policy(q)


@part
class Ucb(Exploration):
    """Optimism: a radius β times the width of the confidence ellipsoid in direction φ.

    `norm="sandwich"` uses `√(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)`, the estimator's standard deviation but for the ridge in Λ̃;
    `norm="single"` uses `√(φᵀ Λ⁻¹ φ)`, never smaller, and needs one matrix less.
    """

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    norm: Literal["sandwich", "single"] = choice("sandwich", "single", default="sandwich")

    @property
    def uses_gram_sq(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.norm == "sandwich"

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return radius_at(self.radius, moments) * width(inverse, moments, features, self.norm)


@part
class CautiousUcb(Exploration):
    """Optimism where rewards may be corrupted: `β√(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ) + w√(φᵀ Λ⁻¹ φ)`.

    The radius β is for noise. What corruption did to the estimate is bounded in the norm of `Λ⁻¹` alone, by
    the widening w: see `driftwise.parts.caution.Caution`.
    """

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    widening: Numeric = number(at_least=0)

    uses_gram_sq = covers_corruption = True

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        noise, corruption = (width(inverse, moments, features, norm) for norm in ("sandwich", "single"))
        return radius_at(self.radius, moments) * noise + radius_at(self.widening, moments) * corruption


@part
class RandomisedUcb(Exploration):
    """A radius that is scaled by chance: `Z β √(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)` with one Z for all actions and states.

    `Z = |N(0, 1)|` (`sign="folded"`: always optimistic) or `Z = N(0, 1)` (`sign="signed"`).
    """

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    sign: Literal["folded", "signed"] = choice("folded", "signed", default="folded")
    norm: Literal["sandwich", "single"] = choice("sandwich", "single", default="sandwich")

    @property
    def uses_gram_sq(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.norm == "sandwich"

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        widths = radius_at(self.radius, moments) * width(inverse, moments, features, self.norm)
        return self._draw(key, inverse) * widths

    def chances(self, q: Array, bonus: Array, key: Key) -> Array:
        draw = self._draw(key, q)
        return winning_chances(q - bonus, bonus / draw, folded=self.sign == "folded")

    def _draw(self, key: Key, like: Array) -> Array:
        draw = normal(key, 1, like.dtype)[0]
        return namespace(like).abs(draw) if self.sign == "folded" else draw


@part
class Thompson(Exploration):
    """A parameter drawn around the estimate: `w + a Λ⁻¹ Λ̃^(1/2) z` with `z ~ N(0, I)`, one for each step.

    The root is Cholesky's, `Λ̃ = LLᵀ`: the draw has the covariance `a² Λ⁻¹ Λ̃ Λ⁻¹`.
    """

    scale: Numeric | Radius = number(at_least=0, or_part=Radius)

    uses_gram_sq = True

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return drawn(self.scale, inverse, moments, features, key)


@part
class TruncatedThompson(Exploration):
    """Thompson sampling that is optimistic wherever the draw cannot be trusted.

    Where `√(φᵀΛ⁻¹φ)` is at most `lower` the drawn value counts, where it is at least `upper` the most that
    can be had; in between it goes linearly from one to the other.
    """

    scale: Numeric | Radius = number(at_least=0, or_part=Radius)
    lower: Numeric = number(at_least=0)
    upper: Numeric = number(at_least=0)

    uses_gram_sq = True

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.upper) < np.asarray(self.lower)):
            raise ArgumentError("upper", f"be at least lower = {self.lower}", self.upper)

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return drawn(self.scale, inverse, moments, features, key)

    def doubt(self, inverse: Array, moments: Moments, features: FeatureTable) -> Array:
        xp = namespace(inverse)
        lower, upper = (xp.asarray(each, dtype=inverse.dtype) for each in (self.lower, self.upper))
        norms = width(inverse, moments, features, "single")
        gap = upper - lower
        share = (norms - lower) / xp.where(gap > 0, gap, xp.ones_like(gap))
        return xp.where(gap > 0, xp.clip(share, 0, 1), xp.astype(norms > lower, norms.dtype))


class Unperturbed(Exploration):
    """Exploration by the policy alone: the index is the estimate."""

    optimistic = False

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return namespace(inverse).zeros((len(inverse), len(features.values)), dtype=inverse.dtype)


@part
class Greedy(Unperturbed):
    """No exploration."""


@part
class EpsilonGreedy(Unperturbed):
    """A uniformly drawn action with probability ε, else a greedy one."""

    epsilon: Numeric = number(at_least=0, at_most=1)

    def policy(self, q: Array) -> Array:
        return (1 - self.epsilon) * greedy_policy(q) + self.epsilon * uniform_policy(q)


@part
class Uniform(Unperturbed):
    """Every action with the same probability, whatever was learnt."""

    def policy(self, q: Array) -> Array:
        return uniform_policy(q)


@part
class Softmax(Unperturbed):
    """Actions with probabilities `∝ exp(q/τ)`: a small temperature τ is greedy, a large one uniform."""

    temperature: Numeric = number(above=0)

    def policy(self, q: Array) -> Array:
        xp = namespace(q)
        odds = xp.exp((q - xp.max(q, axis=-1, keepdims=True)) / self.temperature)
        return odds / xp.sum(odds, axis=-1, keepdims=True)


@part
class InverseGap(Unperturbed):
    """Inverse-gap weighting: `p(a) = 1/(N + γ(q_b − q_a))`, and what is left for the best action b.

    N actions are there, so that no probability is below `1/(N + γ·largest gap)`. γ = 0 is uniform, a large
    γ greedy. Of actions that are tied for the best each gets the same.
    """

    gamma: Numeric = number(at_least=0)

    def policy(self, q: Array) -> Array:
        xp = namespace(q)
        present = xp.astype(q > -xp.inf, q.dtype)
        gaps = xp.where(q > -xp.inf, xp.max(q, axis=-1, keepdims=True) - q, xp.zeros_like(q))
        shares = present / (xp.sum(present, axis=-1, keepdims=True) + self.gamma * gaps)
        return shares + (1 - xp.sum(shares, axis=-1, keepdims=True)) * greedy_policy(q)


def greedy_policy(q: Array) -> Array:
    """Uniform over the maximisers of the last axis.

    Values within `eps^(2/3)` of the maximum (relative, and absolute below one) count as tied: a tie in
    the mathematics stays one whatever the rounding, so engines and batch sizes agree on the policy.
    """
    xp = namespace(q)
    best = q.max(axis=-1, keepdims=True)
    tied = (q >= best - tie_tolerance(q.dtype) * xp.maximum(abs(best), 1)).astype(q.dtype)
    return tied / tied.sum(axis=-1, keepdims=True) + 0 * best  # a Q that is not finite gives no policy


@functools.cache
def tie_tolerance(dtype: Any) -> float:
    """The share of the best value that others may lack to count as tied with it."""
    return float(np.finfo(dtype).eps) ** (2 / 3)


def uniform_policy(q: Array) -> Array:
    """Uniform over all actions that are there."""
    xp = namespace(q)
    present = xp.astype(q > -xp.inf, q.dtype)
    return present / xp.sum(present, axis=-1, keepdims=True)


def bandit_plan(
    theta: Array,
    q: Array,
    bonus: Array,
    policy: Callable[[Array], Array],
    features: FeatureTable,
    index: Array | None = None,
) -> Plan:
    """The plan of a bandit from rows `[1, N]`; the policy acts on q, or on an `index` of the same order."""
    xp, index = namespace(q), q if index is None else index
    if features.present is not None:
        index, q = (xp.where(features.present, each, -xp.inf) for each in (index, q))
    return Plan(theta, bonus[:, None], q[:, None], policy(index)[:, None], xp.max(q, axis=-1)[:, None])


def radius_at(radius: Numeric | Radius, moments: Moments) -> Array:
    """A radius as an array to multiply `[H, N]` with."""
    xp = namespace(moments.gram)
    value = radius.at(moments) if isinstance(radius, Radius) else radius
    return xp.asarray(value, dtype=moments.gram.dtype)[..., None]


def width(
    inverse: Array, moments: Moments, features: FeatureTable, norm: Literal["sandwich", "single"]
) -> Array:
    """Width of the confidence ellipsoid in the direction of each φ: `[H, N]`."""
    xp = namespace(inverse)
    if norm == "single" or moments.gram_sq is None:  # where Λ̃ = Λ, and Λ⁻¹ΛΛ⁻¹ = Λ⁻¹
        squared = quadratic(features, inverse)
    elif features.pairs is None and len(features.values) < 2 * inverse.shape[-1]:  # fewer products
        squared = quadratic(FeatureTable(features.values @ inverse), moments.gram_sq)
    else:
        squared = quadratic(features, sandwich(inverse, moments.gram_sq))
    return xp.sqrt(xp.maximum(squared, 0))


def drawn(
    scale: Numeric | Radius, inverse: Array, moments: Moments, features: FeatureTable, key: Key
) -> Array:
    """`φᵀ a Λ⁻¹ Λ̃^(1/2) z` with one z for each step: `[H, N]`."""
    xp = namespace(inverse)
    size = radius_at(scale, moments)
    gram = moments.gram if moments.gram_sq is None else moments.gram_sq
    num_steps, dim = gram.shape[0], gram.shape[-1]
    draw = xp.reshape(normal(key, num_steps * dim, gram.dtype), (num_steps, dim))
    root = spd_root(after(gram, size[..., None]))
    return size * linear(features, matvec(inverse, matvec(root, draw)))

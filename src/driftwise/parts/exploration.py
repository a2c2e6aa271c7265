"""Exploration: a perturbation of the estimate φᵀw, and a policy from the resulting index."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import compute_after, namespace, sandwich, spd_root
from driftwise.base.knowledge import RowProducts
from driftwise.base.part import choice, number, part
from driftwise.base.random import draw_normal
from driftwise.base.types import Array, FeatureTable, Key, Moments, Numeric, Plan, Radius
from driftwise.base.validation import ArgumentError
from driftwise.parts.regression import linear, matvec, quadratic

Norm = Literal["sandwich", "single"]
Policy = Callable[[Array], Array]  # an index to probabilities
Sign = Literal["folded", "signed"]


class Exploration(ABC):
    """Maps the estimate φᵀw to an index, and the index to a policy."""

    uses_gram_sq: bool = False  # whether `perturb` uses `gram_sq`
    covers_corruption: bool = False  # whether it also covers corruption, in the norm of Λ⁻¹
    optimistic: bool = True  # whether `perturb` or `doubt` raises uncertain values

    @abstractmethod
    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        """Return the perturbation of φᵀw for every step and state-action pair, `[H, N]`."""

    def doubt(self, inverse: Array, moments: Moments, features: FeatureTable) -> Array | None:
        """Return the share of φᵀw to replace by the largest possible value, `[H, N]`; None for 0."""
        return None

    def policy(self, q: Array) -> Array:
        """Return action probabilities from the index, over the last axis; −∞ marks unavailable actions."""
        return greedy_policy(q)

    def action_probabilities(self, q: Array, bonus: Array, key: Key) -> Array:
        """Return action probabilities before the draw of `perturb`; without a formula, given it: `[A]`."""
        return self.policy(q)


@part
class Ucb(Exploration):
    """`β√(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)`, or `β√(φᵀ Λ⁻¹ φ)` for `norm="single"`, which is never smaller."""

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    norm: Norm = choice("sandwich", "single", default="sandwich")

    @property
    def uses_gram_sq(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.norm == "sandwich"

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        return radius_at(self.radius, moments) * width(inverse, moments, features, self.norm)


@part
class CautiousUcb(Exploration):
    """`β√(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ) + w√(φᵀ Λ⁻¹ φ)`: the radius β covers noise, the widening w corrupted rewards."""

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    widening: Numeric = number(at_least=0)

    uses_gram_sq = covers_corruption = True

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        noise, corruption = (width(inverse, moments, features, norm) for norm in ("sandwich", "single"))
        return radius_at(self.radius, moments) * noise + radius_at(self.widening, moments) * corruption


@part
class RandomisedUcb(Exploration):
    """A radius times one draw for all pairs, of `|N(0, 1)|` (`sign="folded"`: optimistic) or `N(0, 1)`."""

    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    sign: Sign = choice("folded", "signed", default="folded")
    norm: Norm = choice("sandwich", "single", default="sandwich")

    @property
    def uses_gram_sq(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.norm == "sandwich"

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        widths = radius_at(self.radius, moments) * width(inverse, moments, features, self.norm)
        return self._draw(key, inverse) * widths

    def action_probabilities(self, q: Array, bonus: Array, key: Key) -> Array:
        draw = self._draw(key, q)
        return winning_probabilities(q - bonus, bonus / draw, folded=self.sign == "folded")

    def _draw(self, key: Key, like: Array) -> Array:
        draw = draw_normal(key, 1, like.dtype)[0]
        return namespace(like).abs(draw) if self.sign == "folded" else draw


class GaussianExploration(Exploration):
    """Exploration by a parameter drawn around the estimate."""

    scale: Numeric | Radius
    uses_gram_sq = True

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        size, gram = radius_at(self.scale, moments), moments.gram
        gram = gram if moments.gram_sq is None else moments.gram_sq
        shape = gram.shape[0], gram.shape[-1]
        draw = namespace(gram).reshape(draw_normal(key, math.prod(shape), gram.dtype), shape)
        root = spd_root(compute_after(gram, size[..., None]))
        return size * linear(features, matvec(inverse, matvec(root, draw)))


@part
class Thompson(GaussianExploration):
    """A parameter drawn around the estimate: `w + a Λ⁻¹ Lz` with `Λ̃ = LLᵀ`, one `z ~ N(0, I)` a step."""

    scale: Numeric | Radius = number(at_least=0, or_part=Radius)


@part
class TruncatedThompson(GaussianExploration):
    """Drawn values up to `√(φᵀΛ⁻¹φ) = lower`, the largest possible from `upper` on, linear in between."""

    scale: Numeric | Radius = number(at_least=0, or_part=Radius)
    lower: Numeric = number(at_least=0)
    upper: Numeric = number(at_least=0)

    def __post_init__(self) -> None:
        if np.any(np.less(self.upper, self.lower)):
            raise ArgumentError("upper", f"be at least lower = {self.lower}", self.upper)

    def doubt(self, inverse: Array, moments: Moments, features: FeatureTable) -> Array:
        xp = namespace(inverse)
        lower, upper = (xp.asarray(bound, dtype=inverse.dtype) for bound in (self.lower, self.upper))
        norms, gap = width(inverse, moments, features, "single"), upper - lower
        share = (norms - lower) / xp.where(gap > 0, gap, xp.ones_like(gap))
        return xp.where(gap > 0, xp.clip(share, 0, 1), xp.astype(norms > lower, norms.dtype))


class Unperturbed(Exploration):
    """Exploration through the policy only: the index is the estimate."""

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
    """Every action with the same probability."""

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
    """Inverse-gap weighting of N actions: `p(a) = 1/(N + γ(q_b − q_a))`, and the rest for the best, b."""

    gamma: Numeric = number(at_least=0)

    def policy(self, q: Array) -> Array:
        xp = namespace(q)
        present = xp.astype(q > -xp.inf, q.dtype)
        gaps = xp.where(q > -xp.inf, xp.max(q, axis=-1, keepdims=True) - q, xp.zeros_like(q))
        shares = present / (xp.sum(present, axis=-1, keepdims=True) + self.gamma * gaps)
        return shares + (1 - xp.sum(shares, axis=-1, keepdims=True)) * greedy_policy(q)


class ExploringAgent(Agent):
    """An agent that explores around a regression, whose moments are its state."""

    exploration: Exploration
    takes_counts = True

    @property
    def optimistic(self) -> bool:
        return self.exploration.optimistic

    def policy(self, q: Array) -> Array:
        return self.exploration.policy(q)

    def memory(self, state: Moments) -> Array:
        return state.weight

    def moments(self, state: Moments) -> Moments:
        return state


def radius_at(radius: Numeric | Radius, moments: Moments) -> Array:
    """Return a radius as an array that broadcasts against `[H, N]`."""
    xp = namespace(moments.gram)
    value = radius.at(moments) if isinstance(radius, Radius) else radius
    return xp.asarray(value, dtype=moments.gram.dtype)[..., None]


def width(inverse: Array, moments: Moments, features: FeatureTable, norm: Norm) -> Array:
    """Return the width of the confidence ellipsoid in the direction of each φ, `[H, N]`."""
    xp = namespace(inverse)
    if norm == "single" or moments.gram_sq is None:  # Λ̃ = Λ, so that Λ⁻¹Λ̃Λ⁻¹ = Λ⁻¹
        squared = quadratic(features, inverse)
    elif features.find(RowProducts) is None and len(features.values) < 2 * inverse.shape[-1]:
        squared = quadratic(FeatureTable(features.values @ inverse), moments.gram_sq)
    else:
        squared = quadratic(features, sandwich(inverse, moments.gram_sq))
    return xp.sqrt(xp.maximum(squared, 0))


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

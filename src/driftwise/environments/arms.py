"""Decision sets of a bandit: descriptions of arms, and samplers that draw them on NumPy and JAX alike."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.knowledge import OptimalDesign
from driftwise.base.part import choice, count, record
from driftwise.base.random import choose_index, draw_coarse, draw_normal, draw_uniform, fold
from driftwise.base.resources import count_bytes, require_memory
from driftwise.base.types import Array, Catalogue, FeatureTable, Key, Numeric
from driftwise.base.validation import ArgumentError, require_array, require_count, to_nested_tuple
from driftwise.parts.designs import g_optimal_design


class Sampler(Protocol):
    """Arms as a named tuple of arrays."""

    def draw(self, key: Key) -> FeatureTable: ...  # the arms of one round


@runtime_checkable
class Arms(Protocol):
    """A description of decision sets."""

    @property
    def num_arms(self) -> int: ...  # the most that a round offers
    @property
    def dim(self) -> int: ...
    @property
    def all_features(self) -> np.ndarray | None: ...  # that can come up, `[N, d]`; None if too many
    def sampler(self, dtype: Any) -> Sampler: ...


@record
class FreshArms:
    """New arms in every round, from `fewest` to `num_arms` of them; `fewest` is `num_arms` unless given.

    The `shape` `"cube"` draws coordinates from U[−1, 1] and scales arms longer than one to length one (Russac
    et al. 2019); `"ball"` is uniform in the unit ball, `"sphere"` uniform on it.
    """

    num_arms: int = count()
    dim: int = count()
    shape: Literal["cube", "ball", "sphere"] = choice("cube", "ball", "sphere", default="cube")
    fewest: int = count(at_least=0, default=0)  # as many as there can be
    all_features = None

    def __post_init__(self) -> None:
        require_arms(self.num_arms, self.dim)
        fewest = self.fewest or self.num_arms
        if fewest > self.num_arms:
            raise ArgumentError("fewest", f"be at most num_arms = {self.num_arms}", fewest)
        object.__setattr__(self, "fewest", fewest)

    def sampler(self, dtype: Any) -> Sampler:
        always = np.arange(self.num_arms) < self.fewest
        varying = None if self.fewest == self.num_arms else always
        samplers = {"cube": CubeSampler, "ball": BallSampler, "sphere": SphereSampler}
        return samplers[self.shape](np.zeros((self.num_arms, self.dim), dtype=dtype), varying)


@record
class FixedArms:
    """Fixed arms, with features `[A, d]`."""

    features: Numeric  # kept as nested tuples

    def __post_init__(self) -> None:
        features = _checked_features(self.features, (None, None))
        object.__setattr__(self, "features", to_nested_tuple(features.tolist()))

    @property
    def num_arms(self) -> int:
        return len(self.features)

    @property
    def dim(self) -> int:
        return len(self.features[0])

    @property
    def all_features(self) -> np.ndarray:
        return np.array(self.features)

    def sampler(self, dtype: Any) -> Sampler:
        features, design = self.all_features, None
        if features.size * self.dim <= 1_000_000:  # products in a step, of which tens take tenths of a second
            design = g_optimal_design(features, np.full(len(features), 1 / len(features))).astype(dtype)
        return FixedSampler(features.astype(dtype), design)


def orthogonal_arms(dim: int) -> FixedArms:
    """Return the unit vectors: `dim` arms that share nothing."""
    require_arms(require_count("dim", dim), dim)
    return FixedArms(np.eye(dim))


@record
class ContextArms:
    """One of the decision sets `features` (`[C, A, d]`) in every round; an arm of all zeros is not there."""

    features: Numeric  # kept as nested tuples
    probabilities: Numeric = ()  # all alike

    def __post_init__(self) -> None:
        features = _checked_features(self.features, (None, None, None))
        if not features.any(axis=(1, 2)).all():
            raise ArgumentError("features", "offer an arm in every context", features, "one with none")
        alike = np.full(len(features), 1 / len(features))
        weights = self.probabilities if np.size(self.probabilities) else alike
        probabilities = require_array("probabilities", weights, (len(features),))
        if probabilities.min() < 0 or abs(probabilities.sum() - 1) > 1e-8:
            raise ArgumentError("probabilities", "be at least 0 and sum to 1", self.probabilities)
        object.__setattr__(self, "features", to_nested_tuple(features.tolist()))
        object.__setattr__(self, "probabilities", tuple(probabilities.tolist()))

    @property
    def num_arms(self) -> int:
        return len(self.features[0])

    @property
    def dim(self) -> int:
        return len(self.features[0][0])

    @property
    def all_features(self) -> np.ndarray:
        features = np.array(self.features).reshape(-1, self.dim)
        return features[features.any(axis=-1)]

    def sampler(self, dtype: Any) -> Sampler:
        features = np.array(self.features)
        present = features.any(axis=-1)
        varying = None if present.all() else present
        return ContextSampler(features.astype(dtype), varying, np.cumsum(self.probabilities).astype(dtype))


class FixedSampler(NamedTuple):
    features: Array  # [A, d]
    design: Array | None  # [A], if there are not too many

    def draw(self, key: Key) -> FeatureTable:
        xp = namespace(self.features)
        every = xp.arange(len(self.features), dtype=xp.int32)
        design = () if self.design is None else (OptimalDesign(self.design),)
        return FeatureTable(self.features).with_extras(*design, Catalogue(self.features, every))


class ContextSampler(NamedTuple):
    features: Array  # [C, A, d]
    present: Array | None  # [C, A]
    cumulative: Array  # [C]

    def draw(self, key: Key) -> FeatureTable:
        context = choose_index(self.cumulative, draw_uniform(key, 1, self.cumulative.dtype)[..., 0])
        xp, (num_arms, dim) = namespace(self.features), self.features.shape[1:]
        present = None if self.present is None else self.present[context]
        own = context[..., None] * num_arms + xp.arange(num_arms, dtype=xp.int32)
        catalogue = Catalogue(xp.reshape(self.features, (-1, dim)), own)
        return FeatureTable(self.features[context], present, (catalogue,))


class SphereSampler(NamedTuple):
    like: Array  # [A, d], for its shape and type
    always: Array | None  # [A] which arms every round has; None if all

    def draw(self, key: Key) -> FeatureTable:
        """Draw all arms, or the first few of them: those of every round and a random number of others."""
        features = self.points(key)
        if self.always is None:
            return FeatureTable(features)
        xp, others = namespace(features), ~self.always
        choices = xp.sum(xp.astype(others, features.dtype)) + 1
        extra = xp.astype(xp.floor(draw_uniform(fold(key, 2), 1, features.dtype)[0] * choices), xp.int32)
        order = xp.cumulative_sum(xp.astype(others, xp.int32))
        return FeatureTable(features, present=self.always | (order <= extra))

    def points(self, key: Key) -> Array:
        """Draw features `[A, d]`."""
        xp, like = namespace(self.like), self.like
        points = xp.reshape(draw_normal(key, like.size, like.dtype), like.shape)
        smallest = xp.finfo(like.dtype).smallest_normal  # a point may be 0, once in 2^24 at d = 1
        return points / xp.maximum(_norms(points), smallest)


class BallSampler(SphereSampler):
    def points(self, key: Key) -> Array:
        num_arms, dim = self.like.shape
        lengths = draw_uniform(fold(key, 1), num_arms, self.like.dtype) ** (1 / dim)
        return super().points(key) * lengths[:, None]


class CubeSampler(SphereSampler):
    def points(self, key: Key) -> Array:
        xp = namespace(self.like)
        points = 2 * xp.reshape(draw_coarse(key, self.like.size, self.like.dtype), self.like.shape) - 1
        return points / xp.maximum(_norms(points), xp.ones_like(points[:, :1]))


def _norms(points: Array) -> Array:
    return namespace(points).sqrt(namespace(points).sum(points * points, axis=-1, keepdims=True))


def require_arms(*shape: int) -> None:
    """Refuse features that do not fit into memory: arrays, and Python's numbers, four times as large."""
    require_memory("arms", 5 * count_bytes(shape), f"features of shape {shape}")


def _checked_features(given: Numeric, shape: tuple[None, ...]) -> np.ndarray:
    features = require_array("features", given, shape)
    if features.size == 0:
        got = f"the shape {features.shape}"
        raise ArgumentError("features", "offer an arm and have a dimension", features.shape, got)
    longest = float(np.linalg.norm(features, axis=-1).max())
    if longest > 1 + 1e-8:  # far above rounding, far below a mistake
        raise ArgumentError("features", "have norms of at most 1", longest, f"one of {longest:.6g}")
    return features

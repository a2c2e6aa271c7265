"""The one ridge regression: in each step h, of the target `y = (r, e_{s'})` on φ.

Counts of visits are regressions too: one for each step, state and action, on the feature 1, without a ridge.
"""

from typing import Any

import numpy as np

from driftwise.base.arrays import namespace, vecdot
from driftwise.base.knowledge import RowProducts
from driftwise.base.types import Array, Catalogue, Episode, FeatureTable, Forgetting, Moments, Sample, Spec

MAX_PAIR_ENTRIES = 10_000_000  # 80 MB of float64


def feature_table(features: np.ndarray, dtype: Any = np.float64) -> FeatureTable:
    """Flatten features `[S, A, d]`, with the products φ_i φ_j that make `φᵀMφ` one matrix product."""
    dim = features.shape[-1]
    values = np.reshape(np.asarray(features, dtype=dtype), (-1, dim))
    rows, cols = np.triu_indices(dim)
    if len(values) * len(rows) > MAX_PAIR_ENTRIES:
        return FeatureTable(values)
    twice = np.where(rows == cols, 1.0, 2.0).astype(dtype)
    return FeatureTable(values).with_extras(RowProducts(values[:, rows] * values[:, cols] * twice))


def fixed_table(features: np.ndarray, dtype: Any = np.float64) -> FeatureTable:
    """The table of features `[S, A, d]` that all episodes have."""
    table = feature_table(features, dtype)
    return table.with_extras(Catalogue(table.values, np.arange(len(table.values), dtype=np.int32)))


def linear(features: FeatureTable, weights: Array) -> Array:
    """`φᵀw` for every row: weights `[..., d]` to `[..., N]`."""
    return weights @ features.values.T


def quadratic(features: FeatureTable, matrix: Array) -> Array:
    """`φᵀMφ` for every row and symmetric M: `[..., d, d]` to `[..., N]`."""
    products = features.find(RowProducts)
    if products is None:
        return vecdot(features.values @ matrix, features.values)
    upper = [matrix[..., i, i:] for i in range(matrix.shape[-1])]
    return namespace(matrix).concat(upper, axis=-1) @ products.array.T


def matvec(matrix: Array, vector: Array) -> Array:
    """`Mv` over leading axes."""
    return vecdot(matrix, vector[..., None, :])


def step_ceilings(horizon: int, *, tight: bool) -> np.ndarray:
    """Return the largest value of each step, `H−h+1` if `tight`, else H: `[H]`."""
    return np.arange(horizon, 0, -1) if tight else np.full(horizon, horizon)


def empty_moments(sample: Sample, num_states: int, ridge: Array, *, gram_sq: bool) -> Moments:
    """`Λ = Λ̃ = λI`, no data; shapes, types and library are the sample's."""
    xp, shape, dtype = namespace(sample.features), sample.features.shape, sample.features.dtype
    ridge = xp.asarray(ridge, dtype=dtype)
    gram = xp.zeros((*shape, shape[-1]), dtype=dtype) + ridge * xp.eye(shape[-1], dtype=dtype)
    cross = xp.zeros((*shape, 1 + num_states), dtype=dtype)
    count, total = xp.asarray(0, dtype=xp.int64), xp.asarray(0, dtype=dtype)
    return Moments(gram, gram if gram_sq else None, cross, ridge, count, total, total, count, ())


def contributions(sample: Sample, num_states: int) -> tuple[Array, Array]:
    """The additions of one sample to `gram` and `cross` at weight one: `φφᵀ` and `φyᵀ`, times its count."""
    xp = namespace(sample.features)
    counted = (sample.features * sample.weight[..., None])[..., :, None]
    targets = sample.reward[..., None]
    if num_states:  # y = (r, e_{s'}); not put together from two, which would be laid out in memory first
        arrived = one_hot(sample.successor + 1, 1 + num_states, counted.dtype)
        targets = xp.where(xp.arange(1 + num_states) == 0, targets, arrived)
    return counted * sample.features[..., None, :], counted * targets[..., None, :]


def squared_share(sample: Sample, gram: Array) -> Array:
    """The addition of one sample to `gram_sq` at weight one, `w²φφᵀ` for a share w, from that to `gram`."""
    return gram if sample.share is None else sample.share[..., None, None] * gram


def episode_sample(
    spec: Spec, features: FeatureTable, episode: Episode, count: Array, share: Array | None = None
) -> Sample:
    """An episode as one sample of the regressions of its steps, `[H]`; a catalogue has its features."""
    sample = Sample(episode.features, episode.rewards, episode.successors, count, share)
    catalogue = features.find(Catalogue)
    if catalogue is None:
        return sample
    numbers = catalogue.numbers[episode.states * spec.num_actions + episode.actions]

    def rebuild(origin: Sample) -> Sample:
        return origin._replace(features=catalogue.rows[origin.features])

    return Sample.from_origin(sample._replace(features=numbers), rebuild)


def empty_counts(spec: Spec, forgetting: Forgetting, features: FeatureTable) -> Moments:
    """No visits: `gram` is `[H, S, A, 1, 1]` and `cross` `[H, S, A, 1, 1+S]`, of the features' type."""
    xp, dtype = namespace(features.values), features.values.dtype
    nowhere = xp.zeros(spec.horizon, dtype=xp.int32)
    sample = visits(spec, Episode(nowhere, nowhere, None, xp.zeros(spec.horizon, dtype=dtype), nowhere))
    shape = (spec.horizon, spec.num_states, spec.num_actions, 1)
    everywhere = sample._replace(features=xp.broadcast_to(sample.features, shape))
    return forgetting.init(empty_moments(everywhere, spec.num_states, 0.0, gram_sq=False), sample)


def visits(spec: Spec, episode: Episode) -> Sample:
    """An episode as one sample of all counts `[H, S, A]`: its features are states, its counts actions."""
    dtype = episode.rewards.dtype

    def rebuild(origin: tuple[Array, ...]) -> Sample:
        states, actions, rewards, successors = origin
        return Sample(
            features=one_hot(states, spec.num_states, dtype)[:, :, None, None],
            reward=rewards[:, None, None],
            successor=successors[:, None, None],
            count=one_hot(actions, spec.num_actions, dtype)[:, None, :],
        )

    return Sample.from_origin((episode.states, episode.actions, episode.rewards, episode.successors), rebuild)


def visited(spec: Spec, episode: Episode) -> Array:
    """Indicators of the steps, states and actions that the episode visited: `[H, S, A]`, 0 or 1."""
    sample = visits(spec, episode)
    return sample.features[..., 0] * sample.count


def one_hot(index: Array, size: int, dtype: object) -> Array:
    """`[..., size]`, with a one at each index."""
    xp = namespace(index)
    return xp.astype(index[..., None] == xp.arange(size), dtype)

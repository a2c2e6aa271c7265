"""Visits as regressions: each step, state and action has one of its own, on the one feature 1.

Without a ridge, `gram` is then the (weighted) number of visits, and `cross` holds the rewards and the
arrivals that followed them: every forgetting applies as it is.
"""

from __future__ import annotations

from driftwise.base.arrays import namespace
from driftwise.base.types import Array, Episode, FeatureTable, Forgetting, Moments, Sample, Spec
from driftwise.parts.regression import empty_moments


def empty_counts(spec: Spec, forgetting: Forgetting, features: FeatureTable) -> Moments:
    """No visits: `gram` is `[H, S, A, 1, 1]` and `cross` `[H, S, A, 1, 1+S]`, of the features' type."""
    xp, dtype = namespace(features.values), features.values.dtype
    nowhere = xp.zeros(spec.horizon, dtype=xp.int32)
    sample = visits(spec, Episode(nowhere, nowhere, None, xp.zeros(spec.horizon, dtype=dtype), nowhere))
    shape = (spec.horizon, spec.num_states, spec.num_actions, 1)
    everywhere = sample._replace(features=xp.broadcast_to(sample.features, shape))
    moments = empty_moments(everywhere, spec.num_states, 0.0, gram_sq=False)
    return forgetting.init(moments, sample)


def visits(spec: Spec, episode: Episode) -> Sample:
    """An episode as one sample of all regressions, whose shapes broadcast to `[H, S, A]`.

    A feature says whether its state was visited and a count whether its action was taken: `H (S + A)`
    numbers, so that a window remembers no more than that of an episode.
    """
    dtype = episode.rewards.dtype
    return Sample(
        features=one_hot(episode.states, spec.num_states, dtype)[:, :, None, None],
        reward=episode.rewards[:, None, None],
        successor=episode.successors[:, None, None],
        count=one_hot(episode.actions, spec.num_actions, dtype)[:, None, :],
    )


def visited(spec: Spec, episode: Episode) -> Array:
    """Indicators of the steps, states and actions that the episode visited: `[H, S, A]`, 0 or 1."""
    dtype = episode.rewards.dtype
    states = one_hot(episode.states, spec.num_states, dtype)
    return states[:, :, None] * one_hot(episode.actions, spec.num_actions, dtype)[:, None, :]


def one_hot(index: Array, size: int, dtype: object) -> Array:
    """`[..., size]`, with a one at each index."""
    xp = namespace(index)
    return xp.astype(index[..., None] == xp.arange(size), dtype)

"""Mixtures of known kernels: what each kernel expects of a value is a feature, and the mixture a parameter.

Transitions are `P_h = Σ_j c_j ψ_{j,h}` with the anchors' kernels `ψ_j = φᵀμ_j`. So `P_h V = Σ_j c_j (ψ_j V)`
is linear in `c`, and values at successors are its samples.
"""

from __future__ import annotations

from driftwise.base.arrays import namespace, spd_inverse
from driftwise.base.types import Array, Episode, FeatureTable, Forgetting, Moments, Numeric, Sample
from driftwise.parts.regression import empty_moments, matvec


def expected_values(features: FeatureTable, measures: Array, value: Array) -> FeatureTable:
    """`φᵀμ_j V` of one step for every pair and kernel, `[N, J]`, with measures `[J, d, S]`.

    No kernel is built.
    """
    return FeatureTable(features.values @ (measures @ value).T)


def value_sample(
    features: FeatureTable, values: Array, episode: Episode, share: Array | None = None
) -> Sample:
    """Values `[H, S]` of the states that followed, with what the kernels expected of them, for each step."""
    measures: Array = features.measures
    xp = namespace(values)
    backed = xp.sum(xp.moveaxis(measures, 1, 0) * values[:, None, None, :], axis=-1)  # [H, J, d]
    reached = values[xp.arange(len(values)), episode.successors]
    ones = xp.ones_like(episode.rewards)
    return Sample(matvec(backed, episode.features), reached, episode.successors, ones, share)


def empty_mixture(
    forgetting: Forgetting, features: FeatureTable, ridge: Numeric, *, shares: bool = False
) -> Moments:
    """Moments of no samples: gram `[H, J, J]` and cross `[H, J, 1]`; samples may have `shares`."""
    measures: Array = features.measures
    xp, (num_kernels, horizon) = namespace(measures), measures.shape[:2]
    steps, nowhere = xp.zeros(horizon, dtype=measures.dtype), xp.zeros(horizon, dtype=xp.int32)
    phi = xp.zeros((horizon, num_kernels), dtype=measures.dtype)
    sample = Sample(phi, steps, nowhere, steps, steps if shares else None)
    return forgetting.init(empty_moments(sample, 0, ridge, gram_sq=False), sample)


def mixture_estimate(moments: Moments) -> tuple[Array, Array]:
    """`Λ⁻¹`, and the estimate `Λ⁻¹b` of the mixture, for each step: `[H, J, J]` and `[H, J]`."""
    inverse = spd_inverse(moments.gram)
    return inverse, matvec(inverse, moments.cross[..., 0])

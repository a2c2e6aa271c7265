"""The regression equals its definition, and obeys bounds whatever was seen."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.base.arrays import spd_inverse


@lemma("Alg. 1, l. 16", "identity")
def gram_recursion(run: Snapshot) -> Sides:
    """Λ of the recursion = Σ ω φφᵀ + λI."""
    return run.moments.gram, run.gram


@lemma("Alg. 1, l. 17", "identity", "gram_sq")
def gram_sq_recursion(run: Snapshot) -> Sides:
    """Λ̃ of the recursion = Σ ω² φφᵀ + λI; where none is kept it has to equal Λ."""
    return run.moments.gram if run.moments.gram_sq is None else run.moments.gram_sq, run.gram_sq


@lemma("Alg. 1, l. 6", "identity")
def cross_recursion(run: Snapshot) -> Sides:
    """cross of the recursion = Σ ω φ (r, e_s')ᵀ, of rewards alone where there is only one step."""
    targets = run.history.rewards[..., None]
    if run.subject.spec.horizon > 1:
        arrived = np.eye(run.subject.spec.num_states)[run.history.successors]
        targets = np.concatenate([targets, arrived], axis=-1)
    return run.moments.cross, run.weighted(targets)


@lemma("Eq. (6)", "identity")
def estimator(run: Snapshot) -> Sides:
    """w = Λ⁻¹ Σ ω φ (r + V(s'))."""
    summed = run.weighted(run.history.rewards + run.targets_ahead)
    return run.plan.weights, (run.inverse @ summed[..., None])[..., 0]


@lemma("Alg. 1, l. 7", "identity", "optimism")
def bonus(run: Snapshot) -> Sides:
    """B(s, a) = β √(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)."""
    return run.bonus, run.radius[:, None] * run.width


@lemma("Lemma 9", "always")
def weighted_features(run: Snapshot) -> Sides:
    """Σ ω φᵀ Λ⁻¹ φ ≤ d."""
    inverse, features = spd_inverse(run.moments.gram), run.history.features
    total = np.einsum("t,thd,hde,the->h", run.weights, features, inverse, features)
    return total, np.full_like(total, run.subject.spec.dim)


@lemma("Lemma 5", "always", "successors")
def bounded_weights(run: Snapshot) -> Sides:
    """‖w‖ ≤ 2H √(d Σω / λ), which is 2H √(d (1−η^(t−1)) / (λ (1−η)))."""
    spec = run.subject.spec
    norms = np.linalg.norm(run.plan.weights, axis=-1)
    limit = 2 * spec.horizon * np.sqrt(spec.dim * run.weights.sum() / run.subject.ridge)
    return norms, np.full_like(norms, limit)


@lemma("Lemma 5", "always")
def bounded_sandwich(run: Snapshot) -> Sides:
    """‖Λ⁻¹ Λ̃ Λ⁻¹‖ ≤ 1/λ."""
    moments = run.moments
    inverse = spd_inverse(moments.gram)
    matrix = inverse if moments.gram_sq is None else inverse @ moments.gram_sq @ inverse
    largest = np.linalg.norm(matrix, ord=2, axis=(-2, -1))
    return largest, np.full_like(largest, 1 / run.subject.ridge)


@lemma("Lemma 11", "always")
def determinant(run: Snapshot) -> Sides:
    """log det(Λ̃/λ) ≤ d log(1 + Σω² / (λd))."""
    dim, ridge = run.subject.spec.dim, run.subject.ridge
    matrix = run.gram_sq if run.moments.gram_sq is None else run.moments.gram_sq
    information = np.linalg.slogdet(matrix / ridge)[1]
    limit = dim * np.log1p(np.square(run.weights).sum() / (ridge * dim))
    return information, np.full_like(information, limit)

"""Statements about the agent's own matrices that hold whatever was seen."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.reference import counted_information, log_determinant
from driftwise.analysis.audit.snapshot import Snapshot


def _no_overlap(run: Snapshot) -> float:
    """`Σω/λ`, since `Λ⁻¹ ≼ I/λ`."""
    return float(run.weights.sum() / run.subject.ridge)


@lemma("Lemma 9", "always", trivial=_no_overlap)
def weighted_features(run: Snapshot) -> Sides:
    """Σ ω φᵀ Λ⁻¹ φ ≤ d."""
    features = run.history.features
    return np.einsum(
        "t,thd,hde,the->h", run.weights, features, run.own_inverse, features
    ), run.subject.spec.dim


@lemma("Lemma 5", "always", "successors")
def bounded_weights(run: Snapshot) -> Sides:
    """‖w‖ ≤ 2H √(d Σω / λ), which is 2H √(d (1−η^(t−1)) / (λ (1−η)))."""
    spec = run.subject.spec
    norms = np.linalg.norm(run.plan.weights, axis=-1)
    limit = 2 * spec.horizon * np.sqrt(spec.dim * run.weights.sum() / run.subject.ridge)
    return norms, limit


@lemma("Lemma 5", "always")
def bounded_sandwich(run: Snapshot) -> Sides:
    """‖Λ⁻¹ Λ̃ Λ⁻¹‖ ≤ 1/λ."""
    inverse, gram_sq = run.own_inverse, run.moments.gram_sq
    matrix = inverse if gram_sq is None else inverse @ gram_sq @ inverse
    return np.linalg.norm(matrix, ord=2, axis=(-2, -1)), 1 / run.subject.ridge


@lemma("Lemma 11", "always")
def determinant(run: Snapshot) -> Sides:
    """log det(Λ̃/λ) ≤ d log(1 + Σω² / (λd)); of Λ with Σω where no Λ̃ is kept."""
    dim, ridge, kept = run.subject.spec.dim, run.subject.ridge, run.moments
    matrix, weights = (kept.gram, run.weights) if kept.gram_sq is None else (kept.gram_sq, run.weights**2)
    return log_determinant(matrix, ridge), counted_information(weights.sum(), dim, ridge)

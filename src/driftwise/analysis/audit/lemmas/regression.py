"""Statements about the sums that an agent keeps: each is the weighted sum that defines it."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot


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


@lemma("Props. 1 and 2", "identity")
def count_recursion(run: Snapshot) -> Sides:
    """Σω, Σω², t and the number of restarts of the recursion = those of the weights ω."""
    kept = run.moments
    counts = run.weights.sum(), np.square(run.weights).sum(), run.t, run.subject.epochs[run.t]
    return np.array([kept.weight, kept.weight_sq, kept.tick, kept.epoch], dtype=float), np.array(counts)


@lemma("Alg. 1, l. 6", "identity")
def fresh_plan(run: Snapshot) -> Sides:
    """w = Λ⁻¹ (cross_r + cross_P V), of the sums as they stand when the episode begins."""
    rewards, arrivals = run.moments.cross[..., 0], run.moments.cross[..., 1:]
    ahead = run.values[1:] if run.subject.spec.horizon > 1 else run.values[1:, :0]
    target = rewards + np.einsum("hds,hs->hd", arrivals, ahead)
    return run.plan.weights, (run.own_inverse @ target[..., None])[..., 0]


@lemma("Eq. (6)", "identity")
def estimator(run: Snapshot) -> Sides:
    """w = Λ⁻¹ Σ ω φ (r + V(s')), of the whole history."""
    return run.plan.weights, run.learnt

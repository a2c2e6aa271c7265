"""Statements about a plan: Algorithm 1 from the radius to the action, recomputed from the history."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit import reference
from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot


@lemma("Props. 1 and 2", "identity", "radius", "formula", "known_radius")
def radius(run: Snapshot) -> Sides:
    """β = c (√λ S + σ √(2 log(1/δ') + ℓ)), ℓ = d log(1 + Σω²/(λd)) or log det(Λ/λ).

    With σ, S, δ and c as the agent was told. Where it knows the drift of each epoch, √(dΣω) (B_θ + H B_μ) is
    added.
    """
    return run.radius, reference.radius(run)


@lemma("Theorem 1, Props. 1 and 2", "promised", "optimism")
def theory_radius(run: Snapshot) -> Sides:
    """dH √log(2dHKn/δ) + √λ H (M−√d)₊ ≤ β, with n = 1/(1−η) or 1; in bandits as above, with true σ and S."""
    return reference.theory_radius(run), run.radius


@lemma("Alg. 1, l. 7", "identity", "known_index", "known_radius")
def bonus(run: Snapshot) -> Sides:
    """B = β √(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ); times Z or φᵀ a Λ⁻¹ Λ̃^½ z for those that draw; 0 for ε-greedy."""
    return run.bonus, reference.bonus(run)


@lemma("Alg. 1, l. 7", "identity", "known_index", "known_radius")
def index(run: Snapshot) -> Sides:
    """Q = φᵀw + B, with w and B of the history."""
    return run.of_pairs(run.plan.q), run.learnt @ run.features.T + reference.bonus(run)


@lemma("Alg. 1, l. 8", "identity")
def value(run: Snapshot) -> Sides:
    """V = min{max_a Q, H}, or as the agent clips: [0, H−h+1] for tight, [0, H] for range."""
    return run.plan.values, reference.clipped(run, run.plan.q.max(-1))


@lemma("Alg. 1, l. 13", "identity", "known_index")
def policy(run: Snapshot) -> Sides:
    """π = argmax_a Q, all maximisers alike; (1−ε) argmax_a Q + ε/A for ε-greedy."""
    return run.plan.policy, reference.policy(run)


@lemma("Alg. 1, l. 13", "identity", "known_index", "plays")
def action(run: Snapshot) -> Sides:
    """a_h = the action that the random number of step h draws from π(s_h)."""
    steps, luck = np.arange(run.subject.spec.horizon), run.luck
    cumulative = np.cumsum(reference.policy(run)[steps, run.episode.states], axis=-1)
    drawn = np.sum(cumulative <= luck[:, None] * cumulative[:, -1:], axis=-1)
    return run.episode.actions, drawn

"""Statements about Algorithm 1: its sums, its plan and its actions, recomputed from the history."""

import numpy as np

from driftwise.analysis.audit import reference
from driftwise.analysis.audit.lemmas import Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.base import random


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
        successors = np.eye(run.subject.spec.num_states)[run.history.successors]
        targets = np.concatenate([targets, successors], axis=-1)
    return run.moments.cross, run.weighted(targets)


@lemma("Props. 1 and 2", "identity")
def count_recursion(run: Snapshot) -> Sides:
    """Σω, Σω², t and the number of restarts of the recursion = those of the weights ω."""
    moments = run.moments
    counts = run.weights.sum(), np.square(run.weights).sum(), run.t, run.subject.epochs[run.t]
    own = moments.weight, moments.weight_sq, moments.tick, moments.epoch
    return np.array(own, dtype=float), np.array(counts)


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


@lemma("Props. 1 and 2", "identity", "radius", "formula", "known_radius")
def radius(run: Snapshot) -> Sides:
    """β = c (√λ S + σ √(2 log(1/δ') + ℓ)), ℓ = d log(1 + Σω²/(λd)) or log det(Λ/λ)."""
    # σ, S, δ and c are the agent's; where it knows the drift of each epoch, √(dΣω) (B_θ + H B_μ) is added;
    # a growing radius is c √(1 + a log(1 + Σω/d))
    return run.radius, reference.recomputed_radius(run)


@lemma("Theorem 1, Props. 1 and 2", "promised", "optimism")
def theory_radius(run: Snapshot) -> Sides:
    """dH √log(2dHKn/δ) + √λ H (M−√d)₊ ≤ β, with n = 1/(1−η) or 1; in bandits as above, with true σ and S."""
    return reference.required_radius(run), run.radius


@lemma("Alg. 1, l. 7", "identity", "known_index", "known_radius")
def bonus(run: Snapshot) -> Sides:
    """B = β √(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ); times Z or φᵀ a Λ⁻¹ Λ̃^½ z for those that draw; 0 for ε-greedy."""
    # with a learnt prior, Λ̃ = Λ + ρI
    return run.bonus, reference.recomputed_bonus(run)


@lemma("Alg. 1, l. 7", "identity", "known_index", "known_radius")
def index(run: Snapshot) -> Sides:
    """Q = φᵀw + B, with w and B of the history."""
    return run.of_pairs(run.plan.q), run.learnt @ run.features.T + reference.recomputed_bonus(run)


@lemma("Alg. 1, l. 8", "identity")
def value(run: Snapshot) -> Sides:
    """V = min{max_a Q, H}, or as the agent clips: [0, H−h+1] for tight, [0, H] for range."""
    return run.plan.values, reference.clip_values(run, run.plan.q.max(-1))


@lemma("Alg. 1, l. 13", "identity", "known_index")
def policy(run: Snapshot) -> Sides:
    """π = argmax_a Q, all maximisers alike; (1−ε) argmax_a Q + ε/A for ε-greedy."""
    return run.plan.policy, reference.recomputed_policy(run)


@lemma("Alg. 1, l. 13", "identity", "known_index", "plays")
def action(run: Snapshot) -> Sides:
    """a_h = the action that the random number of step h draws from π(s_h)."""
    steps = np.arange(run.subject.spec.horizon)
    uniforms = random.draw_uniform(run.keys[2], len(steps), float)
    cumulative = np.cumsum(reference.recomputed_policy(run)[steps, run.episode.states], axis=-1)
    drawn = np.sum(cumulative <= uniforms[:, None] * cumulative[:, -1:], axis=-1)
    return run.episode.actions, drawn

"""Algorithm 1 and learnt noise, recomputed from the history; only ω and draws are the agents'."""

import math

import numpy as np

from driftwise import parts
from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.base import random
from driftwise.parts.radii import GrowingRadius

_TIED = np.finfo(float).eps ** (2 / 3)  # relative difference up to which indices are tied


def recomputed_radius(run: Snapshot) -> np.ndarray:
    """Return the agent's radius, `[H]`, multiplied by the learnt noise where there is one."""
    part, unit, agent = run.subject.own_radius, np.sqrt(own_variance(run)), run.subject.agent
    if agent.noise is not None and agent.unit == "value":
        unit = unit + math.sqrt(run.subject.ridge) * run.steps_left
    if isinstance(part, parts.ConfidenceRadius):
        return unit * deviation_radius(run, part, run.gram)
    if isinstance(part, parts.LocalVariationRadius):
        return unit * (part.radius + local_variation(run, part))
    if isinstance(part, GrowingRadius):
        samples = run.weights.sum() / run.subject.spec.dim
        return unit * part.scale * math.sqrt(1 + part.growth * math.log(1 + samples))
    return unit * float(part)


def required_radius(run: Snapshot) -> np.ndarray:
    """Return the radius that theory requires, `[H]`; of a bandit with the true σ and S and `log det(Λ̃/λ)`."""
    subject, part = run.subject, run.subject.own_radius
    if subject.is_bandit:
        return deviation_radius(run, subject.bandit_radius, run.gram_sq)
    drift = local_variation(run, part) if isinstance(part, parts.LocalVariationRadius) else 0.0
    return np.full(subject.spec.horizon, subject.mdp_radius + drift)


def deviation_radius(run: Snapshot, part: parts.ConfidenceRadius, gram: np.ndarray) -> np.ndarray:
    """`c (√λ S + σ √(2 log(1/δ') + ℓ) + w)`, `[H]`; ℓ counts samples, or is the determinant of `gram`."""
    ridge, dim = run.subject.ridge, run.subject.spec.dim
    information: np.ndarray | float = log_determinant(gram, ridge)
    if part.information == "count":
        information = information_of_count(max(np.square(run.weights).sum(), part.samples), dim, ridge)
    failure = math.log(1 / run.subject.failure(part, run.t))
    deviation = part.noise_scale * np.sqrt(2 * failure + information)
    whole = math.sqrt(ridge) * part.norm_bound + deviation + part.widening
    return np.broadcast_to(part.scale * whole, len(gram))


def local_variation(run: Snapshot, part: parts.LocalVariationRadius) -> float:
    """`√(d Σω) (B_θ + H B_μ)` with the variation of the current epoch."""
    epoch = min(run.subject.epochs[run.t], len(part.reward_variation) - 1)
    drifted = part.reward_variation[epoch] + run.subject.spec.horizon * part.transition_variation[epoch]
    return math.sqrt(run.subject.spec.dim * run.weights.sum()) * drifted


def information_of_count(samples: float, dim: int, ridge: float) -> float:
    return dim * math.log(1 + samples / (ridge * dim))


def log_determinant(gram: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.slogdet(gram / ridge)[1]  # log det(Λ/λ)


def recomputed_bonus(run: Snapshot) -> np.ndarray:
    """Return the perturbation of `φᵀw` of every pair, `[H, N]`."""
    exploration = run.subject.agent.exploration
    if isinstance(exploration, parts.Ucb):
        return recomputed_radius(run)[:, None] * recomputed_width(run)
    if isinstance(exploration, parts.RandomisedUcb):
        (draw,) = random.draw_normal(run.keys[1], 1, float)
        draw = abs(draw) if exploration.sign == "folded" else draw
        return draw * recomputed_radius(run)[:, None] * recomputed_width(run)
    if isinstance(exploration, parts.Thompson | parts.TruncatedThompson):
        shape = run.gram.shape[:2]
        draws = random.draw_normal(run.keys[1], math.prod(shape), float).reshape(shape)
        shift = run.inverse @ np.linalg.cholesky(explored_gram_sq(run)) @ draws[..., None]
        drawn = recomputed_radius(run)[:, None] * (shift[..., 0] @ run.features.T)
        if isinstance(exploration, parts.Thompson):
            return drawn
        # the draw where ‖φ‖ in the norm of Λ⁻¹ is small, and the largest value where it is large
        lower, gap, norms = exploration.lower, exploration.upper - exploration.lower, run.norms(run.inverse)
        doubt = np.clip((norms - lower) / gap, 0, 1) if gap > 0 else 1.0 * (norms > lower)
        return doubt * (run.steps_left[:, None] - run.learnt @ run.features.T) + (1 - doubt) * drawn
    return np.zeros((len(run.gram), len(run.features)))


def recomputed_width(run: Snapshot) -> np.ndarray:
    """Return `√(φᵀMφ)` of every pair, `[H, N]`, with the exploration's matrix."""
    return run.norms(run.subject.width_matrix(run.inverse, explored_gram_sq(run)))


def explored_gram_sq(run: Snapshot) -> np.ndarray:
    """Return `Λ̃` of the exploration, `[H, d, d]`: as defined, or `Λ + ρI` of a learnt prior.

    `ρ = λ (λτ²/s² − 1)₊`, with `τ² = ‖w‖²/√max(r, 1)` and `r = tr(Λ⁻¹ Σ ω φφᵀ)`, of the rewards alone.
    """
    if run.subject.agent.prior == "given":
        return run.gram_sq
    learnt, variance = run.inverse @ run.weighted(run.history.rewards)[..., None], own_variance(run)
    rank = np.einsum("hde,hed->h", run.inverse, run.weighted(run.history.features))
    size, ridge = np.square(learnt).sum((-2, -1)) / np.sqrt(np.maximum(rank, 1.0)), run.subject.ridge
    ratio = np.divide(ridge * size, variance, out=np.zeros_like(size), where=variance > 0)
    return run.gram + (ridge * np.maximum(ratio - 1, 0.0))[:, None, None] * np.eye(run.gram.shape[-1])


def clip_values(run: Snapshot, values: np.ndarray) -> np.ndarray:
    """Return values `[H, S]` clipped as the agent's `clip` says."""
    clip, top = run.subject.agent.clip, run.steps_left[:, None]
    highest = {"none": np.inf, "tight": top}.get(clip, run.subject.spec.horizon)
    return np.minimum(np.maximum(values, 0.0 if clip in ("tight", "range") else -np.inf), highest)


def recomputed_policy(run: Snapshot) -> np.ndarray:
    """Return the action probabilities that follow from the index, `[H, S, A]`."""
    q, exploration = run.plan.q, run.subject.agent.exploration
    best = q.max(-1, keepdims=True)
    greedy = _normalise(q >= best - _TIED * np.maximum(np.abs(best), 1.0))
    present = np.isfinite(q)
    uniform = _normalise(present)
    if isinstance(exploration, parts.EpsilonGreedy):
        return (1 - exploration.epsilon) * greedy + exploration.epsilon * uniform
    if isinstance(exploration, parts.Softmax):
        return _normalise(np.exp((q - best) / exploration.temperature))
    if isinstance(exploration, parts.InverseGap):
        gaps = np.where(present, best - q, 0.0)
        shares = present / (present.sum(-1, keepdims=True) + exploration.gamma * gaps)
        return shares + (1 - shares.sum(-1, keepdims=True)) * greedy
    return uniform if isinstance(exploration, parts.Uniform) else greedy


def _normalise(chosen: np.ndarray) -> np.ndarray:
    """Return probabilities proportional to the entries of the last axis."""
    return chosen / chosen.sum(-1, keepdims=True)


def own_variance(run: Snapshot) -> np.ndarray:
    """Return `s²` that the agent learns, `[H]`; 1 for agents that do not."""
    noise = run.subject.agent.noise
    if noise is None:
        return np.ones(len(run.gram))
    return noise_variance(noise, run.weights, run.history.squares)[0]


def noise_variance(
    part: parts.LearntNoise, weights: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, float]:
    """`s² = (ν₀P + Σω e²/(1+v)) / ν`, `[H]`, and `ν = ν₀ + Σω`, from `e²/(1+v)`, `[t, H]`.

    P is the mean of all squares but the `lost`, which are 0, or 1 at first.
    """
    degrees = float(part.count + weights.sum())
    known = len(squares) - float(part.lost)
    prior = squares.sum(axis=0) / known if known > 0 else np.ones(squares.shape[1])
    return (part.count * prior + weights @ squares) / degrees, degrees

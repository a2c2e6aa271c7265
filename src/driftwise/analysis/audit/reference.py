"""The plan as Algorithm 1 has it, recomputed from the history in plain NumPy.

Nothing here calls the code that is audited, since a mistake there would be a mistake here. Shared are only
the definition of the weights ω and the addresses of random numbers.
"""

from __future__ import annotations

import math

import numpy as np

from driftwise.analysis.audit import noise
from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.analysis.audit.subject import ROUNDING
from driftwise.base import random
from driftwise.parts.exploration import (
    EpsilonGreedy,
    InverseGap,
    RandomisedUcb,
    Softmax,
    Thompson,
    TruncatedThompson,
    Ucb,
    Uniform,
)
from driftwise.parts.radii import ConfidenceRadius, LocalVariationRadius

TIED = np.finfo(float).eps ** (2 / 3)  # indices so close to the best, relative to it, are tied with it


def radius(run: Snapshot) -> np.ndarray:
    """The radius of the agent, `[H]`: in units of the learnt noise if it says so."""
    return noise.unit(run) * told_radius(run)


def told_radius(run: Snapshot) -> np.ndarray:
    """The radius that the agent's part describes, `[H]`."""
    horizon, part = run.subject.spec.horizon, run.subject.own_radius
    if isinstance(part, ConfidenceRadius):
        return ellipsoid(run, part, run.gram)
    if isinstance(part, LocalVariationRadius):
        return np.full(horizon, part.radius + local_drift(run, part))
    return np.full(horizon, float(part))


def theory_radius(run: Snapshot) -> np.ndarray:
    """The radius for which theory promises anything, `[H]`.

    It is a bandit's with the true σ and S, and of `Λ̃` where determinants count; or that of linear MDPs.
    """
    subject, part = run.subject, run.subject.own_radius
    if subject.is_bandit:
        return ellipsoid(run, subject.bandit_radius, run.gram_sq)
    drift = local_drift(run, part) if isinstance(part, LocalVariationRadius) else 0.0
    return np.full(subject.spec.horizon, subject.mdp_radius + drift)


def ellipsoid(run: Snapshot, part: ConfidenceRadius, gram: np.ndarray) -> np.ndarray:
    """`c (√λ S + σ √(2 log(1/δ') + ℓ) + w)`, `[H]`; ℓ counts samples, or is the determinant of `gram`."""
    ridge, dim = run.subject.ridge, run.subject.spec.dim
    information: np.ndarray | float = log_determinant(gram, ridge)
    if part.information == "count":
        information = counted_information(max(np.square(run.weights).sum(), part.samples), dim, ridge)
    failure = math.log(1 / run.subject.failure(part, run.t))
    deviation = part.noise_scale * np.sqrt(2 * failure + information)
    whole = math.sqrt(ridge) * part.norm_bound + deviation + part.widening
    return np.broadcast_to(part.scale * whole, len(gram))


def radius_share(run: Snapshot) -> float:
    """The agent's radius over theory's, at the least of all steps; one where they differ by rounding."""
    share = float(np.min(run.radius / theory_radius(run)))
    return 1.0 if abs(share - 1) < ROUNDING else share


def local_drift(run: Snapshot, part: LocalVariationRadius) -> float:
    """`√(d Σω) (B_θ + H B_μ)` with the variation of the current epoch."""
    epoch = min(run.subject.epochs[run.t], len(part.reward_variation) - 1)
    drifted = part.reward_variation[epoch] + run.subject.spec.horizon * part.transition_variation[epoch]
    return math.sqrt(run.subject.spec.dim * run.weights.sum()) * drifted


def counted_information(samples: float, dim: int, ridge: float) -> float:
    """`d log(1 + n/(λd))`."""
    return dim * math.log(1 + samples / (ridge * dim))


def log_determinant(gram: np.ndarray, ridge: float) -> np.ndarray:
    """`log det(Λ/λ)`."""
    return np.linalg.slogdet(gram / ridge)[1]


def bonus(run: Snapshot) -> np.ndarray:
    """The perturbation of `φᵀw` of every pair, `[H, N]`."""
    exploration = run.subject.agent.exploration
    if isinstance(exploration, Ucb):
        return radius(run)[:, None] * run.width
    if isinstance(exploration, RandomisedUcb):
        (draw,) = random.normal(run.plan_key, 1, float)
        return (abs(draw) if exploration.sign == "folded" else draw) * radius(run)[:, None] * run.width
    if isinstance(exploration, Thompson | TruncatedThompson):
        shape = run.gram.shape[:2]
        draws = random.normal(run.plan_key, math.prod(shape), float).reshape(shape)
        shift = run.inverse @ np.linalg.cholesky(run.gram_sq) @ draws[..., None]
        drawn = radius(run)[:, None] * (shift[..., 0] @ run.features.T)
        return drawn if isinstance(exploration, Thompson) else _trusted(run, exploration, drawn)
    return np.zeros((len(run.gram), len(run.features)))


def _trusted(run: Snapshot, exploration: TruncatedThompson, drawn: np.ndarray) -> np.ndarray:
    """The draw where `‖φ‖` in the norm of `Λ⁻¹` is small, and the most that can be had where it is not."""
    norms, gap = run.norms(run.inverse), exploration.upper - exploration.lower
    doubt = np.clip((norms - exploration.lower) / gap, 0, 1) if gap > 0 else 1.0 * (norms > exploration.lower)
    most = run.steps_left[:, None] - run.learnt @ run.features.T
    return doubt * most + (1 - doubt) * drawn


def clipped(run: Snapshot, values: np.ndarray) -> np.ndarray:
    """Values `[H, S]` in the range that the agent's `clip` says."""
    horizon = run.subject.spec.horizon
    lowest, highest = {
        "paper": (-np.inf, horizon),
        "tight": (0.0, run.steps_left[:, None]),
        "range": (0.0, horizon),
        "none": (-np.inf, np.inf),
    }[run.subject.agent.clip]
    return np.minimum(np.maximum(values, lowest), highest)


def policy(run: Snapshot) -> np.ndarray:
    """Action probabilities that follow from the index, `[H, S, A]`."""
    q, exploration = run.plan.q, run.subject.agent.exploration
    best = q.max(-1, keepdims=True)
    greedy, anything = _alike(q >= best - TIED * np.maximum(np.abs(best), 1.0)), _alike(np.isfinite(q))
    if isinstance(exploration, EpsilonGreedy):
        return (1 - exploration.epsilon) * greedy + exploration.epsilon * anything
    if isinstance(exploration, Softmax):
        return _alike(np.exp((q - best) / exploration.temperature))
    if isinstance(exploration, InverseGap):
        present = np.isfinite(q)
        gaps = np.where(present, best - q, 0.0)
        shares = present / (present.sum(-1, keepdims=True) + exploration.gamma * gaps)
        return shares + (1 - shares.sum(-1, keepdims=True)) * greedy
    return anything if isinstance(exploration, Uniform) else greedy


def _alike(chosen: np.ndarray) -> np.ndarray:
    """Shares of a whole, over the last axis."""
    return chosen / chosen.sum(-1, keepdims=True)

"""Statements about sums over a whole run."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.snapshot import Trace
from driftwise.analysis.audit.subject import Subject
from driftwise.parts.forgetting import ExponentialWeights, SlidingWindow


@lemma("Lemma 10, fixed t", "always", "confidence")
def failures(run: Trace) -> Sides:
    """Σ δ' ≤ δ over all rounds, or over the epochs where every weight of an epoch is one.

    Without weights the inequality holds for all rounds of an epoch at once, with the largest δ' in it.
    """
    return run.subject.total_failure, run.subject.delta


@lemma(
    "Eq. (23), term A",
    "probable",
    "optimism",
    "successors",
    trivial=lambda run: 2 * run.subject.num_episodes * run.subject.spec.horizon**2,
)
def surprises(run: Trace) -> Sides:
    """|Σ_{t,h} ξ| ≤ 4 √(H³ K log(4/δ))."""
    return np.abs(run.surprises.sum()), _surprise_bound(run.subject)


def _widest(run: Trace) -> float:
    """`HK/√λ`."""
    return run.widths.size / np.sqrt(run.subject.ridge)


@lemma("Eq. (24), term B", "always", "optimism", "potential", trivial=_widest)
def sum_of_widths(run: Trace) -> Sides:
    """Σ_{t,h} ‖φ‖ ≤ H √K √(2dK log(1/η) + 2d log(1 + Σω/(λd))); by blocks where weights are 0 or 1."""
    return run.widths.sum(), _width_bound(run.subject)


@lemma(
    "Theorem 1",
    "promised",
    "optimism",
    "potential",
    trivial=lambda run: run.subject.most_regret * run.subject.num_episodes,
)
def theorem(run: Trace) -> Sides:
    """Regret(K) ≤ (A) + 2β (B) + 4H Σ_{t,h} (bias_r + bias_P), with (A) and (B) as bounded above."""
    explored = 2 * run.radius * _width_bound(run.subject)
    drifted = 4 * run.subject.spec.horizon * run.bias
    return run.regret.sum(), _surprise_bound(run.subject) + explored + drifted


def _surprise_bound(subject: Subject) -> float:
    horizon, num_episodes = subject.spec.horizon, subject.num_episodes
    return float(4 * np.sqrt(horizon**3 * num_episodes * np.log(4 / subject.delta)))


def _width_bound(subject: Subject) -> float:
    r"""$H\sqrt{K\ell}$ with $\ell$ a bound on $\sum_t \|\phi_t\|^2$ at one step.

    Exponential weights: $\ell = 2d(K\log(1/\eta) + \log(1+\sum\omega/(\lambda d)))$ (Russac et al. 2019,
    Proposition 4). Weights of 0 and 1: $\ell = 2d\,n\log(1 + m/(\lambda d))$ for $n$ blocks of at most $m$
    episodes. A ridge below one multiplies by $1/\lambda$.
    """
    spec, ridge, num_episodes = subject.spec, subject.ridge, subject.num_episodes
    forgetting = subject.forgetting
    if isinstance(forgetting, ExponentialWeights):
        samples = forgetting.weights(num_episodes).sum()
        information = num_episodes * np.log(1 / forgetting.rate) + np.log1p(samples / (ridge * spec.dim))
    else:
        blocks = _blocks(subject)
        information = len(blocks) * np.log1p(max(blocks) / (ridge * spec.dim))
    potential = 2 * max(1.0, 1 / ridge) * spec.dim * information
    return float(spec.horizon * np.sqrt(num_episodes * potential))


def _blocks(subject: Subject) -> list[int]:
    """Lengths of stretches of the run such that in each nothing is forgotten that came in it."""
    forgetting, num_episodes = subject.forgetting, subject.num_episodes
    if isinstance(forgetting, SlidingWindow):
        return [min(forgetting.length, num_episodes)] * -(-num_episodes // forgetting.length)
    return np.bincount(subject.epochs[:num_episodes]).tolist()

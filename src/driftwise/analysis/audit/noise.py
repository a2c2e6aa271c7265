"""Learnt noise and scores of forecasts, recomputed from the history in plain NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.parts.noise import learning


def degrees(run: Snapshot) -> float:
    """`ν = ν₀ + Σω`."""
    return float(learning(run.subject.agent.noise).count + run.weights.sum())


def variance(run: Snapshot) -> np.ndarray:
    """`s² = (ν₀σ₀² + Σω e²/(1+v)) / ν`, `[H]`; without a `σ₀` it is the mean of all squares so far, or 1."""
    part, squares = learning(run.subject.agent.noise), run.history.squares
    mean = squares.mean(axis=0) if len(squares) else np.ones(squares.shape[1])
    prior = part.scale**2 if part.scale > 0 else mean
    return (part.count * prior + run.weights @ squares) / degrees(run)


def unit(run: Snapshot) -> np.ndarray:
    """The factor of exploration, `[H]`: `s` where exploration is in units of the learnt noise, else 1."""
    return np.sqrt(variance(run)) if run.subject.in_noise else np.ones(len(run.gram))


def scores(run: Snapshot) -> np.ndarray:
    """`log t_ν(y; m, s²(1+v))` of what came, `[H]`; 0 as long as every error was 0."""
    part, spread = learning(run.subject.agent.noise), variance(run)
    error, doubt = run.forecast
    known = np.where(spread > 0, spread, 1.0)
    found = student.logpdf(error, min(degrees(run), part.max_degrees), scale=np.sqrt(known * (1 + doubt)))
    return np.where(spread > 0, found, 0.0)

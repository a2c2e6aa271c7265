"""Learnt noise and scores of forecasts, recomputed from the history in plain NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from driftwise.analysis.audit.snapshot import Snapshot
from driftwise.parts.noise import LearntNoise


def degrees(part: LearntNoise, weights: np.ndarray) -> float:
    """`ν = ν₀ + Σω`, from weights `[t]`."""
    return float(part.count + weights.sum())


def variance(part: LearntNoise, weights: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """`s² = (ν₀P + Σω e²/(1+v)) / ν`, `[H]` from weights `[t]` and squares `e²/(1+v)`, `[t, H]`.

    P is the mean of all squares, or 1 at first; with a `σ₀`, that of `σ₀²`, ν₀ times, and the forgotten.
    """
    if part.scale > 0:
        forgotten = part.count * part.scale**2 + (1 - weights) @ squares
        prior = forgotten / (part.count + np.sum(1 - weights))
    else:
        prior = squares.mean(axis=0) if len(squares) else np.ones(squares.shape[1])
    return np.maximum((part.count * prior + weights @ squares) / degrees(part, weights), part.least**2)


def unit(run: Snapshot) -> np.ndarray:
    """The factor of exploration, `[H]`: `s` where exploration is in units of the learnt noise, else 1."""
    part = run.subject.agent.noise
    if part is None:
        return np.ones(len(run.gram))
    return np.sqrt(variance(part, run.weights, run.history.squares))


def scores(part: LearntNoise, spread: np.ndarray, count: float, run: Snapshot) -> np.ndarray:
    """`log t_ν(y; m, s²(1+v))` of what came, `[H]`, from `s²` and ν; 0 as long as every error was 0."""
    error, doubt = run.forecast
    known = np.where(spread > 0, spread, 1.0)
    found = student.logpdf(error, min(count, part.max_degrees), scale=np.sqrt(known * (1 + doubt)))
    return np.where(spread > 0, found, 0.0)

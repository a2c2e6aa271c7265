r"""Random walks fitted to windows of a log: an upper limit of their variation, and a test that excludes them.

Windows estimate $\bar\theta_j+\varepsilon_j$, with $\varepsilon_j$ the error of least squares and
$\bar\theta_j$ the mean over the window of a path with independent steps $\theta_{t+1}-\theta_t\sim N(0,
s^2)$, in the units of the noise. A walk is excluded if, compared with 199 simulated walks, the path is too
smooth (the likelihood ratio of an integrated walk is larger than theirs) or jumps (its innovations have
heavier tails).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.theory.partition import Norm, Windows

with require_extra("theory.random_walk", "simulate"):
    from scipy.linalg import block_diag
    from scipy.special import chdtri

_NUM_WALKS = 199  # simulated walks; the smallest p-value is 0.5 %
_EXCLUDED = 0.005
_NUM_STEPS = 4000  # for the mean of their norm
_SCALES = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 24)])  # of s², as shares of the largest


class Walk(NamedTuple):
    """A random walk fitted to a log."""

    high: float  # upper confidence limit of its variation
    p_value: float  # share of simulated walks at least as smooth or as heavy-tailed

    @property
    def excluded(self) -> bool:
        return self.p_value <= _EXCLUDED


class _Model(NamedTuple):
    """Contrasts of windows, `z ~ N(0, noise + s² signal)` in each of the directions."""

    noise: np.ndarray  # [k, k]
    signal: np.ndarray  # [k, k]

    def factor(self, scale: float) -> np.ndarray:
        return np.linalg.cholesky(self.noise + scale * self.signal)

    def likelihood(self, logs: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Log-likelihood `[scales, n]` of the logs `[k, directions, n]`, but for a constant."""
        size, directions, _ = logs.shape
        values = []
        for scale in scales:
            factor = self.factor(scale)
            white = np.linalg.solve(factor, logs.reshape(size, -1)).reshape(logs.shape)
            constant = directions * np.log(np.diag(factor)).sum()
            values.append(-constant - np.square(white).sum((0, 1)) / 2)
        return np.array(values)


def random_walk(windows: Windows, norm: Norm, rng: np.random.Generator, level: float) -> Walk:
    """Fit a random walk to windows `[m, d, p]` and test it."""
    num, dim, width = windows.cross.shape
    sizes, directions = np.linalg.eigh(windows.root)
    whitener = directions[:, -windows.rank :] / sizes[-windows.rank :]  # directions without noise left out
    path = (np.linalg.solve(windows.gram, windows.cross) @ whitener).reshape(num * dim, windows.rank, 1)
    steps, bends = (np.kron(np.diff(np.eye(num), order, axis=0), np.eye(dim)) for order in (1, 2))
    walk, integrated = (np.kron(matrix, np.eye(dim)) for matrix in _covariances(windows.edges))
    noise = np.asarray(block_diag(*np.linalg.inv(windows.gram)))

    model = _Model(steps @ noise @ steps.T, steps @ walk @ steps.T)
    moved = np.einsum("ij,j...->i...", steps, path)
    if not moved.any():
        return Walk(0.0, 1.0)
    top = 3 * np.square(moved).mean() / np.diag(model.signal).mean()
    scales = top * _SCALES
    peak = max(scales[model.likelihood(moved, scales)[:, 0].argmax()], scales[1])
    scales = np.concatenate([scales, peak * np.geomspace(0.3, 30, 40)])  # more around and above the peak
    likelihood = model.likelihood(moved, scales)[:, 0]
    allowed = 2 * (likelihood.max() - likelihood) <= chdtri(1, 1 - level)
    best, most = float(scales[likelihood.argmax()]), float(scales[allowed].max())

    drawn = model.factor(best) @ rng.normal(size=(len(moved), windows.rank * _NUM_WALKS))
    logs = np.concatenate([moved, drawn.reshape(len(moved), windows.rank, _NUM_WALKS)], axis=-1)
    new = np.linalg.solve(model.factor(best), logs.reshape(len(moved), -1)).reshape(logs.shape)
    tails = (new**4).mean((0, 1)) / np.square(np.square(new).mean((0, 1)))
    bent = np.einsum("ij,jkn->ikn", bends @ np.linalg.pinv(steps), logs)  # second differences
    rough, smooth = (
        _Model(bends @ noise @ bends.T, bends @ kernel @ bends.T) for kernel in (walk, integrated)
    )
    ratio = np.diag(rough.signal).mean() / np.diag(smooth.signal).mean()
    smoothness = smooth.likelihood(bent, 10 * top * ratio * _SCALES).max(axis=0)
    smoothness = smoothness - rough.likelihood(bent, top * _SCALES).max(axis=0)
    step = norm(rng.normal(size=(_NUM_STEPS, dim, width)) @ windows.root).mean()
    variation = (windows.edges[-1] - 1) * math.sqrt(most) * step
    p_values = [float(np.mean(values >= values[0])) for values in (tails, smoothness)]
    return Walk(float(variation), min(p_values))


def _covariances(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return $\min(s,t)$ and $\int\!\int\min$, of a walk and its integral, for means over windows."""
    centres, sizes = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    early, late = np.minimum.outer(centres, centres), np.maximum.outer(centres, centres)
    return early - np.diag(sizes / 6), early**2 * (3 * late - early) / (6 * edges[-1] ** 2)

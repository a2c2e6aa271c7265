r"""Paths fitted to windows of logged regression data: pieces, lines within pieces, and random walks.

Only sums over windows are kept: $A_j=\sum x x^\top$ and $B_j=\sum x y^\top$ with targets $y\in\mathbb R^p$
whose noise covariance $\Sigma$ may be singular, as that of one-hot successors.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.validation import ArgumentError

with require_extra("theory.windows", "simulate"):
    from scipy.linalg import block_diag
    from scipy.special import chdtri, fdtrc

Norm = Callable[[np.ndarray], np.ndarray]  # steps [..., d, p] to [...]
_MIN_LINE_WINDOWS = 3
_NOISE_FLOOR = 1e-12  # variances below this share of the targets' mean square count as 0
_NUM_WALKS = 199  # simulated walks; the smallest p-value is 0.5 %
_EXCLUDED = 0.005
_NUM_STEPS = 4000  # for the mean of their norm
_SCALES = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 24)])  # of s², as shares of the largest


def euclidean(steps: np.ndarray) -> np.ndarray:
    """The ℓ2 norm over all entries."""
    return np.sqrt(np.square(steps).sum((-2, -1)))


def total_variation(steps: np.ndarray) -> np.ndarray:
    """Per coordinate the L1 norm of the measure, then the ℓ2 norm over coordinates."""
    return np.sqrt(np.square(np.abs(steps).sum(-1)).sum(-1))


class Windows(NamedTuple):
    """Sums over windows, and the noise around their fits."""

    gram: np.ndarray  # [m, d, d]
    cross: np.ndarray  # [m, d, p]
    root: np.ndarray  # [p, p] Σ^{1/2}, symmetric
    rank: int  # directions of Σ with noise, at least one
    num_residuals: int  # behind Σ: samples less parameters
    edges: np.ndarray  # [m + 1] first samples, and the number of all

    @property
    def centres(self) -> np.ndarray:
        return (self.edges[1:] + self.edges[:-1]) / 2

    def resample(self, path: np.ndarray, rng: np.random.Generator, num: int) -> np.ndarray:
        """Draw sums $B$ of logs with the same features that follow the path `[m, d, p]`: `[num, m, d, p]`."""
        noise = rng.normal(size=(num, *self.cross.shape))
        return self.gram @ path + np.linalg.cholesky(self.gram) @ noise @ self.root

    def find_pieces(self, cross: np.ndarray, price: float) -> np.ndarray:
        """Return which windows start a piece, `[n, m]`, for logs `[n, m, d, p]` and a price per piece."""
        num_logs, num_windows = cross.shape[:2]
        whitener = np.linalg.inv(self.root)
        gram_sums = np.concatenate([np.zeros_like(self.gram[:1]), np.cumsum(self.gram, 0)])
        cross_sums = np.concatenate([np.zeros_like(cross[:, :1]), np.cumsum(cross, 1)], axis=1)
        best = np.zeros((num_logs, num_windows + 1))
        begins = np.zeros((num_logs, num_windows + 1), dtype=int)  # of the last piece of the best partition
        for end in range(1, num_windows + 1):
            white = (cross_sums[:, [end]] - cross_sums[:, :end]) @ whitener
            solved = np.linalg.solve(gram_sums[end] - gram_sums[:end], white)
            gains = (white * solved).sum((-2, -1)) + best[:, :end] - price  # tr Σ⁻¹BᵀA⁻¹B of the last piece
            begins[:, end], best[:, end] = gains.argmax(axis=1), gains.max(axis=1)
        starts = np.zeros((num_logs, num_windows), dtype=bool)
        for log, begin in enumerate(begins):
            end = num_windows
            while end:
                end = begin[end]
                starts[log, end] = True
        return starts

    def fit_pieces(self, cross: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameter of every piece, `[..., n, d, p]`, and its inverse gram, `[n, d, d]`."""
        first = np.flatnonzero(starts)
        inverse = np.linalg.inv(np.add.reduceat(self.gram, first, axis=0))
        return inverse @ np.add.reduceat(cross, first, axis=-3), inverse

    def path_in_pieces(self, starts: np.ndarray) -> np.ndarray:
        """Return the path `[m, d, p]` of the log that is constant within the pieces."""
        return self.fit_pieces(self.cross, starts)[0][np.cumsum(starts) - 1]

    def p_value(self, starts: np.ndarray) -> float:
        """Return the p-value of an F-test that the path is constant within pieces; conservative if fitted."""
        freedom = (len(starts) - int(starts.sum())) * self.gram.shape[-1] * self.rank
        if freedom == 0:
            return 1.0
        misfit = np.linalg.solve(self.gram, self.cross) - self.path_in_pieces(starts)
        white = misfit @ np.linalg.inv(self.root)
        total = float((white * (self.gram @ white)).sum())  # of a χ² distribution for the true path
        return float(fdtrc(freedom, self.num_residuals * self.rank, total / freedom))

    def jump_variation(self, cross: np.ndarray, starts: np.ndarray, norm: Norm, draws: np.ndarray) -> float:
        """Return the summed norms of jumps between pieces, with the expected squared noise subtracted."""
        parameters, inverse = self.fit_pieces(cross, starts)
        scale = np.linalg.cholesky(inverse[1:] + inverse[:-1])[:, None]  # [steps, 1, d, d]
        noise = np.square(norm(scale @ draws @ self.root)).mean(axis=1)
        squares = np.square(norm(np.diff(parameters, axis=0)))
        return float(np.sqrt(np.maximum(squares - noise, 0.0)).sum())

    def fit_lines(self, cross: np.ndarray, starts: np.ndarray, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
        r"""Fit lines to the pieces of logs `[..., m, d, p]`; pieces of fewer than three windows are constant.

        Return the path `[..., m, d, p]` at the centres of windows, and its variation `[...]`, with a third
        of the second difference at constant pieces: the most by which a parabola exceeds the window means.
        """
        centres, edges = self.centres, self.edges
        borders = np.append(np.flatnonzero(starts), len(starts))
        level, _ = self.fit_pieces(cross, starts)
        path, moves, end = np.empty_like(cross), [], None
        for number, (first, last) in enumerate(itertools.pairwise(borders)):
            middle, slope = level[..., number, :, :], np.zeros_like(level[..., 0, :, :])
            times = (centres[first:last] - centres[first:last].mean()) / edges[-1]
            if last - first >= _MIN_LINE_WINDOWS:
                middle, slope = _line(self.gram[first:last], cross[..., first:last, :, :], times)
            elif 0 < number < len(borders) - 2:
                bend = np.diff(level[..., number - 1 : number + 2, :, :], 2, axis=-3)
                moves.append(bend[..., 0, :, :] / 3)
            fitted = middle[..., None, :, :] + times[:, None, None] * slope[..., None, :, :]
            path[..., first:last, :, :] = fitted
            reach = (edges[[first, last]] - centres[first:last].mean()) / edges[-1]
            if end is not None:
                moves.append(middle + reach[0] * slope - end)
            end = middle + reach[1] * slope
            moves.append((reach[1] - reach[0]) * slope)
        return path, norm(np.stack(moves)).sum(axis=0)


def split_windows(features: np.ndarray, targets: np.ndarray, window: int) -> Windows:
    """Split a log into windows of `window` samples; the last window may be longer."""
    starts = window * np.arange(len(features) // window)
    gram = np.add.reduceat(features[:, :, None] * features[:, None, :], starts, axis=0)
    thin = np.flatnonzero(np.linalg.cond(gram, 2) > 1e10)
    if len(thin):
        expected = f"span all {features.shape[1]} directions in every window of {window} samples"
        got = f"rank {np.linalg.matrix_rank(gram[thin[0]])} in the window that starts at {starts[thin[0]]}"
        raise ArgumentError("features", expected, features, got)
    cross = np.add.reduceat(features[:, :, None] * targets[:, None, :], starts, axis=0)
    place = np.minimum(np.arange(len(features)) // window, len(starts) - 1)
    residuals = targets - np.einsum("td,tdp->tp", features, np.linalg.solve(gram, cross)[place])
    num_residuals = len(features) - len(starts) * features.shape[1]
    sizes, directions = np.linalg.eigh(residuals.T @ residuals / num_residuals)
    floor = _NOISE_FLOOR * np.square(targets).mean() + np.finfo(float).tiny ** 0.5
    root = (directions * np.sqrt(np.maximum(sizes, floor))) @ directions.T
    rank = max(int(np.sum(sizes > floor)), 1)
    return Windows(gram, cross, root, rank, num_residuals, np.append(starts, len(features)))


def _line(gram: np.ndarray, cross: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares intercept and slope, `[..., d, p]`, over windows at centred `times`."""
    design, dim = np.stack([np.ones_like(times), times]), gram.shape[-1]
    whole = np.einsum("it,jt,tde->idje", design, design, gram).reshape(2 * dim, 2 * dim)
    sums = [np.tensordot(cross, column, ([-3], [0])) for column in design]  # [..., d, p] each
    solution = np.linalg.solve(whole, np.concatenate(sums, axis=-2))
    return solution[..., :dim, :], solution[..., dim:, :]


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
        for factor in map(self.factor, scales):
            white = np.linalg.solve(factor, logs.reshape(size, -1)).reshape(logs.shape)
            constant = directions * np.log(np.diag(factor)).sum()
            values.append(-constant - np.square(white).sum((0, 1)) / 2)
        return np.array(values)


def random_walk(windows: Windows, norm: Norm, rng: np.random.Generator, level: float) -> Walk:
    r"""Fit a walk of independent steps $\theta_{t+1}-\theta_t\sim N(0, s^2)$, in units of the noise; test it.

    It is excluded if, compared with simulated walks, the path is too smooth (the likelihood ratio of an
    integrated walk is larger than theirs) or jumps (its innovations have heavier tails).
    """
    num, dim, width = windows.cross.shape
    sizes, directions = np.linalg.eigh(windows.root)
    whitener = directions[:, -windows.rank :] / sizes[-windows.rank :]  # directions without noise left out
    path = (np.linalg.solve(windows.gram, windows.cross) @ whitener).reshape(num * dim, windows.rank, 1)
    steps, bends = (np.kron(np.diff(np.eye(num), order, axis=0), np.eye(dim)) for order in (1, 2))
    early, late = (extreme.outer(windows.centres, windows.centres) for extreme in (np.minimum, np.maximum))
    covariances = (  # of the means of a walk and of an integrated walk over windows
        early - np.diag(np.diff(windows.edges) / 6),
        early**2 * (3 * late - early) / (6 * windows.edges[-1] ** 2),
    )
    walk, integrated = (np.kron(matrix, np.eye(dim)) for matrix in covariances)
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
    rough, smooth = (_Model(bends @ noise @ bends.T, bends @ moves @ bends.T) for moves in (walk, integrated))
    ratio = np.diag(rough.signal).mean() / np.diag(smooth.signal).mean()
    likely = smooth.likelihood(bent, 10 * top * ratio * _SCALES).max(axis=0)
    smoothness = likely - rough.likelihood(bent, top * _SCALES).max(axis=0)
    step = norm(rng.normal(size=(_NUM_STEPS, dim, width)) @ windows.root).mean()
    variation = (windows.edges[-1] - 1) * math.sqrt(most) * step
    return Walk(float(variation), min(float(np.mean(values >= values[0])) for values in (tails, smoothness)))

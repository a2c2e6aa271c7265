r"""Partition of logged regression data into pieces of windows with one parameter each.

Only sums over windows are kept: $A_j=\sum x x^\top$ and $B_j=\sum x y^\top$ with targets $y\in\mathbb R^p$
whose noise covariance $\Sigma$ may be singular, as that of one-hot successors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.validation import ArgumentError

with require_extra("theory.partition", "simulate"):
    from scipy.special import fdtrc

Norm = Callable[[np.ndarray], np.ndarray]  # steps [..., d, p] to [...]
_MIN_LINE_WINDOWS = 3
_NOISE_FLOOR = 1e-12  # variances below this share of the targets' mean square count as 0


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

    def whiten(self, matrix: np.ndarray) -> np.ndarray:
        """Return `M Σ^{-1/2}`."""
        return matrix @ np.linalg.inv(self.root)


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


def explained_sums(windows: Windows, cross: np.ndarray) -> np.ndarray:
    r"""$\mathrm{tr}(\Sigma^{-1}B^\top A^{-1}B)$ of each window: `[..., m, d, p]` to `[..., m]`."""
    white = windows.whiten(cross)
    return (white * np.linalg.solve(windows.gram, white)).sum((-2, -1))


def resample(windows: Windows, path: np.ndarray, rng: np.random.Generator, num: int) -> np.ndarray:
    """Draw sums $B$ of logs with the same features that follow the path `[m, d, p]`: `[num, m, d, p]`."""
    noise = rng.normal(size=(num, *windows.cross.shape))
    return windows.gram @ path + np.linalg.cholesky(windows.gram) @ noise @ windows.root


def find_pieces(windows: Windows, cross: np.ndarray, price: float) -> np.ndarray:
    """Return which windows start a piece, `[n, m]`, in every log `[n, m, d, p]`: the partition that maximises
    the explained sum of squares minus a price per piece."""
    num_logs, num_windows = cross.shape[:2]
    gram_sums = np.concatenate([np.zeros_like(windows.gram[:1]), np.cumsum(windows.gram, 0)])
    cross_sums = np.concatenate([np.zeros_like(cross[:, :1]), np.cumsum(cross, 1)], axis=1)
    best = np.zeros((num_logs, num_windows + 1))
    begins = np.zeros((num_logs, num_windows + 1), dtype=int)  # of the last piece of the best partition
    for end in range(1, num_windows + 1):
        segments = windows._replace(gram=gram_sums[end] - gram_sums[:end])
        gains = explained_sums(segments, cross_sums[:, [end]] - cross_sums[:, :end]) + best[:, :end] - price
        begins[:, end] = gains.argmax(axis=1)
        best[:, end] = gains.max(axis=1)
    starts = np.zeros((num_logs, num_windows), dtype=bool)
    for log, begin in enumerate(begins):
        end = num_windows
        while end:
            end = begin[end]
            starts[log, end] = True
    return starts


def pieces_p_value(windows: Windows, starts: np.ndarray) -> float:
    """Return the p-value of an F-test that the path is constant within pieces; conservative if fitted."""
    freedom = (len(starts) - int(starts.sum())) * windows.gram.shape[-1] * windows.rank
    if freedom == 0:
        return 1.0
    path = fit_pieces(windows, windows.cross, starts)[0][np.cumsum(starts) - 1]
    white = windows.whiten(np.linalg.solve(windows.gram, windows.cross) - path)
    misfit = float((white * (windows.gram @ white)).sum())  # of a χ² distribution for the true path
    return float(fdtrc(freedom, windows.num_residuals * windows.rank, misfit / freedom))


def fit_pieces(windows: Windows, cross: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameter of every piece, `[..., n, d, p]`, and its inverse gram, `[n, d, d]`."""
    first = np.flatnonzero(starts)
    inverse = np.linalg.inv(np.add.reduceat(windows.gram, first, axis=0))
    return inverse @ np.add.reduceat(cross, first, axis=-3), inverse


def jump_variation(
    windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm, examples: np.ndarray
) -> float:
    """Return the summed norms of jumps between pieces, with the expected squared noise subtracted."""
    parameters, inverse = fit_pieces(windows, cross, starts)
    scale = np.linalg.cholesky(inverse[1:] + inverse[:-1])[:, None]  # [steps, 1, d, d]
    noise = np.square(norm(scale @ examples @ windows.root)).mean(axis=1)
    squares = np.square(norm(np.diff(parameters, axis=0)))
    return float(np.sqrt(np.maximum(squares - noise, 0.0)).sum())


def fit_lines(
    windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm
) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit lines to the pieces of logs `[..., m, d, p]`; pieces of fewer than three windows are constant.

    Return the path `[..., m, d, p]` at the centres of windows, and its variation `[...]`, with a third of
    the second difference of constant pieces: the most by which a parabola exceeds the window means where it
    turns.
    """
    centres, edges = (windows.edges[1:] + windows.edges[:-1]) / 2, windows.edges
    borders = np.append(np.flatnonzero(starts), len(starts))
    level, _ = fit_pieces(windows, cross, starts)
    path, moves, end = np.empty_like(cross), [], None
    for number, (first, last) in enumerate(itertools.pairwise(borders)):
        middle, slope = level[..., number, :, :], np.zeros_like(level[..., 0, :, :])
        times = (centres[first:last] - centres[first:last].mean()) / edges[-1]
        if last - first >= _MIN_LINE_WINDOWS:
            middle, slope = _line(windows.gram[first:last], cross[..., first:last, :, :], times)
        elif 0 < number < len(borders) - 2:
            moves.append(np.diff(level[..., number - 1 : number + 2, :, :], 2, axis=-3)[..., 0, :, :] / 3)
        path[..., first:last, :, :] = middle[..., None, :, :] + times[:, None, None] * slope[..., None, :, :]
        reach = (edges[[first, last]] - centres[first:last].mean()) / edges[-1]
        if end is not None:
            moves.append(middle + reach[0] * slope - end)
        end = middle + reach[1] * slope
        moves.append((reach[1] - reach[0]) * slope)
    return path, norm(np.stack(moves)).sum(axis=0)


def _line(gram: np.ndarray, cross: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares intercept and slope, `[..., d, p]`, over windows at centred `times`."""
    design, dim = np.stack([np.ones_like(times), times]), gram.shape[-1]
    whole = np.einsum("it,jt,tde->idje", design, design, gram).reshape(2 * dim, 2 * dim)
    sums = [np.tensordot(cross, column, ([-3], [0])) for column in design]  # [..., d, p] each
    solution = np.linalg.solve(whole, np.concatenate(sums, axis=-2))
    return solution[..., :dim, :], solution[..., dim:, :]

r"""A log of regression data in windows, and the pieces of windows that share their parameter.

Only sums over windows are kept: $A_j=\sum x x^\top$ and $B_j=\sum x y^\top$ with targets $y\in\mathbb R^p$
whose noise has one covariance $\Sigma$, of which some directions may be without noise: one-hot successors
sum to one, and those of states that are never reached are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.validation import ArgumentError

Norm = Callable[[np.ndarray], np.ndarray]  # steps [..., d, p] to [...]
ROUNDING = 1e-12  # of the targets' mean square: less noise than that is none


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

    @property
    def whitener(self) -> np.ndarray:
        """`Σ^{-1/2}`."""
        return np.linalg.inv(self.root)


def cut(features: np.ndarray, targets: np.ndarray, window: int) -> Windows:
    """Windows of so many samples; the last ones, too few for a window, belong to the one before."""
    starts = window * np.arange(len(features) // window)
    gram = np.add.reduceat(features[:, :, None] * features[:, None, :], starts, axis=0)
    thin = np.flatnonzero(np.linalg.cond(gram, 2) > 1e10)
    if len(thin):
        expected = f"span all {features.shape[1]} directions in every window of {window} samples"
        found = f"rank {np.linalg.matrix_rank(gram[thin[0]])} in the one that begins at {starts[thin[0]]}"
        raise ArgumentError("features", expected, features, found)
    cross = np.add.reduceat(features[:, :, None] * targets[:, None, :], starts, axis=0)
    place = np.minimum(np.arange(len(features)) // window, len(starts) - 1)
    residuals = targets - np.einsum("td,tdp->tp", features, np.linalg.solve(gram, cross)[place])
    num_residuals = len(features) - len(starts) * features.shape[1]
    sizes, directions = np.linalg.eigh(residuals.T @ residuals / num_residuals)
    floor = ROUNDING * np.square(targets).mean() + np.finfo(float).tiny ** 0.5
    root = (directions * np.sqrt(np.maximum(sizes, floor))) @ directions.T
    rank = max(int(np.sum(sizes > floor)), 1)
    return Windows(gram, cross, root, rank, num_residuals)


def explained(windows: Windows, cross: np.ndarray) -> np.ndarray:
    r"""$\mathrm{tr}(\Sigma^{-1}B^\top A^{-1}B)$ of each window: `[..., m, d, p]` to `[..., m]`."""
    white = cross @ windows.whitener
    return (white * np.linalg.solve(windows.gram, white)).sum((-2, -1))


def statistic(windows: Windows) -> float:
    r"""Gain of one parameter for each window over one for all: $\chi^2_{(m-1)d\,\mathrm{rank}\Sigma}$
    without drift; directions without noise add nothing then, and next to infinity where they move.
    """
    whole = windows._replace(gram=windows.gram.sum(0)[None], cross=windows.cross.sum(0)[None])
    return float(explained(windows, windows.cross).sum() - explained(whole, whole.cross).sum())


def resample(windows: Windows, path: np.ndarray, rng: np.random.Generator, num: int) -> np.ndarray:
    """Sums $B$ of logs with the same features that follow the path `[m, d, p]`: `[num, m, d, p]`."""
    noise = rng.normal(size=(num, *windows.cross.shape))
    return windows.gram @ path + np.linalg.cholesky(windows.gram) @ noise @ windows.root


def pieces(windows: Windows, cross: np.ndarray, price: float) -> np.ndarray:
    """The windows that begin a piece, `[n, m]`, of every log `[n, m, d, p]`.

    What the pieces explain, less a price for each, is as much as can be.
    """
    num_logs, num_windows = cross.shape[:2]
    gram_sums = np.concatenate([np.zeros_like(windows.gram[:1]), np.cumsum(windows.gram, 0)])
    cross_sums = np.concatenate([np.zeros_like(cross[:, :1]), np.cumsum(cross, 1)], axis=1)
    best = np.zeros((num_logs, num_windows + 1))
    begins = np.zeros((num_logs, num_windows + 1), dtype=int)  # of the last piece of the best partition
    for end in range(1, num_windows + 1):
        segments = windows._replace(gram=gram_sums[end] - gram_sums[:end])
        found = explained(segments, cross_sums[:, [end]] - cross_sums[:, :end]) + best[:, :end] - price
        begins[:, end] = found.argmax(axis=1)
        best[:, end] = found.max(axis=1)
    starts = np.zeros((num_logs, num_windows), dtype=bool)
    for log, begin in enumerate(begins):
        end = num_windows
        while end:
            end = begin[end]
            starts[log, end] = True
    return starts


def fit(windows: Windows, cross: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parameter of every piece `[n, d, p]` and the inverse of its gram `[n, d, d]`, of one log."""
    first = np.flatnonzero(starts)
    inverse = np.linalg.inv(np.add.reduceat(windows.gram, first, axis=0))
    return inverse @ np.add.reduceat(cross, first, axis=0), inverse


def jumps(windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm, examples: np.ndarray) -> float:
    """The sum over steps between pieces of their norms, of whose squares the noise's mean is taken off."""
    parameters, inverse = fit(windows, cross, starts)
    scale = np.linalg.cholesky(inverse[1:] + inverse[:-1])[:, None]  # [steps, 1, d, d]
    noise = np.square(norm(scale @ examples @ windows.root)).mean(axis=1)
    squares = np.square(norm(np.diff(parameters, axis=0)))
    return float(np.sqrt(np.maximum(squares - noise, 0.0)).sum())


def ramps(windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm) -> float:
    """The variation of straight lines through the centres of pieces, on to the ends of the log.

    One piece is read as two halves: a steady drift that goes unseen is no larger than what they allow.
    """
    if starts.sum() == 1:
        starts = np.isin(np.arange(len(starts)), [0, len(starts) // 2])
    steps = norm(np.diff(fit(windows, cross, starts)[0], axis=0))
    lengths = np.diff(np.append(np.flatnonzero(starts), len(starts)))
    ends = steps[0] * lengths[0] / (lengths[0] + lengths[1]) + steps[-1] * lengths[-1] / (
        lengths[-1] + lengths[-2]
    )
    return float(steps.sum() + ends)

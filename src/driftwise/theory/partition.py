r"""A log of regression data in windows, and the pieces of windows that share their parameter.

Only sums over windows are kept: $A_j=\sum x x^\top$ and $B_j=\sum x y^\top$ with targets $y\in\mathbb R^p$
whose noise has one covariance $\Sigma$, of which some directions may be without noise: one-hot successors
sum to one, and those of states that are never reached are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.extras import needed_by
from driftwise.base.validation import ArgumentError

with needed_by("theory.partition", "simulate"):
    from scipy.special import fdtrc

Norm = Callable[[np.ndarray], np.ndarray]  # steps [..., d, p] to [...]
FEWEST_OF_A_LINE = 3  # windows
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
    edges: np.ndarray  # [m + 1] first samples, and the number of all

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
    return Windows(gram, cross, root, rank, num_residuals, np.append(starts, len(features)))


def explained(windows: Windows, cross: np.ndarray) -> np.ndarray:
    r"""$\mathrm{tr}(\Sigma^{-1}B^\top A^{-1}B)$ of each window: `[..., m, d, p]` to `[..., m]`."""
    white = cross @ windows.whitener
    return (white * np.linalg.solve(windows.gram, white)).sum((-2, -1))


def misfit(windows: Windows, path: np.ndarray) -> float:
    r"""Distance of the path `[m, d, p]` from least squares in each window, in units of noise.

    $\chi^2$ for the true path; directions without noise add nothing then, and next to infinity elsewhere.
    """
    white = (np.linalg.solve(windows.gram, windows.cross) - path) @ windows.whitener
    return float((white * (windows.gram @ white)).sum())


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


def p_value(windows: Windows, starts: np.ndarray) -> float:
    """Chance of windows to differ as much from the pieces of theirs, if the path is in these pieces.

    An F-test, on the careful side where the pieces were chosen to fit.
    """
    freedom = (len(starts) - int(starts.sum())) * windows.gram.shape[-1] * windows.rank
    if freedom == 0:
        return 1.0
    path = fit(windows, windows.cross, starts)[0][np.cumsum(starts) - 1]
    return float(fdtrc(freedom, windows.num_residuals * windows.rank, misfit(windows, path) / freedom))


def fit(windows: Windows, cross: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parameter of every piece `[..., n, d, p]` and the inverse of its gram `[n, d, d]`."""
    first = np.flatnonzero(starts)
    inverse = np.linalg.inv(np.add.reduceat(windows.gram, first, axis=0))
    return inverse @ np.add.reduceat(cross, first, axis=-3), inverse


def jumps(windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm, examples: np.ndarray) -> float:
    """The sum over steps between pieces of their norms, of whose squares the noise's mean is taken off."""
    parameters, inverse = fit(windows, cross, starts)
    scale = np.linalg.cholesky(inverse[1:] + inverse[:-1])[:, None]  # [steps, 1, d, d]
    noise = np.square(norm(scale @ examples @ windows.root)).mean(axis=1)
    squares = np.square(norm(np.diff(parameters, axis=0)))
    return float(np.sqrt(np.maximum(squares - noise, 0.0)).sum())


class Lines(NamedTuple):
    """A path of a straight line in each piece, of which one of fewer than three windows is level."""

    path: np.ndarray  # [..., m, d, p] at the centres of windows
    variation: np.ndarray  # [...]


def lines(windows: Windows, cross: np.ndarray, starts: np.ndarray, norm: Norm) -> Lines:
    r"""Lines in the pieces of logs `[..., m, d, p]`, and the variation of a path that may run so within them.

    That of the lines from edge to edge of their pieces and of the jumps between them; for a level piece also
    a third of its second difference $\|\theta_{k+1}-2\theta_k+\theta_{k-1}\|$: so much at most a smooth path,
    as a parabola, goes further than the means of windows where it turns round.
    """
    centres, edges = (windows.edges[1:] + windows.edges[:-1]) / 2, windows.edges
    borders = np.append(np.flatnonzero(starts), len(starts))
    level, _ = fit(windows, cross, starts)
    path, moves, end = np.empty_like(cross), [], None
    for number, (first, last) in enumerate(itertools.pairwise(borders)):
        middle, slope = level[..., number, :, :], np.zeros_like(level[..., 0, :, :])
        times = (centres[first:last] - centres[first:last].mean()) / edges[-1]
        if last - first >= FEWEST_OF_A_LINE:
            middle, slope = _line(windows.gram[first:last], cross[..., first:last, :, :], times)
        elif 0 < number < len(borders) - 2:
            moves.append(np.diff(level[..., number - 1 : number + 2, :, :], 2, axis=-3)[..., 0, :, :] / 3)
        path[..., first:last, :, :] = middle[..., None, :, :] + times[:, None, None] * slope[..., None, :, :]
        reach = (edges[[first, last]] - centres[first:last].mean()) / edges[-1]
        if end is not None:
            moves.append(middle + reach[0] * slope - end)
        end = middle + reach[1] * slope
        moves.append((reach[1] - reach[0]) * slope)
    return Lines(path, norm(np.stack(moves)).sum(axis=0))


def _line(gram: np.ndarray, cross: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and slope `[..., d, p]` of least squares over windows at these times, of mean zero."""
    design, dim = np.stack([np.ones_like(times), times]), gram.shape[-1]
    whole = np.einsum("it,jt,tde->idje", design, design, gram).reshape(2 * dim, 2 * dim)
    sums = [np.tensordot(cross, each, ([-3], [0])) for each in design]  # [..., d, p] each
    found = np.linalg.solve(whole, np.concatenate(sums, axis=-2))
    return found[..., :dim, :], found[..., dim:, :]

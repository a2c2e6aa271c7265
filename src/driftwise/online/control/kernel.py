"""Features of observations: those of a kernel, or a coordinate for each state that can be counted."""

import math
from typing import NamedTuple, Protocol, Self

import numpy as np

_LEAST_LEFT = 1e-6  # of the kernel's variance at an observation, for it to become a centre
_JITTER = 1e-8  # below which differences of centres are lost in rounding
_MOST_CANDIDATES = 2000  # for centres


class StateFeatures(Protocol):
    """A map from vectors of observations to features of norm about 1."""

    @property
    def num(self) -> int: ...  # of features

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Return features `[..., d]` of vectors `[..., k]`."""
        ...

    def unexplained(self, rows: np.ndarray) -> np.ndarray:
        """Return the share of the prior variance that features `[..., d]` leave out."""
        ...


class CountedFeatures(NamedTuple):
    """A coordinate for each state; vectors are numbers of states, `[..., 1]`."""

    num: int

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return np.equal(vectors, np.arange(self.num)).astype(np.float64)

    def unexplained(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(rows.shape[:-1])


class KernelFeatures(NamedTuple):
    r"""Features whose products are those of a Gaussian kernel at its centres, and a constant.

    With $z = g(x - c)$, $k(z, z') = e^{-\|z - z'\|^2/2}$ and the kernel's matrix $K = LL^\top$ at the
    centres, the features are $L^{-1}k(z)$, the Nyström approximation. It falls short of $k(z, z) = 1$ where
    no centre is near: that share of the prior variance is `unexplained`, so what was never seen is uncertain.
    """

    shift: np.ndarray  # [k]
    gain: np.ndarray  # [k]
    centres: np.ndarray  # [m, k] in the kernel's units
    transform: np.ndarray  # [m, m]

    @classmethod
    def none(cls, num: int) -> Self:
        """Return the constant alone, for vectors of so many numbers."""
        return cls(np.zeros(num), np.zeros(num), np.zeros((0, num)), np.zeros((0, 0)))

    @classmethod
    def fit(cls, vectors: np.ndarray, ends: np.ndarray, most: int, rng: np.random.Generator) -> Self:
        """Return features with centres among vectors `[n, k]`, scaled by the lowest and highest `[2, k]`.

        Centres are chosen in turn where the variance that the others leave is largest (pivoted Cholesky).
        """
        low, high = ends
        shift, spread = (low + high) / 2, (high - low) / 2
        gain = _frequency(vectors.shape[1]) / np.where(spread > 0, spread, 1.0)
        num = min(len(vectors), _MOST_CANDIDATES)
        points = (vectors[np.sort(rng.choice(len(vectors), num, replace=False))] - shift) * gain
        factor, left, chosen = np.zeros((num, min(most, num))), np.ones(num), list[int]()
        for k in range(factor.shape[1]):
            i = int(left.argmax())
            if left[i] < _LEAST_LEFT:
                break
            column = _kernel(points, points[[i]])[:, 0] - factor[:, :k] @ factor[i, :k]
            factor[:, k] = column / math.sqrt(left[i])
            left = np.maximum(left - factor[:, k] ** 2, 0)
            chosen.append(i)
        centres = points[chosen]
        matrix = _kernel(centres, centres) + _JITTER * np.eye(len(centres))
        return cls(shift, gain, centres, np.linalg.inv(np.linalg.cholesky(matrix)).T)

    @property
    def num(self) -> int:
        return len(self.centres) + 1

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        rows = np.ones((*vectors.shape[:-1], self.num))
        np.matmul(
            _kernel((vectors - self.shift) * self.gain, self.centres), self.transform, out=rows[..., :-1]
        )
        return rows

    def unexplained(self, rows: np.ndarray) -> np.ndarray:
        return np.maximum(1 - np.vecdot(rows[..., :-1], rows[..., :-1]), 0)


def _kernel(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the kernel `[..., m]` of points `[..., k]` and centres `[m, k]`."""
    exponent = points @ centres.T
    exponent -= np.vecdot(centres, centres) / 2
    exponent -= np.vecdot(points, points)[..., None] / 2
    return np.exp(np.minimum(exponent, 0, out=exponent), out=exponent)


def _frequency(num: int) -> float:
    """Return the kernel's frequency in units scaled to [−1, 1]: fewer numbers allow finer detail."""
    return 2.0 if num <= 3 else 12.0 / num**2

"""Blocks of features: coordinates that never meet in a sample, which leave zeros in the grams and their factors."""

from collections.abc import Iterator
from typing import Self

import numpy as np

_DENSE = 0.7  # share of pairs that have met, from which on coordinates are kept as one block


class FeatureBlocks:
    r"""A tree of runs of coordinates, outside of whose branches a gram has no entries but zeros.

    Two coordinates have an entry where they are in one run, or one run is an ancestor of the other. Where all
    ancestors come after their descendants, Cholesky's factor has the same zeros. Coordinates that have met in
    samples are connected. A connected part in which most have met is a run. From others the coordinate that
    has met most, such as a constant, becomes a run of its own, above those that the rest falls into: of
    arms with one-hot features and a constant each, the constants are above the categories. A coordinate that
    has met no other is put where one is that has, and that is nearest by its number.
    """

    def __init__(self, met: np.ndarray) -> None:
        """Make it of the pairs `[d, d]` that have met in samples."""
        self._met = met
        self._arrange()

    def covers(self, features: np.ndarray) -> bool:
        """Return whether there are entries for all pairs of a sample `[d]`, and note that these have met."""
        used = features.nonzero()[0]
        pairs = (used[:, None] * len(features) + used).ravel()
        self._met.reshape(-1)[pairs] = True
        return bool(self._stored.take(pairs).all())

    def extended(self, met: np.ndarray) -> Self:
        """Return the blocks after these pairs have met as well."""
        return type(self)(self._met | met)

    def covers_all(self, gram: np.ndarray) -> bool:
        """Return whether there are entries for all of a gram `[d, d]`."""
        return np.count_nonzero(gram) == np.count_nonzero(gram[self._stored])

    @property
    def cost(self) -> int:
        """Multiplications that a factor takes."""
        return int((self._lengths**2).sum()) // 2

    def _arrange(self) -> None:
        """Find the runs, and list their coordinates, descendants first."""
        met, dim = self._met, len(self._met)
        runs, parents = list[np.ndarray](), list[int]()  # ancestors first
        alone = met.sum(axis=0) == 1
        parts = [(np.flatnonzero(~alone), -1)]
        while parts:
            inside, parent = parts.pop()
            for part in _components(met[np.ix_(inside, inside)]):
                block = inside[part]
                degrees = met[np.ix_(block, block)].sum(axis=0)
                parents.append(parent)
                if degrees.sum() >= _DENSE * len(block) ** 2:
                    runs.append(block)
                else:
                    highest = int(degrees.argmax())
                    parts.append((np.delete(block, highest), len(runs)))
                    runs.append(block[highest : highest + 1])
        above = {*parents}
        near = np.full(dim, -1)  # the parent of a coordinate that would come beside
        for number, (run, parent) in enumerate(zip(runs, parents, strict=True)):
            near[run] = number if number in above else parent
        rest, others = np.flatnonzero(alone), np.flatnonzero(~alone)
        if len(others):
            right = np.searchsorted(others, rest).clip(0, len(others) - 1)
            left = np.maximum(right - 1, 0)
            is_left = rest - others[left] <= others[right] - rest
            near = near[others[np.where(is_left | (others[right] < rest), left, right)]]
        else:
            near = near[rest]
        runs += [rest[i : i + 1] for i in range(len(rest))]
        parents += near.tolist()
        sizes = np.array([len(run) for run in runs])
        ends = dim - (sizes.cumsum() - sizes)
        starts = np.append(ends - sizes, dim)  # of the parent -1, too
        parents = np.array(parents)
        repeated = np.repeat(np.arange(len(runs)), sizes)[::-1]
        order = np.concatenate([run[::-1] for run in runs])[::-1]
        self.layout = np.array([order, ends[repeated], starts[parents][repeated]], dtype=np.float64)
        self._stored = np.zeros((dim, dim), dtype=bool)
        lengths, paths = list[np.ndarray](), list[np.ndarray]()
        for run, parent in zip(runs, parents.tolist(), strict=True):
            path = run if parent < 0 else np.concatenate([run, paths[parent]])
            paths.append(path)
            lengths.append(len(path) - np.arange(len(run)))
            self._stored[run[:, None], path] = self._stored[path[:, None], run] = True
        self._lengths = np.concatenate(lengths)


def _components(met: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the connected parts of a symmetric relation `[n, n]`."""
    unseen = np.ones(len(met), dtype=bool)
    for first in range(len(met)):
        if unseen[first]:
            part, size = met[first], 0
            while size < (size := np.count_nonzero(part)):
                part = met[part].any(axis=0)
            unseen &= ~part
            yield np.flatnonzero(part)

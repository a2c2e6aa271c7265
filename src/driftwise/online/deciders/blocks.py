"""Blocks of features: coordinates that never meet in a sample leave zeros in grams and in their factors."""

from collections.abc import Iterator
from typing import Self

import numpy as np

_DENSE = 0.7  # share of pairs that have met, from which on coordinates are kept as one block


class FeatureBlocks:
    r"""A tree of runs of coordinates, outside of whose branches a gram has no entries but zeros.

    Two coordinates have an entry if they are in one run, or the run of one is an ancestor of the other's.
    Cholesky's factor has the same zeros if ancestors come last. Coordinates that have met in a sample are
    connected. A connected part in which most pairs have met is a run. From any other part the coordinate that
    has met most is taken, such as a constant: it becomes a run, above those that the rest falls into. So the
    constants of arms with a constant and one-hot features each are above the categories. A coordinate that
    has met no other is put beside the one with the nearest number that has.
    """

    def __init__(self, met: np.ndarray) -> None:
        """Make it of the pairs `[d, d]` that have met in samples."""
        self._met, dim = met, len(met)
        runs, leaves = _find_runs(met)
        sizes = np.array([len(run) for run, _ in runs], dtype=int)
        ends = dim - (sizes.cumsum() - sizes)  # ancestors last
        starts = np.append(ends - sizes, dim)  # the last is that of no parent
        columns = [(run, np.full(len(run), ends[i]), parent) for i, (run, parent) in enumerate(runs)]
        first = 0
        for alone, parent in leaves:
            columns.append((alone, np.arange(first, first := first + len(alone)) + 1, parent))
        columns = columns[len(runs) :] + columns[: len(runs)][::-1]
        order, ends = (np.concatenate([column[i] for column in columns]) for i in (0, 1))
        parents = np.concatenate([np.full(len(run), starts[parent]) for run, _, parent in columns])
        self.layout = np.array([order, ends, parents], dtype=np.float64)  # [3, d] as in `_mixture.c`
        self._stored, self.cost = np.eye(dim, dtype=bool), 0.0  # of a factor, in multiplications
        paths = list[np.ndarray]()
        for run, parent in runs:
            paths.append(np.append(run, paths[parent] if parent >= 0 else []).astype(int))
            self._stored[run[:, None], paths[-1]] = self._stored[paths[-1][:, None], run] = True
            self.cost += sum((len(paths[-1]) - i) ** 2 for i in range(len(run))) / 2
        for alone, parent in leaves:
            above = paths[parent] if parent >= 0 else np.empty(0, dtype=int)
            self._stored[alone[:, None], above] = self._stored[above[:, None], alone] = True
            self.cost += len(alone) * (1 + len(above)) ** 2 / 2
        self._entries = np.flatnonzero(self._stored)

    def covers(self, features: np.ndarray) -> bool:
        """Return whether there are entries for all pairs of a sample `[d]`, and note that these have met."""
        used = features.nonzero()[0]
        pairs = (used[:, None] * len(features) + used).ravel()
        self._met.reshape(-1)[pairs] = True
        return bool(self._stored.take(pairs).all())

    def covers_all(self, gram: np.ndarray) -> bool:
        """Return whether there are entries for all numbers of a gram `[d, d]` that are not 0."""
        return np.count_nonzero(gram) == np.count_nonzero(gram.take(self._entries))

    def extended(self, gram: np.ndarray | None = None) -> Self:
        """Return the blocks of all pairs that have met by now, and of those that a gram has."""
        return type(self)(self._met if gram is None else self._met | (gram != 0))


Runs = list[tuple[np.ndarray, int]]  # coordinates, and the number of the parent run, or -1


def _find_runs(met: np.ndarray) -> tuple[Runs, Runs]:
    """Return runs, ancestors first, and groups of coordinates that are runs of their own below a parent."""
    runs, leaves, near = Runs(), Runs(), np.full(len(met), -1)
    isolated = met.sum(axis=0) == 1
    parts: Runs = [(np.flatnonzero(~isolated), -1)]
    while parts:
        inside, parent = parts.pop()
        inner = met.take(inside, axis=0).take(inside, axis=1)
        counts = inner.sum(axis=0)
        alone = counts == 1
        leaves.append((inside[alone], parent))
        near[inside] = parent
        for part in _components(inner, ~alone):
            block, degrees = inside[part], counts[part]  # all that they have met is in the part
            if degrees.sum() >= _DENSE * len(block) ** 2:
                runs.append((block, parent))
                continue
            highest = int(degrees.argmax())
            near[block[highest]] = len(runs)
            parts.append((np.delete(block, highest), len(runs)))
            runs.append((block[highest : highest + 1], parent))
    rest, others = np.flatnonzero(isolated), np.flatnonzero(~isolated)
    beside = np.full(len(rest), -1)
    if len(others):
        right = np.searchsorted(others, rest).clip(1, max(1, len(others) - 1)) % len(others)
        is_left = rest - others[right - 1] <= others[right] - rest
        beside = near[others[np.where(is_left, right - 1, right)]]
    leaves += [(rest[beside == parent], parent) for parent in np.unique(beside).tolist()]
    return runs, leaves


def _components(met: np.ndarray, unseen: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the connected parts of a symmetric relation `[n, n]`, of those that were not seen."""
    while unseen.any():
        part, size = met[unseen.argmax()], 0
        while size < (size := np.count_nonzero(part)):
            part = met[part].any(axis=0)
        unseen = unseen & ~part
        yield np.flatnonzero(part)

"""Blocks of features: coordinates that never meet in a sample leave zeros in grams and in their factors."""

from functools import cached_property
from typing import Self

import numpy as np


class FeatureBlocks:
    r"""A tree of coordinates: a gram has entries where one is an ancestor of the other, and zeros elsewhere.

    It is the elimination tree of the pairs that have met in samples: the parent of a coordinate is the first
    that follows it in its row of Cholesky's factor. Those that met fewest come first, unless the order is to
    be kept. So coordinates that have all met are a path, and a constant is above all that it has met. A
    coordinate that has met no other is placed beside the nearest that has, whose pairs may be its own later.
    """

    def __init__(self, met: np.ndarray, *, in_order: bool = False) -> None:
        """Make it of the pairs `[d, d]` that have met; each coordinate has met itself."""
        self._met, self._in_order, dim, places = met, in_order, len(met), np.arange(len(met))
        counts = met.sum(axis=0)
        self._order = places.copy() if in_order else np.argsort(counts, kind="stable")
        self._places = np.empty_like(places)
        self._places[self._order] = places
        together = np.flatnonzero(counts[self._order] > 1)
        parents = _parents(met, self._order, together)
        num_children = np.bincount(parents, minlength=dim + 1)[:-1]
        begins = np.append(True, (parents[:-2] != places[1:]) | (num_children[1:] > 1))  # a run
        starts = np.append(np.flatnonzero(begins), dim)
        runs = begins.cumsum() - 1
        ends = starts[runs + 1]
        parents[:-1] = parents[ends - 1]
        alone, others = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
        if len(others):
            right = np.searchsorted(others, alone).clip(1, len(others) - 1)
            is_left = alone - others[right - 1] <= others[right] - alone
            near = starts[runs[self._places[others[np.where(is_left, right - 1, right)]]]]
            near = np.where(num_children[near] > 0, near, parents[near])
            parents[self._places[alone]] = np.where(near > self._places[alone], near, dim)
        self.layout = np.array([self._order, ends, parents[:-1]], dtype=np.float64)  # as in `_mixture.c`
        self._stored = np.zeros((dim + 1, dim), dtype=bool)  # by places, one that is before the other
        for start, end in zip(starts[-2::-1].tolist(), starts[:0:-1].tolist(), strict=True):
            self._stored[start:end] = self._stored[parents[start]]
            self._stored[start:end, start:end] = True
        sizes = self._stored[starts[:-1]].sum(axis=1)
        lengths = sizes[runs] + starts[runs] - places  # of rows
        self.cost = float(lengths.dot(lengths) / 2)  # multiplications of a factor

    def covers(self, features: np.ndarray) -> bool:
        """Return whether there are entries for all pairs of a sample `[d]`, and note that these have met."""
        used = features.nonzero()[0]
        self._met.reshape(-1)[(used[:, None] * len(features) + used).ravel()] = True
        path = np.sort(self._places[used])
        return bool(self._stored[path[:-1], path[1:]].all())

    def covers_all(self, gram: np.ndarray) -> bool:
        """Return whether there are entries for all numbers of a gram `[d, d]` that are not 0."""
        return np.count_nonzero(gram) == np.count_nonzero(gram.take(self._entries))

    def extended(self, gram: np.ndarray | None = None) -> Self:
        """Return the blocks of all pairs that have met by now, and of those that a gram has."""
        met = self._met if gram is None else self._met | (gram != 0)
        return type(self)(met, in_order=self._in_order)

    @cached_property
    def _entries(self) -> np.ndarray:
        stored = self._stored[:-1]
        one, other = (self._order[places] for places in (stored | stored.T).nonzero())
        return one * len(self._order) + other


def _parents(met: np.ndarray, order: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places of parents in the elimination tree `[d + 1]`, `d` for none, of those at some places."""
    upper = np.triu(met.take(order[places], axis=0).take(order[places], axis=1), 1)
    packed = np.packbits(upper, axis=1, bitorder="little")
    rows = [int.from_bytes(row.tobytes(), "little") for row in packed]
    parents = np.full(len(met) + 1, len(met))
    for number, row in enumerate(rows):  # sets of numbers, as bits
        if row:
            first = row & -row
            parent = first.bit_length() - 1
            parents[places[number]], rows[parent] = places[parent], rows[parent] | row ^ first
    return parents

"""Sums of the decisions that wait for their rewards, which count in the widths of confidence intervals."""

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Self

import numpy as np

from driftwise.online.tensors import Tensors, require_sound, with_leaves

_SPARSE = 0.3  # share of columns in use below which the others are left out
_MANY = 1000  # removals, beside as many as are left, after which rounding is removed


class WaitingSums:
    """`Σ(φ, 1)(φ, 1)ᵀ` over the decisions whose rewards may still come.

    A decision no longer counts when more than twice as many others were made since as ever came before a
    reward, since rewards may be lost. It is summed when the sums are asked for: most rewards come before.
    The φ are what `expand` returns for rows of features.
    """

    def __init__(self, dim: int, expand: Callable[[np.ndarray], np.ndarray] = np.asarray) -> None:
        size = expand(np.zeros(dim)).shape[-1] + 1
        self._expand, self._gram = expand, np.zeros((size, size))
        self._new: dict[str, tuple[int, np.ndarray]] = {}  # numbers and features of decisions not in the sum
        self._summed: OrderedDict[str, tuple[int, np.ndarray]] = OrderedDict()
        self._first_new = self._num_removed = 0
        self._longest = 0  # decisions from the one of a reward until it came, at most; 0 before the first

    def add(self, id: str, number: int, features: np.ndarray) -> None:
        """Add a decision."""
        self._new[id] = number, features

    def remove(self, ids: Iterable[str], delay: int = 0) -> None:
        """Remove decisions; a reward came when its was the last but `delay - 1`, or never, which is 0."""
        if delay > self._longest:
            self._longest = delay
        old = [id for id in ids if self._new.pop(id, None) is None and id in self._summed]
        if old:
            self._subtract(old)

    def gram(self, number: int) -> np.ndarray | None:
        """Return the sums `[d + 1, d + 1]` before the decision of this number; None if nothing waits."""
        if not self._new and not self._summed:
            return None
        if self._new:
            self._add(self._with_ones([features for _, features in self._new.values()]), 1.0)
            self._summed.update(self._new)
            self._new.clear()
        self._first_new = number
        oldest = number - 2 * self._longest if self._longest else 0
        while self._summed and next(iter(self._summed.values()))[0] < oldest:
            self._subtract([next(iter(self._summed))])
        return self._gram if self._summed else None

    def copy(self) -> Self:
        """Return the same sums, which may be asked while these stay as they are."""
        other = copy.copy(self)
        other._gram, other._new, other._summed = self._gram.copy(), self._new.copy(), self._summed.copy()
        return other

    def to_tensors(self) -> Tensors:
        """Return the sums as they are, to the last bit."""
        first = next(iter(self._summed.values()))[0] if self._summed else self._first_new
        numbers = first, self._first_new, self._num_removed, self._longest
        return {"waiting.gram": self._gram.copy(), "waiting.numbers": np.array(numbers)}

    def restore(self, stored: Tensors, decisions: Iterable[tuple[str, int, np.ndarray]]) -> None:
        """Read the sums of `to_tensors`, of decisions in the order in which they were made."""
        kept = self._gram, np.zeros(4, dtype=np.int64)
        names = "waiting.gram", "waiting.numbers"
        gram, numbers = with_leaves(kept, ((name, require_sound(name, stored[name])) for name in names))
        self._gram = gram.copy()
        first, self._first_new, self._num_removed, self._longest = numbers.tolist()
        for id, number, features in decisions:
            if number >= self._first_new:
                self._new[id] = number, features
            elif number >= first:
                self._summed[id] = number, features

    def _add(self, rows: np.ndarray, sign: float) -> None:
        """Add the outer products of rows, which may be mostly zeros, times a sign."""
        used = np.flatnonzero(rows.any(axis=0))
        if len(used) > _SPARSE * rows.shape[1]:
            self._gram += sign * rows.T.dot(rows)
        else:
            inner = rows[:, used]
            self._gram[used[:, None], used] += sign * inner.T.dot(inner)

    def _subtract(self, ids: list[str]) -> None:
        """Remove decisions that are in the sum."""
        self._add(self._with_ones([self._summed.pop(id)[1] for id in ids]), -1.0)
        self._num_removed += len(ids)
        if not self._summed:
            self._gram[:] = 0
        elif self._num_removed >= _MANY + len(self._summed):
            rows = self._with_ones([features for _, features in self._summed.values()])
            self._gram, self._num_removed = rows.T.dot(rows), 0

    def _with_ones(self, features: list[np.ndarray]) -> np.ndarray:
        """Return features as rows, each with a one behind it."""
        rows = self._expand(np.stack(features))
        return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)

"""Drifts made of drifts, which share their anchors (but for a product), and drifts made of data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from driftwise.base.files import require_regular_file
from driftwise.base.part import count, member, members, record
from driftwise.base.types import Numeric
from driftwise.base.validation import ArgumentError, as_array, require_array, require_numeric
from driftwise.environments.drift.curves import MOVE_ROUNDING, Drift, require_increasing


@dataclass(frozen=True)
class _Composite(Drift):
    """Several drifts that share their anchors, and jump where one of them does."""

    episode_fields = ()

    drifts: tuple[Drift, ...] = members(Drift)

    @property
    def num_anchors(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return max(drift.num_anchors for drift in self.drifts)

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return _moved(self, (change for drift in self.drifts for change in drift.changes(num_episodes)))


@record
class Then(_Composite):
    r"""One drift after the other, each counting from 0 where it begins: `at` is $a_1, a_2, \dots$

    $$c(t) = c_k(t - a_k) \quad\text{from episode } a_k \text{ on}, \qquad a_0 = 0$$
    """

    episode_fields = ("at",)

    at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        at = require_increasing("at", self.at, at_least=1) if len(self.drifts) > 1 else tuple(self.at)
        if len(at) != len(self.drifts) - 1:
            expected = f"have an episode for each drift but the first, {len(self.drifts) - 1}"
            raise ArgumentError("at", expected, self.at)
        object.__setattr__(self, "at", at)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        episodes = np.asarray(episodes)
        segment = np.searchsorted(np.array(self.at, dtype=int), episodes, side="right")
        weights = np.zeros((len(episodes), self.num_anchors))
        for k, (start, drift) in enumerate(zip((0, *self.at), self.drifts, strict=True)):
            now = segment == k
            weights[now, : drift.num_anchors] = drift.mixture(episodes[now] - start)
        return weights

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        episodes: list[int] = []
        for start, end, drift in zip((0, *self.at), (*self.at, num_episodes), self.drifts, strict=True):
            length = max(min(end, num_episodes) - start, 0)
            episodes += [start + change for change in drift.changes(length)]
            if end < num_episodes and _breaks(self, end, drift, end - start):
                episodes.append(end)
        return tuple(episodes)


@record
class Repeat(Drift):
    r"""The first `period` episodes of a drift, over and over: $c(t) = c_1(t \bmod p)$."""

    episode_fields = ("period",)

    drift: Drift = member(Drift)
    period: int = count()

    @property
    def num_anchors(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.drift.num_anchors

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        return self.drift.mixture(np.asarray(episodes) % self.period)

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        within = self.drift.changes(min(self.period, num_episodes))
        if _breaks(self, self.period, self.drift, self.period):
            within = (0, *within)
        episodes = (start + change for start in range(0, num_episodes, self.period) for change in within)
        return tuple(episode for episode in episodes if 0 < episode < num_episodes)


@record
class Sum(_Composite):
    r"""Several drifts at once: $c(t) = \sum_k w_kc_k(t)/\sum_k w_k$; equal `shares` $w_k$ unless given."""

    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        shares = self.shares if np.size(self.shares) else (1.0,) * len(self.drifts)
        shares = require_numeric("shares", shares, above=0)
        if np.shape(shares) != (len(self.drifts),):
            expected = f"be one number for each of {len(self.drifts)} drifts"
            raise ArgumentError("shares", expected, self.shares)
        object.__setattr__(self, "shares", shares)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        total = np.zeros((len(episodes), self.num_anchors))
        for share, drift in zip(self.shares, self.drifts, strict=True):
            total[:, : drift.num_anchors] += share / sum(self.shares) * drift.mixture(episodes)
        return total


@record
class Product(_Composite):
    r"""Drifts, each of a thing of its own: an anchor for each combination, $c_{ij}(t) = c_i(t)\,c_j(t)$.

    The last index is the fastest. With rewards $\theta_i$ and measures $\mu_j$ at anchor $(i, j)$, the first
    drift moves the rewards and the second the transitions.
    """

    @property
    def num_anchors(self) -> int:
        return int(np.prod([drift.num_anchors for drift in self.drifts]))

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        weights = np.ones((len(episodes), 1))
        for drift in self.drifts:
            pairs = weights[:, :, None] * drift.mixture(episodes)[:, None, :]
            weights = pairs.reshape(len(episodes), weights.shape[1] * drift.num_anchors)
        return weights


def _moved(drift: Drift, candidates: Iterable[int]) -> tuple[int, ...]:
    """The episodes at which a drift is not where it was before, in order."""
    episodes = np.unique(np.fromiter(candidates, dtype=int))
    moves = np.abs(drift.mixture(episodes) - drift.mixture(episodes - 1)).sum(axis=-1)
    return tuple(int(episode) for episode in episodes[moves > MOVE_ROUNDING])


def _breaks(drift: Drift, at: int, before: Drift, age: int) -> bool:
    """Whether a drift jumps where the one `before` ends: that had jumped as well, or gone elsewhere."""
    if not _moved(drift, (at,)):
        return False
    here = drift.mixture(np.array([at]))[0]
    ahead = np.zeros_like(here)
    ahead[: before.num_anchors] = before.mixture(np.array([age]))[0]
    return bool(np.abs(here - ahead).sum() > MOVE_ROUNDING) or age in before.changes(age + 1)


@record
class Recorded(Drift):
    """Weights of the anchors from an array or a file, one row an episode; the last row stays.

    Args:
      weights: `[T, num_anchors]`, rows on the simplex; or `[T]`, the share of the second of two anchors; or
        the name of a file with them, `.npy` or text: a line a row, with commas, with or without a header.
      knots: the episode of each row, if not 0, 1, …; straight lines lead from row to row.
    """

    episode_fields = ("knots",)

    weights: Numeric  # kept as nested tuples
    knots: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        source = self.weights
        array = as_array(read_weights(source) if isinstance(source, (str, os.PathLike)) else source)
        weights = require_array("weights", array, (None,) if array.ndim == 1 else (None, None))
        if array.ndim == 1:  # shares of the second anchor
            weights = np.stack([1 - weights, weights], axis=-1)
        if not weights.size:
            raise ArgumentError("weights", "have at least one row", source)
        bad = (weights.min(axis=1) < -1e-8) | (np.abs(weights.sum(axis=1) - 1) > 1e-8)
        if bad.any():
            got = f"{weights[bad][0].tolist()} in row {np.argmax(bad)}"
            raise ArgumentError("weights", "be at least 0 and sum to 1 in every row", source, got)
        object.__setattr__(self, "weights", tuple(map(tuple, weights.tolist())))
        if np.size(self.knots):
            knots = require_increasing("knots", self.knots, at_least=0)
            if len(knots) != len(weights):
                raise ArgumentError("knots", f"be as many as there are rows, {len(weights)}", self.knots)
            object.__setattr__(self, "knots", knots)

    def __repr__(self) -> str:
        digest = hashlib.sha256(self._rows.tobytes()).hexdigest()[:16]
        return f"Recorded({len(self._rows)} rows of {self.num_anchors} weights, {digest}, knots={self.knots})"

    @property
    def num_anchors(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.weights[0])

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.array(self.weights)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        if not self.knots:
            return self._rows[np.minimum(episodes, len(self._rows) - 1)]
        return np.stack([np.interp(episodes, self.knots, weights) for weights in self._rows.T], axis=-1)


def read_weights(name: str | os.PathLike[str]) -> np.ndarray:
    """Return the numbers in a file; those of one column are a list."""
    try:
        require_regular_file(name)
        if Path(name).suffix == ".npy":
            return np.load(name, allow_pickle=False)
        lines = [line for line in Path(name).read_text(encoding="utf-8").splitlines() if line.strip()]
        try:
            [float(cell) for cell in "".join(lines[:1]).split(",")]
        except ValueError:  # a header, or nothing
            lines = lines[1:]
        if not lines:
            raise ValueError("no numbers in it")
        numbers = np.loadtxt(lines, delimiter=",", ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        expected, got = "be an array, or the name of a file of numbers", f"{os.fspath(name)!r} ({why})"
        raise ArgumentError("weights", expected, name, got) from None
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers

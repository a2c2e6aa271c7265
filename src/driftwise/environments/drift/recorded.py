"""A drift that was measured or computed elsewhere."""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from pathlib import Path

import numpy as np

from driftwise.base.files import require_regular_file
from driftwise.base.part import record
from driftwise.base.types import Numeric
from driftwise.base.validation import ArgumentError, as_array, require_array
from driftwise.environments.drift.curves import Drift, require_increasing

_TOLERANCE = 1e-8  # of what sums to 1


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
        bad = (weights.min(axis=1) < -_TOLERANCE) | (np.abs(weights.sum(axis=1) - 1) > _TOLERANCE)
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
        rows = lines[1:] if lines and not _numeric(lines[0]) else lines
        if not rows:
            raise ValueError("no numbers in it")
        numbers = np.loadtxt(rows, delimiter=",", ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        expected, got = "be an array, or the name of a file of numbers", f"{os.fspath(name)!r} ({why})"
        raise ArgumentError("weights", expected, name, got) from None
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def _numeric(line: str) -> bool:
    try:
        [float(cell) for cell in line.split(",")]
    except ValueError:
        return False
    return True

"""The encoder of a log's contexts, from the values that its features have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from driftwise.online.encoding import Category, Column, Encoder, Number
from driftwise.online.encoding.pilots import MOST_WORDS, edges


class Seen:
    """The range of every feature that is a number, and all words of every other."""

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[float, float]] = {}
        self._words: dict[str, set[str]] = {}

    def add(self, features: Mapping[str, np.ndarray]) -> None:
        """Take in the features of some rows."""
        for name, values in features.items():
            if values.dtype == object:
                words = self._words.setdefault(name, set())
                words.update(values)
                if len(words) > MOST_WORDS:
                    most = f"{name} must have at most {MOST_WORDS:,} different words, got more"
                    raise ValueError(f"{most}: take an encoder that hashes them")
            elif len(values):
                low, high = self._ranges.get(name, (np.inf, -np.inf))
                self._ranges[name] = min(low, float(values.min())), max(high, float(values.max()))

    def encoder(self, names: tuple[str, ...]) -> Encoder:
        """Numbers from their range to [−1, 1], or 0 where they are all alike, and words one-hot."""
        return Encoder(tuple(map(self._column, names)))

    def _column(self, name: str) -> Column:
        if name in self._words:
            return Category(name, tuple(sorted(self._words[name])))
        return Number(name, *edges(*self._ranges[name]))

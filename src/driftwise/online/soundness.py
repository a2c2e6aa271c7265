"""Checks of a state that was read: sums that no rewards and features could have made are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureState
from driftwise.base.types import Moments
from driftwise.base.validation import ArgumentError
from driftwise.parts.noise import NoiseSums

ROUNDING = 1e-6  # of its largest number that a matrix may lie below what it can be


def require_sums(state: Any) -> None:
    """Grams of a state are symmetric and nowhere negative, nor are its weights or its sums of squares.

    Weights of the memories of a mixture sum to 1.
    """
    if isinstance(state, MixtureState) and not np.allclose(np.exp(state.log_weights).sum(axis=-1), 1):
        raise ArgumentError("state: weights of memories", "sum to 1", state.log_weights)
    if isinstance(state, NoiseSums):
        _require_positive("a sum of squared errors", state.total)
        _require_positive("a sum of squared errors", state.moments.cross[..., 0, 0])
    if isinstance(state, Moments):
        for name in ("ridge", "weight", "weight_sq"):
            _require_positive(name, getattr(state, name))
        for gram in (state.gram, state.gram_sq):
            if gram is not None:
                _require_gram(gram)
    if isinstance(state, tuple):
        for each in state:
            require_sums(each)


def _require_positive(name: str, numbers: Any) -> None:
    smallest = float(np.min(numbers))
    if smallest < -ROUNDING * float(np.max(np.abs(numbers))):
        raise ArgumentError(f"state: {name}", "be at least 0", smallest)


def _require_gram(gram: Any) -> None:
    room = ROUNDING * float(np.abs(gram).max())
    if not np.allclose(gram, np.swapaxes(gram, -1, -2), rtol=0, atol=room):
        raise ArgumentError("state: a gram matrix", "be symmetric", gram, "one that is not")
    try:
        np.linalg.cholesky(gram + room * np.eye(gram.shape[-1]))
    except np.linalg.LinAlgError:  # eigenvalues take ten times as long
        smallest = float(np.linalg.eigvalsh(gram)[..., 0].min())
    else:
        return
    if smallest < -room:
        raise ArgumentError("state: a gram matrix", "have no eigenvalue below 0", smallest)

"""A log as samples of a regression: the features of what was done, and its reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.online.replay.logs import Log, Survey
from driftwise.online.replay.models import Encoding

MAX_DIM = 500  # an event takes time in its cube: then some hundredths of a second


class Samples(NamedTuple):
    """The usable rows of a log."""

    features: np.ndarray  # [n, dim] of the actions that were taken
    rewards: np.ndarray  # [n]
    actions: tuple[str, ...]  # all that there are
    skipped: int  # rows with a value that is missing or not finite
    encoding: Encoding  # which makes features of later contexts and actions


def read_samples(log: Log, *, shared: bool = False) -> Samples:
    """The whole log, with the features that a replay of it has (`Encoding`).

    A log without actions has the features `(1, z)/√(p+1)`.
    """
    seen = log.survey()
    encoding = fitted_encoding(log, seen, shared)
    features, rewards, first = np.empty((seen.rows, encoding.dim)), np.empty(seen.rows), 0
    for events in log.events():
        rows = slice(first, first + len(events.rewards))
        first = rows.stop
        if first > seen.rows:
            raise log.changed()
        features[rows] = encoding.taken(encoding.contexts(events.features), seen.arms(log, events))
        rewards[rows] = events.rewards
    if first != seen.rows:
        raise log.changed()
    return Samples(features, rewards, tuple(seen.actions), seen.skipped, encoding)


def fitted_encoding(log: Log, seen: Survey, shared: bool) -> Encoding:
    """The features of a log's actions, of which there are not too many."""
    encoding = Encoding(seen.encoder, len(seen.actions), shared)
    smaller = "fewer actions or features" if shared else "shared=True (--shared), or fewer features"
    what = f"{len(seen.actions):,} actions and {seen.encoder.dim:,} features of contexts"
    require_dim(f"{log.path}: {what}", encoding.dim, f": take {smaller}")
    return encoding


def require_dim(what: str, dim: int, advice: str = "") -> None:
    """Refuse more weights than can be replayed in reasonable time."""
    if dim > MAX_DIM:
        raise ValueError(f"{what} must make at most {MAX_DIM:,} weights, got {dim:,}{advice}")

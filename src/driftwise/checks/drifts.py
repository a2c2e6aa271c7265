"""The contract of drifts: one curve on the simplex, whoever asks for which part of it."""

from __future__ import annotations

import itertools

import numpy as np

from driftwise.checks.contract import TOLERANCE, check_described, require
from driftwise.environments.drift import Drift


def check_drift(drift: Drift, *, num_episodes: int = 200) -> None:
    """Raise a `ContractError` unless a drift keeps what all of them keep.

    It prints and goes to a configuration and back; weights of its anchors lie on the simplex, and do not
    depend on which episodes are asked for together; its changes are increasing episodes in which the weights
    move.
    """
    check_described("drift", drift, Drift)
    episodes = np.arange(num_episodes)
    weights = np.asarray(drift.mixture(episodes))
    shape = (num_episodes, drift.num_anchors)
    require(weights.shape == shape, f"mixture must have shape {shape}, got {weights.shape}")
    bad = ~np.isfinite(weights).all(axis=1) | (weights < -TOLERANCE).any(axis=1)
    bad |= np.abs(weights.sum(axis=1) - 1) > TOLERANCE
    first = int(np.argmax(bad))
    require(not bad.any(), f"mixture must be weights that sum to 1, got {weights[first]} in episode {first}")
    require(np.array_equal(episodes, np.arange(num_episodes)), "mixture must not change what it is given")
    backwards = episodes[::-1]
    parts = [*np.split(episodes, [num_episodes // 3]), backwards, *([t] for t in episodes[:3])]
    for part in map(np.asarray, parts):
        same = np.array_equal(drift.mixture(part), weights[part])
        require(same, "mixture must not depend on which episodes are asked for together")
    changes = drift.changes(num_episodes)
    require(
        all(0 < a < b for a, b in itertools.pairwise((*changes, num_episodes))),
        f"changes must be increasing episodes of the run, got {changes}",
    )
    for change in changes:
        moves = not np.array_equal(weights[change], weights[change - 1])
        require(moves, f"changes must be moves, but nothing moves at {change}")

"""Models given as tables: with one-hot features any finite MDP is a linear one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from driftwise.base.validation import ArgumentError, as_array, require_array
from driftwise.environments.drift import Drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.model_checks import MODEL_TOLERANCE


def tabular_mdp(
    anchors: Iterable[tuple[ArrayLike, ArrayLike]],
    *,
    horizon: int,
    drift: Drift,
    rewards: RewardKind,
    initial: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> LinearMdp:
    """Mean rewards `[S, A]` and probabilities `[S, A, S]` of each anchor, with one-hot features, `d = S·A`.

    Tables that differ from step to step have an axis more, `[H, S, A]` and `[H, S, A, S]`. Episodes start in
    the first state unless `initial` says otherwise.
    """
    tables = require_tables(anchors, horizon=horizon)
    num_states, num_actions = tables[0][0].shape[-2:]
    dim = num_states * num_actions
    reward = _at_steps([reward for reward, _ in tables], horizon)
    kernel = _at_steps([kernel for _, kernel in tables], horizon, num_states)
    return LinearMdp(
        features=np.eye(dim).reshape(num_states, num_actions, dim),
        theta=reward,
        mu=kernel,
        initial=np.eye(num_states)[0] if initial is None else initial,
        drift=drift,
        rewards=rewards,
        successor_features=np.eye(num_states),  # which span every measure
        positions=positions,
    )


def require_tables(
    anchors: Iterable[tuple[ArrayLike, ArrayLike]], *, horizon: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Anchors as arrays of one number of states and actions, with rewards in [0, 1]."""
    tables: list[tuple[np.ndarray, np.ndarray]] = []
    for number, anchor in enumerate(anchors):
        if not isinstance(anchor, (tuple, list)) or len(anchor) != 2:
            raise ArgumentError(f"anchor {number}", "be a pair of rewards and probabilities", anchor)
        sizes = tables[0][0].shape[-2:] if tables else (None, None)
        reward = _table(f"reward of anchor {number}", anchor[0], sizes, horizon)
        num_states, num_actions = reward.shape[-2:]
        bad = np.argwhere((reward < -MODEL_TOLERANCE) | (reward > 1 + MODEL_TOLERANCE))
        if len(bad):
            *_, state, action = (int(i) for i in bad[0])
            got = f"{reward[tuple(bad[0])]:g} at state {state}, action {action}"
            raise ArgumentError(f"reward of anchor {number}", "lie in [0, 1]", reward, got)
        sizes = (num_states, num_actions, num_states)
        tables.append((reward, _table(f"kernel of anchor {number}", anchor[1], sizes, horizon)))
    if not tables:
        raise ArgumentError("anchors", "have at least one pair of rewards and probabilities", anchors, "none")
    return tables


def _at_steps(tables: list[np.ndarray], horizon: int, *more: int) -> np.ndarray:
    """Tables `[S, A, ...]` or `[H, S, A, ...]` as `[J, H, S·A, ...]`; equal steps are stored once."""
    by_step = [table.reshape(-1, *table.shape[-2 - len(more) :]) for table in tables]
    anchors = np.stack(np.broadcast_arrays(*by_step))
    anchors = anchors.reshape(*anchors.shape[:2], -1, *more)
    return np.broadcast_to(anchors, (len(anchors), horizon, *anchors.shape[2:]))


def _table(name: str, value: ArrayLike, sizes: tuple[int | None, ...], horizon: int) -> np.ndarray:
    """A table of that shape, or with an axis of steps before it."""
    array = as_array(value)
    by_step = array.ndim == len(sizes) + 1
    return require_array(name, array, (horizon, *sizes) if by_step else sizes)

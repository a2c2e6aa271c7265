"""Models given as tables: with one-hot features any finite MDP is a linear one."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from driftwise.base.validation import ArgumentError, as_array, require_array, require_choice
from driftwise.environments.drift import Drift
from driftwise.environments.environment import MODEL_TOLERANCE
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind

Tables = tuple[ArrayLike, ArrayLike]  # mean rewards [S, A] and probabilities [S, A, S]


def tabular_mdp(
    anchors: Iterable[Tables],
    *,
    horizon: int,
    drift: Drift,
    rewards: RewardKind,
    initial: np.ndarray | Literal["uniform"] | None = None,
    positions: np.ndarray | None = None,
) -> LinearMdp:
    """Return the MDP of mean rewards `[S, A]` and probabilities `[S, A, S]` of each anchor; `d = S·A`.

    Tables that differ from step to step have an axis more, `[H, S, A]` and `[H, S, A, S]`.
    """
    tables: list[tuple[np.ndarray, np.ndarray]] = []
    for number, anchor in enumerate(anchors):
        if not isinstance(anchor, (tuple, list)) or len(anchor) != 2:
            raise ArgumentError(f"anchor {number}", "be a pair of rewards and probabilities", anchor)
        sizes = tables[0][0].shape[-2:] if tables else (None, None)
        reward = _table(f"reward of anchor {number}", anchor[0], sizes, horizon)
        bad = np.argwhere((reward < -MODEL_TOLERANCE) | (reward > 1 + MODEL_TOLERANCE))
        for *step, state, action in bad[:1].tolist():
            got = f"{reward[*step, state, action]:g} at state {state}, action {action}"
            raise ArgumentError(f"reward of anchor {number}", "lie in [0, 1]", reward, got)
        sizes = (*reward.shape[-2:], reward.shape[-2])
        tables.append((reward, _table(f"kernel of anchor {number}", anchor[1], sizes, horizon)))
    if not tables:
        raise ArgumentError("anchors", "have at least one pair of rewards and probabilities", anchors, "none")
    num_states, num_actions = tables[0][0].shape[-2:]
    dim, identity = num_states * num_actions, np.eye(num_states)
    first = identity[0] if initial is None else initial
    if isinstance(first, str):
        require_choice("initial", first, ["uniform"])
        first = np.full(num_states, 1 / num_states)
    return LinearMdp(
        np.eye(dim).reshape(num_states, num_actions, dim),
        _at_steps([reward for reward, _ in tables], horizon),
        _at_steps([kernel for _, kernel in tables], horizon, num_states),
        first,
        drift,
        rewards,
        successor_features=identity,  # which span every measure
        positions=positions,
    )


def _at_steps(tables: list[np.ndarray], horizon: int, *more: int) -> np.ndarray:
    """Return tables `[S, A, ...]` or `[H, S, A, ...]` as `[J, H, S·A, ...]`; equal steps are stored once."""
    by_step = [table.reshape(-1, *table.shape[-2 - len(more) :]) for table in tables]
    anchors = np.stack(np.broadcast_arrays(*by_step))
    anchors = anchors.reshape(*anchors.shape[:2], -1, *more)
    return np.broadcast_to(anchors, (len(anchors), horizon, *anchors.shape[2:]))


def _table(name: str, value: ArrayLike, sizes: tuple[int | None, ...], horizon: int) -> np.ndarray:
    """Return a table of that shape, or with an axis of steps before it."""
    array = as_array(value)
    by_step = array.ndim == len(sizes) + 1
    return require_array(name, array, (horizon, *sizes) if by_step else sizes)

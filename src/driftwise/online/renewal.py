"""Reset weights: remove from the sums what they know of a block of coordinates, and nothing else."""

from typing import Any

import numpy as np

from driftwise.algorithms.bandits.dynamic_lin_ucb import PoolState
from driftwise.algorithms.unknown_variation.bandit_over_agents import BlockState
from driftwise.algorithms.unknown_variation.detecting import DetectingState
from driftwise.algorithms.unknown_variation.expanding import MapsState
from driftwise.algorithms.unknown_variation.master import MasterState
from driftwise.algorithms.unknown_variation.mixture import MixtureState
from driftwise.algorithms.unknown_variation.restarting import RestartingState
from driftwise.base.arrays import map_tree
from driftwise.base.types import Moments
from driftwise.base.validation import ArgumentError, add_article, as_array
from driftwise.parts.forgetting import WindowMemory
from driftwise.parts.link_regression import Likelihood

# States that contain others, and the fields of these: nothing else in them depends on coordinates.
_INNER_STATES = dict.fromkeys([BlockState, DetectingState, MixtureState, RestartingState], "base")
_INNER_STATES |= {MasterState: "bases", PoolState: "models"}


def require_coordinates(coordinates: Any, dim: int) -> np.ndarray:
    """Return the different coordinates of features, checked."""
    given = as_array(coordinates)
    block = np.unique(given)
    if given.dtype.kind not in "iu" or not len(block) or block[0] < 0 or block[-1] >= dim:
        raise ArgumentError("coordinates", f"be integers from 0 to {dim - 1}", coordinates)
    return block


def renew_state(state: Any, block: np.ndarray, agent: Any = None) -> Any:
    r"""Return the state in which the weights of a block of coordinates K are reset.

    The others, R, keep what they know: the block is marginalised,

    $$\Lambda' = \Lambda_{RR} - G\Lambda_{KR}, \qquad b' = b_R - Gb_K, \qquad
      \tilde\Lambda' = (I, -G)\,\tilde\Lambda\,(I, -G)^\top, \qquad G = \Lambda_{RK}\Lambda_{KK}^{-1},$$

    and $\lambda I$ takes its place. Since $(I, -G)\Lambda = (\Lambda', 0)$, the estimate
    $x^\top\Lambda^{-1}b$ and both norms stay as they are for every x that is 0 in K. Under exponential
    weights the norm of $\Lambda^{-1}$ is later never below that with a block that is kept and forgets too:
    the marginal of $\eta\Lambda + (1-\eta)\lambda I$ is at least $\eta\Lambda' + (1-\eta)\lambda I$. A radius
    that depends on $\log\det\Lambda$ loses the share of the block. Agents that keep samples can reset a block
    that no sample shares with others; all else is an `ArgumentError`. An agent is needed where it has maps of
    features: of each, all that depends on the block is reset.
    """
    if isinstance(state, MapsState):
        blocks = (agent.coordinates(name, block) for name in agent.maps)
        return state._replace(maps=tuple(map(renew_state, state.maps, blocks)))
    if isinstance(state, Moments):
        return _marginal(state, block)
    if type(state) not in _INNER_STATES:
        raise _refused(state, f"one with {add_article(type(state).__name__)}, which is not known")
    name = _INNER_STATES[type(state)]
    state = state._replace(**{name: renew_state(getattr(state, name), block)})
    if isinstance(state, DetectingState):  # whose test would take the new weights for a change
        since = None if state.since is None else renew_state(state.since, block)
        state = state._replace(since=since, test=state.test.restart())
    return state


def keeps_samples(state: Any) -> bool:
    """Return whether a state keeps samples: a block that these share with others cannot be reset."""
    if isinstance(state, MapsState):
        return any(map(keeps_samples, state.maps))
    if not isinstance(state, Moments):
        return type(state) not in _INNER_STATES or keeps_samples(getattr(state, _INNER_STATES[type(state)]))
    sizes = list[int]()
    map_tree(lambda leaf: sizes.append(np.ndim(leaf)), state.memory)
    return any(size > state.gram.ndim - 2 for size in sizes)  # all else knows nothing of coordinates


def _marginal(moments: Moments, block: np.ndarray) -> Moments:
    beside = np.zeros(dim := moments.gram.shape[-1], dtype=bool)
    for gram in (moments.gram, moments.gram_sq):
        if gram is not None:
            beside |= (gram[..., block] != 0).reshape(-1, dim, len(block)).any(axis=(0, 2))
    beside[block] = False
    shared = np.flatnonzero(beside)  # coordinates that some sample has with the block; the others stay
    memory = moments.memory
    if keeps_samples(moments):
        if len(shared) or not isinstance(memory, (WindowMemory, Likelihood)):
            raise _refused(memory, "one that keeps samples, which have these weights and others")
        memory = _cleared_samples(memory, block)
    across, inside = (moments.gram[..., rows[:, None], block] for rows in (shared, block))
    gain = np.swapaxes(np.linalg.solve(inside, np.swapaxes(across, -1, -2)), -1, -2)  # G
    unit = np.broadcast_to(np.eye(len(shared)), (*gain.shape[:-1], len(shared)))
    ridge = np.asarray(moments.ridge)[(..., *[None] * (moments.gram.ndim - 1 - np.ndim(moments.ridge)))]
    projection, both = np.concatenate([unit, -gain], axis=-1), np.concatenate([shared, block])

    def marginal(gram: np.ndarray) -> np.ndarray:
        """Return `(I, −G) M (I, −G)ᵀ`, which for Λ is the Schur complement, with λI for the block."""
        inner = projection @ gram[..., both[:, None], both] @ np.swapaxes(projection, -1, -2)
        result = _without(gram, block)
        result[..., shared[:, None], shared] = (inner + np.swapaxes(inner, -1, -2)) / 2
        result[..., block, block] = ridge
        return result

    cross = moments.cross.copy()
    cross[..., shared, :] = projection @ moments.cross[..., both, :]
    cross[..., block, :] = 0
    gram_sq = None if moments.gram_sq is None else marginal(moments.gram_sq)
    return moments._replace(gram=marginal(moments.gram), gram_sq=gram_sq, cross=cross, memory=memory)


def _cleared_samples(memory: WindowMemory | Likelihood, block: np.ndarray) -> WindowMemory | Likelihood:
    if isinstance(memory, Likelihood):
        cleared = {name: _cleared(getattr(memory, name), block) for name in ("features", "estimate", "theta")}
        return memory._replace(**cleared)
    samples = memory.samples._replace(features=_cleared(memory.samples.features, block))
    gram_sq = None if memory.recent_gram_sq is None else _without(memory.recent_gram_sq, block)
    cross = np.swapaxes(_cleared(np.swapaxes(memory.recent_cross, -1, -2), block), -1, -2)
    return WindowMemory(samples, _without(memory.recent_gram, block), gram_sq, cross)


def _cleared(array: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return a copy with zeros for a block of the last axis."""
    cleared = np.array(array)
    cleared[..., block] = 0
    return cleared


def _without(gram: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return a copy with zeros for a block of rows and of columns."""
    cleared = _cleared(gram, block)
    cleared[..., block, :] = 0
    return cleared


def _refused(state: Any, got: str) -> ArgumentError:
    return ArgumentError("algorithm", "keep sums that weights can be removed from", state, got)

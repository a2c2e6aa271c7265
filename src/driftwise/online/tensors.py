"""Tensors of agents' files: states, plans and arrays of many sizes by name, and their checks."""

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from driftwise.algorithms.bandits.dynamic_lin_ucb import ModelPool
from driftwise.algorithms.unknown_variation.expanding import MapsState, MixtureOfMaps
from driftwise.algorithms.unknown_variation.master import Master
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.algorithms.unknown_variation.restarting import Restarting
from driftwise.base.agent import Agent, Wrapper
from driftwise.base.arrays import cholesky_or_nan, map_tree
from driftwise.base.types import Moments
from driftwise.base.validation import ArgumentError
from driftwise.parts import Glr, LeastSquares, SlidingWindow, WeightedLikelihood
from driftwise.parts.noise import NoiseSums

COUNTED_BITS = 62  # of what agents have counted
_SLACK = 1e-6  # of its largest number that a matrix may lie below what it can be

Tensors = dict[str, np.ndarray]


def to_tensors(name: str, tree: Any) -> Tensors:
    """Return copies of the arrays of a state or a plan, as `name.0`, `name.1`, …"""
    return {f"{name}.{i}": leaf for i, leaf in enumerate(copy_leaves(tree))}


def from_tensors(name: str, like: Any, tensors: Tensors) -> Any:
    """Return the tree that `to_tensors` wrote, which is as `like` but for its numbers."""
    names = (f"{name}.{i}" for i in count())
    require_sums(tree := with_leaves(like, ((key, require_sound(key, tensors[key])) for key in names)))
    return tree


def require_sound(name: str, array: np.ndarray) -> np.ndarray:
    """Return the array, which must be finite; integers are counts below `2 ** COUNTED_BITS`."""
    bad = ~np.isfinite(array) if array.dtype.kind == "f" else (array < 0) | (array >= 1 << COUNTED_BITS)
    if bad.any():
        expected = "be finite" if array.dtype.kind == "f" else f"be a count below 2^{COUNTED_BITS}"
        raise ArgumentError(name, expected, array[bad].flat[0].item())
    return array


def require_numbers(tensors: Tensors, agent: Agent, num: int = 0) -> None:
    """Refuse an agent whose description asks for more numbers than its file has, before they take memory."""
    num = max(num, least_numbers(agent))
    stored = sum(tensor.size for tensor in tensors.values())
    if num > stored:
        raise ArgumentError("sizes", f"be those of the {stored} numbers in the file", num, f"at least {num}")


def pack(name: str, arrays: Sequence[np.ndarray]) -> Tensors:
    """Return arrays of one type and number of axes, which may differ in size, as two tensors."""
    shapes = np.array([array.shape for array in arrays], dtype=np.int64)
    return {f"{name}.shapes": shapes, f"{name}.values": np.concatenate([array.ravel() for array in arrays])}


def unpack(name: str, tensors: Tensors) -> list[np.ndarray]:
    """Return the arrays that were packed."""
    shapes, values = tensors[f"{name}.shapes"], require_sound(name, tensors[f"{name}.values"])
    sizes = [math.prod(shape) for shape in require_sound(f"{name}.shapes", shapes).tolist()]
    if sum(sizes) != values.size:
        raise ArgumentError(f"{name}.shapes", f"be of {values.size} numbers", shapes, f"{sum(sizes)}")
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes.tolist(), strict=True)]


def copy_leaves(tree: Any) -> list[np.ndarray]:
    """Return copies of the arrays of a state or a plan, in the order of `map_tree`."""
    leaves = list[np.ndarray]()
    map_tree(lambda leaf: leaves.append(np.array(leaf, order="C")), tree)
    return leaves


def with_leaves(like: Any, arrays: Iterable[tuple[str, np.ndarray]], *, num_arms: int = 1) -> Any:
    """Return a tree as `like`, which is of one arm, with arrays of `num_arms`, given with their names."""
    remaining = iter(arrays)

    def replacement(leaf: Any) -> np.ndarray:
        (name, array), wanted = next(remaining), np.asarray(leaf)
        pairs = zip(array.shape, wanted.shape, strict=False)
        fits = array.ndim == wanted.ndim and all(n == m or (n, m) == (num_arms, 1) for n, m in pairs)
        if not fits or array.dtype.kind != wanted.dtype.kind:
            arms = f"be of {num_arms} arms, where one is" if num_arms > 1 else "be"
            expected = f"{arms} of shape {wanted.shape} and type {wanted.dtype}"
            raise ArgumentError(name, expected, array, f"{array.dtype} {array.shape}")
        return array

    return map_tree(replacement, like)


def least_numbers(agent: Agent) -> int:
    """Return how many numbers the state of an agent has at least, before any of its arrays is made."""
    dim, horizon = agent.spec.dim, agent.spec.horizon
    gram = dim * dim if (agent.spec.num_states, horizon) == (1, 1) else horizon  # episodes may have blocks
    match agent:
        case MixtureOfMaps():
            return sum(map(least_numbers, agent.maps.values()))
        case MixtureOfMemories():
            return agent.num_memories * least_numbers(agent.base)
        case Master():
            return agent.num_orders * least_numbers(agent.base)
        case ModelPool():
            return agent.capacity * max(least_numbers(agent.base), agent.longest_window)
        case Restarting(detector=Glr() as detector):
            return max(detector.window, least_numbers(agent.base))
        case Wrapper():
            return least_numbers(agent.base)
        case LeastSquares(forgetting=SlidingWindow() as window):
            return max(window.num_slots * horizon * dim, gram)
        case WeightedLikelihood():
            return max(agent.capacity * dim, gram)
    return gram


def require_sums(state: Any) -> None:
    """Refuse sums that no rewards and features could have produced, in a state and all states within it."""
    counts, grams = dict[str, Any](), []
    if isinstance(state, MapsState | MixtureState) and not np.allclose(np.exp(state.log_weights).sum(-1), 1):
        raise ArgumentError("state: weights of a mixture", "sum to 1", state.log_weights)
    if isinstance(state, NoiseSums):
        errors = state.moments.cross[..., 0, 0]
        counts = {"a sum of squared errors": state.total, "a weighted sum of squared errors": errors}
    if isinstance(state, Moments):
        counts = {name: getattr(state, name) for name in ("ridge", "weight", "weight_sq")}
        grams = [gram for gram in (state.gram, state.gram_sq) if gram is not None]
    for name, numbers in counts.items():
        if (smallest := float(np.min(numbers))) < -_SLACK * float(np.max(np.abs(numbers))):
            raise ArgumentError(f"state: {name}", "be at least 0", smallest)
    for gram in grams:
        slack = _SLACK * float(np.abs(gram).max())
        if not np.allclose(gram, np.swapaxes(gram, -1, -2), rtol=0, atol=slack):
            raise ArgumentError("state: a gram matrix", "be symmetric", gram, "one that is not")
        factors = cholesky_or_nan(gram + slack * np.eye(gram.shape[-1]))  # eigenvalues take ten times as long
        if np.isnan(factors).any() and (smallest := float(np.linalg.eigvalsh(gram)[..., 0].min())) < -slack:
            raise ArgumentError("state: a gram matrix", "have no eigenvalue below 0", smallest)
    if isinstance(state, tuple):
        for part in state:
            require_sums(part)

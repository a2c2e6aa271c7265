"""States, plans and arrays of many sizes as tensors with names, and back, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from driftwise.base.arrays import map_tree
from driftwise.base.validation import ArgumentError
from driftwise.online.soundness import require_sums

COUNTED_BITS = 62  # of what agents have counted

Tensors = dict[str, np.ndarray]


def to_tensors(name: str, tree: Any) -> Tensors:
    """Copies of the arrays of a state or a plan, as `name.0`, `name.1`, …"""
    return {f"{name}.{i}": leaf for i, leaf in enumerate(leaves(tree))}


def from_tensors(name: str, like: Any, tensors: Tensors) -> Any:
    """The tree that `to_tensors` wrote, which is as `like` but for its numbers."""
    numbers = count()
    read = map_tree(lambda leaf: checked_tensor(tensors, f"{name}.{next(numbers)}", leaf), like)
    require_sums(read)
    return read


def checked_tensor(tensors: Tensors, name: str, like: Any) -> np.ndarray:
    """A tensor of the shape and the kind of numbers of `like`, finite, and not below 0 if it counts."""
    array, (shape, kind) = tensors[name], (np.shape(like), np.asarray(like).dtype.kind)
    if array.shape != shape or array.dtype.kind != kind:
        found = f"{array.dtype} {array.shape}"
        raise ArgumentError(name, f"be of shape {shape} and type {np.asarray(like).dtype}", array, found)
    return require_sound(name, array)


def require_sound(name: str, array: np.ndarray) -> np.ndarray:
    """An array of finite numbers; integers count, from 0 and with room to count on."""
    bad = ~np.isfinite(array) if array.dtype.kind == "f" else (array < 0) | (array >= 1 << COUNTED_BITS)
    if bad.any():
        expected = "be finite" if array.dtype.kind == "f" else f"be a count below 2^{COUNTED_BITS}"
        raise ArgumentError(name, expected, array[bad].flat[0].item())
    return array


def require_numbers(tensors: Tensors, num: int) -> None:
    """Refuse an agent whose description asks for more numbers than its file has, before they take memory."""
    found = sum(each.size for each in tensors.values())
    if num > found:
        raise ArgumentError("sizes", f"be those of the {found} numbers in the file", num, f"at least {num}")


def pack(name: str, arrays: Sequence[np.ndarray]) -> Tensors:
    """Arrays of one type and number of axes, which may differ in size, as two tensors."""
    return {
        f"{name}.shapes": np.array([each.shape for each in arrays], dtype=np.int64),
        f"{name}.values": np.concatenate([each.ravel() for each in arrays]),
    }


def unpack(name: str, tensors: Tensors) -> list[np.ndarray]:
    """The arrays that were packed."""
    shapes, values = tensors[f"{name}.shapes"], require_sound(name, tensors[f"{name}.values"])
    sizes = [math.prod(shape) for shape in require_sound(f"{name}.shapes", shapes).tolist()]
    if sum(sizes) != values.size:
        raise ArgumentError(f"{name}.shapes", f"be of {values.size} numbers", shapes, f"{sum(sizes)}")
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes.tolist(), strict=True)]


def leaves(tree: Any) -> list[np.ndarray]:
    """Copies of the arrays of a state or a plan, in the order of `map_tree`."""
    found: list[np.ndarray] = []
    map_tree(lambda leaf: found.append(np.array(leaf, order="C")), tree)
    return found


def with_leaves(like: Any, arrays: Iterable[np.ndarray], *, num_arms: int) -> Any:
    """A tree as `like`, which is of one arm, with arrays that are of `num_arms`."""
    following = iter(arrays)

    def fitting(leaf: Any) -> np.ndarray:
        array, wanted = next(following), np.asarray(leaf)
        lengths = zip(array.shape, wanted.shape, strict=True)
        if array.dtype.kind != wanted.dtype.kind or any(
            have != want and (have, want) != (num_arms, 1) for have, want in lengths
        ):
            found = f"{array.dtype} {array.shape}"
            raise ArgumentError(
                "plans", f"be of {num_arms} arms, as {wanted.dtype} {wanted.shape}", array, found
            )
        return array

    return map_tree(fitting, like)

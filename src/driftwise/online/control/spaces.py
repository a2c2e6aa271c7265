"""Spaces of Gymnasium in plain values: observations as vectors, and actions by their numbers."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.validation import ArgumentError, require_count

MOST_NUMBERS = 100  # of an observation: beyond that it is an image, or as hard
MOST_STATES = 500  # that are counted, with a feature for each
MOST_ACTIONS = 100
_LARGEST_NUMBER = 1e100  # whose square is finite
_LARGEST_BOUND = 1e6  # larger ones say nothing about the values to expect

Description = Mapping[str, Any]  # of a space, for files
SPACES = "observation_space", "action_space"


def describe_env(env: Any) -> tuple[Description, Description]:
    """Return the spaces of the observations and the actions of an environment of Gymnasium."""
    with require_extra("EpisodicAgent.for_env", "gym"):
        import gymnasium
    if not isinstance(env, gymnasium.Env):
        raise ArgumentError("env", "be an environment, as gymnasium.make returns", env)
    if isinstance(env.action_space, gymnasium.spaces.Box) and env.action_space.dtype.kind != "f":
        expected = "be Discrete or MultiDiscrete where actions are integers"
        raise ArgumentError("action_space", expected, env.action_space)
    observations, actions = SPACES
    return describe_space(observations, env.observation_space), describe_space(actions, env.action_space)


def describe_space(name: str, space: Any) -> Description:
    """Return a space of Gymnasium in plain values; those without a vector of numbers are refused."""
    with require_extra("EpisodicAgent.for_env", "gym"):
        from gymnasium import spaces
    if isinstance(space, spaces.Discrete):
        return {"type": "Discrete", "sizes": [int(space.n)], "first": [int(space.start)]}
    if isinstance(space, spaces.MultiDiscrete):
        sizes, first = np.ravel(space.nvec).tolist(), np.ravel(space.start).tolist()
        return {"type": "MultiDiscrete", "sizes": sizes, "first": first, "shape": list(space.nvec.shape)}
    if isinstance(space, spaces.MultiBinary):
        size = math.prod(space.shape)
        return {"type": "MultiDiscrete", "sizes": [2] * size, "first": [0] * size, "shape": list(space.shape)}
    if isinstance(space, spaces.Box):
        if (len(space.shape) > 1 and space.dtype == np.uint8) or math.prod(space.shape) > MOST_NUMBERS:
            expected = f"have at most {MOST_NUMBERS} numbers; reduce an image to a few before"
            raise ArgumentError(name, expected, space, f"one of the shape {space.shape}")
        low, high = (np.ravel(bound).astype(np.float64).tolist() for bound in (space.low, space.high))
        pairs = zip(low, high, strict=True)
        bounds = [[a, b] if max(abs(a), abs(b)) <= _LARGEST_BOUND else None for a, b in pairs]
        return {"type": "Box", "bounds": bounds, "shape": list(space.shape)}
    if isinstance(space, spaces.Tuple):
        parts = [describe_space(f"{name}[{i}]", part) for i, part in enumerate(space.spaces)]
        return {"type": "Tuple", "parts": parts}
    if isinstance(space, spaces.Dict):
        parts = {key: describe_space(f"{name}[{key!r}]", part) for key, part in space.spaces.items()}
        return {"type": "Dict", "parts": parts}
    expected = "be Discrete, MultiDiscrete, MultiBinary, Box, or a Tuple or Dict of those"
    raise ArgumentError(name, expected, space)


class Observations:
    """Observations of a described space, as vectors `[num]`: a coordinate for each number and each choice."""

    def __init__(self, description: Description) -> None:
        self.description, self._leaves = description, [*_leaves(description)]
        self.num = sum(leaf.num for leaf in self._leaves)
        if not 0 < self.num <= MOST_NUMBERS + MOST_STATES:
            expected = f"have between 1 and {MOST_NUMBERS + MOST_STATES} numbers and choices"
            raise ArgumentError("observation_space", expected, description, f"{self.num}")
        sizes = [size for leaf in self._leaves for size in leaf.sizes]
        is_counted = all(leaf.sizes for leaf in self._leaves) and math.prod(sizes) <= MOST_STATES
        self.num_states = math.prod(sizes) if is_counted else None  # where states can be counted

    def vector(self, name: str, observation: Any) -> np.ndarray:
        """Return an observation as a vector; what is not in the space or not finite is an error."""
        parts = [*_values(name, self.description, observation)]
        return np.concatenate(
            [leaf.vector(name, part) for leaf, part in zip(self._leaves, parts, strict=True)]
        )

    def state(self, vectors: np.ndarray) -> np.ndarray:
        """Return the numbers of counted states from vectors `[..., num]`."""
        sizes = [size for leaf in self._leaves for size in leaf.sizes]
        chosen, start = np.zeros(vectors.shape[:-1], dtype=np.int64), 0
        for size in sizes:
            chosen = chosen * size + vectors[..., start : start + size].argmax(axis=-1)
            start += size
        return chosen


class _Leaf(NamedTuple):
    """A space that has no parts."""

    num: int  # of coordinates
    sizes: Sequence[int]  # of choices; none for numbers
    first: Sequence[int]

    def vector(self, name: str, value: Any) -> np.ndarray:
        """Return the coordinates of a value."""
        try:
            numbers = np.asarray(value, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise ArgumentError(name, "have numbers", value) from None
        num = len(self.sizes) or self.num
        if len(numbers) != num:
            raise ArgumentError(name, f"have {num} numbers", value, f"{len(numbers)}")
        if not (np.abs(numbers) <= _LARGEST_NUMBER).all():
            raise ArgumentError(name, f"have finite numbers of at most {_LARGEST_NUMBER:g}", value)
        if not self.sizes:
            return numbers
        chosen = numbers - self.first
        if ((chosen < 0) | (chosen >= self.sizes) | (chosen % 1 != 0)).any():
            raise ArgumentError(name, f"be of sizes {list(self.sizes)} from {list(self.first)}", value)
        return np.concatenate([np.eye(1, n, int(k))[0] for n, k in zip(self.sizes, chosen, strict=True)])


def _leaves(space: Description) -> Iterator[_Leaf]:
    if space["type"] == "Box":
        yield _Leaf(len(space["bounds"]), (), ())
    elif space["type"] in ("Discrete", "MultiDiscrete"):
        yield _Leaf(sum(space["sizes"]), space["sizes"], space["first"])
    else:
        parts = space["parts"]
        for part in parts.values() if isinstance(parts, Mapping) else parts:
            yield from _leaves(part)


def _values(name: str, space: Description, value: Any) -> Iterator[Any]:
    """Yield the values of the leaves."""
    if "parts" not in space:
        yield value
        return
    parts = space["parts"]
    kind = Mapping if space["type"] == "Dict" else Sequence
    if not isinstance(value, kind) or len(value) != len(parts):
        raise ArgumentError(name, f"have {len(parts)} parts, as its space", value)
    for key in parts if isinstance(parts, Mapping) else range(len(parts)):
        if isinstance(value, Mapping) and key not in value:
            raise ArgumentError(name, f"have the part {key!r}", value)
        yield from _values(f"{name}[{key!r}]", parts[key], value[key])  # pyright: ignore


class Actions:
    """Actions of a described space by their numbers; a box has `grid` values along each of its axes."""

    def __init__(self, description: Description, grid: int | None = None) -> None:
        self.description, self.grid, kind = description, grid, description["type"]
        if kind not in ("Discrete", "MultiDiscrete", "Box"):
            expected = "be Discrete, MultiDiscrete, or a Box of one or two numbers"
            raise ArgumentError("action_space", expected, description, f"a {kind}")
        if kind != "Box" and grid is not None:
            raise ArgumentError("actions", "be left out where actions can be counted", grid)
        if kind == "Box":
            bounds = description["bounds"]
            if len(bounds) > 2 or None in bounds:
                expected = "be bounded and have one or two numbers"
                raise ArgumentError("action_space", expected, description, f"a Box of {bounds}")
            if grid is None:
                expected = "be given where actions are numbers: of values to try along each axis"
                raise ArgumentError("actions", expected, grid)
            self.grid = require_count("actions", grid, at_least=2)
            axes = [np.linspace(low, high, self.grid).tolist() for low, high in bounds]
        else:
            pairs = zip(description["sizes"], description["first"], strict=True)
            axes = [range(first, first + size) for size, first in pairs]
        self.num = math.prod(map(len, axes))
        if self.num > MOST_ACTIONS:
            raise ArgumentError(
                "action_space", f"have at most {MOST_ACTIONS} actions", description, f"{self.num}"
            )
        self._values = [*itertools.product(*axes)]

    def action(self, number: int) -> Any:
        """Return the action of that number, as `env.step` takes it."""
        values = self._values[number]
        if self.description["type"] == "Discrete":
            return values[0]
        dtype = np.float32 if self.description["type"] == "Box" else np.int64
        return np.array(values, dtype=dtype).reshape(self.description["shape"])

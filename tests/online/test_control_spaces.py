"""Spaces of Gymnasium as vectors and numbers of actions."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from driftwise.base import ArgumentError
from driftwise.online.control.spaces import Actions, Observations, describe_env, describe_space

SPACES: dict[str, tuple[Any, int, int | None]] = {  # with numbers of coordinates and of states
    "discrete": (spaces.Discrete(5, start=-2), 5, 5),
    "multi-discrete": (spaces.MultiDiscrete([2, 3], start=[1, -1]), 5, 6),
    "multi-binary": (spaces.MultiBinary(3), 6, 8),
    "box": (spaces.Box(-1.0, 2.0, (3,)), 3, None),
    "matrix": (spaces.Box(-1.0, 2.0, (2, 2)), 4, None),
    "tuple": (spaces.Tuple((spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,)))), 4, None),
    "dict": (spaces.Dict(b=spaces.Discrete(2), a=spaces.MultiDiscrete([2, 2])), 6, 8),
}


@pytest.mark.parametrize("name", SPACES)
def test_vectors_are_those_of_gymnasium(name: str):
    space, num, num_states = SPACES[name]
    observations = Observations(describe_space("space", space))
    assert (observations.num, observations.num_states) == (num, num_states)
    space.seed(0)
    samples = [space.sample() for _ in range(200)]
    vectors = np.stack([observations.vector("observation", sample) for sample in samples])
    if name not in ("multi-binary", "dict"):  # Gymnasium has one number for a binary choice, and sorts keys
        np.testing.assert_array_equal(vectors, [spaces.flatten(space, sample) for sample in samples])
    if num_states:
        states = observations.state(vectors)
        assert set(states.tolist()) == set(range(num_states))
        assert (
            len({(state, *vector) for state, vector in zip(states, vectors.tolist(), strict=True)})
            == num_states
        )


def test_actions_are_in_their_space():
    for space in (spaces.Discrete(3, start=1), spaces.MultiDiscrete([2, 3]), spaces.Box(-2.0, 1.0, (2,))):
        actions = Actions(describe_space("space", space), 4 if isinstance(space, spaces.Box) else None)
        taken = [actions.action(number) for number in range(actions.num)]
        assert all(space.contains(action) for action in taken)
        assert (
            len({tuple(np.ravel(action)) for action in taken})
            == actions.num
            == {1: 3, 2: 6}.get(actions.num, actions.num)
        )


def test_bounds_that_say_nothing_are_unknown():
    space = gymnasium.make("CartPole-v1").observation_space
    assert [bound is None for bound in describe_space("space", space)["bounds"]] == [False, True, False, True]


@pytest.mark.parametrize("space", [spaces.Discrete(10**15), spaces.MultiDiscrete([10**9, 10**9])])
def test_spaces_too_large_to_count_are_refused(space: Any):
    description = describe_space("space", space)
    with pytest.raises(ArgumentError, match="observation_space must have between 1 and 600"):
        Observations(description)
    with pytest.raises(ArgumentError, match="action_space must have at most 100 actions"):
        Actions(description)


class Idle(gymnasium.Env):
    observation_space, action_space = spaces.Discrete(2), spaces.Box(0, 3, (1,), np.int64)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPole-v1", "env must be an environment, as gymnasium.make returns, got 'CartPole-v1'"),
        (Idle(), "action_space must be Discrete or MultiDiscrete where actions are integers"),
    ],
)
def test_other_environments_are_refused(env: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        describe_env(env)


BAD: list[tuple[Any, str]] = [
    (spaces.Box(0, 255, (64, 64, 3), np.uint8), "space must have at most 100 numbers; reduce an image"),
    (spaces.Text(5), "space must be Discrete, MultiDiscrete"),
    (spaces.Tuple((spaces.Text(5),)), r"space\[0\] must be Discrete"),
]


@pytest.mark.parametrize(("space", "message"), BAD)
def test_other_spaces_are_refused(space: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        describe_space("space", space)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("box", [0.0, np.nan, 0.0], "observation must have finite numbers"),
        ("box", [0.0, 0.0], "observation must have 3 numbers, got 2"),
        ("box", "abc", "observation must have numbers"),
        ("discrete", 3, r"observation must be of sizes \[5\] from \[-2\], got 3"),
        ("discrete", 0.5, "observation must be of sizes"),
        ("tuple", (1,), "observation must have 2 parts"),
        ("dict", {"a": [0, 0], "c": 1}, "observation must have the part 'b'"),
    ],
)
def test_other_observations_are_refused(name: str, value: Any, message: str):
    observations = Observations(describe_space("space", SPACES[name][0]))
    with pytest.raises(ArgumentError, match=message):
        observations.vector("observation", value)

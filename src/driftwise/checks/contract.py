"""What all contracts share: how a broken one is told, and what every part keeps."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import from_config, to_config
from driftwise.base.validation import ArgumentError
from driftwise.environments import Environment
from driftwise.environments.environment import Played
from driftwise.simulation.play import play
from driftwise.simulation.program import call_compiled

TOLERANCE = 1e-9


class ContractError(AssertionError):
    """Something does not keep its word; the text says which, in one sentence."""


def require(kept: bool, sentence: str) -> None:
    """Raise a `ContractError` unless a contract is kept."""
    if not kept:
        raise ContractError(sentence)


def check_described(name: str, part: Any, kind: type) -> None:
    """A part is of its kind, prints its own name and all that tells it from others, and round-trips."""
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    of_kind = isinstance(part, kind) and not isinstance(part, type)
    require(of_kind, f"{name} must be {article} {kind.__name__}, got {part!r}")
    require(dataclasses.is_dataclass(part), f"{name} must be made by @part or @record, got {part!r}")
    try:
        again = from_config(plain(to_config(part)))
    except (ValueError, TypeError) as error:
        raise ContractError(f"{name} must survive the way to_config and back, got {error}") from None
    require(again == part, f"{name} must survive the way to_config and back")
    require(type(part).__name__ in repr(part), f"{name} must print its own name, got {part!r}")
    same = repr(copy.deepcopy(part)) == repr(part)
    require(same, f"{name} must print all that tells it from others and nothing else, got {part!r}")


def check_compiled(name: str, function: Callable[..., Any], part: Any, *arrays: Any) -> None:
    """A function of a part and arrays gives the same on NumPy as compiled, where no number is known."""
    expected = leaves(function(part, *arrays))
    try:
        compiled = leaves(call_compiled(function, part, *arrays))
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise ContractError(f"{name} must compile, got {type(error).__name__}: {told}") from error
    require(len(compiled) == len(expected), f"{name} must give the same arrays compiled as on NumPy")
    for here, there in zip(expected, compiled, strict=True):
        near = here.shape == there.shape and np.allclose(here, there, rtol=TOLERANCE, atol=TOLERANCE)
        require(near, f"{name} must give the same compiled as on NumPy, got {there} where that gives {here}")


def leaves(tree: Any) -> list[np.ndarray]:
    """All arrays of nested tuples."""
    found: list[np.ndarray] = []
    map_tree(lambda leaf: found.append(np.asarray(leaf)), tree)
    return found


def plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))


def played_run(agent: Agent, environment: Environment, num_episodes: int, **address: Any) -> Iterator[Played]:
    """A run, episode by episode; a plan that is none is a broken contract."""
    try:
        yield from play(agent, environment, num_episodes, **address)
    except ArgumentError as error:
        raise ContractError(str(error)) from None

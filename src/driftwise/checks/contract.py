"""Shared by all contracts: their error, and checks of every part."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftwise.base.arrays import map_tree
from driftwise.base.part import from_config, to_config
from driftwise.base.validation import add_article
from driftwise.simulation.program import call_compiled

CONTRACT_TOLERANCE = 1e-9


class ContractError(AssertionError):
    """A contract is violated; the message is one sentence."""


def require(condition: Any, sentence: str) -> None:
    """Raise a `ContractError` with the sentence unless the condition holds."""
    if not condition:
        raise ContractError(sentence)


def check_config(name: str, part: Any, kind: type) -> None:
    """Check that a part has its type, prints all its fields, and survives a round trip through a config."""
    of_kind = isinstance(part, kind) and not isinstance(part, type)
    require(of_kind, f"{name} must be {add_article(kind.__name__)}, got {part!r}")
    require(dataclasses.is_dataclass(part), f"{name} must be made by @part or @record, got {part!r}")
    try:
        again = from_config(json.loads(json.dumps(to_config(part))))
    except (ValueError, TypeError) as error:
        raise ContractError(f"{name} must survive the way to_config and back, got {error}") from None
    require(again == part, f"{name} must survive the way to_config and back")
    require(type(part).__name__ in repr(part), f"{name} must print its own name, got {part!r}")
    same = repr(copy.deepcopy(part)) == repr(part)
    require(same, f"{name} must print all that tells it from others and nothing else, got {part!r}")


def check_compiled(name: str, function: Callable[..., Any], part: Any, *arrays: Any) -> None:
    """Check that a function of a part and arrays gives the same with NumPy as when compiled."""
    expected = array_leaves(function(part, *arrays))
    try:
        compiled = array_leaves(call_compiled(function, part, *arrays))
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise ContractError(f"{name} must compile, got {type(error).__name__}: {told}") from error
    require(len(compiled) == len(expected), f"{name} must give the same arrays compiled as on NumPy")
    bounds: dict[str, Any] = dict(rtol=CONTRACT_TOLERANCE, atol=CONTRACT_TOLERANCE)
    for here, there in zip(expected, compiled, strict=True):
        near = here.shape == there.shape and np.allclose(here, there, **bounds)
        require(near, f"{name} must give the same compiled as on NumPy, got {there} where that gives {here}")


def array_leaves(tree: Any) -> list[np.ndarray]:
    """Return all arrays of nested tuples."""
    leaves: list[np.ndarray] = []
    map_tree(lambda leaf: leaves.append(np.asarray(leaf)), tree)
    return leaves


def layout_of(tree: Any) -> list[tuple[tuple[int, ...], np.dtype]]:
    """Return the shapes and types of all arrays of nested tuples."""
    return [(leaf.shape, leaf.dtype) for leaf in array_leaves(tree)]


def require_layout(name: str, tree: Any, layout: list[tuple[tuple[int, ...], np.dtype]], where: str) -> None:
    """Check that arrays have the layout of the first ones."""
    require(layout_of(tree) == layout, f"{name} must keep its shapes and types, changed {where}")


def on_simplex(weights: np.ndarray) -> np.ndarray:
    """Return, for each row, whether its weights are not negative and sum to 1."""
    return (weights >= -CONTRACT_TOLERANCE).all(axis=-1) & (np.abs(weights.sum(-1) - 1) <= CONTRACT_TOLERANCE)


def check_changes(changes: Sequence[int], num_episodes: int, moves: Callable[[int], bool]) -> None:
    """Check that changes are increasing episodes of a run in which something moves."""
    increasing = all(0 < a < b for a, b in itertools.pairwise((*changes, num_episodes)))
    require(increasing, f"changes must be increasing episodes of the run, got {changes}")
    for change in changes:
        require(moves(change), f"changes must be moves, but nothing moves at {change}")

"""Agents for one life: what is wrong with their parameters is a `ValueError` that names it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.algorithms.registry import build, lookup
from driftwise.base.part import grid_of
from driftwise.base.types import Agent, Spec
from driftwise.base.validation import ArgumentError, nearest


def single_agent(spec: Spec, algorithm: str, parameters: Mapping[str, Any]) -> Agent:
    """The agent of an algorithm, whose signature says what it takes; none of its numbers is a grid."""
    _require_parameters(algorithm, parameters)
    agent = build(spec, algorithm, **parameters)
    for name, grid in grid_of(agent).items():
        raise ArgumentError(
            name, "be a single number", np.ravel(grid).tolist(), f"a grid, {np.ravel(grid).tolist()}"
        )
    return agent


def _require_parameters(algorithm: str, given: Mapping[str, Any]) -> None:
    signature = inspect.signature(lookup(algorithm).recipe).parameters
    known = {name: each for name, each in signature.items() if name != "spec"}
    for name in given:
        if name not in known:
            listed = ", ".join(known)
            raise ValueError(
                f"{name} must be a parameter of {algorithm}, expected one of {listed}{nearest(name, known)}"
            )
    for name, each in known.items():
        if name not in given and each.default is inspect.Parameter.empty:
            raise ArgumentError(name, f"be given to {algorithm}", None, ", ".join(given) or "nothing")
    base = given.get("base")
    if isinstance(base, Mapping) and "algorithm" in base:
        _require_parameters(base["algorithm"], {name: base[name] for name in base if name != "algorithm"})

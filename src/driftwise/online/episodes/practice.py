"""Numbers of practice: what an episodic agent takes where nothing is said about radius and ridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from driftwise.algorithms.registry import lookup
from driftwise.base.arguments import signature

RADIUS, LARGEST_RIDGE = 0.3, 0.01


def ridge(horizon: int) -> float:
    """The ridge with which an unknown pair, worth β/√λ, is worth the H that rewards in [0, 1] can bring.

    Were it worth less than what known pairs still earn, an agent would stay with what it knows. Theory's
    λ = 1 takes half of what one visit says, and in H steps one after the other 1 − 2⁻ᴴ of it.
    """
    return min(LARGEST_RIDGE, (RADIUS / horizon) ** 2)


PRACTICE: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {"radius": lambda horizon: RADIUS, "ridge": ridge}
)


def with_practice(algorithm: str, given: Mapping[str, Any], horizon: int) -> dict[str, Any]:
    """The parameters that were given, and those of practice where a recipe of least squares takes them.

    So it is for the bases of meta-algorithms.
    """
    found = lookup(algorithm)
    known = found.problem == "linear MDP" and PRACTICE.keys() <= signature(found.recipe).parameters.keys()
    numbers = {name: number(horizon) for name, number in PRACTICE.items()} if known else {}
    parameters = {**numbers, **given}
    if "base" in parameters:
        parameters["base"] = _base(parameters["base"], horizon)
    return parameters


def _base(base: Any, horizon: int) -> Any:
    """A base that is described by a mapping, or several; anything else stays as it is."""
    if isinstance(base, list):
        return [_base(each, horizon) for each in base]
    if not (isinstance(base, Mapping) and isinstance(base.get("algorithm"), str)):
        return base
    own = dict(base)
    algorithm = own.pop("algorithm")
    return {"algorithm": algorithm, **with_practice(algorithm, own, horizon)}

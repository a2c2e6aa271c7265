"""Numbers of practice: what an episodic agent takes where nothing is said about radius and ridge."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from driftwise.algorithms.registry import lookup
from driftwise.base.arguments import signature

# Theory's λ = 1 takes half of what one visit says, and in H steps one after the other 1 − 2⁻ᴴ of it.
# How both were found: docs/online-episodes.md.
PRACTICE = MappingProxyType({"radius": 0.3, "ridge": 0.01})


def with_practice(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that were given, and those of practice where a recipe of least squares takes them.

    So it is for the bases of meta-algorithms.
    """
    found = lookup(algorithm)
    known = found.problem == "linear MDP" and PRACTICE.keys() <= signature(found.recipe).parameters.keys()
    parameters = {**(PRACTICE if known else {}), **given}
    if "base" in parameters:
        parameters["base"] = _base(parameters["base"])
    return parameters


def _base(base: Any) -> Any:
    """A base that is described by a mapping, or several; anything else stays as it is."""
    if isinstance(base, list):
        return [_base(each) for each in base]
    if not (isinstance(base, Mapping) and isinstance(base.get("algorithm"), str)):
        return base
    own = dict(base)
    algorithm = own.pop("algorithm")
    return {"algorithm": algorithm, **with_practice(algorithm, own)}

"""Base: arrays, random numbers, the agent protocol, parts, validation and shared types.

Agents, parts and environments of your own are made from these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftwise.base.agent import Agent, Forecaster, Wrapper
    from driftwise.base.knowledge import (
        AnchorMeasures,
        Continuing,
        FixedTransitions,
        InitialDistribution,
        MeanRewards,
        OptimalDesign,
        Positions,
        RowProducts,
        SharedSteps,
        SuccessorProjection,
    )
    from driftwise.base.part import (
        choice,
        count,
        expand_grid,
        from_config,
        is_part,
        member,
        members,
        number,
        record,
        scalar,
        stack_parts,
        to_config,
    )
    from driftwise.base.types import (
        Array,
        Episode,
        FeatureTable,
        Forecast,
        Forgetting,
        Key,
        Model,
        Moments,
        Numeric,
        Plan,
        Radius,
        Sample,
        Spec,
        Variation,
        WeightFunction,
    )
    from driftwise.base.validation import ArgumentError

__version__ = "0.2.0"
_MODULES = ("types", "validation", "agent", "knowledge")

__all__ = [
    "Agent", "AnchorMeasures", "ArgumentError", "Array", "Continuing", "Episode", "FeatureTable",
    "FixedTransitions", "Forecast", "Forecaster", "Forgetting", "InitialDistribution", "Key",
    "MeanRewards", "Model", "Moments", "Numeric", "OptimalDesign", "Plan", "Positions", "Radius",
    "RowProducts", "Sample", "SharedSteps", "Spec", "SuccessorProjection", "Variation", "WeightFunction",
    "Wrapper", "__version__", "choice", "count", "expand_grid", "from_config", "is_part", "member",
    "members", "number", "record", "scalar", "stack_parts", "to_config",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts without NumPy."""
    if name in __all__:
        from driftwise.base import agent, knowledge, part, types, validation

        return next(
            vars(module)[name]
            for module in (types, validation, part, agent, knowledge)
            if name in vars(module)
        )
    raise AttributeError(f"module 'driftwise.base' has no attribute {name!r}")

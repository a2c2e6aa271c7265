"""Base: arrays, randomness, agents, parts, validation, types: what your own agents and parts are made of."""

from typing import Any

__version__ = "0.2.0"

_NAMES = [
    "Agent", "AnchorMeasures", "ArgumentError", "Array", "Continuing", "Episode", "FeatureTable",
    "FixedTransitions", "Forecast", "Forecaster", "Forgetting", "InitialDistribution", "Key",
    "MeanRewards", "Model", "Moments", "Numeric", "OptimalDesign", "Plan", "Positions", "Radius",
    "RowProducts", "Sample", "SharedSteps", "Spec", "SuccessorProjection", "Variation", "WeightFunction",
    "Wrapper", "__version__", "choice", "count", "expand_grid", "from_config", "is_part", "member",
    "members", "number", "record", "scalar", "stack_parts", "to_config",
]  # fmt: skip
__all__ = [*_NAMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts without NumPy."""
    if name in _NAMES:
        from driftwise.base import agent, knowledge, part, types, validation

        modules = types, validation, part, agent, knowledge
        return next(vars(module)[name] for module in modules if name in vars(module))
    raise AttributeError(f"module 'driftwise.base' has no attribute {name!r}")

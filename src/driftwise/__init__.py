"""driftwise: linear bandits and linear-MDP reinforcement learning in a world that drifts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftwise import algorithms, environments, online, theory
from driftwise.base.types import Spec
from driftwise.environments import arms, drift, paths, planning
from driftwise.parts import exploration, forgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.simulation.play import play
from driftwise.simulation.results import Result

if TYPE_CHECKING:
    from driftwise.experiments.storage import load_results
    from driftwise.simulation.simulator import simulate

__version__ = "0.1.0"

__all__ = [
    "LeastSquares",
    "Result",
    "Spec",
    "__version__",
    "algorithms",
    "arms",
    "drift",
    "environments",
    "exploration",
    "forgetting",
    "load_results",
    "online",
    "paths",
    "planning",
    "play",
    "simulate",
    "theory",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "simulate":  # JAX is loaded by those who simulate, and by nobody else
        from driftwise.simulation.simulator import simulate

        return simulate
    if name == "load_results":  # likewise pyarrow
        from driftwise.experiments.storage import load_results

        return load_results
    raise AttributeError(f"module 'driftwise' has no attribute {name!r}")

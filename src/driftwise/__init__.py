"""driftwise: linear bandits and linear-MDP reinforcement learning in a world that drifts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftwise import algorithms, environments, online, theory
from driftwise.base.types import Spec
from driftwise.environments import arms, drift, paths, planning
from driftwise.parts import exploration, forgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.simulation.play import play
from driftwise.simulation.results import Result

if TYPE_CHECKING:
    from driftwise import checks
    from driftwise.analysis import statistics
    from driftwise.analysis.finished import compare, load_study
    from driftwise.experiments.curves import load_curves
    from driftwise.experiments.frames import load_results
    from driftwise.simulation.simulator import simulate

__version__ = "0.1.0"

__all__ = [
    "LeastSquares",
    "Result",
    "Spec",
    "__version__",
    "algorithms",
    "arms",
    "checks",
    "compare",
    "drift",
    "environments",
    "exploration",
    "forgetting",
    "load_curves",
    "load_results",
    "load_study",
    "online",
    "paths",
    "planning",
    "play",
    "simulate",
    "statistics",
    "theory",
]

# Names that are loaded by those who use them, and by nobody else: behind them are JAX, pyarrow and scipy.
LATER = {
    "checks": "driftwise.checks",
    "compare": "driftwise.analysis.finished:compare",
    "load_curves": "driftwise.experiments.curves:load_curves",
    "load_results": "driftwise.experiments.frames:load_results",
    "load_study": "driftwise.analysis.finished:load_study",
    "simulate": "driftwise.simulation.simulator:simulate",
    "statistics": "driftwise.analysis.statistics",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'driftwise' has no attribute {name!r}")
    module, _, attribute = LATER[name].partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded

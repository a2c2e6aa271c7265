"""driftwise: linear bandits and linear-MDP reinforcement learning under drift."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftwise.base import __version__
from driftwise.base.extras import LOADERS, require_extra

if TYPE_CHECKING:
    from driftwise import algorithms, checks, environments, online, scenarios, theory
    from driftwise.analysis import statistics
    from driftwise.analysis.finished import compare, load_study
    from driftwise.base.types import Spec
    from driftwise.environments import arms, drift, paths, planning
    from driftwise.experiments.results_folder import load_curves, load_results
    from driftwise.parts import LeastSquares, exploration, forgetting
    from driftwise.simulation.results import Result
    from driftwise.simulation.running import simulate
    from driftwise.simulation.tasks import play

__all__ = ["LeastSquares", "Result", "Spec", "__version__", "algorithms", "arms", "checks", "compare"]
__all__ += ["drift", "environments", "exploration", "forgetting", "load_curves", "load_results", "load_study"]
__all__ += ["online", "paths", "planning", "play", "scenarios", "simulate", "statistics", "theory"]

# Names are imported when they are used: the extra that installs what a name needs, and where it is defined.
# Names that are not here are packages of the base install.
_LAZY = {
    "LeastSquares": ("", "driftwise.parts.least_squares:LeastSquares"),
    "Result": ("", "driftwise.simulation.results:Result"),
    "Spec": ("", "driftwise.base.types:Spec"),
    "arms": ("", "driftwise.environments.arms"),
    "checks": ("simulate", "driftwise.checks"),
    "compare": ("cli", "driftwise.analysis.finished:compare"),
    "drift": ("", "driftwise.environments.drift"),
    "exploration": ("", "driftwise.parts.exploration"),
    "forgetting": ("", "driftwise.parts.forgetting"),
    "load_curves": ("cli", "driftwise.experiments.results_folder:load_curves"),
    "load_results": ("cli", "driftwise.experiments.results_folder:load_results"),
    "load_study": ("cli", "driftwise.analysis.finished:load_study"),
    "paths": ("", "driftwise.environments.paths"),
    "planning": ("", "driftwise.environments.planning"),
    "play": ("", "driftwise.simulation.tasks:play"),
    "simulate": ("simulate", "driftwise.simulation.running:simulate"),
    "statistics": ("simulate", "driftwise.analysis.statistics"),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'driftwise' has no attribute {name!r}")
    extra, place = _LAZY.get(name, ("", f"driftwise.{name}"))
    module, _, attribute = place.partition(":")
    with require_extra(f"dw.{name}", extra):
        loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


LOADERS["parts"] = lambda: [*map(import_module, ("driftwise.online", "driftwise.environments"))]
LOADERS["result views"] = lambda: import_module("driftwise.analysis.notebook")

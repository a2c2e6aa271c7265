"""driftwise: linear bandits and linear-MDP reinforcement learning in a world that drifts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import driftwise.simulation  # to be told of every fork from here on  # noqa: F401
from driftwise.base.extras import needed_by
from driftwise.base.version import __version__

if TYPE_CHECKING:
    from driftwise import algorithms, checks, environments, online, scenarios, theory
    from driftwise.analysis import statistics
    from driftwise.analysis.finished import compare, load_study
    from driftwise.base.types import Spec
    from driftwise.environments import arms, drift, paths, planning
    from driftwise.experiments.curves import load_curves
    from driftwise.experiments.frames import load_results
    from driftwise.parts import exploration, forgetting
    from driftwise.parts.least_squares import LeastSquares
    from driftwise.simulation.play import play
    from driftwise.simulation.results import Result
    from driftwise.simulation.simulator import simulate

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
    "scenarios",
    "simulate",
    "statistics",
    "theory",
]

# Names are loaded by those who use them: the extra that installs what is behind a name, and its place.
LATER = {
    "LeastSquares": ("", "driftwise.parts.least_squares:LeastSquares"),
    "Result": ("", "driftwise.simulation.results:Result"),
    "Spec": ("", "driftwise.base.types:Spec"),
    "algorithms": ("", "driftwise.algorithms"),
    "arms": ("", "driftwise.environments.arms"),
    "checks": ("simulate", "driftwise.checks"),
    "compare": ("cli", "driftwise.analysis.finished:compare"),
    "drift": ("", "driftwise.environments.drift"),
    "environments": ("", "driftwise.environments"),
    "exploration": ("", "driftwise.parts.exploration"),
    "forgetting": ("", "driftwise.parts.forgetting"),
    "load_curves": ("cli", "driftwise.experiments.curves:load_curves"),
    "load_results": ("cli", "driftwise.experiments.frames:load_results"),
    "load_study": ("cli", "driftwise.analysis.finished:load_study"),
    "online": ("", "driftwise.online"),
    "paths": ("", "driftwise.environments.paths"),
    "planning": ("", "driftwise.environments.planning"),
    "play": ("", "driftwise.simulation.play:play"),
    "scenarios": ("", "driftwise.scenarios"),
    "simulate": ("simulate", "driftwise.simulation.simulator:simulate"),
    "statistics": ("simulate", "driftwise.analysis.statistics"),
    "theory": ("", "driftwise.theory"),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'driftwise' has no attribute {name!r}")
    extra, place = LATER[name]
    module, _, attribute = place.partition(":")
    with needed_by(f"dw.{name}", extra):
        loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded

"""Engines: where tasks run. Whichever it is, the results are the same bytes."""

from driftwise.simulation.engines.processes import Processes
from driftwise.simulation.engines.ray import RayCluster
from driftwise.simulation.tasks import Engine, EngineError

__all__ = ["Engine", "EngineError", "Processes", "RayCluster"]

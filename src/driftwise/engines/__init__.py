"""Engines: where the cells of a sweep run. Whichever it is, the results are the same bytes."""

from driftwise.engines.processes import Processes
from driftwise.engines.ray import RayCluster
from driftwise.sweep import Engine, EngineError

__all__ = ["Engine", "EngineError", "Processes", "RayCluster"]

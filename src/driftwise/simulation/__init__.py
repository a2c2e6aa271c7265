"""Simulation: many runs of an agent as one compiled program, with exact dynamic regret."""

from driftwise.simulation import forks as forks  # to be told of every fork from here on

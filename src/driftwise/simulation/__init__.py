"""Simulation: many runs of an agent as one compiled program, with exact dynamic regret."""

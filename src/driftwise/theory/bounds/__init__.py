"""Bounds on dynamic regret as objects."""

"""Drifting MDPs without episodes."""

"""Agents that play episodes, one step at a time."""

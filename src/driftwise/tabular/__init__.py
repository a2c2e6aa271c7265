"""Agents that count: they know states and actions by their numbers and look at no features."""

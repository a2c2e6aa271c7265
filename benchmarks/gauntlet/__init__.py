"""Bandit worlds that a default agent should handle, with yardsticks that are played in the same run."""

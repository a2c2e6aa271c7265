"""Online: the same agents one event at a time, with NumPy alone."""

from __future__ import annotations

from driftwise.online.bandit import Bandit, Decision

__all__ = ["Bandit", "Decision"]

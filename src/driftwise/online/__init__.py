"""Online: the same agents one event at a time, with NumPy alone."""

from __future__ import annotations

from driftwise.online import features
from driftwise.online.bandit import Bandit, Decision
from driftwise.online.episodic import EpisodicAgent
from driftwise.online.episodic_inspection import EpisodicSummary
from driftwise.online.inspection import Summary
from driftwise.online.persistence import load
from driftwise.online.training import Training, train

__all__ = [
    "Bandit",
    "Decision",
    "EpisodicAgent",
    "EpisodicSummary",
    "Summary",
    "Training",
    "features",
    "load",
    "train",
]

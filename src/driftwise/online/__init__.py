"""Online: the same agents one event at a time, with NumPy alone."""

from __future__ import annotations

from driftwise.online import features
from driftwise.online.agent_files import load
from driftwise.online.backtesting import Backtest, backtest
from driftwise.online.bandit import Bandit
from driftwise.online.control.control_agent import ControlAgent, ControlSummary
from driftwise.online.decision_log import DecisionLog
from driftwise.online.decisions import Decision, Outcome, Waiting
from driftwise.online.encoding import Encoder
from driftwise.online.episodes.episodic_agent import EpisodicAgent
from driftwise.online.episodes.player import Training, train
from driftwise.online.named_arms import NamedDecision
from driftwise.online.named_bandit import NamedBandit
from driftwise.online.summary import EpisodicSummary, Summary

__all__ = [
    "Backtest",
    "Bandit",
    "ControlAgent",
    "ControlSummary",
    "Decision",
    "DecisionLog",
    "Encoder",
    "EpisodicAgent",
    "EpisodicSummary",
    "NamedBandit",
    "NamedDecision",
    "Outcome",
    "Summary",
    "Training",
    "Waiting",
    "backtest",
    "features",
    "load",
    "train",
]

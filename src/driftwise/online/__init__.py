"""Online: the same agents one event at a time, with NumPy alone."""

from __future__ import annotations

from driftwise.online import features
from driftwise.online.backtesting import Backtest, backtest
from driftwise.online.bandits.bandit import Bandit
from driftwise.online.bandits.decision import Decision, NamedDecision
from driftwise.online.bandits.named import NamedBandit
from driftwise.online.bandits.pending import Outcome, Waiting
from driftwise.online.decision_log import DecisionLog
from driftwise.online.encoding import Encoder
from driftwise.online.episodes.agent import EpisodicAgent
from driftwise.online.episodes.training import Training, train
from driftwise.online.files import load
from driftwise.online.summary import EpisodicSummary, Summary

__all__ = [
    "Backtest",
    "Bandit",
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

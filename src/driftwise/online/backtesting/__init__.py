"""Backtests: how well each memory would have forecast the rewards of a log."""

from __future__ import annotations

from driftwise.online.backtesting.backtest import Backtest, MemoryScore, backtest
from driftwise.online.backtesting.comparison import Interval

__all__ = ["Backtest", "Interval", "MemoryScore", "backtest"]
